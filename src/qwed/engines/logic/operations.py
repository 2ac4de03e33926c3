"""What SMT-LIB's functions compute, written from the standard's definitions."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

from qwed.engines.logic.values import FunctionTable, NotEvaluable, Value, Vector


def truth(value: Value) -> bool:
    if not isinstance(value, bool):
        raise NotEvaluable("a formula that is no proposition")
    return value


def _number(value: Value) -> int | Fraction:
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        raise NotEvaluable("arithmetic on what is no number")
    return value


def _integer(value: Value) -> int:
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    if isinstance(value, bool) or not isinstance(value, int):
        raise NotEvaluable("integer arithmetic on what is no integer")
    return value


def _minus(*values: Value) -> Value:
    numbers = [_number(value) for value in values]
    if len(numbers) == 1:
        return -numbers[0]
    total = numbers[0]
    for number in numbers[1:]:
        total -= number
    return total


def _product(*values: Value) -> Value:
    result: int | Fraction = 1
    for value in values:
        result *= _number(value)
        if isinstance(result, int) and result.bit_length() > 100_000:
            raise NotEvaluable("a number too long")
    return result


def _quotient(*values: Value) -> Value:
    result = Fraction(_number(values[0]))
    for value in values[1:]:
        divisor = _number(value)
        if divisor == 0:
            raise NotEvaluable("a division by zero")
        result /= divisor
    return result


def _div(left: Value, right: Value) -> int:
    """SMT-LIB's: the remainder is never negative."""
    dividend, divisor = _integer(left), _integer(right)
    if divisor == 0:
        raise NotEvaluable("a division by zero")
    return dividend // divisor if divisor > 0 else -(dividend // -divisor)


def _mod(left: Value, right: Value) -> int:
    return _integer(left) - _integer(right) * _div(left, right)


def _chain(holds: Callable[[Any, Any], bool]) -> Callable[..., Value]:
    def compare(*values: Value) -> Value:
        numbers = [_number(value) for value in values]
        return all(holds(left, right) for left, right in itertools.pairwise(numbers))

    return compare


def _equal(*values: Value) -> Value:
    return all(_same(left, right) for left, right in itertools.pairwise(values))


def _same(left: Value, right: Value) -> bool:
    if isinstance(left, bool) != isinstance(right, bool):
        raise NotEvaluable("a proposition beside what is none")
    if isinstance(left, FunctionTable) and isinstance(right, FunctionTable):
        return _same_table(left, right)
    return left == right


def _same_table(left: FunctionTable, right: FunctionTable) -> bool:
    """Equal everywhere. Where the defaults differ, the listed entries might still cover all."""
    keys = {**left.entries, **right.entries}
    if any(not _same(left(*key), right(*key)) for key in keys):
        return False
    if not _same(left.default, right.default):
        raise NotEvaluable("arrays that differ in their default")
    return True


def _distinct(*values: Value) -> Value:
    return not any(_same(left, right) for left, right in itertools.combinations(values, 2))


def _xor(*values: Value) -> Value:
    return sum(map(truth, values)) % 2 == 1


def _select(array: Value, index: Value) -> Value:
    if not isinstance(array, FunctionTable):
        raise NotEvaluable("an index into what is no array")
    return array(index)


def _store(array: Value, index: Value, value: Value) -> Value:
    if not isinstance(array, FunctionTable):
        raise NotEvaluable("a store into what is no array")
    return FunctionTable({**array.entries, (index,): value}, array.default)


def _vectors(*values: Value) -> list[Vector]:
    vectors = [value for value in values if isinstance(value, Vector)]
    if len(vectors) != len(values) or len({vector.width for vector in vectors}) > 1:
        raise NotEvaluable("bit vectors that do not match")
    return vectors


def _wrapping(compute: Callable[..., int]) -> Callable[..., Value]:
    """From a function of unsigned values to one of vectors, cut to their width."""

    def operate(*values: Value) -> Value:
        vectors = _vectors(*values)
        result = vectors[0].value
        if len(vectors) == 1:
            result = compute(result)
        for vector in vectors[1:]:
            result = compute(result, vector.value)
        return Vector(result % (1 << vectors[0].width), vectors[0].width)

    return operate


def _with_width(compute: Callable[[int, int, int], int]) -> Callable[[Value, Value], Value]:
    def operate(left: Value, right: Value) -> Value:
        first, second = _vectors(left, right)
        width = first.width
        return Vector(compute(first.value, second.value, width) % (1 << width), width)

    return operate


def _as_signed_pair(compute: Callable[[int, int], int]) -> Callable[[Value, Value], Value]:
    def operate(left: Value, right: Value) -> Value:
        first, second = _vectors(left, right)
        return Vector(compute(first.signed, second.signed) % (1 << first.width), first.width)

    return operate


def _order_unsigned(holds: Callable[[int, int], bool]) -> Callable[[Value, Value], Value]:
    def compare(left: Value, right: Value) -> Value:
        first, second = _vectors(left, right)
        return holds(first.value, second.value)

    return compare


def _order_signed(holds: Callable[[int, int], bool]) -> Callable[[Value, Value], Value]:
    def compare(left: Value, right: Value) -> Value:
        first, second = _vectors(left, right)
        return holds(first.signed, second.signed)

    return compare


def _sdiv(left: int, right: int) -> int:
    if right == 0:
        return -1 if left >= 0 else 1
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _srem(left: int, right: int) -> int:
    return left if right == 0 else left - right * _sdiv(left, right)


def _smod(left: int, right: int) -> int:
    return left if right == 0 else left % right


def _concat(*values: Value) -> Value:
    result, width = 0, 0
    for value in values:
        if not isinstance(value, Vector):
            raise NotEvaluable("bit vectors that do not match")
        result, width = (result << value.width) | value.value, width + value.width
    return Vector(result, width)


def _extract(high: int, low: int, value: Value) -> Value:
    (vector,) = _vectors(value)
    return Vector((vector.value >> low) % (1 << (high - low + 1)), high - low + 1)


def _zero_extend(extra: int, value: Value) -> Value:
    (vector,) = _vectors(value)
    return Vector(vector.value, vector.width + extra)


def _sign_extend(extra: int, value: Value) -> Value:
    (vector,) = _vectors(value)
    width = vector.width + extra
    return Vector(vector.signed % (1 << width), width)


def _rotate_left(count: int, value: Value) -> Value:
    (vector,) = _vectors(value)
    count %= vector.width
    rotated = (vector.value << count) | (vector.value >> (vector.width - count))
    return Vector(rotated % (1 << vector.width), vector.width)


def _rotate_right(count: int, value: Value) -> Value:
    (vector,) = _vectors(value)
    return _rotate_left(vector.width - count % vector.width, value)


def _repeat(count: int, value: Value) -> Value:
    return _concat(*[value] * count)


def _compare_bits(left: Value, right: Value) -> Value:
    first, second = _vectors(left, right)
    return Vector(int(first == second), 1)


def _divisible(divisor: int, value: Value) -> Value:
    return _integer(value) % divisor == 0


OPERATIONS: Final[dict[str, Callable[..., Value]]] = {
    "not": lambda value: not truth(value),
    "xor": _xor,
    "=": _equal,
    "iff": _equal,
    "distinct": _distinct,
    "<": _chain(lambda left, right: left < right),
    "<=": _chain(lambda left, right: left <= right),
    ">": _chain(lambda left, right: left > right),
    ">=": _chain(lambda left, right: left >= right),
    "+": lambda *values: sum(map(_number, values)),
    "-": _minus,
    "*": _product,
    "/": _quotient,
    "div": _div,
    "mod": _mod,
    "abs": lambda value: max(_number(value), -_number(value)),
    "to_real": _number,
    "to_int": lambda value: math.floor(_number(value)),
    "is_int": lambda value: Fraction(_number(value)).denominator == 1,
    "select": _select,
    "store": _store,
    "concat": _concat,
    "bvnot": _wrapping(lambda value: ~value),
    "bvneg": _wrapping(lambda value: -value),
    "bvand": _wrapping(lambda left, right: left & right),
    "bvor": _wrapping(lambda left, right: left | right),
    "bvxor": _wrapping(lambda left, right: left ^ right),
    "bvadd": _wrapping(lambda left, right: left + right),
    "bvsub": _wrapping(lambda left, right: left - right),
    "bvmul": _wrapping(lambda left, right: left * right),
    "bvnand": _with_width(lambda left, right, _: ~(left & right)),
    "bvnor": _with_width(lambda left, right, _: ~(left | right)),
    "bvxnor": _with_width(lambda left, right, _: ~(left ^ right)),
    "bvudiv": _with_width(lambda left, right, _: left // right if right else -1),
    "bvurem": _with_width(lambda left, right, _: left % right if right else left),
    "bvshl": _with_width(lambda left, right, width: left << right if right < width else 0),
    "bvlshr": _with_width(lambda left, right, width: left >> right if right < width else 0),
    "bvashr": lambda left, right: _arithmetic_shift(left, right),
    "bvsdiv": _as_signed_pair(_sdiv),
    "bvsrem": _as_signed_pair(_srem),
    "bvsmod": _as_signed_pair(_smod),
    "bvult": _order_unsigned(lambda left, right: left < right),
    "bvule": _order_unsigned(lambda left, right: left <= right),
    "bvugt": _order_unsigned(lambda left, right: left > right),
    "bvuge": _order_unsigned(lambda left, right: left >= right),
    "bvslt": _order_signed(lambda left, right: left < right),
    "bvsle": _order_signed(lambda left, right: left <= right),
    "bvsgt": _order_signed(lambda left, right: left > right),
    "bvsge": _order_signed(lambda left, right: left >= right),
    "bvcomp": _compare_bits,
    "bv2nat": lambda value: _vectors(value)[0].value,
}


def _arithmetic_shift(left: Value, right: Value) -> Value:
    first, second = _vectors(left, right)
    return Vector((first.signed >> min(second.value, first.width)) % (1 << first.width), first.width)


INDEXED: Final[dict[str, Callable[..., Value]]] = {
    "extract": _extract,
    "zero_extend": _zero_extend,
    "sign_extend": _sign_extend,
    "rotate_left": _rotate_left,
    "rotate_right": _rotate_right,
    "repeat": _repeat,
    "divisible": _divisible,
    "int2bv": lambda width, value: Vector(_integer(value) % (1 << width), width),
}
