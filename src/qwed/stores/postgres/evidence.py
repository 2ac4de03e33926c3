"""The `Evidence` port: the ledger and the graph of tokens, to be read."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from qwed.domain.agents import PrincipalId
from qwed.domain.nodes import activity_id_of
from qwed.gateway.kernel.ports import StoreUnavailable
from qwed.gateway.kernel.records import KnownNode, LedgerItem, Received, SignedCheckpoint
from qwed.ledger.entries import LedgerEntry
from qwed.ledger.merkle import prove_consistency, prove_inclusion, root_of
from qwed.stores.chain import make_decided_node, make_erased_node, make_received_node, parents_of
from qwed.stores.ledger_items import item_of
from qwed.stores.postgres.nodes import fetch_nodes, proven
from qwed.stores.postgres.rows import par_of
from qwed.stores.postgres.statements import SQL
from qwed.stores.postgres.texts import show_text_or_none

T = TypeVar("T")
Connection = Any


class EvidenceReader(Protocol):
    async def __call__(self, call: Callable[..., Coroutine[Any, Any, T]], *values: Any) -> T: ...


class PostgresEvidence:
    """`read` runs a question on a connection; `settle` waits until the ledger has what was recorded."""

    def __init__(self, read: EvidenceReader, settle: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._read = read
        self._settle = settle

    async def ledger(self) -> str:
        return str(await self._read(_value, "ledger_name"))

    async def size(self) -> int:
        await self._settle()
        return int(await self._read(_value, "ledger_size"))

    async def checkpoint(self, size: int | None = None) -> SignedCheckpoint | None:
        await self._settle()
        return await self._read(_checkpoint, size)

    async def entries(self, after: int, limit: int) -> list[LedgerEntry]:
        return await self._read(_entries, after, limit)

    async def owners(self, after: int, limit: int) -> list[PrincipalId | None]:
        return await self._read(_owners, after, limit)

    async def root(self, size: int) -> bytes:
        return await self._read(proven, lambda nodes: root_of(nodes, size))

    async def inclusion(self, seq: int, size: int) -> list[bytes]:
        return await self._read(proven, lambda nodes: prove_inclusion(nodes, seq - 1, size))

    async def consistency(self, first: int, second: int) -> list[bytes]:
        return await self._read(proven, lambda nodes: prove_consistency(nodes, first, second))

    async def tree_hashes(self, level: int, first: int, count: int) -> list[bytes]:
        return await self._read(_tree_hashes, level, first, count)

    async def position(self, subject: str) -> int | None:
        await self._settle()
        found: int | None = await self._read(_value, "position", subject)
        return found

    async def received(self, jti: str) -> Received | None:
        await self._settle()
        return await self._read(_find_received, jti)

    async def stretch(self, after: int, limit: int) -> list[LedgerItem]:
        await self._settle()
        return await self._read(_stretch, after, limit)

    async def lineage(self, jti: str, bound: int) -> list[LedgerItem]:
        await self._settle()
        return await self._read(_lineage, jti, bound)

    async def ancestry(self, jtis: Sequence[str], bound: int) -> list[KnownNode]:
        return await self._read(_ancestry, jtis, bound)


async def _value(connection: Connection, name: str, *values: object) -> Any:
    return await connection.fetchval(SQL[name], *values)


async def _checkpoint(connection: Connection, size: int | None) -> SignedCheckpoint | None:
    if size is None:
        row = await connection.fetchrow(SQL["last_checkpoint"])
    else:
        row = await connection.fetchrow(SQL["checkpoint"], size)
    if row is None:
        return None
    more = row["cosignatures"]
    cosignatures = msgspec.json.decode(more, type=tuple[str, ...]) if more else ()
    return SignedCheckpoint(row["size"], row["token"], cosignatures)


async def _entries(connection: Connection, after: int, limit: int) -> list[LedgerEntry]:
    return [LedgerEntry(*row) for row in await connection.fetch(SQL["entries"], after, limit)]


async def _owners(connection: Connection, after: int, limit: int) -> list[PrincipalId | None]:
    return [row[0] for row in await connection.fetch(SQL["owners"], after, limit)]


async def _tree_hashes(connection: Connection, level: int, first: int, count: int) -> list[bytes]:
    hashes = await fetch_nodes(connection, level, first, count)
    if len(hashes) != count:
        raise StoreUnavailable("the ledger's tree has a hole: run `qwed ledger verify`")
    return hashes


async def _find_received(connection: Connection, jti: str) -> Received | None:
    row = await connection.fetchrow(SQL["received"], jti)
    if row is None:
        return None
    seq, at_ms, digest, token, principal_id = row
    text = None if token is None else token.decode("ascii")
    return Received(jti, seq, at_ms, digest, text, principal_id)


async def _ancestry(connection: Connection, jtis: Sequence[str], bound: int) -> list[KnownNode]:
    found: dict[str, KnownNode | None] = {}
    waiting = list(dict.fromkeys(jtis))
    while waiting and len(found) <= bound:
        jti = waiting.pop()
        if jti not in found:
            found[jti] = node = await _find_known(connection, jti)
            waiting += node.node.par if node is not None else ()
    return [node for node in found.values() if node is not None]


async def _find_known(connection: Connection, jti: str) -> KnownNode | None:
    row = await connection.fetchrow(SQL["decided_node"], activity_id_of(jti))
    if row is not None:
        at_ms, par, wid = row
        return make_decided_node(jti, at_ms, par_of(par), wid)
    received = await connection.fetchrow(SQL["received_token"], jti)
    if received is None:
        return None
    return make_erased_node(jti) if received[0] is None else make_received_node(received[0].decode("ascii"))


async def _stretch(connection: Connection, after: int, limit: int) -> list[LedgerItem]:
    return [_item(row) for row in await connection.fetch(SQL["items_after"], after, limit)]


async def _lineage(connection: Connection, jti: str, bound: int) -> list[LedgerItem]:
    found: dict[str, LedgerItem | None] = {}
    waiting = [jti]
    while waiting and len(found) <= bound:
        name = waiting.pop()
        if name not in found:
            row = await connection.fetchrow(SQL["item_about"], name, activity_id_of(name))
            found[name] = item = None if row is None else _item(row)
            waiting += parents_of(item) if item is not None else ()
    return [item for item in found.values() if item is not None]


def _item(row: Any) -> LedgerItem:
    columns = list(row)
    # Texts that callers chose are stored escaped.
    columns[14] = show_text_or_none(columns[14])
    columns[17] = show_text_or_none(columns[17])
    return item_of(tuple(columns))
