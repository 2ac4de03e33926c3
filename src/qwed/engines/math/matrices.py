"""Matrices and vectors of rational numbers, exactly."""

from fractions import Fraction
from typing import Final

from qwed.engines.math import exact
from qwed.engines.math.algebra import AlgebraVerdict
from qwed.engines.math.nodes import Brackets, FunctionCall, Negation, Node, Power, Product, Sum, walk
from qwed.engines.math.problems import MalformedMath, NotRational, UndecidedMath, Undefined
from qwed.engines.math.ratios import reduce_ratio
from qwed.engines.math.values import exact_text

Matrix = tuple[tuple[Fraction, ...], ...]
Value = Fraction | Matrix

_MAX_SIZE: Final = 12
_MAX_POWER: Final = 200


def has_rows(node: Node) -> bool:
    return any(isinstance(part, Brackets) for part in walk(node))


def text(node: Node) -> str:
    return _text(evaluate(node))


def compare(left: Node, relation: str, right: Node) -> AlgebraVerdict:
    first, second = evaluate(left), evaluate(right)
    note = {"left": _text(first), "relation": relation, "right": _text(second), "how": "exactly"}
    if relation not in ("=", "≈", "!="):
        raise UndecidedMath("matrices have no order")
    if (_plain(first) == _plain(second)) == (relation != "!="):
        return AlgebraVerdict(True, "holds", note)
    if relation == "!=":
        return AlgebraVerdict(False, "the two sides are equal", note)
    if relation == "≈" or _rounds(first, second):
        raise UndecidedMath("the entries differ by rounding")
    if isinstance(left, Brackets) and not isinstance(right, Brackets):
        return AlgebraVerdict(False, "the two sides differ", note, _text(second), 0)
    return AlgebraVerdict(False, "the two sides differ", note, _text(first))


def _rounds(first: Value, second: Value) -> bool:
    """The claimed entries are near the true ones, as if rounded to two or more decimals."""
    one, two = _plain(first), _plain(second)
    if isinstance(one, Fraction) or isinstance(two, Fraction):
        return False
    if len(one) != len(two) or len(one[0]) != len(two[0]):
        return False
    pairs = [(a, b) for row, other in zip(one, two, strict=True) for a, b in zip(row, other, strict=True)]
    return all(abs(a - b) <= Fraction(5, 1000) for a, b in pairs)


def _plain(value: Value) -> Value:
    """A 1x1 matrix is its entry; a vector is a row."""
    if isinstance(value, tuple) and len(value) == 1 and len(value[0]) == 1:
        return value[0][0]
    return value


def _text(value: Value) -> str:
    if isinstance(value, Fraction):
        return exact_text((value.numerator, value.denominator))
    rows = ["[" + ", ".join(exact_text((v.numerator, v.denominator)) for v in row) + "]" for row in value]
    return rows[0] if len(rows) == 1 else "[" + ", ".join(rows) + "]"


def evaluate(node: Node) -> Value:
    match node:
        case Brackets():
            return _matrix(node)
        case Sum():
            return _sum(node)
        case Product():
            return _product(node)
        case Negation():
            return _scale(evaluate(node.operand), Fraction(-1))
        case Power() if has_rows(node.base):
            return _power(evaluate(node.base), node.exponent)
        case FunctionCall() if has_rows(node):
            return _call(node)
    try:
        return Fraction(*exact.evaluate(node))
    except NotRational:
        raise UndecidedMath("matrices of irrational numbers are not supported") from None


def _matrix(node: Brackets) -> Matrix:
    if any(isinstance(item, Brackets) for item in node.items):
        rows = [evaluate(item) for item in node.items]
        if not all(isinstance(row, tuple) and len(row) == 1 for row in rows):
            raise MalformedMath("the rows of a matrix are lists of numbers")
        matrix = tuple(row[0] for row in rows if isinstance(row, tuple))
    else:
        matrix = (tuple(_entry(item) for item in node.items),)
    if len({len(row) for row in matrix}) != 1:
        raise MalformedMath("the rows of a matrix have one length")
    if max(len(matrix), len(matrix[0])) > _MAX_SIZE and len(matrix) > 1:
        raise UndecidedMath(f"a matrix larger than {_MAX_SIZE}")
    return matrix


def _entry(node: Node) -> Fraction:
    value = evaluate(node)
    if not isinstance(value, Fraction):
        raise MalformedMath("the entries of a matrix are numbers")
    return value


def _sum(node: Sum) -> Value:
    total: Value | None = None
    for term, negative in zip(node.terms, node.negative, strict=True):
        value = _scale(evaluate(term), Fraction(-1 if negative else 1))
        total = value if total is None else _add(total, value)
    assert total is not None
    return total


def _add(left: Value, right: Value) -> Value:
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left + right
    if isinstance(left, Fraction) or isinstance(right, Fraction):
        raise Undefined("a number is added to a matrix")
    if (len(left), len(left[0])) != (len(right), len(right[0])):
        raise Undefined("matrices of different shapes are added")
    return tuple(
        tuple(a + b for a, b in zip(row, other, strict=True)) for row, other in zip(left, right, strict=True)
    )


def _scale(value: Value, factor: Fraction) -> Value:
    if isinstance(value, Fraction):
        return value * factor
    return tuple(tuple(entry * factor for entry in row) for row in value)


def _product(node: Product) -> Value:
    total: Value = Fraction(1)
    for factor, inverse in zip(node.factors, node.inverse, strict=True):
        value = evaluate(factor)
        total = _times(total, _invert(value) if inverse else value)
    return total


def _invert(value: Value) -> Value:
    if isinstance(value, Fraction):
        if not value:
            raise Undefined("division by zero")
        return 1 / value
    raise UndecidedMath("division by a matrix is not defined")


def _times(left: Value, right: Value) -> Value:
    if isinstance(left, Fraction):
        return _scale(right, left)
    if isinstance(right, Fraction):
        return _scale(left, right)
    if len(left[0]) != len(right):
        raise Undefined("the shapes of the matrices do not allow a product")
    columns = list(zip(*right, strict=True))
    return tuple(
        tuple(sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0)) for column in columns)
        for row in left
    )


def _power(base: Value, exponent: Node) -> Value:
    count, index = reduce_ratio(exact.evaluate(exponent))
    if index != 1 or abs(count) > _MAX_POWER or isinstance(base, Fraction):
        raise UndecidedMath("that power of a matrix is not supported")
    matrix = _inverse(base) if count < 0 else base
    result: Value = _identity(_square(matrix))
    for _ in range(abs(count)):
        result = _times(result, matrix)
        _check_bound(result)
    return result


def _check_bound(value: Value) -> None:
    if isinstance(value, tuple) and any(
        entry.numerator.bit_length() > 8_192 for row in value for entry in row
    ):
        raise UndecidedMath("the entries grow too large")


def _identity(size: int) -> Matrix:
    return tuple(tuple(Fraction(row == column) for column in range(size)) for row in range(size))


def _square(matrix: Matrix) -> int:
    if len(matrix) != len(matrix[0]):
        raise Undefined("the matrix is not square")
    return len(matrix)


# -- functions -------------------------------------------------------------------------------------


def _call(node: FunctionCall) -> Value:
    values = [evaluate(argument) for argument in node.arguments]
    matrices = [value for value in values if isinstance(value, tuple)]
    if len(matrices) != len(values):
        raise UndecidedMath(f"{node.name} of a matrix and a number")
    match node.name, matrices:
        case "det", [matrix]:
            return _eliminate(matrix, _square(matrix))[1]
        case "inverse", [matrix]:
            return _inverse(matrix)
        case "transpose", [matrix]:
            return tuple(zip(*matrix, strict=True))
        case "trace", [matrix]:
            return sum((matrix[i][i] for i in range(_square(matrix))), Fraction(0))
        case "rank", [matrix]:
            return Fraction(_eliminate(matrix, len(matrix[0]))[2])
        case "dot", [left, right] if len(left) == len(right) == 1 and len(left[0]) == len(right[0]):
            return sum((a * b for a, b in zip(left[0], right[0], strict=True)), Fraction(0))
        case "cross", [[left], [right]] if len(left) == len(right) == 3:
            (a, b, c), (d, e, f) = left, right
            return ((b * f - c * e, c * d - a * f, a * e - b * d),)
    raise UndecidedMath(f"{node.name} of these matrices is not supported")


def _inverse(matrix: Matrix) -> Matrix:
    size = _square(matrix)
    joined = tuple((*row, *unit) for row, unit in zip(matrix, _identity(size), strict=True))
    rows, determinant, _ = _eliminate(joined, size)
    if not determinant:
        raise Undefined("a singular matrix has no inverse")
    return tuple(tuple(row[size:]) for row in rows)


def _eliminate(matrix: Matrix, columns: int) -> tuple[list[list[Fraction]], Fraction, int]:
    """Gauss-Jordan over the first columns: the rows, the determinant of that block, its rank."""
    rows = [list(row) for row in matrix]
    determinant, rank = Fraction(1), 0
    for column in range(columns):
        pivot = next((index for index in range(rank, len(rows)) if rows[index][column]), None)
        if pivot is None:
            determinant = Fraction(0)
            continue
        if pivot != rank:
            rows[pivot], rows[rank] = rows[rank], rows[pivot]
            determinant = -determinant
        determinant *= rows[rank][column]
        rows[rank] = [entry / rows[rank][column] for entry in rows[rank]]
        for index, row in enumerate(rows):
            if index != rank and row[column]:
                factor = row[column]
                rows[index] = [a - factor * b for a, b in zip(row, rows[rank], strict=True)]
        rank += 1
    return rows, determinant, rank
