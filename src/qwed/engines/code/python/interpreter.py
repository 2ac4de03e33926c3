"""An abstract run of a Python program: every statement once, on what is known of the values.

Branches are both taken and joined; a loop over known items is unrolled, any other loop runs once on
values about which nothing is assumed; a call of the program's own function runs its body. Whatever the
bounds leave out is reported as a doubt, never passed over.
"""

import ast
import itertools
import re
import string
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from qwed.engines.code.python import folding, guards
from qwed.engines.code.python.names import (
    ALIASES,
    BUILTINS,
    DANGEROUS_CALLS,
    ENVIRONMENT,
    FLASK_APPS,
    JUMP_MODULES,
    PARAMETER,
    REMOTE,
    REQUEST_PARAMETERS,
    ROUTE_DECORATORS,
    SANITIZERS,
    SECRET,
    SOURCES,
)
from qwed.engines.code.python.values import (
    CLEAN,
    NUMBER,
    UNKNOWN,
    Choice,
    Class,
    Const,
    Function,
    Instance,
    Items,
    Origin,
    Partial,
    Ref,
    Table,
    Taint,
    Text,
    Unknown,
    Value,
    both,
    join,
    join_all,
    merge_taint,
    stepped,
    with_taint,
)
from qwed.engines.code.verdict import MAX_NESTING, CodeVerdict, Report, excerpt

Nested = Callable[[str, str, int], CodeVerdict]

MIN_STEPS: Final = 4_000
STEPS_PER_CHARACTER: Final = 8
MAX_STEPS: Final = 60_000
MAX_UNROLLED: Final = 600
MAX_CALL_DEPTH: Final = 5
MAX_INLINED: Final = 4
MAX_PARTS: Final = 64
MAX_PATH: Final = 160

# How a block of statements ends: it runs on, leaves the loop's body, or leaves the function.
RUNS_ON, LEAVES_BODY, LEAVES = 0, 1, 2


def parse(text: str) -> ast.Module:
    """Like `ast.parse`, without the warnings that the text's author should see, not we."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


class OutOfSteps(Exception):
    """The program is larger than what one inspection follows."""


class Scope:
    __slots__ = ("global_names", "names", "parent")

    def __init__(self, parent: "Scope | None" = None) -> None:
        self.names: dict[str, Value] = {}
        self.parent = parent
        self.global_names: set[str] = set()

    def find(self, name: str) -> Value | None:
        scope: Scope | None = self
        while scope is not None:
            found = scope.names.get(name)
            if found is not None:
                return found
            scope = scope.parent
        return None

    def set(self, name: str, value: Value) -> None:
        if name in self.global_names:
            outer = self.outermost()
            known = outer.names.get(name)
            outer.names[name] = value if known is None else join(known, value)
        self.names[name] = value

    def outermost(self) -> "Scope":
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope


class Call:
    """One call, its callee resolved and its arguments evaluated."""

    __slots__ = ("args", "kwargs", "line", "open", "path", "receiver")

    def __init__(
        self,
        path: str,
        args: list[Value],
        kwargs: dict[str, Value],
        line: int,
        receiver: Value | None = None,
        *,
        open: bool = False,
    ) -> None:
        self.path = path
        self.args = args
        self.kwargs = kwargs
        self.line = line
        self.receiver = receiver
        self.open = open

    def argument(self, position: int, name: str = "") -> Value | None:
        if position < len(self.args):
            return self.args[position]
        return self.kwargs.get(name) if name else None

    @property
    def everything(self) -> Iterable[Value]:
        return (*self.args, *self.kwargs.values())


Rule = Callable[["Interpreter", Call], Value | None]
Watch = Callable[["Interpreter", str, Value, int], None]


class Interpreter:
    """Runs one module. The rules that judge calls, names and assignments are passed in."""

    def __init__(
        self,
        source: str,
        report: Report,
        depth: int,
        nested: Nested,
        rules: "RuleBook",
    ) -> None:
        self.lines = source.split("\n")
        self.report = report
        self.depth = depth
        self.nested = nested
        self.rules = rules
        self.module = Scope()
        self.scope = self.module
        self.steps = 0
        self.max_steps = min(MAX_STEPS, MIN_STEPS + STEPS_PER_CHARACTER * len(source))
        self.unrolled = 0
        self.pending: list[list[dict[str, Value]]] = [[]]
        self.returns: list[list[Value]] = []
        self.stack: list[ast.AST] = []
        self.functions: list[Function] = []
        self.classes: list[Class] = []
        self.star_modules: list[str] = []
        self.calls_made: set[str] = set()
        self.function_names: list[str] = []
        self.has_walrus = ":=" in source
        self.assigned: dict[int, set[str]] = {}
        # What the proof of purity needs: how far ranges go, by line, and the first value that got too large.
        self.ranges: dict[int, int] = {}
        self.growth = ""
        self.standalone = False

    # -- running ---------------------------------------------------------------------------------------

    def run(self, tree: ast.Module) -> None:
        self.block(tree.body)
        self.run_classes()
        self.run_functions()

    def run_text(self, text: str, line: int, *, expression: bool) -> Value:
        """Code in a string, run in place: what it defines is defined here, and found at the line that runs it."""
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
            tree = parse(text)
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
            self.standalone = True
            self.enter(function, self.unvouched(function), 0)
        self.standalone = False

    def run_classes(self) -> None:
        """An instance's own attributes come from its constructor: that runs first."""
        for cls in list(self.classes):
            instance = Instance(cls)
            methods = [each for each in cls.attributes.values() if isinstance(each, Function)]
            for method in sorted(methods, key=lambda each: each.name != "__init__"):
                method.bound = instance

    def unvouched(self, function: Function) -> dict[str, Value]:
        arguments = function.node.args
        named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        given: dict[str, Value] = {}
        remote = function.remote or self._is_handler(function)
        for index, argument in enumerate(named):
            name = argument.arg
            if index == 0 and function.bound is not None:
                given[name] = function.bound
            elif isinstance(function.node, ast.Lambda) or name in ("self", "cls"):
                given[name] = UNKNOWN
            elif name in REQUEST_PARAMETERS and name != "event":
                given[name] = Ref("request", (Origin(REMOTE, argument.lineno, f"parameter {name}"),))
            else:
                kind = REMOTE if remote else PARAMETER
                shape = "number" if _is_number_annotation(argument.annotation) else ""
                taint = () if shape else (Origin(kind, argument.lineno, f"parameter {name}"),)
                given[name] = Unknown(taint, shape)
        for extra in (arguments.vararg, arguments.kwarg):
            if extra is not None:
                given[extra.arg] = Unknown((Origin(PARAMETER, extra.lineno, f"parameter {extra.arg}"),))
        return given

    @staticmethod
    def _is_handler(function: Function) -> bool:
        arguments = function.node.args.args
        names = [argument.arg for argument in arguments]
        return names[:2] == ["event", "context"]

    def spend(self, steps: int = 1) -> None:
        self.steps += steps
        if self.steps > self.max_steps:
            raise OutOfSteps

    def text(self, line: int) -> str:
        return self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""

    def harm(self, rule: str, line: int, taint: Taint = CLEAN) -> None:
        self.report.harm(rule, line, self.text(line), self.flow(line, taint))

    def doubt(self, rule: str, line: int, taint: Taint = CLEAN) -> None:
        self.report.doubt(rule, line, self.text(line), self.flow(line, taint))

    def flow(self, line: int, taint: Taint) -> tuple[str, ...]:
        if not taint:
            return ()
        origin = taint[0]
        start = f"line {origin.line}: {origin.kind} data from {origin.text}"
        return (start, *origin.steps, f"line {line}: {excerpt(self.text(line))}")

    # -- statements ------------------------------------------------------------------------------------

    def block(self, statements: Sequence[ast.stmt]) -> int:
        for statement in statements:
            self.spend()
            ends = self._statement(statement)
            if ends:
                return ends
        return RUNS_ON

    def _statement(self, statement: ast.stmt) -> int:
        handler = _STATEMENTS.get(type(statement))
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

    def bind(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Name():
                self.set_name(target.id, value, target.lineno)
            case ast.Tuple() | ast.List():
                self._unpack(target.elts, value)
            case ast.Starred():
                self.bind(target.value, Unknown(value.taint))
            case ast.Attribute():
                self._set_attribute(target, value)
            case ast.Subscript():
                self._set_item(target, value)

    def set_name(self, name: str, value: Value, line: int) -> None:
        if value.taint:
            value = with_taint(value, stepped(value.taint, f"line {line}: {name}"))
        self.scope.set(name, value)
        for watch in self.rules.assignments:
            watch(self, name, value, line)

    def _unpack(self, targets: list[ast.expr], value: Value) -> None:
        members = self.members(value)
        starred = any(isinstance(target, ast.Starred) for target in targets)
        if members is None or len(members) != len(targets) or starred:
            for target in targets:
                self.bind(target, self.element(value))
            return
        for target, member in zip(targets, members, strict=True):
            self.bind(target, member)

    def _set_attribute(self, target: ast.Attribute, value: Value) -> None:
        owner = self.eval(target.value)
        line = target.lineno
        for watch in self.rules.assignments:
            watch(self, target.attr, value, line)
        match owner:
            case Instance():
                owner.attributes[target.attr] = value
            case Class():
                owner.attributes[target.attr] = value
            case Ref():
                self.rules.attribute_set(self, owner.path + "." + target.attr, value, line)
            case _:
                self.rules.attribute_set(self, "." + target.attr, value, line)
        if target.attr in ("__code__", "__globals__", "__builtins__"):
            self.doubt("rewrites-an-object", line)
        self.escaping(value, line, hidden=_is_dunder(target.attr))

    def _set_item(self, target: ast.Subscript, value: Value) -> None:
        owner = self.eval(target.value)
        index = self.eval(target.slice)
        for watch in self.rules.assignments:
            if isinstance(index, Const) and isinstance(index.data, str):
                watch(self, index.data, value, target.lineno)
        match owner:
            case Table() if isinstance(index, Const) and _hashable(index.data):
                owner.entries[index.data] = value
            case Table():
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
                self.rules.attribute_set(self, owner.path + "[]", value, target.lineno)
        if value.taint and not isinstance(owner, (Table, Items)):
            self._spread_taint(target.value, value.taint)
        elif value.taint:
            owner.taint = both(owner.taint, value.taint)
        if not isinstance(owner, (Table, Items)):
            self.escaping(value, target.lineno)

    def _spread_taint(self, owner: ast.expr, taint: Taint) -> None:
        if isinstance(owner, ast.Name):
            known = self.scope.find(owner.id)
            if known is not None:
                self.scope.set(owner.id, with_taint(known, both(known.taint, taint)))

    def _set_global(self, index: Value, value: Value, line: int) -> None:
        if isinstance(index, Const) and isinstance(index.data, str):
            self.module.set(index.data, value)
        else:
            self.doubt("dynamic-name", line)

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.scope.names.pop(target.id, None)

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            name = alias.name
            bound = alias.asname or name.partition(".")[0]
            path = name if alias.asname else bound
            self.scope.set(bound, self.reference(path, node.lineno))
            self.rules.imported(self, name, node.lineno)

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = ("." * node.level) + (node.module or "")
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

    def _assert(self, node: ast.Assert) -> None:
        self.eval(node.test)
        self._believe(guards.when_true(node.test, self.is_validator))

    def is_validator(self, name: str) -> bool:
        return guards.sounds_like_validation(name)

    # -- branches --------------------------------------------------------------------------------------

    def _branches(self, runs: list[Callable[[], int]], *, may_skip: bool) -> int:
        """Runs each alternative from the same state, and joins the states of those that run on."""
        scope = self.scope
        before = scope.names
        self.spend(1 + len(before) // 8)
        states: list[dict[str, Value]] = [before] if may_skip else []
        ends = []
        for run in runs:
            scope.names = dict(before)
            end = run()
            ends.append(end)
            if end == RUNS_ON:
                states.append(scope.names)
        scope.names = self._joined(states) if states else dict(before)
        if may_skip or not all(ends):
            return RUNS_ON
        return min(ends)

    def _joined(self, states: list[dict[str, Value]]) -> dict[str, Value]:
        merged = dict(states[0])
        for state in states[1:]:
            self.spend(len(state) // 8)
            for name, value in state.items():
                known = merged.get(name)
                if known is None:
                    merged[name] = value
                elif known is not value:
                    merged[name] = join(known, value)
        return merged

    def _if(self, node: ast.If) -> int:
        arms: list[tuple[list[set[str]], ast.If | None, list[ast.stmt]]] = []
        refuted: list[set[str]] = []
        current: ast.If | None = node
        while current is not None:
            arms.append(
                ([*refuted, guards.when_true(current.test, self.is_validator)], current, current.body)
            )
            refuted = [*refuted, guards.when_false(current.test, self.is_validator)]
            rest = current.orelse
            if len(rest) == 1 and isinstance(rest[0], ast.If):
                current = rest[0]
                continue
            arms.append((refuted, None, rest))
            current = None
        for _, test, _ in arms:
            if test is not None:
                self.spend()
                self.eval(test.test)
        runs = [self._arm(believed, body) for believed, _, body in arms]
        return self._branches(runs, may_skip=False)

    def _arm(self, believed: list[set[str]], body: list[ast.stmt]) -> Callable[[], int]:
        def run() -> int:
            for names in believed:
                self._believe(names)
            return self.block(body)

        return run

    def _believe(self, names: set[str]) -> None:
        """These names passed a check: what they hold, and what it came from, counts as vouched for."""
        for name in names:
            value = self.scope.find(name)
            if value is None or not value.taint or (isinstance(value, Ref) and value.path in _OBJECT_SOURCES):
                continue
            vouched = {origin[:3] for origin in value.taint}
            for other, held in list(self.scope.names.items()):
                if held.taint and {origin[:3] for origin in held.taint} <= vouched and _plain(held):
                    self.scope.names[other] = Unknown(shape="validated")
            if name not in self.scope.names and _plain(value):
                self.scope.names[name] = Unknown(shape="validated")

    def _for(self, node: ast.For | ast.AsyncFor) -> int:
        iterable = self.eval(node.iter)
        members = self.members(iterable)
        if members is not None and self._may_unroll(members):
            self._unrolled(node, members)
        else:
            self._once(node.body, lambda: self.bind(node.target, self.element(iterable)))
        return self.block(node.orelse)

    def _may_unroll(self, members: list[Value]) -> bool:
        if not members or self.unrolled + len(members) > MAX_UNROLLED:
            return False
        self.unrolled += len(members)
        return True

    def _unrolled(self, node: ast.For | ast.AsyncFor, members: list[Value]) -> None:
        for member in members:
            self.pending.append([])
            self.bind(node.target, member)
            end = self._branches([lambda: self.block(node.body)], may_skip=False)
            states = self.pending.pop()
            if states:
                kept = [self.scope.names] if end == RUNS_ON else []
                self.scope.names = self._joined([*kept, *states])
            if end == LEAVES:
                return

    def _once(self, body: list[ast.stmt], start: Callable[[], None]) -> None:
        """A loop's body on values of which nothing is assumed, since earlier rounds made them."""
        before = self.scope.names
        havocked = dict(before)
        names = self.assigned.get(id(body))
        if names is None:
            names = self.assigned[id(body)] = assigned_names(body)
        for name in names:
            if name in havocked:
                havocked[name] = Unknown(havocked[name].taint)
        self.scope.names = havocked
        self.pending.append([])
        start()
        end = self.block(body)
        states = self.pending.pop()
        if end == RUNS_ON:
            states.append(self.scope.names)
        self.scope.names = self._joined([before, *states])

    def _while(self, node: ast.While) -> int:
        self.eval(node.test)
        self._once(node.body, lambda: None)
        return self.block(node.orelse)

    def _try(self, node: Any) -> int:
        before = self.scope.names
        self.scope.names = dict(before)
        end = self.block(node.body)
        if end == RUNS_ON:
            end = self.block(node.orelse)
        after = self.scope.names
        self.scope.names = self._joined([after, before]) if node.handlers else after
        handled = self.scope.names
        states = [after] if end == RUNS_ON else []
        ends = [end]
        for handler in node.handlers:
            self.scope.names = dict(handled)
            if handler.name:
                self.scope.set(handler.name, Unknown(shape="exception"))
            if handler.type is not None:
                self.eval(handler.type)
            ended = self.block(handler.body)
            ends.append(ended)
            if ended == RUNS_ON:
                states.append(self.scope.names)
        self.scope.names = self._joined(states) if states else handled
        final = self.block(node.finalbody)
        return final or (min(ends) if all(ends) else RUNS_ON)

    def _with(self, node: ast.With | ast.AsyncWith) -> int:
        for item in node.items:
            value = self.eval(item.context_expr)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, value)
        return self.block(node.body)

    def _match(self, node: ast.Match) -> int:
        subject = self.eval(node.subject)
        runs = [self._case(case, subject) for case in node.cases]
        return self._branches(runs, may_skip=True)

    def _case(self, case: ast.match_case, subject: Value) -> Callable[[], int]:
        def run() -> int:
            for pattern in ast.walk(case.pattern):
                name = getattr(pattern, "name", None) or getattr(pattern, "rest", None)
                if isinstance(name, str):
                    self.scope.set(name, Unknown(subject.taint))
            if case.guard is not None:
                self.eval(case.guard)
            return self.block(case.body)

        return run

    # -- definitions -----------------------------------------------------------------------------------

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        function = self.make_function(node)
        value: Value = function
        for decorator in reversed(node.decorator_list):
            value = self._decorated(decorator, value, function)
        self.rules.defined(self, node)
        self.scope.set(node.name, value)

    def make_function(self, node: Any) -> Function:
        function = Function(node, self.scope, self._defaults(node.args))
        self.functions.append(function)
        return function

    def _defaults(self, arguments: ast.arguments) -> dict[str, Value]:
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

    def _decorated(self, decorator: ast.expr, value: Value, function: Function) -> Value:
        called = self.eval(decorator)
        name = called.path.removesuffix("()").rpartition(".")[2] if isinstance(called, Ref) else ""
        if isinstance(decorator, ast.Call) and name in ROUTE_DECORATORS:
            function.remote = "flask" if _is_flask(called) else "web"
            return value
        if isinstance(called, Ref) and (called.path in self.rules.calls or called.path + "()" in SOURCES):
            return self.call(called, [value], {}, decorator.lineno)
        if isinstance(called, (Function, Partial, Choice)):
            self.call(called, [value], {}, decorator.lineno)
        return value

    def _class(self, node: ast.ClassDef) -> None:
        bases = [self.eval(base) for base in node.bases]
        keywords = {keyword.arg: self.eval(keyword.value) for keyword in node.keywords}
        outer = self.scope
        self.scope = Scope(outer)
        first = len(self.functions)
        self.block(node.body)
        attributes = self.scope.names
        self.scope = outer
        cls = Class(node.name, bases, attributes)
        self._check_class(cls, node, keywords)
        for function in self.functions[first:]:
            function.scope = outer
        self.classes.append(cls)
        value: Value = cls
        for decorator in reversed(node.decorator_list):
            called = self.eval(decorator)
            if isinstance(called, Ref) and (called.path in self.rules.calls or called.path + "()" in SOURCES):
                value = self.call(called, [value], {}, decorator.lineno)
        self.scope.set(node.name, value)

    def _check_class(self, cls: Class, node: ast.ClassDef, keywords: dict[str | None, Value]) -> None:
        metaclass = keywords.get("metaclass")
        if isinstance(metaclass, Ref):
            self.escaping(metaclass, node.lineno, hidden=True)
        for name, value in cls.attributes.items():
            if _is_dunder(name):
                self.escaping(value, node.lineno, hidden=True)

    def escaping(self, value: Value, line: int, *, hidden: bool = False) -> None:
        """A reference to something that runs code, put where its later calls can't be seen."""
        for option in value.options if isinstance(value, Choice) else (value,):
            if isinstance(option, Ref) and option.path in DANGEROUS_CALLS:
                if hidden:
                    self.harm("hidden-call", line)
                else:
                    self.doubt("dangerous-reference-escapes", line)

    # -- expressions -----------------------------------------------------------------------------------

    def eval(self, node: ast.expr) -> Value:
        self.steps += 1
        if self.steps > self.max_steps:
            raise OutOfSteps
        kind = type(node)
        if kind is ast.Constant:
            return Const(node.value)  # type: ignore[attr-defined]
        if kind is ast.Name:
            return self.lookup(node.id, node.lineno)  # type: ignore[attr-defined]
        handler = _EXPRESSIONS.get(kind)
        return UNKNOWN if handler is None else handler(self, node)

    def lookup(self, name: str, line: int) -> Value:
        found = self.scope.find(name)
        if found is not None:
            # Each use of a request or of the argument list is an origin of its own.
            if found.taint and type(found) is Ref and found.path in SOURCES and found.path[-1] != ")":
                return Ref(found.path, (Origin(SOURCES[found.path], line, found.path),))
            return found
        if name in BUILTINS:
            return self.reference("builtins" if name == "__builtins__" else f"builtins.{name}", line)
        for module in self.star_modules:
            path = f"{module}.{name}"
            if path in self.rules.calls or path in SOURCES or path in DANGEROUS_CALLS:
                return self.reference(path, line)
        if name == "__name__":
            return Const("__main__")
        if self.star_modules:
            return Ref(f"{self.star_modules[-1]}.{name}")
        return UNKNOWN

    def reference(self, path: str, line: int, taint: Taint = CLEAN) -> Value:
        """The value a dotted path stands for, with what the tables know of it."""
        path = ALIASES.get(path, path)
        head, _, rest = path.partition(".")
        if rest and head in ALIASES:
            path = f"{ALIASES[head]}.{rest}"
            path = ALIASES.get(path, path)
        if len(path) > MAX_PATH:
            return Unknown(taint)
        if path in folding.CONSTANTS:
            return Const(folding.CONSTANTS[path])
        mention = self.rules.mentions.get(path)
        if mention is not None:
            mention(self, path, line)
        kind = SOURCES.get(path)
        if kind is not None:
            taint = both(taint, (Origin(kind, line, path),))
        return Ref(path, taint)

    def attribute(self, owner: Value, name: str, line: int) -> Value:
        match owner:
            case Ref():
                return self._reference_attribute(owner, name, line)
            case Choice():
                return self._over(owner, lambda option: self.attribute(option, name, line))
            case Instance():
                return self._instance_attribute(owner, name, line)
            case Class():
                found = owner.find(name)
                if found is not None:
                    return found
            case Function() if name == "__globals__":
                self.harm("sandbox-escape", line)
                return Ref("globals()")
        self._check_dunder(owner, name, line)
        if name == "__builtins__":
            return Ref("builtins")
        if name == "__class__":
            literal = isinstance(owner, (Const, Items, Table, Text))
            return Ref("literal.__class__" if literal else "object.__class__")
        return Unknown(owner.taint, "method:" + name if isinstance(owner, (Const, Text)) else "")

    def _instance_attribute(self, owner: Instance, name: str, line: int) -> Value:
        found = owner.attributes.get(name)
        if found is not None:
            return found
        found = owner.cls.find(name)
        if isinstance(found, Function):
            return found.bind(owner)
        if found is not None:
            return found
        for base in owner.cls.bases:
            if isinstance(base, Ref):
                return self._reference_attribute(Ref(base.path), name, line)
        self._check_dunder(owner, name, line)
        return UNKNOWN

    def _reference_attribute(self, owner: Ref, name: str, line: int) -> Value:
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

    def _check_dunder(self, owner: Value, name: str, line: int) -> None:
        """Attributes that lead from any object to the interpreter's own."""
        if name in _TO_NAMESPACE:
            self.harm("sandbox-escape", line)
        elif name in _TO_FRAMES:
            self.doubt("sandbox-escape", line)
        elif name in _TO_CLASSES and isinstance(owner, Ref) and owner.path.startswith("literal.__class__"):
            self.harm("sandbox-escape", line)
        elif name == "__subclasses__" and isinstance(owner, Ref) and _CLIMBED.search(owner.path):
            self.harm("sandbox-escape", line)

    def _attribute(self, node: ast.Attribute) -> Value:
        return self.attribute(self.eval(node.value), node.attr, node.lineno)

    def _over(self, choice: Choice, apply: Callable[[Value], Value]) -> Value:
        result: Value | None = None
        for option in choice.options:
            made = apply(option)
            result = made if result is None else join(result, made)
        return result or UNKNOWN

    def _subscript(self, node: ast.Subscript) -> Value:
        owner = self.eval(node.value)
        index = self.eval(node.slice)
        return self.item(owner, index, node.lineno)

    def item(self, owner: Value, index: Value, line: int) -> Value:
        match owner:
            case Choice():
                return self._over(owner, lambda option: self.item(option, index, line))
            case Table():
                return self._entry(owner, index)
            case Items():
                return self._member(owner, index)
            case Const():
                return self._constant_item(owner, index)
            case Ref():
                return self._reference_item(owner, index, line)
        return Unknown(both(owner.taint, index.taint) if not isinstance(index, Const) else owner.taint)

    def _entry(self, owner: Table, index: Value) -> Value:
        if isinstance(index, Const) and _hashable(index.data):
            found = owner.entries.get(index.data)
            return found if found is not None else Unknown(owner.taint)
        return join_all([Unknown(owner.taint), *owner.entries.values()])

    def _member(self, owner: Items, index: Value) -> Value:
        if isinstance(index, Const) and not owner.open:
            try:
                picked = owner.items[index.data]
            except (TypeError, IndexError, ValueError):
                return Unknown(owner.taint)
            return Items(picked, owner.kind, owner.taint) if isinstance(picked, list) else picked
        return self.element(owner)

    def _constant_item(self, owner: Const, index: Value) -> Value:
        if isinstance(index, Const):
            try:
                return Const(folding.subscript(owner.data, index.data), owner.taint)
            except folding.NotConstant:
                pass
        return Unknown(owner.taint)

    def _reference_item(self, owner: Ref, index: Value, line: int) -> Value:
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

    def _global_item(self, index: Value, line: int) -> Value:
        if isinstance(index, Const) and isinstance(index.data, str):
            return self.lookup(index.data, line)
        self.doubt("dynamic-name", line, index.taint)
        return Unknown(index.taint)

    def _module_item(self, index: Value, line: int) -> Value:
        if isinstance(index, Const) and isinstance(index.data, str):
            return self.reference(index.data, line)
        self.doubt("dynamic-import", line, index.taint)
        return Unknown(index.taint)

    def element(self, iterable: Value) -> Value:
        """Some member of an iterable."""
        members = self.members(iterable)
        if members is None and isinstance(iterable, Items):
            members = [*iterable.items, Unknown(iterable.taint)]
        if members:
            self.spend(len(members) // 8)
            made = join_all(members)
            return with_taint(made, both(made.taint, iterable.taint))
        if isinstance(iterable, Ref):
            found = self.rules.element(self, iterable)
            if found is not None:
                return found
            return Ref(iterable.path + "[]", iterable.taint, iterable.args)
        return Unknown(iterable.taint, iterable.shape if isinstance(iterable, Unknown) else "")

    def members(self, value: Value) -> list[Value] | None:
        """All the members of an iterable, where they are known."""
        match value:
            case Items() if not value.open:
                return value.items
            case Table() if not value.open:
                return [Const(key) for key in value.entries]
            case Const(data=str() | bytes() | list() | tuple()):
                if len(value.data) > MAX_UNROLLED:
                    return None
                return [Const(member, value.taint) for member in value.data]
        return None

    def binary(self, op: ast.operator, left: Value, right: Value, line: int) -> Value:
        if isinstance(left, Choice):
            return self._over(left, lambda option: self.binary(op, option, right, line))
        if isinstance(right, Choice):
            return self._over(right, lambda option: self.binary(op, left, option, line))
        taint = both(left.taint, right.taint)
        if isinstance(left, Const) and isinstance(right, Const):
            try:
                return Const(folding.binary(op, left.data, right.data), taint)
            except folding.NotConstant:
                self.note_growth("a constant that is too large to compute", line)
                return Unknown(taint, "number" if isinstance(left.data, (int, float)) else "")
        self._check_size(op, left, right, line)
        made = self._structured(op, left, right, taint)
        if made is not None:
            return made
        special = self.rules.binary(self, op, left, right, line)
        if special is not None:
            return special
        return Unknown(taint, "number" if _numeric(left) and _numeric(right) else "")

    def note_growth(self, what: str, line: int) -> None:
        self.growth = self.growth or f"line {line}: {what}"

    def _check_size(self, op: ast.operator, left: Value, right: Value, line: int) -> None:
        if isinstance(op, (ast.Pow, ast.LShift)):
            if not (isinstance(right, Const) and isinstance(right.data, int) and right.data <= 64):
                self.note_growth("a power or shift whose size is not known", line)
        elif isinstance(op, ast.Mult):
            sides = (left, right)
            sized = any(isinstance(side, (Items, Text)) or _textual(side) for side in sides)
            plain = any(
                isinstance(side, Const) and isinstance(side.data, int) and side.data <= 1000 for side in sides
            )
            if not plain and (sized or not self.standalone) and not (_numeric(left) and _numeric(right)):
                self.note_growth("a product whose size is not known", line)

    def _structured(self, op: ast.operator, left: Value, right: Value, taint: Taint) -> Value | None:
        match op, left, right:
            case ast.Add(), Items(), Items():
                if len(left.items) + len(right.items) > MAX_UNROLLED:
                    return Items(left.items, left.kind, taint, open=True)
                opened = left.open or right.open
                return Items(left.items + right.items, left.kind, taint, open=opened)
            case ast.Add(), Items(), _:
                return Items(left.items, left.kind, taint, open=True)
            case ast.Mult(), Items(items=[single]), _:
                return Items([single], left.kind, taint, open=True)
            case ast.Add(), _, _ if _textual(left) or _textual(right):
                return self.concatenated([left, right])
            case ast.Mod(), Const(data=str()), _:
                return self.percent_format(left.data, right)
            case ast.Mult(), Const(data=str()), _:
                return Unknown(taint, "constant-text")
        return None

    def concatenated(self, values: list[Value]) -> Value:
        taint = merge_taint(values)
        parts: list[str | Value] = []
        for value in values:
            parts.extend(_parts(value))
        return self.text_of(parts, taint)

    def text_of(self, parts: list[str | Value], taint: Taint) -> Value:
        merged: list[str | Value] = []
        for part in parts:
            if isinstance(part, str) and merged and isinstance(merged[-1], str):
                merged[-1] += part
            elif part != "":
                merged.append(part)
        if len(merged) > MAX_PARTS:
            return Unknown(taint)
        if not merged:
            return Const("", taint)
        if len(merged) == 1 and isinstance(merged[0], str):
            return Const(merged[0], taint)
        return Text(tuple(merged), taint)

    def percent_format(self, template: str, right: Value) -> Value:
        values = right.items if isinstance(right, Items) else [right]
        if isinstance(right, Table):
            values = list(right.entries.values())
        pieces = _PERCENT.split(template.replace("%%", "\x00"))
        if len(pieces) == 1:
            return Const(template, right.taint)
        parts: list[str | Value] = []
        for index, piece in enumerate(pieces):
            parts.append(piece.replace("\x00", "%"))
            if index < len(pieces) - 1:
                parts.extend(_parts(values[index]) if index < len(values) else (UNKNOWN,))
        return self.text_of(parts, both(right.taint, merge_taint(values)))

    def brace_format(self, template: str, call: Call) -> Value:
        parts: list[str | Value] = []
        counter = 0
        try:
            fields = list(_formatter_parse(template))
        except ValueError:
            return Unknown(merge_taint(call.everything))
        for literal, name, spec in fields:
            parts.append(literal)
            if name is None:
                continue
            if _is_escape_field(name + spec):
                self.harm("sandbox-escape", call.line)
            head = _FIELD_HEAD.match(name)
            key = head.group() if head else ""
            if key == "":
                key, counter = str(counter), counter + 1
            value = call.kwargs.get(key)
            if value is None and key.isdigit() and int(key) < len(call.args):
                value = call.args[int(key)]
            parts.extend(
                _parts(value) if (value is not None and name == key) or not name else (value or UNKNOWN,)
            )
        return self.text_of(parts, merge_taint(call.everything))

    def _binary(self, node: ast.BinOp) -> Value:
        # A long sum is a deep tree: its left spine is walked, not recursed into.
        spine = [node]
        left = node.left
        while isinstance(left, ast.BinOp):
            spine.append(left)
            left = left.left
        value = self.eval(left)
        for each in reversed(spine):
            self.spend()
            value = self.binary(each.op, value, self.eval(each.right), each.lineno)
        return value

    def _unary(self, node: ast.UnaryOp) -> Value:
        value = self.eval(node.operand)
        if isinstance(node.op, ast.Not):
            return NUMBER
        if isinstance(value, Const) and isinstance(value.data, (int, float)):
            number = value.data
            match node.op:
                case ast.USub():
                    return Const(-number, value.taint)
                case ast.Invert() if isinstance(number, int):
                    return Const(~number, value.taint)
            return value
        return Unknown(value.taint, "number" if _numeric(value) else "")

    def _boolean(self, node: ast.BoolOp) -> Value:
        result = self.eval(node.values[0])
        believed = guards.when_true if isinstance(node.op, ast.And) else guards.when_false
        names = self.scope.names
        self.scope.names = dict(names)
        for earlier, value in itertools.pairwise(node.values):
            self._believe(believed(earlier, self.is_validator))
            result = join(result, self.eval(value))
        if self.has_walrus:
            self._keep_bound(node, names)
        self.scope.names = names
        return result

    def _keep_bound(self, node: ast.expr, names: dict[str, Value]) -> None:
        """What `:=` binds inside an expression stays bound after it."""
        for each in ast.walk(node):
            if isinstance(each, ast.NamedExpr) and each.target.id in self.scope.names:
                names[each.target.id] = self.scope.names[each.target.id]

    def _compare(self, node: ast.Compare) -> Value:
        values = [self.eval(node.left), *(self.eval(each) for each in node.comparators)]
        self.rules.compared(self, node, values)
        return NUMBER

    def _conditional(self, node: ast.IfExp) -> Value:
        self.eval(node.test)
        names = self.scope.names
        self.scope.names = dict(names)
        self._believe(guards.when_true(node.test, self.is_validator))
        chosen = self.eval(node.body)
        self.scope.names = dict(names)
        self._believe(guards.when_false(node.test, self.is_validator))
        other = self.eval(node.orelse)
        self.scope.names = names
        return join(chosen, other)

    def _sequence(self, node: ast.List | ast.Tuple | ast.Set) -> Value:
        items: list[Value] = []
        opened = False
        for each in node.elts:
            if not isinstance(each, ast.Starred):
                items.append(self.eval(each))
                continue
            spread = self.eval(each.value)
            members = self.members(spread)
            opened = opened or members is None
            items.extend(members if members is not None else [Unknown(spread.taint)])
        kind = type(node).__name__.lower()
        constants = [item.data for item in items if isinstance(item, Const)]
        if kind != "set" and len(items) > 128 and len(constants) == len(items):
            return Const(constants if kind == "list" else tuple(constants))
        return Items(items, kind, merge_taint(items), open=opened)

    def _dict(self, node: ast.Dict) -> Value:
        entries: dict[Any, Value] = {}
        opened = False
        for key_node, value_node in zip(node.keys, node.values, strict=True):
            value = self.eval(value_node)
            if key_node is None:
                entries.update(value.entries if isinstance(value, Table) else {})
                opened = opened or not isinstance(value, Table)
                continue
            key = self.eval(key_node)
            if isinstance(key, Const) and _hashable(key.data):
                entries[key.data] = value
                for watch in self.rules.assignments:
                    if isinstance(key.data, str):
                        watch(self, key.data, value, value_node.lineno)
            else:
                opened = True
                entries[("dynamic", len(entries))] = value
        return Table(entries, merge_taint(entries.values()), open=opened)

    def _formatted(self, node: ast.JoinedStr) -> Value:
        parts: list[str | Value] = []
        for each in node.values:
            if isinstance(each, ast.Constant):
                parts.append(str(each.value))
            elif isinstance(each, ast.FormattedValue):
                if each.format_spec is not None:
                    self.eval(each.format_spec)
                value = self.eval(each.value)
                plain = each.conversion == -1 and each.format_spec is None
                parts.extend(_parts(value) if plain else (Unknown(value.taint, getattr(value, "shape", "")),))
        taint = merge_taint(part for part in parts if isinstance(part, Value))
        origin = merge_taint(self._kept_taint(node))
        return self.text_of(parts, both(taint, origin))

    def _kept_taint(self, node: ast.JoinedStr) -> Iterator[Value]:
        # A tainted constant dissolves into the text: its taint is taken from the names themselves.
        for each in node.values:
            if isinstance(each, ast.FormattedValue) and isinstance(each.value, ast.Name):
                found = self.scope.find(each.value.id)
                if found is not None:
                    yield found

    def _walrus(self, node: ast.NamedExpr) -> Value:
        value = self.eval(node.value)
        self.bind(node.target, value)
        return value

    def _lambda(self, node: ast.Lambda) -> Value:
        return self.make_function(node)

    def _await(self, node: ast.Await | ast.YieldFrom) -> Value:
        value = self.eval(node.value)
        if isinstance(node, ast.YieldFrom) and self.returns:
            self.returns[-1].append(Unknown(value.taint))
        return value

    def _yield(self, node: ast.Yield) -> Value:
        if node.value is not None:
            value = self.eval(node.value)
            if self.returns:
                self.returns[-1].append(Items([value], "list", value.taint, open=True))
        return UNKNOWN

    def _starred(self, node: ast.Starred) -> Value:
        return Unknown(self.eval(node.value).taint)

    def _slice(self, node: ast.Slice) -> Value:
        bounds = [
            self.eval(each) if each is not None else Const(None)
            for each in (node.lower, node.upper, node.step)
        ]
        if all(isinstance(bound, Const) for bound in bounds):
            return Const(slice(*(bound.data for bound in bounds if isinstance(bound, Const))))
        return UNKNOWN

    def _comprehension(self, node: Any) -> Value:
        outer = self.scope
        self.scope = Scope(outer)
        made: list[Value] = []
        try:
            complete = self._generate(node, list(node.generators), made)
            if self.has_walrus:
                self._keep_bound(node, outer.names)
        finally:
            self.scope = outer
        if isinstance(node, ast.DictComp):
            return Table({}, merge_taint(made), open=True)
        return Items(made, "list", merge_taint(made), open=not complete)

    def _generate(self, node: Any, generators: list[ast.comprehension], made: list[Value]) -> bool:
        if not generators:
            made.append(self._produced(node))
            return True
        first, rest = generators[0], generators[1:]
        iterable = self.eval(first.iter)
        members = self.members(iterable)
        if members is None or not self._may_unroll(members):
            if members == []:
                return True
            self.bind(first.target, self.element(iterable))
            self._filter(first)
            self._generate(node, rest, made)
            return False
        complete = True
        for member in members:
            self.bind(first.target, member)
            complete = self._filter(first) and complete
            complete = self._generate(node, rest, made) and complete
        return complete

    def _filter(self, generator: ast.comprehension) -> bool:
        for condition in generator.ifs:
            self.eval(condition)
            self._believe(guards.when_true(condition, self.is_validator))
        return not generator.ifs

    def _produced(self, node: Any) -> Value:
        if isinstance(node, ast.DictComp):
            key = self.eval(node.key)
            value = self.eval(node.value)
            return with_taint(value, both(key.taint, value.taint))
        return self.eval(node.elt)

    # -- calls -----------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Value:
        function = node.func
        receiver: Value | None = None
        if type(function) is ast.Attribute:
            receiver = self.eval(function.value)
            if isinstance(receiver, (Const, Text, Items, Table, Unknown)):
                return self._method(node, receiver, function.attr)
            target = self.attribute(receiver, function.attr, function.lineno)
        else:
            target = self.eval(function)
        args, kwargs, opened = self._arguments(node)
        return self.call(target, args, kwargs, node.lineno, receiver, opened=opened)

    def _arguments(self, node: ast.Call) -> tuple[list[Value], dict[str, Value], bool]:
        args: list[Value] = []
        opened = False
        for each in node.args:
            if not isinstance(each, ast.Starred):
                args.append(self.eval(each))
                continue
            spread = self.eval(each.value)
            members = self.members(spread)
            opened = opened or members is None
            args.extend(members if members is not None else [Unknown(spread.taint)])
        kwargs: dict[str, Value] = {}
        for keyword in node.keywords:
            value = self.eval(keyword.value)
            if keyword.arg is not None:
                kwargs[keyword.arg] = value
                for watch in self.rules.assignments:
                    watch(self, keyword.arg, value, keyword.value.lineno)
            elif isinstance(value, Table):
                kwargs.update({str(key): entry for key, entry in value.entries.items()})
            else:
                opened = True
                kwargs["**"] = value
        return args, kwargs, opened

    def _method(self, node: ast.Call, receiver: Value, name: str) -> Value:
        args, kwargs, opened = self._arguments(node)
        call = Call("." + name, args, kwargs, node.lineno, receiver, open=opened)
        made = self._known_method(receiver, name, call)
        if made is not None:
            return made
        self._check_dunder(receiver, name, node.lineno)
        if name == "__getattribute__" and args and isinstance(args[-1], Const):
            return self.attribute(receiver, str(args[-1].data), node.lineno)
        rule = self.rules.methods.get(name)
        if rule is not None:
            judged = rule(self, call)
            if judged is not None:
                return judged
        if not isinstance(receiver, (Const, Text)):
            self.calls_made.add("." + name)
            self._hand_over(call)
        if isinstance(receiver, Items) and name in _MUTATORS:
            return UNKNOWN
        return Unknown(both(receiver.taint, merge_taint(call.everything)))

    def _known_method(self, receiver: Value, name: str, call: Call) -> Value | None:
        match receiver:
            case Const(data=str() | bytes() | int()):
                return self._constant_method(receiver, name, call)
            case Text() if name in ("strip", "lower", "upper", "rstrip", "lstrip", "encode", "decode"):
                return receiver
            case Items():
                return self._items_method(receiver, name, call)
            case Table():
                return self._table_method(receiver, name, call)
        return None

    def _constant_method(self, receiver: Const, name: str, call: Call) -> Value | None:
        if name == "join" and call.args:
            return self._joined_text(receiver, call.args[0])
        constants = [self.constant(argument) for argument in call.args]
        try:
            if all(found is not None for found in constants) and not call.kwargs:
                data = folding.method(receiver.data, name, [found[0] for found in constants if found], {})
                return self.from_python(data, both(receiver.taint, merge_taint(call.args)))
        except folding.NotConstant:
            pass
        if name == "format" and isinstance(receiver.data, str):
            return self.brace_format(receiver.data, call)
        if name == "format_map" and isinstance(receiver.data, str):
            if _is_escape_field(receiver.data):
                self.harm("sandbox-escape", call.line)
            return Unknown(merge_taint(call.everything))
        if isinstance(receiver.data, str) and name in ("encode",):
            return receiver
        return None

    def _joined_text(self, separator: Const, argument: Value) -> Value:
        members = self.members(argument)
        taint = both(separator.taint, argument.taint)
        if members is not None and isinstance(separator.data, (str, bytes)):
            constants = [self.constant(member) for member in members]
            if all(found is not None for found in constants):
                try:
                    data = folding.method(
                        separator.data, "join", [[found[0] for found in constants if found]], {}
                    )
                    return Const(data, taint)
                except folding.NotConstant:
                    return Unknown(taint)
            if isinstance(separator.data, str):
                parts: list[str | Value] = []
                for index, member in enumerate(members):
                    parts.extend((separator.data,) if index else ())
                    parts.extend(_parts(member))
                return self.text_of(parts, taint)
        if (
            isinstance(argument, Items)
            and argument.items
            and all(isinstance(i, Const) for i in argument.items)
        ):
            return Unknown(taint, "constant-text")
        return Unknown(taint)

    def constant(self, value: Value) -> tuple[Any] | None:
        """The Python value, in a tuple so that None is a value too."""
        match value:
            case Const():
                return (value.data,)
            case Items() if not value.open:
                members = [self.constant(item) for item in value.items]
                if any(member is None for member in members):
                    return None
                data = [member[0] for member in members if member is not None]
                return (tuple(data),) if value.kind == "tuple" else (data,)
            case Table() if not value.open:
                pairs = {key: self.constant(entry) for key, entry in value.entries.items()}
                if any(found is None for found in pairs.values()):
                    return None
                return ({key: found[0] for key, found in pairs.items() if found is not None},)
        return None

    def from_python(self, data: Any, taint: Taint) -> Value:
        if isinstance(data, (list, tuple)) and len(data) <= MAX_UNROLLED:
            kind = "tuple" if isinstance(data, tuple) else "list"
            return Items([self.from_python(each, taint) for each in data], kind, taint)
        return Const(data, taint)

    def _items_method(self, receiver: Items, name: str, call: Call) -> Value | None:
        match name:
            case "append" | "add" | "insert" | "appendleft":
                added = call.args[-1] if call.args else UNKNOWN
                if len(receiver.items) < MAX_UNROLLED:
                    receiver.items.append(added)
                else:
                    receiver.open = True
                receiver.taint = both(receiver.taint, added.taint)
                self._open_in_loops(receiver)
                return Const(None)
            case "extend" | "update":
                receiver.open = True
                for argument in call.args:
                    members = self.members(argument)
                    receiver.items.extend((members or [self.element(argument)])[:MAX_UNROLLED])
                    receiver.taint = both(receiver.taint, argument.taint)
                return Const(None)
            case "pop" | "popleft":
                receiver.open = True
                return self.element(receiver)
            case "copy":
                return Items(list(receiver.items), receiver.kind, receiver.taint, open=receiver.open)
            case "reverse" if not receiver.open:
                receiver.items.reverse()
                return Const(None)
            case "sort" | "clear" | "remove":
                receiver.open = True
                return Const(None)
        return None

    def _open_in_loops(self, receiver: Items) -> None:
        if len(self.pending) > 1 and self.unrolled == 0:
            receiver.open = True

    def _table_method(self, receiver: Table, name: str, call: Call) -> Value | None:
        match name:
            case "get" | "pop" | "setdefault":
                found = self._entry(receiver, call.args[0]) if call.args else UNKNOWN
                return join(found, call.args[1]) if len(call.args) > 1 else found
            case "values":
                return Items(list(receiver.entries.values()), "list", receiver.taint, open=receiver.open)
            case "keys":
                keys: list[Value] = [Const(key) for key in receiver.entries]
                return Items(keys, "list", open=receiver.open)
            case "items":
                pairs: list[Value] = [
                    Items([Const(key), entry], "tuple", entry.taint)
                    for key, entry in receiver.entries.items()
                ]
                return Items(pairs, "list", receiver.taint, open=receiver.open)
            case "update":
                receiver.open = True
                for argument in call.everything:
                    receiver.taint = both(receiver.taint, argument.taint)
                    if isinstance(argument, Table):
                        receiver.entries.update(argument.entries)
                return Const(None)
        return None

    def call(
        self,
        target: Value,
        args: list[Value],
        kwargs: dict[str, Value],
        line: int,
        receiver: Value | None = None,
        *,
        opened: bool = False,
    ) -> Value:
        self.spend()
        match target:
            case Ref():
                return self._call_reference(
                    target, Call(target.path, args, kwargs, line, receiver, open=opened)
                )
            case Function():
                return self._call_function(target, args, kwargs, line)
            case Choice():
                return self._over(
                    target, lambda option: self.call(option, args, kwargs, line, receiver, opened=opened)
                )
            case Class():
                return self._instantiate(target, args, kwargs, line)
            case Partial():
                return self._call_partial(target, args, kwargs, line)
            case Instance():
                method = target.cls.find("__call__")
                if isinstance(method, Function):
                    return self._call_function(method.bind(target), args, kwargs, line)
        self.calls_made.add("?")
        call = Call("", args, kwargs, line)
        self._hand_over(call)
        return Unknown(both(target.taint, merge_taint((*args, *kwargs.values()))))

    def _call_reference(self, target: Ref, call: Call) -> Value:
        path = target.path
        if call.receiver is None and target.args and path.endswith("()"):
            call.receiver = target
        self.calls_made.add(path)
        if path == "builtins.range":
            self.rules.calls[path](self, call)
        folded = self._fold_call(path, call)
        if folded is not None:
            return folded
        rule = self.rules.calls.get(path)
        if rule is None:
            rule = self.rules.methods.get(path.rpartition(".")[2]) if "." in path else None
        if rule is not None:
            judged = rule(self, call)
            if judged is not None:
                return judged
        if path in _TRUSTED_WITH_FUNCTIONS:
            return Unknown(merge_taint(call.everything))
        shape = SANITIZERS.get(path)
        if shape is not None:
            kept = tuple(o for e in call.everything for o in e.taint if o.kind in (SECRET, ENVIRONMENT))
            return Unknown(CLEAN if shape == "number" else kept, shape)
        if rule is None:
            self._hand_over(call)
        taint = both(target.taint, merge_taint(call.everything))
        made = self.reference(path + "()", call.line, taint)
        if isinstance(made, Ref):
            made.args = tuple(call.args[:4])
        return made

    def _fold_call(self, path: str, call: Call) -> Value | None:
        if path not in folding.FUNCTIONS:
            return None
        constants = [self.constant(argument) for argument in call.args]
        if call.open or any(found is None for found in constants):
            return None
        keywords = {name: self.constant(value) for name, value in call.kwargs.items()}
        if any(found is None for found in keywords.values()):
            return None
        try:
            data = folding.function(
                path,
                [found[0] for found in constants if found is not None],
                {name: found[0] for name, found in keywords.items() if found is not None},
            )
        except folding.NotConstant:
            return None
        return self.from_python(data, merge_taint(call.everything))

    def _hand_over(self, call: Call) -> None:
        """Arguments that are themselves callable may be called by whoever gets them."""
        for index, argument in enumerate(call.args):
            self._handed(argument, call.args[index + 1 :], call)
        for name, argument in call.kwargs.items():
            given = call.kwargs.get("args")
            rest = self.members(given) if given is not None else None
            self._handed(argument, rest if rest is not None and name != "args" else [], call)

    def _handed(self, argument: Value, rest: list[Value], call: Call) -> None:
        for option in argument.options if isinstance(argument, Choice) else (argument,):
            if isinstance(option, Ref) and option.path in DANGEROUS_CALLS:
                self.call(option, rest or [Unknown(merge_taint(call.everything))], {}, call.line)
            elif isinstance(option, Partial):
                self.call(option, rest, {}, call.line)
            elif isinstance(option, Items):
                for item in option.items[:MAX_PARTS]:
                    self.escaping(item, call.line)
            elif isinstance(option, Table):
                for item in list(option.entries.values())[:MAX_PARTS]:
                    self.escaping(item, call.line)

    def _call_partial(self, target: Partial, args: list[Value], kwargs: dict[str, Value], line: int) -> Value:
        if target.kind == "attribute":
            value = args[0] if args else UNKNOWN
            for name in target.args:
                if not (isinstance(name, Const) and isinstance(name.data, str)):
                    self.doubt("dynamic-attribute", line)
                    return UNKNOWN
                for part in name.data.split("."):
                    value = self.attribute(value, part, line)
            return value
        if target.kind == "item":
            return self.item(args[0] if args else UNKNOWN, target.args[0] if target.args else UNKNOWN, line)
        if target.kind == "method":
            name = target.args[0] if target.args else UNKNOWN
            if isinstance(name, Const) and isinstance(name.data, str) and args:
                return self.call(self.attribute(args[0], name.data, line), target.args[1:], {}, line, args[0])
            self.doubt("dynamic-attribute", line)
            return UNKNOWN
        return self.call(target.target, [*target.args, *args], {**target.kwargs, **kwargs}, line)

    def _instantiate(self, cls: Class, args: list[Value], kwargs: dict[str, Value], line: int) -> Value:
        instance = Instance(cls)
        for base in cls.bases:
            if isinstance(base, Ref) and base.path in self.rules.calls:
                self.call(base, args, kwargs, line)
        initializer = cls.find("__init__")
        if isinstance(initializer, Function):
            self._call_function(initializer.bind(instance), args, kwargs, line)
        instance.taint = merge_taint((*args, *kwargs.values()))
        return instance

    def _call_function(
        self, function: Function, args: list[Value], kwargs: dict[str, Value], line: int
    ) -> Value:
        merged = merge_taint((*args, *kwargs.values()))
        on_stack = function.node in self.stack
        if on_stack or len(self.stack) >= MAX_CALL_DEPTH or function.calls >= MAX_INLINED:
            self.note_growth(f"{function.name} is called more often than was followed", line)
            return Unknown(merged)
        function.calls += 1
        given = self._bound(function, args, kwargs)
        return self.enter(function, given, line)

    def _bound(self, function: Function, args: list[Value], kwargs: dict[str, Value]) -> dict[str, Value]:
        arguments = function.node.args
        names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
        given: dict[str, Value] = dict(function.defaults)
        positional = [function.bound, *args] if function.bound is not None and names else list(args)
        known = set(names) | {argument.arg for argument in arguments.kwonlyargs}
        for name, value in zip(names, positional, strict=False):
            if value is not None:
                given[name] = value
        if arguments.vararg is not None:
            extra = [value for value in positional[len(names) :] if value is not None]
            given[arguments.vararg.arg] = Items(extra, "tuple", merge_taint(extra))
        named = {name: value for name, value in kwargs.items() if name not in known}
        given.update({name: value for name, value in kwargs.items() if name in known})
        if arguments.kwarg is not None:
            given[arguments.kwarg.arg] = Table(dict(named), merge_taint(named.values()))
        spread = kwargs.get("**")
        for name in known - given.keys():
            given[name] = Unknown(spread.taint if spread is not None else CLEAN)
        return given

    def enter(self, function: Function, given: dict[str, Value], line: int) -> Value:
        outer, pending = self.scope, self.pending
        self.scope = Scope(function.scope)
        self.scope.names.update(given)
        self.pending = [[]]
        self.returns.append([])
        self.stack.append(function.node)
        self.function_names.append(function.name if not function.remote else f"@{function.remote}")
        try:
            if isinstance(function.node, ast.Lambda):
                self.returns[-1].append(self.eval(function.node.body))
            else:
                self.block(function.node.body)
        finally:
            self.function_names.pop()
            self.stack.pop()
            results = self.returns.pop()
            self.scope, self.pending = outer, pending
        if not results:
            return Const(None)
        return join_all(results)


class RuleBook:
    """What is judged while a program runs: by path of the call, by method name, and at other moments."""

    def __init__(
        self,
        calls: dict[str, Rule],
        methods: dict[str, Rule],
        mentions: dict[str, Callable[[Interpreter, str, int], None]],
        assignments: list[Watch],
        returned: list[Watch],
        attribute_set: Watch,
        imported: Callable[[Interpreter, str, int], None],
        compared: Callable[[Interpreter, ast.Compare, list[Value]], None],
        defined: Callable[[Interpreter, Any], None],
        element: Callable[[Interpreter, Ref], Value | None],
        binary: Callable[[Interpreter, ast.operator, Value, Value, int], Value | None],
    ) -> None:
        self.calls = calls
        self.methods = methods
        self.mentions = mentions
        self.assignments = assignments
        self.returned = returned
        self.attribute_set = attribute_set
        self.imported = imported
        self.compared = compared
        self.defined = defined
        self.element = element
        self.binary = binary


def assigned_names(body: Iterable[ast.AST]) -> set[str]:
    return {
        node.id
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _parts(value: Value) -> tuple[str | Value, ...]:
    match value:
        case Const(data=str()):
            return (value.data,)
        case Const(data=int() | float() | bool() | None):
            return (str(value.data),)
        case Text():
            return value.parts
    return (value,)


def _textual(value: Value) -> bool:
    return isinstance(value, Text) or (isinstance(value, Const) and isinstance(value.data, str))


def _numeric(value: Value) -> bool:
    if isinstance(value, Const):
        return isinstance(value.data, (int, float))
    return isinstance(value, Unknown) and value.shape == "number"


def _plain(value: Value) -> bool:
    return not isinstance(value, (Function, Class, Instance))


def _hashable(data: Any) -> bool:
    return isinstance(data, (str, bytes, int, float, bool, type(None), tuple))


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _is_flask(decorator: Value) -> bool:
    return isinstance(decorator, Ref) and decorator.path.startswith(FLASK_APPS)


def _is_number_annotation(annotation: ast.expr | None) -> bool:
    return isinstance(annotation, ast.Name) and annotation.id in ("int", "float", "bool", "Decimal", "UUID")


def _is_escape_field(field: str) -> bool:
    return _ESCAPE_FIELD.search(field) is not None


def _formatter_parse(template: str) -> Iterator[tuple[str, str | None, str]]:
    for literal, name, spec, _ in string.Formatter().parse(template):
        yield literal, name, spec or ""


# A whole request or argument list is not vouched for by a check of one thing in it.
_OBJECT_SOURCES: Final = frozenset(path for path in SOURCES if not path.endswith(")"))
_PERCENT: Final = re.compile(r"%(?:\(\w+\))?[#0\- +]*[\d.*]*[hlL]?[diouxXeEfFgGcrsa]")
_FIELD_HEAD: Final = re.compile(r"\w*")
_MUTATORS: Final = frozenset({"append", "extend", "insert", "remove", "sort", "clear"})
_LEAVING: Final = frozenset(
    {"sys.exit()", "os._exit()", "builtins.exit()", "builtins.quit()", "flask.abort()", "os.abort()"}
)
_TO_NAMESPACE: Final = frozenset(
    {"__globals__", "__builtins__", "func_globals", "f_builtins", "gi_frame", "cr_frame"}
)
_TO_FRAMES: Final = frozenset({"f_globals", "f_locals", "f_back", "tb_frame", "ag_frame"})
_TO_CLASSES: Final = frozenset({"__base__", "__bases__", "__mro__", "mro", "__subclasses__"})
_CLIMBED: Final = re.compile(r"__bases?__|__mro__|mro\(\)|^builtins\.(?:object|type)$")
_ESCAPE_FIELD: Final = re.compile(
    r"__(?:globals|builtins|subclasses|bases?|mro|init|import|code|dict)__|func_globals"
)
# Callables are what these are for, and what they do with them is modelled or harmless.
_TRUSTED_WITH_FUNCTIONS: Final = frozenset(
    {"builtins.print", "builtins.isinstance", "builtins.callable", "builtins.id"}
)

_STATEMENTS: Final[dict[type, Any]] = {
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
_EXPRESSIONS: Final[dict[type, Any]] = {
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
