"""What a Python program calls, over bounds."""

import ast
from typing import Any, Final

from qwed.engines.code.bounds import (
    EMPTY,
    NOTHING,
    Bound,
    BoundedValue,
    BoundedVariable,
    callables,
    held,
    join,
    join_all,
    string,
)
from qwed.engines.code.python import harmless
from qwed.engines.code.python.proof_targets import HARMLESS_DUNDERS, ProofTargets
from qwed.engines.code.python.proof_values import Bound_, ProofCall, ProofClass, ProofFunction
from qwed.engines.code.python.readers import GROWING

_SCALARS: Final = frozenset({"number", "float", "none", "decimal", "fraction"})


def _is_harmless_base(base: ast.expr) -> bool:
    return isinstance(base, (ast.Name, ast.Attribute))


class ProofCalls(ProofTargets):
    """Functions and classes of the program, what calls them, and the members of what they make."""

    def block(self, statements: list[ast.stmt]) -> None:
        raise NotImplementedError

    def _annotation(self, node: ast.expr | None) -> None:
        raise NotImplementedError

    def make(self, node: Any) -> ProofFunction:
        known = self.functions.get(id(node))
        arguments = node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        pairs = list(zip(reversed(positional), reversed(arguments.defaults), strict=False))
        pairs += [
            (a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None
        ]
        defaults = {argument.arg: self.run(default) for argument, default in pairs}
        if known is None:
            known = self.functions[id(node)] = ProofFunction(node, self.names.scopes[id(node)], defaults)
        for name, value in defaults.items():
            known.defaults[name] = join(known.defaults.get(name, EMPTY), value)
        return known

    def _lambda(self, node: ast.Lambda) -> BoundedValue:
        return callables(self.make(node))

    def _function(self, node: ast.FunctionDef) -> BoundedValue:
        if node.name.startswith("__") and node.name not in HARMLESS_DUNDERS:
            raise self.refuse(f"defines {node.name}, which operators call")
        arguments = node.args
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
            self._annotation(argument.annotation)
        self._annotation(node.returns)
        function = self.make(node)
        value = callables(function)
        for decorator in reversed(node.decorator_list):
            value = self._decorate(decorator, value, function)
        self.put_name(node.name, value)
        return NOTHING

    def _decorate(self, decorator: ast.expr, value: BoundedValue, function: ProofFunction) -> BoundedValue:
        spelled = ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)
        name = spelled.rpartition(".")[2]
        known = self.scope.find(spelled.partition(".")[0])
        own = known is not None and any(isinstance(each, ProofFunction) for each in known.value.calls)
        if not own and name in ("property", "cached_property"):
            function.is_property = True
        elif not own and name in ("staticmethod", "classmethod"):
            function.is_static = name == "staticmethod"
        elif not own and name not in harmless.DECORATORS:
            raise self.refuse("a decorator that is not known")
        elif own:
            return self.call_value(self.run(decorator), ProofCall(decorator, [value], {}, 1))
        return value

    def _class(self, node: ast.ClassDef) -> BoundedValue:
        if node.keywords or any(not _is_harmless_base(base) for base in node.bases):
            raise self.refuse("a class made by other means than its body")
        parents = [each for base in node.bases for each in self.run(base).calls]
        own = [each for each in parents if isinstance(each, ProofClass)]
        if len(own) != len(parents) and not all(
            each in harmless.BASES for each in parents if isinstance(each, str)
        ):
            raise self.refuse("a base class that is not known")
        cls = self.classes.get(id(node))
        if cls is None:
            cls = self.classes[id(node)] = ProofClass(node, self.cell(id(node), "object"), own)
        self._class_body(node, cls)
        decorated = {
            ast.unparse(each.func if isinstance(each, ast.Call) else each) for each in node.decorator_list
        }
        if not {each.rpartition(".")[2] for each in decorated} <= {"dataclass", "total_ordering"}:
            raise self.refuse("a decorator that is not known")
        if decorated or any("NamedTuple" in str(each) for each in parents):
            cls.order = [each.target.id for each in node.body if isinstance(each, ast.AnnAssign)]  # type: ignore[union-attr]
        self.put_name(node.name, callables(cls))
        return NOTHING

    def _class_body(self, node: ast.ClassDef, cls: ProofClass) -> None:
        outer, self.scope = self.scope, self.names.scopes[id(node)]
        self.block(node.body)
        fields = {name: variable.value for name, variable in self.scope.names.items()}
        self.scope = outer
        for base in cls.bases:
            for name, value in {**base.fields, **base.instance.fields}.items():
                self.put_field(cls.instance, name, value)
        for name, value in fields.items():
            cls.fields[name] = value
            self.put_field(cls.instance, name, value)

    def arguments(self, node: ast.Call) -> tuple[list[BoundedValue], dict[str, BoundedValue], Bound]:
        values: list[BoundedValue] = []
        count: Bound = 0
        for each in node.args:
            if isinstance(each, ast.Starred):
                rounds, member = self.members(self.run(each.value))
                values.extend([member] * 8)
                count += rounds
            else:
                values.append(self.run(each))
                count += 1
        named: dict[str, BoundedValue] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.refuse("named arguments that are not known")
            named[keyword.arg] = self.run(keyword.value)
        self.spend(count)
        return values, named, count + len(named)

    def _call(self, node: ast.Call) -> BoundedValue:
        function = node.func
        if isinstance(function, ast.Attribute):
            receiver = self.run(function.value)
            if function.attr in GROWING:
                self._refuse_unknown_growth(function.value, receiver, node.args)
            call = ProofCall(node, *self.arguments(node), receiver)
            return self.call_method(function.attr, call)
        target = self.run(function)
        return self.call_value(target, ProofCall(node, *self.arguments(node)))

    def call_method(self, name: str, call: ProofCall) -> BoundedValue:
        receiver = call.receiver
        if name.startswith("__") and name not in HARMLESS_DUNDERS:
            raise self.refuse(f"calls {name}")
        made, known = EMPTY, False
        own = self._own_methods(receiver, name)
        if own.calls:
            made, known = self.call_value(own, ProofCall(call.node, call.args, call.kwargs, call.count)), True
        for kind in harmless.method_kinds(receiver):
            handler = harmless.METHODS.get((kind, name))
            if handler is not None:
                made, known = join(made, handler(self, call)), True
        if not known:
            raise self.refuse(f"calls {name}, of which nothing is known")
        return made

    def _own_methods(self, receiver: BoundedValue, name: str) -> BoundedValue:
        made = EMPTY
        for cell in receiver.cells:
            found = cell.fields.get(name, EMPTY) if cell.kind == "object" else EMPTY
            made = join(made, self._bind_calls(found, held(cell)))
        for each in receiver.calls:
            made = join(made, self._of_callable(each, name))
        return made

    def _bind_calls(self, value: BoundedValue, receiver: BoundedValue) -> BoundedValue:
        methods = [
            Bound_((each, receiver)) if isinstance(each, ProofFunction) and not each.is_static else each
            for each in value.calls
        ]
        return BoundedValue(
            value.kinds, value.size, value.length, value.text, value.cells, frozenset(methods)
        )

    def _of_callable(self, owner: Any, name: str) -> BoundedValue:
        if isinstance(owner, ProofClass):
            found = owner.fields.get(name, EMPTY)
            static = [each for each in found.calls if isinstance(each, ProofFunction) and not each.is_static]
            if static and static[0].node.decorator_list:
                return self._bind_calls(found, callables(owner))
            for base in owner.bases if not found.kinds else ():
                found = join(found, self._of_callable(base, name))
            return found if found.kinds else owner.instance.fields.get(name, EMPTY)
        if owner == "super()":
            return EMPTY
        if not isinstance(owner, str):
            raise self.refuse(f"{name} of a function")
        if owner in harmless.MODULES:
            return self.module_member(owner, name)
        path = f"{owner}.{name}"
        if path in harmless.CALLS or (owner in harmless.TYPE_OWNERS and path not in harmless.CALLS):
            return callables(path)
        raise self.refuse(f"{path} is on no list of harmless things")

    def call_value(self, target: BoundedValue, call: ProofCall) -> BoundedValue:
        if not target.calls or not target.kinds <= {"call", "none"}:
            raise self.refuse("calls something that is not known to be a harmless function")
        made = EMPTY
        for each in target.calls:
            made = join(made, self._call_one(each, call))
        return made

    def _call_one(self, each: Any, call: ProofCall) -> BoundedValue:
        if isinstance(each, ProofFunction):
            return self.call_function(each, call)
        if isinstance(each, Bound_):
            function, receiver = each
            return self.call_function(
                function, ProofCall(call.node, [receiver, *call.args], call.kwargs, call.count + 1)
            )
        if isinstance(each, ProofClass):
            return self._construct(each, call)
        if each in harmless.CALLS:
            return harmless.CALLS[each](self, call)
        owner, _, name = str(each).rpartition(".")
        kind = harmless.TYPE_OWNERS.get(owner)
        handler = harmless.METHODS.get((kind, name)) if kind else None
        if handler is None:
            raise self.refuse(f"calls {each}")
        return handler(self, ProofCall(call.node, call.args[1:], call.kwargs, call.count, call.arg(0)))

    def _construct(self, cls: ProofClass, call: ProofCall) -> BoundedValue:
        instance = held(cls.instance)
        for name, value in zip(cls.order, call.args, strict=False):
            self.put_field(cls.instance, name, value)
        for name, value in call.kwargs.items():
            if cls.order:
                self.put_field(cls.instance, name, value)
        for name in ("__init__", "__post_init__"):
            for each in cls.instance.fields.get(name, EMPTY).calls:
                given = call if name == "__init__" else ProofCall(call.node, [], {}, 0)
                self.call_function(
                    each, ProofCall(call.node, [instance, *given.args], given.kwargs, given.count + 1)
                )
        self.put_member(cls.instance, string(0) if not call.args else join_all(call.args).without("call"))
        return instance

    def call_function(self, function: ProofFunction, call: ProofCall) -> BoundedValue:
        function.called = True
        return self.enter(function, id(call.node), lambda: self._run_body(function, call))

    def _run_body(self, function: ProofFunction, call: ProofCall) -> BoundedValue:
        outer, self.scope = self.scope, function.scope
        self.current.append(function)
        try:
            self._bind_parameters(function, call)
            if isinstance(function.node, ast.Lambda):
                return self.run(function.node.body)
            self.block(function.node.body)
            return join(function.returned.value, NOTHING)
        finally:
            self.current.pop()
            self.scope = outer

    def _bind_parameters(self, function: ProofFunction, call: ProofCall) -> None:
        arguments = function.node.args
        names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
        for index, name in enumerate(names):
            given = call.args[index] if index < len(call.args) else call.kwargs.get(name)
            self.put_name(name, given if given is not None else function.defaults.get(name, NOTHING))
        for each in arguments.kwonlyargs:
            given = call.kwargs.get(each.arg)
            self.put_name(each.arg, given if given is not None else function.defaults.get(each.arg, NOTHING))
        if arguments.vararg is not None:
            rest = self.listed(arguments.vararg, "tuple", call.count, join_all(call.args[len(names) :]))
            self.put_name(arguments.vararg.arg, rest)
        if arguments.kwarg is not None:
            extra = self.listed(arguments.kwarg, "dict", call.count, join(call.everything, string(100)))
            self.put_name(arguments.kwarg.arg, extra)

    def run_callback(
        self,
        call: ProofCall,
        function: BoundedValue,
        args: list[BoundedValue],
        rounds: Bound,
        walked: BoundedValue = EMPTY,
    ) -> BoundedValue:
        """A function that another one calls once for each member."""
        made = BoundedVariable()
        inner = ProofCall(call.node, args, {}, len(args))

        def once() -> None:
            self.put(made, self.call_value(function, inner))

        self.walk_over(self.sources(walked), lambda: self.repeat(rounds, once))
        return made.value

    def attribute(self, owner: BoundedValue, name: str, node: ast.AST) -> BoundedValue:
        if name.startswith("__") and name not in ("__name__", "__doc__"):
            raise self.refuse(f"{name}, which leads to the interpreter's own objects")
        made = owner if owner.has("any") else EMPTY
        for cell in owner.cells:
            found = cell.fields.get(name) if cell.kind == "object" else None
            if found is None and cell.kind == "object" and name in ("args", "name", "value"):
                found = cell.member
            if found is None:
                raise self.refuse(f"{name}, of which nothing is known")
            made = join(made, self._read_field(found, held(cell), node))
        for each in owner.calls:
            made = join(made, string(100) if name == "__name__" else self._of_callable(each, name))
        if owner.has("float", "number") and name in ("real", "imag", "numerator", "denominator"):
            made = join(made, owner)
        if not made.kinds and owner.kinds:
            raise self.refuse(f"{name}, of which nothing is known")
        return made

    def _read_field(self, found: BoundedValue, receiver: BoundedValue, node: ast.AST) -> BoundedValue:
        properties = [each for each in found.calls if isinstance(each, ProofFunction) and each.is_property]
        if not properties:
            return self._bind_calls(found, receiver)
        made = found.without("call") if len(properties) == len(found.calls) else found
        for each in properties:
            made = join(made, self.call_function(each, ProofCall(node, [receiver], {}, 1)))
        return made

    def _attribute(self, node: ast.Attribute) -> BoundedValue:
        return self.attribute(self.run(node.value), node.attr, node)

    def _subscript(self, node: ast.Subscript) -> BoundedValue:
        owner = self.run(node.value)
        if owner.calls and all(
            harmless.is_type(each) or isinstance(each, ProofClass) for each in owner.calls
        ):
            self._annotation(node.slice)
            return owner
        return self.item(owner, self.run(node.slice), node)

    def _slice(self, node: ast.Slice) -> BoundedValue:
        for part in (node.lower, node.upper, node.step):
            self.optional(part)
        return BoundedValue(frozenset({"slice"}))
