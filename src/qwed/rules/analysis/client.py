"""Asks a worker to analyse. The solver is loaded there alone; without an answer nothing was analysed."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from qwed.domain.actions import Action
from qwed.domain.findings import Status
from qwed.domain.policy import Policy
from qwed.engines.catalogue import EngineEntry
from qwed.engines.pool import WorkerPool
from qwed.rules.analysis.reports import Difference, Direction, PolicyAnalysis, Unanalysed

ANALYSIS: Final = "policy_analysis"
DEADLINE_SECONDS: Final = 120.0
_LIBRARIES: Final = ("z3", "cel_expr_python.cel")
_CATALOGUE: Final = {
    ANALYSIS: EngineEntry("qwed.rules.analysis.engine", "PolicyAnalysisEngine", libraries=_LIBRARIES)
}


def analyse(policy: Policy, *, deadline_seconds: float = DEADLINE_SECONDS) -> PolicyAnalysis:
    """What may be wrong with a policy's rules. Never raises: what went wrong is "not analysed", and why."""
    if not policy.rules:
        return PolicyAnalysis()
    answer = _ask_worker([policy], deadline_seconds)
    if isinstance(answer, Mapping):
        return msgspec.convert(answer, PolicyAnalysis)
    first = policy.rules[0]
    missing = Unanalysed(first.id, first.line, "all rules", answer)
    return PolicyAnalysis(not_analysed=(missing,))


def diff_rules(old: Policy, new: Policy, *, deadline_seconds: float = DEADLINE_SECONDS) -> list[Difference]:
    """Every rule and action type: tighter, looser, both, same or not analysed. Never raises."""
    if not old.rules and not new.rules:
        return []
    answer = _ask_worker([old, new], deadline_seconds)
    if isinstance(answer, Mapping):
        return msgspec.convert(answer["differences"], list[Difference])
    return [Difference("rules", Direction.NOT_ANALYSED, answer)]


def _ask_worker(policies: list[Policy], deadline_seconds: float) -> Mapping[str, Any] | str:
    """The answer, or why there is none."""
    question = {"policies": [*map(_write, policies)]}
    with WorkerPool(
        size=1, deadline_seconds=deadline_seconds, max_wait_seconds=deadline_seconds, catalogue=_CATALOGUE
    ) as pool:
        finding = pool.submit(ANALYSIS, Action(ANALYSIS, parameters=question)).result()
    answer = finding.evidence.get("answer")
    return answer if finding.status is Status.VERIFIED and isinstance(answer, Mapping) else finding.reason


def _write(policy: Policy) -> dict[str, Any]:
    """A policy's wire form says nothing of lines, which are no part of its meaning."""
    return {"wire": policy.to_wire(), "lines": [rule.line for rule in policy.rules]}


def read_written(written: Mapping[str, Any]) -> Policy:
    policy = Policy.from_wire(written["wire"])
    pairs = zip(policy.rules, written["lines"], strict=True)
    rules = tuple(msgspec.structs.replace(rule, line=line) for rule, line in pairs)
    return msgspec.structs.replace(policy, rules=rules)
