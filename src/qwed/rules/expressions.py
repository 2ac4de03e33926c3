"""An expression of a rule: compiled by the library, read as a tree, and held against the schema.

Nothing is evaluated here but the parts that can be tried when a policy is read: time zones, patterns,
durations and dates.
"""

import datetime
import functools
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from cel_expr_python import cel

from qwed.domain.nearest import nearest_name
from qwed.domain.rules import MAX_EXPRESSION_BYTES
from qwed.rules.kinds import LIBRARY_FUNCTIONS, kind_mistakes, quote
from qwed.rules.schema import RULE_SCHEMA, RuleSchema
from qwed.rules.tree import (
    CelCall,
    CelList,
    CelLiteral,
    CelLoop,
    CelMember,
    CelName,
    CelNode,
    NotUnderstood,
    children_of,
    decode,
    walk,
)

MAX_SHOWN: Final = 5
_SOME_TIME: Final = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
_REPORT: Final = re.compile(r"<input>:(-?\d+):(-?\d+): (.+)")
_UNDECLARED: Final = re.compile(r"undeclared reference to '([^']*)'.*")
_NO_OVERLOAD: Final = re.compile(r"found no matching overload for '([^']*)' applied to '\((.*)\)'.*")
_OPERATORS: Final = re.compile(r"\b(and|or|not)\b")


class ExpressionMistake(msgspec.Struct, frozen=True):
    """`line` and `column` count from 1, within the expression."""

    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.message} (at {self.line}:{self.column})"


class NotAnExpression(ValueError):
    """`mistakes` has all that could be said at once."""

    def __init__(self, mistakes: list[ExpressionMistake]) -> None:
        super().__init__("; ".join(map(str, mistakes)))
        self.mistakes = mistakes


class Expression(msgspec.Struct, frozen=True):
    """`paths` are what it reads (`("action", "parameters", "amount")`), each without its own parts;
    `calls` the functions of ours with what they are asked about (`("recipients", "action")`); `types` the
    action types without which it is false, None where it may be true of any.
    """

    text: str
    tree: CelNode
    paths: frozenset[tuple[str, ...]]
    calls: frozenset[tuple[str, str]]
    types: frozenset[str] | None

    @property
    def functions(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.calls)


def read_expression(text: str, schema: RuleSchema = RULE_SCHEMA) -> Expression:
    """Raises `NotAnExpression`."""
    if len(text.encode("utf-8", "replace")) > MAX_EXPRESSION_BYTES:
        raise NotAnExpression([ExpressionMistake(1, 1, f"is longer than {MAX_EXPRESSION_BYTES} bytes")])
    tree = _compile(text, schema)
    mistakes = [_mistake(text, found.position, found.message) for found in kind_mistakes(tree, schema)]
    if not mistakes:
        mistakes = [_mistake(text, position, message) for position, message in _try_constants(tree)]
    if mistakes:
        raise NotAnExpression(mistakes[:MAX_SHOWN])
    calls = frozenset(_calls(tree, schema))
    return Expression(
        text, tree, frozenset(_paths(tree, frozenset(), schema)), calls, find_pinned_types(tree)
    )


def _compile(text: str, schema: RuleSchema) -> CelNode:
    try:
        return decode(schema.environment.compile(text).serialize())
    except NotUnderstood as error:
        raise NotAnExpression([_mistake(text, error.position, str(error))]) from None
    # The library has no errors of its own kind; whatever it raises, this is no expression.
    except Exception as error:  # noqa: BLE001
        raise NotAnExpression(list(_library_mistakes(str(error), text, schema))[:MAX_SHOWN]) from None


def _mistake(text: str, position: int, message: str) -> ExpressionMistake:
    before = text[:position]
    return ExpressionMistake(before.count("\n") + 1, position - before.rfind("\n"), message)


def _library_mistakes(report: str, text: str, schema: RuleSchema) -> Iterator[ExpressionMistake]:
    found = _REPORT.findall(report)
    if not found:
        yield ExpressionMistake(1, 1, _first_line(report))
    for line, column, message in found:
        yield ExpressionMistake(max(1, int(line)), max(1, int(column)), _in_our_words(message, text, schema))


def _first_line(report: str) -> str:
    if "recursion limit" in report:
        return "is nested too deeply"
    return f"is not an expression: {report.splitlines()[0][:200] if report else 'no reason was given'}"


def _in_our_words(message: str, text: str, schema: RuleSchema) -> str:
    if undeclared := _UNDECLARED.match(message):
        name = undeclared[1]
        near = nearest_name(name, [*schema.names, *_MACROS, *LIBRARY_FUNCTIONS])
        return f"{quote(name)} is not known" + (f"; did you mean {near}?" if near else f"; {_names(schema)}")
    if overload := _NO_OVERLOAD.match(message):
        return f"{_operator(overload[1])} does not work on {overload[2].replace('map(string, dyn)', 'map')}"
    if "recursion depth" in message:
        return "is nested too deeply"
    if "<EOF>' expecting {" in message:
        return "ends too early; something is missing"
    if wrong := _OPERATORS.search(text):
        words = {"and": "&&", "or": "||", "not": "!"}
        return f"{message[:200]}; write {words[wrong[1]]} for {wrong[1]}"
    if re.search(r"[^=!<>]=[^=]", text):
        return f"{message[:200]}; write == to compare"
    return message[:200]


def _names(schema: RuleSchema) -> str:
    return f"there are {', '.join((*schema.variables, *schema.constants))}"


def _operator(function: str) -> str:
    return function.strip("_@").replace("_", " ").strip() or function


_MACROS: Final = ("exists", "all", "exists_one", "map", "filter", "has")


def _try_constants(tree: CelNode) -> Iterator[tuple[int, str]]:
    """Zones, patterns, durations and dates that are written out are tried now."""
    for node in walk(tree):
        if isinstance(node, CelCall) and node.arguments and isinstance(node.arguments[-1], CelLiteral):
            last = node.arguments[-1].value
            trial = _TRIALS.get(node.function) if isinstance(last, str) else None
            if node.function.startswith("get") and len(node.arguments) == 2:
                trial = ("now.getHours(p) >= 0", "is not a time zone, such as Europe/Berlin or UTC")
            if trial is not None and not _holds(trial[0], str(last)):
                yield node.arguments[-1].position, f"{quote(str(last))} {trial[1]}"


_TRIALS: Final = {
    "matches": ('"".matches(p) in [true, false]', "is not a regular expression (RE2)"),
    "duration": ("duration(p) >= duration(p)", 'is not a duration, such as "90s" or "24h"'),
    "timestamp": ("timestamp(p) >= timestamp(p)", 'is not a time, such as "2026-03-01T00:00:00Z"'),
}


@functools.cache
def _trial(text: str) -> Any:
    return cel.NewEnv(variables={"p": cel.Type.STRING, "now": cel.Type.TIMESTAMP}).compile(text)


def _holds(trial: str, value: str) -> bool:
    answer = _trial(trial).eval(data={"p": value, "now": _SOME_TIME})
    return answer.type() == cel.Type.BOOL and answer.value() is True


def path_of(node: CelNode, bound: frozenset[str]) -> tuple[str, ...] | None:
    """`("action", "parameters", "to")` for a chain of members from a variable; None for anything else."""
    match node:
        case CelName():
            return None if node.name in bound else (node.name,)
        case CelMember():
            owner = path_of(node.operand, bound)
            return None if owner is None else (*owner, node.field)
        case CelCall(function="_[_]", arguments=(operand, CelLiteral(value=str() as key))):
            owner = path_of(operand, bound)
            return None if owner is None else (*owner, key)
    return None


def _paths(node: CelNode, bound: frozenset[str], schema: RuleSchema) -> Iterator[tuple[str, ...]]:
    """Every longest chain from a variable; what a function of ours is asked about is not read as a path."""
    path = path_of(node, bound)
    if path is not None:
        if path[0] in schema.variables:
            yield path
        return
    if isinstance(node, CelCall) and node.function in schema.functions:
        return
    if isinstance(node, CelLoop):
        yield from _paths(node.over, bound, schema)
        for part in children_of(node)[1:]:
            yield from _paths(part, bound | {node.variable}, schema)
        return
    for child in children_of(node):
        yield from _paths(child, bound, schema)


def _calls(tree: CelNode, schema: RuleSchema) -> Iterator[tuple[str, str]]:
    for node in walk(tree):
        if isinstance(node, CelCall) and node.function in schema.functions:
            (argument,) = node.arguments
            if isinstance(argument, CelLiteral):
                yield node.function, str(argument.value)
            elif isinstance(argument, CelName):
                yield node.function, argument.name


def find_pinned_types(node: CelNode) -> frozenset[str] | None:
    """The action types of which this may be true; None: of any. An error beside `false &&` is false."""
    match node:
        case CelLiteral(value=False):
            return frozenset()
        case CelCall(function="_==_", arguments=(left, right)):
            return _equal_types(left, right) or _equal_types(right, left)
        case CelCall(function="@in", arguments=(item, CelList(items=items))) if _is_type(item):
            values = [each.value for each in items if isinstance(each, CelLiteral)]
            return frozenset(map(str, values)) if len(values) == len(items) else None
        case CelCall(function="_&&_", arguments=(left, right)):
            return _both(find_pinned_types(left), find_pinned_types(right))
        case CelCall(function="_||_", arguments=(left, right)):
            return _either(find_pinned_types(left), find_pinned_types(right))
        case CelCall(function="_?_:_", arguments=(condition, left, right)):
            return _either(
                _both(find_pinned_types(condition), find_pinned_types(left)), find_pinned_types(right)
            )
    return None


def _is_type(node: CelNode) -> bool:
    return path_of(node, frozenset()) == ("action", "type")


def _equal_types(left: CelNode, right: CelNode) -> frozenset[str] | None:
    if _is_type(left) and isinstance(right, CelLiteral) and isinstance(right.value, str):
        return frozenset({right.value})
    return None


def _both(left: frozenset[str] | None, right: frozenset[str] | None) -> frozenset[str] | None:
    if left is None or right is None:
        return right if left is None else left
    return left & right


def _either(left: frozenset[str] | None, right: frozenset[str] | None) -> frozenset[str] | None:
    return None if left is None or right is None else left | right
