"""Ledger commands against a running gateway, on a machine that has neither the store nor its key."""

import json
from pathlib import Path

import pytest
from tests.support.cluster import verify_request
from tests.support.server import OPERATOR_KEY, Server, qwed


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("gateway")) as server:
        agent = server.register()
        answers = server.together([verify_request(agent, f"{n}+1", 1, f"c{n}") for n in range(12)])
        yield server, answers[0].json()["activity_id"]


def ask(running, folder: Path, *arguments: str, key: str = OPERATOR_KEY):
    return qwed("ledger", *arguments, cwd=folder, QWED_BASE_URL=running[0].base_url, QWED_API_KEY=key)


def test_the_ledger_is_followed_from_elsewhere(running, tmp_path: Path):
    found = ask(running, tmp_path, "verify", "--json")

    assert found.returncode == 0, found.stderr
    told = json.loads(found.stdout)
    assert told["valid"] and told["entries"] >= 13 and told["compared"] == 0


def test_an_entry_is_proven_as_at_the_store(running, tmp_path: Path):
    server, activity_id = running
    here = qwed("ledger", "prove", activity_id, "--json", cwd=server.folder)
    there = ask(running, tmp_path, "prove", activity_id, "--json")
    missing = ask(running, tmp_path, "prove", "act_00000000000000000000000000000000")

    assert json.loads(there.stdout) == json.loads(here.stdout)
    assert missing.returncode == 2 and "no such entry" in missing.stderr


def test_a_checkpoint_that_was_kept_is_agreed_with_and_one_of_another_ledger_is_not(
    running, tmp_path: Path, tmp_path_factory
):
    kept = ask(running, tmp_path, "checkpoint").stdout.strip()
    with Server(tmp_path_factory.mktemp("other")) as other:
        other.register()
        foreign = ask((other, ""), tmp_path, "checkpoint").stdout.strip()

    assert ask(running, tmp_path, "verify", "--known", kept).returncode == 0
    refused = ask(running, tmp_path, "verify", "--known", foreign)
    assert refused.returncode == 2 and "not valid" in refused.stderr


def test_what_is_exported_there_verifies_with_keys_that_were_kept(running, tmp_path: Path):
    jwks = running[0].call("GET", "/.well-known/jwks.json").text
    (tmp_path / "jwks.json").write_text(jwks)
    assert ask(running, tmp_path, "export", "--out", "e.jsonl").returncode == 2
    assert ask(running, tmp_path, "export", "--without-payloads", "--out", "e.jsonl").returncode == 0

    verify = ("ledger", "verify", "--export", "e.jsonl", "--jwks", "jwks.json")
    assert qwed(*verify, cwd=tmp_path).returncode == 0
    lines = (tmp_path / "e.jsonl").read_text().splitlines()
    (tmp_path / "e.jsonl").write_text("\n".join(lines[:3] + lines[4:]) + "\n")
    assert qwed(*verify, cwd=tmp_path).returncode == 1


def test_a_key_that_sees_one_principal_and_a_wrong_one_are_told_so(running, tmp_path: Path):
    own = running[0].principal_key("acme", scopes=["read"])

    assert "scope audit" in ask(running, tmp_path, "verify", key=own).stderr
    auditor = running[0].principal_key("auditors", scopes=["audit"])
    assert ask(running, tmp_path, "verify", key=auditor).returncode == 0
    # Who audits the ledger reads nobody's actions for that.
    assert running[0].call("GET", f"/activity/{running[1]}", key=auditor).status_code in (403, 404)
    assert running[0].call("GET", "/agents", key=auditor).status_code == 403
    assert ask(running, tmp_path, "verify", key="qwed_live_nobody-has-this-key-0").returncode == 2


def test_where_a_store_is_it_is_opened_unless_an_address_is_given(running, tmp_path: Path):
    with Server(tmp_path) as here:
        here.register()
    local = json.loads(ask(running, tmp_path, "verify", "--json").stdout)
    remote = json.loads(ask(running, tmp_path, "verify", "--json", "--url", running[0].base_url).stdout)

    assert local["compared"] and not remote["compared"]
    both = ask(running, tmp_path, "verify", "--url", running[0].base_url, "--database", "qwed.db")
    assert both.returncode == 2 and "one of them" in both.stderr
