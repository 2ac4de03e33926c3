"""Whether an expression fits its schema: names that are there, values that can be compared, true or false."""

import json
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from qwed.domain.nearest import did_you_mean
from qwed.rules.schema import AnyKind, ListKind, MapKind, RecordKind, RuleSchema, ValueKind
from qwed.rules.tree import (
    CelCall,
    CelList,
    CelLiteral,
    CelLoop,
    CelMap,
    CelMember,
    CelName,
    CelNode,
    LoopKind,
)

MAX_NESTED_LOOPS: Final = 2
_ORDERED: Final = (
    ValueKind.NUMBER,
    ValueKind.TEXT,
    ValueKind.TIME,
    ValueKind.DURATION,
    ValueKind.BOOL,
    ValueKind.BYTES,
)
_ARGUMENTS_WITH_ORIGIN: Final = ("query", "code", "target")
_NULL: Final = "is never null; has(…) asks whether it is there"


class Misfit(msgspec.Struct, frozen=True):
    position: int
    message: str


def kind_mistakes(tree: CelNode, schema: RuleSchema) -> list[Misfit]:
    """What does not fit; empty where the expression is a question about known things."""
    check = _KindCheck(schema)
    answer = check.kind_of(tree, {}, 0)
    if not check.mistakes and answer not in (ValueKind.BOOL, ValueKind.ANY):
        check.fail(tree, f"must be true or false; this is {describe(answer)}")
    return check.mistakes


def describe(kind: AnyKind) -> str:
    match kind:
        case ListKind():
            return "a list"
        case MapKind():
            return "a map"
        case RecordKind():
            return f"the {kind.name} as a whole"
    return kind.value


Scope = Mapping[str, AnyKind]


class _KindCheck:
    def __init__(self, schema: RuleSchema) -> None:
        self.mistakes: list[Misfit] = []
        self._schema = schema

    def fail(self, node: CelNode, message: str) -> ValueKind:
        self.mistakes.append(Misfit(_place(node), message))
        return ValueKind.ANY

    def kind_of(self, node: CelNode, scope: Scope, loops: int) -> AnyKind:
        match node:
            case CelLiteral():
                return _kind_of_value(node.value)
            case CelName():
                return self._name(node, scope)
            case CelMember():
                owner = self.kind_of(node.operand, scope, loops)
                found = self._member(node, owner, node.field)
                return ValueKind.BOOL if node.is_presence else found
            case CelList():
                kinds = [self.kind_of(item, scope, loops) for item in node.items]
                return ListKind(
                    kinds[0] if kinds and all(kind == kinds[0] for kind in kinds) else ValueKind.ANY
                )
            case CelMap():
                for key, value in node.entries:
                    self.kind_of(key, scope, loops)
                    self.kind_of(value, scope, loops)
                return MapKind(ValueKind.ANY)
            case CelLoop():
                return self._loop(node, scope, loops)
            case CelCall():
                return self._call(node, scope, loops)

    def _name(self, node: CelName, scope: Scope) -> AnyKind:
        if node.name in scope:
            return scope[node.name]
        if node.name in self._schema.constants:
            return ValueKind.NUMBER
        # What else the library knows by itself are the names of types.
        return self._schema.variables.get(node.name, ValueKind.TYPE)

    def _member(self, node: CelNode, owner: AnyKind, field: str) -> AnyKind:
        match owner:
            case RecordKind():
                if field in owner.members:
                    return owner.members[field]
                return self.fail(
                    node, f"{owner.name} has no {quote(field)}; {did_you_mean(field, owner.members)}"
                )
            case MapKind():
                return owner.value
            case ValueKind.ANY:
                return ValueKind.ANY
        return self.fail(node, f"{describe(owner)} has no members, so no {quote(field)}")

    def _loop(self, node: CelLoop, scope: Scope, loops: int) -> AnyKind:
        if loops >= MAX_NESTED_LOOPS:
            return self.fail(node, f"exists, all, map and filter nest at most {MAX_NESTED_LOOPS} deep")
        over = self.kind_of(node.over, scope, loops)
        item: AnyKind = ValueKind.ANY
        match over:
            case ListKind():
                item = over.item
            case MapKind() | RecordKind():
                item = ValueKind.TEXT
            case ValueKind.ANY:
                pass
            case _:
                self.fail(node, f"{describe(over)} is not a list to go through")
        inner = {**scope, node.variable: item}
        if node.condition is not None:
            self._expect(node.condition, ValueKind.BOOL, inner, loops + 1)
        if node.kind is LoopKind.MAP:
            return ListKind(self.kind_of(node.body, inner, loops + 1))
        self._expect(node.body, ValueKind.BOOL, inner, loops + 1)
        return ListKind(item) if node.kind is LoopKind.FILTER else ValueKind.BOOL

    def _call(self, node: CelCall, scope: Scope, loops: int) -> AnyKind:
        own = self._schema.functions.get(node.function)
        if own is not None:
            self._own_argument(node, scope, loops, own.takes)
            return own.answers
        kinds = [self.kind_of(argument, scope, loops) for argument in node.arguments]
        rule = _RULES.get(node.function)
        if rule is None:
            return self.fail(node, f"{quote(node.function)} is not a function of rules")
        return rule(self, node, kinds)

    def _own_argument(self, node: CelCall, scope: Scope, loops: int, takes: AnyKind) -> None:
        """One of the named variables, not a part of it: the function looks at every slot."""
        (argument,) = node.arguments
        if takes == ValueKind.TEXT:
            if not isinstance(argument, CelLiteral) or not _is_path(argument.value):
                self.fail(node, f'{node.function} takes a path as text, such as "parameters.to"')
            return
        if self.kind_of(argument, scope, loops) is not takes:
            names = [name for name, kind in self._schema.variables.items() if kind is takes]
            self.fail(node, f"{node.function}(…) takes {' or '.join(names)} as a whole")

    def _expect(self, node: CelNode, expected: ValueKind, scope: Scope, loops: int) -> None:
        found = self.kind_of(node, scope, loops)
        if not _fits(found, expected):
            self.fail(node, f"expected {expected.value}, not {describe(found)}")

    # One method per group of operators; `kinds` are those of the arguments.

    def logical(self, node: CelCall, kinds: list[AnyKind]) -> AnyKind:
        return self._all(node, kinds, ValueKind.BOOL, ValueKind.BOOL)

    def numeric(self, node: CelCall, kinds: list[AnyKind]) -> AnyKind:
        return self._all(node, kinds, ValueKind.NUMBER, ValueKind.NUMBER)

    def textual(self, node: CelCall, kinds: list[AnyKind]) -> AnyKind:
        return self._all(node, kinds, ValueKind.TEXT, ValueKind.BOOL)

    def _all(self, node: CelCall, kinds: list[AnyKind], expected: ValueKind, answer: ValueKind) -> ValueKind:
        for argument, kind in zip(node.arguments, kinds, strict=True):
            if not _fits(kind, expected):
                self.fail(argument, f"expected {expected.value}, not {describe(kind)}")
        return answer

    def equal(self, node: CelCall, kinds: list[AnyKind]) -> AnyKind:
        left, right = kinds
        if ValueKind.NULL in kinds and ValueKind.ANY not in kinds and left != right:
            other = node.arguments[0 if right is ValueKind.NULL else 1]
            self.fail(other, _NULL)
        elif not _comparable(left, right):
            self.fail(node, f"{describe(left)} is never equal to {describe(right)}")
        return ValueKind.BOOL

    def ordered(self, node: CelCall, kinds: list[AnyKind]) -> AnyKind:
        left, right = kinds
        if not all(kind is ValueKind.ANY or kind in _ORDERED for kind in kinds) or not _comparable(
            left, right
        ):
            self.fail(node, f"{describe(left)} is neither more nor less than {describe(right)}")
        return ValueKind.BOOL

    def membership(self, node: CelCall, kinds: list[AnyKind]) -> AnyKind:
        item, container = kinds
        match container:
            case ListKind():
                if not _comparable(item, container.item):
                    self.fail(node, f"{describe(item)} is never in a list of {_plural(container.item)}")
            case MapKind() | RecordKind() | ValueKind.ANY:
                if not _fits(item, ValueKind.TEXT):
                    self.fail(node, f"{describe(item)} is never a key")
            case _:
                self.fail(node, f"{describe(container)} holds nothing; expected a list or a map")
        return ValueKind.BOOL

    def addition(self, node: CelCall, kinds: list[AnyKind]) -> AnyKind:
        known = [kind for kind in kinds if kind is not ValueKind.ANY]
        if ValueKind.TIME in known:
            return (
                ValueKind.TIME
                if node.function == "_+_" or ValueKind.DURATION in known
                else ValueKind.DURATION
            )
        if len(known) == 2 and not _comparable(*known):
            return self.fail(node, f"{describe(known[0])} and {describe(known[1])} cannot be added")
        return known[0] if known else ValueKind.ANY

    def choice(self, node: CelCall, kinds: list[AnyKind]) -> AnyKind:
        if not _fits(kinds[0], ValueKind.BOOL):
            self.fail(node.arguments[0], f"expected {ValueKind.BOOL.value}, not {describe(kinds[0])}")
        return kinds[1] if kinds[1] == kinds[2] else ValueKind.ANY

    def index(self, node: CelCall, kinds: list[AnyKind]) -> AnyKind:
        owner, key = kinds
        if isinstance(owner, ListKind):
            return owner.item
        argument = node.arguments[1]
        if (
            isinstance(owner, RecordKind)
            and isinstance(argument, CelLiteral)
            and isinstance(argument.value, str)
        ):
            return self._member(node, owner, argument.value)
        if isinstance(owner, MapKind):
            return owner.value if _fits(key, ValueKind.TEXT) else self.fail(argument, "a key is text")
        if owner is ValueKind.ANY:
            return ValueKind.ANY
        return self.fail(node, f"{describe(owner)} has no parts to pick from")

    def calendar(self, node: CelCall, kinds: list[AnyKind]) -> AnyKind:
        if kinds[0] not in (ValueKind.TIME, ValueKind.DURATION, ValueKind.ANY):
            self.fail(node, f"expected a point in time, not {describe(kinds[0])}")
        if len(node.arguments) > 1 and not isinstance(node.arguments[1], CelLiteral):
            self.fail(node, "a time zone is written out, so that it can be tried when the policy is read")
        return ValueKind.NUMBER

    def size(self, node: CelCall, kinds: list[AnyKind]) -> AnyKind:
        if kinds[0] in (ValueKind.NUMBER, ValueKind.BOOL, ValueKind.TIME, ValueKind.DURATION, ValueKind.NULL):
            self.fail(node, f"{describe(kinds[0])} has no size")
        return ValueKind.NUMBER


Rule = Callable[[_KindCheck, CelCall, list[AnyKind]], AnyKind]


def _answers(kind: ValueKind) -> Rule:
    return lambda check, node, kinds: kind


_CALENDAR: Final = (
    *("getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear"),
    *("getHours", "getMinutes", "getSeconds", "getMilliseconds"),
)
_RULES: Final[Mapping[str, Rule]] = {
    **dict.fromkeys(("_&&_", "_||_", "!_"), _KindCheck.logical),
    **dict.fromkeys(("_==_", "_!=_"), _KindCheck.equal),
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _KindCheck.ordered),
    **dict.fromkeys(("_+_", "_-_"), _KindCheck.addition),
    **dict.fromkeys(("_*_", "_/_", "_%_", "-_"), _KindCheck.numeric),
    **dict.fromkeys(("startsWith", "endsWith", "contains", "matches"), _KindCheck.textual),
    **dict.fromkeys(_CALENDAR, _KindCheck.calendar),
    **dict.fromkeys(("int", "uint", "double"), _answers(ValueKind.NUMBER)),
    "@in": _KindCheck.membership,
    "_?_:_": _KindCheck.choice,
    "_[_]": _KindCheck.index,
    "size": _KindCheck.size,
    "string": _answers(ValueKind.TEXT),
    "bool": _answers(ValueKind.BOOL),
    "bytes": _answers(ValueKind.BYTES),
    "timestamp": _answers(ValueKind.TIME),
    "duration": _answers(ValueKind.DURATION),
    "type": _answers(ValueKind.TYPE),
    "dyn": _answers(ValueKind.ANY),
}
LIBRARY_FUNCTIONS: Final = tuple(name for name in _RULES if name.isalpha())


def quote(text: str) -> str:
    return json.dumps(text[:80], ensure_ascii=False)


def _place(node: CelNode) -> int:
    """Where a reader looks: at the name behind the dot."""
    return node.position + 1 if isinstance(node, CelMember) else node.position


def _is_path(value: object) -> bool:
    return isinstance(value, str) and (value in _ARGUMENTS_WITH_ORIGIN or value.startswith("parameters."))


def _kind_of_value(value: object) -> ValueKind:
    match value:
        case None:
            return ValueKind.NULL
        case bool():
            return ValueKind.BOOL
        case int() | float():
            return ValueKind.NUMBER
        case str():
            return ValueKind.TEXT
    return ValueKind.BYTES


def _fits(found: AnyKind, expected: ValueKind) -> bool:
    return found in (expected, ValueKind.ANY)


def _comparable(left: AnyKind, right: AnyKind) -> bool:
    if ValueKind.ANY in (left, right):
        return True
    if isinstance(left, ValueKind) or isinstance(right, ValueKind):
        return left == right
    if isinstance(left, ListKind) and isinstance(right, ListKind):
        return _comparable(left.item, right.item)
    return not isinstance(left, ListKind) and not isinstance(right, ListKind)


def _plural(kind: AnyKind) -> str:
    return (
        {ValueKind.TEXT: "texts", ValueKind.NUMBER: "numbers"}.get(kind, "other things")
        if isinstance(kind, ValueKind)
        else "others"
    )
