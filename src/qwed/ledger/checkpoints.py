"""Checkpoints: the ledger's size and root, signed by the ledger and again by a witness.

Whoever holds the ledger's key could replace all of it. The witness, elsewhere and with a key of its own,
signs a tree only when it has been shown that it begins with the last one it signed.
"""

import enum
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from qwed.ect import base64url, signatures
from qwed.ect.jwk import PublicKey
from qwed.ect.jws import InvalidToken
from qwed.ect.keys import KeyRing
from qwed.ledger.entries import GENESIS
from qwed.ledger.merkle import EMPTY_ROOT, verify_consistency

CHECKPOINT_TYPE: Final = "qwed-checkpoint+jwt"
COSIGNATURE_TYPE: Final = "qwed-cosignature+jwt"


class Checkpoint(msgspec.Struct, frozen=True):
    """The tree over the first `size` entries; `head` is the hash of the last of them."""

    ledger: str
    size: int
    root: bytes
    head: bytes
    iat: int

    def is_same_tree(self, other: "Checkpoint") -> bool:
        return (self.ledger, self.size, self.root, self.head) == (
            other.ledger,
            other.size,
            other.root,
            other.head,
        )


def sign_checkpoint(ring: KeyRing, checkpoint: Checkpoint) -> str:
    return ring.sign(CHECKPOINT_TYPE, _claims(ring, checkpoint))


def read_checkpoint(token: str, keys: Mapping[str, PublicKey]) -> Checkpoint:
    """Raises `InvalidToken`."""
    return _checkpoint(signatures.verify_claims(token, CHECKPOINT_TYPE, keys))


def read_cosignature(token: str, witness_keys: Mapping[str, PublicKey], checkpoint: Checkpoint) -> int:
    """When the witness signed this tree. Raises `InvalidToken`, also for the signature of another tree."""
    signed = _checkpoint(signatures.verify_claims(token, COSIGNATURE_TYPE, witness_keys))
    if not signed.is_same_tree(checkpoint):
        raise InvalidToken("the witness signed another tree")
    return signed.iat


class WitnessRefusal(enum.StrEnum):
    INVALID = "invalid"
    OTHER_LEDGER = "other_ledger"
    ROLLED_BACK = "rolled_back"
    INCONSISTENT = "inconsistent"


class Cosigned(msgspec.Struct, frozen=True):
    """The cosignature, and the checkpoint that the witness has to remember from now on."""

    token: str
    checkpoint: Checkpoint


def cosign(
    witness: KeyRing,
    token: str,
    keys: Mapping[str, PublicKey],
    remembered: Checkpoint | None,
    proof: Sequence[bytes],
    now: int,
) -> Cosigned | WitnessRefusal:
    """Sign the tree of a checkpoint if it begins with the one remembered, as the proof has to show."""
    try:
        checkpoint = read_checkpoint(token, keys)
    except InvalidToken:
        return WitnessRefusal.INVALID
    if remembered is not None:
        problem = _departs(checkpoint, remembered, proof)
        if problem is not None:
            return problem
    claims = _claims(witness, msgspec.structs.replace(checkpoint, iat=now))
    return Cosigned(witness.sign(COSIGNATURE_TYPE, claims), checkpoint)


def _departs(checkpoint: Checkpoint, remembered: Checkpoint, proof: Sequence[bytes]) -> WitnessRefusal | None:
    if checkpoint.ledger != remembered.ledger:
        return WitnessRefusal.OTHER_LEDGER
    if checkpoint.size < remembered.size:
        return WitnessRefusal.ROLLED_BACK
    if remembered.size == 0:
        return None
    if checkpoint.size == remembered.size and checkpoint.head != remembered.head:
        return WitnessRefusal.INCONSISTENT
    if verify_consistency(remembered.size, checkpoint.size, remembered.root, checkpoint.root, proof):
        return None
    return WitnessRefusal.INCONSISTENT


def _claims(ring: KeyRing, checkpoint: Checkpoint) -> dict[str, Any]:
    return {
        "iss": ring.issuer,
        "ledger": checkpoint.ledger,
        "size": checkpoint.size,
        "root": base64url.encode(checkpoint.root),
        "head": base64url.encode(checkpoint.head),
        "iat": checkpoint.iat,
    }


def _checkpoint(claims: Mapping[str, Any]) -> Checkpoint:
    size = signatures.number(claims, "size")
    root, head = signatures.digest(claims, "root"), signatures.digest(claims, "head")
    if size == 0 and (root, head) != (EMPTY_ROOT, GENESIS):
        raise InvalidToken("an empty ledger has one root")
    return Checkpoint(signatures.text(claims, "ledger"), size, root, head, signatures.number(claims, "iat"))
