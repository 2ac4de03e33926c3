"""The whole ledger followed once, in order, in constant memory; what was tampered with is named.

What the chain alone can tell is told exactly. An end that was rewritten consistently, hashes and all, is
found where it first meets a signed checkpoint, and named as the stretch since the one before.
"""

import enum
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from qwed.ledger.checkpoints import Checkpoint
from qwed.ledger.entries import HASH_BYTES, Head, LedgerEntry, entry_hash
from qwed.ledger.merkle import GrowingNodes, TreeEdge


class AuditKind(enum.StrEnum):
    EDITED = "edited"
    REMOVED = "removed"
    INSERTED = "inserted"
    REORDERED = "reordered"
    TRUNCATED = "truncated"
    REWRITTEN = "rewritten"
    #: Of a row beside the ledger: it is as it was once.
    ROLLED_BACK = "rolled_back"


class Tampering(msgspec.Struct, frozen=True):
    """The first thing that is wrong: with entry `seq`, or with those from `seq` to `last`."""

    kind: AuditKind
    seq: int
    last: int
    says: str


class Audited(msgspec.Struct, frozen=True):
    """Everything follows. `root` is over the entries seen; those after `signed` are under no checkpoint."""

    head: Head
    root: bytes
    signed: int


def audit(
    items: Iterable[LedgerEntry | Checkpoint],
    head: Head = Head(),  # noqa: B008 - Head is frozen
    known: Sequence[Checkpoint] = (),
    nodes: GrowingNodes | None = None,
) -> Audited | Tampering:
    """Follow the entries from `head`. A checkpoint among them covers the entries before it.

    `known` are checkpoints kept elsewhere, by a witness or from an earlier audit: with them the ledger
    must agree too. Checkpoints, in either place, are compared only from the first entry on, and are
    expected to be verified. `nodes` is given every node of the tree as it should be.
    """
    follower = _Follower(head, known, nodes)
    iterator = iter(items)
    for item in iterator:
        if isinstance(item, Checkpoint):
            problem = follower.compare(item)
        elif follower.follows(item):
            problem = follower.compare_known()
        else:
            problem = follower.diagnose(item, iterator)
        if problem is not None:
            return problem
    return follower.ended()


class _Follower:
    def __init__(self, head: Head, known: Sequence[Checkpoint], nodes: GrowingNodes | None) -> None:
        self._nodes = nodes
        self._seq = head.seq
        self._hash = head.hash
        # A tree can be computed only from its first leaf.
        self._edge = TreeEdge() if head.seq == 0 else None
        self._known = sorted(known, key=lambda checkpoint: checkpoint.size, reverse=True)
        self._signed = 0

    def follows(self, entry: LedgerEntry) -> bool:
        if entry.seq != self._seq + 1 or entry.previous != self._hash or not _is_whole(entry):
            return False
        self._seq += 1
        self._hash = entry.hash
        if self._edge is not None:
            self._edge.append(entry.hash, self._nodes)
        return True

    def compare(self, checkpoint: Checkpoint) -> Tampering | None:
        if checkpoint.size > self._seq:
            return self._report_truncated(checkpoint.size)
        if checkpoint.size < self._seq:
            seq = checkpoint.size + 1
            return Tampering(AuditKind.INSERTED, seq, self._seq, f"entry {seq} stands before its checkpoint")
        return self._agrees(checkpoint)

    def compare_known(self) -> Tampering | None:
        while self._known and self._known[-1].size <= self._seq:
            problem = self._agrees(self._known.pop())
            if problem is not None:
                return problem
        return None

    def _agrees(self, checkpoint: Checkpoint) -> Tampering | None:
        if self._edge is None:
            return None
        if checkpoint.head != self._hash or checkpoint.root != self._edge.root():
            first = min(self._signed + 1, self._seq)
            return Tampering(
                AuditKind.REWRITTEN,
                first,
                self._seq,
                f"an entry from {first} to {self._seq} was rewritten: the checkpoint of {self._seq} differs",
            )
        self._signed = checkpoint.size
        return None

    def _report_truncated(self, size: int) -> Tampering:
        first = self._seq + 1
        return Tampering(
            AuditKind.TRUNCATED,
            first,
            size,
            f"entries {first} to {size} are missing at the end: a checkpoint has them",
        )

    def ended(self) -> Audited | Tampering:
        problem = self.compare_known()
        if problem is not None:
            return problem
        if self._known:
            return self._report_truncated(self._known[0].size)
        root = self._edge.root() if self._edge is not None else b""
        return Audited(Head(self._seq, self._hash), root, self._signed)

    def diagnose(self, entry: LedgerEntry, rest: Iterator[LedgerEntry | Checkpoint]) -> Tampering:
        """What happened at the first entry that does not follow."""
        expected = self._seq + 1
        if _is_renumbered(entry, expected) and entry.previous == self._hash:
            return _report_edited(expected)
        following = (item for item in rest if isinstance(item, LedgerEntry))
        if not isinstance(entry.seq, int) or entry.seq < expected:
            return _report_inserted(expected, entry)
        if entry.seq == expected:
            return self._diagnose_numbered(entry, expected, following)
        return self._diagnose_jump(entry, expected, following)

    def _diagnose_numbered(
        self, entry: LedgerEntry, expected: int, following: Iterator[LedgerEntry]
    ) -> Tampering:
        after = next(following, None)
        if after is not None and after.seq == expected and after.previous == self._hash and _is_whole(after):
            return _report_inserted(expected, entry)
        # An entry that the next one vouches for is as it was: then the one before it was changed.
        is_vouched_for = after is not None and after.previous == entry.hash and _is_whole(after)
        if _is_whole(entry) and is_vouched_for and self._seq > 0:
            return _report_edited(self._seq)
        return _report_edited(expected)

    def _diagnose_jump(
        self, entry: LedgerEntry, expected: int, following: Iterator[LedgerEntry]
    ) -> Tampering:
        is_genuine = _is_whole(entry) and entry.previous != self._hash
        comes_later = is_repeated = False
        lowest = entry.seq
        for number, item in enumerate(following):
            comes_later |= item.seq == expected
            is_repeated |= item.seq == entry.seq
            if isinstance(item.seq, int) and expected < item.seq:
                lowest = min(lowest, item.seq)
            if comes_later and number == 0 and not is_genuine:
                return _report_inserted(expected, entry)
        if comes_later and is_genuine and not is_repeated:
            return Tampering(
                AuditKind.REORDERED,
                expected,
                entry.seq,
                f"entry {entry.seq} stands where entry {expected} belongs",
            )
        if comes_later:
            return _report_inserted(expected, entry)
        if not is_genuine:
            return _report_edited(expected)
        last = lowest - 1
        missing = f"entry {expected} is" if last == expected else f"entries {expected} to {last} are"
        return Tampering(
            AuditKind.REMOVED, expected, last, f"{missing} missing: {entry.seq} follows {expected - 1}"
        )


def _report_edited(seq: int) -> Tampering:
    return Tampering(
        AuditKind.EDITED, seq, seq, f"entry {seq} was changed: its hash is not that of its content"
    )


def _report_inserted(seq: int, entry: LedgerEntry) -> Tampering:
    return Tampering(
        AuditKind.INSERTED, seq, seq, f"an entry numbered {entry.seq} was inserted where entry {seq} belongs"
    )


def _is_whole(entry: LedgerEntry) -> bool:
    """Whether the entry's hash is that of its content."""
    return _is_renumbered(entry, entry.seq)


def _is_renumbered(entry: LedgerEntry, seq: int) -> bool:
    """Whether the entry's hash is that of its content, were it numbered `seq`."""
    try:
        # The lengths too: else a byte could pass from one field to the next, under the same hash.
        if len(entry.commitment) != HASH_BYTES or len(entry.previous) != HASH_BYTES:
            return False
        return entry.hash == entry_hash(seq, entry.at_ms, entry.subject, entry.commitment, entry.previous)
    except (AttributeError, OverflowError, TypeError, UnicodeEncodeError):
        return False
