"""Bounds on the numbers that Python's functions make."""

import ast
import math
from typing import TYPE_CHECKING

from qwed.engines.code.bounds import (
    EMPTY,
    FLAG,
    INFINITE,
    MAX_BITS,
    Bound,
    BoundedValue,
    bits,
    join,
    join_all,
    number,
    real,
)
from qwed.engines.code.python.harmless_calls import (
    MAX_COUNT,
    MAX_DIGITS,
    MAX_PRECISION,
    given_first,
    make_tuple,
    small,
)

if TYPE_CHECKING:
    from qwed.engines.code.python.proof_calls import ProofCalls
    from qwed.engines.code.python.proof_values import ProofCall


def bound_flag(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    proof.spend(sum(proof.weight(each) for each in call.args))
    return FLAG


def bound_all_any(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    proof.spend(proof.members(call.arg(0))[0])
    return FLAG


def bound_same_number(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    value = given_first(call)
    proof.spend(bits(value.size) / 64 if value.has("number") else 1)
    return BoundedValue(value.kinds & {"number", "float", "any", "decimal", "fraction"}, value.size)


def bound_length(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    return number(max([call.arg(0).length, *(cell.length for cell in call.arg(0).cells)]))


def bound_integer(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    value = call.arg(0)
    size = value.size if value.has("number", "any", "float") else 0
    if value.has("decimal", "fraction"):
        raise proof.refuse("a whole number of a decimal or fraction, whose size is not known")
    if value.has("float") and size == INFINITE:
        size = 2**1024
    if value.has("text", "any"):
        digits = value.length
        plain = len(call.args) < 2 and not call.kwargs
        if digits > (MAX_COUNT if plain else MAX_DIGITS):
            raise proof.refuse("a number that is not known to be small")
        proof.spend(min(digits, MAX_DIGITS) ** 2 / 64)
        size = max(size, (10 if plain else 36) ** math.ceil(min(digits, MAX_DIGITS)))
    return number(size)


def bound_float(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    value = call.arg(0)
    proof.spend(value.length)
    return real(value.size if value.kinds <= {"number", "float"} else INFINITE)


def bound_round(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    value = call.arg(0)
    if value.has("decimal", "fraction"):
        raise proof.refuse("a whole number of a decimal or fraction, whose size is not known")
    if len(call.args) < 2:
        return number(min(value.size, 2**1024) + 1 if value.has("float") else value.size)
    small(proof, call.arg(1))
    return BoundedValue(value.kinds & {"number", "float", "any"}, value.size + 1)


def bound_unbounded(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    return real()


def bound_floor(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    value = call.arg(0)
    if value.has("decimal", "fraction"):
        raise proof.refuse("a whole number of a decimal or fraction, whose size is not known")
    return number(min(value.size, 2**1024) + 1 if value.has("float", "any") else value.size)


def bound_root(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    return real(max(call.arg(0).size, 1))


def bound_whole_root(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    proof.spend((bits(call.arg(0).size) / 64 + 1) ** 2)
    return number(call.arg(0).size)


def bound_divisor(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    size = join_all(call.args).size
    proof.spend((bits(size) / 64 + 1) ** 2 * (call.count + 1))
    return number(size)


def bound_multiple(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    each = int(small(proof, join_all(call.args), 2**256)) + 1
    if call.count * bits(each) > MAX_BITS:
        raise proof.refuse("a number that is not known to be small")
    return number(each ** math.ceil(call.count))


def bound_factorial(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    count = int(small(proof, call.arg(0), 1_000))
    proof.spend(count * count)
    return number(math.factorial(count))


def bound_choose(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    count, taken = (
        int(small(proof, each, 1_000))
        for each in (call.arg(0), call.arg(1) if len(call.args) > 1 else call.arg(0))
    )
    proof.spend(count * count)
    return number(max(count, 2) ** max(taken, 1))


def bound_power(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    base, exponent, modulus = call.arg(0, "base"), call.arg(1, "exp"), call.arg(2, "mod")
    if modulus.kinds and not modulus.has("none"):
        proof.spend((bits(modulus.size) / 64 + 1) ** 2 * (bits(exponent.size) + 1))
        return number(modulus.size)
    return proof.operate(ast.Pow(), base, exponent, call.node)


def bound_divmod(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    first = proof.operate(ast.FloorDiv(), call.arg(0), call.arg(1), call.node)
    second = proof.operate(ast.Mod(), call.arg(0), call.arg(1), call.node)
    return make_tuple(proof, call.node, [first, second])


def bound_decimal(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    value = call.everything
    if (
        value.cells
        or value.length > MAX_PRECISION
        or (value.has("number") and value.size > 10**MAX_PRECISION)
    ):
        raise proof.refuse("a decimal whose precision is not known to be small")
    return BoundedValue(frozenset({"decimal"}), INFINITE)


def bound_fraction(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    for each in (*call.args, *call.kwargs.values()):
        if not each.kinds <= {"number", "fraction", "any"}:
            raise proof.refuse("a fraction whose size is not known")
    if call.everything.has("fraction"):
        return proof.operate(ast.Div(), call.arg(0, "numerator"), call.everything, call.node)
    return BoundedValue(frozenset({"fraction"}), call.everything.size)


def numbers_in(proof: "ProofCalls", value: BoundedValue) -> tuple[Bound, BoundedValue]:
    rounds, member = proof.members(value)
    proof.spend(rounds * (bits(member.size) / 64 + 1 if member.has("number") else 1))
    return rounds, member


def bound_sum(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    rounds, member = numbers_in(proof, call.arg(0))
    start = call.arg(1, "start")
    if member.cells or start.cells:
        inner, deeper = proof.members(join(member, start))
        proof.spend(rounds * rounds * inner)
        kinds = sorted({cell.kind for cell in member.cells | start.cells} - {"object", "iterator"})
        return join_all(proof.listed(call.node, kind, inner * (rounds + 1), deeper) for kind in kinds)
    made = join(member, start)
    return BoundedValue(made.kinds | {"number"}, total_of(proof, rounds + 1, made))


def total_of(proof: "ProofCalls", rounds: Bound, member: BoundedValue) -> Bound:
    """How large a sum can be: one of fractions multiplies their denominators."""
    if not member.has("fraction"):
        return member.size * rounds
    width = rounds * (bits(member.size) + 2)
    if width > MAX_BITS:
        raise proof.refuse("a fraction that is not known to be small")
    proof.spend(rounds * (width / 64 + 1) ** 2)
    return 1 << math.ceil(width)


def bound_product(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    rounds, member = numbers_in(proof, call.arg(0))
    rounds, member = rounds + 1, join(member, call.kwargs.get("start", EMPTY))
    if not member.has("number", "any", "fraction"):
        return real()
    if rounds * bits(member.size) > MAX_BITS:
        raise proof.refuse("a number that is not known to be small")
    return BoundedValue(member.kinds | {"number"}, max(int(member.size), 1) ** math.ceil(rounds))


def bound_statistics(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    rounds, member = numbers_in(proof, call.arg(0))
    proof.spend(rounds * 200)
    size = total_of(proof, 2 * rounds + 2, member) if member.has("fraction") else member.size
    return BoundedValue(
        frozenset(member.kinds | {"float"}) - {"text", "cell", "call"},
        size**2 if member.size < 1e100 else INFINITE,
    )


def bound_largest(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    rounds, member = (call.count, join_all(call.args)) if len(call.args) > 1 else proof.members(call.arg(0))
    proof.spend(rounds * proof.weight(member))
    if "key" in call.kwargs:
        proof.run_callback(call, call.kwargs["key"], [member], rounds, join_all(call.args))
    return join(member, call.kwargs.get("default", EMPTY))
