"""The loop fingerprint: what two spellings of one action share, so that a new spelling is not a new action.

Folded are: blank ends of texts, zero-width and format characters, the ways to write one number, members that
are null and, for actions of the SQL engine, letter case outside quotation marks. Texts and numbers stay
apart. The *action hash* is over the exact action and folds nothing.

A fingerprint says its version: those of version 2 begin with the byte 2, those of version 1 are a bare hash.
What was written under version 1 is compared under it, and a conversation goes on in the version it began in.
"""

import hashlib
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

import msgspec

from qwed.domain.actions import Action, JsonValue, members_of
from qwed.domain.canonical import encode_exact
from qwed.domain.lazy_pattern import lazy_pattern
from qwed.domain.sql_case import fold_sql_case

VERSION: Final = b"\x02"
HASH_BYTES: Final = 32
#: Longer statements keep their letter case: folding them is not worth what it costs.
MAX_SQL: Final = 4_096
#: Parameters that hold a statement where the action is SQL; compared without regard to letter case.
SQL_SLOTS: Final = frozenset({"sql", "query", "statement", "stmt"})


class Fingerprints(msgspec.Struct, frozen=True):
    """Of one action, under both versions; empty where the parameters are not JSON."""

    current: bytes = b""
    older: bytes = b""

    def beside(self, row: bytes) -> bytes:
        """The one to compare with a row, and to write after it."""
        return self.older if len(row) == HASH_BYTES else self.current


def is_older(row: bytes) -> bool:
    return len(row) == HASH_BYTES


def identify(action: Action, *, is_sql: bool = False) -> tuple[str, Fingerprints]:
    """The action hash and the fingerprints; mostly there is nothing to fold, and all are one hash."""
    members = members_of(action)
    encoded = b"" if action.parameters else _encode_simple(members)
    is_simple = bool(encoded)
    exact = hashlib.sha256(encoded or encode_exact(members)).digest()
    is_plain = is_simple or all(map(_is_plain, members.values()))
    if is_plain and not is_sql:
        return exact.hex(), Fingerprints(VERSION + exact, exact)
    trimmed = members if is_plain else _trim(members)
    older = _hash_unless_same(trimmed, members, exact)
    folded = members if is_plain else _fold_members(members)
    if is_sql:
        folded = _fold_statements(folded)
    if _are_alike(folded, trimmed):
        current = older
    elif is_simple:
        # Only letter case was folded, and what was simple still is.
        current = _hash(_plain_encoder.encode(folded))
    else:
        current = _hash_unless_same(folded, members, exact)
    return exact.hex(), Fingerprints(VERSION + current, older)


def _are_alike(one: dict[str, JsonValue], other: dict[str, JsonValue]) -> bool:
    """Whether both versions folded the action's own texts alike, and nothing else: mostly blank ends."""
    return all(
        value is other[name] or (type(value) is str and value == other[name]) for name, value in one.items()
    )


def _is_plain(value: JsonValue) -> bool:
    """Whether neither version folds anything of it: one look at what most actions hold."""
    kind = type(value)
    if kind is str:
        return bool(value.isascii()) and value == value.strip()
    if kind is dict:
        return all(key.isascii() and item is not None and _is_plain(item) for key, item in value.items())
    if kind is list:
        return all(map(_is_plain, value))
    return kind is int or kind is bool or value is None


def _hash(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def _hash_unless_same(folded: JsonValue, members: JsonValue, exact: bytes) -> bytes:
    # Compared by identity: 1 and 1.0 are equal and have different hashes.
    return exact if folded is members else _hash(encode_exact(folded))


# Where every text is simple, these bytes are what `encode_exact` writes (a property test holds it so).
_plain_encoder = msgspec.json.Encoder(order="sorted")


def _encode_simple(members: dict[str, JsonValue]) -> bytes:
    """Members without parameters, where every text is printable ASCII without blank ends: nothing to escape,
    tag or fold, but letter case. Empty where one is not, which the written text itself shows: what has to be
    escaped begins with a backslash, and a blank end stands beside the quotation mark."""
    try:
        encoded = _plain_encoder.encode(members)
    except UnicodeEncodeError:
        return b""
    if b"\\" in encoded or b'" ' in encoded or b' "' in encoded or b"\x7f" in encoded:
        return b""
    return encoded if encoded.isascii() else b""


# --- version 2 ----------------------------------------------------------------------------------------------

#: Unicode's format characters (Cf), and what else is drawn with no width.
_INVISIBLE = lazy_pattern(
    "[\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000110bd\U000110cd"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def _fold_members(members: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The action's own members stay, null or not."""
    folded = {name: fold(value) for name, value in members.items()}
    return members if all(folded[name] is members[name] for name in members) else folded


def fold(value: JsonValue) -> JsonValue:
    """The value as all its spellings share it; the very same object where nothing was folded."""
    if isinstance(value, str):
        return _fold_text(value).strip()
    if isinstance(value, float | Decimal):
        return _fold_number(value)
    if isinstance(value, Mapping):
        return _fold_object(value)
    if isinstance(value, list | tuple):
        folded = [fold(item) for item in value]
        return value if all(map(_is_same, folded, value)) else folded
    return value


def _is_same(one: JsonValue, other: JsonValue) -> bool:
    return one is other


def _fold_text(text: str) -> str:
    return text if text.isascii() else _INVISIBLE.sub("", text)


def _fold_object(value: Mapping[str, JsonValue]) -> JsonValue:
    present = [(key, item) for key, item in value.items() if item is not None]
    folded = [(_fold_text(key), fold(item)) for key, item in present]
    if len({key for key, _ in folded}) < len(folded):
        # Two keys that only look alike: to whoever reads them they are two.
        folded = [(key, item) for (key, _), (_, item) in zip(present, folded, strict=True)]
    if len(present) == len(value) and all(
        one is other and a is b for (one, a), (other, b) in zip(folded, present, strict=True)
    ):
        return value
    return dict(folded)


def _fold_number(value: float | Decimal) -> int | Decimal:
    """An integer where it is one; else its digits without zeros at the end."""
    sign, digits, exponent = (value if isinstance(value, Decimal) else Decimal(repr(value))).as_tuple()
    assert isinstance(exponent, int), "check 7 lets no infinity through"
    end = len(digits)
    while end and digits[end - 1] == 0:
        end -= 1
    exponent += len(digits) - end
    if not end:
        return 0
    if exponent < 0:
        return Decimal((sign, digits[:end], exponent))
    number: int = int("".join(map(str, digits[:end]))) * 10**exponent
    return -number if sign else number


def _fold_statements(members: dict[str, JsonValue]) -> dict[str, JsonValue]:
    query, parameters = members["query"], members["parameters"]
    changed = {**members, "query": _fold_statement(query)}
    if parameters:
        changed["parameters"] = {
            key: _fold_statement(item) if key.casefold() in SQL_SLOTS else item
            for key, item in parameters.items()
        }
    is_same = changed["query"] == query and changed["parameters"] == parameters
    # Only texts were touched, so what is equal here is the same.
    return members if is_same else changed


def _fold_statement(value: JsonValue) -> JsonValue:
    return fold_sql_case(value) if isinstance(value, str) and len(value) <= MAX_SQL else value


# --- version 1 ----------------------------------------------------------------------------------------------


def _trim(value: JsonValue) -> JsonValue:
    """Blank ends of texts, and nothing else; the very same object where there are none."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, Mapping):
        trimmed = {key: _trim(item) for key, item in value.items()}
        return value if all(trimmed[key] is value[key] for key in value) else trimmed
    if isinstance(value, list | tuple):
        items = [_trim(item) for item in value]
        return value if all(map(_is_same, items, value)) else items
    return value
