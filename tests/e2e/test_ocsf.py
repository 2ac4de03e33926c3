"""`qwed ledger ocsf`: every activity as an event that OCSF knows, once, and on from where it stopped."""

import json
from pathlib import Path

import jsonschema_rs
import pytest
from tests.support.cluster import verify_request
from tests.support.receivers import Receiver
from tests.support.server import Server, json_lines, qwed

from qwed.cli.ocsf_post import batches_of

SCHEMA = jsonschema_rs.validator_for(
    json.loads((Path(__file__).parents[1] / "vectors" / "ocsf-subset.json").read_text("utf-8"))
)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Approved, refused as critical, waiting for a person; and what the gateway noted itself."""
    folder = tmp_path_factory.mktemp("ocsf")
    with Server(folder) as server:
        agent = server.register()
        server.together([verify_request(agent, "1+1", 1)])
        for step, action in enumerate(
            ({"type": "execute_sql", "query": "DROP TABLE users"}, {"type": "send_email", "query": "hello"}),
            2,
        ):
            context = {"conversation_id": "c", "step_number": step}
            path = f"/agents/{agent['agent_id']}/verify"
            server.call("POST", path, json={"action": action, "context": context})
    return folder


def events(done):
    assert done.returncode == 0, done.stderr
    return json_lines(done.stdout)


def test_every_activity_is_an_event_of_the_schema_and_what_was_refused_is_a_finding_too(home):
    found = events(qwed("ledger", "ocsf", cwd=home))
    for event in found:
        SCHEMA.validate(event)
        assert event["type_uid"] == event["class_uid"] * 100 + event["activity_id"]
    refused = [event for event in found if event["message"].startswith("execute_sql: DENIED")]

    assert [event["class_uid"] for event in refused] == [6003, 2004]
    assert {event["severity_id"] for event in refused} == {5}
    assert refused[0]["status_id"] == 2 and refused[0]["status_code"] == "QWED-AGENT-TRUST-001"
    assert refused[1]["finding_info"]["uid"] == refused[0]["metadata"]["uid"]
    approved = next(event for event in found if event.get("activity_name") == "calculate")
    assert approved["status_id"] == 1 and approved["unmapped"]["action"]["query"] == "1+1"
    assert len({event["metadata"]["uid"] for event in found}) == len(found)
    proven = qwed("ledger", "prove", str(approved["metadata"]["sequence"]), "--json", cwd=home)
    assert json.loads(proven.stdout)["entry"]["subject"] == approved["metadata"]["uid"]


def test_an_event_that_lacks_what_is_required_is_not_of_the_schema(home):
    event = events(qwed("ledger", "ocsf", cwd=home))[0]
    for name in ("actor", "api", "src_endpoint", "metadata", "time", "severity_id", "type_uid"):
        assert not SCHEMA.is_valid({key: value for key, value in event.items() if key != name}), name


def test_a_cursor_continues_after_the_last_entry_and_repeats_nothing(home):
    everything = events(qwed("ledger", "ocsf", cwd=home))
    first = qwed("ledger", "ocsf", "--cursor", "place", "--out", "events.jsonl", cwd=home)
    again = qwed("ledger", "ocsf", "--cursor", "place", "--out", "events.jsonl", cwd=home)
    assert first.returncode == again.returncode == 0
    assert "events: 0" in again.stderr
    assert json_lines((home / "events.jsonl").read_text()) == everything
    part = events(qwed("ledger", "ocsf", "--after", "2", cwd=home))
    assert part == [event for event in everything if event["metadata"]["sequence"] > 2]


def test_a_cursor_of_another_ledger_and_one_beyond_the_end_are_refused(home):
    (home / "foreign").write_text("1 urn:uuid:00000000-0000-0000-0000-000000000000\n")
    (home / "nonsense").write_text("first line\n")
    foreign = qwed("ledger", "ocsf", "--cursor", "foreign", cwd=home)
    nonsense = qwed("ledger", "ocsf", "--cursor", "nonsense", cwd=home)
    beyond = qwed("ledger", "ocsf", "--after", "100000", cwd=home)

    assert foreign.returncode == nonsense.returncode == beyond.returncode == 2
    assert "another ledger" in foreign.stderr and "no cursor" in nonsense.stderr
    assert "put back" in beyond.stderr


def posted(receiver):
    return [event for received in receiver.received for event in json_lines(received.body.decode())]


def test_events_are_posted_once_under_the_header_that_a_variable_holds(home):
    everything = events(qwed("ledger", "ocsf", cwd=home))
    with Receiver() as siem:
        post = ("ledger", "ocsf", "--post", siem.url(), "--cursor", "posted", "--authorization", "env:HEC")
        first = qwed(*post, cwd=home, HEC="Splunk 4711")
        again = qwed(*post, cwd=home, HEC="Splunk 4711")

    assert first.returncode == again.returncode == 0, first.stderr
    assert posted(siem) == everything and "events: 0" in again.stderr
    assert {received.headers["authorization"] for received in siem.received} == {"Splunk 4711"}
    assert {received.headers["content-type"] for received in siem.received} == {"application/x-ndjson"}


def test_what_a_receiver_refuses_is_sent_again_by_the_next_run(home):
    with Receiver(lambda number, _: 403 if number == 1 else 200) as siem:
        post = ("ledger", "ocsf", "--post", siem.url(), "--cursor", "refused")
        refused = qwed(*post, cwd=home)
        assert refused.returncode == 2 and "it answered 403" in refused.stderr
        assert not (home / "refused").exists()
        taken = qwed(*post, cwd=home)

    assert taken.returncode == 0
    first, second = (received.body for received in siem.received)
    assert first == second
    assert json_lines(second.decode()) == events(qwed("ledger", "ocsf", cwd=home))


def test_a_receiver_that_is_busy_is_asked_again_in_the_same_run(home):
    with Receiver(lambda number, _: 503 if number == 1 else 200) as siem:
        done = qwed("ledger", "ocsf", "--post", siem.url(), "--cursor", "busy", cwd=home)

    assert done.returncode == 0, done.stderr
    first, second = (received.body for received in siem.received)
    assert first == second


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--post", "http://siem.example.com/x", "--cursor", "c"), "takes an https address"),
        (("--post", "http://localhost.example.com/x", "--cursor", "c"), "takes an https address"),
        (("--post", "https://siem.example.com/x"), "needs --cursor"),
        (("--post", "https://s.example.com", "--cursor", "c", "--authorization", "Bearer abc"), "env:NAME"),
        (("--follow", "5"), "needs --cursor"),
    ],
)
def test_events_go_nowhere_in_the_clear_and_a_secret_is_no_option(home, options, says):
    refused = qwed("ledger", "ocsf", *options, cwd=home)

    assert refused.returncode == 2 and says in refused.stderr and "abc" not in refused.stderr


def test_batches_are_whole_entries_of_about_a_megabyte():
    line = b"x" * 400_000
    made = list(batches_of(((seq, line) for seq in (1, 1, 2, 2, 3)), 5))

    assert [(batch.last, len(batch.lines)) for batch in made] == [(1, 2), (2, 2), (5, 1)]
    assert [(batch.last, len(batch.lines)) for batch in batches_of(iter(()), 4)] == [(4, 0)]
