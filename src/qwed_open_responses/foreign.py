"""Foreign objects as the JSON-like values they stand for, without importing what they come from."""

import dataclasses
import datetime
import enum
import os
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from qwed.domain import json_text


class UnreadableText(Exception):
    """Reading stops here; the message says why."""


def unpack(value: Any) -> Any:
    """A foreign object as the JSON-like value it stands for; anything else unchanged."""
    if value is None or isinstance(value, str | int | float | list | dict | tuple):
        if isinstance(value, enum.Enum):
            return value.value
        fields = getattr(value, "_fields", None)
        return dict(zip(fields, value, strict=True)) if isinstance(value, tuple) and fields else value
    for matches, open_one in _OPENERS:
        if matches(value):
            try:
                return open_one(value)
            except Exception as error:  # noqa: BLE001 - a foreign object's own code: whatever it raises, it can't be read
                raise UnreadableText(
                    f"a {type(value).__name__} can't be read: {type(error).__name__}"
                ) from None
    return value


def _has(name: str) -> Callable[[Any], bool]:
    return lambda value: not isinstance(value, type) and callable(getattr(value, name, None))


_OPENERS: Final[tuple[tuple[Callable[[Any], bool], Callable[[Any], Any]], ...]] = (
    (lambda value: isinstance(value, Mapping), dict),
    (_has("model_dump"), lambda value: value.model_dump(mode="json", warnings=False)),
    (lambda value: isinstance(value, msgspec.Struct), msgspec.to_builtins),
    (lambda value: dataclasses.is_dataclass(value) and not isinstance(value, type), dataclasses.asdict),
    (lambda value: isinstance(value, set | frozenset), lambda value: sorted(value, key=repr)),
    (lambda value: isinstance(value, bytes | bytearray), lambda value: value.decode("utf-8", "replace")),
    (lambda value: isinstance(value, datetime.date | datetime.time), lambda value: value.isoformat()),
    (lambda value: isinstance(value, datetime.timedelta | uuid.UUID), str),
    (lambda value: isinstance(value, os.PathLike), os.fspath),
    (lambda value: isinstance(value, enum.Enum), lambda value: value.value),
    (_has("to_dict"), lambda value: value.to_dict()),
    (_has("dict"), lambda value: value.dict()),
)  # fmt: skip


def json_value(text: str) -> Any:
    """The object or array that the text is, or None for prose."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json_text.loads(text.encode("utf-8", "surrogatepass"))
    except json_text.NotJson:
        return None
    except json_text.JsonError as error:
        raise UnreadableText(f"the JSON text is ambiguous: {error}") from None


def digits_of(value: int) -> str:
    try:
        return str(value)
    except ValueError:
        raise UnreadableText("an integer of thousands of digits, too long to check") from None


def decode_text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise UnreadableText("the bytes are not UTF-8 text") from None
