"""Text to state: strict JSON, read once, within bounds.

Stricter than `domain.json_text`, because a state is stored and compared: whatever has no JSON
value is refused rather than kept, strings are NFC, and objects come out with their keys sorted.
"""

import json
import re
import unicodedata
from decimal import Decimal
from itertools import groupby
from typing import Any, Final, cast

from qwed.domain.json_text import MAX_EXPONENT, MAX_NUMBER_LENGTH
from qwed.guards.agent_state.refusal import StateCode, StateRefused, quote

MAX_DEPTH: Final = 64


def read_state(given: object, max_bytes: int) -> Any:
    """The state a JSON text stands for. Raises `StateRefused` with 101, 102, or 103 for its depth."""
    text = _text(given)
    is_ascii = text.isascii()
    _refuse_size(text, is_ascii, max_bytes)
    _refuse_depth(text)
    try:
        state = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise _not_json(f"{error.msg} at line {error.lineno}, column {error.colno}") from None
    # Only an escape can put what is not ASCII into a string of an ASCII text.
    if is_ascii and "\\u" not in text:
        return state
    return _normalize(state)


def _text(given: object) -> str:
    # The real type is asked, since an object can lie about its `__class__`.
    if not issubclass(type(given), str):
        raise StateRefused(
            StateCode.NOT_A_STRING, f"the state is a JSON string, not {quote(type(given).__name__)}"
        )
    text = str.__str__(cast(str, given))
    if not text or text.isspace():
        raise StateRefused(
            StateCode.NOT_A_STRING, "the state is a non-empty JSON string, and this one is blank"
        )
    return text


def _refuse_size(text: str, is_ascii: bool, max_bytes: int) -> None:
    size = len(text)
    if not is_ascii and size <= max_bytes:
        try:
            size = len(text.encode("utf-8"))
        except UnicodeEncodeError:
            raise _not_json("a lone surrogate is not a character") from None
    if size > max_bytes:
        raise _not_json(f"the state is larger than {max_bytes} bytes")


def _refuse_depth(text: str) -> None:
    """Measured before the parser sees the text: its recursion is bounded by this alone."""
    if text.count("[") + text.count("{") > MAX_DEPTH and not _is_clearly_shallow(text):
        _measure_depth(text)


_ALL_BUT_STRUCTURE: Final = str.maketrans("", "", "".join(set(map(chr, range(128))) - set('"\\[]{}')))


def _is_clearly_shallow(text: str) -> bool:
    """Takes the innermost pairs away, layer by layer: ten times faster than looking at each token."""
    structure = text.translate(_ALL_BUT_STRUCTURE).replace('""', "")
    # A round takes at most two layers: {} and then the [] that held it.
    for _ in range(MAX_DEPTH // 2):
        if not structure:
            return True
        structure = structure.replace("{}", "").replace("[]", "")
    return not structure


# A string is one token, so that the brackets in it are not counted. An unclosed one takes all the
# rest: trying again at each quote in it would be quadratic.
_STRUCTURE: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)


def _measure_depth(text: str) -> None:
    depth = 0
    for part in _STRUCTURE.findall(text):
        if part in "{[":
            depth += 1
            if depth > MAX_DEPTH:
                raise StateRefused(
                    StateCode.NOT_THE_SCHEMA, f"the state is nested deeper than {MAX_DEPTH} levels"
                )
        elif part in "}]":
            depth -= 1


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    try:
        pairs.sort()
    except TypeError:
        # Values are compared only where keys are equal.
        raise _refuse_repeated(pairs) from None
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _refuse_repeated(pairs)
    return members


def _integer(literal: str) -> int:
    _refuse_long_number(literal)
    return int(literal)


def _decimal(literal: str) -> Decimal:
    _refuse_long_number(literal)
    _, _, exponent = literal.lower().partition("e")
    # Bounded first: Decimal refuses 1e9999999999 with an error, and takes 1e999999999 as a bomb.
    if exponent and (len(exponent) > MAX_NUMBER_LENGTH or abs(int(exponent)) > MAX_EXPONENT):
        raise _not_json(f"the exponent of {quote(literal)} is beyond {MAX_EXPONENT}")
    return Decimal(literal)


def _refuse_long_number(literal: str) -> None:
    if len(literal) > MAX_NUMBER_LENGTH:
        raise _not_json(f"a number of {len(literal)} characters is longer than {MAX_NUMBER_LENGTH}")


def _constant(literal: str) -> Any:
    raise _not_json(f"{literal} is not a JSON value")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_decimal, parse_constant=_constant
)


def _normalize(value: Any) -> Any:
    kind = type(value)
    if kind is str:
        return normalize_text(value)
    if kind is list:
        return [_normalize(item) for item in value]
    if kind is dict:
        return _object([(normalize_text(key), _normalize(item)) for key, item in value.items()])
    return value


_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
# Combining marks are not word characters, so a run of them is always inside such a run.
_POSSIBLE_MARKS: Final = re.compile(r"[^\w\x00-\x7f]{32,}")


def normalize_text(text: str) -> str:
    """NFC, in linear time."""
    if text.isascii():
        return text
    if _LONE_SURROGATE.search(text):
        raise _not_json("a lone surrogate is not a character")
    # `unicodedata` orders a run of marks by insertion, which takes minutes for a megabyte of them.
    return unicodedata.normalize("NFC", _POSSIBLE_MARKS.sub(_marks_in_order, text))


def _marks_in_order(run: re.Match[str]) -> str:
    parts = {character: unicodedata.normalize("NFD", character) for character in set(run.group())}
    characters = "".join(map(parts.__getitem__, run.group()))
    orders = {character: unicodedata.combining(character) for character in set(characters)}
    ordered: list[str] = []
    for _, group in groupby(characters, key=lambda character: orders[character] > 0):
        ordered += sorted(group, key=orders.__getitem__)
    return "".join(ordered)


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> StateRefused:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            break
        seen.add(key)
    return _not_json(f"key {quote(key)} is given more than once in one object")


def _not_json(why: str) -> StateRefused:
    return StateRefused(StateCode.NOT_JSON, f"invalid JSON: {why}")
