"""A request's body as JSON text.

What JSON has no word for (a key that is no string, a set, an object) never leaves: turned into something
else, it would be another action than the one that is going to run. NaN and infinities do leave, as the
literals that the gateway refuses by their own code (QWED-AGENT-STATE-004) and records.
"""

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final


def encode(body: Any) -> bytes:
    """Raises `TypeError` or `ValueError`, which name the place, for what is no JSON."""
    try:
        text = _WRITER.encode(body) if _is_plain(body) else "".join(_parts(body, "body"))
    except RecursionError:
        raise ValueError("body: is nested too deeply, or holds itself") from None
    # A lone surrogate becomes its JSON escape: the gateway says what is wrong with it.
    return text.encode("utf-8", "backslashreplace")


_WRITER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def _is_plain(value: Any) -> bool:
    """Whether the standard encoder writes it as it is. Nearly everything is, and it is many times faster."""
    if isinstance(value, dict):
        return all(isinstance(name, str) and _is_plain(member) for name, member in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, _SCALARS)


_SCALARS: Final = (str, bool, int, float)


def _parts(value: Any, where: str) -> Iterator[str]:
    if value is None or isinstance(value, _SCALARS):
        yield _WRITER.encode(value)
    elif isinstance(value, Decimal) and not value.is_snan():
        yield str(value)
    elif isinstance(value, Mapping):
        yield from _object(value, where)
    elif isinstance(value, list | tuple):
        yield from _array(value, where)
    else:
        raise TypeError(f"{where}: JSON has no {type(value).__name__}")


def _object(members: Mapping[Any, Any], where: str) -> Iterator[str]:
    opening = "{"
    for name, value in members.items():
        if not isinstance(name, str):
            raise TypeError(f"{where}: the keys of a JSON object are strings, not {name!r:.80}")
        yield f"{opening}{_WRITER.encode(name)}:"
        yield from _parts(value, f"{where}.{name:.80}")
        opening = ","
    yield "}" if opening == "," else "{}"


def _array(items: list[Any] | tuple[object, ...], where: str) -> Iterator[str]:
    opening = "["
    for index, value in enumerate(items):
        yield opening
        yield from _parts(value, f"{where}[{index}]")
        opening = ","
    yield "]" if opening == "," else "[]"
