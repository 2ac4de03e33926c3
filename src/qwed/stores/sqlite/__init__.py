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
from qwed.stores.checking import check_at_start
from qwed.stores.hot import HotStore
from qwed.stores.sqlite.file import own_file, schema_files
from qwed.stores.sqlite.tables import SqliteTables


def open_sqlite(path: Path, policy: Policy, clock: Clock, ring: KeyRing) -> HotStore:
    """Open or create the store and own it until it is closed; `ring` signs every group of writes.

    Raises `DatabaseInUse`, `DatabaseUnusable`, or `BrokenChain` when the ledger's tail was tampered with.
    """
    tables = SqliteTables(path, ring, retention=policy.retention)
    access = ThreadedAccess(tables, max_waiting=policy.limits.write_queue)
    return check_at_start(HotStore(access, policy, clock))


__all__ = ["SqliteTables", "open_sqlite", "own_file", "schema_files"]
