"""A move into a database server goes a stretch at a time, goes on after a stop, and is whole or unusable."""

import asyncio

import asyncpg
import pytest
from tests.contract.test_stores import Shelf
from tests.support.fakes import FakeClock
from tests.support.records import RING, an_activity, noted
from tests.support.services import shared
from tests.support.states import AGENT, AT_MS, KEY, records
from tests.support.tiers import scale

from qwed.domain.policy import DEFAULT_POLICY
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.records import Record
from qwed.ledger.audit import Tampering
from qwed.ledger.record_keys import follow_ring
from qwed.stores.errors import DatabaseUnusable
from qwed.stores.postgres import open_postgres, snapshot
from qwed.stores.postgres.move_tables import Move, move
from qwed.stores.sqlite.ledger import verify_ledger

ROWS = scale(ci=60, nightly=5_000, long=50_000)


class Interrupted(Exception):
    """Whoever runs the move stopped it."""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("moved")
    shelf = Shelf("sqlite", folder, DEFAULT_POLICY)
    for record in records():
        assert shelf.commit(record) is None
    for number in range(ROWS):
        assert shelf.commit(Record(an_activity(AGENT, AT_MS + number))) is None
    shelf.store.close()
    return folder / "store.db"


def value(url: str, sql: str) -> object:
    async def ask() -> object:
        connection = await asyncpg.connect(url)
        try:
            return await connection.fetchval(sql)
        finally:
            await connection.close()

    return asyncio.run(ask())


def stopped_at(places: int):
    """Progress that ends the move after so many stretches."""
    told: list[str] = []

    def progress(table: str, rows: int, total: int) -> None:
        told.append(f"{table} {rows} {total}")
        if len(told) == places:
            raise Interrupted

    return progress


def test_a_move_that_was_stopped_anywhere_goes_on_and_ends_whole(file, tmp_path):
    url = shared().new_database()
    asked = Move(file, url, RING, AT_MS, stretch=max(7, ROWS // 10))
    stops = 0
    for places in (1, 3, 2, 9):
        with pytest.raises(Interrupted):
            move(Move(file, url, RING, AT_MS, progress=stopped_at(places), stretch=asked.stretch))
        stops += 1
        with pytest.raises(DatabaseUnusable, match="was not finished"):
            open_postgres(url, DEFAULT_POLICY, FakeClock(), RING)

    counts = move(asked)

    assert counts["activities"] == ROWS + 4
    assert value(url, "SELECT count(*) FROM activities") == ROWS + 4
    assert value(url, "SELECT count(*) FROM moving") == 0
    waiting = snapshot(url, tmp_path / "copy.db", follow_ring(RING))
    assert not isinstance(verify_ledger(tmp_path / "copy.db", RING.known(), (), waiting), Tampering)
    store = open_postgres(url, DEFAULT_POLICY, FakeClock(), RING)
    try:
        assert run(store.differences(("agents", "keys"))) == []
        agent = run(store.agent(AGENT.agent_id))
        assert agent is not None
        assert run(store.commit(noted(agent, AT_MS + ROWS))) is None
        run(store.ledger_state())
    finally:
        store.close()
    assert value(url, "SELECT count(*) FROM agents WHERE mac IS NULL") == 0
    assert stops == 4


def test_a_half_moved_database_takes_nothing_of_another_file(file, tmp_path):
    url = shared().new_database()
    with pytest.raises(Interrupted):
        move(Move(file, url, RING, AT_MS, progress=stopped_at(2), stretch=10))
    other = Shelf("sqlite", tmp_path, DEFAULT_POLICY)
    assert other.commit(noted(AGENT, AT_MS, agent=AGENT, key=KEY)) is None
    other.store.close()

    with pytest.raises(DatabaseUnusable, match="a part of another file"):
        move(Move(tmp_path / "store.db", url, RING, AT_MS))
    with pytest.raises(DatabaseUnusable, match="move into an empty one"):
        move(Move(tmp_path / "store.db", moved(file), RING, AT_MS))


def moved(file) -> str:
    url = shared().new_database()
    move(Move(file, url, RING, AT_MS))
    return url


def test_a_stretch_is_all_that_is_held_at_once(file):
    """Progress is told after each: no table is read as a whole."""
    url, told = shared().new_database(), []

    def progress(table: str, rows: int, total: int) -> None:
        told.append((table, rows, total))

    move(Move(file, url, RING, AT_MS, progress=progress, stretch=10))

    ledger = [rows for table, rows, _ in told if table == "ledger"]
    assert [later - earlier for earlier, later in zip([0, *ledger], ledger, strict=False)][:-1] == [10] * (
        len(ledger) - 1
    )
    assert all(total >= rows for table, rows, total in told if table != "standings")
