"""The tree's nodes in the database, for proofs that are worked out here: what they lack is fetched."""

from collections.abc import Callable
from typing import Any, TypeVar

from qwed.ledger.merkle import leaf_hash
from qwed.stores.chain import TiledNodes
from qwed.stores.postgres.statements import SQL

T = TypeVar("T")
Connection = Any
Place = tuple[int, int, int]


class _Lacking(Exception):
    def __init__(self, place: Place) -> None:
        self.place = place


async def proven(connection: Connection, work: Callable[[TiledNodes], T]) -> T:
    """`work` on the stored nodes. It is begun again for each tile that it turns out to need."""
    known: dict[Place, list[bytes]] = {}

    def read(level: int, first: int, count: int) -> list[bytes]:
        place = (level, first, count)
        if place not in known:
            raise _Lacking(place)
        return known[place]

    while True:
        try:
            return work(TiledNodes(read))
        except _Lacking as lacking:
            known[lacking.place] = await fetch_nodes(connection, *lacking.place)


async def fetch_nodes(connection: Connection, level: int, first: int, count: int) -> list[bytes]:
    """Up to that many neighbours of a level that is kept; level 0 are the leaves."""
    if level:
        return [row[0] for row in await connection.fetch(SQL["tiles"], level, first, first + count)]
    return [leaf_hash(row[0]) for row in await connection.fetch(SQL["leaves"], first, first + count)]
