"""Bounds on Python's containers and iterators, and on what is done with each of their members."""

import ast
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from qwed.engines.code.bounds import (
    EMPTY,
    INFINITE,
    NOTHING,
    Bound,
    BoundedValue,
    held,
    join,
    join_all,
    number,
    string,
)
from qwed.engines.code.python.harmless_calls import Handler, given_first, make_tuple, small
from qwed.engines.code.python.harmless_numbers import total_of

if TYPE_CHECKING:
    from qwed.engines.code.python.proof_calls import ProofCalls
    from qwed.engines.code.python.proof_values import ProofCall


def bounder_of_collection(kind: str) -> Handler:
    def handler(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
        rounds, member = proof.members(call.arg(0))
        proof.spend(rounds * (proof.weight(member) if kind in ("set", "dict") else 1))
        if kind == "dict":
            member = join(member, proof.members(member)[1] if member.cells or member.has("text") else EMPTY)
            member = join(
                member, join_all((*call.kwargs.values(), *(string(len(name)) for name in call.kwargs)))
            )
        return proof.listed(call.node, kind, rounds + len(call.kwargs), member)

    return handler


def bound_counter(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    rounds, member = proof.members(call.arg(0))
    proof.spend(rounds)
    return proof.listed(call.node, "dict", rounds, join(member, number(max(rounds, member.size))))


def bound_default_dict(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    made = proof.listed(call.node, "dict", 0, EMPTY)
    from_factory = (
        proof.call_value(call.arg(0), type(call)(call.node, [], {}, 0)) if call.arg(0).calls else NOTHING
    )
    for cell in made.cells:
        proof.put_field(cell, "factory", from_factory)
        proof.put_member(cell, from_factory)
    return made


def bound_range(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    size = call.everything.size
    if not call.everything.kinds <= {"number", "any", "none"} or size == INFINITE:
        raise proof.refuse("a range whose length is not known")
    first, last = (call.arg(0), call.arg(1)) if len(call.args) > 1 else (EMPTY, call.arg(0))
    rounds = first.size + last.size if len(call.args) > 1 and may_be_negative(call) else last.size
    rounds = max(rounds, first.size if len(call.args) > 2 else 0)
    cell = proof.cell(id(call.node), "iterator")
    proof.put_member(cell, number(max(first.size, last.size)))
    if rounds > cell.length:
        cell.length = rounds
        proof.version += 1
    return held(cell)


def may_be_negative(call: "ProofCall") -> bool:
    first = call.node.args[0] if getattr(call.node, "args", None) else None
    return not (isinstance(first, ast.Constant) and isinstance(first.value, int))


def bound_lazily(
    proof: "ProofCalls", call: "ProofCall", again: Callable[[], tuple[Bound, BoundedValue]]
) -> BoundedValue:
    return proof.lazy(call.node, again, proof.sources(join(call.receiver, call.everything)))


def bound_enumerate(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    def again() -> tuple[Bound, BoundedValue]:
        rounds, member = proof.members(call.arg(0))
        return rounds, make_tuple(proof, call, [number(rounds + call.arg(1, "start").size), member])

    return bound_lazily(proof, call, again)


def bound_zip(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    def again() -> tuple[Bound, BoundedValue]:
        walked = [proof.members(each) for each in call.args]
        return max((rounds for rounds, _ in walked), default=0), make_tuple(
            proof, call, [member for _, member in walked]
        )

    return bound_lazily(proof, call, again)


def bound_map(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    def again() -> tuple[Bound, BoundedValue]:
        walked = [proof.members(each) for each in call.args[1:]]
        rounds = max((rounds for rounds, _ in walked), default=0)
        return rounds, proof.run_callback(call, call.arg(0), [member for _, member in walked], rounds)

    return bound_lazily(proof, call, again)


def bound_filter(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    def again() -> tuple[Bound, BoundedValue]:
        rounds, member = proof.members(call.arg(1))
        if call.arg(0).kinds != {"none"}:
            proof.run_callback(call, call.arg(0), [member], rounds)
        return rounds, member

    return bound_lazily(proof, call, again)


def bound_same_members(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    """`reversed`, `iter`, `islice`, `chain`: the members of what is given, walked over later."""

    def again() -> tuple[Bound, BoundedValue]:
        walked = [proof.members(each) for each in call.args if each.has("cell", "text", "any")]
        return sum(rounds for rounds, _ in walked), join_all(member for _, member in walked)

    return bound_lazily(proof, call, again)


def bound_chained(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    def again() -> tuple[Bound, BoundedValue]:
        rounds, member = proof.members(call.arg(0))
        proof.note_walk(proof.cell(id(call.node), "iterator"), proof.sources(member))
        inner, deeper = proof.members(member)
        return rounds * inner, deeper

    return bound_lazily(proof, call, again)


def bound_accumulate(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    if len(call.args) > 1 or call.kwargs:
        raise proof.refuse("accumulates with a function")

    def again() -> tuple[Bound, BoundedValue]:
        rounds, member = proof.members(call.arg(0))
        return rounds, BoundedValue(member.kinds, total_of(proof, rounds, member), member.length * rounds)

    return bound_lazily(proof, call, again)


def bound_combine(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    """`product`, `permutations`, `combinations`: as many tuples as their arguments allow."""
    walked = [proof.members(each) for each in call.args if each.has("cell", "text")]
    taken = [each for each in (*call.args, *call.kwargs.values()) if each.has("number", "any")]
    rounds: Bound = math.prod(max(rounds, 1) for rounds, _ in walked)
    width = small(proof, taken[0], 64) if taken else 1
    longest = max((rounds for rounds, _ in walked), default=0)
    exact = taken or len(walked) > 1
    total = rounds ** max(width, 1) if exact else float(math.factorial(min(math.ceil(longest), 20)))
    proof.spend(total)
    each = proof.listed(
        (call.node, "each"), "tuple", max(width, len(walked), longest), join_all(m for _, m in walked)
    )
    return bound_lazily(proof, call, lambda: (total, each))


def bound_sort(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    value = given_first(call)
    rounds, member = proof.members(value)
    proof.spend(rounds * max(1, math.log2(rounds + 1)) * proof.weight(member))
    if "key" in call.kwargs and call.kwargs["key"].kinds != {"none"}:
        proof.run_callback(call, call.kwargs["key"], [member], rounds)
    return NOTHING if call.receiver.kinds else proof.listed(call.node, "list", rounds, member)


def bound_append(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    for cell in call.receiver.cells:
        proof.put_member(cell, join_all(call.args).without() if len(call.args) < 2 else call.args[-1])
        proof.grow(cell, 1, id(call.node))
    return NOTHING


def bound_extend(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    for cell in call.receiver.cells:
        for each in (*call.args, *call.kwargs.values()):
            proof.refuse_own_reader(cell, each)
            rounds, member = proof.members(each)
            proof.put_member(
                cell,
                join(member, proof.members(member)[1] if cell.kind == "dict" and member.cells else EMPTY),
            )
            proof.grow(cell, rounds, (id(call.node), id(each.cells) if not each.cells else 0))
    return NOTHING


def bound_take(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    proof.spend(max((cell.length for cell in call.receiver.cells), default=0))
    return join(proof.members(call.receiver)[1], call.arg(1))


def bound_pick(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    """`get`, `setdefault`: an entry, or what is given for want of one."""
    for cell in call.receiver.cells:
        if len(call.args) > 1:
            proof.put_member(cell, call.arg(1))
        proof.put_member(cell, call.arg(0))
        proof.grow(cell, 1, id(call.node))
    return join(join(proof.members(call.receiver)[1], call.arg(1)), NOTHING)


def bound_get(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    return join(join(proof.members(call.receiver)[1], call.arg(1)), NOTHING)


def bound_look(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    rounds = max([call.receiver.length, *(cell.length for cell in call.receiver.cells)])
    proof.spend(rounds * proof.weight(call.arg(0)))
    return number(max(rounds, 1))


def bound_nothing(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    proof.spend(max((cell.length for cell in call.receiver.cells), default=0))
    return NOTHING


def bound_copy(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    made = EMPTY
    for cell in call.receiver.cells:
        made = join(made, proof.listed(call.node, cell.kind, cell.length, cell.member))
    return made if made.kinds else call.receiver


def bound_unite(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    walked = [proof.members(each) for each in (call.receiver, *call.args)]
    proof.spend(sum(rounds for rounds, _ in walked))
    return proof.listed(call.node, "set", sum(rounds for rounds, _ in walked), join_all(m for _, m in walked))


def bound_view(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    return bound_same_members(proof, type(call)(call.node, [call.receiver], {}, 1))


def bound_pairs(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    def again() -> tuple[Bound, BoundedValue]:
        rounds, member = proof.members(call.receiver)
        return rounds, proof.listed((call.node, "pair"), "tuple", 2, member)

    return bound_lazily(proof, call, again)


def bound_most_common(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    rounds, member = proof.members(call.receiver)
    proof.spend(rounds * 20)
    pair = proof.listed((call.node, "pair"), "tuple", 2, member)
    return proof.listed(call.node, "list", rounds, pair)
