"""Which places of a JavaScript program an expression reads one member at a time."""

from collections.abc import Iterator
from typing import Any, Final

_VIEWS: Final = frozenset({b"keys", b"values", b"entries"})
# The methods by which an array, a map or a set grows.
GROWING: Final = frozenset({"push", "unshift", "splice", "add", "set"})


def find_walked_place(node: Any) -> Any:
    """`a` of `a`, `(a)` and `a.values()`: what holds the container that is read."""
    while True:
        function = node.child_by_field_name("function") if node.type == "call_expression" else None
        if node.type == "parenthesized_expression" and node.named_children:
            node = node.named_children[0]
        elif function is not None and _is_view(function):
            node = function.child_by_field_name("object")
        else:
            return node


def _is_view(function: Any) -> bool:
    name = function.child_by_field_name("property") if function.type == "member_expression" else None
    return name is not None and name.text in _VIEWS


def find_measured_places(limit: Any) -> Iterator[Any]:
    """`a` of `a.length` and `s.size - 1`: what a loop's end is read from."""
    waiting = [limit]
    while waiting:
        current = waiting.pop()
        if current.type == "member_expression":
            yield current.child_by_field_name("object")
        waiting.extend(current.named_children)


def root_and_path(node: Any) -> tuple[Any, tuple[bytes, ...]]:
    """`this.items` as its first node and all of its names; no names for what is no plain path."""
    parts: list[bytes] = []
    while node.type == "member_expression":
        parts.append(node.child_by_field_name("property").text)
        node = node.child_by_field_name("object")
    return node, (node.text, *reversed(parts)) if node.type in ("identifier", "this") else ()
