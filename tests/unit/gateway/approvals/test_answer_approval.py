"""Approvals: who may answer, what a grant is good for, and that it is used once."""

import threading
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from qwed import Gateway, RequestError
from qwed.domain.agents import PrincipalId
from qwed.domain.credentials import ApiKey, Caller, Scope
from qwed.domain.policy import DEFAULT_POLICY, ApprovalRules
from qwed.gateway.approvals.answer_approval import approve, deny, redeem
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.services import Services
from qwed.gateway.trust.change_trust import change_trust

READ = {"type": "send_email", "parameters": {"to": "a@example.com", "subject": "s", "body": "hello"}}


def key(name: str, *scopes: Scope, principal: str | None = "p", roles: tuple[str, ...] = ()) -> Caller:
    owner = None if principal is None else PrincipalId(principal)
    return Caller(key=ApiKey(name, b"", owner, scopes, roles, 0), principal_id=owner)


PERSON = key("person", Scope.APPROVE, Scope.READ)
ANOTHER = key("another", Scope.APPROVE, Scope.READ)
OPERATOR = key("op", principal=None, roles=("operator",))


class FakeClock:
    def __init__(self) -> None:
        self.ms = 1_800_000_000_000

    def now_ms(self) -> int:
        return self.ms

    def counter(self) -> float:
        return self.ms / 1000


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    with Gateway.open(":memory:") as made:
        yield made


def with_rules(gateway: Gateway, **rules: Any) -> Services:
    policy = msgspec.structs.replace(DEFAULT_POLICY, approvals=ApprovalRules(**rules))
    return msgspec.structs.replace(gateway.services, policy=policy)


def pending(gateway: Gateway, action: dict[str, Any] = READ) -> tuple[str, str]:
    """An agent's id and the approval that its e-mail waits for."""
    agent = gateway.register_agent(name="a", type="supervised", principal_id="p")
    context = {"conversation_id": "c", "step_number": 1}
    answer = gateway.verify_action(agent["agent_id"], action, context)
    assert answer["decision"] == "PENDING"
    return agent["agent_id"], answer["approval"]["id"]


def agent_caller(agent_id: str) -> Caller:
    return Caller(agent_id=agent_id, principal_id=PrincipalId("p"))  # type: ignore[arg-type]


def refused(call: Any) -> str:
    with pytest.raises(RequestError) as raised:
        run(call)
    return raised.value.refusal.code.value


def test_an_approved_action_is_redeemed_once_and_attested(gateway: Gateway) -> None:
    agent_id, approval_id = pending(gateway)
    granted = run(approve(gateway.services, PERSON, approval_id, {"note": "fine"}))
    used = run(redeem(gateway.services, agent_caller(agent_id), approval_id, {"action": READ}))
    again = refused(redeem(gateway.services, agent_caller(agent_id), approval_id, {"action": READ}))

    assert granted.body["status"] == "approved"
    assert granted.body["votes"][0]["by"] == "key:person"
    assert used.body["decision"] == "APPROVED"
    assert used.body["attestation"].count(".") == 2
    assert again == "QWED-APPROVAL-005"


def test_redeeming_charges_the_budget_that_pending_did_not(gateway: Gateway) -> None:
    agent_id, approval_id = pending(gateway)
    before = gateway.get_agent_budget(agent_id)["cost"]["current_daily_usd"]
    run(approve(gateway.services, PERSON, approval_id, None))
    run(redeem(gateway.services, agent_caller(agent_id), approval_id, {"action": READ}))
    after = gateway.get_agent_budget(agent_id)["cost"]["current_daily_usd"]

    assert (before, after) == (0, 0.01)


def test_a_changed_action_is_refused_and_the_grant_stays(gateway: Gateway) -> None:
    agent_id, approval_id = pending(gateway)
    run(approve(gateway.services, PERSON, approval_id, None))
    other = {"type": "send_email", "parameters": {**READ["parameters"], "to": "b@example.com"}}

    assert refused(redeem(gateway.services, agent_caller(agent_id), approval_id, {"action": other})) == (
        "QWED-APPROVAL-004"
    )
    kept = run(redeem(gateway.services, agent_caller(agent_id), approval_id, {"action": READ}))
    assert kept.body["decision"] == "APPROVED"


def test_what_nobody_approved_or_somebody_denied_cannot_be_redeemed(gateway: Gateway) -> None:
    agent_id, approval_id = pending(gateway)
    early = refused(redeem(gateway.services, agent_caller(agent_id), approval_id, {"action": READ}))
    run(deny(gateway.services, PERSON, approval_id, {"note": "no"}))
    late = refused(redeem(gateway.services, agent_caller(agent_id), approval_id, {"action": READ}))

    assert (early, late) == ("QWED-APPROVAL-004", "QWED-APPROVAL-004")


def test_nobody_answers_twice(gateway: Gateway) -> None:
    _, approval_id = pending(gateway)
    run(approve(gateway.services, PERSON, approval_id, None))

    assert refused(deny(gateway.services, ANOTHER, approval_id, None)) == "QWED-APPROVAL-002"


def test_of_two_people_who_answer_at_once_one_wins_and_the_other_is_told(gateway: Gateway) -> None:
    for _ in range(10):
        _, approval_id = pending(gateway)
        outcomes: list[str] = []

        def answer(caller: Caller, wanted: str = approval_id, found: list[str] = outcomes) -> None:
            try:
                found.append(run(approve(gateway.services, caller, wanted, None)).body["status"])
            except RequestError as error:
                found.append(error.refusal.code.value)

        threads = [threading.Thread(target=answer, args=(caller,)) for caller in (PERSON, ANOTHER)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert sorted(outcomes) == ["QWED-APPROVAL-002", "approved"]


def test_of_many_redemptions_at_once_one_is_approved(gateway: Gateway) -> None:
    agent_id, approval_id = pending(gateway)
    run(approve(gateway.services, PERSON, approval_id, None))
    decisions: list[str] = []

    def use() -> None:
        try:
            answer = run(redeem(gateway.services, agent_caller(agent_id), approval_id, {"action": READ}))
            decisions.append(answer.body["decision"])
        except RequestError as error:
            decisions.append(error.refusal.code.value)

    threads = [threading.Thread(target=use) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert decisions.count("APPROVED") == 1
    assert gateway.get_agent_budget(agent_id)["cost"]["current_daily_usd"] == 0.01


def test_nobody_approves_their_own_request(gateway: Gateway) -> None:
    agent = gateway.register_agent(name="a", type="supervised", principal_id="p")
    context = {"conversation_id": "c", "step_number": 1}
    answer = gateway.verify_action(agent["agent_id"], READ, context)
    asker = key("in-process", Scope.APPROVE)

    assert refused(approve(gateway.services, asker, answer["approval"]["id"], None)) == "QWED-APPROVAL-006"


@pytest.mark.parametrize(
    ("caller", "code"),
    [
        (key("reader", Scope.READ), "QWED-AUTH-002"),
        (key("stranger", Scope.APPROVE, principal="q"), "QWED-APPROVAL-001"),
        (agent_caller("agent_x"), "QWED-AUTH-002"),
    ],
)
def test_only_an_entitled_key_of_the_same_principal_answers(
    gateway: Gateway, caller: Caller, code: str
) -> None:
    _, approval_id = pending(gateway)

    assert refused(approve(gateway.services, caller, approval_id, None)) == code


def test_an_expired_approval_means_denied(gateway: Gateway) -> None:
    clock = FakeClock()
    gateway.services = msgspec.structs.replace(gateway.services, clock=clock)
    agent_id, approval_id = pending(gateway)
    clock.ms += 900_000

    assert refused(approve(gateway.services, PERSON, approval_id, None)) == "QWED-APPROVAL-003"
    assert gateway.get_approval(approval_id)["status"] == "expired"
    assert refused(redeem(gateway.services, agent_caller(agent_id), approval_id, {"action": READ})) == (
        "QWED-APPROVAL-003"
    )


def test_an_unused_grant_expires_too(gateway: Gateway) -> None:
    clock = FakeClock()
    gateway.services = msgspec.structs.replace(gateway.services, clock=clock)
    agent_id, approval_id = pending(gateway)
    run(approve(gateway.services, PERSON, approval_id, None))
    clock.ms += 900_000

    assert refused(redeem(gateway.services, agent_caller(agent_id), approval_id, {"action": READ})) == (
        "QWED-APPROVAL-003"
    )


def test_a_quorum_needs_as_many_different_people(gateway: Gateway) -> None:
    gateway.services = with_rules(gateway, approvers=2)
    _, approval_id = pending(gateway)
    first = run(approve(gateway.services, PERSON, approval_id, None))
    same = refused(approve(gateway.services, PERSON, approval_id, None))
    second = run(approve(gateway.services, ANOTHER, approval_id, None))

    assert first.body["status"] == "open"
    assert same == "QWED-APPROVAL-002"
    assert second.body["status"] == "approved"


def test_nobody_approves_what_was_edited_while_they_were_reading(gateway: Gateway) -> None:
    gateway.services = services = with_rules(gateway, approvers=2)
    _, approval_id = pending(gateway)
    seen = gateway.get_approval(approval_id)["action_hash"]
    edited = {"type": "send_email", "parameters": {**READ["parameters"], "subject": "another"}}
    changed = run(approve(services, PERSON, approval_id, {"action": edited, "action_hash": seen})).body
    stale = refused(approve(services, ANOTHER, approval_id, {"action_hash": seen}))
    agreed = run(approve(services, ANOTHER, approval_id, {"action_hash": changed["action_hash"]}))

    assert changed["status"] == "open"
    assert stale == "QWED-APPROVAL-004"
    assert agreed.body["status"] == "approved"


def test_a_required_role_is_required(gateway: Gateway) -> None:
    gateway.services = with_rules(gateway, role="operator:security")
    _, approval_id = pending(gateway)
    guard = key("guard", Scope.APPROVE, roles=("operator:security",))

    assert refused(approve(gateway.services, PERSON, approval_id, None)) == "QWED-APPROVAL-006"
    assert run(approve(gateway.services, guard, approval_id, None)).body["status"] == "approved"


def test_an_edited_action_is_verified_again_and_only_it_is_granted(gateway: Gateway) -> None:
    agent_id, approval_id = pending(gateway)
    edited = {"type": "send_email", "parameters": {**READ["parameters"], "body": "hello, edited"}}
    granted = run(approve(gateway.services, PERSON, approval_id, {"action": edited}))

    assert granted.body["action"]["parameters"]["body"] == "hello, edited"
    assert granted.body["edited_by"] == "key:person"
    assert refused(redeem(gateway.services, agent_caller(agent_id), approval_id, {"action": READ})) == (
        "QWED-APPROVAL-004"
    )
    used = run(redeem(gateway.services, agent_caller(agent_id), approval_id, {"action": edited}))
    assert used.body["decision"] == "APPROVED"


@pytest.mark.parametrize(
    ("action", "code"),
    [
        ({"type": "no_such_type"}, "QWED-AGENT-ACTION-001"),
        ({"type": "execute_sql", "query": "SELECT 1"}, "QWED-AGENT-004"),
        ({"type": "file_delete", "target": "notes.txt"}, "QWED-AGENT-TRUST-001"),
        ({"type": "file_read", "target": "../../etc/shadow"}, "QWED-AGENT-005"),
    ],
)
def test_an_edit_cannot_grant_what_could_not_have_been_asked(
    gateway: Gateway, action: dict[str, Any], code: str
) -> None:
    _, approval_id = pending(gateway)

    assert refused(approve(gateway.services, PERSON, approval_id, {"action": action})) == code
    assert gateway.get_approval(approval_id)["status"] == "open"


def test_a_suspended_agent_cannot_redeem(gateway: Gateway) -> None:
    agent_id, approval_id = pending(gateway)
    run(approve(gateway.services, PERSON, approval_id, None))
    gateway.suspend(agent_id, "strange")
    answer = run(redeem(gateway.services, OPERATOR, approval_id, {"action": READ}))

    assert answer.body["decision"] == "DENIED"
    assert answer.body["error"]["code"] == "QWED-AGENT-003"


def test_a_tool_blocked_since_cannot_be_redeemed(gateway: Gateway) -> None:
    agent_id, approval_id = pending(gateway)
    run(approve(gateway.services, PERSON, approval_id, None))
    gateway.change_agent(agent_id, permissions={"blocked_tools": ["send_email"]})
    stopped = run(redeem(gateway.services, agent_caller(agent_id), approval_id, {"action": READ}))
    gateway.change_agent(agent_id, permissions={"blocked_tools": []})
    again = run(redeem(gateway.services, agent_caller(agent_id), approval_id, {"action": READ}))

    assert stopped.body["decision"] == "DENIED"
    assert stopped.body["error"]["code"] == "QWED-AGENT-004"
    assert again.body["decision"] == "APPROVED"


def test_an_edit_that_the_engine_corrects_grants_the_corrected_action(gateway: Gateway) -> None:
    agent_id, approval_id = pending(gateway)
    wrong, right = ({"type": "calculate", "query": f"2+2={sum}"} for sum in (5, 4))
    granted = run(approve(gateway.services, PERSON, approval_id, {"action": wrong}))
    refused_code = refused(redeem(gateway.services, agent_caller(agent_id), approval_id, {"action": wrong}))
    used = run(redeem(gateway.services, agent_caller(agent_id), approval_id, {"action": right}))

    assert granted.body["action"] == right
    assert refused_code == "QWED-APPROVAL-004"
    assert used.body["decision"] == "APPROVED"


def test_a_grant_is_void_where_another_policy_asks_for_more(gateway: Gateway) -> None:
    agent_id, approval_id = pending(gateway)
    run(approve(gateway.services, PERSON, approval_id, None))
    changed = with_rules(gateway, approvers=2)

    assert refused(redeem(changed, agent_caller(agent_id), approval_id, {"action": READ})) == (
        "QWED-APPROVAL-004"
    )


def test_an_answered_approval_no_longer_counts_as_open(gateway: Gateway) -> None:
    gateway.services.store._policy = with_rules(gateway, max_open=1).policy  # type: ignore[attr-defined]
    agent_id, approval_id = pending(gateway)
    full = gateway.verify_action(agent_id, READ, {"conversation_id": "d", "step_number": 1})
    run(deny(gateway.services, PERSON, approval_id, None))
    free = gateway.verify_action(agent_id, READ, {"conversation_id": "d", "step_number": 1})

    assert (full["decision"], full["error"]["details"]["scope"]) == ("BUDGET_EXCEEDED", "approvals")
    assert free["decision"] == "PENDING"


def test_an_agent_asks_for_trust_and_a_person_grants_it(gateway: Gateway) -> None:
    agent = gateway.register_agent(name="a", type="supervised", principal_id="p")
    agent_id = agent["agent_id"]
    asked = run(
        change_trust(
            gateway.services,
            agent_caller(agent_id),
            agent_id,
            {
                "request": "trust_elevation",
                "from_level": 1,
                "to_level": 2,
                "justification": "a good month",
                "evidence": {"approved": 10**6},
            },
        )
    )
    approval = asked.body["approval"]
    run(approve(gateway.services, PERSON, approval["id"], None))

    assert approval["evidence"]["recorded"]["approved"] == 0
    assert gateway.get_agent(agent_id)["trust_level"] == 2
    assert (
        refused(redeem(gateway.services, OPERATOR, approval["id"], {"action": READ})) == "QWED-APPROVAL-004"
    )


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"from_level": 2, "to_level": 3}, "from_level"),
        ({"to_level": 3}, "to_level"),
        ({"to_level": 1}, "to_level"),
        ({"justification": " "}, "justification"),
        ({"request": "please"}, "request"),
    ],
)
def test_a_request_for_trust_goes_one_level_up_from_the_real_one(
    gateway: Gateway, changes: dict[str, Any], field: str
) -> None:
    agent_id = gateway.register_agent(name="a", type="supervised", principal_id="p")["agent_id"]
    request = {"request": "trust_elevation", "from_level": 1, "to_level": 2, "justification": "j", **changes}

    with pytest.raises(RequestError) as raised:
        run(change_trust(gateway.services, agent_caller(agent_id), agent_id, request))

    assert raised.value.refusal.details == {"field": field}


def test_an_agent_cannot_set_its_own_trust(gateway: Gateway) -> None:
    agent_id = gateway.register_agent(name="a", type="supervised", principal_id="p")["agent_id"]
    change = {"to_level": 2, "reason": "because"}

    assert (
        refused(change_trust(gateway.services, agent_caller(agent_id), agent_id, change)) == "QWED-AUTH-002"
    )


def test_a_principal_sets_trust_with_a_reason_and_level_three_needs_an_operator(gateway: Gateway) -> None:
    agent_id = gateway.register_agent(name="a", type="supervised", principal_id="p")["agent_id"]
    owner = key("owner", Scope.TRUST)
    run(change_trust(gateway.services, owner, agent_id, {"to_level": "autonomous", "reason": "earned"}))

    assert gateway.get_agent(agent_id)["trust_level"] == 2
    assert refused(change_trust(gateway.services, owner, agent_id, {"to_level": 0})) == "QWED-REQUEST-001"
    highest = {"to_level": 3, "reason": "earned"}
    assert refused(change_trust(gateway.services, owner, agent_id, highest)) == "QWED-AUTH-002"
    run(change_trust(gateway.services, OPERATOR, agent_id, highest))
    assert gateway.get_agent(agent_id)["trust_level"] == 3
