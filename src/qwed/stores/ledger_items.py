"""Ledger entries with what they stand for, as rows hold both; compared with what the entry committed to."""

from typing import Any

import msgspec

from qwed.gateway.kernel.commitments import content_of
from qwed.gateway.kernel.ports import StoreUnavailable
from qwed.gateway.kernel.records import Activity, LedgerItem
from qwed.ledger.entries import SALT_BYTES, LedgerEntry, commit_to
from qwed.ledger.states import is_state

Row = tuple[Any, ...]


def item_of(row: Row) -> LedgerItem:
    """From the entry's columns, a token's (token, salt, principal), and an activity's (salt and all others).

    Raises `StoreUnavailable` for content that is not what the ledger committed to.
    """
    entry = LedgerEntry(*row[:6])
    token, token_salt, principal_id, salt = row[6:10]
    *facts, par, wid = row[10:]
    # A payload that was erased leaves the columns behind; one that was replaced has lost its salt.
    activity = Activity(*(*facts, par_of(par), wid)) if facts[-1] is not None else None
    content, used = (token, token_salt) if activity is None else (content_in(row[10:]), salt)
    if content is not None and used is not None and not commits_to(entry, content, used):
        raise StoreUnavailable(f"the ledger fails at entry {entry.seq}: run `qwed ledger verify`")
    text = None if token is None else token.decode("ascii")
    owner = principal_id if activity is None else activity.principal_id
    is_row = is_state(entry.subject)
    return LedgerItem(entry.seq, entry.at_ms, activity, text, owner, is_row, used is None)


def par_of(text: str | None) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()


def content_in(columns: Row) -> bytes | None:
    """What the gateway committed to, were the columns as it wrote them."""
    *facts, payload, par, wid = columns
    if payload is None:
        return None
    try:
        return content_of(payload, (*facts, par_of(par), wid))
    except (TypeError, AttributeError, UnicodeError, msgspec.MsgspecError):
        return b""


def commits_to(entry: LedgerEntry, content: object, salt: object) -> bool:
    """Whoever edits a row may leave another type behind than the gateway would."""
    return (
        isinstance(content, bytes)
        and isinstance(salt, bytes)
        and len(salt) == SALT_BYTES
        and commit_to(content, salt) == entry.commitment
    )
