"""What the interpreter knows of a value: a constant, a dotted reference, a text with holes, a container.

A reference is the path that leads to it, calls and subscripts included: `sqlite3.connect().cursor`.
Every value carries the places where untrusted data entered it.
"""

import ast
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

MAX_OPTIONS: Final = 8
MAX_CALLABLES: Final = 64
MAX_ORIGINS: Final = 3
MAX_STEPS: Final = 6


class Origin(NamedTuple):
    """Where data came in, what kind of place that is, and the names it went through."""

    kind: str
    line: int
    text: str
    steps: tuple[str, ...] = ()


Taint = tuple[Origin, ...]
CLEAN: Final[Taint] = ()


class Value:
    __slots__ = ("taint",)
    taint: Taint


class Unknown(Value):
    """`shape` is what is known all the same: a number, or text made safe for one kind of use."""

    __slots__ = ("shape",)

    def __init__(self, taint: Taint = CLEAN, shape: str = "") -> None:
        self.taint = taint
        self.shape = shape


class Const(Value):
    __slots__ = ("data",)

    def __init__(self, data: Any, taint: Taint = CLEAN) -> None:
        self.data = data
        self.taint = taint


class Ref(Value):
    __slots__ = ("args", "path")

    def __init__(self, path: str, taint: Taint = CLEAN, args: tuple[Value, ...] = ()) -> None:
        self.path = path
        self.taint = taint
        self.args = args


class Text(Value):
    """A string of which parts are known: each part is text, or the value that fills a hole."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[str | Value, ...], taint: Taint = CLEAN) -> None:
        self.parts = parts
        self.taint = taint

    @property
    def prefix(self) -> str:
        first = self.parts[0] if self.parts else ""
        return first if isinstance(first, str) else ""

    def known(self, hole: str = "\ufffc") -> str:
        return "".join(part if isinstance(part, str) else hole for part in self.parts)


class Items(Value):
    """A list, tuple or set whose members are known; `open` when there may be more of them."""

    __slots__ = ("items", "kind", "open")

    def __init__(self, items: list[Value], kind: str, taint: Taint = CLEAN, *, open: bool = False) -> None:
        self.items = items
        self.kind = kind
        self.taint = taint
        self.open = open


class Table(Value):
    __slots__ = ("entries", "open")

    def __init__(self, entries: dict[Any, Value], taint: Taint = CLEAN, *, open: bool = False) -> None:
        self.entries = entries
        self.taint = taint
        self.open = open


class Choice(Value):
    __slots__ = ("options",)

    def __init__(self, options: tuple[Value, ...]) -> None:
        self.options = options
        self.taint = merge_taint(options)


class Function(Value):
    __slots__ = ("bound", "calls", "defaults", "node", "numbers", "remote", "scope")

    def __init__(self, node: Any, scope: Any, defaults: Mapping[str, Value]) -> None:
        self.node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda = node
        self.scope = scope
        self.defaults = defaults
        self.taint = CLEAN
        self.bound: Value | None = None
        self.remote = ""
        self.numbers: frozenset[str] = frozenset()
        self.calls = 0

    @property
    def name(self) -> str:
        return getattr(self.node, "name", "<lambda>")

    def bind(self, owner: Value) -> "Function":
        method = Function(self.node, self.scope, self.defaults)
        method.bound = owner
        return method


class Class(Value):
    __slots__ = ("attributes", "bases", "name")

    def __init__(self, name: str, bases: list[Value], attributes: dict[str, Value]) -> None:
        self.name = name
        self.bases = bases
        self.attributes = attributes
        self.taint = CLEAN

    def find(self, name: str) -> Value | None:
        found = self.attributes.get(name)
        if found is not None:
            return found
        for base in self.bases:
            if isinstance(base, Class) and base is not self:
                found = base.attributes.get(name)
                if found is not None:
                    return found
        return None


class Instance(Value):
    __slots__ = ("attributes", "cls")

    def __init__(self, cls: Class) -> None:
        self.cls = cls
        self.attributes: dict[str, Value] = {}
        self.taint = CLEAN


class Partial(Value):
    """A callable that has some of its arguments already, or that picks an attribute or item."""

    __slots__ = ("args", "kind", "kwargs", "target")

    def __init__(
        self, target: Value, args: list[Value], kwargs: dict[str, Value] | None = None, kind: str = "partial"
    ) -> None:
        self.target = target
        self.args = args
        self.kwargs = kwargs or {}
        self.kind = kind
        self.taint = merge_taint(args)


UNKNOWN: Final = Unknown()
NUMBER: Final = Unknown(shape="number")


def merge_taint(values: Iterable[Value]) -> Taint:
    merged: Taint = CLEAN
    for value in values:
        if value.taint:
            merged = both(merged, value.taint)
    return merged


def both(first: Taint, second: Taint) -> Taint:
    if not first or first is second:
        return second
    if not second or len(first) >= MAX_ORIGINS:
        return first
    fresh = tuple(origin for origin in second if origin[:3] not in {known[:3] for known in first})
    return (first + fresh)[:MAX_ORIGINS]


def stepped(taint: Taint, step: str) -> Taint:
    """The same origins, one name further on."""
    return tuple(
        origin._replace(steps=(*origin.steps, step)) if len(origin.steps) < MAX_STEPS else origin
        for origin in taint
    )


def with_taint(value: Value, taint: Taint) -> Value:
    if not taint or value.taint == taint:
        return value
    match value:
        case Const():
            return Const(value.data, taint)
        case Ref():
            return Ref(value.path, taint, value.args)
        case Text():
            return Text(value.parts, taint)
        case Unknown():
            return Unknown(taint, value.shape)
    return value


def join(first: Value, second: Value) -> Value:
    """Either of two values, as after a branch."""
    if first is second or same(first, second):
        return first
    options: list[Value] = []
    for side in (first, second):
        for option in side.options if isinstance(side, Choice) else (side,):
            if not any(same(option, known) for known in options):
                options.append(option)
    if len(options) == 1:
        return options[0]
    return Choice(tuple(options)) if len(options) <= MAX_OPTIONS else _any_of(options)


def join_all(values: list[Value]) -> Value:
    """Any one of several values."""
    if len(values) > MAX_OPTIONS:
        return _any_of(values)
    made = values[0]
    for value in values[1:]:
        made = join(made, value)
    return made


def _any_of(values: list[Value]) -> Value:
    """Too many to tell apart: what can be called is kept, since losing it would hide a call."""
    taint = merge_taint(values)
    callables = {id(value): value for value in values if isinstance(value, (Ref, Function, Class, Partial))}
    named = {value.path if isinstance(value, Ref) else key: value for key, value in callables.items()}
    constants = all(isinstance(value, Const) for value in values)
    numbers = constants and all(isinstance(v.data, (int, float)) for v in values if isinstance(v, Const))
    rest = Unknown(taint, "number" if numbers else "constant-text" if constants else "")
    if not named:
        return rest
    return Choice((*list(named.values())[:MAX_CALLABLES], rest))


def same(first: Value, second: Value) -> bool:
    if type(first) is not type(second) or first.taint != second.taint:
        return False
    match first, second:
        case Const(), Const():
            return type(first.data) is type(second.data) and first.data == second.data
        case Ref(), Ref():
            return first.path == second.path
        case Unknown(), Unknown():
            return first.shape == second.shape
        case Text(), Text():
            return first.parts == second.parts
    return first is second
