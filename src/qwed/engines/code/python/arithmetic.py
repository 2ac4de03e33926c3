"""Bounds of Python's operators, displays and formatted texts."""

import ast
import math
import re
from collections.abc import Callable
from typing import Any, Final

from qwed.engines.code.bounds import (
    EMPTY,
    FLAG,
    INFINITE,
    MAX_BITS,
    NOTHING,
    Bound,
    BoundedValue,
    ObjectCell,
    PurityProof,
    bits,
    held,
    join,
    join_all,
    string,
)

_MAX_COUNT: Final = 1_000_000
_MAX_EXPONENT: Final = 10_000
_NUMERIC: Final = ("number", "float", "any", "decimal", "fraction", "none")
_WIDE: Final = re.compile(r"\d{5,}|\*")
_FIELD: Final = re.compile(r"\{[^{}]*[\[.][^{}]*\}|\{[^{}]*\{")


class Arithmetic(PurityProof):
    """Evaluates operators on bounds."""

    def run(self, node: Any) -> BoundedValue:
        raise NotImplementedError

    def bind(self, target: ast.expr, value: BoundedValue) -> None:
        raise NotImplementedError

    # -- containers ------------------------------------------------------------------------------------

    def listed(self, node: object, kind: str, length: Bound, member: BoundedValue) -> BoundedValue:
        cell = self.cell(id(node), kind)
        self.put_member(cell, member)
        self.stretch(cell, length)
        return held(cell)

    def lazy(
        self, node: object, again: Callable[[], tuple[Bound, BoundedValue]], sources: frozenset[ObjectCell]
    ) -> BoundedValue:
        cell = self.cell(id(node), "iterator")
        cell.again = again
        self.note_walk(cell, sources)
        cell.length = max(cell.length, self.walk_over(cell.walks, again)[0])
        return held(cell)

    def members(self, value: BoundedValue) -> tuple[Bound, BoundedValue]:
        """How many members walking over a value yields, and what they are."""
        rounds: Bound = 0
        made = EMPTY
        if value.has("any"):
            rounds, made = value.length, value
        if value.has("text"):
            rounds, made = (
                max(rounds, value.length),
                join(made, BoundedValue(frozenset({"text", "number"}), 255, 1)),
            )
        for cell in value.cells:
            if cell.kind == "object":
                raise self.refuse("walks over an object")
            again = cell.again
            length, member = self.walk_over(cell.walks, again) if again else (cell.length, cell.member)
            rounds = max(rounds, length)
            made = join(made, member)
        return rounds, made

    def item(self, owner: BoundedValue, index: BoundedValue, node: ast.AST) -> BoundedValue:
        made = owner if owner.has("any") else EMPTY
        if owner.has("text"):
            self.spend(owner.length if index.has("slice") else 1)
            made = join(made, BoundedValue(frozenset({"text", "number"}), 255, owner.length))
        for cell in owner.cells:
            if index.has("slice"):
                made = join(made, self.listed(node, cell.kind, cell.length, cell.member))
                self.spend(cell.length)
                continue
            factory = cell.fields.get("factory")
            if factory is not None:
                self.put_member(cell, join(factory, index))
                # A dict that grows between two of its members ends the walk with an error.
                self.lengthen(cell, 1, id(node))
            made = join(made, cell.member)
        if owner.calls:
            raise self.refuse("an item of something that is not the program's own")
        return made

    def _display(self, node: ast.List | ast.Tuple | ast.Set) -> BoundedValue:
        length: Bound = 0
        values: list[BoundedValue] = []
        for each in node.elts:
            if isinstance(each, ast.Starred):
                rounds, member = self.members(self.run(each.value))
                self.spend(rounds)
                length += rounds
                values.append(member)
            else:
                length += 1
                values.append(self.run(each))
        kind = type(node).__name__.lower()
        made = self.listed(node, kind, length, join_all(values))
        if kind == "tuple" and len(values) <= 8 and not any(isinstance(e, ast.Starred) for e in node.elts):
            cell = self.cell(id(node), kind)
            for index, value in enumerate(values):
                self.put_field(cell, str(index), value)
        return made

    def _dict(self, node: ast.Dict) -> BoundedValue:
        length: Bound = 0
        values: list[BoundedValue] = []
        for key, value in zip(node.keys, node.values, strict=True):
            given = self.run(value)
            if key is None:
                rounds, member = self.members(given)
                length += rounds
                values.append(member)
            else:
                length += 1
                values.extend((self.run(key), given))
        return self.listed(node, "dict", length, join_all(values))

    # -- operators -------------------------------------------------------------------------------------

    def _binary(self, node: ast.BinOp) -> BoundedValue:
        # A long sum is a deep tree: its left spine is walked, not recursed into.
        spine = [node]
        left = node.left
        while isinstance(left, ast.BinOp):
            spine.append(left)
            left = left.left
        value = self.run(left)
        for each in reversed(spine):
            self.step()
            value = self.operate(each.op, value, self.run(each.right), each)
        return value

    def _unary(self, node: ast.UnaryOp) -> BoundedValue:
        value = self.run(node.operand)
        return (
            FLAG if isinstance(node.op, ast.Not) else BoundedValue(value.kinds, value.size + 1, value.length)
        )

    def _boolean(self, node: ast.BoolOp) -> BoundedValue:
        return join_all([self.run(each) for each in node.values])

    def _compare(self, node: ast.Compare) -> BoundedValue:
        values = [self.run(node.left), *(self.run(each) for each in node.comparators)]
        walks = any(isinstance(op, (ast.In, ast.NotIn)) for op in node.ops)
        for value in values[1:] if walks else values:
            self.spend(self.weight(value))
        return FLAG

    def weight(self, value: BoundedValue) -> Bound:
        """What looking at the whole of a value costs."""
        deep = self.spelled(value) if value.cells else 1
        if value.has("fraction"):
            deep = max(deep, (bits(value.size) / 64 + 1) ** 2)
        return max(value.length, deep, bits(value.size) / 64 if value.has("number") else 1)

    def _conditional(self, node: ast.IfExp) -> BoundedValue:
        self.run(node.test)
        return join(self.run(node.body), self.run(node.orelse))

    def _walrus(self, node: ast.NamedExpr) -> BoundedValue:
        value = self.run(node.value)
        self.bind(node.target, value)
        return value

    def operate(
        self, op: ast.operator, left: BoundedValue, right: BoundedValue, node: ast.AST
    ) -> BoundedValue:
        made = EMPTY
        if left.has(*_NUMERIC) and right.has(*_NUMERIC):
            made = self._numbers(op, left, right)
        if left.has("text") or right.has("text"):
            made = join(made, self._texts(op, left, right))
        if left.cells or right.cells:
            made = join(made, self._containers(op, left, right, node))
        if left.has("any") or right.has("any"):
            length = self._times(left, right) if isinstance(op, ast.Mult) else left.length + right.length
            made = BoundedValue(
                made.kinds | {"any"}, made.size, max(made.length, length), None, made.cells, made.calls
            )
        return made

    def _numbers(self, op: ast.operator, left: BoundedValue, right: BoundedValue) -> BoundedValue:
        kinds = (left.kinds | right.kinds) & {"float", "decimal", "fraction"}
        whole = left.has("number", "any") and right.has("number", "any")
        size = self._size(op, left, right, whole=whole)
        if whole and not (isinstance(op, ast.Div)):
            kinds |= {"number"}
            self._check_bits(size)
            self.spend((bits(left.size) / 64 + 1) * (bits(right.size) / 64 + 1))
        if isinstance(op, ast.Div) or (isinstance(op, ast.Pow) and not kinds):
            kinds |= {"float"}
        if "fraction" in kinds:
            return self._fractions(op, left, right, kinds)
        return BoundedValue(frozenset(kinds), size)

    def _fractions(
        self, op: ast.operator, left: BoundedValue, right: BoundedValue, kinds: frozenset[str]
    ) -> BoundedValue:
        """`size` bounds the numerator and the denominator: a sum multiplies denominators too."""
        if isinstance(op, ast.Pow):
            size = self._power(op, left.size, right.size, whole=True)
        else:
            size = (left.size + 1) * (right.size + 1) * 2
        self._check_bits(size)
        self.spend((bits(size) / 64 + 1) ** 2)
        # A fraction to the power of a whole one may be whole, and to that of another one a float.
        if isinstance(op, ast.Pow):
            return BoundedValue(kinds | {"number", "float"}, size)
        return BoundedValue(kinds | {"number"} if isinstance(op, ast.FloorDiv) else kinds, size)

    def _check_bits(self, size: Bound) -> None:
        if bits(size) > MAX_BITS:
            raise self.refuse("a number that is not known to be small")

    def _size(self, op: ast.operator, left: BoundedValue, right: BoundedValue, *, whole: bool) -> Bound:
        a, b = left.size, right.size
        match op:
            case ast.Add() | ast.Sub():
                return a + b
            case ast.Mult():
                return 0 if 0 in (a, b) else a * b if INFINITE in (a, b) or a + b < 1e150 else int(a) * int(b)
            case ast.Mod():
                return b
            case ast.Div() | ast.FloorDiv():
                return a if not right.has("float", "decimal", "fraction") else INFINITE
            case ast.RShift():
                return a
            case ast.BitAnd() | ast.BitOr() | ast.BitXor():
                return 2 * max(a, b) + 1
            case ast.Pow() | ast.LShift():
                below = not whole and b <= 1 and left.kinds <= {"number", "any"}
                return max(a, 1) if below else self._power(op, a, b, whole=whole)
        raise self.refuse("an operator that is on no list")

    def _power(self, op: ast.operator, a: Bound, b: Bound, *, whole: bool) -> Bound:
        if not whole:
            return INFINITE
        if b > _MAX_EXPONENT or bits(a) * (b if isinstance(op, ast.Pow) else 1) + b > MAX_BITS * 2:
            raise self.refuse("a power or shift whose size is not known to be small")
        count = math.ceil(b)
        return max(int(a), 1) ** count if isinstance(op, ast.Pow) else int(a) << count

    def _texts(self, op: ast.operator, left: BoundedValue, right: BoundedValue) -> BoundedValue:
        if isinstance(op, ast.Mod) and left.has("text"):
            return self.fill_template(left, right, percent=True)
        if isinstance(op, ast.Mult):
            length = self._times(left, right)
        elif isinstance(op, ast.Add):
            length = left.length + right.length
        else:
            return EMPTY
        self.spend(length)
        whole = isinstance(op, ast.Add) and left.kinds == right.kinds == {"text"}
        known = f"{left.text}{right.text}" if whole and None not in (left.text, right.text) else None
        return string(length, known)

    def _times(self, left: BoundedValue, right: BoundedValue) -> Bound:
        counted = [(left.length, right), (right.length, left)]
        longest: Bound = 0
        for length, count in counted:
            if length and count.has("number", "any"):
                if count.size > _MAX_COUNT:
                    raise self.refuse("a repetition that is not known to be small")
                longest = max(longest, length * count.size)
        return longest

    def _containers(
        self, op: ast.operator, left: BoundedValue, right: BoundedValue, node: ast.AST
    ) -> BoundedValue:
        rounds = [self.members(each)[0] for each in (left, right)]
        member = join(self.members(left)[1], self.members(right)[1])
        length = sum(rounds)
        if isinstance(op, ast.Mult):
            count = max(left.size if right.cells else 0, right.size if left.cells else 0)
            if count > _MAX_COUNT:
                raise self.refuse("a repetition that is not known to be small")
            length = max(rounds) * count
        made = NOTHING
        for kind in sorted({cell.kind for cell in left.cells | right.cells} - {"iterator"}):
            made = join(made, self.listed(node, kind, length, member))
        self.spend(length)
        return made

    # -- formatting ------------------------------------------------------------------------------------

    def _formatted(self, node: ast.JoinedStr) -> BoundedValue:
        length: Bound = 0
        for each in node.values:
            if isinstance(each, ast.Constant):
                length += len(str(each.value))
            elif isinstance(each, ast.FormattedValue):
                length += self._field(each)
        self.spend(length)
        return string(length)

    def _field(self, node: ast.FormattedValue) -> Bound:
        value = self.run(node.value)
        spec = node.format_spec
        if spec is None:
            return self.spelled(value) * (10 if node.conversion != -1 else 1)
        parts = spec.values if isinstance(spec, ast.JoinedStr) else []
        known = "".join(str(part.value) for part in parts if isinstance(part, ast.Constant))
        if _WIDE.search(known) or any(not isinstance(part, ast.Constant) for part in parts):
            raise self.refuse("formats to a width that is not known to be small")
        return self.spell_out(value)

    def spell_out(self, value: BoundedValue) -> Bound:
        """Formatted by a specification: a float may show all of its digits, a decimal as many as it likes."""
        if value.has("decimal", "fraction"):
            raise self.refuse("formats a number whose length is not known")
        return self.spelled(value) * 5 + 10_400

    def fill_template(self, template: BoundedValue, given: BoundedValue, *, percent: bool) -> BoundedValue:
        known = template.text
        if known is None or _WIDE.search(known) or (not percent and _FIELD.search(known)):
            raise self.refuse("a format with a width that is not known to be small")
        places = known.count("%") if percent else known.count("{")
        each = max([self.spell_out(given), *(self.spell_out(cell.member) for cell in given.cells)])
        self.spend(len(known) + places * each)
        return string(len(known) + places * each)
