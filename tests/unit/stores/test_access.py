"""One writer for everybody: what is wrong with one record is that record's problem alone."""

import threading
from pathlib import Path

import msgspec
import pytest
from tests.support.ledgers import verified_head
from tests.support.records import RING

from qwed.domain.agents import AgentId, PrincipalId
from qwed.domain.policy import Retention
from qwed.domain.times import DAY_MS
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.ports import StoreUnavailable
from qwed.gateway.kernel.records import Activity, Record
from qwed.ledger.chain import verify
from qwed.stores.access import ThreadedAccess
from qwed.stores.memory import MemoryTables
from qwed.stores.sqlite import SqliteTables


def record(name: str, action_type: str = "calculate") -> Record:
    return Record(
        Activity(
            name, AgentId("agent_a"), PrincipalId("p"), 1, action_type, "DENIED", None, None, 0, 0, b"", b"{}"
        )
    )


class SlowFirst:
    """Tables whose first write waits, so that the rest gathers into one group."""

    def __init__(self, tables: SqliteTables) -> None:
        self.tables = tables
        self.go = threading.Event()
        self.groups: list[int] = []

    def write(self, records: list[Record]) -> None:
        self.groups.append(len(records))
        self.go.wait(10)
        self.tables.write(records)

    def close(self) -> None:
        self.tables.close()


def test_a_record_that_cannot_be_written_fails_alone(tmp_path: Path) -> None:
    tables = SlowFirst(SqliteTables(tmp_path / "qwed.db", RING))
    access = ThreadedAccess(tables)  # type: ignore[arg-type]
    outcomes: dict[str, bool] = {}
    applied: dict[str, bool] = {}

    def write(name: str, action_type: str) -> None:
        try:
            run(access.write(record(name, action_type), lambda ok: applied.update({name: ok})))
            outcomes[name] = True
        except Exception:
            outcomes[name] = False

    names = [
        ("act_first", "calculate"),
        ("act_good_1", "calculate"),
        ("act_bad", "\ud800"),
        ("act_good_2", "x"),
    ]
    threads = [threading.Thread(target=write, args=name) for name in names]
    for thread in threads:
        thread.start()
        while not tables.groups:
            pass
    while len(access._waiting) < 3:
        pass
    tables.go.set()
    for thread in threads:
        thread.join()
    access.close()

    assert tables.groups[:2] == [1, 3]
    assert (
        outcomes == applied == {"act_first": True, "act_good_1": True, "act_bad": False, "act_good_2": True}
    )
    assert verified_head(tmp_path / "qwed.db", RING).seq == 3


def test_a_closed_store_refuses_writes(tmp_path: Path) -> None:
    access = ThreadedAccess(SqliteTables(tmp_path / "qwed.db", RING))
    access.close()

    with pytest.raises(StoreUnavailable, match="closed"):
        run(access.write(record("act_late"), lambda ok: None))


def test_closing_finishes_what_was_accepted(tmp_path: Path) -> None:
    access = ThreadedAccess(SqliteTables(tmp_path / "qwed.db", RING))
    threads = [
        threading.Thread(target=lambda n=n: run(access.write(record(f"act_{n}"), lambda ok: None)))
        for n in range(50)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    access.close()

    assert verified_head(tmp_path / "qwed.db", RING).seq == 50


def test_the_chain_in_memory_has_one_end_whoever_writes() -> None:
    tables = MemoryTables(RING)
    start = threading.Barrier(8)

    def write(number: int) -> None:
        start.wait()
        for step in range(200):
            tables.write([record(f"act_{number}_{step}")])

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert verify(tables.ledger.entries(0, 2_000)).seq == 1600


def test_what_is_older_than_the_retention_goes_and_the_chain_still_verifies(tmp_path: Path) -> None:
    tables = SqliteTables(tmp_path / "qwed.db", RING, retention=Retention(activity_days=1))
    old = record("act_old")
    tables.write([old])
    now_ms = 10 * DAY_MS
    for number in range(64):
        activity = msgspec.structs.replace(old.activity, activity_id=f"act_{number}", at_ms=now_ms)
        tables.write([Record(activity)])
    gone, kept = tables.activity("act_old"), tables.activity("act_0")
    tables.close()

    assert gone is None
    assert kept is not None
    assert verified_head(tmp_path / "qwed.db", RING).seq == 65
