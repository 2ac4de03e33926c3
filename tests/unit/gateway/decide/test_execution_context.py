"""Execution context tokens at the gateway: what comes in, what goes out, and how it hangs together."""

import contextlib
import itertools
import json
import sqlite3

import pytest
from tests.support.world import OPERATOR_KEY, SIGNER, World

from qwed.domain.findings import Status
from qwed.domain.nodes import jti_of
from qwed.domain.risk import Risk
from qwed.ect import KeyRing, Level, TokenMemory, TrustedKeys, Verifier, generate, issue, parse
from qwed.ect.signatures import keys_of
from qwed.ect.verifier import Accepted
from qwed.ledger.receipts import read_receipt

ISSUER = SIGNER.issuer
_conversations = itertools.count()


class Pen:
    """An agent that signs tokens with a key of its own."""

    def __init__(self, world: World, **registration):
        self.world = world
        self.agent = world.register(**registration)
        self.did = self.agent["did"]
        self.key = generate()
        self.ring = KeyRing(self.did, self.key)
        public = {**self.key.public.publish(), "kid": self.ring.kid}
        done = world.call("PUT", f"/agents/{self.agent['agent_id']}/ect-keys", json={"keys": [public]})
        assert done.status_code == 200, done.text

    def token(self, exec_act="research", **claims):
        now = self.world.clock.now_ms() // 1000
        return issue(self.ring, exec_act, claims.pop("aud", ISSUER), claims.pop("now", now), **claims)

    def verify(self, *tokens, query="2+2=4", step=1, conversation=None, **action):
        headers = {"Execution-Context": ", ".join(tokens)} if tokens else {}
        conversation = conversation or f"c{next(_conversations)}"
        body = {
            "action": {"type": "calculate", "query": query, **action},
            "context": {"conversation_id": conversation, "step_number": step},
        }
        path = f"/agents/{self.agent['agent_id']}/verify"
        return self.world.call("POST", path, key=self.agent["agent_token"], json=body, headers=headers)

    def entry(self, activity_id):
        page = self.world.call("GET", f"/agents/{self.agent['agent_id']}/activity").json()
        return next(item for item in page["activities"] if item["activity_id"] == activity_id)


@pytest.fixture
def world():
    world = World()
    yield world
    world.close()


@pytest.fixture
def pen(world):
    return Pen(world)


def jti(token):
    return parse(token).claims["jti"]


def claims(token):
    return parse(token).claims


# --- in --------------------------------------------------------------------------------------------


def test_a_decision_names_the_token_that_led_to_it(pen):
    token = pen.token()

    answer = pen.verify(token)

    assert answer.json()["decision"] == "APPROVED"
    entry = pen.entry(answer.json()["activity_id"])
    assert entry["ect_par"] == [jti(token)]
    assert claims(answer.headers["Execution-Context"])["par"] == [jti(token)]


def test_of_a_chain_presented_together_the_last_is_the_cause(pen):
    first = pen.token()
    second = pen.token(par=[jti(first)])

    answer = pen.verify(second, first)

    assert claims(answer.headers["Execution-Context"])["par"] == [jti(second)]


def test_a_step_names_the_step_before_it(pen):
    first = pen.verify(conversation="same").json()
    second = pen.verify(conversation="same", step=2, query="3+3=6").json()

    before, after = pen.entry(first["activity_id"]), pen.entry(second["activity_id"])
    assert before["ect_par"] == []
    assert after["ect_par"] == [before["ect_jti"]]


def test_a_denied_step_is_a_node_as_well_but_nobodys_cause(pen):
    pen.verify(conversation="same")
    denied = pen.verify(conversation="same", step=2, type="invented").json()
    third = pen.verify(conversation="same", step=2, query="4+4=8").json()

    assert denied["decision"] == "DENIED"
    entry = pen.entry(third["activity_id"])
    assert entry["ect_par"] == pen.entry(denied["activity_id"])["ect_par"]


def test_the_workflow_of_a_token_is_the_decisions(pen):
    wid = "11111111-2222-4333-8444-555555555555"

    answer = pen.verify(pen.token(wid=wid))

    assert claims(answer.headers["Execution-Context"])["wid"] == wid


def test_a_step_of_another_workflow_is_not_a_parent(pen):
    one, other = ("11111111-2222-4333-8444-55555555555" + end for end in "12")
    pen.verify(pen.token(wid=one), conversation="mixed")
    token = pen.token(wid=other)

    answer = pen.verify(token, conversation="mixed", step=2, query="3+3=6")

    assert claims(answer.headers["Execution-Context"])["par"] == [jti(token)]


def test_the_gateways_own_token_can_be_the_parent_of_the_next(pen):
    decision = pen.verify(pen.token()).headers["Execution-Context"]
    child = pen.token(par=[jti(decision)])

    answer = pen.verify(decision, child)

    assert answer.json()["decision"] == "APPROVED"
    assert claims(answer.headers["Execution-Context"])["par"] == [jti(child)]


def test_a_parent_need_not_be_presented_again(pen):
    first = pen.token()
    pen.verify(first)

    assert pen.verify(pen.token(par=[jti(first)])).json()["decision"] == "APPROVED"


def test_a_token_shown_twice_is_recorded_once(world, pen):
    token = pen.token()
    pen.verify(token)
    size = world.call("GET", "/ledger/checkpoint").json()["size"]

    pen.verify(token)

    assert world.call("GET", "/ledger/checkpoint").json()["size"] == size + 1


def another_ring(pen):
    return issue(KeyRing(pen.did, generate()), "research", ISSUER, pen.world.clock.now_ms() // 1000)


def reused_id(pen):
    first = pen.token()
    pen.verify(first)
    return pen.token("other", jti=jti(first))


def tampered(pen):
    head, body, signature = pen.token().split(".")
    return f"{head}.{body}.{'A' if signature[0] != 'A' else 'B'}{signature[1:]}"


def in_the_gateways_name(pen):
    ring = KeyRing(ISSUER, pen.key)
    return issue(ring, "qwed:decision", ISSUER, pen.world.clock.now_ms() // 1000)


BAD = {
    "nonsense": lambda pen: "nonsense",
    "unsigned_dots": lambda pen: "eyJhbGciOiJub25lIn0.e30.",
    "foreign_key": another_ring,
    "tampered": tampered,
    "for_others": lambda pen: pen.token(aud="did:example:somebody"),
    "expired": lambda pen: pen.token(now=pen.world.clock.now_ms() // 1000 - 3600),
    "ahead": lambda pen: pen.token(now=pen.world.clock.now_ms() // 1000 + 120),
    "unknown_parent": lambda pen: pen.token(par=["99999999-9999-4999-8999-999999999999"]),
    "reused_id": reused_id,
    "gateways_name": in_the_gateways_name,
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_token_is_refused_with_one_sentence_and_its_reason_logged(world, pen, name):
    token = BAD[name](pen)

    answer = pen.verify(token)

    assert answer.status_code == 403
    assert answer.json()["decision"] == "DENIED"
    assert answer.json()["error"] == {
        "code": "QWED-ECT-001",
        "message": "the execution context was not accepted",
    }
    world.close()
    line = json.loads(world.log.getvalue().splitlines()[-1])
    assert line["ect"]


def test_a_bad_token_uses_no_step(pen):
    pen.verify("nonsense", conversation="c")

    assert pen.verify(conversation="c").json()["decision"] == "APPROVED"


def test_two_workflows_at_once_are_refused(pen):
    one, other = ("11111111-2222-4333-8444-55555555555" + end for end in "12")

    assert pen.verify(pen.token(wid=one), pen.token(wid=other)).status_code == 403


def test_too_many_tokens_are_too_large(pen):
    assert pen.verify(*[pen.token() for _ in range(33)]).status_code == 431


def test_an_agent_without_keys_signs_nothing(world):
    pen = Pen(world)
    world.call("PUT", f"/agents/{pen.agent['agent_id']}/ect-keys", json={"keys": []})

    assert pen.verify(pen.token()).status_code == 403


def test_a_private_key_is_refused(world, pen):
    published = {**pen.key.public.publish(), "kid": "k", "d": "secret"}

    answer = world.call("PUT", f"/agents/{pen.agent['agent_id']}/ect-keys", json={"keys": [published]})

    assert answer.status_code == 422
    assert "private" in answer.json()["error"]["message"]


# --- out -------------------------------------------------------------------------------------------


def checker(world, *rings):
    keys = TrustedKeys.from_jwks({ISSUER: world.call("GET", "/.well-known/jwks.json").json()})
    for ring in rings:
        keys = keys.joined(TrustedKeys.of_ring(ring))
    memory = TokenMemory()
    return Verifier({ISSUER}, keys, memory, memory)


def test_others_verify_a_decision_with_the_published_keys_alone(world, pen):
    token = pen.token()
    decision = pen.verify(token).headers["Execution-Context"]

    found = checker(world, pen.ring).verify(decision, world.clock.now_ms() // 1000, alongside=[token])

    assert isinstance(found, Accepted)
    assert found.ect.claims.exec_act == "qwed:decision"
    assert found.ect.claims.ext["qwed.decision"] == "APPROVED"


def test_a_risky_approval_carries_its_token_and_others_are_issued_when_asked_for(world):
    world.prover.says(Status.VERIFIED, Risk.HIGH)
    pen = Pen(world, type="trusted")

    risky = pen.verify()
    world.prover.says(Status.VERIFIED, Risk.LOW)
    plain = pen.verify()

    assert risky.json()["execution_context"] == risky.headers["Execution-Context"]
    assert "execution_context" not in plain.json()
    for answer in (risky, plain):
        node = pen.entry(answer.json()["activity_id"])["ect_jti"]
        shown = world.call("GET", f"/ect/{node}", key=pen.agent["agent_token"]).json()
        assert claims(shown["token"])["jti"] == node
        assert isinstance(checker(world).verify(shown["token"], world.clock.now_ms() // 1000), Accepted)


def test_a_risky_approval_that_cannot_be_signed_is_denied(world):
    world.prover.says(Status.VERIFIED, Risk.HIGH)

    class Broken:
        issuer = ISSUER

        def derive(self, *purpose):
            return SIGNER.derive(*purpose)

        def sign(self, typ, claims):
            if typ == "wimse-exec+jwt":
                raise OSError("the key is gone")
            return SIGNER.sign(typ, claims)

    broken = World(signer=Broken(), prover=world.prover)
    try:
        pen = broken.register(type="trusted")
        answer = broken.call(
            "POST",
            f"/agents/{pen['agent_id']}/verify",
            json={
                "action": {"type": "calculate", "query": "2+2"},
                "context": {"conversation_id": "c", "step_number": 1},
            },
        ).json()
    finally:
        broken.close()

    assert answer["decision"] == "DENIED"
    assert answer["error"]["code"] == "QWED-ATTESTATION-001"
    assert "attestation" not in answer and "execution_context" not in answer


# --- one graph -------------------------------------------------------------------------------------


def test_one_graph_holds_the_whole_story(world):
    world.prover.says(Status.UNCERTAIN, Risk.LOW)
    pen = Pen(world)
    human = world.principal_key(scopes=["approve", "read"])
    token = pen.token()
    asked = pen.verify(token).json()
    approval = asked["approval"]["id"]
    world.call("POST", f"/approvals/{approval}/approve", key=human, json={"note": "fine"})
    redeemed = world.call(
        "POST",
        f"/approvals/{approval}/redeem",
        key=pen.agent["agent_token"],
        json={"action": {"type": "calculate", "query": "2+2=4"}},
    ).json()
    path = f"/agents/{pen.agent['agent_id']}/activity/{redeemed['activity_id']}/outcome"
    world.call("POST", path, key=pen.agent["agent_token"], json={"outcome": "success"})

    page = world.call("GET", f"/agents/{pen.agent['agent_id']}/activity").json()["activities"]
    by_type = {
        entry["action_type"] if entry["decision"] == "NOTED" else entry["decision"]: entry for entry in page
    }
    outcome, approved = by_type["report_outcome"], by_type["APPROVED"]
    answered, pending = by_type["answer_approval"], by_type["PENDING"]
    assert outcome["ect_par"] == [approved["ect_jti"]]
    assert set(approved["ect_par"]) == {pending["ect_jti"], answered["ect_jti"]}
    assert answered["ect_par"] == [pending["ect_jti"]]
    assert pending["ect_par"] == [jti(token)]
    shown = world.call("GET", f"/ect/{answered['ect_jti']}").json()
    assert claims(shown["token"])["exec_act"] == "hitl:decision"


# --- submitting ------------------------------------------------------------------------------------


def test_a_submitted_token_gets_a_receipt_that_the_published_keys_verify(world, pen):
    token = pen.token()

    answer = world.call("POST", "/ect", key=pen.agent["agent_token"], json={"ects": [token]})

    assert answer.status_code == 201
    (given,) = answer.json()["receipts"]
    receipt = read_receipt(given["receipt"], keys_of(world.call("GET", "/.well-known/jwks.json").json()))
    assert receipt.jti == given["jti"] == jti(token)
    shown = world.call("GET", f"/ect/{receipt.jti}", key=pen.agent["agent_token"]).json()
    assert shown["token"] == token
    assert shown["seq"] == receipt.seq


def test_a_token_may_be_the_body_itself(world, pen):
    answer = world.call(
        "POST",
        "/ect",
        key=pen.agent["agent_token"],
        content=pen.token(),
        headers={"Content-Type": "application/exec+jwt"},
    )

    assert answer.status_code == 201


def test_all_tokens_submitted_together_are_recorded_or_none(world, pen):
    good = pen.token()

    answer = world.call("POST", "/ect", key=pen.agent["agent_token"], json={"ects": [good, tampered(pen)]})

    assert answer.status_code == 403
    assert world.call("GET", f"/ect/{jti(good)}").status_code == 404


def test_an_unsigned_token_is_not_recorded(world, pen):
    now = world.clock.now_ms() // 1000
    unsigned = issue(pen.ring, "research", ISSUER, now, level=Level.L1)

    answer = world.call("POST", "/ect", key=pen.agent["agent_token"], json={"ects": [unsigned]})

    assert answer.status_code == 403


def test_another_principal_sees_no_token_of_mine(world, pen):
    token = pen.token()
    decision = pen.verify(token).json()
    node = pen.entry(decision["activity_id"])["ect_jti"]
    stranger = world.principal_key("other", scopes=["read", "verify"])

    answers = [world.call("GET", f"/ect/{each}", key=stranger) for each in (jti(token), node)]

    assert [answer.status_code for answer in answers] == [404, 404]
    assert world.call("GET", f"/ect/{node}", key=OPERATOR_KEY).status_code == 200


# --- a row that somebody edited --------------------------------------------------------------------


EDITS = {
    "the decision": "decision = 'APPROVED'",
    "the payload": "payload = CAST(replace(CAST(payload AS TEXT), 'DENIED', 'APPROVED') AS BLOB)",
    "the time": "at_ms = at_ms + 1000",
    "the agent": "agent_id = 'agent_else'",
}


def deny(world):
    world.prover.says(Status.FAILED)
    denied = world.verify(world.register(), {"type": "calculate", "query": "1=2"}, 1, "c")
    assert denied["decision"] == "DENIED"
    return denied["activity_id"]


@pytest.mark.parametrize("edit", EDITS)
def test_no_token_is_signed_for_a_row_that_somebody_edited(tmp_path, edit):
    world = World(database=tmp_path / "qwed.db")
    try:
        node = jti_of(deny(world))
        assert claims(world.call("GET", f"/ect/{node}").json()["token"])["jti"] == node
        with contextlib.closing(sqlite3.connect(tmp_path / "qwed.db", isolation_level=None)) as intruder:
            intruder.execute(f"UPDATE activities SET {EDITS[edit]} WHERE decision = 'DENIED'")
        answer = world.call("GET", f"/ect/{node}")
        assert answer.status_code == 503, answer.text
        assert "token" not in answer.json()
    finally:
        world.close()


def test_a_row_whose_salt_somebody_took_away_has_no_token_either(tmp_path):
    world = World(database=tmp_path / "qwed.db")
    try:
        node = jti_of(deny(world))
        with contextlib.closing(sqlite3.connect(tmp_path / "qwed.db", isolation_level=None)) as intruder:
            intruder.execute(
                "UPDATE activities SET salt = NULL, decision = 'APPROVED' WHERE decision = 'DENIED'"
            )
        answer = world.call("GET", f"/ect/{node}").json()
        assert (answer["token"], answer["erased"]) == (None, True)
    finally:
        world.close()
