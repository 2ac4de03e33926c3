"""`qwed backup` and `qwed restore`: beside a running gateway, verified, and never half done."""

import json
import os
import signal
import sqlite3
import stat
import subprocess
import time
from contextlib import closing

import pytest
from tests.support.cluster import Cluster, verify_request
from tests.support.server import COMMAND, Server, clean_environment, qwed
from tests.support.services import shared

pytestmark = pytest.mark.xdist_group("cluster")


def live_a_little(server, count=3):
    agent = server.register()
    for step in range(1, count + 1):
        server.together([verify_request(agent, f"{step}+{step}", step)])
    return agent


def activity_of(server, agent):
    return server.call("GET", f"/agents/{agent['agent_id']}/activity").json()["activities"]


def said(done):
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_a_backup_beside_a_running_gateway_is_restored_elsewhere_and_goes_on(tmp_path):
    home, other = tmp_path / "home", tmp_path / "other"
    home.mkdir()
    other.mkdir()
    with Server(home) as server:
        agent = live_a_little(server)
        kept = said(qwed("backup", "--out", "../copy", "--with-keys", "--json", cwd=home))
        before = activity_of(server, agent)
        server.together([verify_request(agent, "7+7", 4)])

    assert kept["ledger"]["valid"] is True and kept["kind"] == "sqlite"
    assert "the signing key" in kept["kept"]
    assert stat.S_IMODE((tmp_path / "copy").stat().st_mode) == 0o700
    checked = said(qwed("restore", "../copy", "--check", "--json", cwd=other))
    assert checked["restored"] is False and not (other / "qwed.db").exists()
    restored = said(qwed("restore", "../copy", "--json", cwd=other))
    assert restored["key"] == "the backup" and restored["ledger"] == kept["ledger"]
    with Server(other) as server:
        assert activity_of(server, agent) == before
        goes_on = server.together([verify_request(agent, "9+9", 4)])[0].json()
        assert goes_on["decision"] == "APPROVED"
    assert qwed("ledger", "verify", cwd=other).returncode == 0


def test_a_store_in_use_is_not_restored_over_and_one_at_rest_only_when_asked(tmp_path):
    with Server(tmp_path) as server:
        agent = live_a_little(server)
        said(qwed("backup", "--out", "copy", "--json", cwd=tmp_path))
        server.together([verify_request(agent, "7+7", 4)])
        in_use = qwed("restore", "copy", "--replace", cwd=tmp_path)
        entries = len(activity_of(server, agent))
    refused = qwed("restore", "copy", cwd=tmp_path)
    restored = said(qwed("restore", "copy", "--replace", "--json", cwd=tmp_path))

    assert in_use.returncode == 1 and "in use" in in_use.stderr
    assert refused.returncode == 2 and "--replace" in refused.stderr
    assert not (tmp_path / "qwed.db-wal").exists()
    with Server(tmp_path) as server:
        assert len(activity_of(server, agent)) == entries - 1
    earlier = qwed("ledger", "verify", "--database", restored["earlier"], "--jwks", "jwks.json", cwd=tmp_path)
    assert earlier.returncode == 2, "no such key file yet"
    shown = qwed("signing-key", "show", "--json", cwd=tmp_path)
    (tmp_path / "jwks.json").write_text(shown.stdout)
    earlier = qwed("ledger", "verify", "--database", restored["earlier"], "--jwks", "jwks.json", cwd=tmp_path)
    assert earlier.returncode == 0, earlier.stdout + earlier.stderr


@pytest.fixture
def kept(tmp_path):
    """A store at rest, and a backup of it without keys."""
    with Server(tmp_path) as server:
        live_a_little(server, 1)
    said(qwed("backup", "--out", "copy", "--json", cwd=tmp_path))
    return tmp_path


def test_a_backup_that_somebody_changed_is_not_restored(kept):
    copy = sqlite3.connect(kept / "copy" / "store.db", isolation_level=None)
    copy.execute("DELETE FROM deliveries")
    copy.execute("UPDATE agents SET status = 'suspended'")
    copy.close()
    damaged = qwed("restore", "copy", "--replace", cwd=kept)
    manifest = kept / "copy" / "manifest.json"
    manifest.write_bytes(manifest.read_bytes().replace(b'"rows": ', b'"rows": 1'))
    forged = qwed("restore", "copy", "--check", cwd=kept)

    assert damaged.returncode == 1 and "not as the backup wrote it" in damaged.stderr
    assert forged.returncode == 1 and "was changed" in forged.stderr


def test_another_deployment_s_key_and_no_key_at_all_are_refused(kept):
    (kept / "elsewhere").mkdir()
    no_key = qwed("restore", "../copy", cwd=kept / "elsewhere")
    qwed("signing-key", "create", cwd=kept / "elsewhere")
    other_key = qwed("restore", "../copy", cwd=kept / "elsewhere")

    assert no_key.returncode == 2 and "put it there first" in no_key.stderr
    assert other_key.returncode == 1 and "another deployment's key" in other_key.stderr
    assert not (kept / "elsewhere" / "qwed.db").exists()


def test_a_store_that_does_not_verify_is_not_kept(kept):
    store = sqlite3.connect(kept / "qwed.db", isolation_level=None)
    store.execute("UPDATE agents SET status = 'suspended'")
    store.close()
    refused = qwed("backup", "--out", "second", cwd=kept)
    assert refused.returncode == 1 and "does not verify" in refused.stderr
    assert sorted(path.name for path in kept.glob("second*")) == []


def test_what_is_there_is_not_overwritten_and_what_is_foreign_is_not_removed(kept):
    again = qwed("backup", "--out", "copy", cwd=kept)
    (kept / "third.part").mkdir()
    (kept / "third.part" / "thesis.txt").write_text("mine")
    foreign = qwed("backup", "--out", "third", cwd=kept)
    in_memory = qwed("backup", "--out", "fourth", "--database", ":memory:", cwd=kept)

    assert again.returncode == 1 and "not overwritten" in again.stderr
    assert foreign.returncode == 1 and "thesis.txt" in foreign.stderr
    assert (kept / "third.part" / "thesis.txt").read_text() == "mine"
    assert in_memory.returncode == 2 and "in memory" in in_memory.stderr


def kill_when(path, *arguments, cwd):
    """Start the command, and kill it as soon as the file or folder is there (or it ended before)."""
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=cwd,
        env=clean_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while process.poll() is None and not os.path.lexists(path):
        time.sleep(0.0005)
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.parametrize("name", ["", "store.db", "store.db-journal", "manifest.json", "manifest.jws"])
def test_a_backup_that_is_killed_has_not_the_name_of_one_unless_it_is_whole(kept, name):
    kill_when(kept / "second.part" / name, "backup", "--out", "second", cwd=kept)
    if (kept / "second").exists():
        assert qwed("restore", "second", "--check", cwd=kept).returncode == 0
        return
    half = qwed("restore", "second.part", "--check", cwd=kept)
    if half.returncode == 0:
        assert (kept / "second.part" / "manifest.jws").exists(), "only its name was missing"
    again = qwed("backup", "--out", "second", "--json", cwd=kept)
    assert said(again)["ledger"]["valid"] is True
    assert not (kept / "second.part").exists()


def test_a_restore_that_is_killed_leaves_the_old_store_or_the_new_one(kept):
    manifest = json.loads((kept / "copy" / "manifest.json").read_text())
    for awaited in ("qwed.db.restoring", f"qwed.db.before-restore-{manifest['made_ms']}"):
        kill_when(kept / awaited, "restore", "copy", "--replace", cwd=kept)
        assert qwed("ledger", "verify", cwd=kept).returncode == 0
        with closing(sqlite3.connect(kept / "qwed.db")) as store:
            assert store.execute("SELECT count(*) FROM agents").fetchone() == (1,)
    with closing(sqlite3.connect(kept / "qwed.db", isolation_level=None)) as reader:
        reader.execute("PRAGMA journal_mode = WAL")
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM agents").fetchone()
        busy = qwed("restore", "copy", "--replace", cwd=kept)
    assert busy.returncode == 1 and "another process reads" in busy.stderr
    said(qwed("restore", "copy", "--replace", "--json", cwd=kept))
    assert not (kept / "qwed.db.restoring").exists()
    kept_before = {path.name for path in kept.glob("qwed.db.before-restore-*")}
    again = said(qwed("restore", "copy", "--replace", "--json", cwd=kept))
    assert again["earlier"].rpartition("/")[2] not in kept_before


# --- PostgreSQL --------------------------------------------------------------------------------------


def test_a_database_server_is_kept_beside_its_gateways_and_restored_into_an_empty_one(tmp_path):
    first, second = shared().new_database(), shared().empty_database()
    with Cluster(tmp_path, first, None, 1) as cluster:
        agent = live_a_little(cluster)
        before = activity_of(cluster, agent)
        kept = said(
            qwed("backup", "--out", "copy", "--with-keys", "--json", "--database", first, cwd=tmp_path)
        )
        over = qwed("restore", "copy", "--database", first, cwd=tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    restored = said(qwed("restore", "../copy", "--json", "--database", second, cwd=other))

    assert kept["kind"] == "postgresql" and kept["ledger"]["valid"] is True
    assert over.returncode == 1 and "restore into an empty database" in over.stderr
    assert restored["key"] == "the backup"
    assert not (tmp_path / "copy" / "ledger.db").exists()
    with Cluster(other, second, None, 1) as cluster:
        assert activity_of(cluster, agent) == before
        goes_on = cluster.together([verify_request(agent, "9+9", 4)])[0].json()
        assert goes_on["decision"] == "APPROVED"
    assert qwed("ledger", "verify", "--database", second, cwd=other).returncode == 0


def test_a_killed_restore_into_a_database_leaves_it_empty(tmp_path):
    first, second = shared().new_database(), shared().empty_database()
    with Cluster(tmp_path, first, None, 1) as cluster:
        live_a_little(cluster, 1)
    said(qwed("backup", "--out", "copy", "--json", "--database", first, cwd=tmp_path))
    wrong_kind = qwed("restore", "copy", "--database", "file.db", cwd=tmp_path)
    work = tmp_path / "work"
    work.mkdir()
    process = subprocess.Popen(
        [*COMMAND, "restore", "copy", "--database", second],
        cwd=tmp_path,
        env=clean_environment(TMPDIR=str(work)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    # The copy that is verified is made when every table is filled, before the transaction ends.
    while process.poll() is None and not list(work.glob("*/ledger.db")):
        time.sleep(0.0005)
    process.kill()
    process.wait()
    again = qwed("restore", "copy", "--json", "--database", second, cwd=tmp_path)

    assert wrong_kind.returncode == 2
    assert again.returncode == 0 or "QWED store already" in again.stderr
    assert qwed("ledger", "verify", "--database", second, cwd=tmp_path).returncode == 0
