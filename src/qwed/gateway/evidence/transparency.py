"""The ledger as others' tools read it: a signed note about the newest tree, and the tree in tiles.

Nothing of it says whose an entry is or what it is about: hashes, and how many there are.
"""

from qwed.domain.codes import Code
from qwed.domain.credentials import Caller, Scope
from qwed.ect.jws import InvalidToken
from qwed.ect.keys import KeyRing
from qwed.gateway.kernel.answers import RequestError, refuse
from qwed.gateway.kernel.ports import StoreUnavailable
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import require_own_or_scope
from qwed.ledger.checkpoints import Checkpoint, read_checkpoint
from qwed.ledger.notes import LINE_START, NoteSigner
from qwed.ledger.tlog import (
    TILE_HEIGHT,
    LogCheckpoint,
    bundle_entries,
    read_tile_place,
    sign_log_checkpoint,
)


def require_log_reader(services: Services, caller: Caller | None) -> None:
    """Anybody, where the log is public; else whoever may read."""
    if caller is not None:
        require_own_or_scope(caller, Scope.READ)
    elif not services.public_log:
        raise refuse(Code.AUTH_MISSING, "this log is not public: send a key with the scope 'read'")


def log_signer(services: Services, ledger: str) -> NoteSigner:
    """The ledger's own Ed25519 key, under the ledger's name."""
    if not isinstance(services.signer, KeyRing):
        raise refuse(Code.NOT_FOUND, "this gateway publishes no keys")
    return NoteSigner(ledger, services.signer.log_seed())


async def show_log_checkpoint(services: Services, caller: Caller | None) -> tuple[str, str]:
    """The newest tree as a signed note, with what witnesses signed of it; and in the ledger's own format."""
    require_log_reader(services, caller)
    evidence = services.store.evidence
    signer = log_signer(services, await evidence.ledger())
    signed = await evidence.checkpoint()
    if signed is None:
        raise refuse(Code.NOT_FOUND, "the ledger is empty: nothing was signed yet")
    lines = tuple(line for line in signed.cosignatures if line.startswith(LINE_START))
    checkpoint = log_checkpoint(own_checkpoint(services, signed.token))
    return sign_log_checkpoint(signer, checkpoint, lines), signed.token


async def show_log_key(services: Services, caller: Caller | None) -> str:
    """What a witness or a monitor is told of this log."""
    require_log_reader(services, caller)
    return f"{log_signer(services, await services.store.evidence.ledger()).key.vkey}\n"


def own_checkpoint(services: Services, token: str) -> Checkpoint:
    """What this ledger signed itself: a row that somebody else wrote is not signed a second time."""
    try:
        if not isinstance(services.signer, KeyRing):
            raise InvalidToken("this gateway publishes no keys")
        return read_checkpoint(token, services.signer.known())
    except InvalidToken:
        raise StoreUnavailable("the newest checkpoint is not ours: run `qwed ledger verify`") from None


def log_checkpoint(checkpoint: Checkpoint) -> LogCheckpoint:
    return LogCheckpoint(checkpoint.ledger, checkpoint.size, checkpoint.root)


async def read_tile(services: Services, caller: Caller | None, path: str) -> bytes:
    """Hashes of the tree, or the entries' own; what no signature covers yet is not there."""
    require_log_reader(services, caller)
    place, evidence = read_tile_place(path), services.store.evidence
    if place is None:
        raise _no_tile()
    signed = await evidence.checkpoint()
    if signed is None or place.leaves > own_checkpoint(services, signed.token).size:
        raise _no_tile()
    if place.level is None:
        return bundle_entries([entry.hash for entry in await evidence.entries(place.first, place.width)])
    level = place.level * TILE_HEIGHT
    return b"".join(await evidence.tree_hashes(level, place.first, place.width))


def _no_tile() -> RequestError:
    return refuse(Code.NOT_FOUND, "there is no such tile; see GET /ledger/log/checkpoint for the size")
