"""CrewAI: its hooks fail open, so the guard stands around the tool's own function. A whole crew, offline."""

import json
from typing import Any

import pytest
from crewai import Agent, BaseLLM, Crew, Task
from crewai.tools import tool
from tests.frameworks.open_responses.doubles import BAD, GOOD, GUARDS, Calls, CrashingGuard

from qwed_open_responses import BaseGuard, guarded


class ScriptedLLM(BaseLLM):
    """Speaks the turns of a script; the last one is repeated."""

    def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
        self.shown.append(str(messages))
        return self.turns.pop(0) if len(self.turns) > 1 else self.turns[0]

    def supports_function_calling(self) -> bool:
        return False


def run(calls: Calls, guards: list[BaseGuard], *arguments: dict[str, str]) -> tuple[str, list[str]]:
    @tool("pay")
    @guarded(guards=guards, name="pay")
    def pay(account: str, note: str) -> str:
        """Pay an account, with a note."""
        return calls.pay(account, note)

    llm = ScriptedLLM(model="scripted")
    turns = [f"Thought: I pay.\nAction: pay\nAction Input: {json.dumps(each)}" for each in arguments]
    object.__setattr__(llm, "turns", [*turns, "Thought: I am done.\nFinal Answer: done"])
    object.__setattr__(llm, "shown", [])
    agent = Agent(role="payer", goal="pay", backstory="pays", tools=[pay], llm=llm, max_iter=6)
    task = Task(description="pay", expected_output="done", agent=agent)
    answer = Crew(agents=[agent], tasks=[task]).kickoff()
    return str(answer), llm.shown


def test_a_refused_call_never_reaches_the_function() -> None:
    calls = Calls()

    said, shown = run(calls, list(GUARDS), GOOD, BAD)

    assert calls.made == ["A-1"]
    assert "done" in said
    assert any("QWED blocked pay" in messages for messages in shown)


@pytest.mark.parametrize("guards", [[CrashingGuard()], []])
def test_a_crashing_guard_and_no_guard_refuse(guards: list[BaseGuard]) -> None:
    calls = Calls()

    run(calls, guards, GOOD)

    assert calls.made == []
