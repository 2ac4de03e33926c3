"""Bounds on the texts that JavaScript's methods make."""

from typing import TYPE_CHECKING, Final

from qwed.engines.code.bounds import NOTHING, BoundedValue, join, join_all, real, string
from qwed.engines.code.javascript.harmless_calls import FLAG_NUMBER, count_of

if TYPE_CHECKING:
    from qwed.engines.code.javascript.proof_calls import ScriptProofCalls
    from qwed.engines.code.javascript.proof_values import ScriptProofCall

CHARACTER: Final = real(0x110000)


def bound_same_text(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    proof.spend(call.receiver.length)
    return string(call.receiver.length * 3)


def bound_spell(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    length = proof.spelled(call.receiver)
    proof.spend(length)
    return string(max(length, 1100))


def bound_search(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    spend_on_patterns(proof, call)
    proof.spend(call.receiver.length)
    return real(call.receiver.length)


def bound_test(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    bound_search(proof, call)
    return FLAG_NUMBER


def bound_code(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    return CHARACTER


def spend_on_patterns(proof: "ScriptProofCalls", call: "ScriptProofCall") -> None:
    texts = max(
        [call.receiver.length, *(each.length for each in call.args), *(proof.spelled(a) for a in call.args)]
    )
    for value in (call.receiver, *call.args):
        if value.has("regex"):
            proof.spend((texts + 1) ** (value.size + 1))


def bound_split(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    spend_on_patterns(proof, call)
    return proof.listed(call.node, call.receiver.length + 1, string(call.receiver.length))


def bound_match(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    if call.receiver.has("text") and call.arg(0).kinds != {"regex"}:
        raise proof.refuse("a pattern that is not known")
    return join(bound_split(proof, call), NOTHING)


def bound_concat_text(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    length = call.receiver.length + call.count * proof.spelled(join_all(call.args))
    proof.spend(length)
    return string(length)


def bound_repeat_text(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    length = call.receiver.length * count_of(proof, call.arg(0))
    proof.spend(length)
    return string(length)


def bound_pad(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    length = max(call.receiver.length, count_of(proof, call.arg(0)))
    proof.spend(length)
    return string(length)


def bound_replace(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    spend_on_patterns(proof, call)
    length, given = call.receiver.length, call.arg(1)
    if given.calls:
        given = proof.run_callback(call, given, [string(length)] * 3, length + 1)
    each = proof.spelled(given)
    if given.text is None or "$" in given.text:
        each *= length + 1
    proof.spend(length + (length + 1) * each)
    return string(length + (length + 1) * each)
