"""From an action to one question: the notation recognised, premises and goal apart."""

import enum
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from qwed.domain.actions import Action
from qwed.domain.json_text import describe_type
from qwed.engines.logic import infix, prefix, smtlib
from qwed.engines.logic.elaborate import elaborate
from qwed.engines.logic.problem import LogicProblem
from qwed.engines.logic.refusals import NotLogic, UndecidedLogic
from qwed.engines.logic.sexpr import Sexpr, read, write
from qwed.engines.logic.smtlib import SatCheck
from qwed.engines.logic.sorts import Sort, read_sort
from qwed.engines.logic.syntax import Formulas

MAX_CHARACTERS: Final = 1_048_576
MAX_INFIX_CHARACTERS: Final = 65_536
MAX_PREMISES: Final = 1_000
MAX_VARIABLES: Final = 1_000


class Question(enum.StrEnum):
    SATISFIABLE = "satisfiable"
    UNSATISFIABLE = "unsatisfiable"
    VALID = "valid"
    ENTAILED = "entailed"
    EQUIVALENT = "equivalent"
    CONSISTENT = "consistent"


_QUESTIONS: Final = {
    **{question.value: question for question in Question},
    **dict.fromkeys(("sat", "satisfiability"), Question.SATISFIABLE),
    **dict.fromkeys(("unsat", "contradiction"), Question.UNSATISFIABLE),
    **dict.fromkeys(("validity", "tautology", "theorem"), Question.VALID),
    **dict.fromkeys(("entails", "entailment", "follows", "implied"), Question.ENTAILED),
    **dict.fromkeys(("equivalence", "equal"), Question.EQUIVALENT),
    **dict.fromkeys(("consistency",), Question.CONSISTENT),
}
# A text with one of these is meant as a script, even where its brackets do not match.
_SCRIPT: Final = re.compile(r"\(\s*(?:assert|check-sat|set-logic|set-info|declare-\w+|define-\w+)\b")
_QUANTIFIER: Final = re.compile(r"\((?:forall|exists)\b")
_PARAMETERS: Final = frozenset({"premises", "question", "variables", "other"})


class WrittenFormula(msgspec.Struct, frozen=True):
    """A formula, and how its author wrote it."""

    text: str
    term: Sexpr


class LogicQuestion(msgspec.Struct, frozen=True):
    """One question. `asked` is what the author named; without a name the form decides."""

    question: Question
    problem: LogicProblem
    premises: tuple[WrittenFormula, ...]
    goals: tuple[WrittenFormula, ...]
    notation: str
    asked: bool = False
    # Further `check-sat`s of one script; the first is the reading itself.
    more_checks: tuple[SatCheck, ...] = ()
    declared_status: str | None = None


class _Texts(msgspec.Struct, frozen=True):
    query: str | None
    premises: tuple[str, ...]
    other: str | None
    variables: Mapping[str, Sort]
    question: Question | None


def read_action(action: Action, *, in_reals: bool = False) -> LogicQuestion:
    """Numbers that nobody declared are integers, or reals if asked for. Raises `Refusal` only."""
    texts = _texts(action)
    scripts = [_commands(text) for text in (*texts.premises, texts.query, texts.other) if text is not None]
    if any(script is not None and smtlib.looks_smtlib(script) for script in scripts):
        return _from_scripts(texts, scripts)
    return _from_formulas(texts, in_reals=in_reals)


def _texts(action: Action) -> _Texts:
    unknown = next((name for name in action.parameters if name not in _PARAMETERS), None)
    if unknown is not None:
        raise NotLogic(f"no parameter {unknown[:40]!r}: there are {', '.join(sorted(_PARAMETERS))}")
    if action.target:
        raise NotLogic("a formula stands in 'query', not in 'target'")
    if action.query is not None and action.code is not None:
        raise NotLogic("both 'query' and 'code' hold a formula")
    query = action.query if action.query is not None else action.code
    other = _optional_text(action, "other")
    texts = _Texts(
        None if query is None or not query.strip() else query,
        _premises(action.parameters.get("premises")),
        other,
        _variables(action.parameters.get("variables")),
        _question(action.parameters.get("question")),
    )
    if texts.query is None and not texts.premises:
        raise NotLogic("there is no formula")
    total = sum(map(len, (*texts.premises, texts.query or "", other or "")))
    if total > MAX_CHARACTERS:
        raise UndecidedLogic("size", f"{total} characters, of at most {MAX_CHARACTERS}")
    return texts


def _optional_text(action: Action, name: str) -> str | None:
    value = action.parameters.get(name)
    if not isinstance(value, str | None):
        raise NotLogic(f"{name!r} is a formula, not {describe_type(value)}")
    return value


def _premises(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,) if value.strip() else ()
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise NotLogic("'premises' is a list of formulas")
    if len(value) > MAX_PREMISES:
        raise UndecidedLogic("size", f"{len(value)} premises, of at most {MAX_PREMISES}")
    return tuple(item for item in value if item.strip())


def _variables(value: Any) -> Mapping[str, Sort]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise NotLogic(f"'variables' is an object of name and sort, not {describe_type(value)}")
    if len(value) > MAX_VARIABLES:
        raise UndecidedLogic("size", f"{len(value)} variables, of at most {MAX_VARIABLES}")
    return {name: read_sort(name, specification) for name, specification in value.items()}


def _question(value: Any) -> Question | None:
    if value is None:
        return None
    question = _QUESTIONS.get(value.strip().lower()) if isinstance(value, str) else None
    if question is None:
        raise NotLogic(f"'question' is one of {', '.join(Question)}")
    return question


def _default_question(texts: _Texts, *, has_premises: bool, has_goals: bool) -> Question:
    if texts.other is not None:
        return Question.EQUIVALENT
    if has_premises and not has_goals:
        return Question.CONSISTENT
    return Question.ENTAILED if has_premises else Question.SATISFIABLE


# SMT-LIB


def _commands(text: str) -> list[Sexpr] | None:
    """The expressions of a text that could be a script; None where it is none."""
    if not text.lstrip().startswith(("(", ";")):
        return None
    try:
        return read(text)
    except NotLogic:
        if _SCRIPT.search(text):
            raise
        return None


def _from_scripts(texts: _Texts, scripts: Sequence[list[Sexpr] | None]) -> LogicQuestion:
    count = len(texts.premises)
    commands = [command for script in scripts for command in _as_commands(script)]
    checks = smtlib.interpret(commands)
    first = checks[0]
    premised = sum(_assertions(script) for script in scripts[:count])
    premises = tuple(WrittenFormula(write(term)[:200], term) for term in first.assertions[:premised])
    goals = tuple(WrittenFormula(write(term)[:200], term) for term in first.assertions[premised:])
    question = texts.question or _default_question(texts, has_premises=bool(premises), has_goals=bool(goals))
    quantified = any(_QUANTIFIER.search(text) for text in (*texts.premises, texts.query or ""))
    return LogicQuestion(
        question,
        msgspec.structs.replace(first.problem, is_first_order=quantified),
        premises,
        goals,
        "smt-lib",
        texts.question is not None,
        tuple(checks[1:]),
        first.declared_status,
    )


def _as_commands(script: list[Sexpr] | None) -> list[Sexpr]:
    if script is None:
        raise NotLogic("beside an SMT-LIB script every formula is written in SMT-LIB")
    return script if smtlib.looks_smtlib(script) else [("assert", term) for term in script]


def _assertions(script: list[Sexpr] | None) -> int:
    return sum(isinstance(each, tuple) and each[:1] == ("assert",) for each in _as_commands(script))


# Infix and prefix


def _from_formulas(texts: _Texts, *, in_reals: bool) -> LogicQuestion:
    given = (*texts.premises, texts.query or "", texts.other or "")
    if sum(map(len, given)) > MAX_INFIX_CHARACTERS:
        raise UndecidedLogic("size", f"a formula of more than {MAX_INFIX_CHARACTERS} characters")
    bitwise = any(isinstance(sort.term, tuple) and sort.term[0] == "_" for sort in texts.variables.values())
    parsed = [(_parse(text, bitwise), text) for text in given]
    variables = dict(texts.variables)
    for statements, _ in parsed:
        for variable in statements.declared:
            variables.setdefault(variable.name, read_sort(variable.name, variable.sort))
    *premise_parts, query, other = parsed
    premises = [(node, text) for part, text in premise_parts for node in (*part.premises, *part.goals)]
    premises += [(node, texts.query or "") for node in query[0].premises]
    goals = [(node, text) for part, text in (query, other) for node in part.goals]
    if not premises and not goals:
        raise NotLogic("there is no formula")
    problem, premise_terms, goal_terms = elaborate(
        [node for node, _ in premises], [node for node, _ in goals], variables, in_reals=in_reals
    )
    question = texts.question or _default_question(
        texts, has_premises=bool(premises) or query[0].has_turnstile, has_goals=bool(goals)
    )
    return LogicQuestion(
        question,
        problem,
        tuple(
            _statement(text, term, len(premises))
            for (_, text), term in zip(premises, premise_terms, strict=True)
        ),
        tuple(_statement(text, term, len(goals)) for (_, text), term in zip(goals, goal_terms, strict=True)),
        "formula",
        texts.question is not None,
    )


def _parse(text: str, bitwise: bool) -> Formulas:
    expressions = _commands(text)
    if expressions is None or not prefix.looks_prefix(expressions):
        return infix.parse(text, bitwise=bitwise)
    try:
        return prefix.parse(expressions)
    except NotLogic as refusal:
        try:
            return infix.parse(text, bitwise=bitwise)
        except NotLogic:
            raise refusal from None


def _statement(text: str, term: Sexpr, siblings: int) -> WrittenFormula:
    return WrittenFormula(text[:200] if siblings == 1 or len(text) <= 200 else write(term)[:200], term)
