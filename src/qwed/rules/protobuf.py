"""The wire format of protocol buffers, as far as a checked expression needs it: fields, never messages."""

import struct
from collections.abc import Iterator
from typing import Final

Field = tuple[int, int | bytes]

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MAX_VARINT_BYTES: Final = 10


class WireError(ValueError):
    """The bytes are not what the library writes."""


def read_fields(data: bytes) -> Iterator[Field]:
    """Each field's number and value, in the order of the bytes: an int, or the bytes of the rest."""
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, at = _read_varint(data, at)
            yield number, value
            continue
        if kind == _BYTES:
            length, at = _read_varint(data, at)
        else:
            length = {_FIXED64: 8, _FIXED32: 4}.get(kind, len(data))
        if at + length > len(data):
            raise WireError("a field is longer than its message")
        yield number, data[at : at + length]
        at += length


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(_MAX_VARINT_BYTES):
        if at >= len(data):
            raise WireError("a number is cut off")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return value, at
    raise WireError("a number is longer than 64 bits")


def all_of(data: bytes, number: int) -> list[bytes]:
    """Every value of a repeated message or text."""
    return [value for found, value in read_fields(data) if found == number and isinstance(value, bytes)]


def bytes_of(data: bytes, number: int) -> bytes:
    """A message or text; empty where it is left out."""
    values = all_of(data, number)
    return values[-1] if values else b""


def text_of(data: bytes, number: int) -> str:
    return bytes_of(data, number).decode()


def whole_of(data: bytes, number: int) -> int:
    """An int64; 0 where it is left out."""
    value = 0
    for found, given in read_fields(data):
        if found == number and isinstance(given, int):
            value = given
    return signed(value)


def signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


def double_from(data: bytes) -> float:
    (value,) = struct.unpack("<d", data)
    return float(value)
