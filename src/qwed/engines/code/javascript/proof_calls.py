"""What a JavaScript program calls, over bounds."""

from collections.abc import Hashable, Iterable
from typing import Any

from qwed.engines.code.bounds import (
    EMPTY,
    NOTHING,
    Bound,
    BoundedValue,
    BoundedVariable,
    ObjectCell,
    callables,
    held,
    join,
    join_all,
    string,
)
from qwed.engines.code.javascript import harmless
from qwed.engines.code.javascript.proof_operations import Operations
from qwed.engines.code.javascript.proof_values import ScriptProofCall, ScriptProofFunction
from qwed.engines.code.javascript.readers import GROWING, root_and_path
from qwed.engines.code.javascript.scopes import FUNCTIONS


class ScriptProofCalls(Operations):
    """Functions and classes of the program, and what calls them."""

    def make(self, node: Any) -> ScriptProofFunction:
        known = self.functions.get(node.id)
        if known is None:
            if any(child.type in ("async", "*") for child in node.children):
                raise self.refuse("asynchronous code or a generator")
            known = self.functions[node.id] = ScriptProofFunction(node, self.owner)
        return known

    def _function(self, node: Any) -> BoundedValue:
        value = callables(self.make(node))
        name = node.child_by_field_name("name")
        if name is not None:
            self.bind(name, value)
        return value

    def arguments(self, node: Any) -> tuple[list[BoundedValue], Bound]:
        values: list[BoundedValue] = []
        count: Bound = 0
        for child in node.named_children:
            if child.type == "comment":
                continue
            if child.type == "spread_element":
                length, member = self.members(self._children(child))
                values.append(member)
                count += length
            else:
                values.append(self.run(child))
                count += 1
        self.spend(count)
        return values, count

    def _call(self, node: Any) -> BoundedValue:
        function, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if given is None or given.type != "arguments":
            raise self.refuse("a tagged template")
        receiver, target = EMPTY, EMPTY
        if function.type == "member_expression":
            receiver = self.field(function, "object")
            name = self.text(function.child_by_field_name("property"))
            if name in GROWING and receiver.has("any"):
                self._refuse_unknown_growth(function, name)
        elif function.type == "super":
            return self._call_super(node, given)
        else:
            target = self.run(function)
            name = ""
        call = ScriptProofCall(node, receiver, *self.arguments(given))
        spread = any(child.type == "spread_element" for child in given.named_children)
        if spread:
            call.args = [join_all(call.args)] * max(len(call.args), 8)
        return self.call_method(name, call) if name else self.call_value(target, call)

    def places(self, nodes: Iterable[Any], kind: str = "") -> frozenset[Hashable]:
        """Each place as the variable and the members that lead to it."""
        paths = [root_and_path(node) for node in nodes]
        return frozenset((id(self.names.variables.get(root.id)), path, kind) for root, path in paths if path)

    def _refuse_unknown_growth(self, function: Any, name: str) -> None:
        """An argument that nobody has given yet has no container: the place that holds it stands for one."""
        kinds = ("", "entries") if name in ("add", "set") else ("",)
        for kind in kinds:
            for place in self.places([function.child_by_field_name("object")], kind):
                self.refuse_walked(place)

    def call_method(self, name: str, call: ScriptProofCall) -> BoundedValue:
        receiver = call.receiver
        made, known = EMPTY, False
        for each in receiver.calls:
            made, known = join(made, self.call_value(self._member_of_call(each, name), call)), True
        for cell in receiver.cells:
            own = join(cell.fields.get(name, EMPTY), cell.member if cell.kind == "object" else EMPTY)
            if own.calls:
                made, known = join(made, self.call_value(own, call)), True
        for kind in harmless.method_kinds(receiver):
            handler = harmless.METHODS.get((kind, name))
            if handler is not None:
                made, known = join(made, handler(self, call)), True
        if not known:
            raise self.refuse(f"calls {name}, of which nothing is known")
        return made

    def call_value(self, target: BoundedValue, call: ScriptProofCall) -> BoundedValue:
        made = EMPTY
        if not target.calls:
            raise self.refuse("calls something that is not known to be a harmless function")
        for each in target.calls:
            if isinstance(each, ScriptProofFunction):
                made = join(made, self.call_function(each, call))
            elif each in harmless.CALLS:
                made = join(made, harmless.CALLS[each](self, call))
            else:
                raise self.refuse(f"calls {each}")
        return made

    def call_function(self, function: ScriptProofFunction, call: ScriptProofCall) -> BoundedValue:
        if function.node.type not in FUNCTIONS:
            raise self.refuse("calls a class without new")
        function.called = True
        if call.receiver.cells or call.receiver.has("any"):
            self.put(function.this, call.receiver)
        elif function.node.type != "method_definition":
            function.plain = True
        return self.enter(function, call.node.id, lambda: self._run_body(function, call))

    def _run_body(self, function: ScriptProofFunction, call: ScriptProofCall) -> BoundedValue:
        node = function.node
        owner, current = self.owner, self.current
        self.owner, self.current = function.owner, function
        try:
            single = node.child_by_field_name("parameter")
            given = node.child_by_field_name("parameters")
            targets = [single] if single is not None else [] if given is None else given.named_children
            self._bind_parameters([each for each in targets if each.type != "comment"], call)
            body = node.child_by_field_name("body")
            value = self.run(body)
            return value if body.type != "statement_block" else join(function.returned.value, NOTHING)
        finally:
            self.owner, self.current = owner, current

    def _bind_parameters(self, targets: list[Any], call: ScriptProofCall) -> None:
        for index, target in enumerate(targets):
            if target.type == "rest_pattern":
                rest = self.listed(target, call.count, join_all(call.args[index:]))
                self.bind(target.named_children[0], rest)
            else:
                self.bind(target, call.args[index] if index < len(call.args) else NOTHING)

    def run_callback(
        self,
        call: ScriptProofCall,
        function: BoundedValue,
        args: list[BoundedValue],
        rounds: Bound,
        walked: frozenset[Hashable] = frozenset(),
    ) -> BoundedValue:
        """A function that a method calls once for each member."""
        made = BoundedVariable()
        inner = ScriptProofCall(call.node, EMPTY, args, len(args))

        def once() -> None:
            self.put(made, self.call_value(function, inner))

        self.walk_over(walked, lambda: self.repeat(rounds, once))
        return made.value

    def _class(self, node: Any) -> BoundedValue:
        known = self.functions.get(node.id)
        cls = known or ScriptProofFunction(node, self.owner)
        self.functions[node.id] = cls
        cls.instance = self.cell(node.id, "object")
        if any(child.type == "decorator" for child in node.named_children):
            raise self.refuse("a decorator, which is called with the class")
        heritage = next((child for child in node.named_children if child.type == "class_heritage"), None)
        if heritage is not None:
            self._inherit(cls, self._children(heritage))
        for child in node.child_by_field_name("body").named_children:
            self._class_member(cls, child)
        name = node.child_by_field_name("name")
        if name is not None:
            self.bind(name, callables(cls))
        return callables(cls)

    def _inherit(self, cls: ScriptProofFunction, parents: BoundedValue) -> None:
        instance = cls.instance or ObjectCell("object")
        for parent in parents.calls:
            if isinstance(parent, ScriptProofFunction) and parent.instance is not None and parent is not cls:
                cls.parent = parent
                for name, value in parent.instance.fields.items():
                    self.put_field(instance, name, value)
            elif parent == "Error":
                for name in ("message", "name", "stack"):
                    self.put_field(instance, name, string(10_000))
            else:
                raise self.refuse("a parent class that is not known")

    def _class_member(self, cls: ScriptProofFunction, child: Any) -> None:
        static = any(each.type == "static" for each in child.children)
        cell = self.cell(cls.node.id, "static") if static else cls.instance or ObjectCell("object")
        match child.type:
            case "comment":
                return
            case "method_definition" if self.text(child.child_by_field_name("name")) == "constructor":
                self.put(self.make(child).this, held(cell))
                self.cell(cls.node.id, "made").fields["constructor"] = callables(self.make(child))
            case "method_definition":
                self._method(cell, child)
            case "field_definition":
                name = child.child_by_field_name("property")
                self.put_field(cell, self.key(name), self.field(child, "value"))
            case _:
                raise self.refuse("a member of a class that is on no list of harmless things")

    def _new(self, node: Any) -> BoundedValue:
        target = self.field(node, "constructor")
        given = node.child_by_field_name("arguments")
        call = ScriptProofCall(node, EMPTY, *(self.arguments(given) if given is not None else ([], 0)))
        made = EMPTY
        for each in target.calls:
            if isinstance(each, ScriptProofFunction) and each.instance is not None:
                made = join(made, self._construct(each, call))
            elif each in harmless.CONSTRUCTORS:
                made = join(made, harmless.CALLS[each](self, call))
            else:
                raise self.refuse("makes an object of which nothing is known")
        if not target.calls:
            raise self.refuse("makes an object of which nothing is known")
        return made

    def _construct(self, cls: ScriptProofFunction, call: ScriptProofCall) -> BoundedValue:
        cls.called = True
        instance = held(cls.instance or ObjectCell("object"))
        constructor = self.cell(cls.node.id, "made").fields.get("constructor", EMPTY)
        if not constructor.calls and cls.parent is not None:
            constructor = self.cell(cls.parent.node.id, "made").fields.get("constructor", EMPTY)
        for each in constructor.calls:
            self.call_function(each, ScriptProofCall(call.node, instance, call.args, call.count))
        return instance

    def _call_super(self, node: Any, given: Any) -> BoundedValue:
        this = self._this(node)
        call = ScriptProofCall(node, this, *self.arguments(given))
        for cls in list(self.functions.values()):
            parent = cls.parent
            if parent is not None and cls.instance in this.cells:
                for each in self.cell(parent.node.id, "made").fields.get("constructor", EMPTY).calls:
                    self.call_function(each, call)
                for name, value in (parent.instance or ObjectCell("object")).fields.items():
                    self.put_field(cls.instance or ObjectCell("object"), name, value)
        return NOTHING
