"""From a SQLite file to PostgreSQL: everything is kept, the ledger verifies, and the gateway goes on."""

import asyncio
import json
import sqlite3

import asyncpg
import pytest
from tests.support.cluster import Cluster, verify_request
from tests.support.server import Server, qwed
from tests.support.services import shared

pytestmark = pytest.mark.xdist_group("cluster")


def lived_in(server):
    """An agent with a past: steps, a refusal, a pending approval, outcomes, a webhook, odd names."""
    agent = server.register(budget={"max_requests_per_hour": 9})
    path = f"/agents/{agent['agent_id']}"
    done = []
    for step, query in enumerate(("1+1", "2+2", "2+2=5", "3+3"), start=1):
        done += server.together([verify_request(agent, query, step, "nul \0 and back\\slash")])
    first = done[0].json()["activity_id"]
    server.call("POST", f"{path}/activity/{first}/outcome", json={"outcome": "unknown"})
    pending = {"action": {"type": "send_email", "query": "hello"}}
    supervised = server.register(type="supervised", principal_id="rival")
    asked = server.call(
        "POST",
        f"/agents/{supervised['agent_id']}/verify",
        json={**pending, "context": {"conversation_id": "p", "step_number": 1}},
    ).json()
    return agent, supervised, asked


def picture(server, *agents):
    """What callers can see of it."""
    seen = {}
    for agent in agents:
        path = f"/agents/{agent['agent_id']}"
        seen[path] = server.call("GET", path).json()
        seen[path, "budget"] = server.call("GET", f"{path}/budget").json()
        listed = server.call("GET", f"{path}/activity", params={"limit": 100}).json()
        seen[path, "activity"] = {key: listed[key] for key in ("summary", "activities")}
        seen[path, "trust"] = server.call("GET", f"{path}/trust").json()
    seen["keys"] = server.call("GET", "/keys").json()
    approvals = server.call("GET", "/approvals").json()
    seen["approvals"] = approvals
    return seen


def test_everything_is_kept_and_the_ledger_verifies_and_goes_on(tmp_path):
    with Server(tmp_path) as old:
        agent, supervised, asked = lived_in(old)
        before = picture(old, agent, supervised)
    url = shared().new_database()
    moved = qwed("migrate", "--to", url, "--json", cwd=tmp_path)
    assert moved.returncode == 0, moved.stderr
    assert json.loads(moved.stdout)["ledger"] == "valid"
    verified = qwed("ledger", "verify", "--database", url, cwd=tmp_path)
    assert verified.returncode == 0, verified.stdout
    assert "rows (agents, keys" in verified.stdout and "counters" in verified.stdout

    with Cluster(tmp_path, url, None, 1) as new:
        assert picture(new, agent, supervised) == before
        replayed = new.together([verify_request(agent, "9+9", 4, "nul \0 and back\\slash")])[0].json()
        assert replayed["error"]["code"] == "QWED-AGENT-LOOP-002"
        blocked = new.together([verify_request(agent, "1+1", 1, "elsewhere")])[0].json()
        assert blocked["error"]["details"]["pattern"] == "unsettled_outcome"
        goes_on = new.together([verify_request(agent, "9+9", 5, "nul \0 and back\\slash")])[0].json()
        assert goes_on["decision"] == "APPROVED"
        if "approval" in asked:
            answered = new.call("POST", f"/approvals/{asked['approval']['id']}/deny", json={})
            assert answered.status_code in (200, 403)
    verified = qwed("ledger", "verify", "--database", url, "--json", cwd=tmp_path)
    assert json.loads(verified.stdout)["valid"] is True, verified.stdout + verified.stderr

    again = qwed("migrate", "--to", url, cwd=tmp_path)
    assert again.returncode == 1 and "move into an empty one" in again.stderr


def test_a_file_that_a_gateway_owns_is_not_moved(tmp_path):
    with Server(tmp_path):
        refused = qwed("migrate", "--to", shared().new_database(), cwd=tmp_path)
    assert refused.returncode == 1 and "in use" in refused.stderr


@pytest.mark.parametrize("target", ["qwed2.db", "redis://x/0", "postgresql://nodatabase"])
def test_it_moves_to_a_database_server_only(tmp_path, target):
    (tmp_path / "qwed.db").touch()
    assert qwed("migrate", "--to", target, cwd=tmp_path).returncode == 2


def test_a_file_whose_rows_somebody_edited_is_not_moved(tmp_path):
    with Server(tmp_path) as server:
        agent = server.register()
    file = sqlite3.connect(tmp_path / "qwed.db", isolation_level=None)
    file.execute("UPDATE agents SET status = 'suspended' WHERE agent_id = ?", (agent["agent_id"],))
    file.close()

    verified = qwed("ledger", "verify", cwd=tmp_path)
    moved = qwed("migrate", "--to", shared().new_database(), cwd=tmp_path)

    assert verified.returncode == 1
    assert f"agents {agent['agent_id']} was edited" in verified.stdout
    assert moved.returncode == 1
    assert "does not verify, and is not moved" in moved.stderr


def tables_of(url):
    async def ask():
        connection = await asyncpg.connect(url)
        try:
            return await connection.fetchval(
                "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"
            )
        finally:
            await connection.close()

    return asyncio.run(ask())


def test_nothing_is_written_before_everything_is_checked(tmp_path):
    with Server(tmp_path) as server:
        server.register()
    url = shared().empty_database()
    key = tmp_path / "qwed.db.key"

    key.rename(tmp_path / "kept")
    no_key = qwed("migrate", "--to", url, cwd=tmp_path)
    (tmp_path / "kept").rename(key)
    (tmp_path / "qwed.key").write_text("another deployment's")
    other_key = qwed("migrate", "--to", url, cwd=tmp_path)
    (tmp_path / "qwed.key").unlink()
    nowhere = qwed("migrate", "--to", f"{url}_is_not_there", cwd=tmp_path)

    assert [done.returncode for done in (no_key, other_key, nowhere)] == [1, 1, 1]
    assert "qwed.db.key" in no_key.stderr
    assert "is another key than" in other_key.stderr
    assert "does not exist" in nowhere.stderr
    assert tables_of(url) == 0
    assert not (tmp_path / "qwed.key").exists()
    assert qwed("migrate", "--to", url, cwd=tmp_path).returncode == 0
