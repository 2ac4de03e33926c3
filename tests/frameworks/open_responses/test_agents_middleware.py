"""OpenAI Agents SDK: whole runs, offline, with its scripted model."""

import asyncio
from typing import Any

import pytest
from agents import Agent, Runner, function_tool
from agents.exceptions import UserError
from agents.testing import ScriptedModel, assistant_message, function_call
from tests.frameworks.open_responses.doubles import BAD, GOOD, GUARDS, Calls, CrashingGuard

from qwed_open_responses.middleware.openai_agents import (
    QWEDRunHooks,
    ToolCallBlocked,
    guard_agent,
    qwed_guardrail,
)


def script(*arguments: dict[str, str]) -> ScriptedModel:
    turns = [[function_call("pay", each, call_id=f"c{index}")] for index, each in enumerate(arguments)]
    return ScriptedModel([*turns, [assistant_message("done")]])


def agent_of(calls: Calls, guardrails: Any, *arguments: dict[str, str]) -> Agent[Any]:
    @function_tool(name_override="pay", tool_input_guardrails=guardrails)
    def pay(account: str, note: str) -> str:
        """Pay."""
        return calls.pay(account, note)

    return Agent(name="payer", tools=[pay], model=script(*arguments))


def outputs(result: Any) -> str:
    return str([item.to_input_item() for item in result.new_items])


def test_a_refused_call_is_not_made_and_the_model_is_told() -> None:
    calls = Calls()

    result = asyncio.run(Runner.run(agent_of(calls, [qwed_guardrail(GUARDS)], GOOD, BAD), "pay both"))

    assert calls.made == ["A-1"]
    assert result.final_output == "done"
    assert "QWED blocked pay" in outputs(result)


def test_a_crashing_guard_refuses() -> None:
    calls = Calls()

    result = asyncio.run(Runner.run(agent_of(calls, [qwed_guardrail([CrashingGuard()])], GOOD), "pay"))

    assert calls.made == []
    assert "crashed" in outputs(result)


def test_a_whole_agent_is_guarded_at_once() -> None:
    calls = Calls()
    agent = guard_agent(agent_of(calls, [], BAD), GUARDS)

    result = asyncio.run(Runner.run(agent, "pay"))

    assert calls.made == []
    assert "QWED blocked pay" in outputs(result)


def test_agents_behind_a_handoff_are_guarded_too() -> None:
    calls = Calls()
    inner = agent_of(calls, [], BAD)
    outer = Agent(
        name="desk",
        handoffs=[inner],
        model=ScriptedModel([[function_call("transfer_to_payer", {}, call_id="h")]]),
    )

    result = asyncio.run(Runner.run(guard_agent(outer, GUARDS), "pay"))

    assert calls.made == []
    assert "QWED blocked pay" in outputs(result)


@pytest.mark.parametrize("guards", [GUARDS, [CrashingGuard()]])
def test_run_hooks_stop_the_run_before_the_tool(guards: Any) -> None:
    calls = Calls()

    with pytest.raises((ToolCallBlocked, UserError)):
        asyncio.run(Runner.run(agent_of(calls, [], BAD), "pay", hooks=QWEDRunHooks(guards)))

    assert calls.made == []
