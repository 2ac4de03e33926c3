"""Erasure: what was said is nowhere any more, the ledger still follows, and who took it out is on record."""

import sqlite3
import threading

import pytest
from tests.support.fakes import DAY, MINUTE, FakeClock
from tests.support.ledgers import verified_head
from tests.support.records import RING
from tests.support.tokens import SigningAgent, jti_in
from tests.support.world import World, calculate, code_of

from qwed.domain.findings import Status
from qwed.domain.policy import Policy, Retention
from qwed.domain.risk import Risk
from qwed.ledger.audit import AuditKind, Tampering
from qwed.ledger.chain import BrokenChain
from qwed.ledger.export import Exported, verify
from qwed.stores import open_sqlite
from qwed.stores.sqlite import group_writer
from qwed.stores.sqlite.ledger import export_ledger, verify_ledger

NAME = "Ada Lovelace, 12 St James's Square"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "q.db"


@pytest.fixture
def world(path):
    world = opened(path)
    yield world
    world.close()


def opened(path, policy=None):
    clock, policy = FakeClock(), policy or Policy()
    return World(policy=policy, store=open_sqlite(path, policy, clock, RING), clock=clock)


def stored(path):
    """Every byte that the store has on the disk, its log of changes included."""
    return b"".join(file.read_bytes() for file in path.parent.glob("q.db*"))


def redact(world, agent, activity_id, key=None, reason="asked for by the person"):
    target = f"/agents/{agent['agent_id']}/activity/{activity_id}/redact"
    return world.call("POST", target, json={"reason": reason}, **({} if key is None else {"key": key}))


def redact_all(world, agent, **selection):
    body = {"reason": "asked for by the person", **selection}
    return world.call("POST", f"/agents/{agent['agent_id']}/redact", json=body)


def settled_story(world, agent, *, is_told=True):
    """A pending action that was approved, used and reported on, with the name at every stage."""
    if is_told:
        hook = {"url": "https://example.com/hook"}
        assert world.call("POST", "/webhooks", json=hook).status_code == 201
    approver = world.principal_key(scopes=["approve"])
    world.prover.says(Status.VERIFIED, Risk.HIGH, reason=f"about {NAME}", evidence={"seen": NAME})
    action = calculate(NAME, target=f"file of {NAME}", parameters={"who": [NAME]})
    asked = world.verify(
        agent,
        action,
        headers={"Idempotency-Key": "k1"},
        context={"conversation_id": "c", "step_number": 1, "user_intent": f"write to {NAME}"},
    )
    approval = asked["approval"]["id"]
    world.call("POST", f"/approvals/{approval}/approve", key=approver, json={"note": f"{NAME} agreed"})
    used = world.call("POST", f"/approvals/{approval}/redeem", json={"action": action}).json()
    assert used["decision"] == "APPROVED", used
    target = f"/agents/{agent['agent_id']}/activity/{used['activity_id']}/outcome"
    said = {"outcome": "failure", "error": f"{NAME} was not at home"}
    assert world.call("POST", target, json=said).status_code == 200
    return asked["activity_id"], used["activity_id"], approval


# --- nothing is left ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", [0, 1], ids=["asked", "used"])
def test_redacting_one_entry_erases_its_whole_story_from_the_disk(world, path, which):
    agent = world.register()
    *entries, approval = settled_story(world, agent)
    assert NAME.encode() in stored(path)

    answer = redact(world, agent, entries[which])

    assert answer.status_code == 200, answer.text
    assert set(entries) <= set(answer.json()["redacted"])
    assert len(answer.json()["redacted"]) == 4
    assert NAME.encode() not in stored(path)
    assert b"Lovelace" not in stored(path)
    shown = world.call("GET", f"/approvals/{approval}").json()
    assert shown["status"] == "redeemed"
    assert (shown["user_intent"], shown["evidence"], shown["votes"][0]["note"]) == (None, {}, None)
    assert verified_head(path, RING).seq > 0


def test_what_is_left_says_what_was_decided_and_that_it_was_redacted(world):
    agent = world.register()
    answer = world.verify(agent, calculate(NAME))

    redact(world, agent, answer["activity_id"])

    note, left, _ = world.activity(agent)["activities"]
    assert left["redacted"] is True
    assert left["action"] == {"type": "calculate"}
    assert left["decision"] == "APPROVED"
    assert left["verification"]["engine"] == "math"
    assert left["cost"] == {"usd": 0.01, "tokens": 0}
    assert (note["action_type"], note["decision"]) == ("redact_activity", "NOTED")
    assert note["action"]["parameters"]["reason"] == "asked for by the person"
    assert list(note["action"]["parameters"]["entries"]) == [answer["activity_id"]]
    assert note["requested_by"].startswith("key:")


def test_a_redacted_entry_is_counted_in_the_report_and_its_erasure_is_listed(world):
    agent = world.register()
    redact(world, agent, world.verify(agent, calculate(NAME))["activity_id"])

    report = world.call("GET", "/compliance-report").json()

    assert report["figures"]["erasures"]["redacted_entries"] == 1
    assert report["figures"]["erasures"]["by_kind"] == {"redact_activity": 1}
    assert report["figures"]["verification"]["list"][0]["engine"] == "math"
    assert {"what": "entries whose text was erased", "count": 1} in [
        {"what": item["what"], "count": item["count"]} for item in report["not_measured"]
    ]


def test_an_unsalted_hash_of_the_action_is_not_left_either(world, path):
    agent = world.register()
    answer = world.verify(agent, calculate(NAME))
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as reader:
        [(fingerprint,)] = reader.execute(
            "SELECT fingerprint FROM activities WHERE activity_id = ?", (answer["activity_id"],)
        )
    assert fingerprint in stored(path)

    redact(world, agent, answer["activity_id"])

    assert fingerprint not in stored(path)


def test_everything_that_holds_a_text_is_found_by_it_and_erased(world, path):
    agent = world.register()
    settled_story(world, agent)
    world.prover.says(Status.VERIFIED, Risk.LOW)
    world.verify(agent, calculate("1+1"), step=2)
    world.verify(agent, {"type": NAME, "query": "x"}, step=3)
    world.verify(agent, calculate("2+2"), conversation=f"about {NAME}")
    world.call("PATCH", f"/agents/{agent['agent_id']}", json={"description": f"writes to {NAME}"})
    world.call("PATCH", f"/agents/{agent['agent_id']}", json={"description": "writes"})

    answer = redact_all(world, agent, containing=NAME).json()

    assert answer["skipped"] == []
    assert answer["redacted"] == 7
    assert b"Lovelace" not in stored(path)
    kinds = [entry["action_type"] for entry in world.decisions(agent)]
    assert kinds.count("[redacted]") == 1
    assert sum(entry.get("redacted", False) for entry in world.decisions(agent)) == 4
    assert verified_head(path, RING).seq > 0


def test_the_reason_of_a_change_of_trust_is_erased_from_its_history_too(world, path):
    agent = world.register()
    body = {"to_level": 1, "reason": f"it wrote to {NAME}"}
    changed = world.call("POST", f"/agents/{agent['agent_id']}/trust", json=body).json()

    assert redact(world, agent, changed["activity_id"]).status_code == 200
    assert b"Lovelace" not in stored(path)


def test_a_text_with_quotes_and_other_scripts_is_found_as_it_is_written(world, path):
    agent = world.register()
    text = 'Ada "the" Lovelace\\ Ωж 中'
    world.verify(agent, calculate(text))

    assert redact_all(world, agent, containing=text).json()["redacted"] == 1
    assert b"Lovelace" not in stored(path)


def test_a_long_text_on_many_pages_of_the_file_is_erased(world, path):
    agent = world.register()
    for step in range(1, 30):
        world.verify(agent, calculate(f"{NAME} {step} " + "x" * 400 * step), step=step)

    assert redact_all(world, agent, containing=NAME).json()["redacted"] == 29
    assert b"Lovelace" not in stored(path)


def test_a_whole_conversation_goes_with_its_name(world, path):
    agent = world.register()
    for step in (1, 2):
        world.verify(agent, calculate(str(step)), step=step, conversation="ada@example.com")
    world.verify(agent, calculate("9"), conversation="other")

    answer = redact_all(world, agent, conversation_id="ada@example.com").json()

    assert answer["redacted"] == 2
    assert b"ada@example.com" not in stored(path)
    assert world.activity(agent, conversation_id="other")["summary"]["total_actions"] == 1


def test_entries_before_a_time_are_erased_page_by_page_and_later_ones_stay(world, monkeypatch):
    monkeypatch.setattr("qwed.gateway.evidence.redact_activity.MAX_PAGE", 3)
    agent = world.register()
    for step in range(1, 8):
        world.verify(agent, calculate(str(step)), step=step)
    world.clock.advance(DAY)
    world.verify(agent, calculate("young"), step=8)
    selection, pages, count = {"before": "2026-04-07T00:00:00Z"}, 0, 0
    cursor = {}
    while True:
        answer = redact_all(world, agent, **selection, **cursor).json()
        pages, count = pages + 1, count + answer["redacted"]
        if "next" not in answer:
            break
        cursor = {"cursor": answer["next"]}

    assert (pages, count) == (3, 8)
    assert [e["activity_id"] for e in world.decisions(agent) if "redacted" not in e] == [
        world.decisions(agent)[0]["activity_id"]
    ]


def test_a_dry_run_erases_nothing(world, path):
    agent = world.register()
    world.verify(agent, calculate(NAME))

    answer = redact_all(world, agent, containing=NAME, dry_run=True).json()

    assert answer["would_be_redacted"] == 1
    assert NAME.encode() in stored(path)
    assert len(world.activity(agent)["activities"]) == 2


def test_a_reader_in_the_middle_of_something_delays_the_erasure_of_the_log_only_until_the_next_write(
    world, path
):
    agent = world.register()
    answer = world.verify(agent, calculate(NAME))
    reader = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM activities").fetchone()

    assert redact(world, agent, answer["activity_id"]).status_code == 200
    assert b"Lovelace" in stored(path)
    reader.close()
    world.verify(agent, calculate("1"), step=2)

    assert b"Lovelace" not in stored(path)


def test_a_store_that_is_opened_again_empties_the_log_of_an_erasure_that_could_not(path):
    world = opened(path)
    agent = world.register()
    answer = world.verify(agent, calculate(NAME))
    reader = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM activities").fetchone()
    redact(world, agent, answer["activity_id"])
    reader.close()
    world.close()

    again = opened(path)
    assert b"Lovelace" not in stored(path)
    again.close()


# --- what is still needed stays -----------------------------------------------------------------------------


def test_what_waits_for_a_person_or_can_still_be_used_is_not_redacted(world):
    approver = world.principal_key(scopes=["approve"])
    agent = world.register()
    world.prover.says(Status.VERIFIED, Risk.HIGH)
    asked = world.verify(agent, calculate(NAME))

    refused = redact(world, agent, asked["activity_id"])
    world.call("POST", f"/approvals/{asked['approval']['id']}/approve", key=approver, json={})
    granted = redact(world, agent, asked["activity_id"])
    by_text = redact_all(world, agent, containing=NAME).json()
    world.clock.advance(16 * MINUTE)
    late = redact(world, agent, asked["activity_id"])

    assert code_of(refused.json()) == code_of(granted.json()) == "QWED-REDACTION-001"
    assert by_text["redacted"] == 0
    assert by_text["skipped"][0]["activity_id"] == asked["activity_id"]
    assert late.status_code == 200


def test_an_outcome_nobody_knows_is_settled_first(world):
    agent = world.register()
    answer = world.verify(agent, calculate(NAME))
    target = f"/agents/{agent['agent_id']}/activity/{answer['activity_id']}/outcome"
    world.call("POST", target, json={"outcome": "unknown"})

    assert redact(world, agent, answer["activity_id"]).status_code == 409
    world.call("POST", f"{target}/settle", json={"outcome": "failure", "note": NAME})
    assert redact(world, agent, answer["activity_id"]).status_code == 200
    assert len([e for e in world.activity(agent)["activities"] if e.get("redacted")]) == 3


def test_an_entry_is_redacted_once_and_the_note_of_it_never(world):
    agent = world.register()
    answer = world.verify(agent, calculate(NAME))
    note = redact(world, agent, answer["activity_id"]).json()["activity_id"]

    assert redact(world, agent, answer["activity_id"]).status_code == 409
    assert redact(world, agent, note).status_code == 409
    assert redact_all(world, agent, before="2030-01-01T00:00:00Z").json()["skipped"] == []
    assert world.activity(agent)["activities"][1]["action"]["parameters"]["reason"]


def test_loops_and_budgets_do_not_forget_what_was_redacted(world):
    agent = world.register()
    answer = world.verify(agent, calculate(NAME))
    spent = world.budget(agent)

    redact(world, agent, answer["activity_id"])

    assert world.budget(agent)["cost"] == spent["cost"]
    assert code_of(world.verify(agent, calculate("x"), step=1)) == "QWED-AGENT-LOOP-002"


# --- who may ------------------------------------------------------------------------------------------------


def test_only_an_operator_or_the_principals_key_with_the_scope_trust_may_erase(world):
    agent = world.register()
    entry = world.verify(agent, calculate(NAME))["activity_id"]
    weak = world.principal_key(scopes=["verify", "register", "read", "approve"])
    rival = world.principal_key("rival", scopes=["trust"])
    owner = world.principal_key(scopes=["trust"])

    for key, status in ((agent["agent_token"], 403), (weak, 403), (rival, 404), (None, 401)):
        target = f"/agents/{agent['agent_id']}/activity/{entry}/redact"
        assert world.call("POST", target, key=key, json={"reason": "x"}).status_code == status
        target, body = f"/agents/{agent['agent_id']}/redact", {"reason": "x", "containing": "y"}
        assert world.call("POST", target, key=key, json=body).status_code == status
    assert redact(world, agent, entry, key=owner).status_code == 200


def test_another_agents_entry_is_not_there(world):
    mine, theirs = world.register(), world.register()
    entry = world.verify(theirs, calculate(NAME))["activity_id"]

    assert redact(world, mine, entry).status_code == 404
    assert redact(world, mine, "act_nothing").status_code == 404


def test_the_record_of_an_agent_that_is_gone_can_be_redacted_by_its_owner(world, path):
    agent, owner = world.register(), world.principal_key(scopes=["trust", "register", "read"])
    entry = world.verify(agent, calculate(NAME))["activity_id"]
    world.call("DELETE", f"/agents/{agent['agent_id']}", key=owner)

    answer = redact(world, agent, entry, key=owner)

    assert answer.status_code == 200, answer.text
    assert b"Lovelace" not in stored(path)
    listed = world.call("GET", f"/agents/{agent['agent_id']}/activity", key=owner).json()["activities"]
    assert listed[0]["action_type"] == "redact_activity"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"reason": " "}, "reason"),
        ({"reason": "x" * 5000, "containing": "y"}, "reason"),
        ({"reason": "why"}, "containing"),
        ({"reason": "why", "containing": " "}, "containing"),
        ({"reason": "why", "containing": "x" * 201}, "containing"),
        ({"reason": "of Ada", "containing": "Ada"}, "reason"),
        ({"reason": "why", "before": "soon"}, "before"),
        ({"reason": "why", "before": "2026-01-01T00:00:00Z", "cursor": "!"}, "cursor"),
        ({"reason": "why", "containing": "a", "all": True}, "all"),
    ],
    ids=["blank", "long", "nothing", "empty", "wide", "repeats", "time", "cursor", "unknown"],
)
def test_a_request_that_says_too_little_or_too_much_is_refused(world, body, field):
    agent = world.register()

    refused = redact_all(world, agent, **body)

    assert refused.status_code == 422
    assert field in refused.json()["error"]["message"]


# --- the ledger ---------------------------------------------------------------------------------------------


def edited(world, path, sql, *values):
    world.close()
    with sqlite3.connect(path) as file:
        assert file.execute(sql, values).rowcount == 1
    file.close()


def test_an_entry_whose_salt_was_taken_without_a_note_is_tampering(path):
    world = opened(path)
    agent = world.register()
    entry = world.verify(agent, calculate(NAME))["activity_id"]
    edited(world, path, "UPDATE activities SET salt = NULL WHERE activity_id = ?", entry)

    with pytest.raises(BrokenChain, match="no erasure says so"):
        verified_head(path, RING)


@pytest.mark.parametrize(
    "change",
    [
        "decision = 'DENIED'",
        "cost_nano = 0",
        "payload = '{\"redacted\":true}'",
        "payload = NULL",
        "at_ms = at_ms + 1",
    ],
    ids=["decision", "cost", "payload", "nothing", "time"],
)
def test_what_is_left_of_a_redacted_entry_cannot_be_changed_unnoticed(path, change):
    world = opened(path)
    agent = world.register()
    entry = world.verify(agent, calculate(NAME))["activity_id"]
    redact(world, agent, entry)
    edited(world, path, f"UPDATE activities SET {change} WHERE activity_id = ?", entry)

    found = verify_ledger(path, RING.known())
    assert isinstance(found, Tampering)
    assert found.kind is AuditKind.EDITED
    assert entry in found.says


def test_an_export_after_an_erasure_verifies_and_holds_nothing_of_it(world, path):
    agent = world.register()
    redact(world, agent, world.verify(agent, calculate(NAME))["activity_id"])

    lines = list(export_ledger(path))

    assert not any(b"Lovelace" in line for line in lines)
    assert isinstance(verify(lines, RING.known()), Exported)


def test_erasing_while_others_decide_loses_nothing(world, path):
    agent = world.register()
    entries = [
        world.gateway.verify_action(
            agent["agent_id"], calculate(NAME), {"conversation_id": f"c{n}", "step_number": 1}
        )["activity_id"]
        for n in range(8)
    ]

    def decide():
        for step in range(1, 20):
            world.gateway.verify_action(
                agent["agent_id"], calculate(str(step)), {"conversation_id": "d", "step_number": step}
            )

    other = threading.Thread(target=decide)
    other.start()
    for entry in entries:
        world.gateway.redact(agent["agent_id"], entry, "asked for")
    other.join()
    world.verify(agent, calculate("last"), conversation="last")

    assert world.activity(agent)["summary"]["total_actions"] == 8 + 19 + 1
    assert b"Lovelace" not in stored(path)
    assert verified_head(path, RING).seq > 0


# --- retention ----------------------------------------------------------------------------------------------


def test_retention_erases_old_entries_their_outcomes_and_approvals_from_the_disk(path, monkeypatch):
    monkeypatch.setattr(group_writer, "_KEEP_EVERY", 1)
    world = opened(path, Policy(retention=Retention(activity_days=10, approval_days=10)))
    agent = world.register()
    settled_story(world, agent, is_told=False)
    world.prover.says(Status.VERIFIED, Risk.LOW)
    world.clock.advance(40 * DAY)
    for step in (10, 11):
        world.verify(agent, calculate(str(step)), step=step)

    assert b"Lovelace" not in stored(path)
    assert verified_head(path, RING).seq > 0
    world.close()


# --- tokens -----------------------------------------------------------------------------------------


@pytest.fixture
def pen(world):
    return SigningAgent(world)


def redact_token(world, jti, **more):
    return world.call("POST", f"/ect/{jti}/redact", json={"reason": "asked for by the person"}, **more)


def test_a_token_is_erased_everywhere_and_the_ledger_still_verifies(world, pen, path):
    token = pen.token("read", ext={"about": NAME.replace("'", "")})
    pen.submit(token)
    payload = token.split(".")[1].encode()
    assert payload in stored(path)
    answer = redact_token(world, jti_in(token))

    assert answer.status_code == 200, answer.text
    shown = world.call("GET", f"/ect/{jti_in(token)}").json()
    assert (shown["token"], shown["erased"], shown["receipt"]) == (None, True, None)
    assert payload not in stored(path)
    found = verify_ledger(path, RING.known())
    assert found.erased == 1
    assert isinstance(verify(export_ledger(path), RING.known()), Exported)


def test_a_token_that_is_erased_without_a_note_is_found(world, pen, path):
    token = pen.token("read")
    pen.submit(token)
    world.close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE ects SET token = NULL, salt = NULL WHERE jti = ?", (jti_in(token),))
    connection.close()
    found = verify_ledger(path, RING.known())

    assert isinstance(found, Tampering)
    assert jti_in(token) in found.says
    assert "no erasure says so" in found.says


def test_no_other_token_takes_the_place_of_an_erased_one(world, pen):
    token = pen.token("read")
    pen.submit(token)
    redact_token(world, jti_in(token))
    other = pen.token("write", jti=jti_in(token))

    for again in (token, other):
        answer = world.call("POST", "/ect", key=pen.agent["agent_token"], json={"ects": [again]})
        assert (answer.status_code, code_of(answer.json())) == (403, "QWED-ECT-001")


def test_what_names_an_erased_token_is_as_weak_as_an_unsigned_one(world, pen):
    token = pen.token("read")
    pen.submit(token)
    redact_token(world, jti_in(token))
    child = pen.token("write", jti_in(token))
    answer = pen.verify(ects=[child])

    assert answer.json()["decision"] == "APPROVED"
    complete = world.call("GET", f"/provenance/{jti_in(child)}/complete").json()
    assert (complete["status"], complete["missing"]) == ("incomplete", [jti_in(token)])
    submitted = world.call("POST", "/ect", key=pen.agent["agent_token"], json={"ects": [child]})
    assert submitted.status_code == 403


def test_a_token_is_erased_once_by_whoever_may_see_it(world, pen):
    token = pen.token("read")
    pen.submit(token)
    jti = jti_in(token)
    stranger = world.principal_key("other", scopes=["trust"])
    reader = world.principal_key("acme", scopes=["read"])

    assert redact_token(world, jti, key=stranger).status_code == 404
    assert redact_token(world, jti, key=reader).status_code == 403
    assert redact_token(world, jti, key=pen.agent["agent_token"]).status_code == 403
    assert redact_token(world, "nonsense").status_code == 404
    assert redact_token(world, jti, key=world.principal_key("acme", scopes=["trust"])).status_code == 200
    assert code_of(redact_token(world, jti).json()) == "QWED-REDACTION-001"
