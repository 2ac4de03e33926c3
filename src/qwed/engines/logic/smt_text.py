"""Formulas in SMT-LIB, once every sort is known."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Final

from qwed.engines.logic.inference import (
    BOOL_SORT,
    INDIVIDUAL_SORT,
    INT_SORT,
    REAL_SORT,
    TEXT_SORT,
    ArrayType,
    Inference,
    Signature,
    Type,
    UnknownSort,
    find_type,
    is_bit_vector,
    name_of,
)
from qwed.engines.logic.problem import LogicProblem
from qwed.engines.logic.refusals import NotLogic, UndecidedLogic
from qwed.engines.logic.sexpr import Sexpr, symbol
from qwed.engines.logic.sorts import BOOL, INT, REAL, TEXT, Sort
from qwed.engines.logic.syntax import (
    FunctionTerm,
    Name,
    Node,
    NumberTerm,
    OperatorTerm,
    Quantified,
    TextTerm,
    walk,
)

MAX_EXPONENT: Final = 64

_RESERVED: Final = frozenset(
    {
        *("and", "or", "not", "xor", "true", "false", "ite", "let", "forall", "exists", "distinct", "div"),
        *("mod", "abs", "select", "store", "as", "is", "par", "match", "assert", "Bool", "Int", "Real"),
        *("Array", "String", "to_real", "to_int", "is_int", "Individual", "Text", "BitVec", "RegLan"),
        *("iff", "lambda", "root-obj"),
    }
)


_Written = tuple[Sexpr, Sort]
_Symbols = Mapping[str, _Written]

_SAME_IN_SMTLIB: Final = {"and": "and", "or": "or", "not": "not", "xor": "xor", "implies": "=>", "iff": "="}
_VECTOR_ARITHMETIC: Final = {"+": "bvadd", "*": "bvmul", "neg": "bvneg"}
_VECTOR_ORDER: Final = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_VECTOR_BITWISE: Final = {"bitand": "bvand", "bitor": "bvor", "bitxor": "bvxor", "~": "bvnot", "<<": "bvshl"}
_BOOLEAN_BITWISE: Final = {"bitand": "and", "bitor": "or", "bitxor": "xor", "~": "not"}


class Writer:
    """Writes the formulas in SMT-LIB once every sort is known."""

    def __init__(self, inference: Inference, *, numbers_are_real: bool) -> None:
        self._inference = inference
        self._numbers_are_real = numbers_are_real
        self._definedness: list[Sexpr] = []
        self._texts: dict[str, str] = {}
        self._uses_quantifiers = False
        self._fresh = 0
        self._constants: _Symbols = {
            name: (_symbol(name), self._sort(sort)) for name, sort in inference.constants.items()
        }

    def formula(self, node: Node) -> Sexpr:
        return self._write(node, {}, BOOL_SORT)[0]

    def problem(self) -> LogicProblem:
        functions = {name: self._signature(each) for name, each in self._inference.functions.items()}
        used = [sort for _, sort in self._constants.values()]
        used += [sort for arguments, result in functions.values() for sort in (*arguments, result)]
        declarations: list[Sexpr] = [*self._sort_declarations(used)]
        declarations += [("declare-const", term, sort.term) for term, sort in self._constants.values()]
        declarations += [("declare-const", text, TEXT) for text in self._texts.values()]
        declarations += [
            ("declare-fun", _symbol(name), tuple(each.term for each in arguments), result.term)
            for name, (arguments, result) in functions.items()
        ]
        return LogicProblem(
            declarations=tuple(declarations),
            axioms=tuple(self._axioms()),
            definedness=tuple(self._definedness),
            sorts={name: sort.term for name, (_, sort) in self._constants.items()},
            is_first_order=self._uses_quantifiers or bool(functions),
        )

    def _axioms(self) -> Iterable[Sexpr]:
        for name in self._inference.naturals:
            yield (">=", _symbol(name), "0")
        if len(self._texts) > 1:
            yield ("distinct", *self._texts.values())

    def _sort_declarations(self, used: list[Sort]) -> Iterable[Sexpr]:
        # A bound variable may be the only thing of its sort.
        used = [*used, *(self._sort(sort) for sorts in self._inference.bound.values() for sort in sorts)]
        names = {part for sort in used for part in _plain_parts(sort.term)}
        if self._texts:
            names.add(TEXT)
        enumerations = {sort.term: sort for sort in self._inference.enumerations.values()}
        for name in sorted(names - {BOOL, INT, REAL} - set(enumerations)):
            yield ("declare-sort", name, "0")
        for sort in self._inference.enumerations.values():
            constructors = tuple((self._member(sort, member),) for member in sort.members)
            yield ("declare-datatypes", ((sort.term, "0"),), (constructors,))

    def _member(self, sort: Sort, member: str) -> str:
        """Members of two sorts may share a name, and so may a member and a variable."""
        owners = sum(member in members for members in self._inference.enumerations)
        taken = owners > 1 or member in self._constants or member in _RESERVED
        return _symbol(f"{sort.text.strip('|')}.{member}" if taken else member)

    def _signature(self, signature: Signature) -> tuple[tuple[Sort, ...], Sort]:
        return tuple(map(self._sort, signature.arguments)), self._sort(signature.result)

    def _sort(self, sort: Type) -> Sort:
        match find_type(sort):
            case Sort() as known:
                return known
            case ArrayType(index=index, element=element):
                return Sort(("Array", self._sort(index).term, self._sort(element).term))
            case UnknownSort(is_number=True, is_integral=integral, is_real=real):
                return REAL_SORT if not integral and (real or self._numbers_are_real) else INT_SORT
        return INDIVIDUAL_SORT

    # Terms

    def _write(self, node: Node, scope: _Symbols, want: Sort | None = None) -> _Written:
        match node:
            case NumberTerm():
                return _literal(node, want)
            case TextTerm(value=value):
                return self._text(node, value)
            case Name(text=text):
                known = scope.get(text) or self._constants.get(text)
                return self._text(node, text) if known is None else known
            case FunctionTerm():
                return self._application(node, scope)
            case Quantified():
                return self._quantified(node, scope)
            case OperatorTerm():
                return _WRITING[node.operator](self, node, scope, want)

    def _text(self, node: Node, value: str) -> _Written:
        sort = self._sort(self._inference.texts[id(node)])
        if sort.members:
            if value not in sort.members:
                raise NotLogic(f"{value[:40]!r} is not one of {', '.join(sort.members[:8])}")
            return self._member(sort, value), sort
        if "|" in value or "\\" in value:
            raise NotLogic("a text may not hold | or a backslash")
        return self._texts.setdefault(value, f"|'{value}'|"), TEXT_SORT

    def _application(self, node: FunctionTerm, scope: _Symbols) -> _Written:
        wanted, result = self._signature(self._inference.functions[node.function])
        arguments = [
            self._as_sort(self._write(argument, scope, sort), sort)
            for argument, sort in zip(node.arguments, wanted, strict=True)
        ]
        return (_symbol(node.function), *arguments), result

    def _quantified(self, node: Quantified, scope: _Symbols) -> _Written:
        self._uses_quantifiers = True
        if node.quantifier == "unique":
            return self._unique(node, scope)
        bound = self._bound(node)
        body = self._as_sort(self._write(node.body, {**scope, **bound}), BOOL_SORT)
        guards = [guard for term, sort in bound.values() for guard in self._guards(node, term, sort, scope)]
        if guards:
            connective = "=>" if node.quantifier == "forall" else "and"
            body = (connective, _conjunction(guards), body)
        return (node.quantifier, _bindings(bound), body), BOOL_SORT

    def _unique(self, node: Quantified, scope: _Symbols) -> _Written:
        """One that satisfies the body, and whatever does is that one."""
        first, second = self._bound(node), self._bound(node, fresh=True)
        bodies = []
        for bound in (first, second):
            body = self._as_sort(self._write(node.body, {**scope, **bound}), BOOL_SORT)
            guards = [
                guard for term, sort in bound.values() for guard in self._guards(node, term, sort, scope)
            ]
            bodies.append(_conjunction([*guards, body]))
        pairs = zip(first.values(), second.values(), strict=True)
        same = _conjunction([("=", left, right) for (left, _), (right, _) in pairs])
        only: Sexpr = ("forall", _bindings(second), ("=>", bodies[1], same))
        return ("exists", _bindings(first), ("and", bodies[0], only)), BOOL_SORT

    def _bound(self, node: Quantified, *, fresh: bool = False) -> dict[str, _Written]:
        sorts = map(self._sort, self._inference.bound[id(node)])
        bound: dict[str, _Written] = {}
        for variable, sort in zip(node.variables, sorts, strict=True):
            self._fresh += fresh
            bound[variable.name] = (
                _symbol(f"{variable.name}!{self._fresh}" if fresh else variable.name),
                sort,
            )
        return bound

    def _guards(self, node: Quantified, term: Sexpr, sort: Sort, scope: _Symbols) -> Iterable[Sexpr]:
        if sort.is_natural:
            yield (">=", term, "0")
        if node.members is not None:
            members = [self._as_sort(self._write(member, scope, sort), sort) for member in node.members]
            yield ("or", *(("=", term, member) for member in members)) if members else "false"

    def logical(self, node: OperatorTerm, scope: _Symbols, want: Sort | None) -> _Written:
        operands = [self._as_sort(self._write(each, scope), BOOL_SORT) for each in node.operands]
        match node.operator:
            case "true" | "false":
                return node.operator, BOOL_SORT
            case "nand":
                return ("not", ("and", *operands)), BOOL_SORT
            case "nor":
                return ("not", ("or", *operands)), BOOL_SORT
        return (_SAME_IN_SMTLIB[node.operator], *operands), BOOL_SORT

    def transparent(self, node: OperatorTerm, scope: _Symbols, want: Sort | None) -> _Written:
        return self._write(node.operands[0], scope, want)

    def equality(self, node: OperatorTerm, scope: _Symbols, want: Sort | None) -> _Written:
        terms, _ = self._alike(node.operands, scope)
        if node.operator == "!=":
            return ("not", ("=", *terms)), BOOL_SORT
        if node.operator == "distinct" and len(terms) == 1:
            return "true", BOOL_SORT
        return (node.operator, *terms), BOOL_SORT

    def order(self, node: OperatorTerm, scope: _Symbols, want: Sort | None) -> _Written:
        terms, sort = self._alike(node.operands, scope)
        if is_bit_vector(sort):
            sign = "s" if sort.is_signed else "u"
            return (f"bv{sign}{_VECTOR_ORDER[node.operator]}", *terms), BOOL_SORT
        return (node.operator, *terms), BOOL_SORT

    def arithmetic(self, node: OperatorTerm, scope: _Symbols, want: Sort | None) -> _Written:
        terms, sort = self._alike(node.operands, scope, want)
        if node.operator == "neg":
            return _negate(terms[0], sort), sort
        if len(terms) == 1:
            return terms[0], sort
        operator = _VECTOR_ARITHMETIC[node.operator] if is_bit_vector(sort) else node.operator
        return (operator, *terms), sort

    def absolute(self, node: OperatorTerm, scope: _Symbols, want: Sort | None) -> _Written:
        (term,), sort = self._alike(node.operands, scope, want)
        return ("ite", (_less(sort), term, _zero(sort)), _negate(term, sort), term), sort

    def extreme(self, node: OperatorTerm, scope: _Symbols, want: Sort | None) -> _Written:
        terms, sort = self._alike(node.operands, scope, want)
        best = terms[0]
        # Nesting would double the text with each operand.
        if len(terms) > 6:
            raise UndecidedLogic("size", f"{node.operator!r} of more than 6 operands")
        for term in terms[1:]:
            pair = (term, best) if node.operator == "min" else (best, term)
            best = ("ite", (_less(sort), *pair), term, best)
        return best, sort

    def power(self, node: OperatorTerm, scope: _Symbols, want: Sort | None) -> _Written:
        base, exponent = node.operands
        written, sort = self._write(base, scope, want)
        if sort == BOOL_SORT:
            return ("xor", written, self._write(exponent, scope)[0]), BOOL_SORT
        value = _ungroup(exponent)
        if not isinstance(value, NumberTerm) or value.value.denominator != 1 or value.value < 0:
            raise UndecidedLogic("unsupported", "only powers with a whole, constant exponent are decided")
        if value.value > MAX_EXPONENT:
            raise UndecidedLogic("size", f"an exponent above {MAX_EXPONENT}")
        times = int(value.value)
        if times == 0:
            return _literal(NumberTerm(Fraction(1)), sort)
        operator = "bvmul" if is_bit_vector(sort) else "*"
        return ((operator, *[written] * times) if times > 1 else written), sort

    def division(self, node: OperatorTerm, scope: _Symbols, want: Sort | None) -> _Written:
        (dividend, divisor), sort = self._alike(node.operands, scope, want)
        if is_bit_vector(sort):
            self._must_be_defined(node.operands[1], divisor, sort, scope)
            return ("bvsdiv" if sort.is_signed else "bvudiv", dividend, divisor), sort
        dividend, divisor = (self._as_sort((term, sort), REAL_SORT) for term in (dividend, divisor))
        self._must_be_defined(node.operands[1], divisor, REAL_SORT, scope)
        return ("/", dividend, divisor), REAL_SORT

    def integral(self, node: OperatorTerm, scope: _Symbols, want: Sort | None) -> _Written:
        (dividend, divisor), sort = self._alike(node.operands, scope, want)
        self._must_be_defined(node.operands[1], divisor, sort, scope)
        wants_quotient = node.operator in ("div", "floordiv")
        if is_bit_vector(sort):
            sign = "s" if sort.is_signed else "u"
            return (f"bv{sign}{'div' if wants_quotient else 'rem'}", dividend, divisor), sort
        if sort.term != INT:
            raise NotLogic(f"{node.operator!r} is for integers")
        if node.operator in ("div", "mod"):
            return (node.operator, dividend, divisor), sort
        return _floor(dividend, divisor, wants_quotient=wants_quotient), sort

    def _must_be_defined(self, node: Node, divisor: Sexpr, sort: Sort, scope: _Symbols) -> None:
        value = _constant_value(node)
        if value == 0:
            raise NotLogic("a division by zero")
        if value is not None:
            return
        if any(isinstance(part, Name) and part.text in scope for part in walk(node)):
            raise UndecidedLogic("unsupported", "a division by what a quantifier binds is not decided")
        condition: Sexpr = ("not", ("=", divisor, _zero(sort)))
        if condition not in self._definedness:
            self._definedness.append(condition)

    def bitwise(self, node: OperatorTerm, scope: _Symbols, want: Sort | None) -> _Written:
        terms, sort = self._alike(node.operands, scope, want)
        if sort == BOOL_SORT:
            return (_BOOLEAN_BITWISE[node.operator], *terms), sort
        if node.operator == ">>":
            return ("bvashr" if sort.is_signed else "bvlshr", *terms), sort
        return (_VECTOR_BITWISE[node.operator], *terms), sort

    def choice(self, node: OperatorTerm, scope: _Symbols, want: Sort | None) -> _Written:
        condition = self._as_sort(self._write(node.operands[0], scope), BOOL_SORT)
        terms, sort = self._alike(node.operands[1:], scope, want)
        return ("ite", condition, *terms), sort

    def select(self, node: OperatorTerm, scope: _Symbols, want: Sort | None) -> _Written:
        array, sort = self._write(node.operands[0], scope)
        index_sort, element_sort = _array_parts(sort)
        index = self._as_sort(self._write(node.operands[1], scope, index_sort), index_sort)
        return ("select", array, index), element_sort

    def store(self, node: OperatorTerm, scope: _Symbols, want: Sort | None) -> _Written:
        array, sort = self._write(node.operands[0], scope)
        index_sort, element_sort = _array_parts(sort)
        index = self._as_sort(self._write(node.operands[1], scope, index_sort), index_sort)
        value = self._as_sort(self._write(node.operands[2], scope, element_sort), element_sort)
        return ("store", array, index, value), sort

    def _alike(
        self, operands: Sequence[Node], scope: _Symbols, want: Sort | None = None
    ) -> tuple[list[Sexpr], Sort]:
        """The terms, and the one sort they were brought to."""
        written = [self._write(each, scope, want) for each in operands]
        sorts = [sort for _, sort in written]
        vector = next((sort for sort in sorts if is_bit_vector(sort)), None)
        common = vector or next((sort for sort in sorts if sort.term == REAL), sorts[0])
        if vector is not None:
            # Literals were written as integers before the width was known.
            written = [
                pair if pair[1].term == vector.term else self._write(each, scope, vector)
                for each, pair in zip(operands, written, strict=True)
            ]
        return [self._as_sort(pair, common) for pair in written], common

    def _as_sort(self, written: _Written, want: Sort) -> Sexpr:
        term, sort = written
        if sort.term == want.term:
            return term
        if sort.term == INT and want.term == REAL:
            return f"{term}.0" if isinstance(term, str) and term.isdigit() else ("to_real", term)
        raise NotLogic(f"{name_of(sort)} stands where {name_of(want)} is needed")


_Write = Callable[[Writer, OperatorTerm, _Symbols, Sort | None], _Written]
_WRITING: Final[dict[str, _Write]] = {
    **dict.fromkeys(
        ("and", "or", "not", "xor", "nand", "nor", "implies", "iff", "true", "false"), Writer.logical
    ),
    **dict.fromkeys(("=", "!=", "distinct"), Writer.equality),
    **dict.fromkeys(("<", "<=", ">", ">="), Writer.order),
    **dict.fromkeys(("+", "*", "neg"), Writer.arithmetic),
    **dict.fromkeys(("min", "max"), Writer.extreme),
    **dict.fromkeys(("floordiv", "floormod", "div", "mod"), Writer.integral),
    **dict.fromkeys(("bitand", "bitor", "bitxor", "~", "<<", ">>"), Writer.bitwise),
    "abs": Writer.absolute,
    "group": Writer.transparent,
    "**": Writer.power,
    "/": Writer.division,
    "ite": Writer.choice,
    "select": Writer.select,
    "store": Writer.store,
}


def _symbol(name: str) -> str:
    return symbol(f"{name}!" if name in _RESERVED else name)


def _plain_parts(term: Sexpr) -> Iterable[str]:
    """The named sorts within a sort: of `(Array Int Colour)`, `Int` and `Colour`."""
    if isinstance(term, str):
        yield term
    elif term[0] == "Array":
        for part in term[1:]:
            yield from _plain_parts(part)


def _array_parts(sort: Sort) -> tuple[Sort, Sort]:
    assert isinstance(sort.term, tuple)
    return Sort(sort.term[1]), Sort(sort.term[2])


def _bindings(bound: Mapping[str, _Written]) -> Sexpr:
    return tuple((term, sort.term) for term, sort in bound.values())


def _conjunction(terms: Sequence[Sexpr]) -> Sexpr:
    return terms[0] if len(terms) == 1 else ("and", *terms)


def _ungroup(node: Node) -> Node:
    while isinstance(node, OperatorTerm) and node.operator == "group":
        node = node.operands[0]
    return node


def _constant_value(node: Node) -> Fraction | None:
    node = _ungroup(node)
    if isinstance(node, OperatorTerm) and node.operator == "neg":
        inner = _constant_value(node.operands[0])
        return None if inner is None else -inner
    return node.value if isinstance(node, NumberTerm) else None


def _literal(number: NumberTerm, want: Sort | None) -> _Written:
    value = number.value
    if want is not None and is_bit_vector(want):
        return _vector_literal(value, want)
    if (want is not None and want.term == REAL) or number.is_decimal:
        if value.denominator == 1:
            return f"{value.numerator}.0", REAL_SORT
        return ("/", f"{value.numerator}.0", f"{value.denominator}.0"), REAL_SORT
    return str(value.numerator), INT_SORT


def _vector_literal(value: Fraction, sort: Sort) -> _Written:
    width = int(sort.term[2])  # type: ignore[arg-type]
    if value.denominator != 1 or not -(2 ** (width - 1)) <= value < 2**width:
        raise NotLogic(f"{value} does not fit into {width} bits")
    return ("_", f"bv{int(value) % 2**width}", str(width)), sort


def _zero(sort: Sort) -> Sexpr:
    return _literal(NumberTerm(Fraction(0)), sort)[0]


def _less(sort: Sort) -> str:
    if is_bit_vector(sort):
        return "bvslt" if sort.is_signed else "bvult"
    return "<"


def _negate(term: Sexpr, sort: Sort) -> Sexpr:
    if sort == BOOL_SORT:
        return ("not", term)
    return ("bvneg" if is_bit_vector(sort) else "-", term)


def _floor(dividend: Sexpr, divisor: Sexpr, *, wants_quotient: bool) -> Sexpr:
    """Division that rounds down; SMT-LIB's own does so for positive divisors only."""
    if wants_quotient:
        positive: Sexpr = ("div", dividend, divisor)
        negative: Sexpr = ("div", ("-", dividend), ("-", divisor))
    else:
        positive = ("mod", dividend, divisor)
        negative = ("-", ("mod", ("-", dividend), ("-", divisor)))
    if isinstance(divisor, str) and divisor.isdigit():
        return positive
    return ("ite", (">", divisor, "0"), positive, negative)
