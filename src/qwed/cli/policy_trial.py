"""A policy tried in memory: the same decisions as in force, at times of our choice, and nothing is kept."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from qwed import bootstrap
from qwed.domain.decisions import Decision
from qwed.domain.json_types import Json
from qwed.domain.policy import Policy
from qwed.embedded import OPERATOR, Gateway
from qwed.gateway.kernel.answers import RequestError
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.reporting.search_activity import show_activity
from qwed.policy.cases import CaseAgent, CaseFile, Earlier, PolicyCase

_IN_ONE_CONVERSATION: Final = 40
_LET_THROUGH: Final = (Decision.APPROVED, Decision.CORRECTED)


class TrialClock:
    """Stands still until it is set."""

    def __init__(self, now: int) -> None:
        self.now = now

    def now_ms(self) -> int:
        return self.now

    def counter(self) -> float:
        return self.now / 1_000


class CaseResult(msgspec.Struct, frozen=True):
    """`problems` is empty where everything is as expected."""

    name: str
    line: int
    decision: str
    rules: tuple[str, ...]
    problems: tuple[str, ...]


class Trial:
    """A gateway in memory with one agent. To be closed."""

    def __init__(self, policy: Policy, agent: CaseAgent, now_ms: int) -> None:
        self.clock = TrialClock(now_ms)
        # What a profile asks of tokens and ledgers is no part of a trial: nobody has them here.
        tried = msgspec.structs.replace(policy, profile=None)
        self._gateway = Gateway(bootstrap.build(None, policy=tried, clock=self.clock))
        permissions = {
            "allowed_engines": agent.allowed_engines,
            "allowed_tools": agent.allowed_tools,
            "blocked_tools": agent.blocked_tools,
        }
        registered = self._gateway.register_agent(
            name="trial", type=agent.type, principal_id="trial", permissions=permissions
        )
        self._agent_id = registered["agent_id"]
        if agent.trust is not None and agent.trust != registered["trust_level"]:
            self._gateway.set_trust(self._agent_id, agent.trust, "trial")

    def close(self) -> None:
        self._gateway.close()

    def propose(self, action: Mapping[str, Json], conversation: str, step: int) -> dict[str, Json]:
        context = {"conversation_id": conversation, "step_number": step}
        return self._gateway.verify_action(self._agent_id, action, context)

    def succeed(self, answer: Mapping[str, Json], outcome: str) -> None:
        self._gateway.report_outcome(self._agent_id, answer["activity_id"], outcome)

    def account(self, answer: Mapping[str, Json]) -> list[dict[str, Json]]:
        """Every check with how it went."""
        shown = run(show_activity(self._gateway.services, OPERATOR, answer["activity_id"]))
        checks: list[dict[str, Json]] = msgspec.to_builtins(shown.body["checks"])
        return checks


def run_case(policy: Policy, file: CaseFile, case: PolicyCase) -> CaseResult:
    oldest = max((each.ago for each in case.history), default=0)
    trial = Trial(policy, file.agents.get(case.agent, CaseAgent()), case.now - oldest)
    try:
        problems, step = _live_through(trial, case)
        trial.clock.now = case.now
        answer = trial.propose(case.action, "trial", step)
    except RequestError as error:
        return CaseResult(case.name, case.line, "", (), (f"the request is refused: {error}",))
    finally:
        trial.close()
    rules = rules_of(answer)
    return CaseResult(
        case.name, case.line, answer["decision"], rules, (*problems, *_compare(case, answer, rules))
    )


def _live_through(trial: Trial, case: PolicyCase) -> tuple[list[str], int]:
    """What of the history did not happen, and the step that comes next."""
    problems = []
    earlier = list(_unfold(case.history))
    before = max(0, len(earlier) - _IN_ONE_CONVERSATION)
    for number, (ago, outcome, action) in enumerate(earlier):
        trial.clock.now = case.now - ago
        name, step = "trial", number - before + 1
        if number < before:
            name, step = f"before-{number // _IN_ONE_CONVERSATION}", number % _IN_ONE_CONVERSATION + 1
        answer = trial.propose(action, name, step)
        if answer["decision"] not in _LET_THROUGH:
            problems.append(f"history {number + 1} ({action['type']}) was {_say(answer)}")
        elif outcome is not None:
            trial.succeed(answer, outcome)
    return problems, len(earlier) - before + 1


def _unfold(history: tuple[Earlier, ...]) -> Iterator[tuple[int, str | None, dict[str, Json]]]:
    """Oldest first; each time of a repeated action with its number in it."""
    number = 0
    for each in sorted(history, key=lambda item: -item.ago):
        for _ in range(each.times):
            number += 1
            yield each.ago, each.outcome, _number(each.action, number)


def _number(value: Any, number: int) -> Any:
    match value:
        case str():
            return value.replace("{n}", str(number))
        case dict():
            return {key: _number(item, number) for key, item in value.items()}
        case list():
            return [_number(item, number) for item in value]
    return value


def rules_of(answer: Mapping[str, Json]) -> tuple[str, ...]:
    """The rules that the answer names."""
    return tuple(sorted(str(rule["id"]) for rule in answer.get("rules", ())))


def _compare(case: PolicyCase, answer: Mapping[str, Json], rules: tuple[str, ...]) -> Iterator[str]:
    expected = case.expect
    if answer["decision"] != expected.decision:
        yield f"expected {expected.decision.value}, was {_say(answer)}"
    if expected.rules is not None and rules != tuple(sorted(expected.rules)):
        yield f"expected rules {_list(expected.rules)}, were {_list(rules)}"
    code = answer.get("error", {}).get("code")
    if expected.code is not None and code != expected.code:
        yield f"expected {expected.code}, was {code}"


def _list(rules: tuple[str, ...]) -> str:
    return ", ".join(rules) or "none"


def _say(answer: Mapping[str, Json]) -> str:
    error = answer.get("error") or {}
    return (
        f"{answer['decision']} ({error.get('code')}: {error.get('message')})" if error else answer["decision"]
    )
