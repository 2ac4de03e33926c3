"""LangChain: whole agent loops, offline, with its own fake model."""

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_classic.agents import AgentExecutor, AgentType, create_tool_calling_agent, initialize_agent
from langchain_core.language_models.fake import FakeListLLM
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.tools import StructuredTool, Tool
from tests.frameworks.open_responses.doubles import BAD, GOOD, GUARDS, Calls, CrashingGuard

from qwed_open_responses.middleware.langchain import QWEDCallbackHandler, QWEDMiddleware, ToolCallBlocked

PROMPT = ChatPromptTemplate.from_messages(
    [("system", "You pay."), ("human", "{input}"), ("placeholder", "{agent_scratchpad}")]
)


class FakeModel(FakeMessagesListChatModel):
    def bind_tools(self, tools: Any, **kwargs: Any) -> "FakeModel":
        return self


def model(*arguments: dict[str, str]) -> FakeModel:
    calls = [{"name": "pay", "args": each, "id": f"c{index}"} for index, each in enumerate(arguments)]
    turns = [AIMessage(content="", tool_calls=[call]) for call in calls]
    return FakeModel(responses=[*turns, AIMessage(content="done")])


def tool_of(calls: Calls) -> StructuredTool:
    return StructuredTool.from_function(calls.pay, name="pay")


def executor(calls: Calls, handler: QWEDCallbackHandler, *arguments: dict[str, str]) -> AgentExecutor:
    tools = [tool_of(calls)]
    agent = create_tool_calling_agent(model(*arguments), tools, PROMPT)
    return AgentExecutor(agent=agent, tools=tools, callbacks=[handler])


def test_the_executor_stops_before_a_refused_tool_runs() -> None:
    calls, blocked = Calls(), []
    handler = QWEDCallbackHandler(
        GUARDS, block_on_failure=True, on_blocked=lambda *told: blocked.append(told)
    )

    with pytest.raises(ToolCallBlocked, match="sql_injection"):
        executor(calls, handler, GOOD, BAD).invoke({"input": "pay both"})

    assert calls.made == ["A-1"]
    assert len(blocked) == 1
    assert not blocked[0][1].verified


def test_the_executor_runs_what_is_verified() -> None:
    calls = Calls()

    answer = executor(calls, QWEDCallbackHandler(GUARDS), GOOD).invoke({"input": "pay"})

    assert calls.made == ["A-1"]
    assert answer["output"] == "done"


def test_the_executor_stops_asynchronously_too() -> None:
    calls = Calls()

    with pytest.raises(ToolCallBlocked):
        asyncio.run(executor(calls, QWEDCallbackHandler(GUARDS), BAD).ainvoke({"input": "pay"}))

    assert calls.made == []


def test_a_handler_given_to_invoke_stops_the_tool_itself() -> None:
    calls = Calls()
    tools = [tool_of(calls)]
    plain = AgentExecutor(agent=create_tool_calling_agent(model(BAD), tools, PROMPT), tools=tools)

    with pytest.raises(ToolCallBlocked):
        plain.invoke({"input": "pay"}, config={"callbacks": [QWEDCallbackHandler(GUARDS)]})

    assert calls.made == []


def test_an_old_style_agent_is_stopped() -> None:
    calls = Calls()
    llm = FakeListLLM(responses=["I pay.\nAction: pay\nAction Input: x; rm -rf /", "Final Answer: done"])
    tools = [Tool(name="pay", func=lambda text: calls.pay(text, ""), description="pays")]
    agent = initialize_agent(tools, llm, agent=AgentType.ZERO_SHOT_REACT_DESCRIPTION)

    with pytest.raises(ToolCallBlocked):
        agent.invoke({"input": "pay"}, config={"callbacks": [QWEDCallbackHandler(GUARDS)]})

    assert calls.made == []


def test_a_crashing_guard_stops_the_executor() -> None:
    calls = Calls()

    with pytest.raises(ToolCallBlocked, match="crashed"):
        executor(calls, QWEDCallbackHandler([CrashingGuard()]), GOOD).invoke({"input": "pay"})

    assert calls.made == []


def test_warn_only_runs_and_reports() -> None:
    calls, blocked = Calls(), []
    handler = QWEDCallbackHandler(
        GUARDS, block_on_failure=False, on_blocked=lambda *told: blocked.append(told)
    )

    executor(calls, handler, BAD).invoke({"input": "pay"})

    assert calls.made == ["A-2"]
    assert blocked


def agent(calls: Calls, guards: Any, *arguments: dict[str, str]) -> Any:
    return create_agent(model(*arguments), [tool_of(calls)], middleware=[QWEDMiddleware(guards)])


def refusals(answer: dict[str, Any]) -> list[str]:
    return [m.content for m in answer["messages"] if isinstance(m, ToolMessage) and m.status == "error"]


def test_an_agent_is_told_of_the_refusal_and_goes_on() -> None:
    calls = Calls()

    answer = agent(calls, GUARDS, GOOD, BAD).invoke({"messages": [("human", "pay both")]})

    assert calls.made == ["A-1"]
    assert len(refusals(answer)) == 1
    assert "QWED blocked pay" in refusals(answer)[0]
    assert answer["messages"][-1].content == "done"


def test_an_agent_is_told_asynchronously_too() -> None:
    calls = Calls()

    answer = asyncio.run(agent(calls, GUARDS, BAD).ainvoke({"messages": [("human", "pay")]}))

    assert calls.made == []
    assert len(refusals(answer)) == 1


def test_a_crashing_guard_refuses_for_an_agent() -> None:
    calls = Calls()

    answer = agent(calls, [CrashingGuard()], GOOD).invoke({"messages": [("human", "pay")]})

    assert calls.made == []
    assert "crashed" in refusals(answer)[0]


def test_the_callback_stops_an_agent_of_1_x() -> None:
    calls = Calls()
    plain = create_agent(model(BAD), [tool_of(calls)])

    with pytest.raises(ToolCallBlocked):
        plain.invoke({"messages": [("human", "pay")]}, config={"callbacks": [QWEDCallbackHandler(GUARDS)]})

    assert calls.made == []
