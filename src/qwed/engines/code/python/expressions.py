"""The expressions of Python, each evaluated on what is known of its parts."""

import ast
import itertools
from collections.abc import Iterator
from typing import Any

from qwed.engines.code.python import guards
from qwed.engines.code.python.machine import (
    CallFrame,
    PythonTooLong,
    is_hashable,
    is_number,
    parts_of,
)
from qwed.engines.code.python.texts import TextOperations
from qwed.engines.code.python.values import (
    NUMBER,
    UNKNOWN,
    Const,
    Items,
    PythonTable,
    PythonUnknown,
    PythonValue,
    both,
    join,
    merge_taint,
    with_taint,
)


class Expressions(TextOperations):
    """Evaluates one expression."""

    def eval(self, node: ast.expr) -> PythonValue:
        self.steps += 1
        if self.steps > self.max_steps:
            raise PythonTooLong
        kind = type(node)
        if kind is ast.Constant:
            return Const(node.value)  # type: ignore[attr-defined]
        if kind is ast.Name:
            return self.lookup(node.id, node.lineno)  # type: ignore[attr-defined]
        handler = self.expressions.get(kind)
        return UNKNOWN if handler is None else handler(self, node)

    def _attribute(self, node: ast.Attribute) -> PythonValue:
        return self.attribute(self.eval(node.value), node.attr, node.lineno)

    def _subscript(self, node: ast.Subscript) -> PythonValue:
        owner = self.eval(node.value)
        index = self.eval(node.slice)
        return self.item(owner, index, node.lineno)

    def _binary(self, node: ast.BinOp) -> PythonValue:
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

    def _unary(self, node: ast.UnaryOp) -> PythonValue:
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
        return PythonUnknown(value.taint, "number" if is_number(value) else "")

    def _boolean(self, node: ast.BoolOp) -> PythonValue:
        result = self.eval(node.values[0])
        believed = guards.when_true if isinstance(node.op, ast.And) else guards.when_false
        names = self.scope.names
        self.scope.names = dict(names)
        for earlier, value in itertools.pairwise(node.values):
            self.believe(believed(earlier, self.is_validator))
            result = join(result, self.eval(value))
        if self.has_walrus:
            self._keep_bound(node, names)
        self.scope.names = names
        return result

    def _keep_bound(self, node: ast.expr, names: dict[str, PythonValue]) -> None:
        """What `:=` binds inside an expression stays bound after it."""
        for each in ast.walk(node):
            if isinstance(each, ast.NamedExpr) and each.target.id in self.scope.names:
                names[each.target.id] = self.scope.names[each.target.id]

    def _compare(self, node: ast.Compare) -> PythonValue:
        values = [self.eval(node.left), *(self.eval(each) for each in node.comparators)]
        self.rules.compared(self, node, values)
        return NUMBER

    def _conditional(self, node: ast.IfExp) -> PythonValue:
        self.eval(node.test)
        names = self.scope.names
        self.scope.names = dict(names)
        self.believe(guards.when_true(node.test, self.is_validator))
        chosen = self.eval(node.body)
        self.scope.names = dict(names)
        self.believe(guards.when_false(node.test, self.is_validator))
        other = self.eval(node.orelse)
        self.scope.names = names
        answer = self.decided(node.test)
        return join(chosen, other) if answer is None else chosen if answer else other

    def _sequence(self, node: ast.List | ast.Tuple | ast.Set) -> PythonValue:
        items: list[PythonValue] = []
        opened = False
        for each in node.elts:
            if not isinstance(each, ast.Starred):
                items.append(self.eval(each))
                continue
            spread = self.eval(each.value)
            members = self.members(spread)
            opened = opened or members is None
            items.extend(members if members is not None else [PythonUnknown(spread.taint)])
        kind = type(node).__name__.lower()
        constants = [item.data for item in items if isinstance(item, Const)]
        if kind != "set" and len(items) > 128 and len(constants) == len(items):
            return Const(constants if kind == "list" else tuple(constants))
        return Items(items, kind, merge_taint(items), open=opened)

    def _dict(self, node: ast.Dict) -> PythonValue:
        entries: dict[Any, PythonValue] = {}
        opened = False
        for key_node, value_node in zip(node.keys, node.values, strict=True):
            value = self.eval(value_node)
            if key_node is None:
                entries.update(value.entries if isinstance(value, PythonTable) else {})
                opened = opened or not isinstance(value, PythonTable)
                continue
            key = self.eval(key_node)
            if isinstance(key, Const) and is_hashable(key.data):
                entries[key.data] = value
                for watch in self.rules.assignments:
                    if isinstance(key.data, str):
                        watch(self, key.data, value, value_node.lineno)
            else:
                opened = True
                entries[("dynamic", len(entries))] = value
        return PythonTable(entries, merge_taint(entries.values()), open=opened)

    def _formatted(self, node: ast.JoinedStr) -> PythonValue:
        parts: list[str | PythonValue] = []
        for each in node.values:
            if isinstance(each, ast.Constant):
                parts.append(str(each.value))
            elif isinstance(each, ast.FormattedValue):
                if each.format_spec is not None:
                    self.eval(each.format_spec)
                value = self.eval(each.value)
                plain = each.conversion in (-1, ord("s")) and each.format_spec is None
                parts.extend(
                    parts_of(value) if plain else (PythonUnknown(value.taint, getattr(value, "shape", "")),)
                )
        taint = merge_taint(part for part in parts if isinstance(part, PythonValue))
        origin = merge_taint(self._kept_taint(node))
        return self.text_of(parts, both(taint, origin))

    def _kept_taint(self, node: ast.JoinedStr) -> Iterator[PythonValue]:
        # A tainted constant dissolves into the text: its taint is taken from the names themselves.
        for each in node.values:
            if isinstance(each, ast.FormattedValue) and isinstance(each.value, ast.Name):
                found = self.scope.find(each.value.id)
                if found is not None:
                    yield found

    def _walrus(self, node: ast.NamedExpr) -> PythonValue:
        value = self.eval(node.value)
        self.bind(node.target, value)
        return value

    def _lambda(self, node: ast.Lambda) -> PythonValue:
        return self.make_function(node)

    def _await(self, node: ast.Await | ast.YieldFrom) -> PythonValue:
        value = self.eval(node.value)
        if isinstance(node, ast.YieldFrom) and self.returns:
            self.returns[-1].append(PythonUnknown(value.taint))
        return value

    def _yield(self, node: ast.Yield) -> PythonValue:
        if node.value is not None:
            value = self.eval(node.value)
            if self.returns:
                self.returns[-1].append(Items([value], "list", value.taint, open=True))
        return UNKNOWN

    def _starred(self, node: ast.Starred) -> PythonValue:
        return PythonUnknown(self.eval(node.value).taint)

    def _slice(self, node: ast.Slice) -> PythonValue:
        bounds = [
            self.eval(each) if each is not None else Const(None)
            for each in (node.lower, node.upper, node.step)
        ]
        if all(isinstance(bound, Const) for bound in bounds):
            return Const(slice(*(bound.data for bound in bounds if isinstance(bound, Const))))
        return UNKNOWN

    def _comprehension(self, node: Any) -> PythonValue:
        outer = self.scope
        self.scope = CallFrame(outer)
        made: list[PythonValue] = []
        try:
            complete = self._generate(node, list(node.generators), made)
            if self.has_walrus:
                self._keep_bound(node, outer.names)
        finally:
            self.scope = outer
        if isinstance(node, ast.DictComp):
            return PythonTable({}, merge_taint(made), open=True)
        return Items(made, "list", merge_taint(made), open=not complete)

    def _generate(self, node: Any, generators: list[ast.comprehension], made: list[PythonValue]) -> bool:
        if not generators:
            made.append(self._produced(node))
            return True
        first, rest = generators[0], generators[1:]
        iterable = self.eval(first.iter)
        members = self.members(iterable)
        if members is None or not self.may_unroll(members):
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
            self.believe(guards.when_true(condition, self.is_validator))
        return not generator.ifs

    def _produced(self, node: Any) -> PythonValue:
        if isinstance(node, ast.DictComp):
            key = self.eval(node.key)
            value = self.eval(node.value)
            return with_taint(value, both(key.taint, value.taint))
        return self.eval(node.elt)
