"""The tree of an expression, as Google's library checked it; nothing is parsed a second time.

`serialize()` gives `Any(cel.expr.CheckedExpr)`. Macros come expanded: the loops behind `exists`, `all`,
`exists_one`, `map` and `filter` are recognised by their shape and become one node again.
"""

import enum
from collections.abc import Iterator
from typing import Final

import msgspec

from qwed.rules.protobuf import (
    WireError,
    all_of,
    bytes_of,
    double_from,
    read_fields,
    signed,
    text_of,
    whole_of,
)

MAX_NODES: Final = 4_000
#: The library's own limit is 32 levels of text; one macro becomes a few levels of tree.
MAX_LEVELS: Final = 160

Constant = bool | int | float | str | bytes | None


class LoopKind(enum.StrEnum):
    EXISTS = "exists"
    ALL = "all"
    EXISTS_ONE = "exists_one"
    MAP = "map"
    FILTER = "filter"


class CelLiteral(msgspec.Struct, frozen=True):
    """`position` is the number of characters before it, here and below."""

    value: Constant
    position: int
    is_unsigned: bool = False


class CelName(msgspec.Struct, frozen=True):
    name: str
    position: int


class CelMember(msgspec.Struct, frozen=True):
    """`operand.field`, or with `is_presence` `has(operand.field)`."""

    operand: "CelNode"
    field: str
    position: int
    is_presence: bool = False


class CelCall(msgspec.Struct, frozen=True):
    """Operators are functions: `_==_`, `_&&_`, `!_`, `_[_]`, `@in`. A method's target comes first."""

    function: str
    arguments: "tuple[CelNode, ...]"
    position: int


class CelList(msgspec.Struct, frozen=True):
    items: "tuple[CelNode, ...]"
    position: int


class CelMap(msgspec.Struct, frozen=True):
    entries: "tuple[tuple[CelNode, CelNode], ...]"
    position: int


class CelLoop(msgspec.Struct, frozen=True):
    """One macro over `over`. `map` with a condition has both; the others have one of them in `body`."""

    kind: LoopKind
    variable: str
    over: "CelNode"
    body: "CelNode"
    position: int
    condition: "CelNode | None" = None


CelNode = CelLiteral | CelName | CelMember | CelCall | CelList | CelMap | CelLoop


class NotUnderstood(ValueError):
    """The library accepts it, and this reader has no word for it. `position` says where."""

    def __init__(self, message: str, position: int = 0) -> None:
        super().__init__(message)
        self.position = position


def decode(serialized: bytes) -> CelNode:
    """Raises `NotUnderstood`, also for bytes that are not a checked expression."""
    try:
        checked = bytes_of(serialized, 2)
        positions = {whole_of(entry, 1): whole_of(entry, 2) for entry in all_of(bytes_of(checked, 5), 4)}
        return _Reader(positions).node(bytes_of(checked, 4), 0)
    except (WireError, UnicodeDecodeError) as error:
        raise NotUnderstood(f"the library's answer cannot be read: {error}") from None


def children_of(node: CelNode) -> tuple[CelNode, ...]:
    match node:
        case CelMember():
            return (node.operand,)
        case CelCall():
            return node.arguments
        case CelList():
            return node.items
        case CelMap():
            return tuple(part for entry in node.entries for part in entry)
        case CelLoop():
            return (
                (node.over, node.body) if node.condition is None else (node.over, node.condition, node.body)
            )
    return ()


def walk(node: CelNode) -> Iterator[CelNode]:
    yield node
    for child in children_of(node):
        yield from walk(child)


class _Reader:
    """Reads one message after the other, within bounds."""

    def __init__(self, positions: dict[int, int]) -> None:
        self._positions = positions
        self._left = MAX_NODES

    def node(self, data: bytes, level: int) -> CelNode:
        self._left -= 1
        if self._left < 0 or level > MAX_LEVELS:
            raise NotUnderstood("is larger than an expression of a rule can be")
        position = self._positions.get(whole_of(data, 2), 0)
        for number, value in read_fields(data):
            if number != 2 and isinstance(value, bytes):
                return self._expression(number, value, position, level + 1)
        raise NotUnderstood("holds an empty part", position)

    def _expression(self, number: int, data: bytes, position: int, level: int) -> CelNode:
        match number:
            case 3:
                return _literal(data, position)
            case 4:
                return CelName(text_of(data, 1), position)
            case 5:
                operand = self.node(bytes_of(data, 1), level)
                return CelMember(operand, text_of(data, 2), position, bool(whole_of(data, 3)))
            case 6:
                parts = all_of(data, 1) + all_of(data, 3)
                return CelCall(text_of(data, 2), tuple(self.node(part, level) for part in parts), position)
            case 7:
                return CelList(tuple(self.node(item, level) for item in all_of(data, 1)), position)
            case 8:
                return self._map(data, position, level)
            case 9:
                return self._loop(data, position, level)
        raise NotUnderstood("holds a part of an unknown kind", position)

    def _map(self, data: bytes, position: int, level: int) -> CelMap:
        if bytes_of(data, 1):
            raise NotUnderstood(f"makes a {text_of(data, 1)}; rules have no use for messages", position)
        entries = [
            (self.node(bytes_of(entry, 3), level), self.node(bytes_of(entry, 4), level))
            for entry in all_of(data, 2)
        ]
        return CelMap(tuple(entries), position)

    def _loop(self, data: bytes, position: int, level: int) -> CelLoop:
        over = self.node(bytes_of(data, 2), level)
        start = self.node(bytes_of(data, 4), level)
        step = self.node(bytes_of(data, 6), level)
        variable = text_of(data, 1)
        found = _macro(variable, start, step)
        if found is None or text_of(data, 8):
            raise NotUnderstood("holds a loop of an unknown kind", position)
        kind, body, condition = found
        return CelLoop(kind, variable, over, body, position, condition)


def _macro(variable: str, start: CelNode, step: CelNode) -> tuple[LoopKind, CelNode, CelNode | None] | None:
    """What a loop was written as, by what it starts with and does in each round."""
    if not isinstance(step, CelCall):
        return None
    match start, step.function, step.arguments:
        case CelLiteral(value=False), "_||_", (CelName(name="@result"), body):
            return LoopKind.EXISTS, body, None
        case CelLiteral(value=True), "_&&_", (CelName(name="@result"), body):
            return LoopKind.ALL, body, None
        case CelLiteral(value=0), "_?_:_", (body, CelCall(function="_+_"), CelName()):
            return LoopKind.EXISTS_ONE, body, None
        case CelList(items=()), "_+_", (CelName(name="@result"), CelList(items=(body,))):
            return LoopKind.MAP, body, None
        case CelList(items=()), "_?_:_", (
            condition,
            CelCall(arguments=(_, CelList(items=(body,)))),
            CelName(),
        ):
            is_filter = isinstance(body, CelName) and body.name == variable
            return (LoopKind.FILTER, condition, None) if is_filter else (LoopKind.MAP, body, condition)
    return None


def _literal(data: bytes, position: int) -> CelLiteral:
    for number, value in read_fields(data):
        match number, value:
            case 1, _:
                return CelLiteral(None, position)
            case 2, int():
                return CelLiteral(bool(value), position)
            case 3, int():
                return CelLiteral(signed(value), position)
            case 4, int():
                return CelLiteral(value, position, is_unsigned=True)
            case 5, bytes():
                return CelLiteral(double_from(value), position)
            case 6, bytes():
                return CelLiteral(value.decode(), position)
            case 7, bytes():
                return CelLiteral(value, position)
    raise NotUnderstood("holds a constant of an unknown kind", position)
