"""Expressions as formulas of z3.

An expression is true, false or cannot be evaluated, so each becomes two formulas: when it is `true` and when
it is `false`. What is not translated (a *hole*) may be either: what is proven in spite of it is proven, and
an example that depends on it is none. The same text becomes the same hole, in every expression.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
import z3

from qwed.rules.analysis.patterns import Untranslatable, pattern_formula
from qwed.rules.analysis.terms import (
    FALSE,
    MAX_ELEMENTS,
    PLAIN_KINDS,
    TRUE,
    Claim,
    Hole,
    Term,
    is_compound,
    list_term,
    literal_term,
    seconds_of,
    shape_of,
    text_of,
)
from qwed.rules.expressions import path_of
from qwed.rules.schema import RULE_SCHEMA, AnyKind, ListKind, MapKind, RecordKind, ValueKind
from qwed.rules.tree import CelCall, CelList, CelLiteral, CelLoop, CelMember, CelName, CelNode, LoopKind

CALENDAR: Final[Mapping[str, tuple[int, int]]] = {
    "getFullYear": (1970, 9999),
    "getMonth": (0, 11),
    "getDate": (1, 31),
    "getDayOfMonth": (0, 30),
    "getDayOfWeek": (0, 6),
    "getDayOfYear": (0, 365),
    "getHours": (0, 23),
    "getMinutes": (0, 59),
    "getSeconds": (0, 59),
    "getMilliseconds": (0, 999),
}

Scope = Mapping[str, Term]


class Translator:
    """Turns expressions into formulas over one shared set of variables. `prefix` keeps two actions apart."""

    def __init__(self, prefix: str = "", elements: int = 2) -> None:
        self.holes: dict[str, str] = {}
        #: What is true of the variables by what they are.
        self.facts: list[Any] = []
        self.terms: dict[str, Term] = {}
        self._prefix = prefix
        self._elements = max(1, min(elements, MAX_ELEMENTS))
        self._zones: set[str] = set()

    def claim(self, node: CelNode, scope: Scope | None = None) -> Claim:
        scope = scope or {}
        try:
            return self._claim(node, scope)
        except Hole as hole:
            return self._hole_claim(node, scope, hole.why)

    # --- true or false -----------------------------------------------------------------------------------

    def _claim(self, node: CelNode, scope: Scope) -> Claim:
        match node:
            case CelLiteral(value=bool()):
                return Claim(z3.BoolVal(node.value), z3.BoolVal(not node.value))
            case CelMember(is_presence=True):
                return self._presence(node, scope)
            case CelLoop(kind=LoopKind.EXISTS | LoopKind.ALL):
                return self._quantifier(node, scope)
            case CelCall():
                translate = _CLAIMS.get(node.function)
                if translate is not None:
                    return translate(self, node, scope)
        term = self.term(node, scope)
        usable = z3.And(term.ok, term.is_bool)
        if term.bool is None:
            return Claim(FALSE, FALSE)
        return Claim(z3.And(usable, term.bool), z3.And(usable, z3.Not(term.bool)))

    def both(self, node: CelCall, scope: Scope) -> Claim:
        left, right = (self.claim(part, scope) for part in node.arguments)
        return Claim(z3.And(left.true, right.true), z3.Or(left.false, right.false))

    def either(self, node: CelCall, scope: Scope) -> Claim:
        left, right = (self.claim(part, scope) for part in node.arguments)
        return Claim(z3.Or(left.true, right.true), z3.And(left.false, right.false))

    def negation(self, node: CelCall, scope: Scope) -> Claim:
        inner = self.claim(node.arguments[0], scope)
        return Claim(inner.false, inner.true)

    def choice(self, node: CelCall, scope: Scope) -> Claim:
        condition, left, right = (self.claim(part, scope) for part in node.arguments)
        return Claim(
            z3.Or(z3.And(condition.true, left.true), z3.And(condition.false, right.true)),
            z3.Or(z3.And(condition.true, left.false), z3.And(condition.false, right.false)),
        )

    def equality(self, node: CelCall, scope: Scope) -> Claim:
        left, right = (self.term(part, scope) for part in node.arguments)
        claim = self._equal(left, right)
        return Claim(claim.false, claim.true) if node.function == "_!=_" else claim

    def _equal(self, left: Term, right: Term) -> Claim:
        usable = z3.And(left.ok, right.ok)
        same = [
            z3.And(getattr(left, f"is_{kind}"), getattr(right, f"is_{kind}"), mine == other)
            for kind in ("text", "number", "bool")
            if (mine := getattr(left, kind)) is not None and (other := getattr(right, kind)) is not None
        ]
        if not {left.kind, right.kind} & PLAIN_KINDS:
            # Lists and maps may be equal to each other in ways that are not looked at.
            key = f"{self._prefix}equal {left.path or left.elements} {right.path or right.elements}"
            self.holes.setdefault(key, "compares lists or maps as a whole")
            same.append(z3.And(is_compound(left), is_compound(right), z3.Bool(key)))
        equal = z3.Or(*same) if same else FALSE
        return Claim(z3.And(usable, equal), z3.And(usable, z3.Not(equal)))

    def order(self, node: CelCall, scope: Scope) -> Claim:
        left, right = (self.term(part, scope) for part in node.arguments)
        pairs = []
        for kind in ("number", "text"):
            mine, other = getattr(left, kind), getattr(right, kind)
            if mine is None or other is None:
                continue
            usable = z3.And(left.ok, right.ok, getattr(left, f"is_{kind}"), getattr(right, f"is_{kind}"))
            holds = _ORDERS[node.function](mine, other)
            pairs.append((z3.And(usable, holds), z3.And(usable, z3.Not(holds))))
        if not pairs:
            raise Hole("compares values of an unknown kind")
        return Claim(z3.Or(*(true for true, _ in pairs)), z3.Or(*(false for _, false in pairs)))

    def affix(self, node: CelCall, scope: Scope) -> Claim:
        whole, part = (self.term(each, scope) for each in node.arguments)
        if whole.text is None or part.text is None:
            return Claim(FALSE, FALSE)
        usable = z3.And(whole.ok, part.ok, whole.is_text, part.is_text)
        holds = _AFFIXES[node.function](whole.text, part.text)
        return Claim(z3.And(usable, holds), z3.And(usable, z3.Not(holds)))

    def pattern(self, node: CelCall, scope: Scope) -> Claim:
        whole, pattern = node.arguments
        if not isinstance(pattern, CelLiteral) or not isinstance(pattern.value, str):
            raise Hole("a pattern that is not written out")
        term = self.term(whole, scope)
        if term.text is None:
            return Claim(FALSE, FALSE)
        try:
            holds = z3.InRe(term.text, pattern_formula(pattern.value))
        except Untranslatable as error:
            raise Hole(f"the pattern {pattern.value!r}: {error}") from None
        usable = z3.And(term.ok, term.is_text)
        return Claim(z3.And(usable, holds), z3.And(usable, z3.Not(holds)))

    def membership(self, node: CelCall, scope: Scope) -> Claim:
        item, container = node.arguments
        path = path_of(container, frozenset(scope))
        if isinstance(item, CelLiteral) and isinstance(item.value, str) and path is not None:
            kind = self.term(container, scope).kind
            if isinstance(kind, MapKind | RecordKind):
                return self._presence(
                    CelMember(container, item.value, item.position, is_presence=True), scope
                )
        listed = self.term(container, scope)
        if listed.elements is None:
            raise Hole("looks into a value of an unknown kind")
        sought = self.term(item, scope)
        each = [(there, self._equal(sought, element)) for there, element in listed.elements]
        usable = z3.And(listed.ok, listed.is_list, sought.ok)
        return Claim(
            z3.And(usable, z3.Or(*(z3.And(there, claim.true) for there, claim in each))),
            z3.And(usable, *(z3.Implies(there, claim.false) for there, claim in each)),
        )

    def _presence(self, node: CelMember, scope: Scope) -> Claim:
        owner = self.term(node.operand, scope)
        if owner.path is None:
            raise Hole("asks for a member of something that was made up")
        member = self._member(owner, node.field)
        is_map = z3.And(owner.ok, z3.Not(z3.Or(owner.is_text, owner.is_number, owner.is_bool, owner.is_list)))
        return Claim(z3.And(is_map, member.ok), z3.And(is_map, z3.Not(member.ok)))

    def _quantifier(self, node: CelLoop, scope: Scope) -> Claim:
        over = self.term(node.over, scope)
        if over.elements is None:
            raise Hole(f"{node.kind.value} over something that is not a list")
        each = [
            (there, self.claim(node.body, {**scope, node.variable: element}))
            for there, element in over.elements
        ]
        usable = z3.And(over.ok, over.is_list)
        if node.kind is LoopKind.EXISTS:
            return Claim(
                z3.And(usable, z3.Or(*(z3.And(there, claim.true) for there, claim in each))),
                z3.And(usable, *(z3.Implies(there, claim.false) for there, claim in each)),
            )
        return Claim(
            z3.And(usable, *(z3.Implies(there, claim.true) for there, claim in each)),
            z3.And(usable, z3.Or(*(z3.And(there, claim.false) for there, claim in each))),
        )

    # --- values ------------------------------------------------------------------------------------------

    def term(self, node: CelNode, scope: Scope) -> Term:
        match node:
            case CelLiteral():
                return literal_term(node.value)
            case CelName():
                return self._name(node, scope)
            case CelMember(is_presence=False):
                owner = self.term(node.operand, scope)
                if owner.path is None:
                    raise Hole("a member of something that was made up")
                return self._member(owner, node.field)
            case CelList():
                return list_term([(TRUE, self.term(item, scope)) for item in node.items])
            case CelLoop(kind=LoopKind.MAP | LoopKind.FILTER):
                return self._translate_changed_list(node, scope)
            case CelCall():
                translate = _TERMS.get(node.function)
                if translate is not None:
                    return translate(self, node, scope)
                if node.function in RULE_SCHEMA.functions:
                    return self._function(node)
        if not _is_question(node):
            raise Hole(
                f"{node.function}(…)" if isinstance(node, CelCall) else "a map or list that is made up"
            )
        claim = self._claim(node, scope)
        return Term(z3.Or(claim.true, claim.false), is_bool=TRUE, bool=claim.true, kind=ValueKind.BOOL)

    def _name(self, node: CelName, scope: Scope) -> Term:
        if node.name in scope:
            return scope[node.name]
        if node.name in RULE_SCHEMA.constants:
            return literal_term(RULE_SCHEMA.constants[node.name])
        kind = RULE_SCHEMA.variables.get(node.name)
        if kind is None:
            raise Hole(f"the type {node.name}")
        return self.variable(node.name, kind, always=True)

    def variable(self, path: str, kind: AnyKind, *, always: bool) -> Term:
        """The value under a path, the same whenever it is asked for."""
        if path not in self.terms:
            ok = TRUE if always else z3.Bool(f"{self._prefix}{path}?")
            self.terms[path] = self._make(path, kind, ok)
        return self.terms[path]

    def _make(self, path: str, kind: AnyKind, ok: Any) -> Term:
        name = f"{self._prefix}{path}"
        match kind:
            case ValueKind.TEXT:
                return Term(ok, is_text=TRUE, text=z3.String(name), kind=kind)
            case ValueKind.NUMBER | ValueKind.TIME:
                return Term(ok, is_number=TRUE, number=z3.Real(name), kind=kind)
            case ValueKind.BOOL:
                return Term(ok, is_bool=TRUE, bool=z3.Bool(name), kind=kind)
            case ListKind():
                return self._list_variable(path, kind.item, ok, TRUE)
            case MapKind() | RecordKind():
                return Term(ok, path=path, kind=kind)
            case ValueKind.ANY:
                return self._any_variable(path, ok)
        raise Hole(f"a value that is {kind.value}")

    def _any_variable(self, path: str, ok: Any) -> Term:
        name = f"{self._prefix}{path}"
        tag = z3.Int(f"{name}#")
        self.facts.append(z3.And(tag >= 0, tag <= 5))
        # A list in a list is not looked into.
        nested = path.count("[") >= 2
        listed = None if nested else self._list_variable(path, ValueKind.ANY, ok, tag == 3)
        return Term(
            ok,
            is_text=tag == 0,
            text=z3.String(f"{name}.text"),
            is_number=tag == 1,
            number=z3.Real(f"{name}.number"),
            is_bool=tag == 2,
            bool=z3.Bool(f"{name}.bool"),
            is_list=tag == 3,
            elements=None if listed is None else listed.elements,
            size=None if listed is None else listed.size,
            path=path,
        )

    def _list_variable(self, path: str, item: AnyKind, ok: Any, is_list: Any) -> Term:
        size = z3.Int(f"{self._prefix}{path}.size")
        self.facts.append(size >= 0)
        elements = tuple(
            (size > index, self._element(path, item, index, size > index)) for index in range(self._elements)
        )
        kind = ListKind(item)
        return Term(ok, is_list=is_list, elements=elements, size=size, kind=kind)

    def _element(self, path: str, item: AnyKind, index: int, there: Any) -> Term:
        inner = f"{path}[{index}]"
        if inner not in self.terms:
            self.terms[inner] = (
                self._make(inner, item, there) if item is not ValueKind.ANY else self._lazy(inner, there)
            )
        return self.terms[inner]

    def _lazy(self, path: str, ok: Any) -> Term:
        if path.count("[") >= 2:
            return Term(ok, path=path)
        return self._any_variable(path, ok)

    def _member(self, owner: Term, field: str) -> Term:
        path = f"{owner.path}.{field}"
        match owner.kind:
            case RecordKind():
                kind, always = owner.kind.members[field], field not in owner.kind.optional
            case MapKind():
                kind, always = owner.kind.value, False
            case _:
                kind, always = ValueKind.ANY, False
        if path in self.terms:
            return self.terms[path]
        term = self.variable(path, kind, always=always)
        if isinstance(owner.kind, RecordKind) and owner.kind.name == "recipient" and field == "address":
            parts = (self._member(owner, "local"), self._member(owner, "domain"))
            self.facts.append(term.text == z3.Concat(parts[0].text, z3.StringVal("@"), parts[1].text))
        if not always:
            is_map = z3.Not(z3.Or(owner.is_text, owner.is_number, owner.is_bool, owner.is_list))
            self.facts.append(z3.Implies(term.ok, z3.And(owner.ok, is_map)))
        elif owner.ok is not TRUE:
            term = self.terms[path] = msgspec.structs.replace(term, ok=owner.ok)
        return term

    def _function(self, node: CelCall) -> Term:
        (argument,) = node.arguments
        about = argument.name if isinstance(argument, CelName) else str(getattr(argument, "value", ""))
        return self.variable(
            f"{node.function}({about})", RULE_SCHEMA.functions[node.function].answers, always=True
        )

    def _translate_changed_list(self, node: CelLoop, scope: Scope) -> Term:
        over = self.term(node.over, scope)
        if over.elements is None:
            raise Hole(f"{node.kind.value} over something that is not a list")
        made = []
        usable = [over.ok, over.is_list]
        for there, element in over.elements:
            inner = {**scope, node.variable: element}
            condition = node.body if node.kind is LoopKind.FILTER else node.condition
            claim = Claim(TRUE, FALSE) if condition is None else self.claim(condition, inner)
            kept = element if node.kind is LoopKind.FILTER else self.term(node.body, inner)
            # Where one element cannot be evaluated, the whole list cannot.
            usable.append(z3.Implies(there, z3.Or(claim.true, claim.false)))
            usable.append(z3.Implies(z3.And(there, claim.true), kept.ok))
            made.append((z3.And(there, claim.true), kept))
        return msgspec.structs.replace(list_term(made), ok=z3.And(*usable), size=None)

    def size_of(self, node: CelCall, scope: Scope) -> Term:
        term = self.term(node.arguments[0], scope)
        sizes = []
        if term.text is not None:
            sizes.append((term.is_text, z3.ToReal(z3.Length(term.text))))
        if term.size is not None:
            sizes.append((term.is_list, z3.ToReal(term.size)))
        if not sizes:
            raise Hole("the size of something that was made up")
        number = sizes[0][1] if len(sizes) == 1 else z3.If(sizes[0][0], sizes[0][1], sizes[1][1])
        return Term(z3.And(term.ok, z3.Or(*(kind for kind, _ in sizes))), is_number=TRUE, number=number)

    def arithmetic(self, node: CelCall, scope: Scope) -> Term:
        terms = [self.term(part, scope) for part in node.arguments]
        if any(term.number is None for term in terms):
            if node.function == "_+_" and all(term.text is not None for term in terms):
                usable = z3.And(*(z3.And(term.ok, term.is_text) for term in terms))
                return Term(usable, is_text=TRUE, text=z3.Concat(terms[0].text, terms[1].text))
            raise Hole("computes with values that are no numbers")
        numbers = [term.number for term in terms]
        if node.function == "_*_" and not any(isinstance(part, CelLiteral) for part in node.arguments):
            raise Hole("multiplies two values")
        usable = z3.And(*(z3.And(term.ok, term.is_number) for term in terms))
        return Term(
            usable, is_number=TRUE, number=_ARITHMETIC[node.function](*numbers), kind=ValueKind.NUMBER
        )

    def calendar(self, node: CelCall, scope: Scope) -> Term:
        if not isinstance(node.arguments[0], CelName) or node.arguments[0].name != "now":
            raise Hole("a part of a time that is not now")
        zone = text_of(node.arguments[1]) if len(node.arguments) > 1 else "UTC"
        self._zones.add(zone)
        if len(self._zones) > 1:
            self.holes.setdefault("zones", "two time zones in one question")
        low, high = CALENDAR[node.function]
        value = z3.Int(f"now.{node.function}({zone})")
        self.facts.append(z3.And(value >= low, value <= high))
        name = f"now.{node.function}({zone})"
        self.terms[name] = Term(TRUE, is_number=TRUE, number=z3.ToReal(value), kind=ValueKind.NUMBER)
        return self.terms[name]

    def moment(self, node: CelCall, scope: Scope) -> Term:
        """A date or duration that is written out, in seconds."""
        value = node.arguments[0].value if isinstance(node.arguments[0], CelLiteral) else None
        if not isinstance(value, str):
            raise Hole(f"{node.function} of something that is not written out")
        self._zones.add("")
        if len(self._zones) > 1:
            self.holes.setdefault("zones", "a date and a part of the calendar in one question")
        seconds = z3.RealVal(repr(seconds_of(node.function, value)))
        return Term(TRUE, is_number=TRUE, number=seconds, kind=ValueKind.NUMBER)

    def index(self, node: CelCall, scope: Scope) -> Term:
        owner, key = node.arguments
        if isinstance(key, CelLiteral) and isinstance(key.value, str):
            return self.term(CelMember(owner, key.value, node.position), scope)
        raise Hole("picks by a position or a computed key")

    # --- holes -------------------------------------------------------------------------------------------

    def _hole_claim(self, node: CelNode, scope: Scope, why: str) -> Claim:
        key = (
            f"{self._prefix}hole {shape_of(node, {name: term.path or name for name, term in scope.items()})}"
        )
        self.holes.setdefault(key, why)
        true, ok = z3.Bool(key), z3.Bool(f"{key} ?")
        return Claim(z3.And(ok, true), z3.And(ok, z3.Not(true)))


def _is_question(node: CelNode) -> bool:
    match node:
        case CelCall():
            return node.function in _CLAIMS
        case CelLoop():
            return node.kind in (LoopKind.EXISTS, LoopKind.ALL)
    return isinstance(node, CelMember) and node.is_presence


_ORDERS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "_<_": lambda left, right: left < right,
    "_<=_": lambda left, right: left <= right,
    "_>_": lambda left, right: right < left,
    "_>=_": lambda left, right: right <= left,
}
_AFFIXES: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "startsWith": lambda whole, part: z3.PrefixOf(part, whole),
    "endsWith": lambda whole, part: z3.SuffixOf(part, whole),
    "contains": z3.Contains,
}
_ARITHMETIC: Final[Mapping[str, Callable[..., Any]]] = {
    "_+_": lambda left, right: left + right,
    "_-_": lambda left, right: left - right,
    "_*_": lambda left, right: left * right,
    "-_": lambda value: -value,
}
_CLAIMS: Final[Mapping[str, Callable[[Translator, CelCall, Scope], Claim]]] = {
    "_&&_": Translator.both,
    "_||_": Translator.either,
    "!_": Translator.negation,
    "_?_:_": Translator.choice,
    **dict.fromkeys(("_==_", "_!=_"), Translator.equality),
    **dict.fromkeys(_ORDERS, Translator.order),
    **dict.fromkeys(_AFFIXES, Translator.affix),
    "matches": Translator.pattern,
    "@in": Translator.membership,
}
_TERMS: Final[Mapping[str, Callable[[Translator, CelCall, Scope], Term]]] = {
    "size": Translator.size_of,
    **dict.fromkeys(_ARITHMETIC, Translator.arithmetic),
    **dict.fromkeys(CALENDAR, Translator.calendar),
    **dict.fromkeys(("timestamp", "duration"), Translator.moment),
    "_[_]": Translator.index,
}
