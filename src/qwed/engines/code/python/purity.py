"""Whether a Python program does nothing but compute, and ends: every node of its tree is on the list.

Printing counts as computing: what is printed goes to the caller alone. A function that is only defined is
bounded by its arguments; one that the program itself calls is bounded by what it is called with.
"""

import ast
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final

from qwed.engines.code.bounds import (
    ANYTHING,
    EMPTY,
    FLAG,
    INFINITE,
    NOTHING,
    Bound,
    Cell,
    NotPure,
    Value,
    Variable,
    callables,
    held,
    join,
    join_all,
    number,
    real,
    string,
)
from qwed.engines.code.python import harmless
from qwed.engines.code.python.arithmetic import Arithmetic
from qwed.engines.code.python.readers import GROWING, place_key, read_later, walked_places
from qwed.engines.code.python.scopes import Names, Scope

_HARMLESS_DUNDERS: Final = frozenset(
    {"__init__", "__post_init__", "__name__", "__main__", "__slots__", "__doc__", "__all__", "__version__"}
)
_SCALARS: Final = frozenset({"number", "float", "none", "decimal", "fraction"})
_CHANGING: Final = frozenset({"list", "set", "dict"})
_PROOF: Final = "no input or output but printing, no dynamic execution, every loop bounded, no recursion"


class Function:
    __slots__ = ("called", "defaults", "is_property", "is_static", "node", "returned", "scope")

    def __init__(self, node: Any, scope: Scope, defaults: dict[str, Value]) -> None:
        self.node = node
        self.scope = scope
        self.defaults = defaults
        self.returned = Variable()
        self.called = False
        self.is_property = False
        self.is_static = False


class Bound_(tuple[Any, Value]):
    """A function of the program, with the object it is a method of."""


class Class:
    __slots__ = ("bases", "fields", "instance", "node", "order")

    def __init__(self, node: ast.ClassDef, instance: Cell, bases: "list[Class]") -> None:
        self.node = node
        self.instance = instance
        self.bases = bases
        self.fields: dict[str, Value] = {}
        # The fields of a dataclass or named tuple, in the order its constructor takes them.
        self.order: list[str] = []


class Call:
    __slots__ = ("args", "count", "kwargs", "node", "receiver")

    def __init__(
        self, node: Any, args: list[Value], kwargs: dict[str, Value], count: Bound, receiver: Value = EMPTY
    ) -> None:
        self.node = node
        self.args = args
        self.kwargs = kwargs
        self.count = count
        self.receiver = receiver

    def arg(self, index: int, name: str = "") -> Value:
        return self.args[index] if index < len(self.args) else self.kwargs.get(name, EMPTY)

    @property
    def everything(self) -> Value:
        return join(join_all(self.args), join_all(self.kwargs.values()))


def judge_purity(tree: ast.Module, names: Names) -> tuple[bool, str]:
    try:
        Prover(names).prove(tree)
    except NotPure as obstacle:
        return False, str(obstacle)
    except OverflowError:
        return False, "a number that is not known to be small"
    except RecursionError:
        return False, "nested too deeply to be proven"
    return True, _PROOF


class Prover(Arithmetic):
    """Runs a program over bounds."""

    def __init__(self, names: Names) -> None:
        super().__init__()
        self.names = names
        self.scope = names.module
        self.functions: dict[int, Function] = {}
        self.classes: dict[int, Class] = {}
        self.current: list[Function] = []

    def prove(self, tree: ast.Module) -> None:
        self.block(tree.body)
        done = 0
        while done < len(self.functions):
            function = list(self.functions.values())[done]
            done += 1
            if not function.called:
                arguments = function.node.args
                count = len(arguments.posonlyargs) + len(arguments.args)
                named = {each.arg: ANYTHING for each in arguments.kwonlyargs}
                self.call_function(function, Call(function.node, [ANYTHING] * count, named, count))

    def block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self.run(statement)

    def run(self, node: Any) -> Value:
        self.step()
        self.line = getattr(node, "lineno", self.line)
        handler = _NODES.get(type(node))
        if handler is None:
            raise self.refuse(f"{type(node).__name__} is on no list of harmless things")
        return handler(self, node)

    def optional(self, node: ast.expr | None) -> Value:
        return NOTHING if node is None else self.run(node)

    # -- statements ------------------------------------------------------------------------------------

    def _expression(self, node: ast.Expr) -> Value:
        return self.run(node.value)

    def _nothing(self, node: ast.AST) -> Value:
        return NOTHING

    def _assign(self, node: ast.Assign) -> Value:
        added = _added_to_itself(node)
        if added is not None:
            return self._sum(node, added[0], ast.Add(), self.run(added[1]))
        value = self.run(node.value)
        for target in node.targets:
            self.bind(target, value)
        return NOTHING

    def _annotated(self, node: ast.AnnAssign) -> Value:
        self._annotation(node.annotation)
        if node.value is not None:
            self.bind(node.target, self.run(node.value))
        return NOTHING

    def _annotation(self, node: ast.expr | None) -> None:
        """Annotations are run too: only names, their members and brackets are harmless there."""
        for each in ast.walk(node) if node is not None else ():
            if not isinstance(each, harmless.ANNOTATIONS):
                raise self.refuse("an annotation that is more than a type")
            if isinstance(each, ast.Name) and self.scope.find(each.id) is None:
                self.lookup(each.id)

    def _augmented(self, node: ast.AugAssign) -> Value:
        right = self.run(node.value)
        if not right.kinds <= _SCALARS or isinstance(node.op, ast.Mult):
            self._refuse_unknown_growth(node.target, self._load(node.target), [node.value])
        if isinstance(node.target, ast.Name) and isinstance(node.op, (ast.Add, ast.Sub)):
            return self._sum(node, node.target, node.op, right)
        loaded = self._load(node.target)
        made = self.operate(node.op, loaded, right, node)
        self._change_in_place(loaded, right, made, node)
        self.bind(node.target, made)
        return NOTHING

    def _places(self, nodes: Iterable[ast.expr]) -> frozenset[Hashable]:
        """Each place as the variable and the members that lead to it."""
        paths = [place_key(node) for node in nodes]
        return frozenset((id(self.scope.find(path[0])), path) for path in paths if path)

    def _refuse_unknown_growth(self, target: ast.expr, owner: Value, given: Iterable[ast.expr]) -> None:
        """An argument that nobody has given yet has no container: the place that holds it stands for one."""
        if not owner.has("any"):
            return
        for place in self._places([target]):
            self.refuse_walked(place)
            if any(place in self._places(read_later(each)) for each in given):
                raise self.refuse("something grows by what is read from itself, and how far is not known")

    def _change_in_place(self, known: Value, right: Value, made: Value, node: ast.AST) -> None:
        """`x *= 2`, `x |= y`: the container that `x` names, under all of its other names too."""
        longest, member = self.members(made) if made.cells else (0, EMPTY)
        for cell in known.cells:
            if cell.kind in _CHANGING:
                self.refuse_own_reader(cell, right)
                self.grow(cell, max(longest - cell.length, 0), id(node))
                self.put_member(cell, member)

    def refuse_own_reader(self, cell: Cell, given: Value) -> None:
        """`x.extend(i for i in x)`: each member that is added is read again."""
        if cell in self.read_later(given):
            raise self.refuse("something grows by what is read from itself, and how far is not known")

    def _load(self, target: ast.expr) -> Value:
        match target:
            case ast.Name():
                return self.lookup(target.id)
            case ast.Attribute():
                return self.attribute(self.run(target.value), target.attr, target)
            case ast.Subscript():
                return self.item(self.run(target.value), self.run(target.slice), target)
        raise self.refuse("sets something that is not known")

    def _sum(self, node: ast.stmt, target: ast.Name, op: ast.operator, right: Value) -> Value:
        """`total += n`, `line += "x"`: what all rounds of the loops around it add, added once."""
        known = self.lookup(target.id)
        made = self.operate(op, known, right, node)
        if isinstance(node, ast.AugAssign):
            self._add_in_place(known, right, node)
        if self.rounds:
            more = self.accumulate((id(node), "size"), right.size) if made.has("number") else 0
            longer = self.accumulate((id(node), "length"), right.length) if made.has("text") else 0
            size = made.size if made.has("float", "any", "decimal", "fraction") else known.size + more
            made = Value(made.kinds, size, known.length + longer, None, made.cells | known.cells, made.calls)
            for cell in known.cells:
                self.lengthen(cell, self.members(right)[0], id(node))
                self.put_member(cell, self.members(right)[1])
        self.bind(target, made)
        return NOTHING

    def _add_in_place(self, known: Value, right: Value, node: ast.AugAssign) -> None:
        for cell in known.cells:
            if cell.kind in _CHANGING:
                self.refuse_own_reader(cell, right)
                rounds, member = self.members(right)
                self.grow(cell, rounds, id(node))
                self.put_member(cell, member)

    def _if(self, node: ast.If) -> Value:
        self.run(node.test)
        self.block(node.body)
        self.block(node.orelse)
        return NOTHING

    def _for(self, node: ast.For) -> Value:
        walked = self.run(node.iter)
        rounds, member = self.members(walked)
        self.bind(node.target, member)

        def once() -> None:
            self.bind(node.target, self.members(walked)[1])
            self.block(node.body)

        reading = self.sources(walked) | self._places(walked_places(node.iter))
        self.walk_over(reading, lambda: self.repeat(rounds, once))
        if self.members(walked)[0] > rounds:
            raise self.refuse("a loop changes what it walks over")
        self.block(node.orelse)
        return NOTHING

    def _try(self, node: ast.Try) -> Value:
        self.block(node.body)
        for handler in node.handlers:
            if handler.type is not None:
                self.run(handler.type)
            if handler.name is not None:
                self.put_name(handler.name, held(self.error(handler)))
            self.block(handler.body)
        self.block([*node.orelse, *node.finalbody])
        return NOTHING

    def error(self, node: ast.AST) -> Cell:
        cell = self.cell(id(node), "object")
        self.put_member(cell, string(10_000))
        return cell

    def _return(self, node: ast.Return) -> Value:
        if self.current:
            self.put(self.current[-1].returned, self.optional(node.value))
        return NOTHING

    def _several(self, node: Any) -> Value:
        """`raise`, `assert`: their parts are expressions."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.run(child)
        return NOTHING

    def _delete(self, node: ast.Delete) -> Value:
        for target in node.targets:
            self._unset(target)
        return NOTHING

    def _unset(self, target: ast.expr) -> None:
        match target:
            case ast.Name():
                return
            case ast.Tuple() | ast.List():
                for each in target.elts:
                    self._unset(each)
            case ast.Attribute():
                self._set_attribute(target, NOTHING)
            case ast.Subscript():
                self.run(target.slice)
                if self.run(target.value).calls:
                    raise self.refuse("changes something that is not the program's own")
            case _:
                raise self.refuse("deletes something that is not the program's own")

    def _import(self, node: ast.Import) -> Value:
        for alias in node.names:
            if alias.name not in harmless.MODULES:
                raise self.refuse(f"imports {alias.name}")
            self.put_name(alias.asname or alias.name, callables(alias.name))
        return NOTHING

    def _import_from(self, node: ast.ImportFrom) -> Value:
        module = node.module or "."
        if node.level or module not in harmless.MODULES:
            raise self.refuse(f"imports {module}")
        for alias in node.names:
            self.put_name(alias.asname or alias.name, self.module_member(module, alias.name))
        return NOTHING

    def module_member(self, module: str, name: str) -> Value:
        path = f"{module}.{name}"
        if path in harmless.VALUES:
            return harmless.VALUES[path]
        if path in harmless.CALLS or path in harmless.TYPES or module in harmless.TYPE_MODULES:
            return callables(path)
        raise self.refuse(f"{path} is on no list of harmless things")

    # -- names and targets -----------------------------------------------------------------------------

    def lookup(self, name: str) -> Value:
        variable = self.scope.find(name)
        if variable is not None:
            return variable.value
        if name == "__name__":
            return string(8, "__main__")
        path = f"builtins.{name}"
        if path in harmless.CALLS or path in harmless.TYPES:
            return callables(path)
        raise self.refuse(f"{name} is on no list of harmless things, or is not defined")

    def put_name(self, name: str, value: Value) -> None:
        if name.startswith("__") and name.endswith("__") and name not in _HARMLESS_DUNDERS:
            raise self.refuse(f"sets {name}")
        variable = self.scope.find(name)
        if variable is None:
            raise self.refuse(f"sets {name}, which is not known")
        self.put(variable, value)

    def bind(self, target: ast.expr, value: Value) -> None:
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

    def _unpack(self, targets: list[ast.expr], value: Value) -> None:
        for index, target in enumerate(targets):
            exact = [cell.fields.get(str(index)) for cell in value.cells]
            if isinstance(target, ast.Starred):
                self.bind(target, value)
            elif None not in exact and value.kinds == {"cell"}:
                self.bind(target, join_all(each for each in exact if each is not None))
            else:
                self.bind(target, self.members(value)[1])

    def _set_attribute(self, target: ast.Attribute, value: Value) -> None:
        owner = self.run(target.value)
        if target.attr.startswith("__") or owner.calls or not owner.kinds <= {"cell", "any", "none"}:
            raise self.refuse(f"sets {target.attr} of something that is not the program's own")
        for cell in owner.cells:
            if cell.kind != "object":
                raise self.refuse(f"sets {target.attr} of something that is not the program's own")
            self.put_field(cell, target.attr, value)

    def _set_item(self, target: ast.Subscript, value: Value) -> None:
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

    # -- functions, classes and calls ------------------------------------------------------------------

    def make(self, node: Any) -> Function:
        known = self.functions.get(id(node))
        arguments = node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        pairs = list(zip(reversed(positional), reversed(arguments.defaults), strict=False))
        pairs += [
            (a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None
        ]
        defaults = {argument.arg: self.run(default) for argument, default in pairs}
        if known is None:
            known = self.functions[id(node)] = Function(node, self.names.scopes[id(node)], defaults)
        for name, value in defaults.items():
            known.defaults[name] = join(known.defaults.get(name, EMPTY), value)
        return known

    def _lambda(self, node: ast.Lambda) -> Value:
        return callables(self.make(node))

    def _function(self, node: ast.FunctionDef) -> Value:
        if node.name.startswith("__") and node.name not in _HARMLESS_DUNDERS:
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

    def _decorate(self, decorator: ast.expr, value: Value, function: Function) -> Value:
        spelled = ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)
        name = spelled.rpartition(".")[2]
        known = self.scope.find(spelled.partition(".")[0])
        own = known is not None and any(isinstance(each, Function) for each in known.value.calls)
        if not own and name in ("property", "cached_property"):
            function.is_property = True
        elif not own and name in ("staticmethod", "classmethod"):
            function.is_static = name == "staticmethod"
        elif not own and name not in harmless.DECORATORS:
            raise self.refuse("a decorator that is not known")
        elif own:
            return self.call_value(self.run(decorator), Call(decorator, [value], {}, 1))
        return value

    def _class(self, node: ast.ClassDef) -> Value:
        if node.keywords or any(not _is_harmless_base(base) for base in node.bases):
            raise self.refuse("a class made by other means than its body")
        parents = [each for base in node.bases for each in self.run(base).calls]
        own = [each for each in parents if isinstance(each, Class)]
        if len(own) != len(parents) and not all(
            each in harmless.BASES for each in parents if isinstance(each, str)
        ):
            raise self.refuse("a base class that is not known")
        cls = self.classes.get(id(node))
        if cls is None:
            cls = self.classes[id(node)] = Class(node, self.cell(id(node), "object"), own)
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

    def _class_body(self, node: ast.ClassDef, cls: Class) -> None:
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

    def arguments(self, node: ast.Call) -> tuple[list[Value], dict[str, Value], Bound]:
        values: list[Value] = []
        count: Bound = 0
        for each in node.args:
            if isinstance(each, ast.Starred):
                rounds, member = self.members(self.run(each.value))
                values.extend([member] * 8)
                count += rounds
            else:
                values.append(self.run(each))
                count += 1
        named: dict[str, Value] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.refuse("named arguments that are not known")
            named[keyword.arg] = self.run(keyword.value)
        self.spend(count)
        return values, named, count + len(named)

    def _call(self, node: ast.Call) -> Value:
        function = node.func
        if isinstance(function, ast.Attribute):
            receiver = self.run(function.value)
            if function.attr in GROWING:
                self._refuse_unknown_growth(function.value, receiver, node.args)
            call = Call(node, *self.arguments(node), receiver)
            return self.call_method(function.attr, call)
        target = self.run(function)
        return self.call_value(target, Call(node, *self.arguments(node)))

    def call_method(self, name: str, call: Call) -> Value:
        receiver = call.receiver
        if name.startswith("__") and name not in _HARMLESS_DUNDERS:
            raise self.refuse(f"calls {name}")
        made, known = EMPTY, False
        own = self._own_methods(receiver, name)
        if own.calls:
            made, known = self.call_value(own, Call(call.node, call.args, call.kwargs, call.count)), True
        for kind in harmless.method_kinds(receiver):
            handler = harmless.METHODS.get((kind, name))
            if handler is not None:
                made, known = join(made, handler(self, call)), True
        if not known:
            raise self.refuse(f"calls {name}, of which nothing is known")
        return made

    def _own_methods(self, receiver: Value, name: str) -> Value:
        made = EMPTY
        for cell in receiver.cells:
            found = cell.fields.get(name, EMPTY) if cell.kind == "object" else EMPTY
            made = join(made, self._bind_calls(found, held(cell)))
        for each in receiver.calls:
            made = join(made, self._of_callable(each, name))
        return made

    def _bind_calls(self, value: Value, receiver: Value) -> Value:
        methods = [
            Bound_((each, receiver)) if isinstance(each, Function) and not each.is_static else each
            for each in value.calls
        ]
        return Value(value.kinds, value.size, value.length, value.text, value.cells, frozenset(methods))

    def _of_callable(self, owner: Any, name: str) -> Value:
        if isinstance(owner, Class):
            found = owner.fields.get(name, EMPTY)
            static = [each for each in found.calls if isinstance(each, Function) and not each.is_static]
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

    def call_value(self, target: Value, call: Call) -> Value:
        if not target.calls or not target.kinds <= {"call", "none"}:
            raise self.refuse("calls something that is not known to be a harmless function")
        made = EMPTY
        for each in target.calls:
            made = join(made, self._call_one(each, call))
        return made

    def _call_one(self, each: Any, call: Call) -> Value:
        if isinstance(each, Function):
            return self.call_function(each, call)
        if isinstance(each, Bound_):
            function, receiver = each
            return self.call_function(
                function, Call(call.node, [receiver, *call.args], call.kwargs, call.count + 1)
            )
        if isinstance(each, Class):
            return self._construct(each, call)
        if each in harmless.CALLS:
            return harmless.CALLS[each](self, call)
        owner, _, name = str(each).rpartition(".")
        kind = harmless.TYPE_OWNERS.get(owner)
        handler = harmless.METHODS.get((kind, name)) if kind else None
        if handler is None:
            raise self.refuse(f"calls {each}")
        return handler(self, Call(call.node, call.args[1:], call.kwargs, call.count, call.arg(0)))

    def _construct(self, cls: Class, call: Call) -> Value:
        instance = held(cls.instance)
        for name, value in zip(cls.order, call.args, strict=False):
            self.put_field(cls.instance, name, value)
        for name, value in call.kwargs.items():
            if cls.order:
                self.put_field(cls.instance, name, value)
        for name in ("__init__", "__post_init__"):
            for each in cls.instance.fields.get(name, EMPTY).calls:
                given = call if name == "__init__" else Call(call.node, [], {}, 0)
                self.call_function(
                    each, Call(call.node, [instance, *given.args], given.kwargs, given.count + 1)
                )
        self.put_member(cls.instance, string(0) if not call.args else join_all(call.args).without("call"))
        return instance

    def call_function(self, function: Function, call: Call) -> Value:
        function.called = True
        return self.enter(function, id(call.node), lambda: self._run_body(function, call))

    def _run_body(self, function: Function, call: Call) -> Value:
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

    def _bind_parameters(self, function: Function, call: Call) -> None:
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
        self, call: Call, function: Value, args: list[Value], rounds: Bound, walked: Value = EMPTY
    ) -> Value:
        """A function that another one calls once for each member."""
        made = Variable()
        inner = Call(call.node, args, {}, len(args))

        def once() -> None:
            self.put(made, self.call_value(function, inner))

        self.walk_over(self.sources(walked), lambda: self.repeat(rounds, once))
        return made.value

    # -- members ---------------------------------------------------------------------------------------

    def attribute(self, owner: Value, name: str, node: ast.AST) -> Value:
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

    def _read_field(self, found: Value, receiver: Value, node: ast.AST) -> Value:
        properties = [each for each in found.calls if isinstance(each, Function) and each.is_property]
        if not properties:
            return self._bind_calls(found, receiver)
        made = found.without("call") if len(properties) == len(found.calls) else found
        for each in properties:
            made = join(made, self.call_function(each, Call(node, [receiver], {}, 1)))
        return made

    def _attribute(self, node: ast.Attribute) -> Value:
        return self.attribute(self.run(node.value), node.attr, node)

    def _subscript(self, node: ast.Subscript) -> Value:
        owner = self.run(node.value)
        if owner.calls and all(harmless.is_type(each) or isinstance(each, Class) for each in owner.calls):
            self._annotation(node.slice)
            return owner
        return self.item(owner, self.run(node.slice), node)

    def _slice(self, node: ast.Slice) -> Value:
        for part in (node.lower, node.upper, node.step):
            self.optional(part)
        return Value(frozenset({"slice"}))

    # -- comprehensions --------------------------------------------------------------------------------

    def _comprehension(self, node: Any) -> Value:
        kind = (
            "list" if isinstance(node, ast.ListComp) else "dict" if isinstance(node, ast.DictComp) else "set"
        )
        rounds, member = self._generate(node)
        return self.listed(node, kind, rounds, member)

    def _generator(self, node: ast.GeneratorExp) -> Value:
        scope = self.scope

        def again() -> tuple[Bound, Value]:
            outer, self.scope = self.scope, scope
            made = self._generate(node)
            self.scope = outer
            return made

        return self.lazy(node, again, frozenset())

    def _generate(self, node: Any) -> tuple[Bound, Value]:
        outer, self.scope = self.scope, self.names.scopes[id(node)]
        made = Variable()
        total = self._walk(node, list(node.generators), made)
        self.scope = outer
        return total, made.value

    def _walk(self, node: Any, generators: list[ast.comprehension], made: Variable) -> Bound:
        if not generators:
            parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            for part in parts:
                self.put(made, self.run(part))
            return 1
        first = generators[0]
        if first.is_async:
            raise self.refuse("asynchronous code")
        walked = self.run(first.iter)
        rounds, member = self.members(walked)
        self.note_walk(self.cell(id(node), "iterator"), self.sources(walked))
        inner: list[Bound] = [0]

        def once() -> None:
            self.bind(first.target, member)
            for condition in first.ifs:
                self.run(condition)
            inner[0] = max(inner[0], self._walk(node, generators[1:], made))

        reading = self.sources(walked) | self._places(walked_places(first.iter))
        self.walk_over(reading, lambda: self.repeat(rounds, once))
        return rounds * inner[0]


def _added_to_itself(node: ast.Assign) -> tuple[ast.Name, ast.expr] | None:
    """`x = x + more`."""
    match node.targets, node.value:
        case [ast.Name(id=name) as target], ast.BinOp(ast.Name(id=same), ast.Add(), more) if name == same:
            return target, more
    return None


def _is_harmless_base(base: ast.expr) -> bool:
    return isinstance(base, (ast.Name, ast.Attribute))


def _constant(proof: Prover, node: ast.Constant) -> Value:
    match node.value:
        case bool():
            return FLAG
        case int() as whole:
            return number(abs(whole))
        case float() as fraction:
            return real(abs(fraction) if fraction == fraction else INFINITE)
        case complex():
            return real()
        case str() as known:
            return string(len(known), known)
        case bytes() as raw:
            return string(len(raw))
    return NOTHING


_NODES: Final[dict[type, Callable[[Prover, Any], Value]]] = {
    ast.Expr: Prover._expression,
    **dict.fromkeys((ast.Pass, ast.Break, ast.Continue, ast.Global, ast.Nonlocal), Prover._nothing),
    **dict.fromkeys((ast.Raise, ast.Assert), Prover._several),
    ast.Delete: Prover._delete,
    ast.Assign: Prover._assign,
    ast.AnnAssign: Prover._annotated,
    ast.AugAssign: Prover._augmented,
    ast.If: Prover._if,
    ast.For: Prover._for,
    ast.Try: Prover._try,
    ast.Return: Prover._return,
    ast.Import: Prover._import,
    ast.ImportFrom: Prover._import_from,
    ast.FunctionDef: Prover._function,
    ast.ClassDef: Prover._class,
    ast.Lambda: Prover._lambda,
    ast.Call: Prover._call,
    ast.Attribute: Prover._attribute,
    ast.Subscript: Prover._subscript,
    ast.Slice: Prover._slice,
    ast.Constant: _constant,
    ast.Name: lambda proof, node: proof.lookup(node.id),
    ast.ListComp: Prover._comprehension,
    ast.SetComp: Prover._comprehension,
    ast.DictComp: Prover._comprehension,
    ast.GeneratorExp: Prover._generator,
    ast.BinOp: Prover._binary,
    ast.UnaryOp: Prover._unary,
    ast.BoolOp: Prover._boolean,
    ast.Compare: Prover._compare,
    ast.IfExp: Prover._conditional,
    ast.NamedExpr: Prover._walrus,
    ast.JoinedStr: Prover._formatted,
    **dict.fromkeys((ast.List, ast.Tuple, ast.Set), Prover._display),
    ast.Dict: Prover._dict,
}
