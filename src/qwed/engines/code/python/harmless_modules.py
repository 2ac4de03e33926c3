"""Bounds on what a few functions of Python's library make: functools, json, heapq, dataclasses, errors."""

import ast
from typing import TYPE_CHECKING

from qwed.engines.code.bounds import (
    EMPTY,
    NOTHING,
    BoundedValue,
    BoundedVariable,
    held,
    join,
    join_all,
    string,
)
from qwed.engines.code.python.harmless_calls import MAX_DIGITS, Handler, small
from qwed.engines.code.python.harmless_containers import bound_append, bound_copy, bound_look, bound_sort

if TYPE_CHECKING:
    from qwed.engines.code.python.proof_calls import ProofCalls
    from qwed.engines.code.python.proof_values import ProofCall


def bound_reduce(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    rounds, member = proof.members(call.arg(1))
    total = BoundedVariable()
    proof.put(total, join(call.arg(2), member))

    def once() -> None:
        proof.put(total, proof.run_callback(call, call.arg(0), [total.value, member], 1, call.arg(1)))

    proof.repeat(rounds, once)
    return total.value


def bounder_of_operator(op: ast.operator) -> Handler:
    return lambda proof, call: proof.operate(op, call.arg(0), call.arg(1), call.node)


def bound_item_getter(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    return BoundedValue(frozenset({"call"}), calls=frozenset({"operator.itemgetter()"}))


def bound_got_item(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    return join_all(
        (proof.members(call.arg(0))[1], *(f for c in call.arg(0).cells for f in c.fields.values()))
    )


def bound_to_json(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    if not call.kwargs.keys() <= {"indent", "sort_keys", "ensure_ascii"}:
        raise proof.refuse("json.dumps with a function")
    length = proof.spelled(call.arg(0)) * 10 * (1 + 6 * small(proof, call.kwargs.get("indent", EMPTY), 16))
    proof.spend(length)
    return string(length)


def bound_from_json(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    if call.kwargs or len(call.args) > 1:
        raise proof.refuse("json.loads with a function")
    proof.spend(call.arg(0).length * 10)
    return BoundedValue(frozenset({"any"}), 10**MAX_DIGITS, call.arg(0).length)


def bound_deep_copy(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    proof.spend(proof.spelled(call.arg(0)))
    if any(cell.kind == "object" for cell in call.arg(0).cells):
        return call.arg(0)
    return bound_copy(proof, type(call)(call.node, [], {}, 0, call.arg(0)))


def bound_heap_push(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    return bound_append(proof, type(call)(call.node, call.args[1:2], {}, 1, call.arg(0)))


def bound_heap_pop(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    return proof.members(call.arg(0))[1]


def bound_heapify(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    proof.spend(proof.members(call.arg(0))[0] * 20)
    return NOTHING


def bound_some_of(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    return bound_sort(proof, type(call)(call.node, [call.arg(1)], call.kwargs, 1))


def bound_bisect(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    return bound_look(proof, type(call)(call.node, [call.arg(1)], {}, 1, call.arg(0)))


def bound_indent(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    length = call.arg(0).length * (call.arg(1).length + 2) * 8
    proof.spend(length)
    return string(length)


def bound_named_tuple(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    raise proof.refuse("a class made by other means than its body")


def bound_error(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    for each in call.args:
        proof.spend(proof.spelled(each))
    cell = proof.error(call.node)
    proof.put_member(cell, join_all(call.args).without("cell", "call"))
    return held(cell)


def bound_opaque(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    return NOTHING


def bound_type_of(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    if len(call.args) != 1 or call.kwargs:
        raise proof.refuse("makes a class")
    return BoundedValue(frozenset({"call"}), calls=frozenset({"builtins.type()"}))


def bound_super(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    raise proof.refuse("super, whose class is not followed")


def bound_callable_decorator(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    """`functools.wraps(f)(g)` and `lru_cache(g)` behave as `g` does."""
    return call.arg(0)


def bound_field(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    factory = call.kwargs.get("default_factory", EMPTY)
    made = proof.call_value(factory, type(call)(call.node, [], {}, 0)) if factory.calls else EMPTY
    return join(made, call.kwargs.get("default", NOTHING))
