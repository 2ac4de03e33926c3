"""Operators and formatting: how texts, numbers and containers are put together."""

import ast
import re
import string
from collections.abc import Iterator
from typing import Any, Final

from qwed.engines.code.python import constant_folds
from qwed.engines.code.python.access import MemberAccess
from qwed.engines.code.python.machine import (
    MAX_PARTS,
    MAX_UNROLLED,
    PythonCall,
    is_number,
    is_text,
    parts_of,
)
from qwed.engines.code.python.values import (
    UNKNOWN,
    Choice,
    Const,
    Items,
    PythonTable,
    PythonText,
    PythonUnknown,
    PythonValue,
    Taint,
    both,
    merge_taint,
)

_PERCENT: Final = re.compile(r"%(?:\(\w+\))?[#0\- +]*[\d.*]*[hlL]?[diouxXeEfFgGcrsa]")
_FIELD_HEAD: Final = re.compile(r"\w*")
_ESCAPE_FIELD: Final = re.compile(
    r"__(?:globals|builtins|subclasses|bases?|mro|init|import|code|dict)__|func_globals"
)


def is_escape_field(field: str) -> bool:
    return _ESCAPE_FIELD.search(field) is not None


def _formatter_parse(template: str) -> Iterator[tuple[str, str | None, str]]:
    for literal, name, spec, _ in string.Formatter().parse(template):
        yield literal, name, spec or ""


class TextOperations(MemberAccess):
    """Combines values."""

    def binary(self, op: ast.operator, left: PythonValue, right: PythonValue, line: int) -> PythonValue:
        if isinstance(left, Choice):
            return self.over(left, lambda option: self.binary(op, option, right, line))
        if isinstance(right, Choice):
            return self.over(right, lambda option: self.binary(op, left, option, line))
        taint = both(left.taint, right.taint)
        if isinstance(left, Const) and isinstance(right, Const):
            try:
                return Const(constant_folds.binary(op, left.data, right.data), taint)
            except constant_folds.NotConstant:
                return PythonUnknown(taint, "number" if isinstance(left.data, (int, float)) else "")
        made = self._combine_structures(op, left, right, taint)
        if made is not None:
            return made
        special = self.rules.binary(self, op, left, right, line)
        if special is not None:
            return special
        return PythonUnknown(taint, "number" if is_number(left) and is_number(right) else "")

    def _combine_structures(
        self, op: ast.operator, left: PythonValue, right: PythonValue, taint: Taint
    ) -> PythonValue | None:
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
            case ast.Add(), _, _ if is_text(left) or is_text(right):
                return self.concatenate([left, right])
            case ast.Mod(), Const(data=str()), _:
                return self.percent_format(left.data, right)
            case ast.Mult(), Const(data=str()), _:
                return PythonUnknown(taint, "constant-text")
        return None

    def concatenate(self, values: list[PythonValue]) -> PythonValue:
        taint = merge_taint(values)
        parts: list[str | PythonValue] = []
        for value in values:
            parts.extend(parts_of(value))
        return self.text_of(parts, taint)

    def text_of(self, parts: list[str | PythonValue], taint: Taint) -> PythonValue:
        # Doubled in a loop that is unrolled, a text would outgrow the machine that only reads it.
        if sum(len(part) for part in parts if isinstance(part, str)) > constant_folds.MAX_LENGTH:
            return PythonUnknown(taint)
        merged: list[str | PythonValue] = []
        for part in parts:
            if isinstance(part, str) and merged and isinstance(merged[-1], str):
                merged[-1] += part
            elif part != "":
                merged.append(part)
        if len(merged) > MAX_PARTS:
            return PythonUnknown(taint)
        if not merged:
            return Const("", taint)
        if len(merged) == 1 and isinstance(merged[0], str):
            return Const(merged[0], taint)
        return PythonText(tuple(merged), taint)

    def percent_format(self, template: str, right: PythonValue) -> PythonValue:
        values = right.items if isinstance(right, Items) else [right]
        if isinstance(right, PythonTable):
            values = list(right.entries.values())
        pieces = _PERCENT.split(template.replace("%%", "\x00"))
        if len(pieces) == 1:
            return Const(template, right.taint)
        parts: list[str | PythonValue] = []
        for index, piece in enumerate(pieces):
            parts.append(piece.replace("\x00", "%"))
            if index < len(pieces) - 1:
                parts.extend(parts_of(values[index]) if index < len(values) else (UNKNOWN,))
        return self.text_of(parts, both(right.taint, merge_taint(values)))

    def brace_format(self, template: str, call: PythonCall) -> PythonValue:
        parts: list[str | PythonValue] = []
        counter = 0
        try:
            fields = list(_formatter_parse(template))
        except ValueError:
            return PythonUnknown(merge_taint(call.everything))
        for literal, name, spec in fields:
            parts.append(literal)
            if name is None:
                continue
            if is_escape_field(name + spec):
                self.harm("sandbox-escape", call.line)
            head = _FIELD_HEAD.match(name)
            key = head.group() if head else ""
            if key == "":
                key, counter = str(counter), counter + 1
            value = call.kwargs.get(key)
            if value is None and key.isdigit() and int(key) < len(call.args):
                value = call.args[int(key)]
            whole = value is not None and name in ("", key)
            parts.extend(parts_of(value) if whole and value is not None else (value or UNKNOWN,))
        return self.text_of(parts, merge_taint(call.everything))

    def constant(self, value: PythonValue) -> tuple[Any] | None:
        """The Python value, in a tuple so that None is a value too."""
        match value:
            case Const():
                return (value.data,)
            case Items() if not value.open:
                # Containers that share their members are walked once for each place they stand in.
                self.spend(len(value.items))
                members = [self.constant(item) for item in value.items]
                if any(member is None for member in members):
                    return None
                data = [member[0] for member in members if member is not None]
                return (tuple(data),) if value.kind == "tuple" else (data,)
            case PythonTable() if not value.open:
                self.spend(len(value.entries))
                pairs = {key: self.constant(entry) for key, entry in value.entries.items()}
                if any(found is None for found in pairs.values()):
                    return None
                return ({key: found[0] for key, found in pairs.items() if found is not None},)
        return None

    def from_python(self, data: Any, taint: Taint) -> PythonValue:
        if isinstance(data, (list, tuple)) and len(data) <= MAX_UNROLLED:
            kind = "tuple" if isinstance(data, tuple) else "list"
            return Items([self.from_python(each, taint) for each in data], kind, taint)
        return Const(data, taint)
