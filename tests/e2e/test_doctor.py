"""`qwed doctor` beside a running gateway: where the two differ, it says so."""

import json
from pathlib import Path

from tests.support.server import OPERATOR_KEY, Server, qwed


def look(server: Server, folder: Path, **environment: str) -> dict[str, dict[str, str]]:
    done = qwed("doctor", "--json", cwd=folder, QWED_BASE_URL=server.base_url, **environment)
    return {finding["check"]: finding for finding in json.loads(done.stdout)["findings"]}


def test_beside_its_own_store_everything_agrees(tmp_path: Path):
    with Server(tmp_path) as server:
        server.register()
        found = look(server, tmp_path, QWED_API_KEY=OPERATOR_KEY)

    for check in ("gateway", "gateway version", "policy in force", "signing key", "API key"):
        assert found[check]["state"] == "ok", found[check]
    assert "clock" not in found


def test_another_policy_another_key_and_a_key_that_is_refused_are_named(tmp_path: Path):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    with Server(here) as own:
        own.register()
    (here / "qwed.yaml").write_text("profile: standard\ntools:\n  extra: {risk: low}\n")
    with Server(there) as server:
        config = {"QWED_CONFIG": str(here / "qwed.yaml")}
        found = look(server, here, QWED_API_KEY="qwed_live_nobody-has-this-key-0", **config)

    assert found["policy in force"]["state"] == "warning"
    assert "decides by sha256:" in found["policy in force"]["says"]
    assert found["signing key"]["state"] == "warning" and "another key" in found["signing key"]["says"]
    assert found["API key"]["state"] == "wrong"


def test_a_key_that_was_rotated_under_a_running_gateway_asks_for_a_restart(tmp_path: Path):
    with Server(tmp_path) as server:
        assert qwed("signing-key", "rotate", cwd=tmp_path).returncode == 0
        found = look(server, tmp_path)

    assert found["signing key"]["state"] == "warning", found["signing key"]


def test_where_nobody_answers_nothing_is_compared(tmp_path: Path):
    done = qwed("doctor", "--json", cwd=tmp_path, QWED_BASE_URL="http://127.0.0.1:9")
    found = {finding["check"]: finding for finding in json.loads(done.stdout)["findings"]}

    assert found["gateway"]["state"] == "warning" and "API key" not in found
