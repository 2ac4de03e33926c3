"""A Merkle tree over the ledger's entries, hashed as RFC 9162 says; proofs, and their verification.

A node is named by its level and its index there: (0, i) is leaf i, and (n, i) covers the leaves from
i·2ⁿ to (i+1)·2ⁿ. Only complete nodes are kept, and a kept node never changes; the ragged right edge is
hashed together on demand. The verifying half needs no tree.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Final, Protocol

EMPTY_ROOT: Final = hashlib.sha256(b"").digest()
HASH_BYTES: Final = 32


class NoSuchProof(ValueError):
    """There is no leaf, or no tree, of that number."""


class GrowingNodes(Protocol):
    """Takes every node as it becomes complete."""

    def put(self, level: int, index: int, digest: bytes) -> None: ...


class ReadableNodes(Protocol):
    def get(self, level: int, index: int) -> bytes:
        """A complete node."""
        ...


class NodeStore(GrowingNodes, ReadableNodes, Protocol):
    """Complete nodes, kept for ever."""


class NodeMemory:
    """Nodes in this process, 32 bytes each. Put in order, as a growing tree does."""

    def __init__(self) -> None:
        self._levels: list[bytearray] = []

    def put(self, level: int, index: int, digest: bytes) -> None:
        if level == len(self._levels):
            self._levels.append(bytearray())
        if len(self._levels[level]) != index * HASH_BYTES:
            raise ValueError(f"node {index} of level {level} is out of order")
        self._levels[level] += digest

    def get(self, level: int, index: int) -> bytes:
        return bytes(self._levels[level][index * HASH_BYTES : (index + 1) * HASH_BYTES])


def leaf_hash(data: bytes) -> bytes:
    return hashlib.sha256(b"\0" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\1" + left + right).digest()


class TreeEdge:
    """The right edge of a growing tree: one complete subtree for every bit of the size, largest first.

    All that is needed to append, and to know the root: O(log n) memory.
    """

    __slots__ = ("_hashes", "size")

    def __init__(self, size: int = 0, hashes: Sequence[bytes] = ()) -> None:
        if size < 0 or size.bit_count() != len(hashes):
            raise ValueError(f"a tree of {size} leaves does not end in {len(hashes)} subtrees")
        self.size = size
        self._hashes = list(hashes)

    @property
    def hashes(self) -> tuple[bytes, ...]:
        return tuple(self._hashes)

    def append(self, data: bytes, nodes: GrowingNodes | None = None) -> None:
        digest = leaf_hash(data)
        index = self.size
        if nodes is not None:
            nodes.put(0, index, digest)
        level = 0
        hashes, sha256 = self._hashes, hashlib.sha256
        while index & 1:
            digest = sha256(b"\1" + hashes.pop() + digest).digest()
            index >>= 1
            level += 1
            if nodes is not None:
                nodes.put(level, index, digest)
        hashes.append(digest)
        self.size += 1

    def copy(self) -> "TreeEdge":
        return TreeEdge(self.size, self._hashes)

    def root(self) -> bytes:
        if not self._hashes:
            return EMPTY_ROOT
        digest = self._hashes[-1]
        for left in reversed(self._hashes[:-1]):
            digest = node_hash(left, digest)
        return digest


class Tree:
    """A tree that keeps its nodes, and so can prove."""

    def __init__(self, nodes: NodeStore, size: int = 0) -> None:
        self._nodes = nodes
        self._edge = edge_of(nodes, size)

    @property
    def size(self) -> int:
        return self._edge.size

    def append(self, data: bytes) -> None:
        self._edge.append(data, self._nodes)

    def root(self, size: int | None = None) -> bytes:
        """The root now, or when the tree had `size` leaves. Raises `NoSuchProof`."""
        if size is None or size == self.size:
            return self._edge.root()
        if not 0 <= size < self.size:
            raise NoSuchProof(f"the tree has {self.size} leaves, not {size}")
        return root_of(self._nodes, size)

    def inclusion(self, index: int, size: int | None = None) -> list[bytes]:
        """That leaf `index` (from 0) is in the tree of `size` leaves. Raises `NoSuchProof`."""
        size = self.size if size is None else size
        if not 0 <= index < size <= self.size:
            raise NoSuchProof(f"there is no leaf {index} in {size} of {self.size} leaves")
        return [_range(self._nodes, *span) for span in _inclusion_spans(index, size)]

    def consistency(self, first: int, second: int | None = None) -> list[bytes]:
        """That the tree of `second` leaves begins with that of `first`. Raises `NoSuchProof`."""
        second = self.size if second is None else second
        if not 0 < first <= second <= self.size:
            raise NoSuchProof(f"there is nothing to prove from {first} to {second} of {self.size} leaves")
        return [_range(self._nodes, *span) for span in _consistency_spans(first, second)]


def edge_of(nodes: ReadableNodes, size: int) -> TreeEdge:
    """The edge of a stored tree, to append to."""
    return TreeEdge(size, [nodes.get(level, index) for level, index in _subtrees(0, size)])


def root_of(nodes: ReadableNodes, size: int) -> bytes:
    return _range(nodes, 0, size) if size else EMPTY_ROOT


def prove_inclusion(nodes: ReadableNodes, index: int, size: int) -> list[bytes]:
    """That leaf `index` (from 0) is in the tree of `size` leaves. Raises `NoSuchProof`."""
    if not 0 <= index < size:
        raise NoSuchProof(f"there is no leaf {index} in {size} leaves")
    return [_range(nodes, *span) for span in _inclusion_spans(index, size)]


def prove_consistency(nodes: ReadableNodes, first: int, second: int) -> list[bytes]:
    """That the tree of `second` leaves begins with that of `first`. Raises `NoSuchProof`."""
    if not 0 < first <= second:
        raise NoSuchProof(f"there is nothing to prove from {first} to {second} leaves")
    return [_range(nodes, *span) for span in _consistency_spans(first, second)]


def _range(nodes: ReadableNodes, start: int, end: int) -> bytes:
    """The root over the leaves from `start` to `end`."""
    hashes = [nodes.get(level, index) for level, index in _subtrees(start, end)]
    digest = hashes.pop()
    while hashes:
        digest = node_hash(hashes.pop(), digest)
    return digest


def _subtrees(start: int, end: int) -> Iterator[tuple[int, int]]:
    """The complete nodes that cover a range which begins where the RFC's split begins it."""
    while start < end:
        level = (end - start).bit_length() - 1
        yield level, start >> level
        start += 1 << level


def _split(size: int) -> int:
    """The largest power of two below `size`."""
    return 1 << ((size - 1).bit_length() - 1)


def _inclusion_spans(index: int, size: int) -> list[tuple[int, int]]:
    """RFC 9162, section 2.1.3.1, from the leaf up."""
    spans = []
    start, end = 0, size
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            spans.append((middle, end))
            end = middle
        else:
            spans.append((start, middle))
            start = middle
    return spans[::-1]


def _consistency_spans(first: int, second: int) -> list[tuple[int, int]]:
    """RFC 9162, section 2.1.4.1."""
    spans = []
    start, end = 0, second
    is_whole = True
    while first != end:
        middle = start + _split(end - start)
        if first <= middle:
            spans.append((middle, end))
            end = middle
        else:
            spans.append((start, middle))
            start = middle
            is_whole = False
    if not is_whole:
        spans.append((start, end))
    return spans[::-1]


def verify_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    """Whether the proof leads from the leaf's hash to the root (RFC 9162, section 2.1.3.2)."""
    if not 0 <= index < size or not _are_hashes(leaf, root, *proof):
        return False
    fn, sn = index, size - 1
    digest = leaf
    for item in proof:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            digest = node_hash(item, digest)
            while not fn & 1 and fn:
                fn >>= 1
                sn >>= 1
        else:
            digest = node_hash(digest, item)
        fn >>= 1
        sn >>= 1
    return sn == 0 and digest == root


def verify_consistency(
    first: int, second: int, first_root: bytes, second_root: bytes, proof: Sequence[bytes]
) -> bool:
    """Whether the second tree begins with the first (RFC 9162, section 2.1.4.2)."""
    # Every tree begins with the empty one: from there nothing is proven.
    if not 0 < first <= second:
        return False
    if first == second:
        return not proof and first_root == second_root
    if not _are_hashes(first_root, second_root, *proof):
        return False
    path = list(proof)
    if first & (first - 1) == 0:
        path.insert(0, first_root)
    return _leads_to_both(path, first, second, first_root, second_root)


def _leads_to_both(path: list[bytes], first: int, second: int, first_root: bytes, second_root: bytes) -> bool:
    if not path:
        return False
    fn, sn = first - 1, second - 1
    while fn & 1:
        fn >>= 1
        sn >>= 1
    before = after = path[0]
    for item in path[1:]:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            before, after = node_hash(item, before), node_hash(item, after)
            while not fn & 1 and fn:
                fn >>= 1
                sn >>= 1
        else:
            after = node_hash(after, item)
        fn >>= 1
        sn >>= 1
    return sn == 0 and before == first_root and after == second_root


def _are_hashes(*values: bytes) -> bool:
    return all(len(value) == HASH_BYTES for value in values)
