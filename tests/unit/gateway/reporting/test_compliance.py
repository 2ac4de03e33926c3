"""The compliance report: who may read which, and that it says what it does not know."""

import pytest
from tests.support.fakes import DAY, MINUTE, SECOND, FakeClock
from tests.support.records import RING
from tests.support.world import World, calculate, code_of

from qwed.domain.approvals import ApprovalStatus
from qwed.domain.compliance import CONTROLS, TITLES, Figure, Framework
from qwed.domain.decisions import Decision
from qwed.domain.findings import Failure, Status
from qwed.domain.policy import DEFAULT_POLICY, ApprovalRules, Policy, Retention
from qwed.domain.risk import Risk
from qwed.domain.times import iso
from qwed.ect.signatures import keys_of
from qwed.gateway.kernel.records import LedgerState, ReportScope
from qwed.gateway.reporting import compliance, report_sums
from qwed.gateway.reporting.report_gaps import not_measured
from qwed.gateway.reporting.report_sums import Approvals, Count
from qwed.ledger.checkpoints import read_checkpoint
from qwed.stores import memory, open_sqlite
from qwed.stores.sqlite import group_writer


def report_of(world, agent=None, key=None, **query):
    path = "/compliance-report" if agent is None else f"/agents/{agent['agent_id']}/compliance-report"
    response = world.call("GET", path, params=query, **({} if key is None else {"key": key}))
    assert response.status_code == 200, response.text
    return response.json()


def gaps(report):
    return {item["what"]: item["count"] for item in report["not_measured"]}


def outcome(world, agent, answer, said="success", key=None):
    path = f"/agents/{agent['agent_id']}/activity/{answer['activity_id']}/outcome"
    body = {"outcome": said}
    return world.call("POST", path, json=body, **({} if key is None else {"key": key}))


# --- what is in it --------------------------------------------------------------------------------------


def test_decisions_refusals_and_verification_are_counted_with_their_meaning(world):
    agent = world.register()
    world.verify(agent, step=1)
    world.prover.says(Status.FAILED, Risk.LOW, failure=Failure.INCORRECT)
    world.verify(agent, calculate("1"), step=2)
    world.prover.says(Status.UNCERTAIN, Risk.LOW)
    world.verify(agent, calculate("2"), step=3)
    world.verify(agent, calculate("3"), step=3)

    figures = report_of(world, agent)["figures"]

    decisions = figures["decisions"]
    assert (decisions["total"], decisions["approved"], decisions["denied"], decisions["pending"]) == (
        4,
        1,
        2,
        1,
    )
    assert decisions["by_agent"][0]["name"] == "tester"
    codes = {row["code"]: (row["count"], row["meaning"]) for row in figures["refusals"]}
    assert codes["QWED-AGENT-005"] == (1, "The engine disproved the action, or found it forbidden")
    assert codes["QWED-AGENT-LOOP-002"][0] == 1
    assert [row["code"] for row in figures["loops"]] == ["QWED-AGENT-LOOP-002"]
    assert figures["verification"]["uncertain"] == 1
    assert figures["verification"]["refused_before_examination"] == 1
    assert {(row["engine"], row["risk_level"], row["status"]) for row in figures["verification"]["list"]} == {
        ("math", "low", "VERIFIED"),
        ("math", "low", "FAILED"),
        ("math", "low", "UNCERTAIN"),
    }


def test_costs_outcomes_and_budget_refusals_are_counted(world):
    agent = world.register()
    answers = [world.verify(agent, calculate(str(step)), step=step) for step in (1, 2, 3)]
    outcome(world, agent, answers[0])
    outcome(world, agent, answers[1], "failure", key=agent["agent_token"])
    world.call("PATCH", f"/agents/{agent['agent_id']}", json={"budget": {"max_requests_per_hour": 0}})
    world.verify(agent, calculate("4"), step=4)

    figures = report_of(world, agent)["figures"]

    assert figures["costs"]["charged_usd"] == 0.03
    assert [row["code"] for row in figures["costs"]["budget_refusals"]] == ["QWED-AGENT-BUDGET-002"]
    assert figures["outcomes"] == {
        "allowed": 3,
        "reported": 2,
        "missing": 1,
        "reported_by_the_agent_itself": 1,
        "permit_findings": {},
        "by_outcome": {"success": 1, "partial": 0, "failure": 1, "unknown": 0},
    }


def test_an_approval_shows_who_answered_when_with_what_note_and_how_fast():
    world = World(policy=Policy(approvals=ApprovalRules(approvers=2)))
    first = world.principal_key(scopes=["approve"])
    second = world.principal_key(scopes=["approve"])
    agent = world.register(trust_level=1)
    world.prover.says(Status.VERIFIED, Risk.MEDIUM)
    asked = [world.verify(agent, calculate(str(n)), step=n)["approval"]["id"] for n in (1, 2, 3)]
    world.clock.advance(10 * SECOND)
    for key in (first, second):
        world.call("POST", f"/approvals/{asked[0]}/approve", key=key, json={"note": "seen"})
        world.clock.advance(20 * SECOND)
    world.call("POST", f"/approvals/{asked[1]}/deny", key=first, json={"note": "no"})
    world.clock.advance(16 * MINUTE)

    approvals = report_of(world, agent)["figures"]["approvals"]

    assert approvals["total"] == 3
    assert approvals["by_status"] == {
        **dict.fromkeys(ApprovalStatus, 0),
        "expired": 2,
        "denied": 1,
    }
    assert (approvals["expired_unanswered"], approvals["granted_and_never_used"]) == (1, 1)
    assert approvals["needing_several_people"] == 3
    assert approvals["response_seconds"] == {"answered": 2, "median": 40.0, "longest": 50.0}
    granted = next(row for row in approvals["list"] if row["id"] == asked[0])
    assert [(vote["approves"], vote["note"]) for vote in granted["votes"]] == [(True, "seen"), (True, "seen")]
    assert granted["response_seconds"] == 30.0
    assert sum(row["approved"] + row["denied"] for row in approvals["by_key"]) == 3
    world.close()


def test_changes_of_trust_suspensions_and_keys_are_listed_with_their_reasons(world):
    owner = world.principal_key(scopes=["read", "register", "trust"])
    agent = world.register()
    path = f"/agents/{agent['agent_id']}"
    world.call("POST", f"{path}/trust", key=owner, json={"to_level": 1, "reason": "a bad week"})
    world.call("POST", f"{path}/complaint", key=owner, json={"reason": "wrong person"})
    world.call("POST", f"{path}/reactivate", key=owner)

    figures = report_of(world)["figures"]

    trust = figures["trust"]["list"][0]
    assert (trust["kind"], trust["details"]["from_level"], trust["details"]["to_level"]) == (
        "change_trust",
        2,
        1,
    )
    assert trust["details"]["reason"] == "a bad week"
    assert figures["suspensions"]["by_kind"] == {"complaint": 1, "reactivate_agent": 1}
    assert figures["credentials"]["by_kind"]["create_key"] == 2
    assert figures["agent_changes"]["list"][0]["details"]["type"] == "autonomous"


def test_a_granted_elevation_is_a_change_of_trust(world):
    approver = world.principal_key(scopes=["approve"])
    agent = world.register(trust_level=1)
    body = {"request": "trust_elevation", "from_level": 1, "to_level": 2, "justification": "a good month"}
    asked = world.call(
        "POST", f"/agents/{agent['agent_id']}/trust", key=agent["agent_token"], json=body
    ).json()
    world.call("POST", f"/approvals/{asked['approval']['id']}/approve", key=approver, json={})

    trust = report_of(world, agent)["figures"]["trust"]

    assert trust["by_kind"] == {"change_trust": 1, "request_trust": 1}


def test_policy_versions_in_force_are_named_with_when_they_were_seen(world):
    agent = world.register()
    world.verify(agent)

    policy = report_of(world, agent)["figures"]["policy"]

    assert policy["current"] == DEFAULT_POLICY.version
    assert [row["version"] for row in policy["versions"]] == [DEFAULT_POLICY.version]
    assert policy["versions"][0]["entries"] == 2


def test_the_ledgers_end_is_named_with_how_to_check_it(world):
    agent = world.register()
    world.verify(agent)

    ledger = report_of(world)["figures"]["ledger"]

    # Three activities, and an entry for each row that decides: the key, the agent, its change of trust.
    assert ledger["entries"] == 3 + 3
    assert len(ledger["head"]) == 64
    assert any("qwed ledger verify" in text for text in ledger["how_to_verify"])
    assert ledger["checkpoint"]["size"] == 6
    signed = read_checkpoint(ledger["checkpoint"]["token"], keys_of(world.services.signer.jwks()))
    assert (signed.size, signed.head.hex()) == (6, ledger["head"])


def test_a_period_begins_with_its_first_instant_and_ends_before_its_last(world):
    agent = world.register()
    start = world.clock.now_ms() + DAY
    for step, offset in enumerate((-1, 0, 5, 10), start=1):
        world.clock.now = start + offset
        world.verify(agent, calculate(str(step)), step=step)

    report = report_of(world, agent, **{"from": iso(start), "to": iso(start + 10)})

    assert report["figures"]["decisions"]["total"] == 2
    assert report["period"] == {"from": iso(start), "to": iso(start + 10)}


# --- mapping --------------------------------------------------------------------------------------------


def test_every_figure_has_a_title_is_reported_and_is_mapped_to_a_control(world):
    report = report_of(world)

    assert set(report["figures"]) == set(Figure) == set(TITLES)
    assert {row["figure"] for row in report["controls"]} == set(Figure)
    assert {row.framework for row in CONTROLS} == set(Framework)


@pytest.mark.parametrize(
    "word", ["compliant", "certified", "complies", "pass", "fulfils", "ensures", "proves"]
)
def test_the_mapping_claims_no_conformity(word):
    said = " ".join(f"{row.supports} {row.does_not_show}" for row in CONTROLS).lower().split()

    assert word not in said


def test_each_row_says_what_the_figure_does_not_show():
    assert all(row.supports.strip() and row.does_not_show.strip() for row in CONTROLS)
    assert len({(row.figure, row.framework, row.control) for row in CONTROLS}) == len(CONTROLS)


def test_articles_12_and_14_are_both_covered():
    articles = {row.control.split("(")[0] for row in CONTROLS if row.framework is Framework.EU_AI_ACT}

    assert articles == {"Article 12", "Article 14"}


# --- what was not measured --------------------------------------------------------------------------------


def test_what_can_never_be_measured_is_always_said(world):
    assert {
        "actions that were not proposed",
        "the people behind the keys",
        "failed attempts to authenticate",
        "the ledger's integrity",
    } <= gaps(report_of(world)).keys()


def test_an_empty_period_says_that_nothing_was_measured(world):
    agent = world.register()

    report = report_of(world, agent, **{"from": "2020-01-01T00:00:00Z", "to": "2020-02-01T00:00:00Z"})

    assert report["figures"]["decisions"]["total"] == 0
    assert "the whole period" in gaps(report)
    assert "outcomes that were never reported" not in gaps(report)


def test_missing_self_reported_and_unknown_outcomes_are_said(world):
    agent = world.register()
    answers = [world.verify(agent, calculate(str(step)), step=step) for step in (1, 2, 3, 4)]
    outcome(world, agent, answers[0])
    outcome(world, agent, answers[1], key=agent["agent_token"])
    outcome(world, agent, answers[2], "unknown")

    found = gaps(report_of(world, agent))

    assert found["outcomes that were never reported"] == 1
    assert found["outcomes that only the agent itself reported"] == 1
    assert found["outcomes nobody could tell"] == 1


def test_when_every_outcome_is_reported_nothing_is_said_of_missing_ones(world):
    agent = world.register()
    outcome(world, agent, world.verify(agent))

    assert "outcomes that were never reported" not in gaps(report_of(world, agent))


def test_time_before_the_first_record_and_after_the_report_is_said(world):
    world.register()

    found = gaps(report_of(world, **{"from": "2020-01-01T00:00:00Z", "to": "2030-01-01T00:00:00Z"}))
    within = gaps(report_of(world, **{"from": iso(world.clock.now_ms())}))

    assert {"time before the first record", "time after this report was made"} <= found.keys()
    assert not {"time before the first record", "time after this report was made"} & within.keys()


def test_days_without_any_entry_are_counted_and_named(world):
    agent = world.register()
    world.clock.advance(4 * DAY)
    world.verify(agent)

    report = report_of(world, agent)

    assert gaps(report)["days without any entry"] == 3
    said = next(item["why"] for item in report["not_measured"] if item["what"] == "days without any entry")
    assert "2026-04-07, 2026-04-08, 2026-04-09" in said


def test_uncertain_and_unexamined_actions_are_said(world):
    agent = world.register()
    world.prover.says(Status.UNCERTAIN, Risk.LOW)
    world.verify(agent)
    world.verify(agent, {"type": "mystery"}, step=2)

    found = gaps(report_of(world, agent))

    assert found["actions no engine could decide"] == 1
    assert found["requests no engine looked at"] == 1


def test_entries_removed_by_retention_are_counted_for_the_operator_and_said_to_others(tmp_path, monkeypatch):
    monkeypatch.setattr(group_writer, "_KEEP_EVERY", 1)
    policy = Policy(retention=Retention(activity_days=10))
    clock = FakeClock()
    store = open_sqlite(tmp_path / "q.db", policy, clock, RING)
    world = World(policy=policy, store=store, clock=clock)
    owner, agent = world.principal_key(), world.register()
    world.verify(agent)
    world.clock.advance(11 * DAY)
    world.verify(agent, calculate("2"), step=2)
    world.verify(agent, calculate("3"), step=3)

    assert gaps(report_of(world))["entries that are gone"] >= 3
    assert gaps(report_of(world, key=owner))["entries that are gone"] is None
    world.close()


def test_a_list_that_is_cut_says_so_and_its_figure_is_complete(world, monkeypatch):
    monkeypatch.setattr(report_sums, "MAX_LISTED", 3)
    for _ in range(5):
        world.register()

    report = report_of(world)

    changes = report["figures"]["agent_changes"]
    assert (changes["total"], len(changes["list"]), changes["not_listed"]) == (5, 3, 2)
    assert gaps(report)["rows that are counted and not listed"] == 2


# --- walls ----------------------------------------------------------------------------------------------


def test_a_principal_sees_its_own_agents_only(world):
    acme, rival = world.principal_key("acme"), world.principal_key("rival")
    mine, theirs = world.register(), world.register(principal_id="rival")
    world.verify(mine)
    world.verify(theirs)
    world.verify(theirs, calculate("1"), step=2)

    report = report_of(world, key=acme)

    assert report["scope"] == {"kind": "principal", "principal_id": "acme"}
    assert report["figures"]["decisions"]["total"] == 1
    assert theirs["agent_id"] not in str(report)
    assert report_of(world)["figures"]["decisions"]["total"] == 3
    refused = world.call("GET", f"/agents/{theirs['agent_id']}/compliance-report", key=acme)
    assert refused.status_code == 404
    nobody = world.call("GET", "/agents/agent_nobody/compliance-report", key=acme)
    assert code_of(nobody.json()) == code_of(refused.json())
    assert report_of(world, theirs, key=rival)["figures"]["decisions"]["total"] == 2


def test_an_agents_token_and_a_key_without_the_scope_read_get_no_report(world):
    agent = world.register()
    key = world.principal_key(scopes=["verify"])

    for credential in (agent["agent_token"], key):
        for path in ("/compliance-report", f"/agents/{agent['agent_id']}/compliance-report"):
            assert world.call("GET", path, key=credential).status_code == 403
    assert world.call("GET", "/compliance-report", key=None).status_code == 401


def test_the_record_of_a_deregistered_agent_is_still_reported(world):
    agent = world.register()
    world.verify(agent)
    world.call("DELETE", f"/agents/{agent['agent_id']}")

    report = report_of(world, agent)

    assert report["figures"]["decisions"]["approved"] == 1
    assert report["scope"]["name"] is None


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"format": "xml"}, "format"),
        ({"from": "yesterday"}, "from"),
        ({"to": "0000"}, "to"),
        ({"from": "2026-02-01T00:00:00Z", "to": "2026-01-01T00:00:00Z"}, "to"),
        ({"from": "2026-02-01T00:00:00Z", "to": "2026-02-01T00:00:00Z"}, "to"),
        ({"since": "2026-02-01T00:00:00Z"}, "since"),
    ],
    ids=["format", "from", "to", "backwards", "empty", "unknown"],
)
def test_a_question_that_cannot_be_answered_is_refused_by_name(world, query, field):
    refused = world.call("GET", "/compliance-report", params=query)

    assert refused.status_code == 422
    assert refused.json()["error"]["details"]["field"] == field


# --- long records ---------------------------------------------------------------------------------------


def test_a_record_is_counted_stretch_by_stretch_and_others_are_served_in_between(world, monkeypatch):
    monkeypatch.setattr(memory, "SURVEY_STRETCH", 2)
    agent = world.register()
    for step in range(1, 8):
        world.verify(agent, calculate(str(step)), step=step)
    told = []

    content = world.gateway.compliance_report(progress=lambda done, total: told.append((done, total)))

    assert b'"total":7' in content
    assert told == [(2, 12), (4, 12), (6, 12), (8, 12), (10, 12), (12, 12)]


def test_a_report_that_takes_too_long_is_refused_and_says_what_to_do(world, monkeypatch):
    monkeypatch.setattr("qwed.http.routes.MAX_REPORT_SECONDS", -1)

    refused = world.call("GET", "/compliance-report")

    assert refused.status_code == 413
    assert "qwed report" in refused.json()["error"]["message"]


def test_more_approvals_than_a_page_are_all_counted(world, monkeypatch):
    monkeypatch.setattr(compliance, "_PAGE", 2)
    agent = world.register(trust_level=1)
    world.prover.says(Status.VERIFIED, Risk.MEDIUM)
    for step in range(1, 8):
        world.clock.advance(SECOND)
        assert world.verify(agent, calculate(str(step)), step=step)["decision"] == Decision.PENDING

    everything = report_of(world, agent)["figures"]["approvals"]
    part = report_of(world, agent, **{"from": iso(world.clock.now_ms() - 2 * SECOND)})["figures"]["approvals"]

    assert (everything["total"], part["total"]) == (7, 3)


def test_rows_that_were_taken_over_are_not_provable_before_that_day():
    scope = ReportScope(0, 1_000)
    ledger = LedgerState(5, b"", 0, 1, adopted=3, adopted_ms=1_700_000_000_000)

    told = list(not_measured(scope, Count(), Approvals(0), ledger, None, 1_000))

    (row,) = [row for row in told if "committed to the ledger" in row["what"]]
    assert row["count"] == 3
    assert "taken over on 2023-11-14, and are not provable before" in row["why"]
