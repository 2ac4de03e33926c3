"""A store's ledger followed from its first entry to its last, as an auditor would."""

from collections.abc import Sequence
from pathlib import Path

from qwed.ect.key_files import read_ring
from qwed.ect.keys import KeyRing, node_issuer
from qwed.ledger.audit import Tampering
from qwed.ledger.chain import BrokenChain, Head
from qwed.ledger.states import Waiting
from qwed.stores.sqlite.ledger import verify_ledger


def verified_head(database: Path, ring: KeyRing | None = None, waiting: Sequence[Waiting] = ()) -> Head:
    """Raises `BrokenChain`. Without a ring, the keys are those beside the store."""
    ring = ring or read_ring(database.with_name(f"{database.name}.key"), node_issuer("local"))
    found = verify_ledger(database, ring.known(), (), waiting)
    if isinstance(found, Tampering):
        raise BrokenChain(found.says)
    return found.audited.head
