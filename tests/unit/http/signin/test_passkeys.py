"""Approvals above a risk are signed with a passkey; everything but an honest signature is refused."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from tests.support.passkeys import PRESENT, SoftPasskey, raw, text
from tests.support.signing_in import PersonsBrowser
from tests.support.world import OPERATOR_KEY, World

from qwed.domain.passkeys import PasskeyProof, SignedApproval
from qwed.domain.people import PeopleRules
from qwed.domain.policy import DEFAULT_POLICY, ApprovalRules, Policy, Separate
from qwed.http.app import create_app
from qwed.ledger.passkeys import ADD, ANSWER, PasskeyAudit

HOME, SITE = "https://gateway.example", "gateway.example"
MAIL = {"type": "send_email", "parameters": {"to": "a@example.com", "subject": "s", "body": "hello"}}
NEEDED = "QWED-APPROVAL-007"


def policy(separate: Separate = Separate.OFF, **people: Any) -> Policy:
    rules = PeopleRules(**{"passkey_from": "low", **people})
    return msgspec.structs.replace(
        DEFAULT_POLICY, people=rules, approvals=ApprovalRules(separate=separate, ttl_seconds=100_000)
    )


class PasskeyWorld(World):
    def __init__(self, rules: Policy) -> None:
        super().__init__(policy=rules)
        self._app = create_app(self.services, log=self._events, home=HOME)
        self.steps = 0

    def ask(self) -> str:
        """The id of an approval that waits."""
        self.steps += 1
        answer = self.verify(self.agent, MAIL, step=self.steps, key=self.agent["agent_token"])
        assert answer["decision"] == "PENDING", answer
        return answer["approval"]["id"]

    def person(self, key: str) -> PersonsBrowser:
        browser = PersonsBrowser(self)  # type: ignore[arg-type]
        browser.csrf = browser.call("POST", "/session", json={"api_key": key}).json()["csrf_token"]
        return browser


@pytest.fixture
def world() -> Iterator[PasskeyWorld]:
    made = PasskeyWorld(policy())
    made.agent = made.register(type="supervised", key=OPERATOR_KEY)
    yield made
    made.close()


@pytest.fixture
def ada(world: PasskeyWorld) -> PersonsBrowser:
    return world.person(world.principal_key(scopes=["read", "approve"]))


def add(browser: PersonsBrowser, passkey: SoftPasskey, **more: Any) -> Any:
    asked = browser.call("POST", "/passkeys/options").json()
    return browser.call("POST", "/passkeys", json={**passkey.make(asked), "label": "laptop", **more})


@pytest.fixture
def passkey(ada: PersonsBrowser) -> SoftPasskey:
    made = SoftPasskey(HOME, SITE)
    added = add(ada, made)
    assert added.status_code == 201, added.text
    return made


def to_sign(browser: PersonsBrowser, approval: str, **body: Any) -> dict[str, Any]:
    asked = browser.call("POST", f"/approvals/{approval}/passkey", json=body)
    assert asked.status_code == 200, asked.text
    return asked.json()


def approve(browser: PersonsBrowser, approval: str, **body: Any) -> tuple[int, str]:
    answer = browser.call("POST", f"/approvals/{approval}/approve", json=body)
    said = answer.json()
    return answer.status_code, said["status"] if answer.status_code == 200 else said["error"]["code"]


def votes(world: PasskeyWorld) -> list[tuple[str, bytes]]:
    """What the record keeps of passkeys, oldest first."""
    entries = []
    for what in (ADD, ANSWER):
        listed = world.call("GET", "/activity", params={"action_type": what}).json()["activities"]
        for one in reversed(listed):
            shown = world.call("GET", f"/activity/{one['activity_id']}").json()["activity"]
            entries.append((what, msgspec.json.encode(shown)))
    return entries


def test_an_approval_above_the_risk_takes_a_passkey_and_a_denial_does_not(
    world: PasskeyWorld, ada: PersonsBrowser, passkey: SoftPasskey
):
    first, second = world.ask(), world.ask()
    assert approve(ada, first) == (403, NEEDED)
    assert ada.call("POST", f"/approvals/{second}/deny", json={}).status_code == 200

    assert approve(ada, first, passkey=passkey.sign(to_sign(ada, first))) == (200, "approved")
    vote = ada.call("GET", f"/approvals/{first}").json()["votes"][0]
    assert vote["passkey"] == text(passkey.id)


def test_below_the_risk_no_passkey_is_asked_for(world: PasskeyWorld, ada: PersonsBrowser):
    world.services.live.newest = msgspec.structs.replace(
        world.services, policy=policy(passkey_from="critical")
    )

    assert approve(ada, world.ask()) == (200, "approved")


def test_the_signature_in_the_record_is_checked_again(
    world: PasskeyWorld, ada: PersonsBrowser, passkey: SoftPasskey
):
    approval = world.ask()
    assert approve(ada, approval, passkey=passkey.sign(to_sign(ada, approval)))[0] == 200

    audit = PasskeyAudit()
    entries = votes(world)
    assert [audit.find_problem(*entry, is_whole=True) for entry in entries] == [None, None]
    assert audit.checked == 1
    # Without the entry that added it, nobody knows whose it is.
    assert "never added" in str(PasskeyAudit().find_problem(*entries[1], is_whole=True))


@pytest.mark.parametrize("member", ["action_hash", "shown_hash", "approval_id", "owner", "nonce"])
def test_a_record_that_says_that_something_else_was_signed_is_found(
    world: PasskeyWorld, ada: PersonsBrowser, passkey: SoftPasskey, member: str
):
    approval = world.ask()
    assert approve(ada, approval, passkey=passkey.sign(to_sign(ada, approval)))[0] == 200
    entry = msgspec.json.decode(votes(world)[1][1])
    entry["passkey"]["signed"][member] = "x"

    assert PasskeyAudit().find_problem(ANSWER, msgspec.json.encode(entry), is_whole=False) is not None


LIES: dict[str, dict[str, Any]] = {
    "the person was not verified": {"flags": PRESENT},
    "nobody was there": {"flags": 0},
    "another site": {"origin": "https://evil.example"},
    "a frame of another site": {"crossOrigin": True},
    "a registration instead": {"type": "webauthn.create"},
    "another question": {"challenge": text(b"\0" * 32)},
    "a count that does not rise": {"counts": False},
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lying_assertion_is_refused(
    world: PasskeyWorld, ada: PersonsBrowser, passkey: SoftPasskey, lie: str
):
    before, approval = world.ask(), world.ask()
    assert approve(ada, before, passkey=passkey.sign(to_sign(ada, before)))[0] == 200

    answer = passkey.sign(to_sign(ada, approval), **LIES[lie])
    assert approve(ada, approval, passkey=answer) == (403, NEEDED)
    assert ada.call("GET", f"/approvals/{approval}").json()["status"] == "open"


@pytest.mark.parametrize("part", ["clientDataJSON", "authenticatorData", "signature"])
def test_one_changed_byte_of_an_assertion_is_refused(
    world: PasskeyWorld, ada: PersonsBrowser, passkey: SoftPasskey, part: str
):
    approval = world.ask()
    answer = passkey.sign(to_sign(ada, approval))
    given = bytearray(raw(answer["credential"]["response"][part]))
    given[-1] ^= 1
    answer["credential"]["response"][part] = text(bytes(given))

    assert approve(ada, approval, passkey=answer) == (403, NEEDED)


def test_a_signature_is_for_one_approval_and_one_use(
    world: PasskeyWorld, ada: PersonsBrowser, passkey: SoftPasskey
):
    first, second = world.ask(), world.ask()
    answer = passkey.sign(to_sign(ada, first))

    assert approve(ada, second, passkey=answer) == (403, NEEDED)
    assert approve(ada, first, passkey=answer) == (403, NEEDED)


def test_what_was_edited_after_it_was_signed_is_refused(
    world: PasskeyWorld, ada: PersonsBrowser, passkey: SoftPasskey
):
    approval = world.ask()
    other = {**MAIL, "parameters": {**MAIL["parameters"], "to": "b@example.com"}}

    answer = passkey.sign(to_sign(ada, approval))
    assert approve(ada, approval, action=other, passkey=answer) == (403, NEEDED)
    answer = passkey.sign(to_sign(ada, approval, action=other))
    assert approve(ada, approval, action=other, passkey=answer) == (200, "approved")


def test_a_question_is_answered_by_whom_it_was_asked_and_in_time(
    world: PasskeyWorld, ada: PersonsBrowser, passkey: SoftPasskey
):
    bob = world.person(world.principal_key(scopes=["read", "approve"]))
    approval = world.ask()
    answer = passkey.sign(to_sign(ada, approval))

    assert approve(bob, approval, passkey=answer) == (403, NEEDED)
    assert approve(bob, approval, passkey={**answer, "flow": "made-up"}) == (403, NEEDED)
    late = passkey.sign(to_sign(ada, approval))
    world.clock.advance(301_000)
    assert approve(ada, approval, passkey=late) == (403, NEEDED)


def test_another_passkey_is_added_only_with_one_that_is_there(
    world: PasskeyWorld, ada: PersonsBrowser, passkey: SoftPasskey
):
    thief = SoftPasskey(HOME, SITE)
    assert add(ada, thief).json()["error"]["code"] == NEEDED
    asked = ada.call("POST", "/passkeys/options").json()
    # An approval's question does not serve as the proof, nor does the thief's own signature.
    assert add(ada, thief, proof=thief.sign(asked["proof"])).status_code == 403

    asked = ada.call("POST", "/passkeys/options").json()
    second = SoftPasskey(HOME, SITE)
    body = {**second.make(asked), "proof": passkey.sign(asked["proof"])}
    assert ada.call("POST", "/passkeys", json=body).status_code == 201
    assert len(ada.call("GET", "/passkeys").json()["passkeys"]) == 2


def test_an_old_session_and_a_key_alone_add_no_passkey(world: PasskeyWorld, ada: PersonsBrowser):
    world.clock.advance(901_000)
    assert add_status(ada) == 403

    assert world.call("POST", "/passkeys/options", key=OPERATOR_KEY).status_code == 403


def add_status(browser: PersonsBrowser) -> int:
    return browser.call("POST", "/passkeys/options").status_code


def test_a_passkey_of_another_site_is_not_added(ada: PersonsBrowser):
    assert add(ada, SoftPasskey("https://evil.example", SITE)).status_code == 403
    assert add(ada, SoftPasskey(HOME, "evil.example")).status_code == 403
    assert ada.call("GET", "/passkeys").json()["passkeys"] == []


@pytest.mark.parametrize(
    "lie",
    [
        {"flags": PRESENT},
        {"flags": 0},
        {"kind": "webauthn.get"},
        {"challenge": text(b"\0" * 32)},
    ],
    ids=["the person was not verified", "nobody was there", "a signature instead", "another question"],
)
def test_a_passkey_made_in_a_weaker_way_is_not_added(ada: PersonsBrowser, lie: dict[str, Any]):
    asked = ada.call("POST", "/passkeys/options").json()
    answer = ada.call("POST", "/passkeys", json={**SoftPasskey(HOME, SITE).make(asked, **lie), "label": "x"})

    assert answer.status_code == 403, answer.text
    assert ada.call("GET", "/passkeys").json()["passkeys"] == []


@pytest.mark.parametrize("how", ["late", "by somebody else", "twice"])
def test_a_question_for_a_new_passkey_is_answered_once_in_time_by_whom_it_was_asked(
    world: PasskeyWorld, ada: PersonsBrowser, how: str
):
    asked = ada.call("POST", "/passkeys/options").json()
    body = {**SoftPasskey(HOME, SITE).make(asked), "label": "x"}
    who = ada
    if how == "late":
        world.clock.advance(301_000)
    elif how == "twice":
        assert ada.call("POST", "/passkeys", json=body).status_code == 201
    else:
        who = world.person(world.principal_key(scopes=["read", "approve"]))

    assert who.call("POST", "/passkeys", json=body).status_code == 403
    assert len(ada.call("GET", "/passkeys").json()["passkeys"]) == (how == "twice")


def test_an_operator_takes_lost_passkeys_away_and_not_their_own(
    world: PasskeyWorld, ada: PersonsBrowser, passkey: SoftPasskey
):
    owner = ada.call("GET", "/passkeys").json()["owner"]
    assert ada.call("DELETE", f"/passkeys/{owner}").status_code == 403
    world.services.live.newest = msgspec.structs.replace(
        world.services, policy=policy(Separate.WHEN_POSSIBLE)
    )
    root = world.person(OPERATOR_KEY)
    assert add(root, SoftPasskey(HOME, SITE)).status_code == 201
    own = root.call("GET", "/passkeys").json()["owner"]

    assert world.call("DELETE", f"/passkeys/{own}").status_code == 403
    assert world.call("DELETE", f"/passkeys/{owner}").json() == {"owner": owner, "removed": 1}
    assert world.call("DELETE", f"/passkeys/{owner}").status_code == 404
    approval = world.ask()
    asked = ada.call("POST", f"/approvals/{approval}/passkey", json={})
    assert asked.json()["error"]["code"] == NEEDED


def test_a_policy_that_asks_for_a_reason_gets_one(world: PasskeyWorld, ada: PersonsBrowser):
    rules = policy(passkey_from=None, reason_from="low")
    world.services.live.newest = msgspec.structs.replace(world.services, policy=rules)
    approval = world.ask()

    assert approve(ada, approval) == (422, "QWED-APPROVAL-008")
    assert approve(ada, approval, note="  ") == (422, "QWED-APPROVAL-008")
    assert approve(ada, approval, note="the customer asked for it") == (200, "approved")


def test_where_no_address_is_set_nothing_is_approved_without_one(tmp_path: Any):
    world = World(policy=policy())
    try:
        agent = world.register(type="supervised", key=OPERATOR_KEY)
        approval = world.verify(agent, MAIL, key=agent["agent_token"])["approval"]["id"]
        key = world.principal_key(scopes=["read", "approve"])
        answer = world.call("POST", f"/approvals/{approval}/approve", key=key, json={})
        asked = world.call("POST", f"/approvals/{approval}/passkey", key=key, json={})
    finally:
        world.close()

    assert answer.json()["error"]["code"] == NEEDED
    assert asked.status_code == 404 and "QWED_PUBLIC_URL" in asked.text


def test_the_challenge_depends_on_everything_that_is_signed():
    signed = SignedApproval("a", "b", "c", "d", "e")
    others = {msgspec.structs.replace(signed, **{name: "x"}).challenge for name in signed.__struct_fields__}

    assert len(others | {signed.challenge}) == 6
    assert PasskeyProof.__struct_fields__[0] == "signed"
