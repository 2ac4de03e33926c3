"""The `Store` port on PostgreSQL: any number of gateways on any number of machines."""

from qwed.domain.policy import Policy
from qwed.ect.keys import KeyRing
from qwed.gateway.kernel.ports import Clock
from qwed.stores.checking import check_at_start
from qwed.stores.postgres.clock import DatabaseClock
from qwed.stores.postgres.snapshot import snapshot
from qwed.stores.postgres.store import PostgresStore
from qwed.stores.postgres.turns import PostgresTurns


def open_postgres(url: str, policy: Policy, clock: Clock, ring: KeyRing) -> PostgresStore:
    """Bring the schema up to date and join in. Raises `DatabaseUnusable` or `BrokenChain`."""
    return check_at_start(PostgresStore(url, policy, clock, ring))


__all__ = ["DatabaseClock", "PostgresStore", "PostgresTurns", "open_postgres", "snapshot"]
