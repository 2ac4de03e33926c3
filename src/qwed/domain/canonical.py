"""Canonical JSON (RFC 8785) and the hashes made of it.

`encode` is the RFC: I-JSON values only, and it refuses what the RFC cannot tell apart
(integers beyond 2^53 - 1, NaN). `encode_exact` takes any JSON value as read by `json_text`, and
first writes those numbers as tagged strings, so that no two inputs share a hash.
"""

import hashlib
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

import msgspec

MAX_SAFE_INTEGER: Final = 2**53 - 1

# Real strings that begin with the tag are themselves tagged, so a string can't pose as a number.
_TAG: Final = "\x01"
_ESCAPED_TAG: Final = b"\\u0001"


class NotCanonical(ValueError):
    """The value has no canonical form; the message says which part."""


_encoder = msgspec.json.Encoder(order="sorted")


def encode(value: Any) -> bytes:
    """RFC 8785 bytes of a JSON value. Raises `NotCanonical` only."""
    try:
        if _is_plain(value):
            return _encoder.encode(value)
        return _write(value).encode("utf-8")
    except RecursionError:
        raise NotCanonical("nested too deeply") from None
    except UnicodeEncodeError:
        raise NotCanonical("a string holds a lone surrogate") from None


def encode_exact(value: Any) -> bytes:
    """Canonical bytes of any JSON value, decimals and large integers included."""
    try:
        if _is_plain(value):
            encoded = _encoder.encode(value)
            # A tag is always escaped: where none is in the bytes, no text begins with one.
            if _ESCAPED_TAG not in encoded or not _is_tagged_anywhere(value):
                return encoded
        return encode(_tag(value))
    except RecursionError:
        raise NotCanonical("nested too deeply") from None


def sha256_hex(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _is_plain(value: Any) -> bool:
    """Where the fast encoder's bytes are the RFC's: ASCII keys, no floats, safe integers."""
    kind = type(value)
    if kind is str:
        return bool(value.isascii()) and "\x7f" not in value
    if kind is bool or value is None:
        return True
    if kind is int:
        return bool(-MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER)
    if kind is dict:
        return all(type(key) is str and key.isascii() and _is_plain(item) for key, item in value.items())
    if kind is list or kind is tuple:
        return all(map(_is_plain, value))
    return False


def _is_tagged_anywhere(value: Any) -> bool:
    if type(value) is str:
        return value.startswith(_TAG)
    if isinstance(value, dict):
        return any(map(_is_tagged_anywhere, value.values()))
    return isinstance(value, list | tuple) and any(map(_is_tagged_anywhere, value))


def _write(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return _string(value)
        case int():
            if not -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
                raise NotCanonical("an integer beyond 2^53 - 1 has no exact JSON number")
            return str(value)
        case float():
            return _number(value)
        case list() | tuple():
            return "[" + ",".join(map(_write, value)) + "]"
        case Mapping():
            return _object(value)
    raise NotCanonical(f"a {type(value).__name__} is not a JSON value")


def _object(value: Mapping[Any, Any]) -> str:
    for key in value:
        if not isinstance(key, str):
            raise NotCanonical(f"object keys are strings, not {type(key).__name__}")
    # The RFC orders keys by UTF-16 code units, which differs from code points beyond the BMP.
    ordered = sorted(value.items(), key=lambda pair: pair[0].encode("utf-16-be"))
    return "{" + ",".join(f"{_string(key)}:{_write(item)}" for key, item in ordered) + "}"


_ESCAPES: Final = {code: f"\\u{code:04x}" for code in range(0x20)} | {
    0x08: "\\b",
    0x09: "\\t",
    0x0A: "\\n",
    0x0C: "\\f",
    0x0D: "\\r",
    0x22: '\\"',
    0x5C: "\\\\",
}


def _string(value: str) -> str:
    value.encode("utf-8")
    return '"' + value.translate(_ESCAPES) + '"'


def _number(value: float) -> str:
    """ECMAScript's shortest form of a double."""
    if not math.isfinite(value):
        raise NotCanonical("NaN and the infinities are not JSON numbers")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    digits, exponent = _shortest(abs(value))
    point = exponent + len(digits)
    if 0 < point <= 21:
        if exponent >= 0:
            return sign + digits + "0" * exponent
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{point - 1:+d}"


def _shortest(value: float) -> tuple[str, int]:
    """The shortest digits and the exponent of their last place: 1.5 is ("15", -1)."""
    _, digits, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    stripped = text.rstrip("0")
    return stripped, exponent + len(text) - len(stripped)


def _tag(value: Any) -> Any:
    kind = type(value)
    if kind is str:
        return f"{_TAG}s{value}" if value.startswith(_TAG) else value
    if kind is int:
        return value if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER else f"{_TAG}i{value}"
    if kind is bool or value is None:
        return value
    if kind is Decimal:
        if not value.is_finite():
            raise NotCanonical("NaN and the infinities are not JSON numbers")
        return f"{_TAG}d{value}"
    if kind is float:
        if not math.isfinite(value):
            raise NotCanonical("NaN and the infinities are not JSON numbers")
        return f"{_TAG}d{value!r}"
    if isinstance(value, Mapping):
        return {_tag_key(key): _tag(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_tag(item) for item in value]
    raise NotCanonical(f"a {type(value).__name__} is not a JSON value")


def _tag_key(key: Any) -> str:
    if not isinstance(key, str):
        raise NotCanonical(f"object keys are strings, not {type(key).__name__}")
    return key
