"""Strict JSON: what an agent sent, read once, exactly, within bounds.

Differences to `json.loads`: a repeated key, a byte order mark, bytes that are not UTF-8 and
nesting beyond the bound are refused; decimals keep their digits (`Decimal`). Three things that
have no JSON value are kept as `Unrepresentable`, so that the caller can say *where* they stood:
NaN and the infinities (and what most readers take for one, as `1e999`), numbers too long to be worth
reading, and lone surrogates.
"""

import itertools
import json
import re
from decimal import Decimal
from typing import Any, Final, TypeVar

MAX_DEPTH: Final = 64
MAX_NUMBER_LENGTH: Final = 400
MAX_EXPONENT: Final = 1_000
#: From here on, a reader that keeps numbers as doubles has infinity where another has a number.
INFINITE_FROM: Final = 2**1024 - 2**970
_INFINITE_FROM: Final = Decimal(INFINITE_FROM)
_INFINITE: Final = "a number that most readers take for infinity"

type_names: Final = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "integer",
    Decimal: "number",
    float: "number",
    type(None): "null",
}


class Unrepresentable:
    """A literal that stood in the text and has no JSON value."""

    __slots__ = ("why",)

    def __init__(self, why: str) -> None:
        self.why = why

    def __str__(self) -> str:
        return f"[{self.why}]"


class JsonError(ValueError):
    """The text is not acceptable JSON; the message says why."""


class NotJson(JsonError):
    """It does not follow the grammar at all."""


class RepeatedKey(JsonError):
    def __init__(self, key: str) -> None:
        super().__init__(f"key {json.dumps(key)} is given more than once in one object")
        self.key = key


class TooDeep(JsonError):
    pass


def describe_type(value: object) -> str:
    """The JSON name of a value's type, for messages."""
    if isinstance(value, Unrepresentable):
        return value.why
    return type_names.get(type(value), type(value).__name__)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise RepeatedKey(key)
            seen.add(key)
    return result


def _integer(literal: str) -> int | Unrepresentable:
    if len(literal) > MAX_NUMBER_LENGTH:
        return Unrepresentable(f"a number of {len(literal)} characters")
    return _read_finite(int(literal))


def decimal_of(literal: str) -> Decimal | Unrepresentable:
    """A number with a point or an exponent, exactly, within bounds."""
    if len(literal) > MAX_NUMBER_LENGTH:
        return Unrepresentable(f"a number of {len(literal)} characters")
    exponent = literal.lower().partition("e")[2]
    # Bounded before Decimal sees it: 1e999999999 parses, and then fills the memory as an int.
    if exponent and (len(exponent) > 6 or abs(int(exponent)) > MAX_EXPONENT):
        return Unrepresentable(f"a number with the exponent {exponent[:20]}")
    return _read_finite(Decimal(literal))


_Number = TypeVar("_Number", int, Decimal)


def _read_finite(number: _Number) -> _Number | Unrepresentable:
    return number if is_finite(number) else Unrepresentable(_INFINITE)


def is_finite(number: float | Decimal) -> bool:
    """Whether every reader of JSON reads it as a number."""
    if isinstance(number, Decimal):
        return number.is_finite() and number.copy_abs() < _INFINITE_FROM
    return -INFINITE_FROM < number < INFINITE_FROM


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=decimal_of, parse_constant=Unrepresentable
)
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def loads(raw: bytes, *, max_depth: int = MAX_DEPTH) -> Any:
    """The value of one JSON text. Raises `JsonError` only."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotJson(f"byte {error.start} is not UTF-8") from None
    # Counting brackets is cheap and over-estimates: only suspects are measured exactly.
    if raw.count(b"[") + raw.count(b"{") > max_depth:
        _refuse_depth(raw, max_depth)
    try:
        value = _decode(text)
    except JsonError:
        raise
    except RecursionError:
        raise TooDeep(f"nested deeper than {max_depth} levels") from None
    except json.JSONDecodeError as error:
        raise NotJson(f"{error.msg} at line {error.lineno}, column {error.colno}") from None
    if _SURROGATE_ESCAPE.search(raw):
        return _without_lone_surrogates(value)
    return value


def _decode(text: str) -> Any:
    """A text that begins and ends with its value needs no look for blanks around it."""
    try:
        value, end = _DECODER.scan_once(text, 0)  # type: ignore[attr-defined]
    except StopIteration:
        return _DECODER.decode(text)
    return value if end == len(text) else _DECODER.decode(text)


def _refuse_depth(raw: bytes, max_depth: int) -> None:
    steps = _STRINGS.sub(b"", raw).translate(_STEPS, _NO_BRACKETS)
    if max(itertools.accumulate(memoryview(steps).cast("b")), default=0) > max_depth:
        raise TooDeep(f"nested deeper than {max_depth} levels")


# One match for as many strings as stand between two brackets. Nothing in it can be matched in two ways,
# so that it is linear: an escaped quote does not end a string, and the end of the text ends the last one.
_STRINGS: Final = re.compile(rb'(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"?[^"\[\]{}]*+)++', re.DOTALL)
#: A bracket as the signed byte that it adds to the depth: a Python step for each would cost seconds.
_STEPS: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[{]}"))


def _without_lone_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return Unrepresentable("a lone surrogate") if _LONE_SURROGATE.search(value) else value
    if isinstance(value, list):
        return [_without_lone_surrogates(item) for item in value]
    if isinstance(value, dict):
        for key in value:
            if _LONE_SURROGATE.search(key):
                raise JsonError("an object key holds a lone surrogate")
        return {key: _without_lone_surrogates(item) for key, item in value.items()}
    return value
