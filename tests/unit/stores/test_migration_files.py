"""Files of the schema are applied in the order of their numbers, each once, and never change."""

import hashlib
import sqlite3
from contextlib import closing
from importlib import resources
from pathlib import Path

import pytest
from tests.support.fakes import FakeClock
from tests.support.ledgers import verified_head
from tests.support.records import RING, an_agent, noted

from qwed.domain.policy import DEFAULT_POLICY
from qwed.gateway.kernel.coroutines import run
from qwed.stores import DatabaseUnusable, open_sqlite
from qwed.stores.sqlite.file import connect_writer, migrate, read_scripts

HASHES = Path(__file__).with_name("migration_hashes.txt")
SCRIPTS = read_scripts()


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_every_migration_has_a_number_of_its_own_and_none_is_missing(database):
    folder = resources.files(f"qwed.stores.migrations.{database}")
    numbers = sorted(int(entry.name[:3]) for entry in folder.iterdir() if entry.name.endswith(".sql"))
    assert numbers == list(range(1, len(numbers) + 1))


def test_a_migration_that_was_released_never_changes():
    """A new file gets a new line in `migration_hashes.txt`; a line that is there stays."""
    found = [
        f"{hashlib.sha256(entry.read_bytes()).hexdigest()}  {database}/{entry.name}"
        for database in ("postgres", "sqlite")
        for entry in resources.files(f"qwed.stores.migrations.{database}").iterdir()
        if entry.name.endswith(".sql")
    ]
    assert sorted(found) == sorted(HASHES.read_text().splitlines())


def file_of(folder: Path, version: int) -> Path:
    """A file as the code of that schema left it, with nothing in it."""
    path = folder / "store.db"
    with closing(connect_writer(path)) as connection:
        for number, script in enumerate(SCRIPTS[:version], start=1):
            connection.executescript(f"BEGIN;{script}\nPRAGMA user_version = {number};COMMIT;")
    return path


def tables_of(path: Path) -> tuple[int, set[str]]:
    with closing(sqlite3.connect(path)) as connection:
        names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        return connection.execute("PRAGMA user_version").fetchone()[0], {name for (name,) in names}


@pytest.mark.parametrize("version", range(1, len(SCRIPTS)))
def test_a_file_of_every_earlier_schema_opens_and_records_and_verifies(tmp_path, version):
    path = file_of(tmp_path, version)
    store = open_sqlite(path, DEFAULT_POLICY, FakeClock(), RING)
    agent = an_agent()
    run(store.commit(noted(agent, FakeClock().now_ms(), agent=agent)))
    store.close()
    assert verified_head(path, RING).seq > 0
    assert tables_of(path)[0] == len(SCRIPTS)
    copy = tmp_path / f"store.db.schema-{version}"
    assert tables_of(copy)[0] == version, "the copy is the file as it was"
    assert copy.stat().st_mode & 0o777 == 0o600


def test_a_migration_that_fails_leaves_the_file_as_it_was(tmp_path):
    path = file_of(tmp_path, 5)
    before = tables_of(path)
    broken = [*SCRIPTS[:7], "CREATE TABLE half (a);\nINSERT INTO nowhere VALUES (1);"]
    with closing(connect_writer(path)) as connection, pytest.raises(sqlite3.Error):
        migrate(connection, path, broken)
    assert tables_of(path) == before
    with closing(connect_writer(path)) as connection:
        migrate(connection, path)
    assert tables_of(path)[0] == len(SCRIPTS)


def test_a_file_of_a_development_version_is_refused_and_stays_as_it_was(tmp_path):
    path = file_of(tmp_path, 3)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE agents ADD COLUMN mood TEXT")
    before = tables_of(path)
    with pytest.raises(DatabaseUnusable, match="a development version made it"):
        open_sqlite(path, DEFAULT_POLICY, FakeClock(), RING)
    assert tables_of(path) == before


def test_a_file_that_is_up_to_date_is_not_copied(tmp_path):
    for _ in range(2):
        open_sqlite(tmp_path / "store.db", DEFAULT_POLICY, FakeClock(), RING).close()
    assert [path.name for path in tmp_path.iterdir() if "schema" in path.name] == []
