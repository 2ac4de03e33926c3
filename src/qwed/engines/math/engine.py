"""The math engine: every text of an action is read, judged, and answered with what was proven."""

import re
from collections.abc import Mapping
from typing import Any, Final

from qwed.domain.actions import Action
from qwed.domain.findings import Failure, Finding, Status, uncertain
from qwed.domain.registry import MATH
from qwed.domain.risk import Risk
from qwed.engines.effort import is_short
from qwed.engines.math import derivations, inputs
from qwed.engines.math.examination import (
    ExaminedClaim,
    correct_numbers,
    correct_text,
    examine,
    examine_numbers,
)
from qwed.engines.math.inputs import Inputs, MathInput, Path
from qwed.engines.math.judge import MathOutcome
from qwed.engines.math.problems import MalformedMath, MathProblem
from qwed.engines.unread import name_unread

# Light texts: nothing in them loads a library or grows a number beyond a few hundred digits.
_PLAIN: Final = re.compile(r"[0-9+\-*/().,=<>%$€£¢×÷−· ≤≥≠≈]{1,600}")
_LIGHT_PROSE: Final = 600
_COMPARISONS: Final = re.compile(r"[=<>≤≥≠≈]")
_QUICK_COMPARISONS: Final = 24
# What words ask is tried in many ways.
_QUICK_PROSE: Final = 20
_HEAVY: Final = re.compile(
    r"\^|\*\*|!|[√∛π∫°²³⁰¹⁴-⁹\\\[|_！-～]|\b[b-hj-z]\b|[0-9][a-z]\b|\b(?:a|arc|ar)?(?:sin|cos|tan|sec|csc|cot)h?(?![a-z])|"
    r"\blog|\bln|\bl[gb]\b|\bpi\b|\btau\b|\bexp|sqrt|cbrt|root|power|raised|deriv|integ|differentia|solve|solution|"
    r"matri|determinant|\bdet\b|invers|transpose|\brank|\btrace|deviation|interest|compound|factorial|\bpow|npv|"
    r"payment|loan|cagr|\bfib|cubed|squared|square|cube|\bmean|varian|std|radians|degrees|_value|choose|\bcomb|"
    r"\bperm|\bvar|\bncr|\bnpr|\bpv|\bfv|\bpmt",
    re.IGNORECASE,
)


class MathEngine:
    """Proves arithmetic and algebra. Deterministic, without I/O, bounded by counts alone."""

    name = MATH

    def is_quick(self, action: Action) -> bool:
        text = action.query
        if text is None or not _has_query_alone(action):
            return False
        if _PLAIN.fullmatch(text) is not None:
            return "**" not in text and len(_COMPARISONS.findall(text)) <= _QUICK_COMPARISONS
        return _is_light_prose(text) and is_short(text, _QUICK_PROSE)

    def is_light(self, action: Action) -> bool:
        """Whether `verify` loads no library and grows no number, so that it may run in a caller's process."""
        text = action.query
        if text is None or not _has_query_alone(action):
            return False
        if _PLAIN.fullmatch(text) is not None:
            return "**" not in text
        return _is_light_prose(text)

    def verify(self, action: Action) -> Finding:
        try:
            return _verify(action)
        except MathProblem as problem:
            return name_unread(_problem(problem), action, inputs.READ_SLOTS)
        except Exception as error:  # noqa: BLE001  the engine's promise: no text makes it raise
            return uncertain(MATH, Risk.LOW, f"the text could not be worked out ({type(error).__name__})")

    def verify_numbers(self, text: str) -> Finding:
        """Arithmetic alone, in any text: loads no library, grows no number, and leaves the rest open."""
        try:
            return _verify_numbers(text)
        except MathProblem as problem:
            return uncertain(MATH, Risk.LOW, str(problem))
        except Exception as error:  # noqa: BLE001  the engine's promise: no text makes it raise
            return uncertain(MATH, Risk.LOW, f"the text could not be worked out ({type(error).__name__})")

    def wrong_step(self, text: str) -> str | None:
        """A step of a derivation that does not follow from the equations before it."""
        return derivations.wrong_step(text)


def _has_query_alone(action: Action) -> bool:
    return not action.parameters and action.code is None and action.target is None


def _is_light_prose(text: str) -> bool:
    return len(text) <= _LIGHT_PROSE and _HEAVY.search(text) is None


def _verify_numbers(text: str) -> Finding:
    examined = examine_numbers(text)
    finding = _finding(_combine(examined.outcomes), [examined], examined.outcomes)
    if finding.status is not Status.CORRECTED:
        return finding
    right = correct_numbers(text)
    if right is None:
        return _finding(Status.FAILED, [examined], examined.outcomes)
    return _finding(Status.CORRECTED, [examined], examined.outcomes, Action("verify_math", right))


def _problem(problem: MathProblem) -> Finding:
    if isinstance(problem, MalformedMath):
        reason, failure = str(problem), Failure.MALFORMED
        return Finding(Status.FAILED, Risk.LOW, MATH, reason, failure=failure, checks_failed=("parse",))
    return uncertain(MATH, Risk.LOW, str(problem))


def _verify(action: Action) -> Finding:
    if action.query is not None and _has_query_alone(action):
        only = examine(action.query, {})
        if len(only.outcomes) == 1 and only.outcomes[0].status is _VERIFIED and not only.unread:
            return _report_verified(only.outcomes[0])
        given = Inputs([MathInput(("query",), action.query)], {})
        return _answer(action, given, [only])
    given = inputs.collect(action)
    finding = _answer(action, given, [examine(source.text, given.variables) for source in given.sources])
    return name_unread(finding, action, inputs.read_slots(given))


_VERIFIED: Final = Status.VERIFIED


def _report_verified(outcome: MathOutcome) -> Finding:
    """The usual answer, on the shortest way."""
    evidence = outcome.evidence
    checks = ("claim",) if "relations" in evidence else ("value",)
    return Finding(_VERIFIED, Risk.LOW, MATH, outcome.reason, evidence, checks_passed=checks)


def _answer(action: Action, given: Inputs, examined: list[ExaminedClaim]) -> Finding:
    outcomes = [outcome for one in examined for outcome in one.outcomes]
    status = _combine(outcomes)
    if status is Status.CORRECTED:
        return _correct(action, given, examined, outcomes)
    return _finding(status, examined, outcomes)


def _combine(outcomes: list[MathOutcome]) -> Status:
    """FAILED before all; a claim that is wrong can be corrected only when every other one is decided."""
    found = {outcome.status for outcome in outcomes}
    if Status.FAILED in found or {Status.CORRECTED, Status.UNCERTAIN} <= found:
        return Status.FAILED
    for status in (Status.UNCERTAIN, Status.CORRECTED):
        if status in found:
            return status
    return Status.VERIFIED if outcomes else Status.UNCERTAIN


def _correct(
    action: Action, given: Inputs, examined: list[ExaminedClaim], outcomes: list[MathOutcome]
) -> Finding:
    """Only a text that is itself verified is offered as the right version."""
    corrected = action
    for source, one in zip(given.sources, examined, strict=True):
        if not any(outcome.status is Status.CORRECTED for outcome in one.outcomes):
            continue
        text = correct_text(source.text, given.variables)
        replaced = None if text is None else _replace(corrected, source, text)
        if replaced is None:
            return _finding(Status.FAILED, examined, outcomes)
        corrected = replaced
    return _finding(Status.CORRECTED, examined, outcomes, corrected)


def _finding(
    status: Status,
    examined: list[ExaminedClaim],
    outcomes: list[MathOutcome],
    corrected: Action | None = None,
) -> Finding:
    decisive = next(
        (outcome for outcome in outcomes if outcome.status is status), outcomes[0] if outcomes else None
    )
    reason = decisive.reason if decisive is not None else "nothing was claimed"
    if status is Status.FAILED:
        decisive = next((outcome for outcome in outcomes if outcome.failure is not None), decisive)
        reason = decisive.reason if decisive is not None else reason
    is_good = status in (Status.VERIFIED, Status.CORRECTED)
    check = "claim" if any("relations" in outcome.evidence for outcome in outcomes) else "value"
    return Finding(
        status,
        Risk.LOW,
        MATH,
        reason,
        _evidence(examined, outcomes),
        corrected,
        (decisive.failure if decisive is not None else None) if status is Status.FAILED else None,
        (check,) if is_good else (),
        () if is_good else (_FAILED_CHECK[status],),
    )


_FAILED_CHECK: Final = {Status.FAILED: "claim", Status.UNCERTAIN: "decidable"}


def _evidence(examined: list[ExaminedClaim], outcomes: list[MathOutcome]) -> Mapping[str, Any]:
    unread = [part for one in examined for part in one.unread]
    if len(outcomes) == 1 and not unread:
        return outcomes[0].evidence
    statements = [
        {"status": outcome.status.value, "reason": outcome.reason, **outcome.evidence} for outcome in outcomes
    ]
    return {"statements": statements, "unread": unread}


# -- the corrected action --------------------------------------------------------------------------


def _replace(action: Action, source: MathInput, text: str) -> Action | None:
    """The action with the corrected text put where the wrong one stood."""
    if source.result_path is not None:
        stem = source.text[: source.result_start]
        if not text.startswith(stem):
            return None
        return _with_text(action, source.result_path, text[len(stem) :])
    return _with_text(action, source.path, text)


def _with_text(action: Action, path: Path, text: str) -> Action | None:
    members = {"query": action.query, "code": action.code, "target": action.target}
    parameters: Any = action.parameters
    if path[0] in members:
        members[path[0]] = text
    else:
        parameters = _set(parameters, path[1:], text)
        if parameters is None:
            return None
    return Action(action.type, members["query"], members["code"], members["target"], parameters)


def _set(value: Any, path: Path, text: str) -> Any:
    if not path:
        return inputs.in_the_manner_of(value, text)
    if isinstance(value, Mapping) and path[0] in value:
        return {**value, path[0]: _set(value[path[0]], path[1:], text)}
    if isinstance(value, list | tuple) and path[0].isdigit():
        index = int(path[0])
        return [*value[:index], _set(value[index], path[1:], text), *value[index + 1 :]]
    return None
