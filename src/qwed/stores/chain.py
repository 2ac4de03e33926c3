"""Records become entries of the ledger: what an entry commits to, how a group is added, how the tree is kept.

An activity's entry commits to its payload and to the columns that queries rely on: neither can be
changed unnoticed. Of the tree only every fourth level is kept, one node for 16 below it; the leaves are
the entries themselves, and what lies between is hashed together when a proof asks for it.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from qwed.ect import dag
from qwed.ect.keys import KeyRing, KeyUnusable
from qwed.ect.tokens import Level, hash_bytes, parse
from qwed.gateway.kernel.ports import StoreUnavailable
from qwed.gateway.kernel.records import KnownNode, LedgerItem
from qwed.ledger.checkpoints import Checkpoint, sign_checkpoint
from qwed.ledger.entries import SALT_BYTES, Head, LedgerEntry, append, commit_to
from qwed.ledger.merkle import GrowingNodes, TreeEdge, node_hash

TILE_LEVELS: Final = 4
TILE: Final = 1 << TILE_LEVELS


class Growth:
    """The ledger's end with a group added to it: nothing counts before the group is written."""

    def __init__(self, head: Head, edge: TreeEdge, nodes: GrowingNodes | None = None) -> None:
        self.head = head
        self.edge = edge.copy()
        self._nodes = nodes or self
        self.entries: list[LedgerEntry] = []
        self.tiles: list[tuple[int, int, bytes]] = []
        self._salts: Iterator[bytes] = iter(())

    def add(self, subject: str, at_ms: int, content: bytes) -> tuple[LedgerEntry, bytes]:
        """The new entry, and the salt of its commitment."""
        salt = next(self._salts, None) or self._fresh_salt()
        return self.extend(subject, at_ms, commit_to(content, salt)), salt

    def extend(self, subject: str, at_ms: int, commitment: bytes) -> LedgerEntry:
        """An entry whose commitment was made before."""
        entry = append(self.head, at_ms, subject, commitment)
        self.head = Head(entry.seq, entry.hash)
        self.edge.append(entry.hash, self._nodes)
        self.entries.append(entry)
        return entry

    def _fresh_salt(self) -> bytes:
        """Drawn many at a time: a system call costs more than the hash."""
        drawn = os.urandom(SALT_BYTES * 32)
        self._salts = (drawn[at : at + SALT_BYTES] for at in range(SALT_BYTES, len(drawn), SALT_BYTES))
        return drawn[:SALT_BYTES]

    def put(self, level: int, index: int, digest: bytes) -> None:
        if level and not level % TILE_LEVELS:
            self.tiles.append((level, index, digest))


def seal(ring: KeyRing, ledger: str, growth: Growth, at_ms: int) -> str:
    """The group's signature: a checkpoint over everything up to its last entry. Raises `StoreUnavailable`."""
    head = growth.head
    checkpoint = Checkpoint(ledger, head.seq, growth.edge.root(), head.hash, at_ms // 1000)
    try:
        return sign_checkpoint(ring, checkpoint)
    except KeyUnusable as error:
        # The HSM or the cloud is away: what is not signed is not recorded.
        raise StoreUnavailable(f"the signing key can't sign: {error}") from None


class TiledNodes:
    """Any complete node, from the levels that are kept; for one proof, whose tiles are read once each.

    `read(level, first, count)` gives up to that many neighbours of a kept level; level 0 are the leaves.
    Raises `StoreUnavailable` where the tree has a hole.
    """

    def __init__(self, read: Callable[[int, int, int], list[bytes]]) -> None:
        self._read = read
        self._tiles: dict[tuple[int, int], list[bytes]] = {}

    def get(self, level: int, index: int) -> bytes:
        above = level % TILE_LEVELS
        first, count = index << above, 1 << above
        tile = self._tile(level - above, first >> TILE_LEVELS)
        hashes = tile[first % TILE : first % TILE + count]
        if len(hashes) != count:
            raise StoreUnavailable("the ledger's tree has a hole: run `qwed ledger verify`")
        while len(hashes) > 1:
            hashes = [node_hash(*pair) for pair in zip(hashes[::2], hashes[1::2], strict=True)]
        return hashes[0]

    def _tile(self, level: int, index: int) -> list[bytes]:
        tile = self._tiles.get((level, index))
        if tile is None:
            tile = self._tiles[level, index] = self._read(level, index * TILE, TILE)
        return tile


# --- the graph of tokens ---------------------------------------------------------------------------


def walk(jtis: Sequence[str], known: Callable[[str], KnownNode | None], bound: int) -> list[KnownNode]:
    """The nodes of these ids and everything before them, as far as the bound."""
    found: dict[str, KnownNode | None] = {}
    waiting = list(dict.fromkeys(jtis))
    while waiting and len(found) <= bound:
        jti = waiting.pop()
        if jti not in found:
            found[jti] = node = known(jti)
            waiting += node.node.par if node is not None else ()
    return [node for node in found.values() if node is not None]


def lineage_of(jti: str, find: Callable[[str], LedgerItem | None], bound: int) -> list[LedgerItem]:
    """As `walked`, with what the nodes stand for."""
    found: dict[str, LedgerItem | None] = {}
    waiting = [jti]
    while waiting and len(found) <= bound:
        name = waiting.pop()
        if name not in found:
            found[name] = item = find(name)
            if item is not None:
                waiting += parents_of(item)
    return [item for item in found.values() if item is not None]


def parents_of(item: LedgerItem) -> tuple[str, ...]:
    if item.activity is not None:
        return item.activity.par
    return make_received_node(item.token).node.par if item.token is not None else ()


def make_decided_node(jti: str, at_ms: int, par: tuple[str, ...], wid: str | None) -> KnownNode:
    """A gateway's own node: the ledger holds it."""
    return KnownNode(dag.TokenNode(jti, at_ms // 1000, par, wid, Level.L3), None)


def make_erased_node(jti: str) -> KnownNode:
    """A token that was accepted and erased: it was there, nothing it said can be relied on, and no other
    token takes its place."""
    return KnownNode(dag.TokenNode(jti, 0, (), None, Level.L1), "")


def make_received_node(token: str) -> KnownNode:
    """A token that was accepted before: its claims follow the rules."""
    unverified = parse(token)
    claims = unverified.claims
    par = claims["par"] if "par" in claims else claims.get("pred", ())
    wid = claims.get("wid")
    level = Level.L1 if unverified.signed is None else Level.L3
    node = dag.TokenNode(
        claims["jti"].lower(),
        claims["iat"],
        tuple(parent.lower() for parent in par),
        None if wid is None else wid.lower(),
        level,
    )
    return KnownNode(node, hash_bytes(token.encode("ascii")))
