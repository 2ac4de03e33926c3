"""Policy tokens: who may act where, and when a person has to look."""

import itertools
from decimal import Decimal

import pytest

from qwed.ect import InvalidToken, KeyRing, TrustedKeys, generate
from qwed.ect.hitl import (
    HumanStep,
    HumanVerdict,
    InvalidRules,
    Override,
    OverrideRefusal,
    after_waiting,
    evaluate,
    override,
    read_rules,
)
from qwed.ect.policy_tokens import (
    ActRefusal,
    InvalidPolicy,
    constraints_at,
    issue_policy,
    read_policy,
    refusal_to_act,
    verify_policy,
)

NOW = 1_800_000_000
RING = KeyRing("did:qwed:node:policy", generate())
KEYS = TrustedKeys.of_ring(RING)
A, B = "spiffe://example.com/agent/a", "spiffe://example.com/agent/b"


def diamond(**last):
    nodes = [{"id": name, "agent": A} for name in ("root", "left", "right")]
    edges = [("root", "left"), ("root", "right"), ("left", "end"), ("right", "end")]
    return {
        "nodes": [*nodes, {"id": "end", "agent": B, "action": "write", **last}],
        "edges": [{"from": one, "to": other} for one, other in edges],
    }


def rule(**changes):
    """The example of the seed."""
    trigger = {
        "kind": "confidence_below",
        "op": "lt",
        "value": Decimal("0.5"),
        "input_ref": "apae.peer_trust_score",
    }
    trigger |= {name: changes.pop(name) for name in list(changes) if name in trigger}
    return {
        "id": "r-low-trust",
        "trigger": trigger,
        "required_role": "operator:security",
        "action": "escalate",
        "allow_override": True,
        "override_action": "continue",
    } | changes


def verdict(*given, inputs=None):
    return evaluate(
        read_rules({"rules": list(given)}), {"apae.peer_trust_score": Decimal("0.7")} | (inputs or {})
    )


def test_an_agent_acts_at_its_own_node_after_everything_before_it():
    policy = read_policy(diamond())

    assert refusal_to_act(policy, "root", A, "read", []) is None
    assert refusal_to_act(policy, "end", B, "write", ["root", "left", "right"]) is None
    assert refusal_to_act(policy, "end", B, "write", ["root", "left"]) is ActRefusal.TOO_EARLY
    assert refusal_to_act(policy, "end", B, "write", ["left", "right"]) is ActRefusal.TOO_EARLY
    assert refusal_to_act(policy, "end", A, "write", ["root", "left", "right"]) is ActRefusal.OTHER_AGENT
    assert refusal_to_act(policy, "end", B, "read", ["root", "left", "right"]) is ActRefusal.OTHER_ACTION
    assert refusal_to_act(policy, "nowhere", A, "read", []) is ActRefusal.NO_SUCH_NODE


@pytest.mark.parametrize(
    "dag",
    [
        None,
        {},
        [],
        {"nodes": []},
        {"nodes": [{"id": "a"}]},
        {"nodes": [{"id": "", "agent": A}]},
        {"nodes": [{"id": "a", "agent": ""}]},
        {"nodes": [{"id": "a", "agent": A}, {"id": "a", "agent": B}]},
        {"nodes": [{"id": "a", "agent": A, "surprise": 1}]},
        {"nodes": [{"id": "a", "agent": A, "critical": "yes"}]},
        {"nodes": [{"id": "a", "agent": A}], "edges": [{"from": "a", "to": "b"}]},
        {"nodes": [{"id": "a", "agent": A}], "edges": [{"from": "a", "to": "a"}]},
        {
            "nodes": [{"id": "a", "agent": A}, {"id": "b", "agent": A}],
            "edges": [{"from": "a", "to": "b"}, {"from": "b", "to": "a"}],
        },
        {"nodes": [{"id": "a", "agent": A}], "edges": [{"source": "a", "target": "a"}]},
        {"nodes": [{"id": str(n), "agent": A} for n in range(1_001)]},
        {"nodes": [{"id": "a", "agent": A}], "edges": [{"from": "a", "to": "a"}] * 10_001},
    ],
    ids=lambda value: str(value)[:50],
)
def test_a_graph_that_can_not_be_followed_is_refused(dag):
    with pytest.raises(InvalidPolicy):
        read_policy(dag)


def test_a_thousand_nodes_in_a_row_are_fine():
    names = [str(number) for number in range(1_000)]
    policy = read_policy(
        {
            "nodes": [{"id": name, "agent": A} for name in names],
            "edges": [{"from": one, "to": other} for one, other in itertools.pairwise(names)],
        }
    )

    assert refusal_to_act(policy, "999", A, "x", names[:-1]) is None
    assert refusal_to_act(policy, "999", A, "x", names[1:-1]) is ActRefusal.TOO_EARLY


def test_a_threshold_written_as_a_float_is_the_number_that_was_written():
    found = constraints_at(read_policy(diamond(constraints={"apae.min_trust": 0.7})), "end")

    assert (found.min_trust, found.unknown) == (Decimal("0.7"), frozenset())


def test_inherited_constraints_only_tighten():
    dag = diamond(constraints={"apae.min_trust": Decimal("0.3"), "apae.min_confidence": "low"})
    dag["nodes"][0]["constraints"] = {"apae.min_trust": Decimal("0.7"), "apae.assurance_profile": "regulated"}
    dag["nodes"][1]["constraints"] = {"apae.min_confidence": "medium", "apae.assurance_profile": "relaxed"}
    policy = read_policy(dag)
    at_end = constraints_at(policy, "end")

    assert at_end.min_trust == Decimal("0.7")
    assert (at_end.min_confidence, at_end.assurance_profile) == ("medium", "regulated")
    assert constraints_at(policy, "right").min_confidence is None


@pytest.mark.parametrize(
    "constraint",
    [
        {"apae.other": 1},
        {"apae.min_trust": "0.5"},
        {"apae.min_trust": True},
        {"apae.min_trust": 2},
        {"apae.min_confidence": "sure"},
        {"apae.assurance_profile": ["regulated"]},
    ],
    ids=str,
)
def test_a_constraint_that_nobody_can_check_counts_as_triggered(constraint):
    policy = read_policy(diamond(constraints=constraint))
    unknown = constraints_at(policy, "end").unknown

    assert unknown == set(constraint)
    assert evaluate(policy.hitl, {}, unknown).action is HumanStep.ABORT


@pytest.mark.parametrize(
    ("score", "expected"),
    [("0.49", HumanStep.ESCALATE), ("0.5", HumanStep.CONTINUE), ("0.51", HumanStep.CONTINUE)],
)
def test_the_seeds_rule_escalates_below_its_threshold(score, expected):
    answer = verdict(rule(), inputs={"apae.peer_trust_score": Decimal(score)})

    assert answer.action is expected
    assert answer.triggered == (("r-low-trust",) if expected is HumanStep.ESCALATE else ())


@pytest.mark.parametrize(
    ("kind", "op", "value", "given", "triggers"),
    [
        ("trust_below", "lte", 1, 1, True),
        ("trust_below", "lt", 1, 1, False),
        ("cost_above", "gt", 10, 10, False),
        ("cost_above", "gte", 10, Decimal("10.0"), True),
        ("cost_above", "gt", 10, 10.5, True),
        ("value_equals", "eq", "prod", "prod", True),
        ("value_equals", "eq", "prod", "test", False),
        ("value_equals", "eq", True, True, True),
        ("value_differs", "neq", "a", "b", True),
        ("value_differs", "neq", "a", "a", False),
        ("value_in", "in", ["a", "b"], "b", True),
        ("value_in", "in", ["a", "b"], "c", False),
        ("value_in", "in", [1, 2], Decimal(2), True),
        # Undecidable is triggered.
        ("value_in", "in", [], "c", True),
        ("value_in", "in", "abc", "c", True),
        ("value_in", "in", ["a", 1], "c", True),
        ("value_equals", "eq", 1, True, True),
        ("value_equals", "eq", 1, "1", True),
        ("cost_above", "gt", "10", "9", True),
        ("cost_above", "gt", 10, None, True),
        ("cost_above", "gt", 10, [1], True),
        ("cost_above", "gt", None, 1, True),
        ("cost_above", "gt", 10, float("nan"), True),
        ("trust_below", "like", 1, 5, True),
        ("mood_is", "eq", "good", "bad", True),
    ],
)
def test_each_operator_decides_and_what_it_can_not_decide_is_triggered(kind, op, value, given, triggers):
    answer = verdict(rule(kind=kind, op=op, value=value, input_ref="x"), inputs={"x": given})

    assert bool(answer.triggered) is triggers


def test_a_missing_input_and_an_unknown_action_are_the_strictest():
    assert verdict(rule(input_ref="missing")).action is HumanStep.ESCALATE
    assert verdict(rule(input_ref="missing", action="shrug")).action is HumanStep.ABORT


def test_of_all_triggered_rules_the_strictest_action_wins():
    low = {"input_ref": "missing"}
    answer = verdict(
        rule(id="1", action="pause", **low),
        rule(id="2", action="abort", **low),
        rule(id="3", **low),
        rule(id="4"),
    )

    assert answer == HumanVerdict(HumanStep.ABORT, ("1", "2", "3"))
    assert verdict() == HumanVerdict(HumanStep.CONTINUE)


@pytest.mark.parametrize(
    "hitl",
    [
        [],
        {"rules": [rule(), rule()]},
        {"rules": [rule(id="")]},
        {"rules": [rule(required_role="")]},
        {"rules": [rule(input_ref="")]},
        {"rules": [rule(op="gt")]},
        {"rules": [rule(kind="value_in", op="eq")]},
        {"rules": [rule(allow_override="yes")]},
        {"rules": [rule(surprise=1)]},
        {"rules": [rule(id=str(n)) for n in range(101)]},
        {"timeout_s": 0},
        {"timeout_s": -5},
        {"timeout_s": "300"},
    ],
    ids=lambda value: str(value)[:50],
)
def test_rules_that_can_not_be_read_or_contradict_themselves_are_refused(hitl):
    with pytest.raises(InvalidRules):
        read_rules(hitl)
    with pytest.raises(InvalidPolicy):
        read_policy(diamond(), hitl)


def test_nobody_reachable_or_nobody_in_time_is_the_end():
    hitl = read_rules({"rules": [rule()]})
    paused = HumanVerdict(HumanStep.PAUSE, ("r",))

    assert after_waiting(hitl, paused, waited_s=299, is_reachable=True) is HumanStep.PAUSE
    assert after_waiting(hitl, paused, waited_s=300, is_reachable=True) is HumanStep.ABORT
    assert after_waiting(hitl, paused, waited_s=0, is_reachable=False) is HumanStep.ABORT
    careless = read_rules({"on_timeout": "continue", "default_action": "continue"})
    assert after_waiting(careless, paused, waited_s=300, is_reachable=True) is HumanStep.ABORT
    assert careless.default is HumanStep.ABORT
    gentle = read_rules({"on_timeout": "escalate"})
    assert after_waiting(gentle, paused, waited_s=300, is_reachable=True) is HumanStep.ESCALATE


def decided(used=(), given=None, **changes):
    (read,) = read_rules({"rules": [rule(**changes)]}).rules
    word = {
        "rule_id": "r-low-trust",
        "node_id": "end",
        "request_jti": "j1",
        "person": "ann",
        "roles": frozenset({"operator:security"}),
        "is_authenticated": True,
    }
    return override(
        read, Override(**(word | (given or {}))), node_id="end", request_jti="j1", requester="bob", used=used
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, HumanStep.CONTINUE),
        ({"override_action": "pause"}, HumanStep.PAUSE),
        ({"override_action": "whatever"}, HumanStep.ABORT),
        ({"allow_override": False}, OverrideRefusal.NOT_ALLOWED),
        ({"given": {"is_authenticated": False}}, OverrideRefusal.NOT_AUTHENTICATED),
        ({"given": {"roles": frozenset({"operator"})}}, OverrideRefusal.OTHER_ROLE),
        ({"given": {"roles": frozenset()}}, OverrideRefusal.OTHER_ROLE),
        ({"given": {"person": "bob"}}, OverrideRefusal.OWN_REQUEST),
        ({"given": {"rule_id": "r2"}}, OverrideRefusal.NOT_BOUND),
        ({"given": {"node_id": "root"}}, OverrideRefusal.NOT_BOUND),
        ({"given": {"request_jti": "j2"}}, OverrideRefusal.NOT_BOUND),
        ({"used": {("r-low-trust", "end", "j1")}}, OverrideRefusal.USED),
    ],
    ids=str,
)
def test_an_override_is_allowed_authenticated_exact_bound_and_used_once(options, expected):
    assert decided(**options) is expected


def test_a_policy_token_is_signed_for_an_audience_and_a_time():
    token = issue_policy(RING, "urn:gateway", diamond(), {"rules": [rule()]}, NOW)
    read = verify_policy(token, KEYS, ["urn:gateway"], NOW + 60)

    assert read.policy.hitl.rules[0].trigger.value == Decimal("0.5")
    assert read.iss == RING.issuer
    for options in (
        {"audiences": ["urn:other"]},
        {"now": NOW - 31},
        {"now": NOW + 86_400},
        {"keys": TrustedKeys()},
        {"keys": KEYS.with_revoked(RING.issuer, RING.kid)},
        {"algorithms": ["Ed25519"]},
        {"token": token[:-2] + "AA"},
        {"token": RING.sign("exec+jwt", {"iss": RING.issuer})},
        {"token": RING.sign("acp-dag-hitl+jwt", {"iss": RING.issuer})},
        {"token": RING.sign("acp-dag-hitl+jwt", {"iss": 7})},
    ):
        call = {"token": token, "keys": KEYS, "audiences": ["urn:gateway"], "now": NOW} | options
        with pytest.raises(InvalidToken):
            verify_policy(**call)


def test_a_policy_that_could_not_be_followed_is_not_signed():
    with pytest.raises(InvalidPolicy):
        issue_policy(RING, "urn:gateway", {"nodes": []}, {}, NOW)
