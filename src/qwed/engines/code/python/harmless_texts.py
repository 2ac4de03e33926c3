"""Bounds on the texts that Python's functions and methods make."""

from typing import TYPE_CHECKING, Final

from qwed.engines.code.bounds import FLAG, NOTHING, BoundedValue, bits, number, string
from qwed.engines.code.python.harmless_calls import MAX_COUNT, small

if TYPE_CHECKING:
    from qwed.engines.code.python.proof_calls import ProofCalls
    from qwed.engines.code.python.proof_values import ProofCall


def bound_text(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    length = proof.spelled(call.arg(0)) if call.args else 0
    proof.spend(length)
    return string(length)


def bound_quoted(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    length = proof.spelled(call.arg(0)) * 10 + 2
    proof.spend(length)
    return string(length)


def bound_digits(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    length = bits(call.arg(0).size) + 4
    proof.spend(length)
    return string(length)


def bound_bytes(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    value = call.arg(0)
    length = small(proof, value, MAX_COUNT) if value.has("number", "any") else 0
    rounds = proof.members(value)[0] * 4
    proof.spend(length + rounds)
    return string(max(length, rounds))


def bound_character(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    return string(1)


def bound_code(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    return number(0x110000)


def bound_format(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    if len(call.args) < 2:
        return bound_text(proof, call)
    template = call.arg(1)
    return proof.fill_template(
        string(0, "{" + template.text + "}") if template.text is not None else string(0),
        call.arg(0),
        percent=False,
    )


def bound_print(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    if not call.kwargs.keys() <= {"sep", "end", "flush"}:
        raise proof.refuse("prints to something that is not known")
    for each in (*call.args, *call.kwargs.values()):
        proof.spend(proof.spelled(each) * max(1, call.count - len(call.args)))
    return NOTHING


def bound_same_text(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    length = call.receiver.length
    proof.spend(length)
    return string(length * 3)


def bound_text_flag(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    proof.spend(call.receiver.length)
    return FLAG


def bound_find_text(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    proof.spend(call.receiver.length * max(1, call.arg(0).length))
    return number(max(call.receiver.length, 1))


def bound_split(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    proof.spend(call.receiver.length)
    return proof.listed(call.node, "list", call.receiver.length + 1, string(call.receiver.length))


def bound_partition(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    return proof.listed(call.node, "tuple", 3, string(max(call.receiver.length, call.arg(0).length)))


def bound_join_text(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    rounds, member = proof.members(call.arg(0))
    length = rounds * (member.length + call.receiver.length)
    proof.spend(length)
    return string(length)


def bound_replace(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    length = call.receiver.length + (call.receiver.length + 1) * call.arg(1).length
    proof.spend(length)
    return string(length)


def bound_pad(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    length = max(call.receiver.length, small(proof, call.arg(0)))
    proof.spend(length)
    return string(length)


def bound_tabs(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    length = call.receiver.length * max(8, small(proof, call.arg(0)))
    proof.spend(length)
    return string(length)


def bound_fill(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    return proof.fill_template(call.receiver, call.everything, percent=False)


def bound_encode(proof: "ProofCalls", call: "ProofCall") -> BoundedValue:
    names = [each.text for each in (*call.args, *call.kwargs.values())]
    if not all(name is not None and name.lower() in _ENCODINGS for name in names):
        raise proof.refuse("an encoding that is not known")
    proof.spend(call.receiver.length * 10)
    return string(call.receiver.length * 10 + 4)


_ENCODINGS: Final = frozenset(
    [
        "utf-8",
        "utf8",
        "ascii",
        "latin-1",
        "latin1",
        "utf-16",
        "utf-32",
        "cp1252",
        "strict",
        "ignore",
        "replace",
    ]
)
