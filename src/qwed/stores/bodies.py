"""Values to JSON and back, for the `body` columns. Decimals keep their digits."""

from decimal import Decimal
from functools import cache
from typing import Any, TypeVar

import msgspec

from qwed.gateway.kernel.ports import StoreUnavailable

T = TypeVar("T")

_encoder = msgspec.json.Encoder(decimal_format="number")


def encode(value: Any) -> bytes:
    return _encoder.encode(value)


def decode(kind: type[T], body: bytes) -> T:
    try:
        value: T = _decoder(kind).decode(body)  # type: ignore[arg-type]
    except msgspec.DecodeError as error:
        raise StoreUnavailable(f"a stored {kind.__name__} can't be read: {error}") from error
    return value


@cache
def _decoder(kind: type[Any]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind, float_hook=Decimal)
