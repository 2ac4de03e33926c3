"""SQLite: one file, one owner process, one connection that writes.

Every change and every checkpoint goes through the writer's connection; readers have their own, which
cannot write. (SQLite before 3.51.3 can corrupt a WAL that one connection resets while another writes;
with a single writer that cannot happen.) `synchronous=FULL`: what is acknowledged survives power loss.
"""

from pathlib import Path

from qwed.domain.policy import Policy
from qwed.ect.keys import KeyRing
from qwed.gateway.kernel.ports import Clock
from qwed.stores.access import ThreadedAccess
from qwed.stores.errors import DatabaseUnusable
from qwed.stores.hot import HotStore
from qwed.stores.sqlite.file import find_damage, own_file, schema_files
from qwed.stores.sqlite.tables import SqliteTables
from qwed.stores.start_check import check_at_start


def open_sqlite(path: Path, policy: Policy, clock: Clock, ring: KeyRing) -> HotStore:
    """Open or create the store and own it until it is closed; `ring` signs every group of writes.

    After a crash SQLite looks at the whole file first; what takes longer goes on beside the gateway.
    Raises `DatabaseInUse`, `DatabaseUnusable`, or `BrokenChain` when the ledger's tail was tampered with.
    """
    tables = SqliteTables(path, ring, retention=policy.retention)
    access = ThreadedAccess(tables, max_waiting=policy.limits.write_queue)
    store = HotStore(access, policy, clock)
    if not tables.was_cut_off:
        return check_at_start(store)
    check_at_start(store, look=lambda: find_damage(path))
    if (damage := store.integrity.damage) is not None:
        store.close()
        raise DatabaseUnusable(damage)
    return store


__all__ = ["SqliteTables", "find_damage", "open_sqlite", "own_file", "schema_files"]
