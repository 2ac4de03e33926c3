"""Bounds on what JavaScript's global functions make."""

from typing import TYPE_CHECKING

from qwed.engines.code.bounds import INFINITE, NOTHING, BoundedValue, held, join_all, real, string
from qwed.engines.code.javascript.harmless_calls import FLAG_NUMBER

if TYPE_CHECKING:
    from qwed.engines.code.javascript.proof_calls import ScriptProofCalls
    from qwed.engines.code.javascript.proof_values import ScriptProofCall


def bound_number_of(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    value = call.arg(0)
    proof.spend(value.length)
    return real(value.size if value.kinds <= {"float", "none"} else INFINITE)


def bound_text_of(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    length = proof.spelled(call.arg(0)) if call.args else 0
    proof.spend(length)
    return string(length)


def bound_flag(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    return FLAG_NUMBER


def bound_largest(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    proof.spend(call.count)
    values = join_all(call.args)
    return real(values.size if values.kinds <= {"float", "none"} else INFINITE)


def bound_round(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    value = call.arg(0)
    return real(value.size + 1 if value.kinds <= {"float", "none", "any"} else INFINITE)


def bound_unbounded(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    return real()


def bound_show(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    for each in call.args:
        proof.spend(proof.spelled(each) * max(1, call.count - len(call.args)))
    return NOTHING


def bound_stringify(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    if call.arg(1).calls or call.arg(2).length > 10:
        raise proof.refuse("JSON.stringify with a function or a wide indent")
    length = proof.spelled(call.arg(0)) * (80 if len(call.args) > 2 else 1)
    proof.spend(length)
    return string(length)


def bound_parse_json(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    if len(call.args) > 1:
        raise proof.refuse("JSON.parse with a function")
    length = proof.spelled(call.arg(0))
    proof.spend(length)
    return BoundedValue(frozenset({"any"}), INFINITE, length)


def bound_encode(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    length = proof.spelled(call.arg(0)) * 12
    proof.spend(length)
    return string(length)


def bound_characters(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    proof.spend(call.count)
    return string(call.count * 2)


def bound_error(proof: "ScriptProofCalls", call: "ScriptProofCall") -> BoundedValue:
    for each in call.args:
        proof.spend(proof.spelled(each))
    return held(proof.error(call.node))
