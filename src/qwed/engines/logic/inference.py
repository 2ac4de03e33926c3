"""What each name ranges over, found from how it is used."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from qwed.engines.logic.refusals import NotLogic, UndecidedLogic
from qwed.engines.logic.sorts import BOOL, INDIVIDUAL, INT, REAL, TEXT, Sort, read_sort
from qwed.engines.logic.syntax import (
    FunctionTerm,
    Name,
    Node,
    NumberTerm,
    OperatorTerm,
    Quantified,
    TextTerm,
    VariableTerm,
    walk,
)

# Functions everybody knows and this engine does not compute: leaving them uninterpreted would
# call `sin(0) = 5` satisfiable.
_KNOWN_ELSEWHERE: Final = frozenset(
    {
        *("sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "log", "ln", "log2", "log10", "exp"),
        *("floor", "ceil", "round", "gcd", "lcm", "sum", "prod", "len", "pow"),
    }
)


class UnknownSort:
    """A sort yet to be found; unified ones lead to a common one."""

    __slots__ = ("bound", "is_integral", "is_literal", "is_number", "is_real")

    def __init__(self, *, is_number: bool = False, is_literal: bool = False) -> None:
        self.bound: Type | None = None
        self.is_number = is_number
        self.is_integral = False
        self.is_real = False
        # A literal takes the sort of what it stands beside: 5 may be a bit vector, "red" a colour.
        self.is_literal = is_literal


class ArrayType(msgspec.Struct, frozen=True, eq=False):
    index: "Type"
    element: "Type"


class Signature(msgspec.Struct, frozen=True, eq=False):
    arguments: tuple["Type", ...]
    result: "Type"


Type = UnknownSort | Sort | ArrayType
Scope = Mapping[str, Type]

_NUMBER_SORTS: Final = frozenset({INT, REAL})
BOOL_SORT: Final = Sort(BOOL)
INT_SORT: Final = Sort(INT)
REAL_SORT: Final = Sort(REAL)
TEXT_SORT: Final = Sort(TEXT)
INDIVIDUAL_SORT: Final = Sort(INDIVIDUAL)


def is_bit_vector(sort: object) -> bool:
    return isinstance(sort, Sort) and isinstance(sort.term, tuple) and sort.term[0] == "_"


def find_type(sort: Type) -> Type:
    while isinstance(sort, UnknownSort) and sort.bound is not None:
        sort = sort.bound
    return sort


def name_of(sort: Type) -> str:
    match sort:
        case Sort(members=members) if members:
            return "one of " + ", ".join(members[:5])
        case Sort():
            return {BOOL: "a proposition", INT: "an integer", REAL: "a real"}.get(sort.text, sort.text)
        case ArrayType():
            return "an array"
    return "a number" if sort.is_number else "a thing"


def unify(left: Type, right: Type, where: str) -> None:
    left, right = find_type(left), find_type(right)
    if left is right:
        return
    if isinstance(right, UnknownSort) and not isinstance(left, UnknownSort):
        left, right = right, left
    if isinstance(left, UnknownSort):
        fits = _unify_unknown(left, right)
    elif isinstance(left, ArrayType) and isinstance(right, ArrayType):
        unify(left.index, right.index, where)
        unify(left.element, right.element, where)
        fits = True
    else:
        fits = isinstance(left, Sort) and isinstance(right, Sort) and _are_alike(left, right)
    if not fits:
        raise NotLogic(f"{where} mixes {name_of(left)} with {name_of(right)}")


def _are_alike(left: Sort, right: Sort) -> bool:
    return left.term == right.term or (left.term in _NUMBER_SORTS and right.term in _NUMBER_SORTS)


def _unify_unknown(left: UnknownSort, right: Type) -> bool:
    """Integers and reals stay apart, since a number may be either; everything else is one."""
    if isinstance(right, UnknownSort):
        if left.is_number or right.is_number:
            left.is_number = right.is_number = True
            left.is_literal = right.is_literal = left.is_literal and right.is_literal
            return True
        left.bound = right
        if left.is_literal != right.is_literal:
            right.bound = TEXT_SORT
        return True
    if isinstance(right, Sort) and right.term in _NUMBER_SORTS:
        left.is_number = True
        left.is_real = left.is_real or right.term == REAL
        return True
    if left.is_number and not (left.is_literal and is_bit_vector(right)):
        return False
    left.bound = right
    return True


class Inference:
    """Walks the formulas once and finds what everything ranges over."""

    def __init__(self, variables: Mapping[str, Sort]) -> None:
        self.enumerations: dict[tuple[str, ...], Sort] = {}
        self.constants: dict[str, Type] = {}
        self.functions: dict[str, Signature] = {}
        self.naturals: list[str] = []
        # By identity: the same variable name may be bound in two places with two sorts.
        self.bound: dict[int, tuple[Type, ...]] = {}
        self.texts: dict[int, UnknownSort] = {}
        for name, sort in variables.items():
            self.constants[name] = self.declared(sort)
            if sort.is_natural:
                self.naturals.append(name)
        self.members = {member for members in self.enumerations for member in members}

    def declared(self, sort: Sort) -> Type:
        if sort.members:
            return self.enumerations.setdefault(sort.members, sort)
        if isinstance(sort.term, tuple) and sort.term[0] == "Array":
            return ArrayType(Sort(sort.term[1]), Sort(sort.term[2]))
        return sort

    def expect(self, node: Node, sort: Type, scope: Scope) -> None:
        unify(self.infer(node, scope), sort, _show(node))

    def infer(self, node: Node, scope: Scope) -> Type:
        match node:
            case NumberTerm():
                return UnknownSort(is_number=True, is_literal=True)
            case TextTerm():
                return self._text(node)
            case Name():
                return self._name(node, scope)
            case FunctionTerm():
                return self._application(node, scope)
            case Quantified():
                return self._quantified(node, scope)
            case OperatorTerm():
                rule = _INFERENCE.get(node.operator)
                if rule is None:
                    raise NotLogic(f"no operator {node.operator!r}")
                return rule(self, node, scope)

    def _text(self, node: Node) -> Type:
        return self.texts.setdefault(id(node), UnknownSort(is_literal=True))

    def _name(self, node: Name, scope: Scope) -> Type:
        if node.text in scope:
            return scope[node.text]
        if node.text in self.functions:
            raise NotLogic(f"{node.text!r} is used with and without arguments")
        if node.text not in self.constants and node.text in self.members:
            return self._text(node)
        return self.constants.setdefault(node.text, UnknownSort())

    def _application(self, node: FunctionTerm, scope: Scope) -> Type:
        name = node.function
        if name.lower() in _KNOWN_ELSEWHERE:
            raise UndecidedLogic("unsupported", f"the function {name!r} is not decided here")
        if name in self.constants or name in scope:
            raise NotLogic(f"{name!r} is used with and without arguments")
        signature = self.functions.get(name)
        if signature is None:
            signature = Signature(tuple(UnknownSort() for _ in node.arguments), UnknownSort())
            self.functions[name] = signature
        if len(signature.arguments) != len(node.arguments) or not node.arguments:
            raise NotLogic(
                f"{name!r} is used with {len(node.arguments)} and {len(signature.arguments)} arguments"
            )
        for argument, sort in zip(node.arguments, signature.arguments, strict=True):
            self.expect(argument, sort, scope)
        return signature.result

    def _quantified(self, node: Quantified, scope: Scope) -> Type:
        sorts = tuple(self._variable(variable) for variable in node.variables)
        self.bound[id(node)] = sorts
        inner = {**scope, **{each.name: sort for each, sort in zip(node.variables, sorts, strict=True)}}
        for member in node.members or ():
            for sort in sorts:
                self.expect(member, sort, scope)
        self.expect(node.body, BOOL_SORT, inner)
        return BOOL_SORT

    def _variable(self, variable: VariableTerm) -> Type:
        if variable.sort is None:
            return UnknownSort()
        return self.declared(read_sort(variable.name, variable.sort))

    # Operators

    def logical(self, node: OperatorTerm, scope: Scope) -> Type:
        _count_operands(node)
        for operand in node.operands:
            self.expect(operand, BOOL_SORT, scope)
        return BOOL_SORT

    def transparent(self, node: OperatorTerm, scope: Scope) -> Type:
        return self.infer(node.operands[0], scope)

    def equality(self, node: OperatorTerm, scope: Scope) -> Type:
        _count_operands(node)
        self._all_alike(node, node.operands, scope)
        return BOOL_SORT

    def order(self, node: OperatorTerm, scope: Scope) -> Type:
        self.arithmetic(node, scope)
        return BOOL_SORT

    def arithmetic(self, node: OperatorTerm, scope: Scope) -> Type:
        _count_operands(node)
        return self._one_arithmetic(
            node, [find_type(self.infer(operand, scope)) for operand in node.operands]
        )

    def _one_arithmetic(self, node: OperatorTerm, sorts: list[Type]) -> Type:
        """All numbers, or all bit vectors of one width."""
        vectors = [sort for sort in sorts if is_bit_vector(sort)]
        if vectors:
            for sort in sorts:
                unify(sort, vectors[0], _show(node))
            return vectors[0]
        result = UnknownSort(is_number=True, is_literal=True)
        for sort in sorts:
            unify(sort, result, _show(node))
        return result

    def negative(self, node: OperatorTerm, scope: Scope) -> Type:
        """`-x`; before a proposition the sign means "not", as provers write it."""
        _count_operands(node)
        sort = find_type(self.infer(node.operands[0], scope))
        return BOOL_SORT if sort == BOOL_SORT else self._one_arithmetic(node, [sort])

    def power(self, node: OperatorTerm, scope: Scope) -> Type:
        """`x^2`; between propositions the sign means "either, not both"."""
        _count_operands(node)
        sorts = [find_type(self.infer(operand, scope)) for operand in node.operands]
        if all(sort == BOOL_SORT for sort in sorts):
            return BOOL_SORT
        return self._one_arithmetic(node, sorts)

    def division(self, node: OperatorTerm, scope: Scope) -> Type:
        sort = self.arithmetic(node, scope)
        if is_bit_vector(sort):
            return sort
        return REAL_SORT

    def integral(self, node: OperatorTerm, scope: Scope) -> Type:
        _count_operands(node)
        sorts = [find_type(self.infer(operand, scope)) for operand in node.operands]
        if any(map(is_bit_vector, sorts)):
            return self._one_arithmetic(node, sorts)
        for operand, sort in zip(node.operands, sorts, strict=True):
            unify(sort, INT_SORT, _show(node))
            self._mark_integral(operand, scope)
        return INT_SORT

    def _mark_integral(self, node: Node, scope: Scope) -> None:
        """`(x + 1) % 2` makes x an integer, even among reals."""
        for part in walk(node):
            match part:
                case Name(text=text):
                    sort = find_type(scope.get(text) or self.constants.get(text, INT_SORT))
                case FunctionTerm(function=function):
                    sort = find_type(self.functions[function].result)
                case _:
                    continue
            if isinstance(sort, UnknownSort) and sort.is_number:
                sort.is_integral = True

    def bitwise(self, node: OperatorTerm, scope: Scope) -> Type:
        _count_operands(node)
        sort = self._all_alike(node, node.operands, scope)
        if not is_bit_vector(sort) and sort != BOOL_SORT:
            raise NotLogic(f"{_show(node)} needs bit vectors: declare how many bits")
        return sort

    def choice(self, node: OperatorTerm, scope: Scope) -> Type:
        _count_operands(node)
        self.expect(node.operands[0], BOOL_SORT, scope)
        return self._all_alike(node, node.operands[1:], scope)

    def select(self, node: OperatorTerm, scope: Scope) -> Type:
        _count_operands(node)
        array, index = node.operands
        sort = self._array(array, scope)
        self.expect(index, sort.index, scope)
        return sort.element

    def store(self, node: OperatorTerm, scope: Scope) -> Type:
        _count_operands(node)
        array, index, value = node.operands
        sort = self._array(array, scope)
        self.expect(index, sort.index, scope)
        self.expect(value, sort.element, scope)
        return sort

    def _array(self, node: Node, scope: Scope) -> ArrayType:
        sort = find_type(self.infer(node, scope))
        if isinstance(sort, UnknownSort):
            unify(sort, ArrayType(UnknownSort(), UnknownSort()), _show(node))
            sort = find_type(sort)
        if not isinstance(sort, ArrayType):
            raise NotLogic(f"{_show(node)} is no array")
        return sort

    def _all_alike(self, node: OperatorTerm, operands: Sequence[Node], scope: Scope) -> Type:
        sorts = [self.infer(operand, scope) for operand in operands]
        for left, right in itertools.pairwise(sorts):
            unify(left, right, _show(node))
        return next(
            (sort for sort in map(find_type, sorts) if not isinstance(sort, UnknownSort)), find_type(sorts[0])
        )


def _show(node: Node) -> str:
    match node:
        case Name(text=text) | FunctionTerm(function=text):
            return repr(text)
        case OperatorTerm(operator=operator):
            return repr(operator)
        case NumberTerm(value=value):
            return str(value)
    return "a formula"


_OPERAND_COUNTS: Final = {
    "true": (0, 0),
    "false": (0, 0),
    "not": (1, 1),
    "group": (1, 1),
    "neg": (1, 1),
    "abs": (1, 1),
    "~": (1, 1),
    "ite": (3, 3),
    "select": (2, 2),
    "store": (3, 3),
    **dict.fromkeys(("and", "or", "+", "*", "min", "max", "distinct"), (1, 100_000)),
}


def _count_operands(node: OperatorTerm) -> None:
    least, most = _OPERAND_COUNTS.get(node.operator, (2, 2))
    if not least <= len(node.operands) <= most:
        raise NotLogic(f"{node.operator!r} does not take {len(node.operands)} operands")


_Infer = Callable[[Inference, OperatorTerm, Scope], Type]
_INFERENCE: Final[dict[str, _Infer]] = {
    **dict.fromkeys(
        ("and", "or", "not", "xor", "nand", "nor", "implies", "iff", "true", "false"), Inference.logical
    ),
    **dict.fromkeys(("=", "!=", "distinct"), Inference.equality),
    **dict.fromkeys(("<", "<=", ">", ">="), Inference.order),
    **dict.fromkeys(("+", "*", "abs", "min", "max"), Inference.arithmetic),
    **dict.fromkeys(("floordiv", "floormod", "div", "mod"), Inference.integral),
    **dict.fromkeys(("bitand", "bitor", "bitxor", "~", "<<", ">>"), Inference.bitwise),
    "group": Inference.transparent,
    "neg": Inference.negative,
    "**": Inference.power,
    "/": Inference.division,
    "ite": Inference.choice,
    "select": Inference.select,
    "store": Inference.store,
}
