"""The policy's rules in the decision: they only tighten, and what can't be evaluated lets nothing through."""

import msgspec
import pytest
from tests.support.world import World, calculate, code_of

from qwed.domain.actions import Action
from qwed.domain.findings import Status
from qwed.gateway.decide.replay import replay
from qwed.gateway.kernel.coroutines import run
from qwed.policy import load_policy


@pytest.fixture
def world_with():
    """A gateway under these rules."""
    opened = []

    def world_with(rules: str, more: str = "") -> World:
        opened.append(World(policy=load_policy(f"{more}rules:\n{rules}", "policy.yaml")))
        return opened[-1]

    yield world_with
    for world in opened:
        world.close()


def a_calculation(number: int, **parameters) -> dict:
    action = calculate(f"{number}+{number}")
    return {**action, "parameters": parameters} if parameters else action


def decide_all(world: World, agent: dict, count: int, **parameters) -> list[str]:
    return [
        world.verify(agent, a_calculation(step, **parameters), step)["decision"]
        for step in range(1, count + 1)
    ]


def assert_replays(world: World, agent: dict) -> None:
    for entry in world.decisions(agent):
        payload = run(world.services.store.activity(entry["activity_id"]))[0].payload
        replayed = run(replay(msgspec.json.decode(payload), world.services.store.shared))
        assert replayed.is_same, replayed


# --- at once ---------------------------------------------------------------------------------------------


def test_a_rule_that_denies_is_named_in_answer_and_record(world_with):
    world = world_with(
        "  - {id: no-big-sums, when: 'action.query.contains(\"9\")', then: deny, message: not with nines}\n"
        "  - {id: seen, when: 'action.type == \"calculate\"', then: note}\n"
    )
    agent = world.register()
    denied, allowed = world.verify(agent, calculate("9+9"), 1), world.verify(agent, calculate("2+2"), 1)

    assert (denied["decision"], code_of(denied)) == ("DENIED", "QWED-AGENT-RULE-001")
    assert denied["error"]["message"] == "rule no-big-sums: not with nines"
    assert [rule["id"] for rule in denied["rules"]] == ["no-big-sums", "seen"]
    assert allowed["decision"] == "APPROVED" and [rule["id"] for rule in allowed["rules"]] == ["seen"]
    assert [[rule["id"] for rule in entry["rules"]] for entry in world.decisions(agent)] == [
        ["seen"],
        ["no-big-sums", "seen"],
    ]
    assert_replays(world, agent)


def test_no_rules_leave_answer_and_record_as_they_are(world_with):
    world = World()
    agent = world.register()
    answer = world.verify(agent)

    assert "rules" not in answer and "rules" not in world.decisions(agent)[0]
    assert "has_rules" not in world.decisions(agent)[0]["account"].get("facts", ())
    world.close()


@pytest.mark.parametrize("then", ["deny", "ask"])
@pytest.mark.parametrize(
    ("when", "parameters", "says"),
    [
        ("action.parameters.amount > 5", {}, "amount"),
        ("action.parameters.amount > 5", {"amount": "a lot"}, "No matching overloads"),
        ("action.parameters.text == 'x'", {"text": "y" * 20_000}, "longer than 16384"),
        (
            "action.parameters.list.all(i, action.parameters.list.all(j, i != j || i == j))",
            {"list": [1] * 1500},
            "",
        ),
        ("origin('parameters.x') == 'agent'", {"x": 1}, "origins are not known"),
    ],
)
def test_what_cannot_be_evaluated_counts_as_matching(world_with, then, when, parameters, says):
    world = world_with(f'  - {{id: r, when: "{when}", then: {then}}}\n')
    agent = world.register()
    answer = world.verify(agent, a_calculation(1, **parameters), 1)

    assert answer["decision"] == ("DENIED" if then == "deny" else "PENDING")
    assert "cannot be evaluated" in answer["error"]["message"] and says in answer["error"]["message"]


def test_a_rule_whose_library_crashes_lets_nothing_through(world_with, monkeypatch):
    world = world_with("  - {id: r, when: 'risk >= CRITICAL && action.query != \"\"', then: deny}\n")
    agent = world.register()
    assert world.verify(agent, a_calculation(1), 1)["decision"] == "APPROVED"

    class Broken:
        def eval(self, activation):
            raise RuntimeError("out of order")

    book = world.services.policy.__dict__["_rule_books"][None]
    bucket = book._other
    bucket.disjunctions[:] = [Broken()]
    monkeypatch.setattr("qwed.rules.evaluate._truth", lambda program, activation: "out of order")

    answer = world.verify(agent, a_calculation(2), 2)
    assert answer["decision"] == "DENIED" and "out of order" in answer["error"]["message"]


def test_has_says_that_a_key_may_be_missing(world_with):
    world = world_with(
        "  - {id: r, when: 'has(action.parameters.amount) && action.parameters.amount > 5', then: deny}\n"
    )
    agent = world.register()

    assert world.verify(agent, a_calculation(1), 1)["decision"] == "APPROVED"
    assert world.verify(agent, a_calculation(2, amount=6), 2)["decision"] == "DENIED"


def test_rules_look_at_the_action_that_would_run_and_at_what_was_asked(world_with):
    world = world_with(
        "  - {id: runs, when: 'action.query == \"2+2=4\"', then: note}\n"
        "  - {id: asked, when: 'asked.query == \"2+2=5\"', then: note}\n"
    )
    corrected = Action("calculate", query="2+2=4")
    world.prover.says(Status.CORRECTED, corrected=corrected)
    answer = world.verify(world.register(), calculate("2+2=5"), 1)

    assert [rule["id"] for rule in answer["rules"]] == ["runs", "asked"]


def test_an_observed_rule_is_recorded_and_changes_no_answer(world_with):
    world = world_with("  - {id: r, when: 'true', then: deny, mode: observe}\n")
    agent = world.register()
    answer = world.verify(agent)

    assert answer["decision"] == "APPROVED" and "rules" not in answer
    assert world.decisions(agent)[0]["rules"] == [
        {"id": "r", "then": "deny", "message": "denies this", "observed": True}
    ]


# --- people ----------------------------------------------------------------------------------------------


def test_a_rule_asks_so_many_people_with_its_role_and_the_grant_satisfies_it(world_with):
    world = world_with(
        "  - {id: r, when: 'true', then: ask, role: mail, approvers: 2, message: look at it}\n"
    )
    agent = world.register()
    waits = world.verify(agent)
    approval_id = waits["approval"]["id"]
    scopes = {"scopes": ["approve", "read"]}
    nobody, first, second = (
        world.principal_key(**scopes),
        world.principal_key(**scopes, roles=["mail"]),
        world.principal_key(**scopes, roles=["mail"]),
    )

    def approve(key: str):
        return world.call("POST", f"/approvals/{approval_id}/approve", key=key, json={})

    assert (waits["decision"], code_of(waits)) == ("PENDING", "QWED-AGENT-RULE-002")
    refused = approve(nobody)
    assert refused.status_code == 403 and "'mail'" in refused.text
    assert approve(first).json()["status"] == "open"
    assert approve(second).json()["status"] == "approved"
    used = world.call("POST", f"/approvals/{approval_id}/redeem", json={"action": calculate()})
    assert used.json()["decision"] == "APPROVED"
    assert_replays(world, agent)


def _grant(world: World, agent: dict, action: dict, step: int = 1) -> dict:
    """Ask, let a person approve, and use it."""
    waits = world.verify(agent, action, step)
    assert waits["decision"] == "PENDING", waits
    key = world.principal_key(scopes=["approve", "read"])
    path = f"/approvals/{waits['approval']['id']}"
    assert world.call("POST", f"{path}/approve", key=key, json={}).status_code == 200
    return world.call("POST", f"{path}/redeem", json={"action": action}).json()


def test_a_grant_passes_over_no_rule_that_denies_by_now(world_with):
    world = world_with(
        "  - {id: asks, when: 'true', then: ask}\n"
        "  - {id: late, when: 'finding.engine == \"human\"', then: deny}\n"
    )
    agent = world.register()
    used = _grant(world, agent, calculate())

    assert (used["decision"], code_of(used)) == ("DENIED", "QWED-AGENT-RULE-001")
    assert_replays(world, agent)


def test_a_rule_that_did_not_ask_then_stops_the_grant(world_with):
    world = world_with(
        "  - {id: asks, when: 'true', then: ask}\n"
        "  - {id: other, when: 'finding.engine == \"human\"', then: ask}\n"
    )
    used = _grant(world, world.register(), calculate())

    assert (used["decision"], code_of(used)) == ("DENIED", "QWED-AGENT-RULE-002")
    assert "propose the action again" in used["error"]["message"]


# --- teams -----------------------------------------------------------------------------------------------


def test_a_teams_rules_hold_for_its_principals_and_only_tighten(world_with):
    teams = (
        "teams:\n  sales:\n    principals: [acme]\n    rules:\n"
        "      - {id: two, when: 'action.query == \"2+2\"', then: ask}\n"
        "      - {id: three, when: 'action.query == \"3+3\"', then: note}\n"
    )
    rules = "  - {id: three, when: 'action.query == \"3+3\"', then: deny}\n"
    world = world_with(rules, teams)
    inside, outside = world.register(principal_id="acme"), world.register(principal_id="other")

    def decide(agent: dict) -> list[tuple[str, list[str]]]:
        answers = [world.verify(agent, a_calculation(number), 1) for number in (3, 2)]
        return [(each["decision"], [rule["id"] for rule in each.get("rules", [])]) for each in answers]

    assert decide(inside) == [("DENIED", ["three", "sales/three"]), ("PENDING", ["sales/two"])]
    assert decide(outside) == [("DENIED", ["three"]), ("APPROVED", [])]


def test_a_limit_of_a_team_counts_all_of_its_principals(world_with):
    world = world_with(
        "  - {id: r, when: 'true', then: deny, limit: {at_most: 1, within: 1h, per: team}}\n",
        "teams: {sales: {principals: [acme, shop]}, other: {principals: [lab]}}\n",
    )
    found = [
        world.verify(world.register(principal_id=name), a_calculation(number), 1)["decision"]
        for number, name in enumerate(("acme", "shop", "lab", "free", "lone"), 1)
    ]

    assert found == ["APPROVED", "DENIED", "APPROVED", "APPROVED", "DENIED"]


# --- time ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("then", "after"), [("deny", "DENIED"), ("ask", "PENDING"), ("note", "APPROVED")])
def test_a_limit_acts_when_it_is_reached(world_with, then, after):
    world = world_with(f"  - {{id: r, when: 'true', then: {then}, limit: {{at_most: 2, within: 1h}}}}\n")
    agent = world.register()

    assert decide_all(world, agent, 3) == ["APPROVED", "APPROVED", after]
    last = world.decisions(agent)[0]
    assert last["rules"][0]["used"] == "2"
    assert last.get("error_code") == (None if then == "note" else "QWED-AGENT-RULE-003")
    world.clock.advance(3_600_000)
    assert world.verify(agent, a_calculation(9), 9 if then == "note" else 4)["decision"] in (
        "APPROVED",
        "DENIED",
    )
    assert_replays(world, agent)


def test_what_was_refused_or_waits_is_not_counted_and_a_redeemed_grant_is(world_with):
    world = world_with(
        "  - {id: r, when: 'true', then: deny, limit: {at_most: 1, within: 1h}}\n"
        "  - {id: q, when: 'action.query == \"7+7\"', then: ask}\n"
        "  - {id: n, when: 'action.query == \"8+8\"', then: deny}\n"
    )
    agent = world.register()
    assert world.verify(agent, a_calculation(8), 1)["decision"] == "DENIED"
    assert _grant(world, agent, a_calculation(7), 1)["decision"] == "APPROVED"

    over = world.verify(agent, a_calculation(1), 2)
    assert (over["decision"], code_of(over)) == ("DENIED", "QWED-AGENT-RULE-003")


def test_a_limit_that_fills_up_before_a_grant_is_used_stops_it_and_the_grant_stays(world_with):
    world = world_with(
        "  - {id: r, when: 'true', then: ask, limit: {at_most: 1, within: 1h}}\n"
        "  - {id: q, when: 'action.query == \"7+7\"', then: ask}\n"
    )
    agent = world.register()
    waits = world.verify(agent, a_calculation(7), 1)
    key = world.principal_key(scopes=["approve", "read"])
    path = f"/approvals/{waits['approval']['id']}"
    world.call("POST", f"{path}/approve", key=key, json={})
    assert world.verify(agent, a_calculation(1), 2)["decision"] == "APPROVED"

    used = world.call("POST", f"{path}/redeem", json={"action": a_calculation(7)}).json()
    assert (used["decision"], code_of(used)) == ("DENIED", "QWED-AGENT-RULE-003")
    assert world.call("GET", path).json()["status"] == "approved"
    # Asked about the limit too, the person's word counts for it.
    assert _grant(world, agent, a_calculation(7), 3)["decision"] == "APPROVED"
    assert_replays(world, agent)


@pytest.mark.parametrize("amount", [None, "a lot", -1, "NaN", True, "1e999", [3]])
def test_a_sum_that_cannot_be_read_counts_as_reached(world_with, amount):
    world = world_with(
        "  - {id: r, when: 'true', then: deny,"
        " limit: {sum: action.parameters.amount, at_most: 1000000, within: 1h}}\n"
    )
    given = {} if amount is None else {"amount": amount}
    answer = world.verify(world.register(), a_calculation(1, **given), 1)

    assert (answer["decision"], code_of(answer)) == ("DENIED", "QWED-AGENT-RULE-003")
    assert "can't be read" in answer["error"]["message"]


def test_sums_are_kept_apart_by_currency_and_exact(world_with):
    world = world_with(
        "  - {id: r, when: 'true', then: deny, limit: {sum: action.parameters.amount,"
        " by: action.parameters.currency, at_most: 0.3, within: 1h}}\n"
    )
    agent = world.register()
    given = [("0.1", "EUR"), (0.2, "EUR"), (0.3, "USD"), ("0.000001", "EUR"), ("0.1", None)]
    found = []
    for step, (amount, currency) in enumerate(given, 1):
        named = {} if currency is None else {"currency": currency}
        found.append(world.verify(agent, a_calculation(step, amount=amount, **named), step)["decision"])

    assert found == ["APPROVED", "APPROVED", "APPROVED", "DENIED", "DENIED"]


def test_what_must_come_before_and_what_must_not_come_before(world_with):
    world = world_with(
        "  - {id: first, when: 'action.query == \"1+1\"', then: deny,"
        " requires: {before: 'action.query == \"2+2\"', within: 1h}}\n"
        "  - {id: never, when: 'action.query == \"3+3\"', then: deny,"
        " never_after: {after: 'action.query == \"2+2\"', within: 1h}}\n"
        "  - {id: slow, when: 'action.query == \"4+4\"', then: deny, cooldown: {within: 1h}}\n"
    )
    agent = world.register()

    def decide(number: int, step: int) -> str:
        return world.verify(agent, a_calculation(number), step)["decision"]

    assert [decide(1, 1), decide(3, 1)] == ["DENIED", "APPROVED"]
    assert [decide(2, 2), decide(1, 3), decide(3, 4)] == ["APPROVED", "APPROVED", "DENIED"]
    assert [decide(4, 4), decide(5, 5), decide(4, 6)] == ["APPROVED", "APPROVED", "DENIED"]
    world.clock.advance(3_600_000)
    assert [decide(3, 6), decide(1, 7)] == ["APPROVED", "DENIED"]
    assert_replays(world, agent)


def test_a_success_counts_once_it_is_reported(world_with):
    world = world_with(
        "  - {id: first, when: 'action.query == \"1+1\"', then: deny,"
        " requires: {before: 'action.query == \"2+2\"', within: 1h, outcome: success}}\n"
    )
    agent = world.register()
    done = world.verify(agent, a_calculation(2), 1)
    assert world.verify(agent, a_calculation(1), 2)["decision"] == "DENIED"
    path = f"/agents/{agent['agent_id']}/activity/{done['activity_id']}/outcome"
    assert world.call("POST", path, json={"outcome": "success"}).status_code < 300

    assert world.verify(agent, a_calculation(1), 2)["decision"] == "APPROVED"


def test_a_rule_about_a_conversation_stops_what_has_none(world_with):
    world = world_with(
        "  - {id: r, when: 'true', then: deny, limit: {at_most: 5, within: 1h, per: conversation}}\n"
    )
    agent = world.register()
    body = {"parameters": {"city": "Bern"}}
    answer = world.call("POST", f"/agents/{agent['agent_id']}/tools/get_weather", json=body).json()

    assert world.verify(agent)["decision"] == "APPROVED"
    assert answer.get("decision") == "DENIED", answer


def test_rules_hold_at_the_tool_door_too(world_with):
    world = world_with(
        "  - {id: out, when: 'recipients(action).exists(r, r.domain != \"acme.example\")', then: ask}\n"
    )
    agent = world.register()
    found = []
    for step, to in enumerate(
        (["bob@acme.example"], ["Bob <bob@ACME.example>", "eve@evil.example"], "x@acme.example"), 1
    ):
        action = {"type": "send_email", "parameters": {"to": to, "subject": "s", "body": "b"}}
        rules = world.verify(agent, action, step).get("rules", [])
        found.append([rule["id"] for rule in rules])

    assert found == [[], ["out"], []]
