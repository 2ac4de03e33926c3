"""Values and claims of formulas, and the texts that tell expressions apart."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
import z3
from cel_expr_python import cel

from qwed.rules.schema import AnyKind, ListKind, ValueKind
from qwed.rules.tree import (
    CelCall,
    CelList,
    CelLiteral,
    CelLoop,
    CelMember,
    CelName,
    CelNode,
    children_of,
)

#: How many different elements of a list are looked at: one for each `exists` or `all` that may need its own.
MAX_ELEMENTS: Final = 6
PLAIN_KINDS: Final = frozenset({ValueKind.TEXT, ValueKind.NUMBER, ValueKind.BOOL, ValueKind.TIME})
TRUE: Final = z3.BoolVal(True)
FALSE: Final = z3.BoolVal(False)


class Claim(msgspec.Struct, frozen=True):
    """When something is true and when it is false; in no other case it can be evaluated."""

    true: Any
    false: Any

    @property
    def matches(self) -> Any:
        """A rule that cannot be evaluated counts as matching."""
        return z3.Not(self.false)


class Term(msgspec.Struct, frozen=True):
    """A value that may be of several kinds; `ok` is false where there is none."""

    ok: Any
    is_text: Any = FALSE
    text: Any = None
    is_number: Any = FALSE
    number: Any = None
    is_bool: Any = FALSE
    bool: Any = None
    #: Elements with the condition under which each is there, where it may be a list.
    is_list: Any = FALSE
    elements: "tuple[tuple[Any, Term], ...] | None" = None
    size: Any = None
    #: What members are found under, where it may be a map.
    path: str | None = None
    kind: AnyKind = ValueKind.ANY


class Hole(Exception):
    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def seconds_of(function: str, text: str) -> float:
    """As the library reads it."""
    found = (
        cel.NewEnv(variables={"p": cel.Type.STRING}).compile(f"{function}(p)").eval(data={"p": text}).value()
    )
    return float(found.timestamp() if function == "timestamp" else found.total_seconds())


def shape_of(node: CelNode, names: Mapping[str, str]) -> str:
    """The same text for the same expression, wherever it stands."""
    match node:
        case CelLiteral():
            return repr(node.value)
        case CelName():
            return names.get(node.name, node.name)
        case CelMember():
            return f"{shape_of(node.operand, names)}.{node.field}{'?' if node.is_presence else ''}"
    label = node.function if isinstance(node, CelCall) else type(node).__name__
    if isinstance(node, CelLoop):
        label = f"{node.kind.value} {node.variable}"
    return f"{label}({', '.join(shape_of(child, names) for child in children_of(node))})"


def is_compound(term: Term) -> Any:
    return z3.Not(z3.Or(term.is_text, term.is_number, term.is_bool))


def count_loops(node: CelNode) -> int:
    """How many elements of one list an answer can depend on."""
    looks_in = (
        isinstance(node, CelCall) and node.function == "@in" and not isinstance(node.arguments[1], CelList)
    )
    return (isinstance(node, CelLoop) or looks_in) + sum(map(count_loops, children_of(node)))


def literal_term(value: object) -> Term:
    match value:
        case bool():
            return Term(TRUE, is_bool=TRUE, bool=z3.BoolVal(value), kind=ValueKind.BOOL)
        case int():
            return Term(TRUE, is_number=TRUE, number=z3.RealVal(value), kind=ValueKind.NUMBER)
        case float():
            return Term(TRUE, is_number=TRUE, number=z3.RealVal(repr(value)), kind=ValueKind.NUMBER)
        case str():
            return Term(TRUE, is_text=TRUE, text=z3.StringVal(value), kind=ValueKind.TEXT)
        case None:
            return Term(TRUE, kind=ValueKind.NULL)
    raise Hole("bytes")


def list_term(items: list[tuple[Any, Term]]) -> Term:
    size = z3.IntVal(len(items)) if all(there is TRUE for there, _ in items) else None
    return Term(TRUE, is_list=TRUE, elements=tuple(items), size=size, kind=ListKind(ValueKind.ANY))


def text_of(node: CelNode) -> str:
    return str(node.value) if isinstance(node, CelLiteral) and isinstance(node.value, str) else ""
