"""Where a JavaScript program puts its values, and where it finds them."""

from typing import Any, Final

from qwed.engines.code.bounds import (
    EMPTY,
    NOTHING,
    Bound,
    BoundedValue,
    ObjectCell,
    PurityProof,
    callables,
    held,
    join,
    join_all,
    real,
    string,
)
from qwed.engines.code.javascript import harmless, harmless_literals
from qwed.engines.code.javascript.counters import Writes
from qwed.engines.code.javascript.proof_values import RESERVED, ScriptProofFunction
from qwed.engines.code.javascript.scopes import ScriptNames

_MAX_INDEX: Final = 1_000_000


class ScriptProofTargets(PurityProof):
    """Names and members, and putting a value into them."""

    def __init__(self, source: bytes, names: ScriptNames) -> None:
        super().__init__()
        self.source = source
        self.names = names
        self.owner: ScriptProofFunction | None = None
        self.current: ScriptProofFunction | None = None
        self.functions: dict[int, ScriptProofFunction] = {}
        self.counters: set[tuple[int, int]] = set()
        self.root: Any = None
        self.writes: Writes | None = None

    def run(self, node: Any) -> BoundedValue:
        raise NotImplementedError

    def _function(self, node: Any) -> BoundedValue:
        raise NotImplementedError

    def text(self, node: Any) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def field(self, node: Any, name: str) -> BoundedValue:
        child = node.child_by_field_name(name)
        return NOTHING if child is None else self.run(child)

    def _children(self, node: Any) -> BoundedValue:
        children = [child for child in node.named_children if child.type != "comment"]
        for child in children:
            if child.type == "function_declaration":
                self._function(child)
        value = NOTHING
        for child in children:
            value = self.run(child)
        return value

    def error(self, node: Any) -> ObjectCell:
        cell = self.cell(node.id, "object")
        for name in ("message", "name", "stack"):
            self.put_field(cell, name, string(10_000))
        return cell

    def _identifier(self, node: Any) -> BoundedValue:
        variable = self.names.variables.get(node.id)
        name = self.text(node)
        if name == "arguments":
            raise self.refuse("arguments, which are the parameters under another name")
        if variable is not None:
            return variable.value
        if name in harmless.VALUES:
            return harmless.VALUES[name]
        if name in harmless.NAMESPACES or name in harmless.CALLS:
            return callables(name)
        raise self.refuse(f"{name} is on no list of harmless things")

    def _this(self, node: Any) -> BoundedValue:
        owner = self.owner
        if owner is None or owner.plain or not owner.this.value.kinds:
            raise self.refuse("this, which may be the global object")
        return owner.this.value

    def bind(self, target: Any, value: BoundedValue) -> None:
        self.step()
        match target.type:
            case "identifier" | "shorthand_property_identifier_pattern":
                variable = self.names.variables.get(target.id)
                if variable is None:
                    raise self.refuse(f"sets the global {self.text(target)}")
                self.put(variable, value)
            case "object_pattern" | "array_pattern":
                self._bind_members(target, value)
            case "assignment_pattern" | "object_assignment_pattern":
                self.bind(target.child_by_field_name("left"), join(value, self.field(target, "right")))
            case "rest_pattern":
                self.bind(target.named_children[0], self.listed(target, *self.members(value)))
            case "member_expression" | "subscript_expression":
                self._store(target, value)
            case "parenthesized_expression":
                self.bind(target.named_children[0], value)
            case _:
                raise self.refuse("sets something that is not known")

    def _bind_members(self, target: Any, value: BoundedValue) -> None:
        for child in target.named_children:
            if child.type == "comment":
                continue
            if child.type == "pair_pattern":
                key = child.child_by_field_name("key")
                self.bind(child.child_by_field_name("value"), self.member(value, self.key(key)))
            elif child.type == "rest_pattern" and target.type == "object_pattern":
                self.bind(child.named_children[0], value)
            elif child.type == "rest_pattern":
                self.bind(child, value)
            elif target.type == "object_pattern":
                left = child.child_by_field_name("left") or child
                self.bind(child, self.member(value, self.text(left)))
            else:
                self.bind(child, self.members(value)[1])

    def key(self, node: Any) -> str:
        if node.type == "computed_property_name":
            value = self._children(node)
            if value.text is None:
                raise self.refuse("a member whose name is not known")
            name = value.text
        elif node.type == "string":
            name = harmless_literals.unquote(self.text(node))
        else:
            name = self.text(node)
        if name in RESERVED:
            raise self.refuse(f"{name}, which the language itself uses")
        return name

    def _store(self, target: Any, value: BoundedValue) -> None:
        owner = self.field(target, "object")
        field = target.child_by_field_name("property")
        if owner.calls:
            raise self.refuse("changes a function or a global object")
        if field is not None:
            self._store_field(owner, self.text(field), value)
            return
        index = self.field(target, "index")
        if index.text is not None and not index.has("float", "any"):
            self._store_field(owner, index.text, value)
            return
        if value.calls:
            raise self.refuse("a function is stored under a name that is not known")
        for cell in owner.cells:
            self.put_member(cell, value)
            if cell.kind == "array":
                if index.size > _MAX_INDEX or index.has("text", "any", "cell"):
                    raise self.refuse("an index that is not known to be small")
                self._reach(cell, index.size + 1)
            else:
                self.grow(cell, 1, target.id)

    def _store_field(self, owner: BoundedValue, name: str, value: BoundedValue) -> None:
        if name in RESERVED or name == "length" or (value.calls and name in harmless.METHOD_NAMES):
            raise self.refuse(f"sets {name}, which the language itself uses")
        if name.isdigit() and int(name[:9]) > _MAX_INDEX:
            raise self.refuse("an index that is not known to be small")
        for cell in owner.cells:
            if cell.kind == "array" and name.isdigit():
                self.put_member(cell, value)
                self._reach(cell, int(name) + 1)
            else:
                self.put_field(cell, name, value)

    def _reach(self, cell: ObjectCell, length: Bound) -> None:
        """Setting a member beyond the end of an array makes it longer."""
        if length > cell.length:
            self.refuse_walked(cell)
            self.stretch(cell, length)

    def members(self, value: BoundedValue) -> tuple[Bound, BoundedValue]:
        """How many members walking over a value yields, and what they are."""
        rounds: Bound = 0
        made = EMPTY
        if value.has("any"):
            rounds, made = value.length, value
        if value.has("text"):
            rounds, made = max(rounds, value.length), join(made, string(2))
        for cell in value.cells:
            length, member = cell.again() if cell.again else (cell.length + len(cell.fields), cell.member)
            rounds = max(rounds, length)
            made = join(made, member)
        return rounds, made

    def member(self, owner: BoundedValue, name: str) -> BoundedValue:
        if name in RESERVED:
            raise self.refuse(f"{name}, which leads to the language's own objects")
        made = NOTHING
        if owner.has("any"):
            made = join(made, owner)
        if owner.has("text") and name == "length":
            made = join(made, real(owner.length))
        elif owner.has("text"):
            made = join(made, string(2))
        for cell in owner.cells:
            made = join(made, join(cell.fields.get(name, EMPTY), cell.member))
            if name in ("length", "size"):
                made = join(made, real(cell.length))
        for each in owner.calls:
            made = join(made, self._member_of_call(each, name))
        return made

    def _member_of_call(self, owner: Any, name: str) -> BoundedValue:
        if isinstance(owner, ScriptProofFunction):
            static = owner.instance and self.cell(owner.node.id, "static").fields.get(name)
            if static:
                return static
            raise self.refuse(f"{name} of a function is on no list of harmless things")
        path = f"{owner}.{name}"
        if path in harmless.VALUES:
            return harmless.VALUES[path]
        if path in harmless.CALLS:
            return callables(path)
        raise self.refuse(f"{path} is on no list of harmless things")

    def _member(self, node: Any) -> BoundedValue:
        owner = self.field(node, "object")
        field = node.child_by_field_name("property")
        return self.member(owner, self.text(field))

    def _subscript(self, node: Any) -> BoundedValue:
        owner = self.field(node, "object")
        index = self.field(node, "index")
        if index.text is not None and index.kinds == {"text"}:
            return self.member(owner, index.text)
        if owner.calls or (owner.has("text") and index.has("text", "any", "cell")):
            raise self.refuse("a member whose name is not known")
        made = join(self.members(owner)[1], NOTHING)
        for cell in owner.cells:
            made = join(made, join_all(cell.fields.values()))
        if made.calls and index.has("text", "any", "cell"):
            raise self.refuse("a function that is picked by a name that is not known")
        return made

    def listed(self, node: Any, length: Bound, member: BoundedValue) -> BoundedValue:
        cell = self.cell(node.id, "array")
        self.put_member(cell, member)
        self.stretch(cell, length)
        return held(cell)
