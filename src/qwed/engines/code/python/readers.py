"""Which names an expression of a Python program reads one member at a time."""

import ast
from collections.abc import Iterator
from typing import Final

# What these are given is read while their own members are asked for.
_LAZY: Final = frozenset(
    [
        "map",
        "filter",
        "zip",
        "enumerate",
        "reversed",
        "chain",
        "from_iterable",
        "islice",
        "pairwise",
        "zip_longest",
        "accumulate",
    ]
)
_VIEWS: Final = frozenset({"keys", "values", "items"})
# The methods by which a container grows.
GROWING: Final = frozenset(
    ["append", "appendleft", "insert", "extend", "extendleft", "add", "update", "setdefault"]
)


def find_walked_places(node: ast.expr) -> Iterator[ast.Name | ast.Attribute | ast.Subscript]:
    """The names and members whose containers are read while the expression is walked over."""
    waiting: list[ast.expr] = [node]
    while waiting:
        current = waiting.pop()
        if isinstance(current, (ast.Name, ast.Attribute, ast.Subscript)):
            yield current
        else:
            waiting.extend(_read_by(current))


def read_later(node: ast.expr) -> Iterator[ast.Name | ast.Attribute | ast.Subscript]:
    """The same, without what is read at once: `x.extend(x)` takes the members that `x` has."""
    for each in _read_by(node):
        yield from find_walked_places(each)


def _read_by(node: ast.expr) -> list[ast.expr]:
    match node:
        case ast.GeneratorExp(generators=generators):
            return [each.iter for each in generators]
        case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name in _VIEWS:
            return [owner]
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args) if name in _LAZY:
            return [each.value if isinstance(each, ast.Starred) else each for each in args]
    return []


def place_key(node: ast.expr) -> tuple[str, ...]:
    """`self.items` as its parts, outermost name first; empty for what is no plain path."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (node.id, *reversed(parts)) if isinstance(node, ast.Name) else ()
