"""Bounds on the texts that Python's functions and methods make."""

from typing import TYPE_CHECKING, Final

from qwed.engines.code.bounds import FLAG, NOTHING, Value, bits, number, string
from qwed.engines.code.python.harmless_calls import MAX_COUNT, small

if TYPE_CHECKING:
    from qwed.engines.code.python.proof_calls import Calls
    from qwed.engines.code.python.proof_values import Call


def bound_text(proof: "Calls", call: "Call") -> Value:
    length = proof.spelled(call.arg(0)) if call.args else 0
    proof.spend(length)
    return string(length)


def bound_quoted(proof: "Calls", call: "Call") -> Value:
    length = proof.spelled(call.arg(0)) * 10 + 2
    proof.spend(length)
    return string(length)


def bound_digits(proof: "Calls", call: "Call") -> Value:
    length = bits(call.arg(0).size) + 4
    proof.spend(length)
    return string(length)


def bound_bytes(proof: "Calls", call: "Call") -> Value:
    value = call.arg(0)
    length = small(proof, value, MAX_COUNT) if value.has("number", "any") else 0
    rounds = proof.members(value)[0] * 4
    proof.spend(length + rounds)
    return string(max(length, rounds))


def bound_character(proof: "Calls", call: "Call") -> Value:
    return string(1)


def bound_code(proof: "Calls", call: "Call") -> Value:
    return number(0x110000)


def bound_format(proof: "Calls", call: "Call") -> Value:
    if len(call.args) < 2:
        return bound_text(proof, call)
    template = call.arg(1)
    return proof.fill_template(
        string(0, "{" + template.text + "}") if template.text is not None else string(0),
        call.arg(0),
        percent=False,
    )


def bound_print(proof: "Calls", call: "Call") -> Value:
    if not call.kwargs.keys() <= {"sep", "end", "flush"}:
        raise proof.refuse("prints to something that is not known")
    for each in (*call.args, *call.kwargs.values()):
        proof.spend(proof.spelled(each) * max(1, call.count - len(call.args)))
    return NOTHING


def bound_same_text(proof: "Calls", call: "Call") -> Value:
    length = call.receiver.length
    proof.spend(length)
    return string(length * 3)


def bound_text_flag(proof: "Calls", call: "Call") -> Value:
    proof.spend(call.receiver.length)
    return FLAG


def bound_find_text(proof: "Calls", call: "Call") -> Value:
    proof.spend(call.receiver.length * max(1, call.arg(0).length))
    return number(max(call.receiver.length, 1))


def bound_split(proof: "Calls", call: "Call") -> Value:
    proof.spend(call.receiver.length)
    return proof.listed(call.node, "list", call.receiver.length + 1, string(call.receiver.length))


def bound_partition(proof: "Calls", call: "Call") -> Value:
    return proof.listed(call.node, "tuple", 3, string(max(call.receiver.length, call.arg(0).length)))


def bound_join_text(proof: "Calls", call: "Call") -> Value:
    rounds, member = proof.members(call.arg(0))
    length = rounds * (member.length + call.receiver.length)
    proof.spend(length)
    return string(length)


def bound_replace(proof: "Calls", call: "Call") -> Value:
    length = call.receiver.length + (call.receiver.length + 1) * call.arg(1).length
    proof.spend(length)
    return string(length)


def bound_pad(proof: "Calls", call: "Call") -> Value:
    length = max(call.receiver.length, small(proof, call.arg(0)))
    proof.spend(length)
    return string(length)


def bound_tabs(proof: "Calls", call: "Call") -> Value:
    length = call.receiver.length * max(8, small(proof, call.arg(0)))
    proof.spend(length)
    return string(length)


def bound_fill(proof: "Calls", call: "Call") -> Value:
    return proof.fill_template(call.receiver, call.everything, percent=False)


def bound_encode(proof: "Calls", call: "Call") -> Value:
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
