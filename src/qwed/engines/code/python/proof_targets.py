"""Where a Python program puts its values."""

import ast
from collections.abc import Hashable, Iterable
from typing import Final

from qwed.engines.code.bounds import NOTHING, BoundedValue, ObjectCell, callables, join, join_all, string
from qwed.engines.code.python import harmless
from qwed.engines.code.python.arithmetic import Arithmetic
from qwed.engines.code.python.proof_values import ProofClass, ProofFunction
from qwed.engines.code.python.readers import place_key, read_later
from qwed.engines.code.python.scopes import PythonNames

_CHANGING: Final = frozenset({"list", "set", "dict"})

HARMLESS_DUNDERS: Final = frozenset(
    {"__init__", "__post_init__", "__name__", "__main__", "__slots__", "__doc__", "__all__", "__version__"}
)


class ProofTargets(Arithmetic):
    """Names, and everything else that a value can be put into."""

    def __init__(self, names: PythonNames) -> None:
        super().__init__()
        self.names = names
        self.scope = names.module
        self.functions: dict[int, ProofFunction] = {}
        self.classes: dict[int, ProofClass] = {}
        self.current: list[ProofFunction] = []

    def attribute(self, owner: BoundedValue, name: str, node: ast.AST) -> BoundedValue:
        raise NotImplementedError

    def optional(self, node: ast.expr | None) -> BoundedValue:
        return NOTHING if node is None else self.run(node)

    def _places(self, nodes: Iterable[ast.expr]) -> frozenset[Hashable]:
        """Each place as the variable and the members that lead to it."""
        paths = [place_key(node) for node in nodes]
        return frozenset((id(self.scope.find(path[0])), path) for path in paths if path)

    def _refuse_unknown_growth(
        self, target: ast.expr, owner: BoundedValue, given: Iterable[ast.expr]
    ) -> None:
        """An argument that nobody has given yet has no container: the place that holds it stands for one."""
        if not owner.has("any"):
            return
        for place in self._places([target]):
            self.refuse_walked(place)
            if any(place in self._places(read_later(each)) for each in given):
                raise self.refuse("something grows by what is read from itself, and how far is not known")

    def refuse_own_reader(self, cell: ObjectCell, given: BoundedValue) -> None:
        """`x.extend(i for i in x)`: each member that is added is read again."""
        if cell in self.read_later(given):
            raise self.refuse("something grows by what is read from itself, and how far is not known")

    def _load(self, target: ast.expr) -> BoundedValue:
        match target:
            case ast.Name():
                return self.lookup(target.id)
            case ast.Attribute():
                return self.attribute(self.run(target.value), target.attr, target)
            case ast.Subscript():
                return self.item(self.run(target.value), self.run(target.slice), target)
        raise self.refuse("sets something that is not known")

    def error(self, node: ast.AST) -> ObjectCell:
        cell = self.cell(id(node), "object")
        self.put_member(cell, string(10_000))
        return cell

    def module_member(self, module: str, name: str) -> BoundedValue:
        path = f"{module}.{name}"
        if path in harmless.VALUES:
            return harmless.VALUES[path]
        if path in harmless.CALLS or path in harmless.TYPES or module in harmless.TYPE_MODULES:
            return callables(path)
        raise self.refuse(f"{path} is on no list of harmless things")

    def lookup(self, name: str) -> BoundedValue:
        variable = self.scope.find(name)
        if variable is not None:
            return variable.value
        if name == "__name__":
            return string(8, "__main__")
        path = f"builtins.{name}"
        if path in harmless.CALLS or path in harmless.TYPES:
            return callables(path)
        raise self.refuse(f"{name} is on no list of harmless things, or is not defined")

    def put_name(self, name: str, value: BoundedValue) -> None:
        if name.startswith("__") and name.endswith("__") and name not in HARMLESS_DUNDERS:
            raise self.refuse(f"sets {name}")
        variable = self.scope.find(name)
        if variable is None:
            raise self.refuse(f"sets {name}, which is not known")
        self.put(variable, value)

    def bind(self, target: ast.expr, value: BoundedValue) -> None:
        self.step()
        match target:
            case ast.Name(id=name):
                self.put_name(name, value)
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                self._unpack(elts, value)
            case ast.Starred(value=inner):
                rounds, member = self.members(value)
                self.bind(inner, self.listed(target, "list", rounds, member))
            case ast.Attribute():
                self._set_attribute(target, value)
            case ast.Subscript():
                self._set_item(target, value)
            case _:
                raise self.refuse("sets something that is not known")

    def _unpack(self, targets: list[ast.expr], value: BoundedValue) -> None:
        for index, target in enumerate(targets):
            exact = [cell.fields.get(str(index)) for cell in value.cells]
            if isinstance(target, ast.Starred):
                self.bind(target, value)
            elif None not in exact and value.kinds == {"cell"}:
                self.bind(target, join_all(each for each in exact if each is not None))
            else:
                self.bind(target, self.members(value)[1])

    def _set_attribute(self, target: ast.Attribute, value: BoundedValue) -> None:
        owner = self.run(target.value)
        if target.attr.startswith("__") or owner.calls or not owner.kinds <= {"cell", "any", "none"}:
            raise self.refuse(f"sets {target.attr} of something that is not the program's own")
        for cell in owner.cells:
            if cell.kind != "object":
                raise self.refuse(f"sets {target.attr} of something that is not the program's own")
            self.put_field(cell, target.attr, value)

    def _set_item(self, target: ast.Subscript, value: BoundedValue) -> None:
        owner, index = self.run(target.value), self.run(target.slice)
        if owner.calls:
            raise self.refuse("changes something that is not the program's own")
        if isinstance(target.slice, ast.Slice):
            self._refuse_unknown_growth(target.value, owner, [])
        for cell in owner.cells:
            if isinstance(target.slice, ast.Slice):
                rounds, member = self.members(value)
                self.put_member(cell, member)
                self.grow(cell, rounds, id(target))
            elif cell.kind == "dict":
                self.put_member(cell, join(index, value))
                self.grow(cell, 1, id(target))
            else:
                self.put_member(cell, value)
