"""The solver, z3, kept at arm's length.

It sees declarations and assertions only, in a context of its own for each question, so that no
answer depends on an earlier one. Its resource limit decides when to give up; the clock is a
backstop. A model is believed once the formulas were evaluated under it.
"""

import re
import time
from collections.abc import Sequence
from typing import Any, Final

from qwed.engines.logic.evaluate import Definition, World, evaluate
from qwed.engines.logic.outcomes import Outcome, Satisfiable, UnknownOutcome, Unsatisfiable, show
from qwed.engines.logic.problem import LogicProblem
from qwed.engines.logic.refusals import NotLogic, UndecidedLogic
from qwed.engines.logic.sexpr import Sexpr, read, write
from qwed.engines.logic.values import Element, NotEvaluable
from qwed.engines.logic.world import Model, functions, world

RESOURCE_LIMIT: Final = 1_000_000
BACKSTOP_SECONDS: Final = 1.6
MAX_SHOWN: Final = 64

_FIRST_TRY: Final = 30_000

_ERROR: Final = re.compile(r'error "(?:line \d+ column \d+: )?([^"]*)"')


class Solver:
    """One question's solver: its limits are for everything asked of it together."""

    def __init__(self) -> None:
        # Loaded here and not with the module: it is large, and most questions don't need it.
        import z3  # noqa: PLC0415

        self._z3 = z3
        self.name = f"z3 {z3.get_version_string()}"
        self._resources_left = RESOURCE_LIMIT
        self._ends_at = time.monotonic() + BACKSTOP_SECONDS

    def decide(self, problem: LogicProblem, assertions: Sequence[Sexpr]) -> Outcome:
        context, formulas = self._parse(problem, assertions)
        # The plain solver answers small questions in half the time; the other one knows more ways.
        outcome = self._attempt(self._z3.SimpleSolver(ctx=context), _FIRST_TRY, problem, assertions, formulas)
        if isinstance(outcome, UnknownOutcome):
            solver = self._z3.Solver(ctx=context)
            return self._attempt(solver, self._resources_left, problem, assertions, formulas)
        return outcome

    def _attempt(
        self, solver: Any, resources: int, problem: LogicProblem, assertions: Sequence[Sexpr], formulas: Any
    ) -> Outcome:
        solver.add(formulas)
        answer = self._check(solver, resources)
        if isinstance(answer, UnknownOutcome):
            return answer
        if not answer:
            return Unsatisfiable()
        return self._check_model(problem, assertions, formulas, solver.model())

    def unsatisfiable_part(self, problem: LogicProblem, assertions: Sequence[Sexpr]) -> list[int]:
        context, formulas = self._parse(problem, assertions)
        own = len(problem.axioms)
        solver = self._z3.Solver(ctx=context)
        solver.add(*formulas[:own])
        marks = [self._z3.Bool(f"mark!{place}", context) for place in range(len(assertions))]
        for mark, formula in zip(marks, formulas[own:], strict=True):
            solver.add(self._z3.Implies(mark, formula))
        if self._check(solver, self._resources_left, *marks) is not False:
            return list(range(len(assertions)))
        core = {str(mark) for mark in solver.unsat_core()}
        return [place for place in range(len(assertions)) if f"mark!{place}" in core]

    def _parse(self, problem: LogicProblem, assertions: Sequence[Sexpr]) -> tuple[Any, Any]:
        context = self._z3.Context()
        try:
            formulas = self._z3.parse_smt2_string(problem.script(tuple(assertions)), ctx=context)
        except self._z3.Z3Exception as error:
            raise NotLogic(_complaint(error)) from None
        if len(formulas) != len(problem.axioms) + len(assertions):
            raise UndecidedLogic("unsupported", "the solver did not read every assertion")
        return context, formulas

    def _check(self, solver: Any, resources: int, *assumptions: Any) -> bool | UnknownOutcome:
        milliseconds = int((self._ends_at - time.monotonic()) * 1000)
        if milliseconds <= 0:
            return UnknownOutcome("timeout", "the time allowed for all checks is used up")
        if min(self._resources_left, resources) <= 0:
            return UnknownOutcome("resources", "the solver's resource limit is used up")
        solver.set("rlimit", min(self._resources_left, resources))
        solver.set("timeout", milliseconds)
        solver.set("random_seed", 0)
        try:
            result = solver.check(*assumptions)
        except self._z3.Z3Exception as error:
            return UnknownOutcome("solver", _complaint(error))
        # Reading the count costs as much as a small check: a first try is charged in full.
        self._resources_left -= resources if resources <= _FIRST_TRY else _count_used(solver)
        if result == self._z3.unknown:
            return _why_unknown(str(solver.reason_unknown()))
        return bool(result == self._z3.sat)

    # Models

    def _check_model(
        self, problem: LogicProblem, assertions: Sequence[Sexpr], formulas: Any, model: Any
    ) -> Outcome:
        """The model, once every formula was found true under it."""
        ours = _read_model(model.sexpr())
        here = world(problem.declarations, ours)
        checked_by = "evaluation"
        for term, formula in zip((*problem.axioms, *assertions), formulas, strict=True):
            try:
                holds = evaluate(term, here) is True
            except NotEvaluable:
                checked_by = "the solver's evaluation"
                holds = self._holds(formula, model)
            if not holds:
                return UnknownOutcome("model", "the solver's model did not pass the check")
        return Satisfiable(_show_model(problem, ours, here), checked_by)

    def _holds(self, formula: Any, model: Any) -> bool:
        """By the solver's own evaluation; what is left of a quantifier must have no counterexample."""
        remaining = model.eval(formula, model_completion=True)
        if self._z3.is_true(remaining):
            return True
        solver = self._z3.Solver(ctx=formula.ctx)
        solver.add(self._z3.Not(remaining))
        return self._check(solver, self._resources_left) is False


def _count_used(solver: Any) -> int:
    counted = {key: value for key, value in solver.statistics()}  # noqa: C416  (it is no mapping)
    return int(counted.get("rlimit count", 0))


def _why_unknown(reason: str) -> UnknownOutcome:
    if "timeout" in reason:
        return UnknownOutcome("timeout", "the solver ran out of time, not of its resource limit")
    if "canceled" in reason or "resource" in reason:
        return UnknownOutcome("resources", "the solver's resource limit is used up")
    if "memory" in reason:
        return UnknownOutcome("memory", "the solver needs more memory than allowed")
    return UnknownOutcome("incomplete", f"the solver can't decide this kind of formula ({reason[:80]})")


def _complaint(error: Exception) -> str:
    detail = error.args[0] if error.args else ""
    text = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
    found = _ERROR.search(text)
    return (found[1] if found else text)[:200]


def _read_model(text: str) -> Model:
    definitions: dict[str, Definition] = {}
    universes: dict[Sexpr, list[Any]] = {}
    values: dict[str, Any] = {}
    for entry in read(text):
        match entry:
            case ("define-fun", str(name), tuple(parameters), _, body):
                definitions[name] = Definition(tuple(str(each[0]) for each in parameters), body)
            case ("declare-fun", str(name), (), sort):
                values[name] = Element(name)
                universes.setdefault(sort, []).append(Element(name))
    return Model(values, definitions, universes)


def _show_model(problem: LogicProblem, ours: Model, here: World) -> dict[str, Any]:
    model: dict[str, Any] = {}
    for name, arity, _ in functions(problem.declarations):
        if len(model) >= MAX_SHOWN:
            break
        model[name.strip("|")] = _show_name(name, arity, here)
    if ours.universes:
        model["(members)"] = {
            write(sort): [show(each) for each in members] for sort, members in ours.universes.items()
        }
    return model


def _show_name(name: str, arity: int, here: World) -> Any:
    definition = here.definitions.get(name)
    if arity == 0:
        try:
            return show(evaluate(name, here))
        except NotEvaluable:
            return "any" if definition is None else write(definition.body)[:500]
    if definition is None:
        return "any"
    return {"parameters": list(definition.parameters), "value": write(definition.body)[:500]}
