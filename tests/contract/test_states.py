"""Rows that decide: what somebody does to one beside the gateway is named by comparing it with the ledger."""

import asyncio
import re
import sqlite3
from pathlib import Path

import asyncpg
import msgspec
import pytest
from tests.contract.test_stores import DURABLE, Shelf, database_of
from tests.support.fakes import DAY, FakeClock
from tests.support.records import (
    RING,
    a_key,
    a_webhook,
    an_activity,
    an_agent,
    an_approval,
    an_attempt,
    an_outcome,
    noted,
)
from tests.support.services import shared
from tests.support.states import (
    AGENT,
    APPROVAL,
    FINAL,
    KEY,
    PostgresAttacker,
    SqliteAttacker,
    altered,
    records,
    stranger,
)

from qwed.domain.agents import AgentStatus
from qwed.domain.approvals import ApprovalStatus
from qwed.domain.conduct import Conduct
from qwed.domain.outcomes import OutcomeResult
from qwed.domain.policy import DEFAULT_POLICY, Policy, Retention
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.ports import StateDiffers, StoreUnavailable
from qwed.gateway.kernel.records import Record, Redaction, Tombstone
from qwed.ledger.audit import AuditKind, Tampering
from qwed.ledger.states import KEYS, is_state, subject_of
from qwed.stores.bodies import encode
from qwed.stores.postgres import open_postgres, snapshot
from qwed.stores.postgres.schema import migrate, read_migrations
from qwed.stores.sqlite.ledger import Followed, verify_ledger
from qwed.stores.state_columns import agent_columns, approval_columns, key_columns

TABLES = list(KEYS)
SOURCE = Path(__file__).parents[2] / "src" / "qwed"


def attacked(kind: str, folder: Path):
    """A store with one row of each kind, closed; an attacker; and the rows as they were at first."""
    shelf = Shelf(kind, folder, DEFAULT_POLICY)
    attacker = (
        SqliteAttacker(folder / "store.db") if kind == "sqlite" else PostgresAttacker(database_of(folder))
    )
    first, *later = records()
    assert shelf.commit(first) is None
    before = {table: attacker.rows(table)[0] for table in TABLES}
    for record in later:
        assert shelf.commit(record) is None
    run(shelf.store.ledger_state())
    shelf.store.close()
    return attacker, before


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return attacked("sqlite", tmp_path_factory.mktemp("states"))


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    return attacked("postgres", tmp_path_factory.mktemp("states"))


# --- a file ------------------------------------------------------------------------------------------


def test_a_file_that_nobody_touched_verifies_with_all_its_rows(file):
    attacker, _ = file

    found = attacker.verdict()

    assert isinstance(found, Followed)
    assert (found.rows, found.adopted) == (len(TABLES), 0)


@pytest.mark.parametrize("table", TABLES)
def test_an_edit_of_any_column_of_a_row_in_a_file_is_named(file, table):
    attacker, _ = file
    (row,) = attacker.rows(table)
    for column, value in row.items():
        for other in (altered(value), None) if value is not None else (altered(value),):
            try:
                found = attacker.edit(table, row, column, other)
            except sqlite3.IntegrityError:
                # The schema itself says no.
                assert other is None, column
                continue
            assert isinstance(found, Tampering), (column, other)
            assert table in found.says
            # Under another name the row is somebody else's, and its own is missing.
            expected = (
                {AuditKind.INSERTED, AuditKind.REMOVED} if column in KEYS[table] else {AuditKind.EDITED}
            )
            assert found.kind in expected, (column, found.says)


@pytest.mark.parametrize("table", [table for table in TABLES if table not in FINAL])
def test_a_row_in_a_file_that_is_put_back_to_an_older_state_is_named(file, table):
    attacker, before = file

    found = attacker.put(table, before[table])

    assert isinstance(found, Tampering)
    assert found.kind is AuditKind.ROLLED_BACK
    assert f"{table} " in found.says and "older state" in found.says


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("is_salted", [True, False])
def test_a_row_that_somebody_else_put_into_a_file_is_named(file, table, is_salted):
    attacker, before = file
    row = stranger(table, before[table])

    found = attacker.put(table, row if is_salted else {**row, "salt": None})

    assert isinstance(found, Tampering)
    assert found.kind is AuditKind.INSERTED
    assert found.says.startswith(f"{table} ")


@pytest.mark.parametrize("table", TABLES)
def test_a_row_that_somebody_else_deleted_from_a_file_is_named(file, table):
    attacker, _ = file

    found = attacker.delete(table)

    assert isinstance(found, Tampering)
    assert found.kind is AuditKind.REMOVED
    assert found.says.startswith(f"{table} ") and "deleted" in found.says


def test_an_outcome_that_is_made_unknown_beside_the_gateway_is_named(tmp_path):
    shelf = Shelf("sqlite", tmp_path, DEFAULT_POLICY)
    agent = shelf.add(an_agent())
    activity = an_activity(agent, shelf.now)
    shelf.commit(Record(activity, outcome=an_outcome(activity)))
    shelf.store.close()
    attacker = SqliteAttacker(tmp_path / "store.db")

    assert isinstance(attacker.verdict(), Followed)
    found = attacker.verdict(("UPDATE outcomes SET result = 'unknown'", ()))

    assert isinstance(found, Tampering)
    assert found.kind is AuditKind.INSERTED


# --- a database server -------------------------------------------------------------------------------


def verdict_of(attacker: PostgresAttacker, attack) -> list:
    return next(attacker.verdicts([attack]))


def test_a_database_that_nobody_touched_has_no_differences(postgres):
    attacker, _ = postgres

    assert verdict_of(attacker, ("SELECT 1", ())) == []


@pytest.mark.parametrize("table", TABLES)
def test_an_edit_of_any_column_of_a_row_in_a_database_is_named(postgres, table):
    attacker, _ = postgres
    (row,) = attacker.rows(table)
    edits = attacker.edits(table, row)
    for column, found in zip(edits, attacker.verdicts(list(edits.values())), strict=True):
        assert found, column
        assert {one.table for one in found} == {table}, column
        expected = {AuditKind.INSERTED, AuditKind.REMOVED} if column in KEYS[table] else {AuditKind.EDITED}
        assert {one.kind for one in found} == expected, column


@pytest.mark.parametrize("table", TABLES)
def test_other_changes_of_a_row_in_a_database_are_told_apart(postgres, table):
    attacker, before = postgres
    stored = "standings" if table == "conduct" else table
    attacks = [
        attacker.insertion(table, stranger(table, before[table])),
        (f"DELETE FROM {stored}", ()),
    ]
    if table not in FINAL:
        attacks.append(attacker.restoration(table, before[table]))

    kinds = [[one.kind for one in found] for found in attacker.verdicts(attacks)]

    assert kinds == [[AuditKind.INSERTED], [AuditKind.REMOVED], [AuditKind.ROLLED_BACK]][: len(attacks)]


# --- every store -------------------------------------------------------------------------------------


def test_each_write_of_a_row_that_decides_adds_one_entry_about_it_and_a_plain_decision_none(shelf):
    before = run(shelf.store.evidence.size())
    agent = shelf.add(an_agent())
    for step in (1, 2, 3):
        shelf.take(agent, an_attempt(step))
    size = run(shelf.store.evidence.size())
    subjects = [entry.subject for entry in run(shelf.store.evidence.entries(before, size))]

    assert [subject for subject in subjects if is_state(subject)] == [
        subject_of("agents", {"agent_id": agent.agent_id})
    ]
    assert len(subjects) == 5


def test_nothing_differs_after_writes_changes_and_drops(shelf):
    for record in records():
        assert shelf.commit(record) is None
    shelf.commit(noted(AGENT, shelf.now, dropped_webhook="hook_1"))
    shelf.commit(noted(AGENT, shelf.now, webhook=a_webhook("hook_2")))

    assert run(shelf.store.differences(TABLES)) == []
    run(shelf.store.ledger_state())
    assert run(shelf.store.differences(TABLES)) == []


def test_a_row_that_comes_back_after_it_was_dropped_is_committed_again(shelf):
    shelf.commit(noted(AGENT, shelf.now, webhook=a_webhook()))
    shelf.commit(noted(AGENT, shelf.now, dropped_webhook="hook_1"))
    shelf.commit(noted(AGENT, shelf.now, webhook=a_webhook()))

    assert run(shelf.store.differences(["webhooks"])) == []


@pytest.mark.parametrize("kind", DURABLE)
def test_what_retention_takes_leaves_an_entry_and_is_no_difference(shelve, kind):
    shelf = shelve(Policy(retention=Retention(activity_days=1, approval_days=1)))
    agent = shelf.add(an_agent())
    closed = an_approval(agent, shelf.now, status=ApprovalStatus.DENIED, version=0)
    acted = an_activity(agent, shelf.now, fingerprint=b"f" * 32)
    unknown = an_outcome(acted, OutcomeResult.UNKNOWN)
    settled = msgspec.structs.replace(unknown, result=OutcomeResult.SUCCESS, settled_by="key:k", settled_ms=1)
    shelf.commit(noted(agent, shelf.now, approval=closed))
    shelf.commit(Record(acted, outcome=unknown))
    shelf.commit(noted(agent, shelf.now, outcome=settled))
    shelf.clock.advance(3 * DAY)
    # A little is removed now and then, not at every write.
    written = 0
    while run(shelf.store.approval(closed.approval_id)) is not None and written < 300:
        shelf.commit(Record(an_activity(agent, shelf.now)))
        written += 1

    assert run(shelf.store.approval(closed.approval_id)) is None
    if kind == "sqlite":
        assert run(shelf.store.outcomes(agent.agent_id, 10)) == []
    assert run(shelf.store.differences(TABLES)) == []


def test_what_is_erased_is_committed_anew_and_is_no_difference(shelf):
    agent = shelf.add(an_agent())
    acted = an_activity(agent, shelf.now, fingerprint=b"f" * 32)
    approval = an_approval(agent, shelf.now, intent="for Ada")
    unknown = an_outcome(acted, OutcomeResult.UNKNOWN, error="Ada was not there")
    shelf.commit(Record(acted, outcome=unknown))
    shelf.commit(noted(agent, shelf.now, approval=approval))
    redaction = Redaction(
        agent.agent_id,
        (Tombstone(acted.activity_id, "calculate", None, b"{}"),),
        (msgspec.structs.replace(approval, intent=None),),
        (msgspec.structs.replace(unknown, error=None, fingerprint=b""),),
    )

    shelf.commit(noted(agent, shelf.now, redaction=redaction))

    assert run(shelf.store.approval(approval.approval_id)).intent is None
    assert run(shelf.store.differences(TABLES)) == []


@pytest.mark.parametrize("kind", ["memory"])
def test_a_store_in_memory_names_what_was_done_to_its_values(shelf):
    for record in records():
        shelf.commit(record)
    tables = shelf.store._tables

    def kinds():
        return [(one.kind, one.table) for one in run(shelf.store.differences(TABLES))]

    suspended = tables._agents[AGENT.agent_id]
    tables._agents[AGENT.agent_id] = msgspec.structs.replace(suspended, status=AgentStatus.ACTIVE)
    tables._keys[b"x" * 32] = a_key(b"x" * 32, None)
    assert kinds() == [(AuditKind.EDITED, "agents"), (AuditKind.INSERTED, "keys")]
    tables._agents[AGENT.agent_id] = suspended
    del tables._keys[b"x" * 32]
    del tables._keys[KEY.key_hash]
    assert kinds() == [(AuditKind.REMOVED, "keys")]


# --- one way to write ----------------------------------------------------------------------------------


def test_no_statement_elsewhere_writes_to_a_table_of_rows_that_decide():
    """Only `states.py` of a store does: each of its writes adds the entry."""
    names = "|".join({*KEYS, "standings"})
    writes = re.compile(rf"\b(INSERT[A-Z ]*INTO|UPDATE|DELETE FROM|REPLACE INTO|COPY)\s+({names})\b", re.I)
    found = [
        f"{path.relative_to(SOURCE)}: {match.group(0)}"
        for path in sorted(SOURCE.rglob("*"))
        if path.suffix in (".py", ".sql") and "migrations" not in path.parts
        for match in writes.finditer(path.read_text(encoding="utf-8"))
    ]

    # What goes over from a file is committed anew, row by row, in `moving.py`.
    assert {place.split(":")[0] for place in found} <= {"stores/postgres/states.py"}, found


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_a_later_migration_changes_no_row_that_decides_and_adds_only_columns_without_a_value(store):
    """A column without a value is no part of a commitment: rows from before go on to verify."""
    folder = SOURCE / "stores" / "migrations" / store
    files = sorted(folder.glob("*.sql"))
    later = files[[file.name.endswith("_states.sql") for file in files].index(True) + 1 :]
    names = "|".join({*KEYS, "standings"})
    forbidden = re.compile(
        rf"\b(UPDATE|INSERT INTO|DELETE FROM)\s+({names})\b"
        rf"|ALTER TABLE\s+({names})\s+ADD COLUMN[^;]*\b(NOT NULL|DEFAULT)\b",
        re.I,
    )

    # What a function does is done by whoever calls it.
    bodies = re.compile(r"\$\$.*?\$\$", re.S)
    texts = {file.name: bodies.sub("", file.read_text(encoding="utf-8")) for file in later}
    assert [name for name, text in texts.items() if forbidden.search(text)] == []


# --- taking over ---------------------------------------------------------------------------------------


def old_file(folder: Path) -> Path:
    """A store of the version before, with an agent, a key and an approval."""
    path = folder / "store.db"
    connection = sqlite3.connect(path, isolation_level=None)
    for file in sorted((SOURCE / "stores" / "migrations" / "sqlite").glob("*.sql")):
        if file.name.endswith("_states.sql"):
            break
        number = int(file.name[:3])
        connection.executescript(f"{file.read_text(encoding='utf-8')}; PRAGMA user_version = {number};")
    agent, key = agent_columns(AGENT), key_columns(KEY)
    for table, row in (("agents", agent), ("keys", key), ("approvals", approval_columns(APPROVAL))):
        places = ", ".join("?" * len(row))
        sql = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})"
        connection.execute(sql, tuple(row.values()))
    connection.close()
    return path


def test_rows_of_the_version_before_are_taken_over_once_and_said_to_be(tmp_path):
    path = old_file(tmp_path)
    shelf = Shelf("sqlite", tmp_path, DEFAULT_POLICY)
    assert run(shelf.store.agent(AGENT.agent_id)) == AGENT
    assert run(shelf.store.ledger_state()).adopted == 3
    shelf.reopen()
    shelf.commit(noted(AGENT, shelf.now, agent=msgspec.structs.replace(AGENT, description="new")))
    shelf.store.close()

    found = verify_ledger(path, RING.known())

    assert isinstance(found, Followed)
    assert (found.rows, found.adopted) == (3, 3)
    assert found.adopted_ms is not None


def old_database() -> str:
    """A database of the version before, with an agent, a key, an approval and a misdeed."""
    url = shared().empty_database()
    known = read_migrations()
    before = next(one.number for one in known if "require_commitment" in one.script)

    async def fill() -> None:
        await migrate(url, known[: before - 1])
        connection = await asyncpg.connect(url)
        rows = {
            "agents": {**agent_columns(AGENT), "trust": int(AGENT.trust_level)},
            "keys": key_columns(KEY),
            "approvals": {**approval_columns(APPROVAL), "version": 0},
            "standings": {"agent_id": AGENT.agent_id, "actions": 3, "conduct": encode(Conduct(denied=1))},
        }
        for table, row in rows.items():
            places = ", ".join(f"${number}" for number in range(1, len(row) + 1))
            sql = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})"
            await connection.execute(sql, *row.values())
        await connection.close()

    asyncio.run(fill())
    return url


def test_rows_of_a_database_of_the_version_before_are_taken_over_once(tmp_path):
    url = old_database()
    for _ in range(2):
        store = open_postgres(url, DEFAULT_POLICY, FakeClock(), RING)
        assert run(store.agent(AGENT.agent_id)) == AGENT
        assert run(store.differences(TABLES)) == []
        state = run(store.ledger_state())
        assert (state.adopted, state.adopted_ms) == (4, FakeClock().now_ms())
        assert run(store.differences(TABLES)) == []
        store.close()
    PostgresAttacker(url).write("keys", {**key_columns(a_key(b"x" * 32, None)), "salt": None})
    waiting = snapshot(url, tmp_path / "copy.db")
    store = open_postgres(url, DEFAULT_POLICY, FakeClock(), RING)

    assert [one.kind for one in run(store.differences(TABLES))] == [AuditKind.INSERTED]
    store.close()
    found = verify_ledger(tmp_path / "copy.db", RING.known(), (), waiting)
    assert isinstance(found, Tampering) and found.kind is AuditKind.INSERTED


def test_an_older_gateway_can_not_write_a_row_without_its_entry():
    url = old_database()
    open_postgres(url, DEFAULT_POLICY, FakeClock(), RING).close()

    async def write(sql: str) -> None:
        connection = await asyncpg.connect(url)
        try:
            await connection.execute(sql)
        finally:
            await connection.close()

    for sql in (
        "UPDATE agents SET status = 'active'",
        "DELETE FROM approvals",
        "INSERT INTO keys VALUES ('k', 'h', NULL, 'b')",
        "UPDATE standings SET conduct = 'x'",
        "INSERT INTO outcomes VALUES ('act_1', 'a', 'unknown', 'f', 'b')",
    ):
        with pytest.raises(asyncpg.RaiseError, match="upgrade this gateway"):
            asyncio.run(write(sql))
    # Its decisions, and what they count, go on.
    asyncio.run(write("UPDATE standings SET actions = actions + 1"))
    asyncio.run(write("INSERT INTO outcomes VALUES ('act_1', 'a', 'success', 'f', 'b')"))


def test_a_row_that_is_inserted_after_the_taking_over_is_not_taken_over(tmp_path):
    path = old_file(tmp_path)
    Shelf("sqlite", tmp_path, DEFAULT_POLICY).store.close()
    row = {**key_columns(a_key(b"x" * 32, None)), "salt": None}
    SqliteAttacker(path).write("keys", row)
    shelf = Shelf("sqlite", tmp_path, DEFAULT_POLICY)
    assert run(shelf.store.api_key(b"x" * 32)) is None
    shelf.store.close()

    found = verify_ledger(path, RING.known())

    assert isinstance(found, Tampering)
    assert found.kind is AuditKind.INSERTED


def test_a_file_of_the_version_before_is_not_called_valid_as_to_its_rows(tmp_path):
    path = old_file(tmp_path)

    found = verify_ledger(path, RING.known())

    assert isinstance(found, Followed)
    assert found.rows is None


# --- while the gateway runs ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", DURABLE)
def test_an_inserted_key_an_edited_agent_and_an_answered_approval_are_refused(shelve, tmp_path, kind):
    shelf = shelve()
    agent, suspended = shelf.add(an_agent()), shelf.add(an_agent(status=AgentStatus.SUSPENDED))
    approval = an_approval(agent, shelf.now)
    shelf.commit(noted(agent, shelf.now, approval=approval))
    shelf.store.close()
    attacker = attacker_of(kind, tmp_path)
    attacker.write("keys", {**key_columns(a_key(b"x" * 32, None, roles=("operator",))), "salt": b"s" * 16})
    body = encode(msgspec.structs.replace(suspended, status=AgentStatus.ACTIVE))
    attacker.overwrite("agents", suspended.agent_id, {"status": "active", "body": body})
    granted = encode(msgspec.structs.replace(approval, status=ApprovalStatus.APPROVED, version=1))
    attacker.overwrite("approvals", approval.approval_id, {"status": "approved", "body": granted})
    shelf.store = shelf._open()
    store = shelf.store

    assert run(store.api_key(b"x" * 32)) is None
    assert run(store.agent(suspended.agent_id)) is None
    assert run(store.agent_by_token(suspended.token_hash)) is None
    assert run(store.agent(agent.agent_id)) == agent
    with pytest.raises(StateDiffers, match="approvals"):
        run(store.approval(approval.approval_id))
    kinds = {(one.table, one.kind) for one in store.integrity.differences}
    assert kinds == {
        ("keys", AuditKind.INSERTED),
        ("agents", AuditKind.EDITED),
        ("approvals", AuditKind.EDITED),
    }


def attacker_of(kind: str, folder: Path) -> SqliteAttacker | PostgresAttacker:
    return SqliteAttacker(folder / "store.db") if kind == "sqlite" else PostgresAttacker(database_of(folder))


@pytest.mark.parametrize("kind", DURABLE)
def test_a_write_never_makes_what_somebody_else_wrote_the_gateways_own(shelve, tmp_path, kind):
    shelf = shelve()
    agent = shelf.add(an_agent())
    approval, other = an_approval(agent, shelf.now), an_approval(agent, shelf.now)
    shelf.commit(noted(agent, shelf.now, approval=approval))
    shelf.commit(noted(agent, shelf.now, approval=other))
    edited = msgspec.structs.replace(approval, action={"type": "calculate", "query": "another"})
    attacker_of(kind, tmp_path).overwrite("approvals", approval.approval_id, {"body": encode(edited)})
    shelf.clock.advance(DAY)
    reminded = msgspec.structs.replace(edited, version=1, status=ApprovalStatus.EXPIRED)

    with pytest.raises(StoreUnavailable):
        shelf.commit(noted(agent, shelf.now, approval=reminded))

    assert [one.kind for one in run(shelf.store.differences(TABLES))] == [AuditKind.EDITED]
    # Nor does it keep others from what is due for them.
    assert run(shelf.store.approvals_due(shelf.now, 10)) == [other]
