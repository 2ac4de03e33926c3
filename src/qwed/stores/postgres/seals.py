"""Seals: every record that this process writes carries a MAC and its own number, without gaps.

A number that was drawn for a write that came to nothing is voided: a moment later a sealed row says so.
That is about gaps alone, so a number whose write may have happened is voided too.
"""

import itertools
import secrets
import threading
from types import TracebackType
from typing import Any, Final

import msgspec

from qwed.ect.keys import KeyUnusable
from qwed.ledger.record_keys import ID_BYTES, RecordKeys
from qwed.ledger.states import is_state
from qwed.stores.errors import DatabaseUnusable
from qwed.stores.postgres.connections import FAILED, connect
from qwed.stores.postgres.statements import SQL

ACTIVITIES: Final = "activities"
TOKENS: Final = "ects"
VOID: Final = "void"
SEAL_LOCK: Final = 7_932_021
_RECORD: Final = b"qwed-record-v1"
_ROW: Final = b"qwed-row-v1"
_SOURCE: Final = b"qwed-source-v1"
_SINCE: Final = b"qwed-since-v1"

Connection = Any


class Seal(msgspec.Struct, frozen=True):
    number: int
    mac: bytes


class Seals:
    """What the gateways on one database seal, and how it is checked."""

    def __init__(self, keys: RecordKeys, ledger: str) -> None:
        self.keys = keys
        self._ledger = ledger

    def record(
        self, place: str, source: str, number: int, subject: str, at_ms: int, commitment: bytes
    ) -> bytes:
        facts = (self._ledger, place, source, number, subject, at_ms, commitment)
        return self.keys.seal(_RECORD, facts)

    def is_record(
        self, mac: object, place: str, source: str, number: int, subject: str, at_ms: int, commitment: bytes
    ) -> bool:
        facts = (self._ledger, place, source, number, subject, at_ms, commitment)
        return self.keys.is_sealed(mac, _RECORD, facts)

    def row(self, subject: str, commitment: bytes) -> bytes:
        """For a row that decides, as it stands."""
        return self.keys.seal(_ROW, (self._ledger, subject, commitment))

    def is_row(self, mac: object, subject: str, commitment: bytes) -> bool:
        return self.keys.is_sealed(mac, _ROW, (self._ledger, subject, commitment))

    def source(self, name: str, body: bytes) -> bytes:
        return self.keys.seal(_SOURCE, (self._ledger, name, body))

    def is_source(self, mac: object, name: str, body: bytes) -> bool:
        return self.keys.is_sealed(mac, _SOURCE, (self._ledger, name, body))

    def since(self, size: int) -> bytes:
        return self.keys.seal(_SINCE, (self._ledger, size))

    def is_since(self, mac: object, size: int) -> bool:
        return self.keys.is_sealed(mac, _SINCE, (self._ledger, size))


class RecordSealer:
    """This process's own numbers. Safe to use from any thread."""

    def __init__(self, seals: Seals, owner: str) -> None:
        self.seals = seals
        #: Drawn at the start; the first half says who holds the process's lock.
        self.source = f"{owner}-{secrets.token_hex(8)}"
        #: Rows without a MAC count up to this entry of the ledger.
        self.since = 0
        self._numbers = itertools.count(1)
        self._void: list[int] = []
        self._lock = threading.Lock()

    def seal(self, place: str, subject: str, at_ms: int, commitment: bytes) -> Seal:
        number = next(self._numbers)
        return Seal(number, self.seals.record(place, self.source, number, subject, at_ms, commitment))

    def void(self, *numbers: int) -> None:
        with self._lock:
            self._void += numbers

    def write(self) -> "SealedWrite":
        return SealedWrite(self)

    async def say_void(self, connection: Connection, at_ms: int) -> None:
        """Tell the leader which numbers will not come."""
        with self._lock:
            numbers, self._void = self._void, []
        rows = [
            (
                at_ms,
                VOID,
                b"",
                VOID,
                self.source,
                n,
                self.seals.record(VOID, self.source, n, VOID, at_ms, b""),
            )
            for n in numbers
        ]
        try:
            if rows:
                await connection.executemany(SQL["wait_for_ledger"], rows)
        except BaseException:
            self.void(*numbers)
            raise


class SealedWrite:
    """The seals of one transaction: where it fails, their numbers are void."""

    def __init__(self, sealer: RecordSealer) -> None:
        self.sealer = sealer
        self._drawn: list[int] = []

    def waiting(self, place: str, subject: str, at_ms: int, commitment: bytes) -> tuple[object, ...]:
        """The parameters of `wait_for_ledger`."""
        seal = self.sealer.seal(place, subject, at_ms, commitment)
        self._drawn.append(seal.number)
        return at_ms, subject, commitment, place, self.sealer.source, seal.number, seal.mac

    def drew(self, seal: Seal) -> None:
        self._drawn.append(seal.number)

    def __enter__(self) -> "SealedWrite":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.sealer.void(*self._drawn)


# --- at a start --------------------------------------------------------------------------------------


async def open_sealer(connection: Connection, keys: RecordKeys, owner: str) -> RecordSealer:
    """A sealer for this process; what waits from before records were sealed, the first who comes takes over.

    Raises `KeyUnusable` where the database was sealed with a key that is not here.
    """
    sealer = RecordSealer(Seals(keys, await connection.fetchval(SQL["ledger_name"])), owner)
    with sealer.write() as seals:
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", SEAL_LOCK)
            found = await connection.fetchrow(SQL["sealed_since"])
            if found is None:
                await _take_over(connection, seals)
            else:
                sealer.since = await _since(connection, sealer.seals, *found)
    return sealer


async def named_keys(url: str) -> dict[str, int]:
    """The ids of the keys that rows name, with how many do. Raises `DatabaseUnusable`."""
    try:
        connection = await connect(url)
        try:
            return {row["name"]: row["rows"] for row in await connection.fetch(SQL["named_record_keys"])}
        finally:
            connection.terminate()
    except FAILED as error:
        raise DatabaseUnusable(f"the record keys can't be read: {error or type(error).__name__}") from None


async def _take_over(connection: Connection, seals: SealedWrite) -> None:
    waiting = await connection.fetch(SQL["unsealed_waiting"])
    for number, at_ms, subject, commitment in waiting:
        *_, place, source, own, mac = seals.waiting(_place_of(subject), subject, at_ms, commitment)
        await connection.execute(SQL["seal_waiting"], number, place, source, own, mac)
    size = await connection.fetchval(SQL["ledger_size"]) + len(waiting)
    seals.sealer.since = size
    await connection.execute(SQL["put_sealed_since"], size, seals.sealer.seals.since(size))


async def _since(connection: Connection, seals: Seals, size: int, mac: bytes) -> int:
    if not seals.keys.knows(mac):
        raise KeyUnusable(
            f"the records here are sealed with the record key {mac[:ID_BYTES].hex()}, which this gateway does"
            " not have: all need the same QWED_RECORD_KEY; add an older key after the one that seals"
        )
    # An edited one counts for nothing: then every row needs a MAC of its own.
    if not seals.is_since(mac, size):
        return 0
    if mac[:ID_BYTES] != seals.keys.active_id:
        await connection.execute(SQL["change_sealed_since"], seals.since(size))
    return size


def _place_of(subject: str) -> str:
    if is_state(subject):
        return subject.split(":", 2)[1]
    return ACTIVITIES if subject.startswith("act_") else TOKENS
