"""Which declaration each name of a JavaScript program belongs to, and which names have none."""

from collections.abc import Callable
from typing import Any, Final

from qwed.engines.code.bounds import BoundedVariable

FUNCTIONS: Final = frozenset(
    {
        "function_declaration",
        "function_expression",
        "generator_function",
        "generator_function_declaration",
        "arrow_function",
        "method_definition",
    }
)
_DECLARATIONS: Final = frozenset({"function_declaration", "generator_function_declaration"})
_REFERENCES: Final = frozenset(
    {"identifier", "shorthand_property_identifier", "shorthand_property_identifier_pattern"}
)


class ScriptScope:
    __slots__ = ("function", "names", "parent")

    def __init__(self, parent: "ScriptScope | None" = None, *, function: bool = False) -> None:
        self.parent = parent
        self.names: dict[str, BoundedVariable] = {}
        self.function = function or parent is None

    def declare(self, name: str) -> None:
        self.names.setdefault(name, BoundedVariable())

    def find(self, name: str) -> BoundedVariable | None:
        scope: ScriptScope | None = self
        while scope is not None:
            found = scope.names.get(name)
            if found is not None:
                return found
            scope = scope.parent
        return None

    def of_function(self) -> "ScriptScope":
        scope = self
        while not scope.function and scope.parent is not None:
            scope = scope.parent
        return scope


class ScriptNames:
    """`variables`: node id → variable, for every name that is declared; `free`: the names that are not."""

    def __init__(self, root: Any, source: bytes) -> None:
        self._source = source
        self._mentions: list[tuple[Any, ScriptScope]] = []
        self.variables: dict[int, BoundedVariable] = {}
        self.free: set[str] = set()
        self._visit(root, ScriptScope())
        for node, scope in self._mentions:
            self._resolve(node, scope)

    def text(self, node: Any) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _resolve(self, node: Any, scope: ScriptScope) -> None:
        name = self.text(node)
        found = scope.find(name)
        if found is None:
            self.free.add(name)
        else:
            self.variables[node.id] = found

    def _visit(self, node: Any, scope: ScriptScope) -> None:
        kind = node.type
        if kind in _REFERENCES:
            self._mentions.append((node, scope))
        elif kind in FUNCTIONS:
            self._function(node, scope)
        else:
            handler = _SPECIAL.get(kind, ScriptNames._children)
            handler(self, node, scope)

    def _children(self, node: Any, scope: ScriptScope) -> None:
        for child in node.named_children:
            self._visit(child, scope)

    def _block(self, node: Any, scope: ScriptScope) -> None:
        self._children(node, ScriptScope(scope))

    def _declarator(self, node: Any, scope: ScriptScope) -> None:
        for child in node.named_children:
            if child.type == "variable_declarator":
                target = scope.of_function() if node.type == "variable_declaration" else scope
                self._declare(child.child_by_field_name("name"), target, scope)
                value = child.child_by_field_name("value")
                if value is not None:
                    self._visit(value, scope)

    def _declare(self, pattern: Any, target: ScriptScope, scope: ScriptScope) -> None:
        kind = pattern.type
        if kind in ("identifier", "shorthand_property_identifier_pattern"):
            target.declare(self.text(pattern))
            self._mentions.append((pattern, target))
        elif kind in ("assignment_pattern", "object_assignment_pattern"):
            self._declare(pattern.child_by_field_name("left"), target, scope)
            self._visit(pattern.child_by_field_name("right"), scope)
        elif kind == "pair_pattern":
            self._visit(pattern.child_by_field_name("key"), scope)
            self._declare(pattern.child_by_field_name("value"), target, scope)
        else:
            for child in pattern.named_children:
                self._declare(child, target, scope)

    def _function(self, node: Any, scope: ScriptScope) -> None:
        inner = ScriptScope(scope, function=True)
        name = node.child_by_field_name("name")
        if name is not None and node.type in _DECLARATIONS:
            self._declare(name, scope, scope)
        elif name is not None and node.type != "method_definition":
            self._declare(name, inner, inner)
        elif name is not None:
            self._visit(name, scope)
        if node.type != "arrow_function":
            inner.declare("arguments")
        for field in ("parameters", "parameter"):
            given = node.child_by_field_name(field)
            if given is not None:
                self._declare(given, inner, inner)
        body = node.child_by_field_name("body")
        if body is not None and body.type == "statement_block":
            self._children(body, inner)
        elif body is not None:
            self._visit(body, inner)

    def _class(self, node: Any, scope: ScriptScope) -> None:
        name = node.child_by_field_name("name")
        if name is not None:
            self._declare(name, scope, scope)
        for child in node.named_children:
            if name is None or child.id != name.id:
                self._visit(child, scope)

    def _catch(self, node: Any, scope: ScriptScope) -> None:
        inner = ScriptScope(scope)
        parameter = node.child_by_field_name("parameter")
        if parameter is not None:
            self._declare(parameter, inner, inner)
        self._visit(node.child_by_field_name("body"), inner)

    def _for_in(self, node: Any, scope: ScriptScope) -> None:
        inner = ScriptScope(scope)
        left = node.child_by_field_name("left")
        kind = node.child_by_field_name("kind")
        if kind is not None:
            self._declare(left, scope.of_function() if self.text(kind) == "var" else inner, inner)
        else:
            self._visit(left, inner)
        for child in node.named_children:
            if child.id != left.id:
                self._visit(child, inner)

    def _import(self, node: Any, scope: ScriptScope) -> None:
        for child in node.named_children:
            if child.type == "import_specifier":
                self._declare(
                    child.child_by_field_name("alias") or child.child_by_field_name("name"), scope, scope
                )
            elif child.type == "identifier":
                self._declare(child, scope, scope)
            elif child.type in ("import_clause", "named_imports", "namespace_import"):
                self._import(child, scope)

    def _tag(self, node: Any, scope: ScriptScope) -> None:
        """`<div>` is a tag of the page, `<Chart>` and `<ui.Chart>` are names of the program."""
        name = node.child_by_field_name("name")
        for child in node.named_children:
            plain = name is not None and child.id == name.id and child.type == "identifier"
            if not (plain and self.text(child)[:1].islower()):
                self._visit(child, scope)

    def _nothing(self, node: Any, scope: ScriptScope) -> None:
        """Names of the inside of modules are no names of this program."""


_SPECIAL: Final[dict[str, Callable[[ScriptNames, Any, ScriptScope], None]]] = {
    "statement_block": ScriptNames._block,
    "switch_body": ScriptNames._block,
    "for_statement": ScriptNames._block,
    "for_in_statement": ScriptNames._for_in,
    "lexical_declaration": ScriptNames._declarator,
    "using_declaration": ScriptNames._declarator,
    "variable_declaration": ScriptNames._declarator,
    "class_declaration": ScriptNames._class,
    "class": ScriptNames._class,
    "catch_clause": ScriptNames._catch,
    "import_statement": ScriptNames._import,
    **dict.fromkeys(("string", "number", "comment", "property_identifier", "regex"), ScriptNames._nothing),
    "namespace_export": ScriptNames._nothing,
    "jsx_opening_element": ScriptNames._tag,
    "jsx_self_closing_element": ScriptNames._tag,
    "jsx_closing_element": ScriptNames._nothing,
}
