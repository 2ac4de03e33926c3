"""An abstract run of a Python program: every statement once, on what is known of the values.

Branches are both taken and joined; a loop over known items is unrolled, any other loop runs once on
values about which nothing is assumed; a call of the program's own function runs its body. Whatever the
bounds leave out is reported as a doubt, never passed over.
"""

import ast
import re
from collections.abc import Sequence
from typing import Any, Final

from qwed.engines.code.python.branches import Branches
from qwed.engines.code.python.machine import (
    LEAVES,
    LEAVES_BODY,
    RUNS_ON,
    CallFrame,
    is_dunder,
    is_hashable,
    parse,
)
from qwed.engines.code.python.modules import is_known_module
from qwed.engines.code.python.names import (
    ALIASES,
    FLASK_APPS,
    PARAMETER,
    REMOTE,
    REQUEST_PARAMETERS,
    ROUTE_DECORATORS,
    SOURCES,
    VIEW_CLASSES,
    VIEW_METHODS,
)
from qwed.engines.code.python.values import (
    UNKNOWN,
    Choice,
    Const,
    DataOrigin,
    Instance,
    Items,
    Partial,
    PythonClass,
    PythonFunction,
    PythonTable,
    PythonUnknown,
    PythonValue,
    Ref,
    Taint,
    both,
    step_on,
    with_taint,
)
from qwed.engines.code.verdict import MAX_NESTING


def _sets_names(tree: ast.Module) -> bool:
    return any(
        (isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load))
        or isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.NamedExpr))
        for node in ast.walk(tree)
    )


def _is_flask(decorator: PythonValue) -> bool:
    return isinstance(decorator, Ref) and decorator.path.startswith(FLASK_APPS)


def _numbers_in(decorator: PythonValue) -> frozenset[str]:
    """`/user/<int:uid>` lets only numbers through."""
    route = decorator.args[0] if isinstance(decorator, Ref) and decorator.args else None
    if not (isinstance(route, Const) and isinstance(route.data, str)):
        return frozenset()
    return frozenset(re.findall(r"<(?:int|float|uuid):(\w+)>", route.data))


def _is_number_annotation(annotation: ast.expr | None) -> bool:
    return isinstance(annotation, ast.Name) and annotation.id in ("int", "float", "bool", "Decimal", "UUID")


_LEAVING: Final = frozenset(
    {"sys.exit()", "os._exit()", "builtins.exit()", "builtins.quit()", "flask.abort()", "os.abort()"}
)


class Interpreter(Branches):
    """Runs one module: its statements, then each function with arguments that nobody has vouched for."""

    def run(self, tree: ast.Module) -> None:
        self.block(tree.body)
        self.run_classes()
        self.run_functions()

    def run_text(self, text: str, line: int, *, expression: bool) -> PythonValue:
        """Code in a string, run in place: what it defines is defined here, at the line that runs it."""
        tree = self._parsed(text.strip(), line)
        if tree is None:
            return UNKNOWN
        self.depth += 1
        try:
            if expression and len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr):
                return self.eval(tree.body[0].value)
            self.block(tree.body)
            return UNKNOWN
        finally:
            self.depth -= 1

    def _parsed(self, text: str, line: int) -> ast.Module | None:
        if self.depth >= MAX_NESTING:
            self.doubt("nested-too-deeply", line)
            return None
        try:
            tree = parse(text).tree
            # Run in place, it may set names here that a function would not see.
            self.is_changed_from_outside |= _sets_names(tree)
        except (SyntaxError, ValueError):
            self.doubt("nested-code-does-not-parse", line)
            return None
        for node in ast.walk(tree):
            if hasattr(node, "lineno"):
                node.lineno = line
        return tree

    def run_functions(self) -> None:
        """Every function also runs with arguments that nobody has vouched for."""
        done: set[int] = set()
        while self.functions:
            function = self.functions.pop(0)
            if id(function.node) in done:
                continue
            done.add(id(function.node))
            self.scope = self.module
            self.enter(function, self.unvouched(function), 0)

    def run_classes(self) -> None:
        """An instance's own attributes come from its constructor: that runs first."""
        for cls in list(self.classes):
            instance = Instance(cls)
            methods = [each for each in cls.attributes.values() if isinstance(each, PythonFunction)]
            for method in sorted(methods, key=lambda each: each.name != "__init__"):
                method.bound = instance

    def unvouched(self, function: PythonFunction) -> dict[str, PythonValue]:
        arguments = function.node.args
        named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        given: dict[str, PythonValue] = {}
        remote = function.remote or self._is_handler(function)
        for index, argument in enumerate(named):
            name = argument.arg
            if index == 0 and function.bound is not None:
                given[name] = function.bound
            elif isinstance(function.node, ast.Lambda) or name in ("self", "cls"):
                given[name] = UNKNOWN
            elif name in REQUEST_PARAMETERS and name != "event":
                given[name] = Ref("request", (DataOrigin(REMOTE, argument.lineno, f"parameter {name}"),))
            else:
                kind = REMOTE if remote else PARAMETER
                numeric = name in function.numbers or _is_number_annotation(argument.annotation)
                shape = "number" if numeric else ""
                taint = () if shape else (DataOrigin(kind, argument.lineno, f"parameter {name}"),)
                given[name] = PythonUnknown(taint, shape)
        for extra in (arguments.vararg, arguments.kwarg):
            if extra is not None:
                given[extra.arg] = PythonUnknown(
                    (DataOrigin(PARAMETER, extra.lineno, f"parameter {extra.arg}"),)
                )
        return given

    @staticmethod
    def _is_handler(function: PythonFunction) -> bool:
        arguments = function.node.args.args
        names = [argument.arg for argument in arguments]
        return names[:2] == ["event", "context"]

    def block(self, statements: Sequence[ast.stmt]) -> int:
        for statement in statements:
            self.spend()
            ends = self._statement(statement)
            if ends:
                return ends
        return RUNS_ON

    def _statement(self, statement: ast.stmt) -> int:
        handler = self.statements.get(type(statement))
        if handler is None:
            return RUNS_ON
        return handler(self, statement) or RUNS_ON

    def _expression_statement(self, node: ast.Expr) -> int:
        value = node.value
        result = self.eval(value)
        return LEAVES if isinstance(result, Ref) and result.path in _LEAVING else RUNS_ON

    def _assign(self, node: ast.Assign) -> None:
        value = self.eval(node.value)
        for target in node.targets:
            self.bind(target, value)

    def _annotated_assign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.bind(node.target, self.eval(node.value))
        self.eval(node.annotation)

    def _augmented_assign(self, node: ast.AugAssign) -> None:
        target = node.target
        loaded: ast.expr
        match target:
            case ast.Name():
                loaded = ast.copy_location(ast.Name(target.id, ast.Load()), target)
            case ast.Attribute():
                loaded = ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)
            case ast.Subscript():
                loaded = ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
        self.bind(target, self.binary(node.op, self.eval(loaded), self.eval(node.value), node.lineno))

    def bind(self, target: ast.expr, value: PythonValue) -> None:
        match target:
            case ast.Name():
                self.set_name(target.id, value, target.lineno)
            case ast.Tuple() | ast.List():
                self._unpack(target.elts, value)
            case ast.Starred():
                self.bind(target.value, PythonUnknown(value.taint))
            case ast.Attribute():
                self._set_attribute(target, value)
            case ast.Subscript():
                self._set_item(target, value)

    def set_name(self, name: str, value: PythonValue, line: int) -> None:
        if value.taint:
            value = with_taint(value, step_on(value.taint, f"line {line}: {name}"))
        self.scope.set(name, value)
        for watch in self.rules.assignments:
            watch(self, name, value, line)

    def _unpack(self, targets: list[ast.expr], value: PythonValue) -> None:
        members = self.members(value)
        starred = any(isinstance(target, ast.Starred) for target in targets)
        if members is None or len(members) != len(targets) or starred:
            for target in targets:
                self.bind(target, self.element(value))
            return
        for target, member in zip(targets, members, strict=True):
            self.bind(target, member)

    def _set_attribute(self, target: ast.Attribute, value: PythonValue) -> None:
        owner = self.eval(target.value)
        line = target.lineno
        for watch in self.rules.assignments:
            watch(self, target.attr, value, line)
        match owner:
            case Instance():
                owner.attributes[target.attr] = value
            case PythonClass():
                owner.attributes[target.attr] = value
            case Ref():
                self.rules.attribute_set(self, owner.path + "." + target.attr, value, line)
            case _:
                self.rules.attribute_set(self, "." + target.attr, value, line)
        if target.attr in ("__code__", "__globals__", "__builtins__"):
            self.doubt("rewrites-an-object", line)
        self.escaping(value, line, hidden=is_dunder(target.attr))

    def _set_item(self, target: ast.Subscript, value: PythonValue) -> None:
        owner = self.eval(target.value)
        index = self.eval(target.slice)
        for watch in self.rules.assignments:
            if isinstance(index, Const) and isinstance(index.data, str):
                watch(self, index.data, value, target.lineno)
        match owner:
            case PythonTable() if isinstance(index, Const) and is_hashable(index.data):
                owner.entries[index.data] = value
            case PythonTable():
                owner.open = True
            case Items() if isinstance(index, Const) and isinstance(index.data, int):
                if -len(owner.items) <= index.data < len(owner.items):
                    owner.items[index.data] = value
            case Items():
                owner.open = True
            case Ref(path="globals()"):
                self._set_global(index, value, target.lineno)
                return
            case Ref():
                key = f".{index.data}" if owner.path == "os.environ" and isinstance(index, Const) else "[]"
                self.rules.attribute_set(self, owner.path + key, value, target.lineno)
        if value.taint and not isinstance(owner, (PythonTable, Items)):
            self._spread_taint(target.value, value.taint)
        elif value.taint:
            owner.taint = both(owner.taint, value.taint)
        if not isinstance(owner, (PythonTable, Items)):
            self.escaping(value, target.lineno)

    def _spread_taint(self, owner: ast.expr, taint: Taint) -> None:
        if isinstance(owner, ast.Name):
            known = self.scope.find(owner.id)
            if known is not None:
                self.scope.set(owner.id, with_taint(known, both(known.taint, taint)))

    def _set_global(self, index: PythonValue, value: PythonValue, line: int) -> None:
        if isinstance(index, Const) and isinstance(index.data, str):
            self.module.set(index.data, value)
        else:
            self.doubt("dynamic-name", line)

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.scope.names.pop(target.id, None)
            else:
                self.eval(target)

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            name = alias.name
            bound = alias.asname or name.partition(".")[0]
            path = name if alias.asname else bound
            self._note_module(name)
            self.scope.set(bound, self.reference(path, node.lineno))
            self.rules.imported(self, name, node.lineno)

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = ("." * node.level) + (node.module or "")
        self._note_module(module)
        for alias in node.names:
            if alias.name == "*":
                self.star_modules.append(ALIASES.get(module, module))
                self.rules.imported(self, module, node.lineno)
                continue
            base = self.reference(module, node.lineno)
            path = base.path if isinstance(base, Ref) else module
            value = self.reference(f"{path}.{alias.name}", node.lineno)
            self.scope.set(alias.asname or alias.name, value)
            self.rules.imported(self, f"{module}.{alias.name}", node.lineno)

    def _note_module(self, name: str) -> None:
        if not is_known_module(name):
            self.unknown_modules.add(name.partition(".")[0])

    def _global(self, node: ast.Global | ast.Nonlocal) -> None:
        self.scope.global_names.update(node.names)

    def _return(self, node: ast.Return) -> int:
        value = self.eval(node.value) if node.value is not None else Const(None)
        if self.returns:
            self.returns[-1].append(value)
        for watch in self.rules.returned:
            watch(self, self.function_names[-1] if self.function_names else "", value, node.lineno)
        return LEAVES

    def _raise(self, node: ast.Raise) -> int:
        for part in (node.exc, node.cause):
            if part is not None:
                self.eval(part)
        return LEAVES

    def _leave_body(self, node: ast.Break | ast.Continue) -> int:
        self.pending[-1].append(dict(self.scope.names))
        return LEAVES_BODY

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        function = self.make_function(node)
        self._annotations(node)
        value: PythonValue = function
        for decorator in reversed(node.decorator_list):
            value = self._decorated(decorator, value, function)
        self.scope.set(node.name, value)

    def _annotations(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Annotations are expressions like any other, and run when the function is defined."""
        arguments = node.args
        given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        given += [extra for extra in (arguments.vararg, arguments.kwarg) if extra is not None]
        for annotation in [*(argument.annotation for argument in given), node.returns]:
            if annotation is not None and not isinstance(annotation, (ast.Name, ast.Constant, ast.Attribute)):
                self.eval(annotation)

    def make_function(self, node: Any) -> PythonFunction:
        function = PythonFunction(node, self.scope, self._defaults(node.args))
        self.functions.append(function)
        return function

    def _defaults(self, arguments: ast.arguments) -> dict[str, PythonValue]:
        positional = [*arguments.posonlyargs, *arguments.args]
        pairs: list[tuple[ast.arg, ast.expr | None]] = [
            *zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True),
            *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
        ]
        defaults = {}
        for argument, default in pairs:
            if default is not None:
                value = self.eval(default)
                defaults[argument.arg] = value
                for watch in self.rules.assignments:
                    watch(self, argument.arg, value, argument.lineno)
        return defaults

    def _decorated(self, decorator: ast.expr, value: PythonValue, function: PythonFunction) -> PythonValue:
        called = self.eval(decorator)
        name = called.path.removesuffix("()").rpartition(".")[2] if isinstance(called, Ref) else ""
        if isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Attribute):
            # The application may be one that a function was given: `def init(app): @app.route(…)`.
            name = name or decorator.func.attr
        if isinstance(decorator, ast.Call) and name in ROUTE_DECORATORS:
            is_flask = _is_flask(called) or (name == "route" and self._answers_for_flask(called))
            function.remote = "flask" if is_flask else "web"
            function.numbers = _numbers_in(called)
            return value
        if name == "errorhandler" and _is_flask(called):
            # Its answer goes to the client; what it is given is an error of the program's own.
            function.remote = "flask"
            function.numbers = frozenset(one.arg for one in function.node.args.args)
            return value
        if isinstance(called, Ref) and (called.path in self.rules.calls or called.path + "()" in SOURCES):
            return self.call(called, [value], {}, decorator.lineno)
        if isinstance(called, (PythonFunction, Partial, Choice)):
            self.call(called, [value], {}, decorator.lineno)
        return value

    def _answers_for_flask(self, called: PythonValue) -> bool:
        request = self.scope.find("request")
        return not isinstance(called, Ref) and isinstance(request, Ref) and request.path.startswith("flask.")

    def _class(self, node: ast.ClassDef) -> None:
        bases = [self.eval(base) for base in node.bases]
        keywords = {keyword.arg: self.eval(keyword.value) for keyword in node.keywords}
        outer = self.scope
        self.scope = CallFrame(outer)
        first = len(self.functions)
        self.block(node.body)
        attributes = self.scope.names
        self.scope = outer
        cls = PythonClass(node.name, bases, attributes)
        self._check_class(cls, node, keywords)
        for function in self.functions[first:]:
            function.scope = outer
        self.classes.append(cls)
        value: PythonValue = cls
        for decorator in reversed(node.decorator_list):
            called = self.eval(decorator)
            if isinstance(called, Ref) and (called.path in self.rules.calls or called.path + "()" in SOURCES):
                value = self.call(called, [value], {}, decorator.lineno)
        self.scope.set(node.name, value)

    def _check_class(
        self, cls: PythonClass, node: ast.ClassDef, keywords: dict[str | None, PythonValue]
    ) -> None:
        if any(isinstance(base, Ref) and base.path in VIEW_CLASSES for base in cls.bases):
            for method in cls.attributes.values():
                if isinstance(method, PythonFunction) and method.name in VIEW_METHODS:
                    method.remote = "flask"
        metaclass = keywords.get("metaclass")
        if isinstance(metaclass, Ref):
            self.escaping(metaclass, node.lineno, hidden=True)
        for name, value in cls.attributes.items():
            if is_dunder(name):
                self.escaping(value, node.lineno, hidden=True)


Interpreter.statements = {
    ast.Expr: Interpreter._expression_statement,
    ast.Assign: Interpreter._assign,
    ast.AnnAssign: Interpreter._annotated_assign,
    ast.AugAssign: Interpreter._augmented_assign,
    ast.Delete: Interpreter._delete,
    ast.Import: Interpreter._import,
    ast.ImportFrom: Interpreter._import_from,
    ast.Global: Interpreter._global,
    ast.Nonlocal: Interpreter._global,
    ast.Return: Interpreter._return,
    ast.Raise: Interpreter._raise,
    ast.Break: Interpreter._leave_body,
    ast.Continue: Interpreter._leave_body,
    ast.Assert: Interpreter._assert,
    ast.If: Interpreter._if,
    ast.For: Interpreter._for,
    ast.AsyncFor: Interpreter._for,
    ast.While: Interpreter._while,
    ast.Try: Interpreter._try,
    ast.TryStar: Interpreter._try,
    ast.With: Interpreter._with,
    ast.AsyncWith: Interpreter._with,
    ast.Match: Interpreter._match,
    ast.FunctionDef: Interpreter._function,
    ast.AsyncFunctionDef: Interpreter._function,
    ast.ClassDef: Interpreter._class,
}
Interpreter.expressions = {
    ast.Attribute: Interpreter._attribute,
    ast.Subscript: Interpreter._subscript,
    ast.BinOp: Interpreter._binary,
    ast.UnaryOp: Interpreter._unary,
    ast.BoolOp: Interpreter._boolean,
    ast.Compare: Interpreter._compare,
    ast.IfExp: Interpreter._conditional,
    ast.List: Interpreter._sequence,
    ast.Tuple: Interpreter._sequence,
    ast.Set: Interpreter._sequence,
    ast.Dict: Interpreter._dict,
    ast.JoinedStr: Interpreter._formatted,
    ast.NamedExpr: Interpreter._walrus,
    ast.Lambda: Interpreter._lambda,
    ast.Await: Interpreter._await,
    ast.YieldFrom: Interpreter._await,
    ast.Yield: Interpreter._yield,
    ast.Starred: Interpreter._starred,
    ast.Slice: Interpreter._slice,
    ast.ListComp: Interpreter._comprehension,
    ast.SetComp: Interpreter._comprehension,
    ast.GeneratorExp: Interpreter._comprehension,
    ast.DictComp: Interpreter._comprehension,
    ast.Call: Interpreter._call,
}
