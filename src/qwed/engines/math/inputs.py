"""Which texts of an action are mathematics: the expression, the result claimed for it, the variables."""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

import msgspec

from qwed.domain.actions import Action
from qwed.engines.math.functions import ALIASES
from qwed.engines.math.nodes import Literal, Node, divide
from qwed.engines.math.problems import MAX_LITERAL_LENGTH, MalformedMath, UndecidedMath

Path = tuple[str, ...]

_EXPRESSION_KEYS: Final = (
    *("expression", "expr", "claim", "statement", "equation", "formula", "problem", "question", "query"),
    *("text", "input", "calculation"),
)
_RESULT_KEYS: Final = (
    *("expected", "result", "answer", "expected_result", "claimed_result", "expected_value", "claimed"),
    *("claimed_value", "expected_answer", "output"),
)
_VARIABLE_KEYS: Final = ("variables", "values", "substitutions", "where")
_OPERATION_KEYS: Final = ("operation", "op", "operator", "function")
_OPERAND_PAIRS: Final = (
    *(("a", "b"), ("x", "y"), ("left", "right"), ("first", "second"), ("operand1", "operand2")),
    *(("num1", "num2"), ("n", "k"), ("base", "exponent")),
)
_OPERAND_LISTS: Final = ("operands", "numbers", "values", "args", "data", "items", "cash_flows")
_OPERATION_SIGNS: Final = {
    **dict.fromkeys(("add", "addition", "plus", "sum", "+"), "+"),
    **dict.fromkeys(("subtract", "subtraction", "minus", "-", "sub"), "-"),
    **dict.fromkeys(("multiply", "multiplication", "times", "*", "×", "x", "mul", "product"), "*"),
    **dict.fromkeys(("divide", "division", "/", "÷", "div"), "/"),
    **dict.fromkeys(("power", "exponent", "pow", "^", "**"), "^"),
    **dict.fromkeys(("mod", "modulo", "remainder"), "mod"),
}
# Finance by name: the parameters in the order of the function's arguments, with their other names.
_NAMED_ARGUMENTS: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    **dict.fromkeys(
        ("compound_interest", "compound_amount", "future_value", "simple_interest", "simple_amount"),
        (("principal", "p", "amount"), ("rate", "r", "interest_rate"), ("years", "time", "t")),
    ),
    "present_value": (("future_value", "amount"), ("rate", "r", "discount_rate"), ("years", "time", "t")),
    "loan_payment": (
        ("principal", "p", "amount", "loan"),
        ("rate", "r", "interest_rate"),
        ("years", "time", "t"),
    ),
    "cagr": (("start", "begin", "initial"), ("end", "final"), ("years", "time")),
}
_PERIOD_KEYS: Final = ("periods_per_year", "compounds_per_year", "n", "frequency", "periods")
_LOOKS_LIKE_CLAIM: Final = re.compile(
    r"[0-9][^\n]*(?:=|≈|≠|<|>|≤|≥)|(?:=|≈|≠|<|>|≤|≥)[^\n]*[0-9]|[0-9] (?:is|equals) "
)


# Members that say something to the engine itself, whatever else the action holds.
READ_SLOTS: Final = frozenset(
    {"query", "code", *_EXPRESSION_KEYS, *_RESULT_KEYS, *_VARIABLE_KEYS, *_OPERATION_KEYS, *_OPERAND_LISTS}
    | {name for pair in _OPERAND_PAIRS for name in pair}
)


class MathInput(msgspec.Struct, frozen=True):
    """A text to examine. With `result_path`, its end from `result_start` on came from there."""

    path: Path
    text: str
    result_path: Path | None = None
    result_start: int = 0
    is_required: bool = True


class Inputs(msgspec.Struct, frozen=True):
    sources: list[MathInput]
    variables: dict[str, Node]


def collect(action: Action) -> Inputs:
    """Raises `MalformedMath` when the action holds no mathematics at all."""
    parameters = action.parameters
    result = _first(parameters, _RESULT_KEYS)
    main = _main_texts(action) or _from_operation(parameters)
    if not main:
        raise MalformedMath("no expression is given")
    sources = [MathInput(path, text) for path, text in main]
    if result is not None:
        sources[0] = _with_result(sources[0], result, parameters[result])
    used = {path[-1] for path, _ in main} | {result}
    sources.extend(_other_texts(action, used))
    return Inputs(sources, _variables(parameters))


def read_slots(given: Inputs) -> frozenset[str]:
    """The slots that were read: those of the engine, and every text that looked like a claim."""
    paths = [source.path for source in given.sources]
    return READ_SLOTS | {
        ".".join(part for part in path[path[0] == "parameters" :] if not part.isdigit()) for path in paths
    }


def _first(parameters: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((key for key in keys if parameters.get(key) is not None), None)


def _main_texts(action: Action) -> list[tuple[Path, str]]:
    found: list[tuple[Path, str]] = []
    if action.query is not None:
        found.append((("query",), action.query))
    if action.code is not None:
        found.append((("code",), action.code))
    for key in _EXPRESSION_KEYS:
        value = action.parameters.get(key)
        if isinstance(value, str):
            found.append((("parameters", key), value))
    return found


def _with_result(source: MathInput, key: str, value: Any) -> MathInput:
    """The expression and its claimed result as one claim."""
    stem = source.text.rstrip(" \t\n?.=:")
    if value is True:
        return source
    if value is False:
        raise UndecidedMath("the claim is expected to be false")
    link = "; " if re.search(r"\bsolve|solution|\broots?\b", stem, re.IGNORECASE) else " = "
    return MathInput(source.path, stem + link + value_text(value), ("parameters", key), len(stem) + len(link))


def value_text(value: Any) -> str:
    """A JSON value in our notation."""
    match value:
        case bool():
            raise UndecidedMath("a truth value is not a number")
        case str():
            return value
        case int():
            if value.bit_length() > MAX_LITERAL_LENGTH * 3:
                raise UndecidedMath("a number of too many digits")
            return str(value)
        case Decimal():
            return _decimal_text(value)
        case float():
            # Fifteen digits are all a double holds for certain.
            return _decimal_text(Decimal(f"{value:.15g}"))
        case list() | tuple():
            return "[" + ", ".join(map(value_text, value)) + "]"
    raise UndecidedMath(f"a {type(value).__name__} is not a number")


def _decimal_text(value: Decimal) -> str:
    if not value.is_finite() or abs(value.adjusted()) > MAX_LITERAL_LENGTH:
        raise UndecidedMath("not a number of bounded size")
    return f"{value:f}"


def in_the_manner_of(old: Any, text: str) -> Any:
    """A corrected result keeps the JSON type of the wrong one, where that can hold it exactly."""
    if isinstance(old, str):
        return text
    try:
        value = Decimal(text.replace(",", ""))
    except ArithmeticError:
        return text
    if value == value.to_integral_value() and not isinstance(old, Decimal):
        return int(value)
    return float(value) if isinstance(old, float) else value


def _other_texts(action: Action, used: set[str | None]) -> Iterator[MathInput]:
    """Every other string that looks like a claim."""
    if action.target is not None and _LOOKS_LIKE_CLAIM.search(action.target[:1_000]):
        yield MathInput(("target",), action.target)
    for key, value in action.parameters.items():
        if key not in used:
            yield from _claims_in(("parameters", key), value)


def _claims_in(path: Path, value: Any) -> Iterator[MathInput]:
    if isinstance(value, str):
        if _LOOKS_LIKE_CLAIM.search(value[:1_000]):
            yield MathInput(path, value, is_required=False)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _claims_in((*path, key), item)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _claims_in((*path, str(index)), item)


# -- variables -------------------------------------------------------------------------------------


def _variables(parameters: Mapping[str, Any]) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for key in _VARIABLE_KEYS:
        value = parameters.get(key)
        if isinstance(value, Mapping):
            found.update({name: _number(item) for name, item in value.items() if name.isidentifier()})
    for name, value in parameters.items():
        is_number = isinstance(value, int | Decimal | float) and not isinstance(value, bool)
        if is_number and name not in _RESULT_KEYS and name.isidentifier():
            found.setdefault(name, _number(value))
    return found


def _number(value: Any) -> Node:
    try:
        fraction = Fraction(value_text(value))
    except (ValueError, ZeroDivisionError):
        raise UndecidedMath("the value of a variable is not a number") from None
    return divide(Literal(fraction.numerator), Literal(fraction.denominator))


# -- an operation and its operands -------------------------------------------------------------------


def _from_operation(parameters: Mapping[str, Any]) -> list[tuple[Path, str]]:
    key = _first(parameters, _OPERATION_KEYS)
    if key is None or not isinstance(parameters[key], str):
        return []
    name = parameters[key].strip().lower().replace(" ", "_")
    text = _write_named_call(name, parameters) or _operands_text(name, parameters)
    return [(("parameters", key), text)] if text else []


def _write_named_call(name: str, parameters: Mapping[str, Any]) -> str | None:
    slots = _NAMED_ARGUMENTS.get(name)
    if slots is None:
        return None
    keys = [_first(parameters, slot) for slot in slots]
    if None in keys:
        return None
    values = [parameters[key] for key in keys if key is not None]
    if name != "cagr" and not isinstance(values[1], str) and abs(Fraction(value_text(values[1]))) > 1:
        raise UndecidedMath("a rate above 1 may be a percentage")
    period = (
        None if name in ("cagr", "simple_interest", "simple_amount") else _first(parameters, _PERIOD_KEYS)
    )
    if period is not None:
        values.append(parameters[period])
    return f"{name}({', '.join(map(value_text, values))})"


def _operands_text(name: str, parameters: Mapping[str, Any]) -> str | None:
    operands = _operands(parameters)
    if not operands:
        return None
    sign = _OPERATION_SIGNS.get(name)
    if sign is not None:
        return f" {sign} ".join(f"({operand})" for operand in operands)
    if name in ALIASES:
        return f"{name}({', '.join(operands)})"
    return None


def _operands(parameters: Mapping[str, Any]) -> list[str]:
    for key in _OPERAND_LISTS:
        if isinstance(parameters.get(key), list | tuple):
            return [value_text(value) for value in parameters[key]]
    for first, second in _OPERAND_PAIRS:
        if first in parameters and second in parameters:
            return [value_text(parameters[first]), value_text(parameters[second])]
    for key in ("x", "n", "a", "value", "operand"):
        if key in parameters:
            return [value_text(parameters[key])]
    return []
