"""What the gateway and its workers say to each other: MessagePack with a length before it.

Numbers cross exactly: decimals and integers beyond 64 bits travel as extension types. Nothing
that is decoded here can name a class or run code.
"""

import socket
import struct
import time
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

import msgspec

from qwed.domain.actions import Action
from qwed.domain.findings import Finding
from qwed.engines.catalogue import EngineEntry

MAX_FRAME_BYTES: Final = 8 * 1024 * 1024

_LENGTH: Final = struct.Struct(">I")
_DECIMAL: Final = 1
_INTEGER: Final = 2
_MIN_INT64: Final = -(2**63)
_MAX_UINT64: Final = 2**64 - 1


class NotEncodable(ValueError):
    """The value can't cross: it is not JSON, or too large; the message says which."""


class Hello(msgspec.Struct, frozen=True, tag="hello"):
    """First word to a worker: its limits, and the engines with their rules."""

    catalogue: dict[str, EngineEntry]
    rules: dict[str, bytes]
    memory_bytes: int


class Load(msgspec.Struct, frozen=True, tag="load"):
    engine: str


class Job(msgspec.Struct, frozen=True, tag="job"):
    engine: str
    action: Action
    cpu_seconds: float


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The worker has started, or has loaded what it was asked to."""


class AnswerFrame(msgspec.Struct, frozen=True, tag="answer"):
    finding: Finding
    # A worker that ran short of memory is not to be trusted with another job.
    worn_out: bool = False


Request = Hello | Load | Job
Reply = Ready | AnswerFrame


def _extension(code: int, data: memoryview) -> Any:
    if code == _DECIMAL:
        return Decimal(bytes(data).decode("ascii"))
    if code == _INTEGER:
        return int.from_bytes(data, "big", signed=True)
    raise ValueError(f"unknown extension {code}")


_encoder = msgspec.msgpack.Encoder()
_requests: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request, ext_hook=_extension)
_replies: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply, ext_hook=_extension)


def exact_action(action: Action) -> Action:
    """The action with numbers that survive the encoder. Raises `NotEncodable` only."""
    try:
        return msgspec.structs.replace(action, parameters=_exact(action.parameters))
    except RecursionError:
        raise NotEncodable("nested too deeply") from None


def exact_finding(finding: Finding) -> Finding:
    """The finding with numbers that survive the encoder. Raises `NotEncodable` only."""
    corrected = finding.corrected
    try:
        return msgspec.structs.replace(
            finding,
            evidence=_exact(finding.evidence),
            corrected=None if corrected is None else exact_action(corrected),
        )
    except RecursionError:
        raise NotEncodable("nested too deeply") from None


def encode(message: Request | Reply) -> bytes:
    """One frame. Raises `NotEncodable` only."""
    try:
        body = _encoder.encode(message)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise NotEncodable(str(error)[:200]) from None
    if len(body) > MAX_FRAME_BYTES:
        raise NotEncodable(f"{len(body)} bytes, of at most {MAX_FRAME_BYTES}")
    return _LENGTH.pack(len(body)) + body


def decode_request(body: bytes) -> Request:
    return _requests.decode(body)


def decode_reply(body: bytes) -> Reply:
    return _replies.decode(body)


def receive(channel: socket.socket, ends_at: float | None = None) -> bytes | None:
    """The next frame's body, `None` at the end of the stream. Raises `OSError`."""
    header = _receive_exactly(channel, _LENGTH.size, ends_at)
    if header is None:
        return None
    (length,) = _LENGTH.unpack(header)
    if length > MAX_FRAME_BYTES:
        raise OSError(f"a frame of {length} bytes")
    return _receive_exactly(channel, length, ends_at)


def _receive_exactly(channel: socket.socket, length: int, ends_at: float | None) -> bytes | None:
    parts = bytearray()
    while len(parts) < length:
        if ends_at is not None:
            channel.settimeout(max(ends_at - time.monotonic(), 0.001))
        part = channel.recv(min(length - len(parts), 1 << 16))
        if not part:
            return None
        parts += part
    return bytes(parts)


def _exact(value: Any) -> Any:
    kind = type(value)
    if kind is str or kind is bool or value is None or kind is float:
        return value
    if kind is int:
        return value if _MIN_INT64 <= value <= _MAX_UINT64 else _large_integer(value)
    if kind is Decimal:
        return msgspec.msgpack.Ext(_DECIMAL, str(value).encode("ascii"))
    if isinstance(value, Mapping):
        return {_key(key): _exact(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_exact(item) for item in value]
    if isinstance(value, str | int):
        return value
    raise NotEncodable(f"a {kind.__name__} is not a JSON value")


def _large_integer(value: int) -> msgspec.msgpack.Ext:
    return msgspec.msgpack.Ext(_INTEGER, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise NotEncodable(f"object keys are strings, not {type(key).__name__}")
    return key
