"""Behaviour verification: specifications, the four checks, and the tokens that report them."""

import itertools
import uuid

import msgspec
import pytest

from qwed.assurance.behaviour import MAX_WORKFLOWS, BehaviourRule, Monitor
from qwed.assurance.compliance import Watch, duration
from qwed.assurance.specs import InvalidSpec, read_signed_spec, read_spec, sign_spec, update_body
from qwed.ect import KeyRing, TrustedKeys, generate, issue
from qwed.ect.claims import MAX_EXT_BYTES, Claims, extensions
from qwed.ect.dag import TokenNode

AGENT = "spiffe://example.com/agent/firewall"
OTHER = "spiffe://example.com/agent/other"
NOW = 1_800_000_000
W1, W2 = str(uuid.UUID(int=1)), str(uuid.UUID(int=2))
DOCUMENT = {
    "spec_version": "1.0",
    "agent_id": AGENT,
    "allowed_actions": ["update_rules", "read_config", "report"],
    "constraints": {
        "max_actions_per_minute": 60,
        "forbidden_targets": ["core-router-*"],
        "require_checkpoint_before": ["update_rules"],
    },
    "verification_frequency": "continuous",
}
_numbers = itertools.count(1_000)


def token(act="read_config", iat=NOW, par=(), wid=W1, iss=AGENT, **ext):
    jti = str(uuid.UUID(int=next(_numbers)))
    keys = {name.replace("__", "."): value for name, value in ext.items()}
    return Claims(iss, ("https://verifier.example",), iat, iat + 600, jti, act, par, wid=wid, ext=keys)


def spec(**changes):
    return read_spec(DOCUMENT | changes)


def found(monitor, claims, received=None):
    at = claims.iat if received is None else received
    return [violation.rule for violation in monitor.check(claims, int(at * 1000))]


def test_the_seeds_specification_is_read():
    assert spec().constraints.max_actions_per_minute == 60
    assert spec().verification_frequency.value == "continuous"


@pytest.mark.parametrize(
    "wrong",
    [
        {"constraints": {"max_cost": 5}},
        {"constraints": {"max_actions_per_minute": -1}},
        {"constraints": {"max_actions_per_minute": "60"}},
        {"verification_frequency": "sometimes"},
        {"allowed_actions": "all"},
        {"allowed_actions": [""]},
        {"allowed_actions": ["a"] * 1_001},
        {"agent_id": "firewall"},
        {"agent_id": "spiffe://" + "a" * 600},
        {"spec_version": ""},
        {"extra": 1},
    ],
    ids=lambda wrong: "-".join(map(str, wrong))[:40],
)
def test_a_specification_that_cannot_be_followed_is_refused(wrong):
    with pytest.raises(InvalidSpec):
        spec(**wrong)
    with pytest.raises(InvalidSpec):
        read_spec([])


def test_only_listed_actions_are_allowed_and_an_empty_list_allows_nothing():
    assert found(Monitor(spec()), token("read_config")) == []
    assert found(Monitor(spec()), token("delete_everything")) == [BehaviourRule.ALLOWED_ACTIONS]
    assert found(Monitor(spec(allowed_actions=[])), token("read_config")) == [BehaviourRule.ALLOWED_ACTIONS]


def test_another_agents_tokens_are_not_looked_at():
    assert found(Monitor(spec()), token("delete_everything", iss=OTHER)) == []


@pytest.mark.parametrize(
    "act",
    ["atd:checkpoint", "atd:error", "atd:rollback_request", "apae:trust_assertion", "apae:trust_revoke"],
)
def test_what_every_agent_may_say_needs_no_permission(act):
    assert found(Monitor(spec(allowed_actions=[])), token(act)) == []


@pytest.mark.parametrize("act", ["apae:compliance_check", "apae:spec_update", "hitl:decision"])
def test_what_only_authorities_may_say_is_a_violation_of_anybody_else(act):
    assert found(Monitor(spec()), token(act)) == [BehaviourRule.ALLOWED_ACTIONS]
    assert found(Monitor(spec(), authorities=[AGENT]), token(act)) == []


def test_the_list_of_exemptions_is_closed():
    for act in ("atd:anything", "apae:anything", "hitl:anything", "ATD:ERROR"):
        assert found(Monitor(spec()), token(act)) == [BehaviourRule.ALLOWED_ACTIONS]


def test_sixty_in_one_second_pass_and_the_sixty_first_fails():
    monitor = Monitor(spec())
    for _ in range(60):
        assert found(monitor, token()) == []

    assert found(monitor, token()) == [BehaviourRule.MAX_ACTIONS_PER_MINUTE]


def test_sixty_at_zero_and_one_at_sixty_pass():
    monitor = Monitor(spec())
    for _ in range(60):
        found(monitor, token(iat=NOW))

    assert found(monitor, token(iat=NOW + 60)) == []
    monitor = Monitor(spec())
    for _ in range(60):
        found(monitor, token(iat=NOW))
    assert found(monitor, token(iat=NOW + 59)) == [BehaviourRule.MAX_ACTIONS_PER_MINUTE]


def test_an_agent_cannot_hide_its_rate_behind_its_own_clock():
    monitor = Monitor(spec())
    for number in range(60):
        assert found(monitor, token(iat=NOW - 10 * number), received=NOW + number / 100) == []
    (violation,) = monitor.check(token(iat=NOW - 700), (NOW + 1) * 1000)

    assert violation.detail.endswith("the ledger's clock")


def test_nor_by_sending_late_what_it_did_at_once():
    monitor = Monitor(spec())
    for number in range(60):
        assert found(monitor, token(iat=NOW), received=NOW + 10 * number) == []
    (violation,) = monitor.check(token(iat=NOW - 30), (NOW + 800) * 1000)

    assert violation.detail.endswith("its own clock")


def test_a_gated_action_needs_a_checkpoint_of_its_own():
    monitor = Monitor(spec())
    missing = [BehaviourRule.REQUIRE_CHECKPOINT_BEFORE]

    assert found(monitor, token("update_rules")) == missing
    assert found(monitor, token("atd:checkpoint")) == []
    assert found(monitor, token("update_rules")) == []
    assert found(monitor, token("update_rules")) == missing
    assert found(monitor, token("atd:checkpoint", wid=W2)) == []
    assert found(monitor, token("update_rules", wid=W1)) == missing
    assert found(monitor, token("update_rules", wid=W2)) == []
    found(monitor, token("atd:checkpoint", iss=OTHER))
    assert found(monitor, token("update_rules")) == missing
    found(monitor, token("atd:checkpoint", iat=NOW + 20))
    assert found(monitor, token("update_rules", iat=NOW)) == missing


def test_two_checkpoints_are_good_for_one_action():
    monitor = Monitor(spec())
    found(monitor, token("atd:checkpoint"))
    found(monitor, token("atd:checkpoint"))

    assert found(monitor, token("update_rules")) == []
    assert found(monitor, token("update_rules")) == [BehaviourRule.REQUIRE_CHECKPOINT_BEFORE]


def test_in_strict_mode_the_checkpoint_is_an_ancestor():
    saved, between = token("atd:checkpoint"), token("read_config")
    nodes = {saved.jti: TokenNode(saved.jti, NOW, ()), between.jti: TokenNode(between.jti, NOW, (saved.jti,))}
    for par, expected in (((between.jti,), []), ((), [BehaviourRule.REQUIRE_CHECKPOINT_BEFORE])):
        monitor = Monitor(spec(), find=nodes.get)
        found(monitor, saved)
        assert found(monitor, token("update_rules", par=par)) == expected


def test_checkpoints_of_many_workflows_are_not_kept_for_ever():
    monitor = Monitor(spec(constraints={"require_checkpoint_before": ["update_rules"]}))
    for number in range(MAX_WORKFLOWS + 1):
        found(monitor, token("atd:checkpoint", wid=str(uuid.UUID(int=number))))

    assert len(monitor._checkpoints) == MAX_WORKFLOWS
    assert found(monitor, token("update_rules", wid=str(uuid.UUID(int=0)))) != []
    assert found(monitor, token("update_rules", wid=str(uuid.UUID(int=5)))) == []


@pytest.mark.parametrize(
    "ext",
    [
        {"target": "core-router-7"},
        {"targets": ["edge-1", "core-router-7"]},
        {"net__target": "core-router-7"},
        {"a__b__targets": ["core-router-"]},
        {"plan": {"target": "core-router-7"}},
        {"plan": [{"steps": [{"targets": ["core-router-7"]}]}]},
        {"target": 7},
        {"targets": [None]},
        {"target": {"name": "core-router-7"}},
    ],
    ids=str,
)
def test_no_target_may_match_a_forbidden_one(ext):
    assert found(Monitor(spec()), token(**ext)) == [BehaviourRule.FORBIDDEN_TARGETS]


@pytest.mark.parametrize(
    "ext",
    [
        {"target": "edge-router-7"},
        {"target": "Core-router-7"},
        {"target": "my core-router-7"},
        {"subtarget": "core-router-7"},
        {"note": "core-router-7"},
        {"targets": []},
    ],
    ids=str,
)
def test_a_glob_is_about_the_whole_text_and_its_case(ext):
    assert found(Monitor(spec()), token(**ext)) == []


def test_a_line_break_does_not_end_a_match():
    assert found(Monitor(spec()), token(target="core-router-\n7")) == [BehaviourRule.FORBIDDEN_TARGETS]
    assert found(Monitor(spec()), token(target="core-router-7\n")) == [BehaviourRule.FORBIDDEN_TARGETS]


def test_one_token_can_break_every_rule():
    gated = {"constraints": DOCUMENT["constraints"] | {"max_actions_per_minute": 0}, "allowed_actions": []}
    monitor = Monitor(spec(**gated))

    assert set(found(monitor, token("update_rules", target="core-router-1"))) == set(BehaviourRule)


def test_a_report_says_passing_failing_or_that_nothing_was_seen():
    watch = Watch(spec(), NOW)
    (unknown,) = watch.report(NOW + 3600)
    seen = token()
    watch.see(seen, NOW * 1000)
    (passing,) = watch.report(NOW + 7200)
    bad = token("other")
    (violation,) = watch.see(bad, NOW * 1000)
    (failing,) = watch.report(NOW + 7290)

    assert (unknown.status.value, unknown.par) == ("unknown", ())
    assert (passing.status.value, passing.par) == ("passing", (seen.jti,))
    assert passing.ext["apae.window"] == "2027-01-15T09:00:00Z/PT1H"
    assert failing.ext["apae.window"] == "2027-01-15T10:00:00Z/PT1M30S"
    assert (failing.par, failing.ext["apae.violations"]) == ((bad.jti,), [violation.to_wire()])
    assert watch.report(NOW + 8000)[0].ext["apae.violations"] == []


def test_reports_fit_into_tokens_and_leave_nothing_out():
    watch = Watch(spec(agent_id="spiffe://" + "x" * 500, spec_version="é" * 64), NOW)
    bad = [token("\N{GRINNING FACE}" * 300, iss=watch.spec.agent_id) for _ in range(40)]
    for claims in bad:
        watch.see(claims, NOW * 1000)
    checks = watch.report(NOW + 1)

    assert len(checks) > 1
    reported = [item["jti"] for check in checks for item in check.ext["apae.violations"]]
    assert reported == [claims.jti for claims in bad for _ in (1,)]
    assert {check.ext["apae.violations_total"] for check in checks} == {len(bad)}
    for check in checks:
        assert len(msgspec.json.encode(check.ext)) <= MAX_EXT_BYTES
        extensions(check.ext)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "PT0S"), (3600, "PT1H"), (90, "PT1M30S"), (86_400, "PT24H"), (-5, "PT0S")]
)
def test_durations_are_iso_8601(seconds, text):
    assert duration(seconds) == text


RING = KeyRing("did:qwed:node:example", generate())
KEYS = TrustedKeys.of_ring(RING)


def test_a_signed_specification_names_its_signer():
    signed = read_signed_spec(sign_spec(RING, spec(), NOW), KEYS)

    assert (signed.spec, signed.signer) == (spec(), RING.issuer)


def test_a_specification_whose_signature_fails_is_refused():
    good = sign_spec(RING, spec(), NOW)
    head, body, signature = good.split(".")
    stranger = sign_spec(KeyRing(RING.issuer, generate()), spec(), NOW)
    other_type = issue(RING, "apae:spec_update", "https://verifier.example", NOW)

    for token_text in (f"{head}.{body[:-4]}AAAA.{signature}", stranger, other_type, "", "x.y.z"):
        with pytest.raises(InvalidSpec, match="signature"):
            read_signed_spec(token_text, KEYS)
    with pytest.raises(InvalidSpec, match="signature"):
        read_signed_spec(good, KEYS.with_revoked(RING.issuer, RING.kid))


def test_a_change_of_specification_names_what_it_replaces():
    first, second = spec(), spec(spec_version="1.1", allowed_actions=[])

    assert update_body(first, None)["apae.spec_hash"] == first.hash
    assert update_body(second, first)["apae.previous_spec_hash"] == first.hash
    assert update_body(first, first)["apae.spec_version"] == "1.0"
    with pytest.raises(InvalidSpec, match="another content"):
        update_body(spec(allowed_actions=[]), first)
    with pytest.raises(InvalidSpec, match="same agent"):
        update_body(spec(agent_id=OTHER), first)
