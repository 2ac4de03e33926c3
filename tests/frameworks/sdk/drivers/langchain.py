"""LangChain: 1.x agents with the middleware, and classic executors with the callback."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from langchain.agents import create_agent
from langchain_classic.agents import AgentExecutor, create_tool_calling_agent
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.tools import StructuredTool
from tests.frameworks.sdk.drivers.shop import Play, Shop, Way, gate_options
from tests.support.protected import Protected

from qwed_sdk.langchain import QWEDMiddleware, QWEDVerificationCallback, ToolRefused

HELLO: Final = {"messages": [{"role": "user", "content": "go"}]}


class Model(FakeMessagesListChatModel):
    """LangChain's own fake; it asks for these tools, then says it is done."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


def model(*calls: tuple[str, dict[str, Any]]) -> Model:
    asked = [{"name": name, "args": args, "id": f"call_{n}"} for n, (name, args) in enumerate(calls)]
    return Model(responses=[AIMessage("", tool_calls=asked), AIMessage("done")])


def tools_of(shop: Shop) -> list[StructuredTool]:
    tools = (shop.lookup_order, shop.wipe_disk, shop.publish_page, shop.sums, shop.own_tool)
    return [StructuredTool.from_function(tool) for tool in tools]


def middleware(world: Protected, **options: Any) -> QWEDMiddleware:
    return QWEDMiddleware(world.agent_id, **gate_options(world, **options))


def callback(world: Protected, **options: Any) -> QWEDVerificationCallback:
    return QWEDVerificationCallback(agent_id=world.agent_id, **gate_options(world, **options))


def messages(result: dict[str, Any]) -> list[ToolMessage]:
    return [message for message in result["messages"] if isinstance(message, ToolMessage)]


def executor(shop: Shop, *calls: tuple[str, dict[str, Any]], callbacks: Any = None) -> AgentExecutor:
    prompt = ChatPromptTemplate.from_messages([("user", "{input}"), ("placeholder", "{agent_scratchpad}")])
    agent = create_tool_calling_agent(model(*calls), tools_of(shop), prompt)
    return AgentExecutor(agent=agent, tools=tools_of(shop), callbacks=callbacks)


Invoke = Callable[..., Any]

INVOKES: Final[dict[str, Invoke]] = {
    "sync": lambda agent, *args, **kwargs: agent.invoke(*args, **kwargs),
    "async": lambda agent, *args, **kwargs: asyncio.run(agent.ainvoke(*args, **kwargs)),
}


def _with_middleware(invoke: Invoke) -> Play:
    def play(world: Protected, shop: Shop, *calls: Any) -> list[str]:
        agent = create_agent(model(*calls), tools_of(shop), middleware=[middleware(world)])
        result = invoke(agent, HELLO)
        assert result["messages"][-1].content == "done"
        return [str(answer.content) for answer in messages(result)]

    return play


def _with_callback(invoke: Invoke, place: str) -> Play:
    """The two places where an executor takes callbacks."""

    def play(world: Protected, shop: Shop, *calls: Any) -> list[str]:
        handlers = [callback(world)]
        try:
            if place == "constructor":
                result = invoke(executor(shop, *calls, callbacks=handlers), {"input": "go"})
            else:
                result = invoke(executor(shop, *calls), {"input": "go"}, config={"callbacks": handlers})
        except ToolRefused as refusal:
            return [str(refusal)]
        assert result["output"] == "done"
        return []

    return play


WAYS: Final = {
    **{
        f"langchain-{name}": Way(_with_middleware(invoke), is_failure_final=True)
        for name, invoke in INVOKES.items()
    },
    **{
        f"executor-{place}-{name}": Way(
            _with_callback(invoke, place),
            is_refusal_final=True,
            is_failure_final=True,
            # Given to the constructor, the callback hears that the run ended, not what became of its tools.
            failure_outcome="unknown" if place == "constructor" else "failure",
        )
        for name, invoke in INVOKES.items()
        for place in ("constructor", "invoke")
    },
}
