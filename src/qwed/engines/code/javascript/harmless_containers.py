"""Bounds on JavaScript's arrays, maps and sets, and on what is done with each of their members."""

import math
from typing import TYPE_CHECKING, Any

from qwed.engines.code.bounds import (
    NOTHING,
    Bound,
    BoundedValue,
    BoundedVariable,
    held,
    join,
    join_all,
    real,
    string,
)
from qwed.engines.code.javascript.harmless_calls import FLAG_NUMBER, Handler, count_of, length_of
from qwed.engines.code.javascript.readers import find_walked_place

if TYPE_CHECKING:
    from qwed.engines.code.javascript.proof_calls import ScriptProofCalls
    from qwed.engines.code.javascript.proof_values import ScriptProofCall


def bound_members(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    return proof.members(call.receiver)[1]


def run_on_each(proof: "ScriptProofCalls", call: "ScriptProofCall", index: int = 0) -> BoundedValue:
    """Runs the callback once for each member; the answer is what it may return."""
    given = [bound_members(proof, call), real(length_of(call)), call.receiver]
    # An array's methods ask for its length once; a map or set is walked for as long as it has members.
    walked = frozenset(cell for cell in call.receiver.cells if cell.kind in ("map", "set"))
    function = call.node.child_by_field_name("function")
    owner = function.child_by_field_name("object") if function is not None else None
    places = proof.places([] if owner is None else [owner], "entries")
    return proof.run_callback(call, call.arg(index), given, length_of(call), walked | places)


def bound_map(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    return proof.listed(call.node, length_of(call), run_on_each(proof, call))


def bound_filter(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    run_on_each(proof, call)
    return proof.listed(call.node, length_of(call), bound_members(proof, call))


def bound_for_each(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    run_on_each(proof, call)
    return NOTHING


def bound_find(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    run_on_each(proof, call)
    return join(bound_members(proof, call), NOTHING)


def bound_find_index(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    run_on_each(proof, call)
    return real(max(length_of(call), 1))


def bound_flat_map(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    made = run_on_each(proof, call)
    inner, member = proof.members(made)
    return proof.listed(call.node, length_of(call) * max(inner, 1), join(member, made))


def bound_flat(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    if call.args:
        raise proof.refuse("flat to a depth that is not known")
    inner, member = proof.members(bound_members(proof, call))
    return proof.listed(call.node, length_of(call) * max(inner, 1), join(member, bound_members(proof, call)))


def bound_reduce(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    total = BoundedVariable()
    proof.put(total, call.arg(1) if len(call.args) > 1 else bound_members(proof, call))

    def once() -> None:
        given = [total.value, bound_members(proof, call), real(length_of(call)), call.receiver]
        proof.put(total, proof.run_callback(call, call.arg(0), given, 1))

    proof.repeat(length_of(call), once)
    return total.value


def bound_sort(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    length = length_of(call)
    work = length * max(1, math.ceil(math.log2(length + 1))) * 2
    if call.args:
        proof.run_callback(call, call.arg(0), [bound_members(proof, call)] * 2, work)
    else:
        proof.spend(work * (1 + proof.spelled(bound_members(proof, call))))
    return call.receiver


def bound_push(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    for cell in call.receiver.cells:
        proof.put_member(cell, join_all(call.args))
        proof.grow(cell, call.count, call.node.id)
    return real(length_of(call))


def bound_splice(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    for cell in call.receiver.cells:
        proof.put_member(cell, join_all(call.args[2:]))
        proof.grow(cell, max(call.count - 2, 0), call.node.id)
    return bound_copy(proof, call)


def bound_pop(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    return join(bound_members(proof, call), NOTHING)


def bound_shift(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    proof.spend(length_of(call))
    return join(bound_members(proof, call), NOTHING)


def bound_copy(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    return proof.listed(call.node, length_of(call), bound_members(proof, call))


def bound_same(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    proof.spend(length_of(call))
    return call.receiver


def bound_concat(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    lengths, members = zip(*(proof.members(each) for each in (call.receiver, *call.args)), strict=True)
    return proof.listed(call.node, sum(lengths) + call.count, join(join_all(members), join_all(call.args)))


def bound_join_text(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    between = proof.spelled(call.arg(0)) if call.args else 1
    length = length_of(call) * (proof.spelled(bound_members(proof, call)) + between)
    proof.spend(length)
    return string(length)


def bound_fill(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    for cell in call.receiver.cells:
        proof.put_member(cell, call.arg(0))
    proof.spend(length_of(call))
    return call.receiver


def bound_look(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    proof.spend(length_of(call) + proof.spelled(call.arg(0)))
    return real(max(length_of(call), 1))


def bound_walk(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    """`entries`, `keys`, `values`: walked over later, so what they yield is asked again then."""
    receiver = call.receiver
    cell = proof.cell(call.node.id, "iterator")
    pair = proof.cell((call.node.id, "pair"), "array")

    def again() -> tuple[Bound, BoundedValue]:
        rounds, member = proof.members(receiver)
        proof.put_member(pair, join(member, real(rounds)))
        proof.stretch(pair, 2)
        return rounds, join(join(member, real(rounds)), held(pair))

    cell.again = again
    proof.note_walk(cell, proof.sources(receiver))
    again()
    return held(cell)


def bound_put_entry(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    for cell in call.receiver.cells:
        proof.put_member(cell, join_all(call.args))
        proof.grow(cell, 1, call.node.id)
    return call.receiver


def bound_get_entry(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    return join(bound_members(proof, call), NOTHING)


def bound_has_entry(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    return FLAG_NUMBER


def entries_of(proof: "ScriptProofCalls", value: BoundedValue) -> tuple[Bound, BoundedValue]:
    """Every value and every name in an object."""
    rounds, made = proof.members(value)
    for cell in value.cells:
        made = join(made, join_all(cell.fields.values()))
    names = max([24, *(len(name) for cell in value.cells for name in cell.fields)])
    return rounds, join(made, string(names))


def bound_object_list(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    rounds, member = entries_of(proof, call.arg(0))
    pair = proof.cell((call.node.id, "pair"), "array")
    proof.put_member(pair, member)
    proof.stretch(pair, 2)
    return proof.listed(call.node, rounds, join(member, held(pair)))


def bounder_of_collection(kind: str) -> Handler:
    def handler(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
        cell = proof.cell(call.node.id, kind)
        rounds, member = proof.members(call.arg(0))
        proof.put_member(cell, join(member, proof.members(member)[1]))
        proof.stretch(cell, rounds)
        return held(cell)

    return handler


def bound_assign(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    target = call.arg(0)
    if target.calls:
        raise proof.refuse("changes a function or a global object")
    for cell in target.cells:
        for given in call.args[1:]:
            rounds, member = entries_of(proof, given)
            if member.calls:
                raise proof.refuse("a function is stored under a name that is not known")
            proof.put_member(cell, member)
            proof.grow(cell, rounds, call.node.id)
    return target


def bound_given(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    if call.arg(0).calls:
        raise proof.refuse("changes a function or a global object")
    return call.arg(0)


def bound_array_from(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    source = call.arg(0)
    rounds, member = proof.members(source)
    for cell in source.cells:
        if "length" in cell.fields:
            rounds = max(rounds, count_of(proof, cell.fields["length"]))
            member = join(member, NOTHING)
    if len(call.args) > 1:
        given = [join(member, NOTHING), real(rounds)]
        walked = proof.sources(source) | proof.places(first_argument(call))
        member = proof.run_callback(call, call.arg(1), given, rounds, walked)
    return proof.listed(call.node, rounds, member)


def first_argument(call: "ScriptProofCall") -> list[Any]:
    given = call.node.child_by_field_name("arguments")
    return [find_walked_place(each) for each in given.named_children[:1]] if given is not None else []


def bound_new_array(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    first = call.arg(0)
    length = max(call.count, count_of(proof, first) if first.has("float", "any") else 0)
    return proof.listed(call.node, length, join(join_all(call.args), NOTHING))


def bound_array_of(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    return proof.listed(call.node, call.count, join_all(call.args))
