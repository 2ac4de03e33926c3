"""Trust that goes down by itself: every rule through a running gateway, on both stores, over restarts."""

import asyncio

import msgspec
import pytest
from tests.support.fakes import DAY, SECOND, FakeClock
from tests.support.world import OPERATOR_KEY, SIGNER, World, calculate, code_of

from qwed.domain.findings import Failure, Finding, Status
from qwed.domain.policy import DEFAULT_POLICY, PrincipalCeilings
from qwed.domain.risk import Risk
from qwed.ect.keys import NodeSigner, generate
from qwed.stores import open_sqlite

SQL = {"type": "execute_sql", "query": "select 1"}
WIPE = {"type": "execute_code", "code": "wipe everything"}


class Home:
    """A gateway that can be closed and opened again where its store is a file."""

    def __init__(self, path=None, policy=DEFAULT_POLICY) -> None:
        self.path, self.policy, self.clock = path, policy, FakeClock()
        self.steps = 0
        self.world = self._open()

    def _open(self) -> World:
        store = None if self.path is None else open_sqlite(self.path, self.policy, self.clock, SIGNER)
        world = World(store=store, clock=self.clock, policy=self.policy)
        world.prover.find = told
        return world

    def restart(self) -> None:
        if self.path is not None:
            self.world.close()
            self.world = self._open()

    def register(self, level: int = 3, **more):
        return self.world.register(type="trusted", trust_level=level, **more)

    def act(self, agent, action=None, **how):
        """One more step, of a new conversation now and then."""
        self.steps += 1
        conversation, step = divmod(self.steps, 40)
        given = action or calculate(f"{self.steps}")
        return self.world.verify(agent, given, step + 1, f"c{conversation}", **how)

    def deny(self, agent, times=1):
        return [self.act(agent, calculate(f"wrong {self.steps}")) for _ in range(times)]

    def allow(self, agent, times=1):
        return [self.act(agent) for _ in range(times)]

    def level(self, agent) -> int:
        return self.world.call("GET", f"/agents/{agent['agent_id']}").json()["trust_level"]

    def changes(self, agent, **query):
        """Oldest first, without the registration."""
        found = self.world.call("GET", f"/agents/{agent['agent_id']}/trust", params=query).json()
        return [change for change in reversed(found["changes"]) if change["cause"] != "registered"]


def told(engine, action) -> Finding:
    if action.query and action.query.startswith("wrong"):
        return Finding(Status.FAILED, Risk.LOW, engine, "no", failure=Failure.INCORRECT)
    if action.type == "execute_code":
        return Finding(Status.FAILED, Risk.CRITICAL, engine, "harm", failure=Failure.FORBIDDEN)
    return Finding(Status.VERIFIED, Risk.LOW, engine)


@pytest.fixture(params=["memory", "sqlite"])
def home(request, tmp_path):
    made = Home(tmp_path / "qwed.db" if request.param == "sqlite" else None)
    yield made
    made.world.close()


def tool(home, agent, name, *, key=OPERATOR_KEY, **body):
    path = f"/agents/{agent['agent_id']}/tools/{name}"
    return home.world.call("POST", path, key=key, json={"parameters": {}, **body}).json()


# --- security policy violations --------------------------------------------------------------------------


def test_a_forbidden_action_at_critical_risk_costs_two_levels_before_the_next_decision(home):
    agent = home.register(3)
    answer = home.act(agent, WIPE)
    assert code_of(answer) == "QWED-AGENT-005"
    home.restart()

    assert home.level(agent) == 1
    (change,) = home.changes(agent)
    assert (change["cause"], change["from_level"], change["to_level"]) == ("security_violation", 3, 1)
    assert change["activities"] == [answer["activity_id"]]
    assert change["by"] == "gateway" and "forbidden" in change["reason"]
    assert home.act(agent, {"type": "send_email", "parameters": {"to": "a@example.com"}})["decision"] == (
        "PENDING"
    )


def test_forbidden_below_critical_or_wrong_at_critical_is_a_mere_denial(home):
    agent = home.register(3)
    home.world.prover.says(Status.FAILED, Risk.HIGH, failure=Failure.FORBIDDEN)
    home.act(agent)
    home.world.prover.says(Status.FAILED, Risk.CRITICAL, failure=Failure.INCORRECT)
    home.act(agent)

    assert home.level(agent) == 3


def test_the_risk_of_the_type_makes_a_forbidden_action_critical(home):
    """What the finding itself calls low is critical where the type is."""
    agent = home.register(3)
    home.world.prover.says(Status.FAILED, Risk.LOW, failure=Failure.FORBIDDEN)
    home.act(agent, {"type": "file_delete", "target": "/etc/passwd"})

    assert home.level(agent) == 1


def test_the_second_use_of_a_blocked_tool_within_a_day_is_a_violation_by_either_door(home):
    agent = home.register(3, permissions={"blocked_tools": ["send_money", "file_delete"]})
    first = home.act(agent, {"type": "file_delete", "target": "x"})
    assert (code_of(first), home.level(agent)) == ("QWED-AGENT-004", 3)
    home.restart()
    second = tool(home, agent, "send_money")

    assert home.level(agent) == 1
    (change,) = home.changes(agent)
    assert change["activities"] == [first["activity_id"], second["activity_id"]]


def test_a_blocked_tool_used_again_on_another_day_is_no_violation(home):
    agent = home.register(3, permissions={"blocked_tools": ["send_money"]})
    tool(home, agent, "send_money")
    home.clock.advance(DAY)
    home.restart()
    tool(home, agent, "send_money")

    assert home.level(agent) == 3


def test_an_unknown_tool_or_engine_is_not_a_blocked_one(home):
    agent = home.register(3, permissions={"allowed_engines": ["math"]})
    for _ in range(4):
        assert code_of(tool(home, agent, "no_such_tool")) == "QWED-AGENT-004"
        assert code_of(home.act(agent, SQL)) == "QWED-AGENT-004"

    assert home.level(agent) == 3


def test_a_token_used_for_another_agent_is_charged_to_its_owner_alone(home):
    owner, victim = home.register(3), home.register(3)
    for method, path in (("POST", "verify"), ("GET", "budget")):
        agent = f"/agents/{victim['agent_id']}/{path}"
        body = {"action": calculate(), "context": {"conversation_id": "c", "step_number": 1}}
        response = home.world.call(method, agent, key=owner["agent_token"], json=body)
        assert response.status_code in (401, 404)
    home.restart()

    assert (home.level(owner), home.level(victim)) == (0, 3)
    assert home.world.decisions(victim) == []
    entries = home.world.decisions(owner)
    assert [(e["action_type"], e["error_code"]) for e in entries] == [("use_token", "QWED-AGENT-002")] * 2
    assert [c["activities"] for c in home.changes(owner)] == [[e["activity_id"]] for e in reversed(entries)]


def test_whether_the_other_agent_exists_makes_no_difference(home):
    owner = home.register(3)
    home.world.call("GET", "/agents/agent_0000000000000000/budget", key=owner["agent_token"])

    assert home.level(owner) == 1


def test_a_grant_that_nobody_gave_is_a_forged_one(home):
    agent, other = home.register(3), home.register(1)
    foreign = home.act(other, {"type": "send_email", "parameters": {"to": "a@example.com"}})["approval"]["id"]
    made_up = "apr_" + "0" * 32
    answers = [
        home.world.call(
            "POST", f"/approvals/{name}/redeem", key=agent["agent_token"], json={"action": calculate()}
        )
        for name in (foreign, made_up)
    ]

    assert [(a.status_code, code_of(a.json())) for a in answers] == [(404, "QWED-APPROVAL-001")] * 2
    assert (home.level(agent), home.level(other)) == (0, 1)
    assert [c["cause"] for c in home.changes(agent)] == ["security_violation"] * 2


def test_a_grant_used_wrongly_is_refused_and_not_forged(home):
    """Too early, for another action, twice: refused each time, and honest mistakes all the same."""
    agent = home.register(1)
    action = {"type": "send_email", "parameters": {"to": "a@example.com"}}
    approval = home.act(agent, action)["approval"]["id"]

    def redeem(action):
        return home.world.call(
            "POST", f"/approvals/{approval}/redeem", key=agent["agent_token"], json={"action": action}
        ).json()

    assert code_of(redeem(action)) == "QWED-APPROVAL-004"
    approver = home.world.principal_key("acme", scopes=["approve"])
    home.world.call("POST", f"/approvals/{approval}/approve", key=approver)
    assert code_of(redeem(calculate())) == "QWED-APPROVAL-004"
    assert redeem(action)["decision"] == "APPROVED"
    assert code_of(redeem(action)) == "QWED-APPROVAL-005"
    assert home.level(agent) == 1


def _attestation(agent, signer=SIGNER, typ="qwed-attestation+jwt") -> str:
    claims = {"iss": SIGNER.issuer, "exp": 10**11, "jti": "att_x"}
    return signer.sign(typ, {**claims, "qwed": {"agent": {"did": f"did:qwed:agent:{agent['agent_id']}"}}})


def _tampered(token: str) -> str:
    head, payload, signature = token.split(".")
    return f"{head}.{payload}.{'B' if signature[0] == 'A' else 'A'}{signature[1:]}"


def _check(home, token, key):
    return home.world.call("POST", "/attestations/verify", key=key, json={"attestation": token})


def test_a_forged_attestation_is_charged_to_the_agent_that_presents_it_as_its_own(home):
    agent = home.register(3)
    forged = _tampered(_attestation(agent))
    response = _check(home, forged, agent["agent_token"])

    assert (response.status_code, code_of(response.json())) == (422, "QWED-ATTESTATION-002")
    assert home.level(agent) == 1


def test_who_checks_an_attestation_of_another_is_charged_nothing(home):
    """Otherwise an agent could harm another by handing it a forgery."""
    agent, other = home.register(3), home.register(3)
    strangers = NodeSigner(generate(), "test")
    about_other, about_agent = _attestation(other), _attestation(agent)
    _check(home, _tampered(about_other), agent["agent_token"])
    _check(home, _tampered(about_agent), None)
    _check(home, _tampered(about_agent), OPERATOR_KEY)
    _check(home, _tampered(about_agent), home.world.principal_key("acme"))
    _check(home, _attestation(agent, strangers), agent["agent_token"])
    _check(home, "not a token", agent["agent_token"])

    assert _check(home, about_agent, agent["agent_token"]).json()["valid"] is True
    assert (home.level(agent), home.level(other)) == (3, 3)


# --- denials ---------------------------------------------------------------------------------------------


def test_more_than_a_tenth_of_fifty_denied_costs_one_level_once_and_names_the_denials(home):
    agent = home.register(3)
    home.allow(agent, 44)
    denied = home.deny(agent, 5)
    assert home.level(agent) == 3
    home.restart()
    denied += home.deny(agent)

    assert home.level(agent) == 2
    (change,) = home.changes(agent)
    assert change["cause"] == "repeated_denials"
    assert change["activities"] == [answer["activity_id"] for answer in denied]
    assert change["reason"] == "6 of the last 50 actions were denied"
    home.restart()
    home.deny(agent, 49)
    assert home.level(agent) == 2
    home.deny(agent)
    assert home.level(agent) == 1


def test_a_tenth_is_not_more_than_a_tenth(home):
    agent = home.register(3)
    for _ in range(4):
        home.allow(agent, 45)
        home.restart()
        home.deny(agent, 5)

    assert home.level(agent) == 3


def test_the_fiftieth_action_is_weighed_though_it_is_allowed(home):
    agent = home.register(3)
    home.deny(agent, 6)
    home.allow(agent, 43)
    assert home.level(agent) == 3
    home.restart()
    (answer,) = home.allow(agent)

    assert (answer["decision"], home.level(agent)) == ("APPROVED", 2)


def test_attempts_without_a_verdict_neither_count_nor_dilute(home):
    """Replays, broken contexts, unknown types: were they actions, they would water the denials down."""
    agent = home.register(3)
    home.allow(agent, 44)
    for _ in range(60):
        assert code_of(home.world.verify(agent, calculate("again"), 1, "c0")) == "QWED-AGENT-LOOP-002"
        assert code_of(home.world.verify(agent, context={})) == "QWED-AGENT-CTX-001"
        assert code_of(home.act(agent, {"type": "no_such_type"})) == "QWED-AGENT-ACTION-001"
    assert home.level(agent) == 3
    home.deny(agent, 6)

    assert home.level(agent) == 2


def test_each_of_the_four_checks_counts(home):
    agent = home.register(1, permissions={"allowed_engines": ["math", "logic", "code"]})
    home.allow(agent, 44)
    state = {"pre_action_state_hash": "a" * 64, "state_source": "custom"}
    stuck = []
    for step, query in enumerate("ababa", start=1):
        context = {"conversation_id": "stuck", "step_number": step, **state}
        stuck.append(home.world.verify(agent, calculate(query), context=context))
    assert code_of(stuck[-1]) == "QWED-AGENT-LOOP-004"
    assert code_of(home.act(agent, SQL)) == "QWED-AGENT-004"
    assert code_of(home.deny(agent)[0]) == "QWED-AGENT-005"
    denied = [home.act(agent, {"type": "file_write", "target": f"x{n}"}) for n in range(3)]
    assert {code_of(answer) for answer in denied} == {"QWED-AGENT-TRUST-001"}

    assert home.level(agent) == 0
    assert [c["cause"] for c in home.changes(agent)] == ["repeated_denials"]


def test_the_tool_door_counts_like_the_other(home):
    agent = home.register(3)
    home.allow(agent, 22)
    for _ in range(22):
        assert tool(home, agent, "get_weather")["decision"] == "APPROVED"
    for _ in range(6):
        assert tool(home, agent, "no_such_tool")["decision"] == "DENIED"

    assert home.level(agent) == 2


def test_a_used_grant_is_not_a_second_action(home):
    agent = home.register(0)
    approver = home.world.principal_key("acme", scopes=["approve"])
    for number in range(22):
        action = calculate(f"{number}")
        approval = home.act(agent, action)["approval"]["id"]
        home.world.call("POST", f"/approvals/{approval}/approve", key=approver)
        redeemed = home.world.call(
            "POST", f"/approvals/{approval}/redeem", key=agent["agent_token"], json={"action": action}
        ).json()
        assert redeemed["decision"] == "APPROVED"
    home.restart()
    trust = home.world.call("GET", f"/agents/{agent['agent_id']}/trust").json()

    assert trust["conduct"]["window"]["actions"] == 22


def test_what_people_note_never_counts(home):
    agent = home.register(3)
    home.deny(agent, 6)
    for number in range(60):
        home.world.call("PATCH", f"/agents/{agent['agent_id']}", json={"description": f"{number}"})

    assert home.level(agent) == 3


# --- budget abuse ----------------------------------------------------------------------------------------


def refuse_again(home, agent, times):
    """Each request arrives after the one before was answered."""
    answers = []
    for _ in range(times):
        home.clock.advance(1)
        answers += home.allow(agent)
    assert all(answer["decision"] == "BUDGET_EXCEEDED" for answer in answers)
    return answers


def test_the_third_request_after_the_agent_was_told_costs_a_level_once_a_day(home):
    agent = home.register(3, budget={"max_requests_per_day": 2})
    home.allow(agent, 2)
    _, *refused = refuse_again(home, agent, 3)
    assert home.level(agent) == 3
    home.restart()
    home.clock.advance(SECOND)
    refused += refuse_again(home, agent, 1)

    assert home.level(agent) == 2
    (change,) = home.changes(agent)
    assert change["cause"] == "budget_abuse"
    assert change["activities"] == [answer["activity_id"] for answer in refused]
    home.restart()
    refuse_again(home, agent, 5)
    assert home.level(agent) == 2
    home.clock.advance(DAY)
    home.allow(agent, 2)
    refuse_again(home, agent, 3)
    assert home.level(agent) == 2
    refuse_again(home, agent, 1)
    assert home.level(agent) == 1


def test_being_told_of_one_limit_is_not_being_told_of_another(home):
    agent = home.register(3, budget={"max_requests_per_day": 2, "max_daily_cost_usd": 0.5})
    home.clock.advance(1)
    for _ in range(2):
        home.clock.advance(1)
        answer = home.act(agent, usage={"cost_usd": 0.6})
        assert answer["error"]["details"]["scope"] == "daily_cost"
    home.allow(agent, 2)
    refuse_again(home, agent, 2)
    assert home.level(agent) == 3
    refuse_again(home, agent, 1)
    assert home.level(agent) == 2


def test_too_large_a_request_is_no_abuse(home):
    agent = home.register(3)
    for _ in range(5):
        answer = home.act(agent, usage={"cost_usd": 50})
        assert answer["error"]["details"]["scope"] == "request_cost"

    assert home.level(agent) == 3


def test_another_agent_of_the_principal_cannot_make_this_one_an_abuser(tmp_path):
    ceilings = PrincipalCeilings(max_requests_per_day=3)
    home = Home(policy=msgspec.structs.replace(DEFAULT_POLICY, principals=ceilings))
    greedy, victim = home.register(3), home.register(3)
    home.allow(greedy, 3)
    for answer in home.allow(victim, 5):
        assert answer["error"]["details"]["scope"] == "principal_daily_requests"

    assert home.level(victim) == 3
    home.world.close()


# --- who is charged --------------------------------------------------------------------------------------


def test_without_a_credential_nobody_is_charged(home):
    agent = home.register(3)
    for key in (None, "qwed_agent_guess", "qwed_live_guess"):
        home.world.verify_response(agent, WIPE, key=key)
        home.world.call("POST", f"/approvals/apr_{'0' * 32}/redeem", key=key, json={"action": calculate()})

    assert home.level(agent) == 3
    assert home.world.decisions(agent) == []


def test_two_credentials_that_disagree_charge_nobody(home):
    one, two = home.register(3), home.register(3)
    body = {"agent_token": two["agent_token"], "action": WIPE}
    context = {"conversation_id": "c", "step_number": 1}
    response = home.world.call(
        "POST", f"/agents/{two['agent_id']}/verify", key=one["agent_token"], json={**body, "context": context}
    )

    assert response.status_code == 401
    assert (home.level(one), home.level(two)) == (3, 3)


def test_what_the_principals_key_does_in_the_agents_name_is_the_agents_doing(home):
    """The key is often in the agent's own process: it must be no way around the rules."""
    agent = home.register(3)
    home.act(agent, WIPE, key=home.world.principal_key("acme"))

    assert home.level(agent) == 1


def test_a_foreign_principals_key_charges_nobody(home):
    agent = home.register(3)
    stranger = home.world.principal_key("other")
    home.act(agent, WIPE, key=stranger)
    home.world.call("POST", f"/approvals/apr_{'0' * 32}/redeem", key=stranger, json={"action": calculate()})

    assert home.level(agent) == 3


def test_a_suspended_agent_is_charged_for_its_token_but_not_for_what_was_never_weighed(home):
    agent = home.register(3)
    home.world.call("POST", f"/agents/{agent['agent_id']}/suspend")
    home.act(agent, WIPE)
    assert home.level(agent) == 3
    home.world.call("GET", "/agents/agent_0000000000000000", key=agent["agent_token"])

    assert home.level(agent) == 1


# --- at the bottom, at the same time, and what is told -----------------------------------------------------


def test_at_level_zero_nothing_is_left_to_take_and_the_entry_says_so(home):
    agent = home.register(1)
    home.act(agent, WIPE)
    home.act(agent, WIPE)

    assert home.level(agent) == 0
    assert [(c["from_level"], c["to_level"]) for c in home.changes(agent)] == [(1, 0), (0, 0)]
    assert home.world.call("GET", f"/agents/{agent['agent_id']}").json()["status"] == "active"


def test_one_deed_that_breaks_two_rules_makes_two_entries(home):
    agent = home.register(3)
    home.allow(agent, 44)
    home.deny(agent, 5)
    answer = home.act(agent, WIPE)

    assert home.level(agent) == 0
    changes = home.changes(agent)
    assert [(c["cause"], c["from_level"], c["to_level"]) for c in changes] == [
        ("security_violation", 3, 1),
        ("repeated_denials", 1, 0),
    ]
    assert all(answer["activity_id"] in change["activities"] for change in changes)


def _together(home, requests):
    """All requests at once, each from the operator."""

    async def send():
        async with home.world.client() as client:
            headers = {"Authorization": f"Bearer {OPERATOR_KEY}"}
            return await asyncio.gather(*(client.request(**r, headers=headers) for r in requests))

    return [response.json() for response in home.world.run(send())]


def _request(agent, action, conversation):
    context = {"conversation_id": conversation, "step_number": 1}
    path = f"/agents/{agent['agent_id']}/verify"
    return {"method": "POST", "url": path, "json": {"action": action, "context": context}}


def test_two_violations_at_the_same_time_each_count_once(home):
    agent = home.register(3)
    answers = _together(home, [_request(agent, WIPE, f"v{n}") for n in range(2)])
    home.restart()

    assert home.level(agent) == 0
    changes = home.changes(agent)
    assert [(c["from_level"], c["to_level"]) for c in changes] == [(3, 1), (1, 0)]
    charged = {activity for change in changes for activity in change["activities"]}
    assert charged == {answer["activity_id"] for answer in answers}


def test_many_denials_at_the_same_time_are_charged_once_per_window(home):
    agent = home.register(3)
    home.allow(agent, 44)
    _together(home, [_request(agent, calculate(f"wrong {n}"), f"d{n}") for n in range(30)])
    home.restart()

    assert home.level(agent) == 2
    assert [c["cause"] for c in home.changes(agent)] == ["repeated_denials"]


def test_a_burst_that_passes_a_limit_is_no_abuse(home):
    """Nobody was told before it was sent."""
    agent = home.register(3, budget={"max_requests_per_day": 1})
    _together(home, [_request(agent, calculate(f"{n}"), f"r{n}") for n in range(20)])
    home.restart()
    assert home.level(agent) == 3


def test_many_refusals_at_the_same_time_are_one_abuse(home):
    agent = home.register(3, budget={"max_requests_per_day": 1})
    home.allow(agent, 2)
    home.clock.advance(SECOND + 1)
    _together(home, [_request(agent, calculate(f"{n}"), f"r{n}") for n in range(20)])
    home.restart()

    assert home.level(agent) == 2
    (change,) = home.changes(agent)
    assert len(set(change["activities"])) == 3


def test_a_persons_change_at_the_same_moment_does_not_undo_a_demotion(home):
    agent = home.register(3)
    change = {"method": "PATCH", "url": f"/agents/{agent['agent_id']}", "json": {"description": "new"}}
    _together(home, [change, _request(agent, WIPE, "v"), change, _request(agent, WIPE, "w"), change])
    home.restart()
    found = home.world.call("GET", f"/agents/{agent['agent_id']}").json()

    assert (found["trust_level"], found["description"]) == (0, "new")


def test_the_change_is_an_entry_of_the_record_beside_its_cause_and_the_chain_holds(home):
    agent = home.register(3)
    answer = home.act(agent, WIPE)
    entries = home.world.activity(agent, limit=10)["activities"]

    assert [(e["action_type"], e["decision"]) for e in entries[:2]] == [
        ("change_trust", "NOTED"),
        ("execute_code", "DENIED"),
    ]
    assert entries[0]["requested_by"] == "gateway"
    said = entries[0]["action"]["parameters"]
    assert (said["cause"], said["activities"]) == ("security_violation", [answer["activity_id"]])
    assert home.changes(agent)[0]["activity_id"] == entries[0]["activity_id"]


def test_a_demotion_is_published_with_its_reasons(home):
    from qwed.gateway.kernel.events import Subscription

    agent = home.register(3)
    subscription = Subscription("acme", None, lambda: None)
    home.world.services.events.subscribe(subscription)
    answer = home.act(agent, WIPE)
    (event,) = [event for event in subscription.take() if event["type"] == "trust"]

    assert (event["from_level"], event["to_level"], event["cause"]) == (3, 1, "security_violation")
    assert event["activities"] == (answer["activity_id"],)
    assert event["agent_id"] == agent["agent_id"]


def test_people_are_told_of_a_level_that_was_lost_and_not_of_one_that_was_not_there(home):
    agent = home.register(2)
    hook = home.world.call("POST", "/webhooks", json={"url": "https://example.com/x", "events": ["trust"]})
    for _ in range(3):
        home.world.call("GET", "/agents/agent_0000000000000000", key=agent["agent_token"])
    told = home.world.call("GET", f"/webhooks/{hook.json()['id']}/deliveries").json()["deliveries"]

    assert [delivery["event"] for delivery in told] == ["trust.changed"]
    assert [c["from_level"] for c in home.changes(agent)] == [2, 0, 0]


def test_a_repeated_request_under_its_key_is_one_violation(home):
    agent = home.register(3)
    for _ in range(3):
        headers = {"Idempotency-Key": "once"}
        answer = home.world.verify(agent, WIPE, headers=headers)
        assert code_of(answer) == "QWED-AGENT-005"

    assert home.level(agent) == 1


def test_a_grant_that_the_budget_refuses_is_a_refused_request(home):
    agent = home.register(1, budget={"max_requests_per_day": 1})
    action = {"type": "send_email", "parameters": {"to": "a@example.com"}}
    approval = home.act(agent, action)["approval"]["id"]
    home.world.call(
        "POST", f"/approvals/{approval}/approve", key=home.world.principal_key(scopes=["approve"])
    )
    for _ in range(4):
        home.clock.advance(1)
        redeemed = home.world.call(
            "POST", f"/approvals/{approval}/redeem", key=agent["agent_token"], json={"action": action}
        ).json()
        assert redeemed["decision"] == "BUDGET_EXCEEDED"

    assert home.level(agent) == 0
    assert [c["cause"] for c in home.changes(agent)] == ["budget_abuse"]


@pytest.mark.parametrize(
    ("meanwhile", "level", "risk", "decision", "code"),
    [
        (WIPE, 3, Risk.LOW, "APPROVED", None),
        (WIPE, 3, Risk.HIGH, "DENIED", "QWED-AGENT-TRUST-001"),
        (None, 3, Risk.LOW, "DENIED", "QWED-AGENT-003"),
    ],
)
def test_a_request_that_was_at_work_is_judged_at_what_is_left_of_trust(
    home, meanwhile, level, risk, decision, code
):
    """Suspension is named only where it is one."""
    agent = home.register(level)
    started, ended = asyncio.Event(), asyncio.Event()

    async def prove(engine, action, client):
        if action.query != "slow":
            return told(engine, action)
        started.set()
        await ended.wait()
        return Finding(Status.VERIFIED, risk, engine)

    async def send():
        home.world.prover.prove = prove
        headers = {"Authorization": f"Bearer {OPERATOR_KEY}"}
        async with home.world.client() as client:
            work = client.request(**_request(agent, calculate("slow"), "slow"), headers=headers)
            slow = asyncio.create_task(work)
            await started.wait()
            if meanwhile is None:
                path = f"/agents/{agent['agent_id']}/suspend"
                suspended = await client.request("POST", path, json={"reason": "no"}, headers=headers)
                assert suspended.status_code == 200, suspended.text
            else:
                await client.request(**_request(agent, meanwhile, "quick"), headers=headers)
            ended.set()
            return (await slow).json()

    answer = home.world.run(send())

    assert answer["decision"] == decision
    assert (code_of(answer) if code else None) == code
