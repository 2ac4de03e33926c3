"""Every text of an action, collected in one place.

An engine that looks for texts by itself misses the field nobody thought of. Keys are texts too; so is
what a text holds when it is JSON, and what a list or a command with its arguments says when it is read
as one.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from qwed.domain import json_text
from qwed.domain.actions import Action
from qwed.domain.json_text import JsonError
from qwed.domain.skeleton import compact_skeleton

MAX_TEXTS: Final = 256
MAX_BYTES: Final = 262_144
_MAX_DEPTH: Final = 32
_MAX_EMBEDDED_JSON: Final = 65_536
_JSON_STARTS: Final = ("{", "[", '"')
_BLANK: Final = " \t\r\n\v\f\ufeff\u200b\u00a0"
_COMMAND_NAMES: Final = frozenset({"command", "cmd", "program", "executable"})
_ARGUMENT_NAMES: Final = frozenset({"args", "argv", "arguments", "flags"})


class Text(msgspec.Struct, frozen=True):
    """`slot` is the path of members that leads to it, without positions in lists: `request.body`."""

    where: str
    slot: str
    value: str


class Joined(msgspec.Struct, frozen=True):
    """Texts that may be run as one: as the words of a command, or line after line."""

    where: str
    slot: str
    command: str
    lines: str | None = None


class Texts(msgspec.Struct, frozen=True):
    """`is_complete` is false where the action holds more than is collected."""

    values: tuple[Text, ...]
    names: tuple[Text, ...]
    joined: tuple[Joined, ...]
    is_complete: bool = True


def collect_texts(action: Action, without: frozenset[str] = frozenset()) -> Texts:
    """All texts of the action, at most `MAX_TEXTS` and `MAX_BYTES` of them; `without` names parameters."""
    collector = _Collector()
    parameters = action.parameters
    if not without.isdisjoint(parameters):
        parameters = {key: value for key, value in parameters.items() if key not in without}
    try:
        for field in ("query", "code", "target"):
            value = getattr(action, field)
            if value is not None:
                collector.add_text(field, field, value, 0)
        collector.add_name("type", "type", action.type)
        collector.add_members("parameters", "", parameters, 0)
    except _TooMuch:
        return collector.texts(is_complete=False)
    return collector.texts(is_complete=True)


def fold_name(name: str) -> str:
    """A member's name as slots are compared: letter case, separators and look-alikes folded."""
    return name if name.isascii() and name.isalpha() and name.islower() else compact_skeleton(name[:200])


class _TooMuch(Exception):
    """The bound on texts, bytes or depth was reached."""


class _Collector:
    """One bounded walk over an action."""

    def __init__(self) -> None:
        self._values: list[Text] = []
        self._names: list[Text] = []
        self._joined: list[Joined] = []
        self._texts_left = MAX_TEXTS
        self._bytes_left = MAX_BYTES

    def texts(self, *, is_complete: bool) -> Texts:
        return Texts(tuple(self._values), tuple(self._names), tuple(self._joined), is_complete)

    def add_text(self, where: str, slot: str, text: str, depth: int) -> None:
        self._add_value(where, slot, text)
        self._add_embedded(where, slot, text, depth)

    def _add_value(self, where: str, slot: str, value: str) -> None:
        self._values.append(Text(where, slot, value))
        self._charge(value)

    def add_name(self, where: str, slot: str, name: str) -> None:
        self._charge(name)
        self._names.append(Text(where, slot, name))

    def add_members(self, where: str, slot: str, members: Mapping[Any, Any], depth: int) -> None:
        for key, value in members.items():
            name = str(key)
            inner = f"{slot}.{name}" if slot else name
            self.add_name(f"{where}.{name}", inner, name)
            self._add(f"{where}.{name}", inner, value, depth + 1)
        self._add_commands(where, slot, members)

    def _add(self, where: str, slot: str, value: Any, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise _TooMuch
        if isinstance(value, str):
            self.add_text(where, slot, value, depth)
        elif isinstance(value, Mapping):
            self.add_members(where, slot, value, depth)
        elif isinstance(value, list | tuple):
            for index, item in enumerate(value):
                self._add(f"{where}[{index}]", slot, item, depth + 1)
            self._add_list(where, slot, value)

    def _add_embedded(self, where: str, slot: str, text: str, depth: int) -> None:
        """Arguments are often handed over as JSON inside a string."""
        bare = text.strip(_BLANK)
        if bare[:1] not in _JSON_STARTS or len(bare) > _MAX_EMBEDDED_JSON:
            return
        try:
            value = json_text.loads(bare.encode("utf-8", "surrogatepass"), max_depth=_MAX_DEPTH)
        except JsonError:
            return
        if isinstance(value, dict | list | str):
            self._add(where, slot, value, depth + 1)

    def _add_list(self, where: str, slot: str, items: Sequence[Any]) -> None:
        words = list(_words(items))
        if len(words) > 1:
            self._join(where, slot, shlex.join(words), "\n".join(words))

    def _add_commands(self, where: str, slot: str, members: Mapping[Any, Any]) -> None:
        """A command and its arguments, given as two members of one object."""
        if len(members) < 2:
            return
        named = [(fold_name(str(key)), value) for key, value in members.items()]
        programs = [value for name, value in named if name in _COMMAND_NAMES]
        arguments = [value for name, value in named if name in _ARGUMENT_NAMES]
        for program in programs:
            for argument in arguments:
                first, rest = _command_text(program), _command_text(argument)
                if first and rest:
                    self._join(where, slot, f"{first} {rest}")

    def _join(self, where: str, slot: str, command: str, lines: str | None = None) -> None:
        self._charge(command)
        self._joined.append(Joined(where, slot, command, lines))

    def _charge(self, text: str) -> None:
        self._texts_left -= 1
        self._bytes_left -= len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        if self._texts_left < 0 or self._bytes_left < 0:
            raise _TooMuch


def _words(items: Sequence[Any]) -> Iterator[str]:
    for item in items:
        if isinstance(item, str):
            yield item
        elif isinstance(item, int | float) and not isinstance(item, bool):
            yield str(item)


def _command_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return shlex.join(_words(value)) if isinstance(value, list | tuple) else ""
