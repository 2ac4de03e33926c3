"""`qwed ledger replay`, on a file and beside the gateway that owns it."""

import json
import sqlite3

import msgspec
import pytest
from click.testing import CliRunner

from qwed.cli.main import cli
from qwed.embedded import Gateway


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "qwed.db"
    with Gateway.open(path) as gateway:
        agent = gateway.register_agent(name="a", type="autonomous", principal_id="acme")["agent_id"]
        for step, query in enumerate(("2+2", "2+2=5", "x"), start=1):
            context = {"conversation_id": "c", "step_number": step}
            gateway.verify_action(agent, {"type": "calculate", "query": query}, context)
        gateway.verify_action(agent, {"type": "drop_everything"}, {"conversation_id": "c", "step_number": 9})
    return path


def replay(path, *more):
    arguments = ["ledger", "replay", "--database", str(path), *more]
    return CliRunner().invoke(cli, arguments, standalone_mode=False)


def test_every_decision_of_a_file_comes_out_the_same(store):
    told, as_json = replay(store), replay(store, "--json")

    assert told.return_value == 0, told.output
    assert "4 of 4 decisions came out as they were recorded" in told.output
    counts = json.loads(as_json.stdout)
    assert (counts["same"], counts["differences"]) == (4, [])


def test_a_decision_that_was_edited_comes_out_differently(store):
    with sqlite3.connect(store) as connection:
        rows = connection.execute("SELECT rowid, payload FROM activities").fetchall()
        for rowid, payload in rows:
            entry = msgspec.json.decode(payload)
            if entry["decision"] == "DENIED":
                forged = {**entry, "decision": "APPROVED"}
                connection.execute(
                    "UPDATE activities SET payload = ? WHERE rowid = ?", (msgspec.json.encode(forged), rowid)
                )

    found = replay(store)

    assert found.return_value == 1
    assert "DIFFERENT" in found.output and "APPROVED then, DENIED now" in found.output


def test_a_missing_file_is_said(tmp_path):
    found = replay(tmp_path / "none.db")

    assert found.exit_code != 0
    assert "there is no store" in str(found.exception)
