"""The logic engine: what follows, what can hold, and what can't."""

import functools
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from qwed.domain.actions import Action
from qwed.domain.findings import Failure, Finding, Status, uncertain
from qwed.domain.registry import LOGIC
from qwed.domain.risk import Risk
from qwed.engines.catalogue import why_unavailable
from qwed.engines.logic import critical_points
from qwed.engines.logic.notation import LogicQuestion, WrittenFormula, read_action
from qwed.engines.logic.outcomes import Decider
from qwed.engines.logic.questions import LogicAnswer, answer
from qwed.engines.logic.refusals import Forbidden, LogicRefusal, NotLogic, UndecidedLogic
from qwed.engines.logic.sexpr import write
from qwed.engines.logic.smt import Solver
from qwed.engines.logic.smtlib import SatCheck
from qwed.engines.logic.sorts import INT

MAX_QUICK_CHARACTERS: Final = 300
MAX_QUICK_ITEMS: Final = 20
MAX_SCRIPT_CHARACTERS: Final = 8_000

_CHECKS: Final = {
    Status.VERIFIED: (("parsed", "decided", "holds"), ()),
    Status.FAILED: (("parsed", "decided"), ("holds",)),
    Status.UNCERTAIN: (("parsed",), ("decided",)),
}


class LogicEngine:
    name = LOGIC

    def is_quick(self, action: Action) -> bool:
        """Small questions that need no solver, and texts that are refused at sight."""
        if _characters(action) > MAX_QUICK_CHARACTERS:
            return False
        try:
            prepared = _prepare_question(action)
        except (LogicRefusal, RecursionError):
            return True
        return prepared.own is not None and (prepared.in_reals is None or prepared.in_reals.own is not None)

    def verify(self, action: Action) -> Finding:
        try:
            return _verify(action)
        except LogicRefusal as refusal:
            return _refuse(refusal)
        except RecursionError:
            return uncertain(LOGIC, Risk.LOW, "the formula is nested too deeply", limit="depth")
        except MemoryError:
            return uncertain(LOGIC, Risk.LOW, "the formula needs more memory than allowed", limit="memory")
        except ModuleNotFoundError as error:
            return uncertain(LOGIC, Risk.LOW, why_unavailable(LOGIC, error), limit="unavailable")


def _characters(action: Action) -> int:
    """The length of all texts; parameters in bulk count as long without being searched."""
    premises = action.parameters.get("premises")
    items = premises if isinstance(premises, list | tuple) else [premises]
    variables = action.parameters.get("variables")
    in_bulk = (items, action.parameters, variables if isinstance(variables, Mapping) else ())
    if any(len(each) > MAX_QUICK_ITEMS for each in in_bulk):
        return MAX_QUICK_CHARACTERS + 1
    texts = [action.query, action.code, action.parameters.get("other"), *items]
    return sum(len(text) for text in texts if isinstance(text, str))


class _Prepared(msgspec.Struct, frozen=True):
    """A question, our own procedure where it decides it, and the same question about reals where the numbers
    in it were taken for integers without anybody saying so."""

    reading: LogicQuestion
    own: Decider | None
    in_reals: "_Prepared | None" = None


def _prepare_question(action: Action) -> _Prepared:
    """What is asked.

    Asked twice about the same action: first whether it is quick, and then what it means.
    """
    query = action.query
    is_bare = not action.parameters and action.code is None and action.target is None
    if query is None or not is_bare or len(query) > MAX_QUICK_CHARACTERS:
        return _prepare(action)
    return _prepare_query(query)


@functools.lru_cache(maxsize=256)
def _prepare_query(query: str) -> _Prepared:
    return _prepare(Action(LOGIC, query))


def _prepare(action: Action) -> _Prepared:
    reading = read_action(action)
    if reading.more_checks:
        return _Prepared(reading, None)
    return _Prepared(reading, _own(reading), _in_reals(action, reading))


def _own(reading: LogicQuestion) -> Decider | None:
    return critical_points.fits(
        reading.problem, [statement.term for statement in (*reading.premises, *reading.goals)]
    )


def _in_reals(action: Action, reading: LogicQuestion) -> _Prepared | None:
    if reading.notation != "formula" or INT not in reading.problem.sorts.values():
        return None
    if any(_FOR_INTEGERS.search(write(each.term)) for each in (*reading.premises, *reading.goals)):
        return None
    try:
        other = read_action(action, in_reals=True)
    except LogicRefusal:
        return None
    if other.problem.sorts == reading.problem.sorts:
        return None
    return _Prepared(other, _own(other))


# Who writes a remainder has whole numbers in mind.
_FOR_INTEGERS: Final = re.compile(r"\((?:div|mod|rem|abs) ")


def _verify(action: Action) -> Finding:
    prepared = _prepare_question(action)
    reading = prepared.reading
    decider = prepared.own or Solver()
    found = answer(reading, decider)
    if reading.more_checks:
        found = _all_checks(found, reading, decider)
    if prepared.in_reals is not None:
        found = _whatever_the_numbers(found, prepared.in_reals)
    passed, failed = _CHECKS[found.status]
    return Finding(
        found.status,
        Risk.LOW,
        LOGIC,
        found.reason,
        _evidence(found, reading, decider),
        failure=Failure.INCORRECT if found.status is Status.FAILED else None,
        checks_passed=passed,
        checks_failed=failed,
    )


def _whatever_the_numbers(found: LogicAnswer, in_reals: _Prepared) -> LogicAnswer:
    """`x*x = 2` holds for no integer and for a real: what nobody said must not decide.

    A model of integers is one of reals too, so a question that was answered by one alone is answered.
    """
    if found.status is Status.UNCERTAIN or found.word in ("satisfiable", "consistent"):
        return found
    other = answer(in_reals.reading, in_reals.own or Solver())
    if other.status is found.status:
        return found
    reason = (
        f"{found.word} over the integers, {other.word} over the reals: "
        f"declare which numbers are meant (x: int, or x: real)"
    )
    evidence = {**other.evidence, "limit": "sorts", "over_integers": found.word, "over_reals": other.word}
    return LogicAnswer(Status.UNCERTAIN, "unknown", reason, evidence)


def _all_checks(first: LogicAnswer, reading: LogicQuestion, decider: Decider) -> LogicAnswer:
    """A script with several checks holds when each of them does."""
    answers = [first, *(_one_check(check, reading, decider) for check in reading.more_checks)]
    worst = next((each for each in answers if each.status is Status.FAILED), None)
    worst = worst or next((each for each in answers if each.status is Status.UNCERTAIN), answers[-1])
    return LogicAnswer(
        worst.status, worst.word, worst.reason, {**worst.evidence, "checks": [each.word for each in answers]}
    )


def _one_check(check: SatCheck, reading: LogicQuestion, decider: Decider) -> LogicAnswer:
    statements = tuple(WrittenFormula(write(term)[:200], term) for term in check.assertions)
    own = msgspec.structs.replace(reading, problem=check.problem, premises=(), goals=statements)
    return answer(own, decider)


def _evidence(found: LogicAnswer, reading: LogicQuestion, decider: Decider) -> dict[str, Any]:
    evidence: dict[str, Any] = {
        "question": reading.question.value,
        "answer": found.word,
        "decided_by": decider.name,
        **found.evidence,
    }
    if reading.declared_status is not None:
        evidence["declared_status"] = reading.declared_status
    if reading.notation == "formula":
        evidence["sorts"] = {name: write(sort) for name, sort in reading.problem.sorts.items()}
        script = _script(reading)
        if len(script) <= MAX_SCRIPT_CHARACTERS:
            evidence["smtlib"] = script
    if reading.problem.definedness:
        evidence["assumed"] = [write(condition) for condition in reading.problem.definedness]
    return evidence


def _script(reading: LogicQuestion) -> str:
    """The formulas as they were understood: premises first, each as its own assertion."""
    return reading.problem.script(tuple(each.term for each in (*reading.premises, *reading.goals)))


def _refuse(refusal: LogicRefusal) -> Finding:
    reason = str(refusal)
    if isinstance(refusal, UndecidedLogic):
        return uncertain(LOGIC, Risk.LOW, reason, limit=refusal.limit)
    kind = Failure.FORBIDDEN if isinstance(refusal, Forbidden) else Failure.MALFORMED
    assert isinstance(refusal, Forbidden | NotLogic)
    return Finding(
        Status.FAILED,
        Risk.HIGH if kind is Failure.FORBIDDEN else Risk.LOW,
        LOGIC,
        reason,
        {"problem": reason},
        failure=kind,
        checks_failed=("parsed",),
    )
