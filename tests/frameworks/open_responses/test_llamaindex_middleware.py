"""LlamaIndex: whole agent loops, offline, with its own mock model."""

import asyncio
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context
from tests.frameworks.open_responses.doubles import BAD, GOOD, GUARDS, Calls, CrashingGuard

from qwed_open_responses.middleware.llamaindex import QWEDToolSpecGuard


def run(tools: Any, *arguments: dict[str, str]) -> tuple[str, list[Any]]:
    """The agent's last words, and the messages it was shown."""
    turns = iter(arguments)
    shown: list[Any] = []

    def answer(messages: Any, *args: Any, **kwargs: Any) -> ChatMessage:
        shown.extend(messages)
        each = next(turns, None)
        if each is None:
            return ChatMessage(role="assistant", blocks=[TextBlock(text="done")])
        return ChatMessage(
            role="assistant", blocks=[ToolCallBlock(tool_call_id="c", tool_name="pay", tool_kwargs=each)]
        )

    async def go() -> str:
        llm = MockFunctionCallingLLM(response_generator=answer, is_chat_model=True)
        agent = FunctionAgent(tools=tools, llm=llm, streaming=False)
        return str(await agent.run("pay"))

    return asyncio.run(go()), shown


def test_a_refused_call_is_not_made_and_the_model_is_told() -> None:
    calls = Calls()
    tools = QWEDToolSpecGuard(GUARDS).wrap([FunctionTool.from_defaults(calls.pay, name="pay")])

    said, shown = run(tools, GOOD, BAD)

    assert calls.made == ["A-1"]
    assert "done" in said
    assert any("QWED blocked pay" in str(message) for message in shown)


def test_a_plain_function_is_wrapped_as_well() -> None:
    calls = Calls()

    run(QWEDToolSpecGuard(GUARDS).wrap([calls.pay]), BAD)

    assert calls.made == []


def test_a_crashing_guard_refuses() -> None:
    calls = Calls()
    tools = QWEDToolSpecGuard([CrashingGuard()]).wrap([FunctionTool.from_defaults(calls.pay, name="pay")])

    said, shown = run(tools, GOOD)

    assert calls.made == []
    assert any("crashed" in str(message) for message in shown)
    assert "done" in said


def test_a_tool_that_takes_the_context_still_gets_it() -> None:
    calls = Calls()
    contexts: list[Any] = []

    async def pay(ctx: Context, account: str, note: str) -> str:
        """Pay."""
        contexts.append(ctx)
        return calls.pay(account, note)

    tools = QWEDToolSpecGuard(GUARDS).wrap([FunctionTool.from_defaults(async_fn=pay, name="pay")])
    run(tools, GOOD, BAD)

    assert calls.made == ["A-1"]
    assert len(contexts) == 1


@pytest.mark.parametrize("arguments", [GOOD, BAD])
def test_a_wrapped_tool_can_be_called_directly(arguments: dict[str, str]) -> None:
    calls = Calls()
    tool = QWEDToolSpecGuard(GUARDS).wrap_tool(FunctionTool.from_defaults(calls.pay, name="pay"))

    output = tool.call(**arguments)

    assert output.is_error is (arguments is BAD)
    assert bool(calls.made) is (arguments is GOOD)
    assert tool.metadata.name == "pay"
