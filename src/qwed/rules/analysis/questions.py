"""Questions about expressions, answered by z3 under the tables of a policy, with an example that was tried.

An example counts only once the library itself evaluated the expressions on it: a mistake in the translation
is "not analysed", never a finding.
"""

import enum
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
import z3

from qwed.domain.agents import AgentType
from qwed.domain.decisions import Decision
from qwed.domain.findings import Status
from qwed.domain.policy import DeniedCells, Policy
from qwed.domain.registry import ENGINE_NAMES
from qwed.domain.risk import Risk
from qwed.domain.trust import TrustLevel, cell
from qwed.rules.analysis.examples import Example, example_from
from qwed.rules.analysis.terms import MAX_ELEMENTS, TRUE, Claim, count_loops
from qwed.rules.analysis.translation import Translator
from qwed.rules.expressions import Expression
from qwed.rules.schema import RULE_SCHEMA, ValueKind

MAX_QUESTIONS: Final = 20_000
SOLVER_MS: Final = 1_500
ORIGINS: Final = ("said", "endorsed", "untrusted", "unsaid")
_NAMES: Final = z3.Plus(z3.Union(z3.Range("!", "."), z3.Range("0", "?"), z3.Range("[", "\U0002ffff")))
_NICE_NAME: Final = z3.Concat(z3.Plus(z3.Range("a", "z")), z3.Re(z3.StringVal(".example")))
_NICE_WORD: Final = z3.Plus(z3.Range("a", "z"))
_NICE_PATH: Final = z3.Plus(z3.Concat(z3.Re(z3.StringVal("/")), z3.Plus(z3.Range("a", "z"))))


class Want(enum.StrEnum):
    """What an expression shall be: a rule matches where it is not false, because an error counts."""

    TRUE = "true"
    MATCHES = "matches"
    SILENT = "silent"

    def of(self, claim: Claim) -> Any:
        return {Want.TRUE: claim.true, Want.MATCHES: claim.matches, Want.SILENT: claim.false}[self]


class SolverAnswer(msgspec.Struct, frozen=True):
    """`example` where there is one; `why` where nobody can tell; neither where there is surely none."""

    example: Example | None = None
    why: str | None = None

    @property
    def is_impossible(self) -> bool:
        return self.example is None and self.why is None


Part = tuple[Expression, Want]


class SolverQuestions:
    """`with_tables` false leaves out what the policy's tables say of each action type."""

    def __init__(self, policy: Policy, *, solver_ms: int = SOLVER_MS) -> None:
        self._policy = policy
        self._solver_ms = solver_ms
        self._left = MAX_QUESTIONS

    def find(
        self, *parts: Part, types: Sequence[str] | None = None, with_tables: bool = True
    ) -> SolverAnswer:
        """An action of which all parts hold."""
        loops = sum(count_loops(expression.tree) for expression, _ in parts)
        translator = Translator(elements=max(1, loops))
        wanted = [want.of(translator.claim(expression.tree)) for expression, want in parts]
        world = list(self._world(translator, types, with_tables=with_tables))
        found = self.solve([*wanted, *world, *translator.facts, *nice(translator)])
        if found is None or isinstance(found, str):
            found = self.solve([*wanted, *world, *translator.facts])
        if found is None:
            return (
                SolverAnswer(why=f"more than {MAX_ELEMENTS} loops over lists")
                if loops > MAX_ELEMENTS
                else SolverAnswer()
            )
        if isinstance(found, str):
            return SolverAnswer(why=found)
        return self._confirm(example_from(found, translator), parts, translator)

    def find_reversal(
        self, stopped: Expression, others: Sequence[Expression], what: str
    ) -> dict[str, Any] | None:
        """An action that is stopped although none of `others` stops it at more risk, or less trust."""
        loops = count_loops(stopped.tree) + sum(count_loops(other.tree) for other in others)
        translator = Translator(elements=max(1, loops))
        claims = [translator.claim(expression.tree) for expression in (stopped, *others)]
        constraints = [*self._world(translator, None, with_tables=True), *translator.facts]
        path = "risk" if what == "risk" else "agent.trust"
        variable = translator.terms[path].number
        step = (variable, variable + 1 if what == "risk" else variable - 1)
        passed = [z3.substitute(claim.false, step) for claim in claims[1:]]
        still = [z3.substitute(each, step) for each in self._world(translator, None, with_tables=True)]
        model = self.solve([claims[0].true, *passed, *constraints, *still, *nice(translator)])
        if model is None or isinstance(model, str):
            return None
        before = example_from(model, translator)
        after = before.step(what)
        confirmed = before.evaluate(stopped.text) is True
        return (
            before.to_wire() if confirmed and not any(after.evaluate(each.text) for each in others) else None
        )

    def _confirm(self, example: Example, parts: Sequence[Part], translator: Translator) -> SolverAnswer:
        for expression, want in parts:
            if not _holds(example.evaluate(expression.text), want):
                why = next(iter(translator.holes.values()), "the example that was found is not confirmed")
                return SolverAnswer(why=why)
        return SolverAnswer(example)

    def solve(self, constraints: list[Any]) -> Any:
        """A model; None where there is none; a text that says why nobody can tell."""
        self._left -= 1
        if self._left < 0:
            return f"more than {MAX_QUESTIONS} questions to the solver"
        solver = z3.Solver()
        solver.set("timeout", self._solver_ms)
        solver.add(*constraints)
        answer = solver.check()
        if answer == z3.sat:
            return solver.model()
        return None if answer == z3.unsat else f"the solver gave up: {solver.reason_unknown()}"

    def _world(
        self, translator: Translator, types: Sequence[str] | None, *, with_tables: bool
    ) -> Iterator[Any]:
        """What is true of every action that reaches the rules."""
        variables = RULE_SCHEMA.variables
        kind = translator.variable("action.type", ValueKind.TEXT, always=True).text
        risk = translator.variable("risk", variables["risk"], always=True).number
        trust = translator.variable("agent.trust", ValueKind.NUMBER, always=True).number
        yield z3.Or(*(risk == level.value for level in Risk))
        yield z3.Or(*(trust == level.value for level in TrustLevel))
        if with_tables:
            names = self._policy.actions if types is None else types
            yield z3.Or(
                *(z3.And(kind == z3.StringVal(name), self._row(name, risk)) for name in sorted(names))
            )
            yield self._cells(trust, risk)
        yield from self._values(translator)

    def world(self, translator: Translator, action: str | None) -> Iterator[Any]:
        """What is true of every action, whatever the tables say; `action` is its type if settled."""
        yield from self._world(translator, None, with_tables=False)
        if action is not None:
            yield translator.terms["action.type"].text == z3.StringVal(action)

    def _row(self, name: str, risk: Any) -> Any:
        least = self._policy.action_rules[name].risk if name in self._policy.action_rules else None
        return TRUE if least is None else risk >= least.value

    def _cells(self, trust: Any, risk: Any) -> Any:
        """What the table of trust and risk denies, no rule is asked about."""
        if self._policy.denied_cells is DeniedCells.PENDING:
            return TRUE
        return z3.Or(
            *(
                z3.And(trust == level.value, risk == each.value)
                for level in TrustLevel
                for each in Risk
                if cell(level, each) is not Decision.DENIED
            )
        )

    def _values(self, translator: Translator) -> Iterator[Any]:
        """Closed sets and ranges. A FAILED action was denied before."""
        for path, term in list(translator.terms.items()):
            if path == "finding.status":
                yield _one_of(term.text, [each.value for each in Status if each is not Status.FAILED])
            elif path == "finding.engine":
                yield _one_of(term.text, [*ENGINE_NAMES, "human"])
            elif path == "agent.type":
                yield _one_of(term.text, [each.value for each in AgentType])
            elif path == "agent.score":
                yield z3.And(term.number >= 0, term.number <= 1)
            elif path == "charge":
                yield term.number >= 0
            elif path.startswith("origin("):
                yield _one_of(term.text, ORIGINS)
            elif path == "now":
                yield z3.And(term.number >= 1_600_000_000, term.number <= 4_000_000_000)
            elif path.startswith(("recipients(", "hosts(")) and path.endswith(("].domain", "]")):
                yield TRUE if term.text is None else z3.InRe(term.text, _NAMES)


def _one_of(text: Any, values: Sequence[str]) -> Any:
    return z3.Or(*(text == z3.StringVal(value) for value in values))


def nice(translator: Translator) -> Iterator[Any]:
    """What makes an example look like one; tried first."""
    for path, term in translator.terms.items():
        if term.size is not None:
            yield term.size <= 3
        if path.endswith("].domain") or (path.startswith("hosts(") and "[" in path):
            yield z3.InRe(term.text, _NICE_NAME)
        elif path.endswith("].local"):
            yield z3.InRe(term.text, _NICE_WORD)
        elif path.startswith("paths(") and "[" in path:
            yield z3.InRe(term.text, _NICE_PATH)
        elif path.startswith("action.parameters.") and term.text is not None:
            yield z3.Or(z3.Not(term.is_list), term.size > 0)
            yield z3.Implies(term.is_text, z3.Length(term.text) > 0)


def _holds(found: bool | None, want: Want) -> bool:
    match want:
        case Want.TRUE:
            return found is True
        case Want.SILENT:
            return found is False
    return found is not False
