"""Attributes, items and members of values, and the attributes that lead out of any sandbox."""

import re
from collections.abc import Callable
from typing import Final

from qwed.engines.code.python import constant_folds
from qwed.engines.code.python.machine import (
    MAX_UNROLLED,
    PythonMachine,
    is_hashable,
)
from qwed.engines.code.python.names import (
    DANGEROUS_CALLS,
    JUMP_MODULES,
)
from qwed.engines.code.python.values import (
    UNKNOWN,
    Choice,
    Const,
    Instance,
    Items,
    PythonClass,
    PythonFunction,
    PythonTable,
    PythonText,
    PythonUnknown,
    PythonValue,
    Ref,
    both,
    join,
    join_all,
    with_taint,
)

_TO_NAMESPACE: Final = frozenset(
    {"__globals__", "__builtins__", "func_globals", "f_builtins", "gi_frame", "cr_frame"}
)
_TO_FRAMES: Final = frozenset({"f_globals", "f_locals", "f_back", "tb_frame", "ag_frame"})
_TO_CLASSES: Final = frozenset({"__base__", "__bases__", "__mro__", "mro", "__subclasses__"})
_CLIMBED: Final = re.compile(r"__bases?__|__mro__|mro\(\)|^builtins\.(?:object|type)$")


class MemberAccess(PythonMachine):
    """Reaches from a value to what hangs on it."""

    def attribute(self, owner: PythonValue, name: str, line: int) -> PythonValue:
        match owner:
            case Ref():
                return self._reference_attribute(owner, name, line)
            case Choice():
                return self.over(owner, lambda option: self.attribute(option, name, line))
            case Instance():
                return self._instance_attribute(owner, name, line)
            case PythonClass():
                found = owner.find(name)
                if found is not None:
                    return found
            case PythonFunction() if name == "__globals__":
                self.harm("sandbox-escape", line)
                return Ref("globals()")
        self._check_dunder(owner, name, line)
        if name == "__builtins__":
            return Ref("builtins")
        if name == "__class__":
            literal = isinstance(owner, (Const, Items, PythonTable, PythonText))
            return Ref("literal.__class__" if literal else "object.__class__")
        return PythonUnknown(owner.taint, "method:" + name if isinstance(owner, (Const, PythonText)) else "")

    def _instance_attribute(self, owner: Instance, name: str, line: int) -> PythonValue:
        found = owner.attributes.get(name)
        if found is not None:
            return found
        found = owner.cls.find(name)
        if isinstance(found, PythonFunction):
            return found.bind(owner)
        if found is not None:
            return found
        for base in owner.cls.bases:
            if isinstance(base, Ref):
                return self._reference_attribute(Ref(base.path), name, line)
        self._check_dunder(owner, name, line)
        return UNKNOWN

    def _reference_attribute(self, owner: Ref, name: str, line: int) -> PythonValue:
        if name in JUMP_MODULES and "(" not in owner.path and owner.path.partition(".")[0] != name:
            if name == "__builtins__" and owner.path != "builtins":
                self.harm("sandbox-escape", line)
            return self.reference("builtins" if name == "__builtins__" else name, line)
        if name == "__dict__" and "(" not in owner.path:
            return owner
        if name == "__self__" and owner.path.startswith("builtins."):
            self.harm("sandbox-escape", line)
            return Ref("builtins")
        self._check_dunder(owner, name, line)
        path = owner.path + "." + name
        made = self.reference(path, line, owner.taint)
        if isinstance(made, Ref) and owner.args and owner.path.endswith("()"):
            made.args = owner.args
        return made

    def _check_dunder(self, owner: PythonValue, name: str, line: int) -> None:
        """Attributes that lead from any object to the interpreter's own."""
        if name in _TO_NAMESPACE:
            self.harm("sandbox-escape", line)
        elif name in _TO_FRAMES:
            self.doubt("sandbox-escape", line)
        elif (
            name in _TO_CLASSES and isinstance(owner, Ref) and owner.path.startswith("literal.__class__")
        ) or (name == "__subclasses__" and isinstance(owner, Ref) and _CLIMBED.search(owner.path)):
            self.harm("sandbox-escape", line)

    def over(self, choice: Choice, apply: Callable[[PythonValue], PythonValue]) -> PythonValue:
        result: PythonValue | None = None
        for option in choice.options:
            made = apply(option)
            result = made if result is None else join(result, made)
        return result or UNKNOWN

    def item(self, owner: PythonValue, index: PythonValue, line: int) -> PythonValue:
        match owner:
            case Choice():
                return self.over(owner, lambda option: self.item(option, index, line))
            case PythonTable():
                return self._entry(owner, index)
            case Items():
                return self._member(owner, index)
            case Const():
                return self._constant_item(owner, index)
            case Ref():
                return self._reference_item(owner, index, line)
        return PythonUnknown(both(owner.taint, index.taint) if not isinstance(index, Const) else owner.taint)

    def _entry(self, owner: PythonTable, index: PythonValue) -> PythonValue:
        if isinstance(index, Const) and is_hashable(index.data):
            found = owner.entries.get(index.data)
            return found if found is not None else PythonUnknown(owner.taint)
        if owner.entries and not owner.open:
            # Whatever is asked for, only what is in it comes out.
            return join_all(list(owner.entries.values()))
        return join_all([PythonUnknown(owner.taint), *owner.entries.values()])

    def _member(self, owner: Items, index: PythonValue) -> PythonValue:
        if isinstance(index, Const) and not owner.open:
            try:
                picked = owner.items[index.data]
            except (TypeError, IndexError, ValueError):
                return PythonUnknown(owner.taint)
            return Items(picked, owner.kind, owner.taint) if isinstance(picked, list) else picked
        return self.element(owner)

    def _constant_item(self, owner: Const, index: PythonValue) -> PythonValue:
        if isinstance(index, Const):
            try:
                return Const(constant_folds.subscript(owner.data, index.data), owner.taint)
            except constant_folds.NotConstant:
                pass
        return PythonUnknown(owner.taint)

    def _reference_item(self, owner: Ref, index: PythonValue, line: int) -> PythonValue:
        if owner.path == "globals()":
            return self._global_item(index, line)
        if owner.path == "sys.modules":
            return self._module_item(index, line)
        if isinstance(index, Const) and isinstance(index.data, str):
            path = f"{owner.path}.{index.data}"
            if path in self.rules.calls or path in DANGEROUS_CALLS or owner.path == "builtins":
                return self.reference(path, line)
        elif owner.path == "builtins":
            self.doubt("dynamic-attribute", line, index.taint)
        made = self.reference(owner.path + "[]", line, both(owner.taint, index.taint))
        if isinstance(made, Ref):
            made.args = (index,)
        return made

    def _global_item(self, index: PythonValue, line: int) -> PythonValue:
        if isinstance(index, Const) and isinstance(index.data, str):
            return self.lookup(index.data, line)
        self.doubt("dynamic-name", line, index.taint)
        return PythonUnknown(index.taint)

    def _module_item(self, index: PythonValue, line: int) -> PythonValue:
        if isinstance(index, Const) and isinstance(index.data, str):
            return self.reference(index.data, line)
        self.doubt("dynamic-import", line, index.taint)
        return PythonUnknown(index.taint)

    def element(self, iterable: PythonValue) -> PythonValue:
        """Some member of an iterable."""
        members = self.members(iterable)
        if members is None and isinstance(iterable, Items):
            members = [*iterable.items, PythonUnknown(iterable.taint)]
        if members:
            self.spend(len(members) // 8)
            made = join_all(members)
            return with_taint(made, both(made.taint, iterable.taint))
        if isinstance(iterable, Ref):
            found = self.rules.element(self, iterable)
            if found is not None:
                return found
            return Ref(iterable.path + "[]", iterable.taint, iterable.args)
        return PythonUnknown(iterable.taint, iterable.shape if isinstance(iterable, PythonUnknown) else "")

    def members(self, value: PythonValue) -> list[PythonValue] | None:
        """All the members of an iterable, where they are known."""
        match value:
            case Items() if not value.open:
                return value.items
            case PythonTable() if not value.open:
                return [Const(key) for key in value.entries]
            case Const(data=str() | bytes() | list() | tuple()):
                if len(value.data) > MAX_UNROLLED:
                    return None
                return [Const(member, value.taint) for member in value.data]
        return None
