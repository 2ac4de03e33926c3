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


class DataOrigin(NamedTuple):
    """Where data came in, what kind of place that is, and the names it went through."""

    kind: str
    line: int
    text: str
    steps: tuple[str, ...] = ()


Taint = tuple[DataOrigin, ...]
CLEAN: Final[Taint] = ()


class PythonValue:
    __slots__ = ("taint",)
    taint: Taint


class PythonUnknown(PythonValue):
    """`shape` is what is known all the same: a number, or text made safe for one kind of use."""

    __slots__ = ("shape",)

    def __init__(self, taint: Taint = CLEAN, shape: str = "") -> None:
        self.taint = taint
        self.shape = shape


class Const(PythonValue):
    __slots__ = ("data",)

    def __init__(self, data: Any, taint: Taint = CLEAN) -> None:
        self.data = data
        self.taint = taint


class Ref(PythonValue):
    __slots__ = ("args", "path")

    def __init__(self, path: str, taint: Taint = CLEAN, args: tuple[PythonValue, ...] = ()) -> None:
        self.path = path
        self.taint = taint
        self.args = args


class PythonText(PythonValue):
    """A string of which parts are known: each part is text, or the value that fills a hole."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[str | PythonValue, ...], taint: Taint = CLEAN) -> None:
        self.parts = parts
        self.taint = taint

    @property
    def prefix(self) -> str:
        first = self.parts[0] if self.parts else ""
        return first if isinstance(first, str) else ""

    def known(self, hole: str = "\ufffc") -> str:
        return "".join(part if isinstance(part, str) else hole for part in self.parts)


class Items(PythonValue):
    """A list, tuple or set whose members are known; `open` when there may be more of them."""

    __slots__ = ("items", "kind", "open")

    def __init__(
        self, items: list[PythonValue], kind: str, taint: Taint = CLEAN, *, open: bool = False
    ) -> None:
        self.items = items
        self.kind = kind
        self.taint = taint
        self.open = open


class PythonTable(PythonValue):
    __slots__ = ("entries", "open")

    def __init__(self, entries: dict[Any, PythonValue], taint: Taint = CLEAN, *, open: bool = False) -> None:
        self.entries = entries
        self.taint = taint
        self.open = open


class Choice(PythonValue):
    __slots__ = ("options",)

    def __init__(self, options: tuple[PythonValue, ...]) -> None:
        self.options = options
        self.taint = merge_taint(options)


class PythonFunction(PythonValue):
    __slots__ = ("bound", "calls", "defaults", "node", "numbers", "remote", "scope")

    def __init__(self, node: Any, scope: Any, defaults: Mapping[str, PythonValue]) -> None:
        self.node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda = node
        self.scope = scope
        self.defaults = defaults
        self.taint = CLEAN
        self.bound: PythonValue | None = None
        self.remote = ""
        self.numbers: frozenset[str] = frozenset()
        self.calls = 0

    @property
    def name(self) -> str:
        return getattr(self.node, "name", "<lambda>")

    def bind(self, owner: PythonValue) -> "PythonFunction":
        method = PythonFunction(self.node, self.scope, self.defaults)
        method.bound = owner
        return method


class PythonClass(PythonValue):
    __slots__ = ("attributes", "bases", "name")

    def __init__(self, name: str, bases: list[PythonValue], attributes: dict[str, PythonValue]) -> None:
        self.name = name
        self.bases = bases
        self.attributes = attributes
        self.taint = CLEAN

    def find(self, name: str) -> PythonValue | None:
        found = self.attributes.get(name)
        if found is not None:
            return found
        for base in self.bases:
            if isinstance(base, PythonClass) and base is not self:
                found = base.attributes.get(name)
                if found is not None:
                    return found
        return None


class Instance(PythonValue):
    __slots__ = ("attributes", "cls")

    def __init__(self, cls: PythonClass) -> None:
        self.cls = cls
        self.attributes: dict[str, PythonValue] = {}
        self.taint = CLEAN


class Partial(PythonValue):
    """A callable that has some of its arguments already, or that picks an attribute or item."""

    __slots__ = ("args", "kind", "kwargs", "target")

    def __init__(
        self,
        target: PythonValue,
        args: list[PythonValue],
        kwargs: dict[str, PythonValue] | None = None,
        kind: str = "partial",
    ) -> None:
        self.target = target
        self.args = args
        self.kwargs = kwargs or {}
        self.kind = kind
        self.taint = merge_taint(args)


UNKNOWN: Final = PythonUnknown()
NUMBER: Final = PythonUnknown(shape="number")


def merge_taint(values: Iterable[PythonValue]) -> Taint:
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


def step_on(taint: Taint, step: str) -> Taint:
    """The same origins, one name further on."""
    return tuple(
        origin._replace(steps=(*origin.steps, step)) if len(origin.steps) < MAX_STEPS else origin
        for origin in taint
    )


def with_taint(value: PythonValue, taint: Taint) -> PythonValue:
    if not taint or value.taint == taint:
        return value
    match value:
        case Const():
            return Const(value.data, taint)
        case Ref():
            return Ref(value.path, taint, value.args)
        case PythonText():
            return PythonText(value.parts, taint)
        case PythonUnknown():
            return PythonUnknown(taint, value.shape)
    return value


def join(first: PythonValue, second: PythonValue) -> PythonValue:
    """Either of two values, as after a branch."""
    if first is second or same(first, second):
        return first
    options: list[PythonValue] = []
    for side in (first, second):
        for option in side.options if isinstance(side, Choice) else (side,):
            if not any(same(option, known) for known in options):
                options.append(option)
    if len(options) == 1:
        return options[0]
    return Choice(tuple(options)) if len(options) <= MAX_OPTIONS else _any_of(options)


def join_all(values: list[PythonValue]) -> PythonValue:
    """Any one of several values."""
    if len(values) > MAX_OPTIONS:
        return _any_of(values)
    made = values[0]
    for value in values[1:]:
        made = join(made, value)
    return made


def _any_of(values: list[PythonValue]) -> PythonValue:
    """Too many to tell apart: what can be called is kept, since losing it would hide a call."""
    taint = merge_taint(values)
    callables = {
        id(value): value for value in values if isinstance(value, (Ref, PythonFunction, PythonClass, Partial))
    }
    named = {value.path if isinstance(value, Ref) else key: value for key, value in callables.items()}
    constants = all(isinstance(value, Const) for value in values)
    numbers = constants and all(isinstance(v.data, (int, float)) for v in values if isinstance(v, Const))
    rest = PythonUnknown(taint, "number" if numbers else "constant-text" if constants else "")
    if not named:
        return rest
    return Choice((*list(named.values())[:MAX_CALLABLES], rest))


def same(first: PythonValue, second: PythonValue) -> bool:
    if type(first) is not type(second) or first.taint != second.taint:
        return False
    match first, second:
        case Const(), Const():
            return type(first.data) is type(second.data) and first.data == second.data
        case Ref(), Ref():
            return first.path == second.path
        case PythonUnknown(), PythonUnknown():
            return first.shape == second.shape
        case PythonText(), PythonText():
            return first.parts == second.parts
    return first is second
