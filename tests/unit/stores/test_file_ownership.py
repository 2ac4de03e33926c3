"""One process owns a file, whatever becomes of the names in its folder."""

import shutil
import subprocess
import sys

import pytest
from tests.support.fakes import FakeClock
from tests.support.records import RING, an_agent, noted

from qwed.domain.policy import DEFAULT_POLICY
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.ports import StoreUnavailable
from qwed.stores import DatabaseInUse, DatabaseUnusable, open_sqlite, start_check
from qwed.stores.sqlite import file

OPEN = """
import sys
from pathlib import Path
from qwed.stores.errors import DatabaseInUse
from qwed.stores.sqlite.file import own
try:
    own(Path(sys.argv[1]))
except DatabaseInUse as error:
    print(error)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


@pytest.fixture
def store(path):
    store = open_sqlite(path, DEFAULT_POLICY, FakeClock(), RING)
    yield store
    store.close()


def record(store):
    agent = an_agent()
    run(store.commit(noted(agent, FakeClock().now_ms(), agent=agent)))


def test_a_deleted_lock_file_gives_no_second_owner(store, path):
    path.with_name("store.db.lock").unlink()
    with pytest.raises(DatabaseInUse):
        open_sqlite(path, DEFAULT_POLICY, FakeClock(), RING)
    other = subprocess.run([sys.executable, "-c", OPEN, path], capture_output=True, text=True, check=True)
    assert "in use by another process" in other.stdout
    record(store)


def test_a_file_that_is_replaced_is_noticed_at_the_next_group(store, path):
    record(store)
    shutil.copy(path, path.with_name("other"))
    path.with_name("other").rename(path)
    with pytest.raises(StoreUnavailable, match="was replaced while it is in use"):
        record(store)
    with pytest.raises(StoreUnavailable, match="was replaced"):
        run(store.ping())


def test_a_file_that_is_removed_is_noticed_at_the_next_group(store, path):
    path.unlink()
    with pytest.raises(StoreUnavailable, match="was removed while it is in use"):
        record(store)


def test_a_full_disk_is_not_ready(store, monkeypatch):
    run(store.ping())
    monkeypatch.setattr(file, "MIN_FREE_BYTES", 2**63)
    with pytest.raises(StoreUnavailable, match="is full"):
        run(store.ping())


def test_a_closed_store_can_be_opened_again(store, path):
    store.close()
    open_sqlite(path, DEFAULT_POLICY, FakeClock(), RING).close()


#: An index that leads elsewhere than its rows, left in the log by a process that ends without closing.
DAMAGE = """
import os, sqlite3, sys
file = sqlite3.connect(sys.argv[1], isolation_level=None)
file.execute("CREATE INDEX elsewhere ON activities (agent_id)")
file.execute("PRAGMA writable_schema = ON")
file.execute("UPDATE sqlite_schema SET sql = replace(sql, 'agent_id', 'at_ms') WHERE name = 'elsewhere'")
os._exit(0)
"""
#: The same, with nothing wrong.
CUT_OFF = """
import os, sqlite3, sys
file = sqlite3.connect(sys.argv[1], isolation_level=None)
file.execute("DELETE FROM days")
os._exit(0)
"""


def test_a_file_that_a_crash_damaged_is_refused_at_the_start(store, path):
    record(store)
    store.close()
    subprocess.run([sys.executable, "-c", DAMAGE, path], check=True)
    assert file.was_cut_off(path)
    with pytest.raises(DatabaseUnusable, match=r"is damaged .*restore a backup"):
        open_sqlite(path, DEFAULT_POLICY, FakeClock(), RING)


def test_a_file_that_was_cut_off_and_is_sound_opens(store, path):
    record(store)
    store.close()
    subprocess.run([sys.executable, "-c", CUT_OFF, path], check=True)
    assert file.was_cut_off(path)
    again = open_sqlite(path, DEFAULT_POLICY, FakeClock(), RING)
    record(again)
    again.close()
    assert not file.was_cut_off(path)


def test_what_takes_longer_than_a_start_is_told_by_the_gateway(store, path):
    store.close()
    looked = open_sqlite(path, DEFAULT_POLICY, FakeClock(), RING)
    start_check.check_at_start(looked, look=lambda: "the file is damaged")
    looked.close()
    assert looked.integrity.problem() == "the file is damaged"
