"""What a proof about a Python program knows of its functions, classes and calls."""

import ast
from typing import Any

from qwed.engines.code.bounds import EMPTY, Bound, BoundedValue, BoundedVariable, ObjectCell, join, join_all
from qwed.engines.code.python.scopes import PythonScope


class ProofFunction:
    __slots__ = ("called", "defaults", "is_property", "is_static", "node", "returned", "scope")

    def __init__(self, node: Any, scope: PythonScope, defaults: dict[str, BoundedValue]) -> None:
        self.node = node
        self.scope = scope
        self.defaults = defaults
        self.returned = BoundedVariable()
        self.called = False
        self.is_property = False
        self.is_static = False


class Bound_(tuple[Any, BoundedValue]):
    """A function of the program, with the object it is a method of."""


class ProofClass:
    __slots__ = ("bases", "fields", "instance", "node", "order")

    def __init__(self, node: ast.ClassDef, instance: ObjectCell, bases: "list[ProofClass]") -> None:
        self.node = node
        self.instance = instance
        self.bases = bases
        self.fields: dict[str, BoundedValue] = {}
        # The fields of a dataclass or named tuple, in the order its constructor takes them.
        self.order: list[str] = []


class ProofCall:
    __slots__ = ("args", "count", "kwargs", "node", "receiver")

    def __init__(
        self,
        node: Any,
        args: list[BoundedValue],
        kwargs: dict[str, BoundedValue],
        count: Bound,
        receiver: BoundedValue = EMPTY,
    ) -> None:
        self.node = node
        self.args = args
        self.kwargs = kwargs
        self.count = count
        self.receiver = receiver

    def arg(self, index: int, name: str = "") -> BoundedValue:
        return self.args[index] if index < len(self.args) else self.kwargs.get(name, EMPTY)

    @property
    def everything(self) -> BoundedValue:
        return join(join_all(self.args), join_all(self.kwargs.values()))
