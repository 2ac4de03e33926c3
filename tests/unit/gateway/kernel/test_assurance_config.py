"""Every cell of the table of profiles, through a running gateway."""

import uuid
from decimal import Decimal

import msgspec
import pytest
from tests.support.tokens import SigningAgent, jti_in
from tests.support.world import World

from qwed import bootstrap
from qwed.assurance.assertions import body_of as assertion_body
from qwed.assurance.specs import read_spec, sign_spec
from qwed.domain.findings import Status
from qwed.domain.policy import DEFAULT_POLICY, AssuranceRules, Profile
from qwed.domain.risk import Risk
from qwed.ect import KeyRing, generate, hash_bytes, issue
from qwed.ect.tokens import Level
from qwed.ect.verifier import TrustedKeys
from qwed.gateway.kernel.issuers import Issuers
from qwed.gateway.trust.behaviours import check_periodically

RELAXED, STANDARD, REGULATED = Profile
PROFILES = list(Profile)
INPUT = hash_bytes(b"input")


def policy_of(profile, **switches):
    rules = AssuranceRules(**switches)
    return msgspec.structs.replace(DEFAULT_POLICY, profile=profile, assurance=rules)


@pytest.fixture
def opened(tmp_path):
    """Opens gateways on files, with the real clock."""
    worlds = []

    def open_world(profile, issuers=None, **switches):
        path, policy = tmp_path / f"{uuid.uuid4()}.db", policy_of(profile, **switches)
        worlds.append(World(policy=policy, database=path, clock=bootstrap.SystemClock(), issuers=issuers))
        return worlds[-1]

    yield open_world
    for world in worlds:
        world.close()


class Actor(SigningAgent):
    """Trusted, so that only the profile stands in its way; it brings what its profile asks for."""

    def __init__(self, world, **registration):
        super().__init__(world, type="trusted", trust_level=3, **registration)
        self.step = 0

    def on_record(self, *tokens):
        self.submit(*tokens)
        return tokens

    def act(self, risk=Risk.LOW, ects=(), **more):
        self.world.prover.says(Status.VERIFIED, risk)
        self.step += 1
        action = {"type": "calculate", "query": f"{self.step}+1"}
        return self.verify(action, self.step, ects=ects, **more)

    def checkpoint(self):
        return self.on_record(self.token("atd:checkpoint", inp_hash=INPUT))

    def proper(self, risk=Risk.LOW):
        """With everything that any profile asks for."""
        return self.act(risk, ects=self.checkpoint())


def code(response):
    return response.json().get("error", {}).get("code")


def decision(response):
    return response.json()["decision"]


# --- ECT level --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("profile", "least"), list(zip(PROFILES, Level, strict=True)))
def test_tokens_have_at_least_the_level_of_the_profile(opened, profile, least):
    actor = Actor(opened(profile))
    now = actor.world.clock.now_ms() // 1000
    audience = actor.world.services.signer.issuer
    unsigned = issue(actor.ring, "read", audience, now, inp_hash=INPUT, level=Level.L1)
    tokens = {
        Level.L1: unsigned,
        Level.L2: actor.token("read", inp_hash=INPUT),
        Level.L3: actor.on_record(actor.token("read", inp_hash=INPUT))[0],
    }
    for level, token in tokens.items():
        answer = actor.act(ects=[token])
        if level >= least:
            assert decision(answer) == "APPROVED", (level, answer.text)
        else:
            assert (answer.status_code, code(answer)) == (403, "QWED-PROFILE-001")


@pytest.mark.parametrize("profile", PROFILES)
def test_without_a_token_only_regulated_refuses(opened, profile):
    answer = Actor(opened(profile)).act()

    assert (answer.status_code == 403) == (profile is REGULATED)
    assert (decision(answer) == "APPROVED") == (profile is not REGULATED)


# --- trust scoring and thresholds -------------------------------------------------------------------


@pytest.mark.parametrize("profile", PROFILES)
def test_trust_is_scored_as_the_profile_says(opened, profile):
    world = opened(profile)
    actor = Actor(world)
    path = f"/agents/{actor.agent['agent_id']}/trust-score"

    assert (world.call("GET", path).status_code == 200) == (profile is not RELAXED)


def test_scoring_can_be_turned_on_where_it_is_optional(opened):
    actor = Actor(opened(RELAXED, trust_scoring=True))

    assert actor.world.call("GET", f"/agents/{actor.agent['agent_id']}/trust-score").status_code == 200


@pytest.mark.parametrize("profile", PROFILES)
def test_thresholds_are_enforced_as_the_profile_says(opened, profile):
    world = opened(profile, trust_scoring=True)
    actor = Actor(world)
    assert decision(actor.proper()) == "APPROVED"
    world.call("POST", "/trust-score", json={"peer": actor.did, "score": 0.1, "reason": "for this test"})
    answer = actor.proper()

    if profile is RELAXED:
        assert decision(answer) == "APPROVED"
    else:
        assert (answer.status_code, code(answer)) == (403, "QWED-TRUST-001")
        assert "0.1" not in answer.text.replace(actor.agent["agent_id"], "")


def test_thresholds_can_be_turned_off_where_they_are_recommended(opened):
    world = opened(STANDARD, trust_thresholds=False)
    actor = Actor(world)
    world.call("POST", "/trust-score", json={"peer": actor.did, "score": 0.1, "reason": "for this test"})

    assert decision(actor.proper()) == "APPROVED"


# --- behaviour --------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", PROFILES)
def test_behaviour_is_verified_as_the_profile_says(opened, profile):
    world = opened(profile)
    actor = Actor(world)
    spec = read_spec(
        {
            "spec_version": "1",
            "agent_id": actor.did,
            "allowed_actions": ["read"],
            # Regulated, tokens are checked as they come, whatever the specification says.
            "verification_frequency": "periodic",
        }
    )
    signed = sign_spec(world.services.signer, spec, world.clock.now_ms() // 1000)
    path = f"/agents/{actor.agent['agent_id']}/behavior-spec"
    answer = world.call("PUT", path, json={"signed": signed})
    if profile is RELAXED:
        assert answer.status_code == 404
        return
    actor.submit(actor.token("other", inp_hash=INPUT))
    at_once = _checks(world)
    world.run(check_periodically(world.services))

    assert answer.status_code == 200, answer.text
    assert bool(at_once) == (profile is REGULATED)
    assert "failing" in _checks(world)


def _checks(world):
    found = world.call("GET", "/activity", params={"action_type": "check_compliance"}).json()["activities"]
    return [entry["action"]["parameters"]["apae.compliance_status"] for entry in found]


def test_unsigned_specifications_are_refused_in_regulated_and_warned_of_in_standard(opened):
    for profile, status in ((STANDARD, 200), (REGULATED, 422)):
        actor = Actor(opened(profile))
        document = {"spec_version": "1", "agent_id": actor.did, "allowed_actions": []}
        path = f"/agents/{actor.agent['agent_id']}/behavior-spec"
        answer = actor.world.call("PUT", path, json={"spec": document})

        assert answer.status_code == status
        assert ("warning" in answer.json()) == (profile is STANDARD)


# --- words of others --------------------------------------------------------------------------------


def _word(world, ring, subject):
    now = world.clock.now_ms() // 1000
    body = assertion_body(subject, Decimal("0.9"), 12)
    return issue(ring, "apae:trust_assertion", [world.services.signer.issuer], now, ext=body, inp_hash=INPUT)


def _is_heard(world, subject):
    return "assertion" in world.call("GET", "/trust-score", params={"peer": subject}).json()


@pytest.mark.parametrize("profile", [STANDARD, REGULATED])
def test_regulated_hears_only_about_whom_the_directory_lists(opened, profile):
    world = opened(profile)
    asserter, subject, gone = (Actor(world, name=name) for name in ("asserter", "subject", "gone"))
    world.call("DELETE", f"/agents/{gone.agent['agent_id']}")
    stranger = "spiffe://example.com/agent/stranger"
    asserter.submit(*(_word(world, asserter.ring, about) for about in (subject.did, gone.did, stranger)))

    assert _is_heard(world, subject.did)
    assert _is_heard(world, gone.did) == (profile is STANDARD)
    assert _is_heard(world, stranger) == (profile is STANDARD)


def test_configured_issuers_are_in_the_directory(opened):
    ring = KeyRing("spiffe://example.com/agent/partner", generate())
    world = opened(REGULATED, Issuers(TrustedKeys.from_jwks({ring.issuer: ring.jwks()})))
    subject, carrier = Actor(world, name="subject"), Actor(world, name="carrier")
    carrier.submit(_word(world, ring, subject.did))

    assert _is_heard(world, subject.did)


# --- people -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("risk", Risk, ids=lambda risk: risk.wire)
def test_people_stand_before_what_the_profile_says(opened, profile, risk):
    asked_from = {RELAXED: None, STANDARD: Risk.CRITICAL, REGULATED: Risk.HIGH}[profile]
    waits = asked_from is not None and risk >= asked_from

    assert decision(Actor(opened(profile)).proper(risk)) == ("PENDING" if waits else "APPROVED")


# --- provenance -------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", PROFILES)
def test_provenance_is_answered_and_asked_for_as_the_profile_says(opened, profile):
    world = opened(profile)
    actor = Actor(world)
    (token,) = actor.on_record(actor.token("read"))
    question = world.call("GET", f"/provenance/{jti_in(token)}/complete")
    answer = actor.act(ects=[token])

    assert (question.status_code == 200) == (profile is REGULATED)
    assert (code(answer) == "QWED-PROFILE-001") == (profile is REGULATED)


def test_provenance_can_be_turned_on_where_it_is_optional_or_off(opened):
    for profile in (RELAXED, STANDARD):
        actor = Actor(opened(profile, data_provenance=True))
        (token,) = actor.on_record(actor.token("read", inp_hash=INPUT))

        assert actor.world.call("GET", f"/provenance/{jti_in(token)}/who").status_code == 200


# --- checkpoints ------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", PROFILES)
def test_a_consequential_action_needs_a_checkpoint_of_its_own(opened, profile):
    actor = Actor(opened(profile))
    other = Actor(actor.world, name="other")
    plain = actor.on_record(actor.token("read", inp_hash=INPUT))
    foreign = other.checkpoint()
    own = actor.checkpoint()

    assert code(actor.act(Risk.HIGH, ects=plain)) == "QWED-PROFILE-001"
    assert code(actor.act(Risk.HIGH, ects=foreign)) == "QWED-PROFILE-001"
    assert decision(actor.act(Risk.HIGH, ects=own)) in ("APPROVED", "PENDING")
    assert code(actor.act(Risk.HIGH, ects=own)) == "QWED-PROFILE-001"
    assert decision(actor.act(Risk.MEDIUM, ects=plain)) == "APPROVED"


def test_a_checkpoint_that_was_used_is_used_after_a_restart_too(tmp_path):
    def opened():
        policy, clock = policy_of(STANDARD), bootstrap.SystemClock()
        return World(policy=policy, database=tmp_path / "q.db", clock=clock)

    first = opened()
    actor = Actor(first)
    own = actor.checkpoint()
    used = decision(actor.act(Risk.HIGH, ects=own))
    first.close()
    second = actor.world = opened()
    again = code(actor.act(Risk.HIGH, ects=own))
    fresh = decision(actor.act(Risk.HIGH, ects=actor.checkpoint()))
    second.close()

    assert (used, again, fresh) == ("APPROVED", "QWED-PROFILE-001", "APPROVED")


@pytest.mark.parametrize("profile", [STANDARD, REGULATED])
def test_what_the_agents_specification_gates_is_consequential_at_any_risk(opened, profile):
    world = opened(profile)
    actor = Actor(world)
    document = {
        "spec_version": "1.0",
        "agent_id": actor.did,
        "allowed_actions": ["read"],
        "constraints": {"require_checkpoint_before": ["calculate"]},
    }
    signed = sign_spec(world.services.signer, read_spec(document), world.clock.now_ms() // 1000)
    path = f"/agents/{actor.agent['agent_id']}/behavior-spec"
    assert world.call("PUT", path, json={"signed": signed}).status_code == 200
    plain = actor.on_record(actor.token("read", inp_hash=INPUT))

    assert code(actor.act(Risk.LOW, ects=plain)) == "QWED-PROFILE-001"
    expected = "PENDING" if profile is REGULATED else "APPROVED"
    assert decision(actor.act(Risk.LOW, ects=actor.checkpoint())) == expected


def test_checkpoints_can_be_turned_off_where_they_are_recommended(opened):
    assert decision(Actor(opened(RELAXED, checkpoints=False)).act(Risk.HIGH)) == "APPROVED"


# --- the ledger, and what stops the start -----------------------------------------------------------


@pytest.mark.parametrize("profile", PROFILES)
def test_only_regulated_needs_a_ledger_that_lasts(profile):
    try:
        services = bootstrap.build(None, policy=policy_of(profile))
    except bootstrap.ProfileUnmet as error:
        assert profile is REGULATED
        assert "audit_ledger" in str(error)
        assert "name a database" in str(error)
    else:
        bootstrap.close(services)
        assert profile is not REGULATED


REQUIRED = {
    STANDARD: ("behaviour_verification", "hitl_gates", "checkpoints"),
    REGULATED: (
        "trust_scoring",
        "trust_thresholds",
        "behaviour_verification",
        "hitl_gates",
        "data_provenance",
        "checkpoints",
    ),
}


@pytest.mark.parametrize(
    ("profile", "switch"), [(profile, name) for profile, names in REQUIRED.items() for name in names]
)
def test_what_is_required_and_off_stops_the_start_and_is_named(tmp_path, profile, switch):
    with pytest.raises(bootstrap.ProfileUnmet, match=f"{switch} is required in {profile}"):
        bootstrap.build(tmp_path / "store.db", policy=policy_of(profile, **{switch: False}))


def test_regulated_works_on_the_embedded_default(opened):
    actor = Actor(opened(REGULATED))
    waiting = actor.proper(Risk.HIGH).json()
    approver = actor.world.principal_key(scopes=["approve"])
    approved = actor.world.call(
        "POST", f"/approvals/{waiting['approval']['id']}/approve", key=approver, json={}
    )

    assert approved.status_code == 200, approved.text
    assert decision(actor.proper()) == "APPROVED"


# --- which profile ----------------------------------------------------------------------------------


def test_a_token_can_raise_the_profile_and_never_lower_it(opened):
    actor = Actor(opened(RELAXED))
    raised = actor.token("read", inp_hash=INPUT, ext={"apae.assurance_profile": "regulated"})
    strict = Actor(opened(REGULATED))
    lowered = strict.token("read", inp_hash=INPUT, ext={"apae.assurance_profile": "relaxed"})

    # Not on record, so of level 2 only.
    assert code(strict.act(ects=[lowered])) == "QWED-PROFILE-001"
    assert "does not give" not in strict.act(ects=[lowered]).text
    assert "level L3" in actor.act(ects=[raised]).text


def test_an_unknown_profile_is_denied(opened):
    actor = Actor(opened(RELAXED))
    for name in ("strict", "", 7, None):
        token = actor.token("read", inp_hash=INPUT, ext={"apae.assurance_profile": name})
        assert code(actor.act(ects=[token])) == "QWED-PROFILE-001"


def test_without_a_profile_nothing_is_asked_for():
    world = World()
    try:
        actor = Actor(world)
        assert decision(actor.act(Risk.CRITICAL)) == "APPROVED"
    finally:
        world.close()


# --- workflows --------------------------------------------------------------------------------------


def workflow(world, agent, constraints, rules=(), critical=False):
    node = {"id": "n", "agent": agent.did, "constraints": constraints, "critical": critical}
    body = {"dag": {"nodes": [node], "edges": []}, "hitl": {"rules": list(rules)}}
    answer = world.call("POST", "/workflows", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()["workflow_id"]


def at_node(actor, workflow_id, risk=Risk.LOW, ects=()):
    actor.step += 1
    context = {
        "conversation_id": "w",
        "step_number": actor.step,
        "workflow_id": workflow_id,
        "node_id": "n",
    }
    actor.world.prover.says(Status.VERIFIED, risk)
    action = {"type": "calculate", "query": f"{actor.step}+1"}
    return actor.verify(action, context=context, ects=ects)


def test_a_node_can_raise_the_profile(opened):
    actor = Actor(opened(RELAXED))
    answer = at_node(actor, workflow(actor.world, actor, {"apae.assurance_profile": "regulated"}))

    assert code(answer) == "QWED-PROFILE-001"


def test_a_critical_node_waits_for_a_person_in_standard(opened):
    actor = Actor(opened(STANDARD))

    assert decision(at_node(actor, workflow(actor.world, actor, {}))) == "APPROVED"
    assert decision(at_node(actor, workflow(actor.world, actor, {}, critical=True))) == "PENDING"


@pytest.mark.parametrize(
    "constraints",
    [{"apae.min_trust": 0.7}, {"apae.min_confidence": "medium"}],
    ids=lambda value: next(iter(value)),
)
def test_a_node_asks_for_trust_and_says_nothing_about_it(opened, constraints):
    actor = Actor(opened(RELAXED, trust_scoring=True))
    answer = at_node(actor, workflow(actor.world, actor, constraints))

    assert (answer.status_code, code(answer)) == (403, "QWED-TRUST-001")
    actor.world.call("POST", "/trust-score", json={"peer": actor.did, "score": 0.9, "reason": "known"})
    met = decision(at_node(actor, workflow(actor.world, actor, constraints))) == "APPROVED"
    assert met == ("apae.min_trust" in constraints)


def test_where_nobody_scores_a_threshold_cannot_be_met(opened):
    actor = Actor(opened(RELAXED))

    assert decision(at_node(actor, workflow(actor.world, actor, {"apae.min_trust": 0.1}))) == "DENIED"


LOW_TRUST = {
    "id": "r-low-trust",
    "trigger": {
        "kind": "confidence_below",
        "op": "lt",
        "value": 0.6,
        "input_ref": "apae.peer_trust_score",
    },
    "required_role": "operator:security",
    "action": "escalate",
    "allow_override": True,
    "override_action": "continue",
}


def test_low_trust_asks_a_person_who_may_waive_the_threshold_once(opened):
    world = opened(RELAXED, trust_scoring=True)
    actor = Actor(world)
    workflow_id = workflow(world, actor, {"apae.min_trust": 0.7}, [LOW_TRUST])
    asked = at_node(actor, workflow_id).json()
    assert asked["decision"] == "PENDING"
    security = world.principal_key(scopes=["approve"], roles=["operator:security"])
    approval = f"/approvals/{asked['approval']['id']}"
    assert world.call("POST", f"{approval}/approve", key=security, json={}).status_code == 200
    action = {"type": "calculate", "query": f"{actor.step}+1"}
    redeemed = world.call(
        "POST", f"{approval}/redeem", key=actor.agent["agent_token"], json={"action": action}
    )

    assert redeemed.json()["decision"] == "APPROVED"
    assert at_node(actor, workflow_id).json()["decision"] == "PENDING"
