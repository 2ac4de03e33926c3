"""Stores that earlier versions made, with their own code, open under this one, verify, and go on."""

import asyncio
import hashlib
import shutil
import sqlite3
import subprocess
from contextlib import closing

import asyncpg
import pytest
from tests.support import old_stores
from tests.support.postgres import binaries
from tests.support.server import Server, qwed
from tests.support.services import shared

from qwed.stores.postgres.schema import WITHOUT_INDEX

pytestmark = pytest.mark.xdist_group("cluster")
#: What a version is known by whose first migration was edited later: it can't be told how to go on.
DEVELOPMENT = "sqlite-001"
FILES = [name for name in old_stores.names("sqlite") if name != DEVELOPMENT]


def goes_on(server, seen):
    """All that callers saw is there, and the next decision follows."""
    now = old_stores.see(server)
    assert [now.pop("approvals"), now.pop("webhooks")] == [seen.pop("approvals"), seen.pop("webhooks")]
    assert now.keys() == seen.keys()
    for agent_id, then in seen.items():
        assert now[agent_id]["trust"] == then["trust"]
        kept = [entry for entry in now[agent_id]["activities"] if entry in then["activities"]]
        assert kept == then["activities"] and kept
    agent = server.register(name="new")
    body = {
        "action": {"type": "calculate", "query": "1+1"},
        "context": {"conversation_id": "c", "step_number": 1},
    }
    asked = server.call("POST", f"/agents/{agent['agent_id']}/verify", json=body)
    assert asked.json()["decision"] == "APPROVED", asked.text


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_an_earlier_version_opens_verifies_and_goes_on(name, tmp_path):
    folder, seen = old_stores.unpack(name, tmp_path)
    with Server(folder) as server:
        goes_on(server, seen)
    verified = qwed("ledger", "verify", cwd=folder)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert (folder / f"qwed.db.schema-{int(name[-3:])}").exists()


@pytest.mark.parametrize("name", old_stores.names("postgres"))
def test_a_database_of_an_earlier_version_opens_verifies_and_goes_on(name, tmp_path):
    folder, seen = old_stores.unpack(name, tmp_path)
    url = shared().empty_database()
    psql = shutil.which("psql") or binaries() / "psql"
    restored = subprocess.run(
        [psql, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", url, "-f", folder / "store.sql"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert restored.returncode == 0, restored.stderr
    with Server(folder, database=url, environment={"QWED_DATA_DIR": str(folder)}) as server:
        goes_on(server, seen)
    verified = qwed("ledger", "verify", "--database", url, cwd=folder)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert parts_without_index(url) == []


def parts_without_index(url):
    async def ask():
        connection = await asyncpg.connect(url)
        try:
            return await connection.fetch(WITHOUT_INDEX)
        finally:
            await connection.close()

    return asyncio.run(ask())


def test_an_old_file_moves_to_a_database_server_after_a_gateway_opened_it(tmp_path):
    folder, _ = old_stores.unpack(FILES[0], tmp_path)
    url = shared().empty_database()
    early = qwed("migrate", "--to", url, cwd=folder)
    assert early.returncode == 1 and "start a gateway on it once" in early.stderr
    with Server(folder):
        pass
    moved = qwed("migrate", "--to", url, cwd=folder)
    assert moved.returncode == 0, moved.stderr


def test_a_file_from_before_the_first_release_is_refused_and_stays_as_it_was(tmp_path):
    folder, _ = old_stores.unpack(DEVELOPMENT, tmp_path)
    with closing(sqlite3.connect(folder / "qwed.db")) as file:
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = hashlib.sha256((folder / "qwed.db").read_bytes()).digest()
    refused = qwed("serve", "--port", "0", cwd=folder)
    assert refused.returncode != 0
    assert "a development version made it. Nothing was changed" in refused.stderr
    assert hashlib.sha256((folder / "qwed.db").read_bytes()).digest() == before
