"""Approvals that a person signs with a passkey: what is signed, and what is kept of it."""

import hashlib
from typing import Any, Final

import msgspec

from qwed.domain.canonical import encode, encode_exact, sha256_hex

MAX_PASSKEYS: Final = 10
#: The longest text of an assertion: client data and authenticator data have a few hundred bytes.
MAX_ASSERTION_TEXT: Final = 8_192
_APPROVE: Final = "approve with a passkey 1"


class Passkey(msgspec.Struct, frozen=True):
    """Whose it is, and its public half (COSE). Both texts are base64url."""

    owner: str
    credential_id: str
    public_key: str
    label: str
    created_ms: int
    sign_count: int = 0


class SignedApproval(msgspec.Struct, frozen=True):
    """What a person's passkey signs: this action, as it stood on the screen, for this approval.

    `action_hash` is the exact action that waits, `shown_hash` what the person looked at: secrets masked, or
    edited by that person. `nonce` is used once."""

    approval_id: str
    action_hash: str
    shown_hash: str
    owner: str
    nonce: str

    @property
    def challenge(self) -> bytes:
        return hashlib.sha256(encode({"qwed": _APPROVE, **msgspec.structs.asdict(self)})).digest()


class PasskeyProof(msgspec.Struct, frozen=True):
    """An assertion with all that it takes to check it again, years later, elsewhere. Bytes as base64url."""

    signed: SignedApproval
    site: str
    origin: str
    credential_id: str
    public_key: str
    client_data: str
    authenticator_data: str
    signature: str


def hash_shown(action: Any) -> str:
    """Of an action as a person sees it. Raises `NotCanonical`."""
    return sha256_hex(encode_exact(action))
