"""The `Store` port on PostgreSQL: any number of gateways on any number of machines."""

from qwed.domain.policy import Policy
from qwed.ect.keys import KeyRing
from qwed.gateway.kernel.ports import Clock
from qwed.ledger.record_keys import RecordKeys
from qwed.stores.postgres.clock import DatabaseClock
from qwed.stores.postgres.snapshot import snapshot
from qwed.stores.postgres.store import PostgresStore
from qwed.stores.postgres.turns import PostgresTurns
from qwed.stores.start_check import check_at_start


def open_postgres(
    url: str, policy: Policy, clock: Clock, ring: KeyRing, keys: RecordKeys | None = None
) -> PostgresStore:
    """Bring the schema up to date and join in. Without record keys of their own, records are sealed with one
    that follows from the signing key. Raises `DatabaseUnusable`, `KeyUnusable` or `BrokenChain`."""
    return check_at_start(PostgresStore(url, policy, clock, ring, keys))


__all__ = ["DatabaseClock", "PostgresStore", "PostgresTurns", "open_postgres", "snapshot"]
