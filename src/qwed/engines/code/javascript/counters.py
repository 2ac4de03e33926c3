"""Where a JavaScript program sets each of its names: a loop ends only if nothing else moves its counter."""

from collections.abc import Callable
from typing import Any, Final

from qwed.engines.code.bounds import BoundedVariable
from qwed.engines.code.javascript.scopes import FUNCTIONS

# What runs at another time than the text around it.
_DELAYED: Final = FUNCTIONS | {"field_definition"}
_TARGETS: Final = {
    "assignment_expression": "left",
    "augmented_assignment_expression": "left",
    "for_in_statement": "left",
    "update_expression": "argument",
    "variable_declarator": "name",
}
_LOOP_PARTS: Final = ("body", "condition")


class Region:
    """A function, or the part of a loop that runs in every round, and what it lies in."""

    __slots__ = ("id", "is_delayed", "parent")

    def __init__(self, node: Any, parent: "Region | None") -> None:
        self.id: int = node.id
        self.is_delayed = node.type in _DELAYED
        self.parent = parent


class Writes:
    def __init__(self, root: Any, variables: dict[int, BoundedVariable]) -> None:
        self._variables = variables
        self._places: dict[int, list[Region | None]] = {}
        self._around: dict[int, Region | None] = {}
        self._parts: set[int] = set()
        waiting: list[tuple[Any, Region | None]] = [(root, None)]
        while waiting:
            node, region = waiting.pop()
            if node.type in _DELAYED or node.id in self._parts:
                region = Region(node, region)
            self._note(node, region)
            waiting.extend((child, region) for child in node.named_children)

    def _note(self, node: Any, region: Region | None) -> None:
        if node.type == "for_statement":
            self._around[node.id] = region
            self._parts |= parts_of_loop(node)
        for target in find_written_names(node):
            variable = self._variables.get(target.id)
            if variable is not None:
                self._places.setdefault(id(variable), []).append(region)

    def may_happen_during(self, loop: Any, variable: BoundedVariable, step: Callable[[], None]) -> bool:
        """Whether the loop's own rounds, or any function that they may call, set the variable."""
        parts, around = parts_of_loop(loop), set()
        region = self._around[loop.id]
        while region is not None:
            around.add(region.id)
            region = region.parent
        for place in self._places.get(id(variable), ()):
            while place is not None:
                step()
                if place.id in parts or (place.is_delayed and place.id not in around):
                    return True
                place = place.parent
        return False


def parts_of_loop(loop: Any) -> set[int]:
    parts = (loop.child_by_field_name(name) for name in _LOOP_PARTS)
    return {part.id for part in parts if part is not None}


def find_written_names(node: Any) -> list[Any]:
    field = _TARGETS.get(node.type)
    target = node.child_by_field_name(field) if field is not None else None
    found, waiting = [], [] if target is None else [target]
    while waiting:
        current = waiting.pop()
        found.append(current)
        if current.type not in ("member_expression", "subscript_expression"):
            waiting.extend(current.named_children)
    return found
