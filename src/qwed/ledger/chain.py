"""The hash chain over the record, for who follows it to build upon it: a broken one raises."""

from collections.abc import Iterable

from qwed.ledger.audit import Tampering, audit
from qwed.ledger.entries import GENESIS, Head, LedgerEntry, append, commit_to


class BrokenChain(Exception):
    """An entry does not follow from the one before it; the message names it."""


def verify(entries: Iterable[LedgerEntry], head: Head = Head()) -> Head:  # noqa: B008 - Head is frozen
    """Follow the chain from `head` to its end. Raises `BrokenChain`."""
    answer = audit(entries, head)
    if isinstance(answer, Tampering):
        raise BrokenChain(answer.says)
    return answer.head


__all__ = ["GENESIS", "BrokenChain", "Head", "LedgerEntry", "append", "commit_to", "verify"]
