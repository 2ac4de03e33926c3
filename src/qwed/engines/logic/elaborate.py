"""From what was written to what is meant: sorts are inferred, and everything becomes SMT-LIB.

Rules a reader can predict:

* A name used as a formula is a proposition, one compared with numbers a number, one given to a
  predicate alone an individual.
* Numbers nobody declared are integers, unless the text has a decimal point or a division: then
  they are reals (not those under `div`, `mod` or `%`).
* Dividing is only meant where it is defined: the divisor is assumed not to be zero, and the
  evidence says so.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Final

import msgspec

from qwed.engines.logic.problem import Problem
from qwed.engines.logic.refusals import NotLogic, Undecided
from qwed.engines.logic.sexpr import Sexpr, symbol
from qwed.engines.logic.sorts import BOOL, INDIVIDUAL, INT, REAL, TEXT, Sort, read_sort
from qwed.engines.logic.syntax import (
    Application,
    Name,
    Node,
    Number,
    Operation,
    Quantified,
    Text,
    Variable,
    walk,
)

MAX_EXPONENT: Final = 64

# Functions everybody knows and this engine does not compute: leaving them uninterpreted would
# call `sin(0) = 5` satisfiable.
_KNOWN_ELSEWHERE: Final = frozenset(
    {
        *("sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "log", "ln", "log2", "log10", "exp"),
        *("floor", "ceil", "round", "gcd", "lcm", "sum", "prod", "len", "pow"),
    }
)
_RESERVED: Final = frozenset(
    {
        *("and", "or", "not", "xor", "true", "false", "ite", "let", "forall", "exists", "distinct", "div"),
        *("mod", "abs", "select", "store", "as", "is", "par", "match", "assert", "Bool", "Int", "Real"),
        *("Array", "String", "to_real", "to_int", "is_int", "Individual", "Text", "BitVec", "RegLan"),
    }
)


class _Unknown:
    """A sort yet to be found; unified ones lead to a common one."""

    __slots__ = ("bound", "is_integral", "is_literal", "is_number", "is_real")

    def __init__(self, *, is_number: bool = False, is_literal: bool = False) -> None:
        self.bound: _Type | None = None
        self.is_number = is_number
        self.is_integral = False
        self.is_real = False
        # A literal takes the sort of what it stands beside: 5 may be a bit vector, "red" a colour.
        self.is_literal = is_literal


class _Array(msgspec.Struct, frozen=True, eq=False):
    index: "_Type"
    element: "_Type"


class _Signature(msgspec.Struct, frozen=True, eq=False):
    arguments: tuple["_Type", ...]
    result: "_Type"


_Type = _Unknown | Sort | _Array
_Scope = Mapping[str, _Type]

_NUMBER_SORTS: Final = frozenset({INT, REAL})
_BOOL_SORT: Final = Sort(BOOL)
_INT_SORT: Final = Sort(INT)
_REAL_SORT: Final = Sort(REAL)
_TEXT_SORT: Final = Sort(TEXT)
_INDIVIDUAL_SORT: Final = Sort(INDIVIDUAL)


def elaborate(
    premises: Sequence[Node], goals: Sequence[Node], variables: Mapping[str, Sort]
) -> tuple[Problem, tuple[Sexpr, ...], tuple[Sexpr, ...]]:
    """The setting, and the terms of premises and goals. Raises `Refusal`."""
    inference = _Inference(variables)
    for node in (*premises, *goals):
        inference.expect(node, _BOOL_SORT, {})
    writer = _Writer(inference, numbers_are_real=_has_reals((*premises, *goals)))
    premise_terms = tuple(writer.formula(node) for node in premises)
    goal_terms = tuple(writer.formula(node) for node in goals)
    return writer.problem(), premise_terms, goal_terms


def _has_reals(nodes: Iterable[Node]) -> bool:
    return any(
        (isinstance(part, Number) and part.is_decimal)
        or (isinstance(part, Operation) and part.operator == "/")
        for node in nodes
        for part in walk(node)
    )


def _is_bit_vector(sort: object) -> bool:
    return isinstance(sort, Sort) and isinstance(sort.term, tuple) and sort.term[0] == "_"


def _found(sort: _Type) -> _Type:
    while isinstance(sort, _Unknown) and sort.bound is not None:
        sort = sort.bound
    return sort


def _name_of(sort: _Type) -> str:
    match sort:
        case Sort(members=members) if members:
            return "one of " + ", ".join(members[:5])
        case Sort():
            return {BOOL: "a proposition", INT: "an integer", REAL: "a real"}.get(sort.text, sort.text)
        case _Array():
            return "an array"
    return "a number" if sort.is_number else "a thing"


def _unify(left: _Type, right: _Type, where: str) -> None:
    left, right = _found(left), _found(right)
    if left is right:
        return
    if isinstance(right, _Unknown) and not isinstance(left, _Unknown):
        left, right = right, left
    if isinstance(left, _Unknown):
        fits = _unify_unknown(left, right)
    elif isinstance(left, _Array) and isinstance(right, _Array):
        _unify(left.index, right.index, where)
        _unify(left.element, right.element, where)
        fits = True
    else:
        fits = isinstance(left, Sort) and isinstance(right, Sort) and _are_alike(left, right)
    if not fits:
        raise NotLogic(f"{where} mixes {_name_of(left)} with {_name_of(right)}")


def _are_alike(left: Sort, right: Sort) -> bool:
    return left.term == right.term or (left.term in _NUMBER_SORTS and right.term in _NUMBER_SORTS)


def _unify_unknown(left: _Unknown, right: _Type) -> bool:
    """Integers and reals stay apart, since a number may be either; everything else is one."""
    if isinstance(right, _Unknown):
        if left.is_number or right.is_number:
            left.is_number = right.is_number = True
            left.is_literal = right.is_literal = left.is_literal and right.is_literal
            return True
        left.bound = right
        if left.is_literal != right.is_literal:
            right.bound = _TEXT_SORT
        return True
    if isinstance(right, Sort) and right.term in _NUMBER_SORTS:
        left.is_number = True
        left.is_real = left.is_real or right.term == REAL
        return True
    if left.is_number and not (left.is_literal and _is_bit_vector(right)):
        return False
    left.bound = right
    return True


class _Inference:
    """Walks the formulas once and finds what everything ranges over."""

    def __init__(self, variables: Mapping[str, Sort]) -> None:
        self.enumerations: dict[tuple[str, ...], Sort] = {}
        self.constants: dict[str, _Type] = {}
        self.functions: dict[str, _Signature] = {}
        self.naturals: list[str] = []
        # By identity: the same variable name may be bound in two places with two sorts.
        self.bound: dict[int, tuple[_Type, ...]] = {}
        self.texts: dict[int, _Unknown] = {}
        for name, sort in variables.items():
            self.constants[name] = self.declared(sort)
            if sort.is_natural:
                self.naturals.append(name)
        self.members = {member for members in self.enumerations for member in members}

    def declared(self, sort: Sort) -> _Type:
        if sort.members:
            return self.enumerations.setdefault(sort.members, sort)
        if isinstance(sort.term, tuple) and sort.term[0] == "Array":
            return _Array(Sort(sort.term[1]), Sort(sort.term[2]))
        return sort

    def expect(self, node: Node, sort: _Type, scope: _Scope) -> None:
        _unify(self.infer(node, scope), sort, _shown(node))

    def infer(self, node: Node, scope: _Scope) -> _Type:
        match node:
            case Number():
                return _Unknown(is_number=True, is_literal=True)
            case Text():
                return self._text(node)
            case Name():
                return self._name(node, scope)
            case Application():
                return self._application(node, scope)
            case Quantified():
                return self._quantified(node, scope)
            case Operation():
                rule = _INFERENCE.get(node.operator)
                if rule is None:
                    raise NotLogic(f"no operator {node.operator!r}")
                return rule(self, node, scope)

    def _text(self, node: Node) -> _Type:
        return self.texts.setdefault(id(node), _Unknown(is_literal=True))

    def _name(self, node: Name, scope: _Scope) -> _Type:
        if node.text in scope:
            return scope[node.text]
        if node.text in self.functions:
            raise NotLogic(f"{node.text!r} is used with and without arguments")
        if node.text not in self.constants and node.text in self.members:
            return self._text(node)
        return self.constants.setdefault(node.text, _Unknown())

    def _application(self, node: Application, scope: _Scope) -> _Type:
        name = node.function
        if name.lower() in _KNOWN_ELSEWHERE:
            raise Undecided("unsupported", f"the function {name!r} is not decided here")
        if name in self.constants or name in scope:
            raise NotLogic(f"{name!r} is used with and without arguments")
        signature = self.functions.get(name)
        if signature is None:
            signature = _Signature(tuple(_Unknown() for _ in node.arguments), _Unknown())
            self.functions[name] = signature
        if len(signature.arguments) != len(node.arguments) or not node.arguments:
            raise NotLogic(
                f"{name!r} is used with {len(node.arguments)} and {len(signature.arguments)} arguments"
            )
        for argument, sort in zip(node.arguments, signature.arguments, strict=True):
            self.expect(argument, sort, scope)
        return signature.result

    def _quantified(self, node: Quantified, scope: _Scope) -> _Type:
        sorts = tuple(self._variable(variable) for variable in node.variables)
        self.bound[id(node)] = sorts
        inner = {**scope, **{each.name: sort for each, sort in zip(node.variables, sorts, strict=True)}}
        for member in node.members or ():
            for sort in sorts:
                self.expect(member, sort, scope)
        self.expect(node.body, _BOOL_SORT, inner)
        return _BOOL_SORT

    def _variable(self, variable: Variable) -> _Type:
        if variable.sort is None:
            return _Unknown()
        return self.declared(read_sort(variable.name, variable.sort))

    # Operators

    def logical(self, node: Operation, scope: _Scope) -> _Type:
        _count_operands(node)
        for operand in node.operands:
            self.expect(operand, _BOOL_SORT, scope)
        return _BOOL_SORT

    def transparent(self, node: Operation, scope: _Scope) -> _Type:
        return self.infer(node.operands[0], scope)

    def equality(self, node: Operation, scope: _Scope) -> _Type:
        _count_operands(node)
        self._all_alike(node, node.operands, scope)
        return _BOOL_SORT

    def order(self, node: Operation, scope: _Scope) -> _Type:
        self.arithmetic(node, scope)
        return _BOOL_SORT

    def arithmetic(self, node: Operation, scope: _Scope) -> _Type:
        _count_operands(node)
        return self._one_arithmetic(node, [_found(self.infer(operand, scope)) for operand in node.operands])

    def _one_arithmetic(self, node: Operation, sorts: list[_Type]) -> _Type:
        """All numbers, or all bit vectors of one width."""
        vectors = [sort for sort in sorts if _is_bit_vector(sort)]
        if vectors:
            for sort in sorts:
                _unify(sort, vectors[0], _shown(node))
            return vectors[0]
        result = _Unknown(is_number=True, is_literal=True)
        for sort in sorts:
            _unify(sort, result, _shown(node))
        return result

    def power(self, node: Operation, scope: _Scope) -> _Type:
        """`x^2`; between propositions the sign means "either, not both"."""
        _count_operands(node)
        sorts = [_found(self.infer(operand, scope)) for operand in node.operands]
        if all(sort == _BOOL_SORT for sort in sorts):
            return _BOOL_SORT
        return self._one_arithmetic(node, sorts)

    def division(self, node: Operation, scope: _Scope) -> _Type:
        sort = self.arithmetic(node, scope)
        if _is_bit_vector(sort):
            return sort
        return _REAL_SORT

    def integral(self, node: Operation, scope: _Scope) -> _Type:
        _count_operands(node)
        sorts = [_found(self.infer(operand, scope)) for operand in node.operands]
        if any(map(_is_bit_vector, sorts)):
            return self._one_arithmetic(node, sorts)
        for operand, sort in zip(node.operands, sorts, strict=True):
            _unify(sort, _INT_SORT, _shown(node))
            self._mark_integral(operand, scope)
        return _INT_SORT

    def _mark_integral(self, node: Node, scope: _Scope) -> None:
        """`(x + 1) % 2` makes x an integer, even among reals."""
        for part in walk(node):
            match part:
                case Name(text=text):
                    sort = _found(scope.get(text) or self.constants.get(text, _INT_SORT))
                case Application(function=function):
                    sort = _found(self.functions[function].result)
                case _:
                    continue
            if isinstance(sort, _Unknown) and sort.is_number:
                sort.is_integral = True

    def bitwise(self, node: Operation, scope: _Scope) -> _Type:
        _count_operands(node)
        sort = self._all_alike(node, node.operands, scope)
        if not _is_bit_vector(sort) and sort != _BOOL_SORT:
            raise NotLogic(f"{_shown(node)} needs bit vectors: declare how many bits")
        return sort

    def choice(self, node: Operation, scope: _Scope) -> _Type:
        _count_operands(node)
        self.expect(node.operands[0], _BOOL_SORT, scope)
        return self._all_alike(node, node.operands[1:], scope)

    def select(self, node: Operation, scope: _Scope) -> _Type:
        _count_operands(node)
        array, index = node.operands
        sort = self._array(array, scope)
        self.expect(index, sort.index, scope)
        return sort.element

    def store(self, node: Operation, scope: _Scope) -> _Type:
        _count_operands(node)
        array, index, value = node.operands
        sort = self._array(array, scope)
        self.expect(index, sort.index, scope)
        self.expect(value, sort.element, scope)
        return sort

    def _array(self, node: Node, scope: _Scope) -> _Array:
        sort = _found(self.infer(node, scope))
        if isinstance(sort, _Unknown):
            _unify(sort, _Array(_Unknown(), _Unknown()), _shown(node))
            sort = _found(sort)
        if not isinstance(sort, _Array):
            raise NotLogic(f"{_shown(node)} is no array")
        return sort

    def _all_alike(self, node: Operation, operands: Sequence[Node], scope: _Scope) -> _Type:
        sorts = [self.infer(operand, scope) for operand in operands]
        for left, right in itertools.pairwise(sorts):
            _unify(left, right, _shown(node))
        return next((sort for sort in map(_found, sorts) if not isinstance(sort, _Unknown)), _found(sorts[0]))


def _shown(node: Node) -> str:
    match node:
        case Name(text=text) | Application(function=text):
            return repr(text)
        case Operation(operator=operator):
            return repr(operator)
        case Number(value=value):
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


def _count_operands(node: Operation) -> None:
    least, most = _OPERAND_COUNTS.get(node.operator, (2, 2))
    if not least <= len(node.operands) <= most:
        raise NotLogic(f"{node.operator!r} does not take {len(node.operands)} operands")


_Infer = Callable[[_Inference, Operation, _Scope], _Type]
_INFERENCE: Final[dict[str, _Infer]] = {
    **dict.fromkeys(
        ("and", "or", "not", "xor", "nand", "nor", "implies", "iff", "true", "false"), _Inference.logical
    ),
    **dict.fromkeys(("=", "!=", "distinct"), _Inference.equality),
    **dict.fromkeys(("<", "<=", ">", ">="), _Inference.order),
    **dict.fromkeys(("+", "*", "neg", "abs", "min", "max"), _Inference.arithmetic),
    **dict.fromkeys(("floordiv", "floormod", "div", "mod"), _Inference.integral),
    **dict.fromkeys(("bitand", "bitor", "bitxor", "~", "<<", ">>"), _Inference.bitwise),
    "group": _Inference.transparent,
    "**": _Inference.power,
    "/": _Inference.division,
    "ite": _Inference.choice,
    "select": _Inference.select,
    "store": _Inference.store,
}

_Written = tuple[Sexpr, Sort]
_Symbols = Mapping[str, _Written]

_SAME_IN_SMTLIB: Final = {"and": "and", "or": "or", "not": "not", "xor": "xor", "implies": "=>", "iff": "="}
_VECTOR_ARITHMETIC: Final = {"+": "bvadd", "*": "bvmul", "neg": "bvneg"}
_VECTOR_ORDER: Final = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_VECTOR_BITWISE: Final = {"bitand": "bvand", "bitor": "bvor", "bitxor": "bvxor", "~": "bvnot", "<<": "bvshl"}
_BOOLEAN_BITWISE: Final = {"bitand": "and", "bitor": "or", "bitxor": "xor", "~": "not"}


class _Writer:
    """Writes the formulas in SMT-LIB once every sort is known."""

    def __init__(self, inference: _Inference, *, numbers_are_real: bool) -> None:
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
        return self._write(node, {}, _BOOL_SORT)[0]

    def problem(self) -> Problem:
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
        return Problem(
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

    def _signature(self, signature: _Signature) -> tuple[tuple[Sort, ...], Sort]:
        return tuple(map(self._sort, signature.arguments)), self._sort(signature.result)

    def _sort(self, sort: _Type) -> Sort:
        match _found(sort):
            case Sort() as known:
                return known
            case _Array(index=index, element=element):
                return Sort(("Array", self._sort(index).term, self._sort(element).term))
            case _Unknown(is_number=True, is_integral=integral, is_real=real):
                return _REAL_SORT if not integral and (real or self._numbers_are_real) else _INT_SORT
        return _INDIVIDUAL_SORT

    # Terms

    def _write(self, node: Node, scope: _Symbols, want: Sort | None = None) -> _Written:
        match node:
            case Number():
                return _literal(node, want)
            case Text(value=value):
                return self._text(node, value)
            case Name(text=text):
                known = scope.get(text) or self._constants.get(text)
                return self._text(node, text) if known is None else known
            case Application():
                return self._application(node, scope)
            case Quantified():
                return self._quantified(node, scope)
            case Operation():
                return _WRITING[node.operator](self, node, scope, want)

    def _text(self, node: Node, value: str) -> _Written:
        sort = self._sort(self._inference.texts[id(node)])
        if sort.members:
            if value not in sort.members:
                raise NotLogic(f"{value[:40]!r} is not one of {', '.join(sort.members[:8])}")
            return self._member(sort, value), sort
        if "|" in value or "\\" in value:
            raise NotLogic("a text may not hold | or a backslash")
        return self._texts.setdefault(value, f"|'{value}'|"), _TEXT_SORT

    def _application(self, node: Application, scope: _Symbols) -> _Written:
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
        body = self._as_sort(self._write(node.body, {**scope, **bound}), _BOOL_SORT)
        guards = [guard for term, sort in bound.values() for guard in self._guards(node, term, sort, scope)]
        if guards:
            connective = "=>" if node.quantifier == "forall" else "and"
            body = (connective, _conjunction(guards), body)
        return (node.quantifier, _bindings(bound), body), _BOOL_SORT

    def _unique(self, node: Quantified, scope: _Symbols) -> _Written:
        """One that satisfies the body, and whatever does is that one."""
        first, second = self._bound(node), self._bound(node, fresh=True)
        bodies = []
        for bound in (first, second):
            body = self._as_sort(self._write(node.body, {**scope, **bound}), _BOOL_SORT)
            guards = [
                guard for term, sort in bound.values() for guard in self._guards(node, term, sort, scope)
            ]
            bodies.append(_conjunction([*guards, body]))
        pairs = zip(first.values(), second.values(), strict=True)
        same = _conjunction([("=", left, right) for (left, _), (right, _) in pairs])
        only: Sexpr = ("forall", _bindings(second), ("=>", bodies[1], same))
        return ("exists", _bindings(first), ("and", bodies[0], only)), _BOOL_SORT

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

    def logical(self, node: Operation, scope: _Symbols, want: Sort | None) -> _Written:
        operands = [self._as_sort(self._write(each, scope), _BOOL_SORT) for each in node.operands]
        match node.operator:
            case "true" | "false":
                return node.operator, _BOOL_SORT
            case "nand":
                return ("not", ("and", *operands)), _BOOL_SORT
            case "nor":
                return ("not", ("or", *operands)), _BOOL_SORT
        return (_SAME_IN_SMTLIB[node.operator], *operands), _BOOL_SORT

    def transparent(self, node: Operation, scope: _Symbols, want: Sort | None) -> _Written:
        return self._write(node.operands[0], scope, want)

    def equality(self, node: Operation, scope: _Symbols, want: Sort | None) -> _Written:
        terms, _ = self._alike(node.operands, scope)
        if node.operator == "!=":
            return ("not", ("=", *terms)), _BOOL_SORT
        if node.operator == "distinct" and len(terms) == 1:
            return "true", _BOOL_SORT
        return (node.operator, *terms), _BOOL_SORT

    def order(self, node: Operation, scope: _Symbols, want: Sort | None) -> _Written:
        terms, sort = self._alike(node.operands, scope)
        if _is_bit_vector(sort):
            sign = "s" if sort.is_signed else "u"
            return (f"bv{sign}{_VECTOR_ORDER[node.operator]}", *terms), _BOOL_SORT
        return (node.operator, *terms), _BOOL_SORT

    def arithmetic(self, node: Operation, scope: _Symbols, want: Sort | None) -> _Written:
        terms, sort = self._alike(node.operands, scope, want)
        if node.operator == "neg":
            return _negated(terms[0], sort), sort
        if len(terms) == 1:
            return terms[0], sort
        operator = _VECTOR_ARITHMETIC[node.operator] if _is_bit_vector(sort) else node.operator
        return (operator, *terms), sort

    def absolute(self, node: Operation, scope: _Symbols, want: Sort | None) -> _Written:
        (term,), sort = self._alike(node.operands, scope, want)
        return ("ite", (_less(sort), term, _zero(sort)), _negated(term, sort), term), sort

    def extreme(self, node: Operation, scope: _Symbols, want: Sort | None) -> _Written:
        terms, sort = self._alike(node.operands, scope, want)
        best = terms[0]
        # Nesting would double the text with each operand.
        if len(terms) > 6:
            raise Undecided("size", f"{node.operator!r} of more than 6 operands")
        for term in terms[1:]:
            pair = (term, best) if node.operator == "min" else (best, term)
            best = ("ite", (_less(sort), *pair), term, best)
        return best, sort

    def power(self, node: Operation, scope: _Symbols, want: Sort | None) -> _Written:
        base, exponent = node.operands
        written, sort = self._write(base, scope, want)
        if sort == _BOOL_SORT:
            return ("xor", written, self._write(exponent, scope)[0]), _BOOL_SORT
        value = _ungrouped(exponent)
        if not isinstance(value, Number) or value.value.denominator != 1 or value.value < 0:
            raise Undecided("unsupported", "only powers with a whole, constant exponent are decided")
        if value.value > MAX_EXPONENT:
            raise Undecided("size", f"an exponent above {MAX_EXPONENT}")
        times = int(value.value)
        if times == 0:
            return _literal(Number(Fraction(1)), sort)
        operator = "bvmul" if _is_bit_vector(sort) else "*"
        return ((operator, *[written] * times) if times > 1 else written), sort

    def division(self, node: Operation, scope: _Symbols, want: Sort | None) -> _Written:
        (dividend, divisor), sort = self._alike(node.operands, scope, want)
        if _is_bit_vector(sort):
            self._must_be_defined(node.operands[1], divisor, sort, scope)
            return ("bvsdiv" if sort.is_signed else "bvudiv", dividend, divisor), sort
        dividend, divisor = (self._as_sort((term, sort), _REAL_SORT) for term in (dividend, divisor))
        self._must_be_defined(node.operands[1], divisor, _REAL_SORT, scope)
        return ("/", dividend, divisor), _REAL_SORT

    def integral(self, node: Operation, scope: _Symbols, want: Sort | None) -> _Written:
        (dividend, divisor), sort = self._alike(node.operands, scope, want)
        self._must_be_defined(node.operands[1], divisor, sort, scope)
        wants_quotient = node.operator in ("div", "floordiv")
        if _is_bit_vector(sort):
            sign = "s" if sort.is_signed else "u"
            return (f"bv{sign}{'div' if wants_quotient else 'rem'}", dividend, divisor), sort
        if sort.term != INT:
            raise NotLogic(f"{node.operator!r} is for integers")
        if node.operator in ("div", "mod"):
            return (node.operator, dividend, divisor), sort
        return _floored(dividend, divisor, wants_quotient=wants_quotient), sort

    def _must_be_defined(self, node: Node, divisor: Sexpr, sort: Sort, scope: _Symbols) -> None:
        value = _constant_value(node)
        if value == 0:
            raise NotLogic("a division by zero")
        if value is not None:
            return
        if any(isinstance(part, Name) and part.text in scope for part in walk(node)):
            raise Undecided("unsupported", "a division by what a quantifier binds is not decided")
        condition: Sexpr = ("not", ("=", divisor, _zero(sort)))
        if condition not in self._definedness:
            self._definedness.append(condition)

    def bitwise(self, node: Operation, scope: _Symbols, want: Sort | None) -> _Written:
        terms, sort = self._alike(node.operands, scope, want)
        if sort == _BOOL_SORT:
            return (_BOOLEAN_BITWISE[node.operator], *terms), sort
        if node.operator == ">>":
            return ("bvashr" if sort.is_signed else "bvlshr", *terms), sort
        return (_VECTOR_BITWISE[node.operator], *terms), sort

    def choice(self, node: Operation, scope: _Symbols, want: Sort | None) -> _Written:
        condition = self._as_sort(self._write(node.operands[0], scope), _BOOL_SORT)
        terms, sort = self._alike(node.operands[1:], scope, want)
        return ("ite", condition, *terms), sort

    def select(self, node: Operation, scope: _Symbols, want: Sort | None) -> _Written:
        array, sort = self._write(node.operands[0], scope)
        index_sort, element_sort = _array_parts(sort)
        index = self._as_sort(self._write(node.operands[1], scope, index_sort), index_sort)
        return ("select", array, index), element_sort

    def store(self, node: Operation, scope: _Symbols, want: Sort | None) -> _Written:
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
        vector = next((sort for sort in sorts if _is_bit_vector(sort)), None)
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
        raise NotLogic(f"{_name_of(sort)} stands where {_name_of(want)} is needed")


_Write = Callable[[_Writer, Operation, _Symbols, Sort | None], _Written]
_WRITING: Final[dict[str, _Write]] = {
    **dict.fromkeys(
        ("and", "or", "not", "xor", "nand", "nor", "implies", "iff", "true", "false"), _Writer.logical
    ),
    **dict.fromkeys(("=", "!=", "distinct"), _Writer.equality),
    **dict.fromkeys(("<", "<=", ">", ">="), _Writer.order),
    **dict.fromkeys(("+", "*", "neg"), _Writer.arithmetic),
    **dict.fromkeys(("min", "max"), _Writer.extreme),
    **dict.fromkeys(("floordiv", "floormod", "div", "mod"), _Writer.integral),
    **dict.fromkeys(("bitand", "bitor", "bitxor", "~", "<<", ">>"), _Writer.bitwise),
    "abs": _Writer.absolute,
    "group": _Writer.transparent,
    "**": _Writer.power,
    "/": _Writer.division,
    "ite": _Writer.choice,
    "select": _Writer.select,
    "store": _Writer.store,
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


def _ungrouped(node: Node) -> Node:
    while isinstance(node, Operation) and node.operator == "group":
        node = node.operands[0]
    return node


def _constant_value(node: Node) -> Fraction | None:
    node = _ungrouped(node)
    if isinstance(node, Operation) and node.operator == "neg":
        inner = _constant_value(node.operands[0])
        return None if inner is None else -inner
    return node.value if isinstance(node, Number) else None


def _literal(number: Number, want: Sort | None) -> _Written:
    value = number.value
    if want is not None and _is_bit_vector(want):
        return _vector_literal(value, want)
    if (want is not None and want.term == REAL) or number.is_decimal:
        if value.denominator == 1:
            return f"{value.numerator}.0", _REAL_SORT
        return ("/", f"{value.numerator}.0", f"{value.denominator}.0"), _REAL_SORT
    return str(value.numerator), _INT_SORT


def _vector_literal(value: Fraction, sort: Sort) -> _Written:
    width = int(sort.term[2])  # type: ignore[arg-type]
    if value.denominator != 1 or not -(2 ** (width - 1)) <= value < 2**width:
        raise NotLogic(f"{value} does not fit into {width} bits")
    return ("_", f"bv{int(value) % 2**width}", str(width)), sort


def _zero(sort: Sort) -> Sexpr:
    return _literal(Number(Fraction(0)), sort)[0]


def _less(sort: Sort) -> str:
    if _is_bit_vector(sort):
        return "bvslt" if sort.is_signed else "bvult"
    return "<"


def _negated(term: Sexpr, sort: Sort) -> Sexpr:
    return ("bvneg" if _is_bit_vector(sort) else "-", term)


def _floored(dividend: Sexpr, divisor: Sexpr, *, wants_quotient: bool) -> Sexpr:
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
