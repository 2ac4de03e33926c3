"""What runs is what was approved: any change after the approval is refused, and each refusal is reported."""

import copy
import json
import logging
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.tiers import scale

from qwed.domain.canonical import encode_exact
from qwed.domain.permits import PERMIT_TYPE, issue_permit
from qwed.ect.keys import NodeSigner, generate
from qwed_sdk.conversations import action_hash_of
from qwed_sdk.permits import PermitRefused, PermitVerifier
from qwed_sdk.tool_map import action_of_call

SIGNER = NodeSigner(generate(), "laws")
TEXTS = st.text(max_size=12)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(st.sampled_from(["to", "amount", "note", "when", "tags"]), VALUES, min_size=1)


@pytest.fixture(scope="module")
def verifier(tmp_path_factory):
    file = tmp_path_factory.mktemp("keys") / "jwks.json"
    file.write_text(json.dumps(SIGNER.jwks()))
    return PermitVerifier(file, "payments", replay="memory")


_numbers = iter(range(10**9))


def sign(action_hash, **changed):
    now = int(time.time() * 1000)
    permit = issue_permit(
        f"act_{next(_numbers)}", "agent_1", "acme", "payments", "pay", action_hash, now, 120
    )
    return SIGNER.sign(PERMIT_TYPE, {**permit.claims(SIGNER.issuer), **changed})


def mutate(value, chance):
    """Another value, near this one."""
    if isinstance(value, dict) and value and chance.random() < 0.8:
        name = chance.choice(sorted(value))
        changed = dict(value)
        how = chance.random()
        if how < 0.2:
            del changed[name]
        elif how < 0.35:
            changed[name + "x"] = changed.pop(name)
        elif how < 0.5:
            changed["added"] = chance.choice([None, 0, "", [], {}])
        else:
            changed[name] = mutate(value[name], chance)
        return changed
    if isinstance(value, list) and value and chance.random() < 0.8:
        changed = list(value)
        place = chance.randrange(len(value))
        if chance.random() < 0.3:
            changed.insert(place, copy.deepcopy(changed[place]))
        else:
            changed[place] = mutate(value[place], chance)
        return changed
    return chance.choice(
        [None, True, False, 0, 1, -1, 0.5, "", str(value), [value], {"value": value}, f"{value} ", 2**53 + 1]
    )


def run_with(verifier, effects, token, arguments):
    def pay(**kwargs):
        effects.append(kwargs)

    return verifier.required(action_type="send_money")(pay)(qwed_permit=token, **arguments)


@settings(max_examples=scale(ci=200, nightly=1_000, long=2_000), deadline=None)
@given(arguments=ARGUMENTS, seed=st.integers(0, 2**32))
def test_no_change_after_the_approval_has_an_effect(verifier, arguments, seed):
    chance, effects, reported = random.Random(seed), [], []
    verifier._reports.refused = lambda code, reason, jti, **_: reported.append(code.value)
    approved = action_of_call("pay", arguments, {"pay": "send_money"}, is_strict=True).action
    name, tries = encode_exact(approved), 0
    for _ in range(5):
        changed = mutate(arguments, chance)
        if not isinstance(changed, dict) or not all(map(str.isidentifier, changed)):
            changed = {**arguments, "to": "mallory"}
        again = action_of_call("pay", changed, {"pay": "send_money"}, is_strict=True).action
        if encode_exact(again) == name:
            continue
        tries += 1
        with pytest.raises(PermitRefused):
            run_with(verifier, effects, sign(action_hash_of(approved)), changed)

    assert effects == []
    assert reported == ["QWED-PERMIT-004"] * tries
    run_with(verifier, effects, sign(action_hash_of(approved)), arguments)
    assert effects == [arguments]


@settings(max_examples=scale(ci=100, nightly=1_000, long=5_000), deadline=None)
@given(place=st.integers(0, 10_000), byte=st.integers(0, 255))
def test_no_byte_of_a_permit_can_be_changed(verifier, place, byte):
    logging.getLogger("qwed_sdk.permits").setLevel(logging.CRITICAL)
    verifier._reports.refused = lambda *_, **__: None
    arguments, effects = {"to": "a", "amount": 5}, []
    token = sign(action_hash_of({"type": "send_money", "parameters": arguments}))
    at = place % len(token)
    changed = token[:at] + chr(byte) + token[at + 1 :]
    if changed == token:
        return
    with pytest.raises(PermitRefused):
        run_with(verifier, effects, changed, arguments)

    assert effects == []
