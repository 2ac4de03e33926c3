"""The questions, and how each is answered by deciding satisfiability."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from qwed.domain.findings import Status
from qwed.engines.logic.notation import LogicQuestion, Question, WrittenFormula
from qwed.engines.logic.outcomes import Decider, Outcome, Satisfiable, UnknownOutcome, Unsatisfiable
from qwed.engines.logic.problem import LogicProblem
from qwed.engines.logic.refusals import NotLogic
from qwed.engines.logic.sexpr import Sexpr

MAX_CORE_STATEMENTS: Final = 200


class LogicAnswer(msgspec.Struct, frozen=True):
    """`word` is the answer itself; the status says what it means for whoever asked."""

    status: Status
    word: str
    reason: str
    evidence: Mapping[str, Any] = {}


def answer(reading: LogicQuestion, decider: Decider) -> LogicAnswer:
    return _ANSWERS[reading.question](reading, decider)


def _satisfiable(reading: LogicQuestion, decider: Decider) -> LogicAnswer:
    statements = (*reading.premises, *reading.goals)
    outcome = _decide(decider, reading.problem, [each.term for each in statements])
    match outcome:
        case Satisfiable():
            return LogicAnswer(Status.VERIFIED, "satisfiable", "a model satisfies it", _model(outcome))
        case Unsatisfiable():
            return LogicAnswer(Status.FAILED, "unsatisfiable", "nothing satisfies it")
    return _say_undecided(outcome)


def _unsatisfiable(reading: LogicQuestion, decider: Decider) -> LogicAnswer:
    found = _satisfiable(reading, decider)
    if found.status is Status.UNCERTAIN:
        return found
    status = Status.VERIFIED if found.status is Status.FAILED else Status.FAILED
    return LogicAnswer(status, found.word, found.reason, found.evidence)


def _valid(reading: LogicQuestion, decider: Decider) -> LogicAnswer:
    if reading.premises:
        return _decide_entailment(reading, decider)
    outcome = _decide(decider, reading.problem, [_negation(reading.goals)])
    match outcome:
        case Unsatisfiable():
            return LogicAnswer(Status.VERIFIED, "valid", "it holds whatever its names mean")
        case Satisfiable():
            return LogicAnswer(
                Status.FAILED, "not_valid", "it has a counterexample", _model(outcome, "counterexample")
            )
    return _say_undecided(outcome)


def _decide_entailment(reading: LogicQuestion, decider: Decider) -> LogicAnswer:
    """Entailed, contradicted, or undetermined: then there is a model of either side."""
    if not reading.goals:
        raise NotLogic("there is no conclusion")
    premises = [each.term for each in reading.premises]
    against = _decide(decider, reading.problem, [*premises, _negation(reading.goals)])
    if isinstance(against, Unsatisfiable):
        reason = "it follows: its denial contradicts the premises"
        return _from_premises(reading, decider, LogicAnswer(Status.VERIFIED, "entailed", reason))
    for_it = _decide(decider, reading.problem, [*premises, *(each.term for each in reading.goals)])
    if isinstance(for_it, Unsatisfiable):
        reason = "the premises rule the conclusion out"
        found = LogicAnswer(Status.FAILED, "contradicted", reason, _model(against, "counterexample"))
        # A model of the premises without the conclusion shows that they can hold.
        return found if isinstance(against, Satisfiable) else _from_premises(reading, decider, found)
    if isinstance(against, UnknownOutcome):
        return _say_undecided(against)
    if isinstance(for_it, UnknownOutcome):
        return _say_undecided(for_it)
    evidence = {**_model(against, "counterexample"), "example": for_it.model}
    reason = "the premises leave it open: it holds in one model and fails in another"
    # A claim to follow is refuted by a ground counterexample. An open world is no refutation.
    claimed = reading.asked and not reading.problem.is_first_order
    return LogicAnswer(Status.FAILED if claimed else Status.UNCERTAIN, "undetermined", reason, evidence)


def _from_premises(reading: LogicQuestion, decider: Decider, found: LogicAnswer) -> LogicAnswer:
    """The answer, unless the premises contradict each other: from such premises everything follows."""
    if not reading.premises:
        return found
    together = _decide(decider, reading.problem, [each.term for each in reading.premises])
    if isinstance(together, Unsatisfiable):
        core = _core(decider, reading.problem, reading.premises)
        reason = "the premises contradict each other, so that anything would follow"
        evidence = {"limit": "premises", "premises_consistent": False, **core}
        return LogicAnswer(Status.UNCERTAIN, "contradictory_premises", reason, evidence)
    is_known = isinstance(together, Satisfiable)
    return LogicAnswer(
        found.status,
        found.word,
        found.reason,
        {**found.evidence, "premises_consistent": is_known or "unknown"},
    )


def _equivalent(reading: LogicQuestion, decider: Decider) -> LogicAnswer:
    premises, (left, right) = _sides(reading)
    difference: Sexpr = ("not", ("=", left, right))
    outcome = _decide(decider, reading.problem, [*premises, difference])
    match outcome:
        case Unsatisfiable():
            found = LogicAnswer(Status.VERIFIED, "equivalent", "both sides always agree")
            return _from_premises(reading, decider, found) if premises else found
        case Satisfiable():
            evidence = _model(outcome, "counterexample")
            return LogicAnswer(
                Status.FAILED, "not_equivalent", "there is a case in which they differ", evidence
            )
    return _say_undecided(outcome)


def _sides(reading: LogicQuestion) -> tuple[list[Sexpr], tuple[Sexpr, Sexpr]]:
    """The two formulas: two goals, a premise and a goal, or the sides of one `a ↔ b`."""
    premises = [each.term for each in reading.premises]
    goals = [each.term for each in reading.goals]
    if len(goals) == 2:
        return premises, (goals[0], goals[1])
    if len(goals) == 1 and len(premises) == 1:
        return [], (premises[0], goals[0])
    match goals:
        case [("=", left, right)]:
            return premises, (left, right)
    raise NotLogic("equivalence needs two formulas: 'query' and 'other', or one of the form a ↔ b")


def _consistent(reading: LogicQuestion, decider: Decider) -> LogicAnswer:
    statements = (*reading.premises, *reading.goals)
    outcome = _decide(decider, reading.problem, [each.term for each in statements])
    match outcome:
        case Satisfiable():
            return LogicAnswer(Status.VERIFIED, "consistent", "a model satisfies all of it", _model(outcome))
        case Unsatisfiable():
            core = _core(decider, reading.problem, statements)
            return LogicAnswer(Status.FAILED, "inconsistent", "these statements contradict each other", core)
    return _say_undecided(outcome)


_ANSWERS: Final[dict[Question, Callable[[LogicQuestion, Decider], LogicAnswer]]] = {
    Question.SATISFIABLE: _satisfiable,
    Question.UNSATISFIABLE: _unsatisfiable,
    Question.VALID: _valid,
    Question.ENTAILED: _decide_entailment,
    Question.EQUIVALENT: _equivalent,
    Question.CONSISTENT: _consistent,
}


def _decide(decider: Decider, problem: LogicProblem, assertions: Sequence[Sexpr]) -> Outcome:
    """Satisfiable only where every division is defined; unsatisfiable only whatever it means."""
    outcome = decider.decide(problem, [*problem.definedness, *assertions])
    if not isinstance(outcome, Unsatisfiable) or not problem.definedness:
        return outcome
    if isinstance(decider.decide(problem, assertions), Unsatisfiable):
        return outcome
    return UnknownOutcome("division", "the answer hangs on what dividing by zero means")


def _negation(statements: Sequence[WrittenFormula]) -> Sexpr:
    if not statements:
        raise NotLogic("there is no formula")
    if len(statements) == 1:
        return ("not", statements[0].term)
    return ("not", ("and", *(each.term for each in statements)))


def _model(outcome: Outcome, name: str = "model") -> dict[str, Any]:
    if not isinstance(outcome, Satisfiable):
        return {}
    return {name: outcome.model, "model_checked_by": outcome.checked_by}


def _say_undecided(outcome: Outcome) -> LogicAnswer:
    assert isinstance(outcome, UnknownOutcome)
    return LogicAnswer(Status.UNCERTAIN, "unknown", outcome.reason, {"limit": outcome.limit})


def _core(decider: Decider, problem: LogicProblem, statements: Sequence[WrittenFormula]) -> dict[str, Any]:
    """Statements that contradict each other, none of which can be left out."""
    if len(statements) > MAX_CORE_STATEMENTS:
        return {}
    kept = decider.unsatisfiable_part(problem, [each.term for each in statements])
    is_minimal = True
    for candidate in list(kept):
        rest = [place for place in kept if place != candidate]
        outcome = decider.decide(problem, [statements[place].term for place in rest])
        if isinstance(outcome, Unsatisfiable):
            kept = rest
        elif isinstance(outcome, UnknownOutcome):
            is_minimal = False
    listed = [{"index": place, "statement": statements[place].text} for place in kept]
    return {"core": listed, "core_is_minimal": is_minimal}
