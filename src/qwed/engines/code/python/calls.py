"""Calls: methods of known values, the program's own functions, and references that the rules judge."""

import ast
from typing import Final

from qwed.engines.code.python import constant_folds
from qwed.engines.code.python.expressions import Expressions
from qwed.engines.code.python.machine import (
    MAX_CALL_DEPTH,
    MAX_INLINED,
    MAX_PARTS,
    MAX_UNROLLED,
    CallFrame,
    PythonCall,
    parts_of,
)
from qwed.engines.code.python.names import (
    DANGEROUS_CALLS,
    ENVIRONMENT,
    OUTSIDE,
    SANITIZERS,
    SECRET,
)
from qwed.engines.code.python.texts import is_escape_field
from qwed.engines.code.python.values import (
    CLEAN,
    UNKNOWN,
    Choice,
    Const,
    Instance,
    Items,
    Partial,
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
    merge_taint,
)

_MUTATORS: Final = frozenset({"append", "extend", "insert", "remove", "sort", "clear"})
# Callables are what these are for, and what they do with them is modelled or harmless.
_TRUSTED_WITH_FUNCTIONS: Final = frozenset(
    {"builtins.print", "builtins.isinstance", "builtins.callable", "builtins.id"}
)


class PythonCalls(Expressions):
    """Resolves a callee and runs, folds or judges the call."""

    def _call(self, node: ast.Call) -> PythonValue:
        function = node.func
        receiver: PythonValue | None = None
        if type(function) is ast.Attribute:
            receiver = self.eval(function.value)
            if isinstance(receiver, (Const, PythonText, Items, PythonTable, PythonUnknown)):
                return self._method(node, receiver, function.attr)
            target = self.attribute(receiver, function.attr, function.lineno)
        else:
            target = self.eval(function)
        args, kwargs, opened = self._arguments(node)
        return self.call(target, args, kwargs, node.lineno, receiver, opened=opened)

    def _arguments(self, node: ast.Call) -> tuple[list[PythonValue], dict[str, PythonValue], bool]:
        args: list[PythonValue] = []
        opened = False
        for each in node.args:
            if not isinstance(each, ast.Starred):
                args.append(self.eval(each))
                continue
            spread = self.eval(each.value)
            members = self.members(spread)
            opened = opened or members is None
            args.extend(members if members is not None else [PythonUnknown(spread.taint)])
        kwargs: dict[str, PythonValue] = {}
        for keyword in node.keywords:
            value = self.eval(keyword.value)
            if keyword.arg is not None:
                kwargs[keyword.arg] = value
                for watch in self.rules.assignments:
                    watch(self, keyword.arg, value, keyword.value.lineno)
            elif isinstance(value, PythonTable):
                kwargs.update({str(key): entry for key, entry in value.entries.items()})
            else:
                opened = True
                kwargs["**"] = value
        return args, kwargs, opened

    def _method(self, node: ast.Call, receiver: PythonValue, name: str) -> PythonValue:
        args, kwargs, opened = self._arguments(node)
        call = PythonCall("." + name, args, kwargs, node.lineno, receiver, open=opened)
        if name == "pop" and isinstance(receiver, Items) and self._is_straight(node.func):
            return self._take_out(receiver, args)
        made = self._call_known_method(receiver, name, call)
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
        if not isinstance(receiver, (Const, PythonText)):
            self._hand_over(call)
        if isinstance(receiver, Items) and name in _MUTATORS:
            return UNKNOWN
        return PythonUnknown(both(receiver.taint, merge_taint(call.everything)))

    def _call_known_method(self, receiver: PythonValue, name: str, call: PythonCall) -> PythonValue | None:
        match receiver:
            case Const(data=str() | bytes() | int()):
                return self._constant_method(receiver, name, call)
            case PythonText() if name in ("strip", "lower", "upper", "rstrip", "lstrip", "encode", "decode"):
                return receiver
            case Items():
                return self._items_method(receiver, name, call)
            case PythonTable():
                return self._table_method(receiver, name, call)
        return None

    def _constant_method(self, receiver: Const, name: str, call: PythonCall) -> PythonValue | None:
        if name == "join" and call.args:
            return self._join_text(receiver, call.args[0])
        constants = [self.constant(argument) for argument in call.args]
        try:
            if all(found is not None for found in constants) and not call.kwargs:
                data = constant_folds.method(
                    receiver.data, name, [found[0] for found in constants if found], {}
                )
                return self.from_python(data, both(receiver.taint, merge_taint(call.args)))
        except constant_folds.NotConstant:
            pass
        if name == "format" and isinstance(receiver.data, str):
            return self.brace_format(receiver.data, call)
        if name == "format_map" and isinstance(receiver.data, str):
            if is_escape_field(receiver.data):
                self.harm("sandbox-escape", call.line)
            return PythonUnknown(merge_taint(call.everything))
        if isinstance(receiver.data, str) and name in ("encode",):
            return receiver
        return None

    def _join_text(self, separator: Const, argument: PythonValue) -> PythonValue:
        members = self.members(argument)
        taint = both(separator.taint, argument.taint)
        if members is not None and isinstance(separator.data, (str, bytes)):
            constants = [self.constant(member) for member in members]
            if all(found is not None for found in constants):
                try:
                    data = constant_folds.method(
                        separator.data, "join", [[found[0] for found in constants if found]], {}
                    )
                    return Const(data, taint)
                except constant_folds.NotConstant:
                    return PythonUnknown(taint)
            if isinstance(separator.data, str):
                parts: list[str | PythonValue] = []
                for index, member in enumerate(members):
                    parts.extend((separator.data,) if index else ())
                    parts.extend(parts_of(member))
                return self.text_of(parts, taint)
        if (
            isinstance(argument, Items)
            and argument.items
            and all(isinstance(i, Const) for i in argument.items)
        ):
            return PythonUnknown(taint, "constant-text")
        return PythonUnknown(taint)

    def _items_method(self, receiver: Items, name: str, call: PythonCall) -> PythonValue | None:
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

    def _is_straight(self, method: ast.expr) -> bool:
        """A list of this function alone, changed where no branch or loop is around."""
        owner = method.value if isinstance(method, ast.Attribute) else None
        is_own = isinstance(owner, ast.Name) and owner.id in self.scope.names
        return is_own and self.scope is not self.module and self.branching == 0

    def _take_out(self, receiver: Items, args: list[PythonValue]) -> PythonValue:
        index = args[0] if args else Const(-1)
        if receiver.open or not (isinstance(index, Const) and isinstance(index.data, int)):
            receiver.open = True
            return self.element(receiver)
        if not -len(receiver.items) <= index.data < len(receiver.items):
            receiver.open = True
            return PythonUnknown(receiver.taint)
        return receiver.items.pop(index.data)

    def _open_in_loops(self, receiver: Items) -> None:
        if len(self.pending) > 1 and self.unrolled == 0:
            receiver.open = True

    def _table_method(self, receiver: PythonTable, name: str, call: PythonCall) -> PythonValue | None:
        match name:
            case "get" | "pop" | "setdefault":
                found = self._entry(receiver, call.args[0]) if call.args else UNKNOWN
                return join(found, call.args[1]) if len(call.args) > 1 else found
            case "values":
                return Items(list(receiver.entries.values()), "list", receiver.taint, open=receiver.open)
            case "keys":
                keys: list[PythonValue] = [Const(key) for key in receiver.entries]
                return Items(keys, "list", open=receiver.open)
            case "items":
                pairs: list[PythonValue] = [
                    Items([Const(key), entry], "tuple", entry.taint)
                    for key, entry in receiver.entries.items()
                ]
                return Items(pairs, "list", receiver.taint, open=receiver.open)
            case "update":
                receiver.open = True
                for argument in call.everything:
                    receiver.taint = both(receiver.taint, argument.taint)
                    if isinstance(argument, PythonTable):
                        receiver.entries.update(argument.entries)
                return Const(None)
        return None

    def call(
        self,
        target: PythonValue,
        args: list[PythonValue],
        kwargs: dict[str, PythonValue],
        line: int,
        receiver: PythonValue | None = None,
        *,
        opened: bool = False,
    ) -> PythonValue:
        self.spend()
        match target:
            case Ref():
                return self._call_reference(
                    target, PythonCall(target.path, args, kwargs, line, receiver, open=opened)
                )
            case PythonFunction():
                return self._call_function(target, args, kwargs, line)
            case Choice():
                return self.over(
                    target, lambda option: self.call(option, args, kwargs, line, receiver, opened=opened)
                )
            case PythonClass():
                return self._instantiate(target, args, kwargs, line)
            case Partial():
                return self._call_partial(target, args, kwargs, line)
            case Instance():
                method = target.cls.find("__call__")
                if isinstance(method, PythonFunction):
                    return self._call_function(method.bind(target), args, kwargs, line)
        call = PythonCall("", args, kwargs, line)
        self._hand_over(call)
        return PythonUnknown(both(target.taint, merge_taint((*args, *kwargs.values()))))

    def _call_reference(self, target: Ref, call: PythonCall) -> PythonValue:
        path = target.path
        if self.unknown_modules and path.partition(".")[0].partition("(")[0] in self.unknown_modules:
            self.doubt("unknown-module", call.line)
        if call.receiver is None and target.args and path.endswith("()"):
            call.receiver = target
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
            return PythonUnknown(merge_taint(call.everything))
        shape = SANITIZERS.get(path)
        if shape is not None:
            kept = tuple(
                o for e in call.everything for o in e.taint if o.kind in (SECRET, OUTSIDE, ENVIRONMENT)
            )
            return PythonUnknown(CLEAN if shape == "number" else kept, shape)
        self._hand_over(call)
        taint = both(target.taint, merge_taint(call.everything))
        made = self.reference(path + "()", call.line, taint)
        if isinstance(made, Ref):
            made.args = tuple(call.args[:4])
        return made

    def _fold_call(self, path: str, call: PythonCall) -> PythonValue | None:
        if path not in constant_folds.FUNCTIONS:
            return None
        constants = [self.constant(argument) for argument in call.args]
        if call.open or any(found is None for found in constants):
            return None
        keywords = {name: self.constant(value) for name, value in call.kwargs.items()}
        if any(found is None for found in keywords.values()):
            return None
        try:
            data = constant_folds.function(
                path,
                [found[0] for found in constants if found is not None],
                {name: found[0] for name, found in keywords.items() if found is not None},
            )
        except constant_folds.NotConstant:
            return None
        return self.from_python(data, merge_taint(call.everything))

    def _hand_over(self, call: PythonCall) -> None:
        """Arguments that are themselves callable may be called by whoever gets them."""
        for index, argument in enumerate(call.args):
            self._hand_on(argument, call.args[index + 1 :], call)
        for name, argument in call.kwargs.items():
            given = call.kwargs.get("args")
            rest = self.members(given) if given is not None else None
            self._hand_on(argument, rest if rest is not None and name != "args" else [], call)

    def _hand_on(self, argument: PythonValue, rest: list[PythonValue], call: PythonCall) -> None:
        for option in argument.options if isinstance(argument, Choice) else (argument,):
            if isinstance(option, Ref) and option.path in DANGEROUS_CALLS:
                self.call(option, rest or [PythonUnknown(merge_taint(call.everything))], {}, call.line)
            elif isinstance(option, Partial):
                self.call(option, rest, {}, call.line)
            elif isinstance(option, Items):
                for item in option.items[:MAX_PARTS]:
                    self.escaping(item, call.line)
            elif isinstance(option, PythonTable):
                for item in list(option.entries.values())[:MAX_PARTS]:
                    self.escaping(item, call.line)

    def _call_partial(
        self, target: Partial, args: list[PythonValue], kwargs: dict[str, PythonValue], line: int
    ) -> PythonValue:
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

    def _instantiate(
        self, cls: PythonClass, args: list[PythonValue], kwargs: dict[str, PythonValue], line: int
    ) -> PythonValue:
        instance = Instance(cls)
        for base in cls.bases:
            if isinstance(base, Ref) and base.path in self.rules.calls:
                self.call(base, args, kwargs, line)
        initializer = cls.find("__init__")
        if isinstance(initializer, PythonFunction):
            self._call_function(initializer.bind(instance), args, kwargs, line)
        instance.taint = merge_taint((*args, *kwargs.values()))
        return instance

    def _call_function(
        self, function: PythonFunction, args: list[PythonValue], kwargs: dict[str, PythonValue], line: int
    ) -> PythonValue:
        merged = merge_taint((*args, *kwargs.values()))
        on_stack = function.node in self.stack
        if on_stack or len(self.stack) >= MAX_CALL_DEPTH or function.calls >= MAX_INLINED:
            return PythonUnknown(merged)
        function.calls += 1
        given = self._bind(function, args, kwargs)
        return self.enter(function, given, line)

    def _bind(
        self, function: PythonFunction, args: list[PythonValue], kwargs: dict[str, PythonValue]
    ) -> dict[str, PythonValue]:
        arguments = function.node.args
        names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
        given: dict[str, PythonValue] = dict(function.defaults)
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
            given[arguments.kwarg.arg] = PythonTable(dict(named), merge_taint(named.values()))
        spread = kwargs.get("**")
        for name in known - given.keys():
            given[name] = PythonUnknown(spread.taint if spread is not None else CLEAN)
        return given

    def enter(self, function: PythonFunction, given: dict[str, PythonValue], line: int) -> PythonValue:
        outer, pending = self.scope, self.pending
        self.scope = CallFrame(function.scope)
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
