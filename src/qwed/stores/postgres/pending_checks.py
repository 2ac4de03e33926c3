"""Before a record gets its place in the ledger: did a gateway write it, as it stands, for the first time?"""

import time
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec

from qwed.ledger.entries import SALT_BYTES, commit_to
from qwed.ledger.record_keys import MAC_BYTES
from qwed.stores.ledger_items import content_in
from qwed.stores.postgres.numbers import ProcessNumbers
from qwed.stores.postgres.seals import ACTIVITIES, TOKENS, VOID, Seals
from qwed.stores.postgres.texts import show_text_or_none

#: So long a leader waits for another that has the key a record names.
UNKNOWN_KEY_SECONDS: Final = 30.0
#: Where, among the columns of an activity, those are that a caller chose.
_TYPE, _CONVERSATION = 4, 7

Row = Any


class RefusedFor(StrEnum):
    NOT_SEALED = "not_sealed"
    WRONG_SEAL = "wrong_seal"
    UNKNOWN_KEY = "unknown_key"
    WRONG_CONTENT = "wrong_content"
    NOT_NEW = "not_new"


class RefusedEntry(msgspec.Struct, frozen=True):
    id: int
    subject: str
    reason: RefusedFor


class Vetted(msgspec.Struct):
    """A batch, taken apart. What is skipped names a key that another leader may have: it waits on."""

    entries: list[Row] = []
    void: list[int] = []
    refused: list[RefusedEntry] = []
    skipped: set[str] = set()

    @property
    def ids(self) -> list[int]:
        return [row["id"] for row in self.entries] + self.void


class Vetting:
    def __init__(self, seals: Seals) -> None:
        self._seals = seals
        #: Records that name a key which is not here, and since when they wait.
        self._unknown: dict[int, float] = {}

    def vet(self, rows: Sequence[Row], numbers: ProcessNumbers) -> Vetted:
        vetted = Vetted()
        seen: set[tuple[str, bytes | None]] = set()
        for row in rows:
            # What was recorded about one thing is chained in its order.
            if row["subject"] in vetted.skipped:
                continue
            reason = self._refusal(row, seen)
            if reason is RefusedFor.UNKNOWN_KEY and self._may_come(row["id"]):
                vetted.skipped.add(row["subject"])
            elif reason is not None:
                vetted.refused.append(RefusedEntry(row["id"], row["subject"], reason))
                # A seal that is right belongs to a number that was used.
                if reason in (RefusedFor.WRONG_CONTENT, RefusedFor.NOT_NEW):
                    numbers.note(row["source"], row["number"])
            else:
                self._accept(row, vetted, numbers, seen)
        return vetted

    def _accept(
        self, row: Row, vetted: Vetted, numbers: ProcessNumbers, seen: set[tuple[str, bytes | None]]
    ) -> None:
        numbers.note(row["source"], row["number"])
        if row["place"] == VOID:
            vetted.void.append(row["id"])
        else:
            seen.add(_name(row))
            vetted.entries.append(row)

    def _may_come(self, number: int) -> bool:
        since = self._unknown.setdefault(number, time.monotonic())
        return time.monotonic() - since < UNKNOWN_KEY_SECONDS

    def _refusal(self, row: Row, seen: set[tuple[str, bytes | None]]) -> RefusedFor | None:
        mac = row["mac"]
        if not isinstance(mac, bytes) or len(mac) != MAC_BYTES:
            return RefusedFor.NOT_SEALED
        if not self._seals.keys.knows(mac):
            return RefusedFor.UNKNOWN_KEY
        facts = [row[name] for name in ("place", "source", "number", "subject", "at_ms", "commitment")]
        if not self._seals.is_record(mac, *facts):
            return RefusedFor.WRONG_SEAL
        if row["place"] == VOID:
            return None
        if row["is_known"] or _name(row) in seen:
            return RefusedFor.NOT_NEW
        return None if _is_content_right(row) else RefusedFor.WRONG_CONTENT


def _name(row: Row) -> tuple[str, bytes | None]:
    """An activity and a token have one entry; a row has one for each of its states."""
    is_one = row["place"] in (ACTIVITIES, TOKENS)
    return row["subject"], None if is_one else row["commitment"]


def _is_content_right(row: Row) -> bool:
    """Whether what the entry is about is what it commits to, as far as that is still there."""
    if row["place"] == TOKENS:
        return _commits(row, row["token"], row["token_salt"])
    if row["place"] != ACTIVITIES or row["activity_id"] is None:
        return True
    columns = list(tuple(row)[-14:])
    columns[_TYPE], columns[_CONVERSATION] = (
        show_text_or_none(columns[_TYPE]),
        show_text_or_none(columns[_CONVERSATION]),
    )
    return _commits(row, content_in(tuple(columns)), row["salt"])


def _commits(row: Row, content: bytes | None, salt: bytes | None) -> bool:
    # What was erased meanwhile has lost its salt.
    if salt is None or content is None:
        return True
    return len(salt) == SALT_BYTES and bool(commit_to(content, salt) == row["commitment"])
