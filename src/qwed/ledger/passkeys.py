"""Votes that were signed with passkeys, checked: when they are cast, and in the record ever after."""

import base64
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from qwed.domain.passkeys import MAX_ASSERTION_TEXT, PasskeyProof

ANSWER: Final = "answer_approval"
ADD: Final = "add_passkey"
#: The member of a record that holds the proof, or the passkey that was added.
MEMBER: Final = "passkey"


class PasskeyRefused(ValueError):
    """The assertion does not say what it should. The message says why."""


class PasskeyLibraryMissing(RuntimeError):
    """The extra that checks assertions is not installed."""


def check_assertion(proof: PasskeyProof, known_count: int = 0) -> int:
    """The authenticator's count of signatures. Raises `PasskeyRefused`, or `PasskeyLibraryMissing`.

    The person was present and verified (a fingerprint, a PIN), on this site's own page and in no frame of
    another, and signed exactly `proof.signed`. A count that does not rise means a copied authenticator."""
    check = _library()
    texts = (proof.client_data, proof.authenticator_data, proof.signature, proof.public_key)
    if any(len(text) > MAX_ASSERTION_TEXT for text in texts):
        raise PasskeyRefused("the assertion is too long")
    try:
        if msgspec.json.decode(decode_base64url(proof.client_data)).get("crossOrigin"):
            raise PasskeyRefused("it was signed within another site's page")
        found = check(
            credential=_credential(proof),
            expected_challenge=proof.signed.challenge,
            expected_rp_id=proof.site,
            expected_origin=proof.origin,
            credential_public_key=decode_base64url(proof.public_key),
            credential_current_sign_count=known_count,
            require_user_verification=True,
        )
    except PasskeyRefused:
        raise
    # A foreign reader of hostile bytes: whatever it raises means no.
    except Exception as error:  # noqa: BLE001
        raise PasskeyRefused(f"the passkey's signature does not hold ({type(error).__name__})") from None
    return int(found.new_sign_count)


def _library() -> Any:
    try:
        from webauthn import verify_authentication_response  # noqa: PLC0415 - an extra
    except ImportError:
        raise PasskeyLibraryMissing(
            "passkeys are checked with an extra: pip install 'qwed-gateway[passkeys]'"
        ) from None
    return verify_authentication_response


def _credential(proof: PasskeyProof) -> dict[str, Any]:
    return {
        "id": proof.credential_id,
        "rawId": proof.credential_id,
        "type": "public-key",
        "response": {
            "clientDataJSON": proof.client_data,
            "authenticatorData": proof.authenticator_data,
            "signature": proof.signature,
        },
    }


def decode_base64url(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


class _AddedPasskey(msgspec.Struct):
    owner: str
    credential_id: str
    public_key: str


class _Entry(msgspec.Struct):
    requested_by: str
    action: Mapping[str, Any]
    passkey: Any = None


class PasskeyAudit:
    """Every vote with a passkey in a ledger, as its entries come by in their order."""

    def __init__(self) -> None:
        self.checked = 0
        self._added: set[tuple[str, str, str]] = set()

    def find_problem(self, what: str, payload: bytes, *, is_whole: bool) -> str | None:
        """What is wrong with the entry. `is_whole` says that nothing before it was erased: then the passkey
        must have been added in an entry before."""
        if what not in (ANSWER, ADD) or b'"passkey"' not in payload:
            return None
        try:
            entry = msgspec.json.decode(payload, type=_Entry)
            if entry.passkey is None:
                return None
            if what == ADD:
                added = msgspec.convert(entry.passkey, _AddedPasskey)
                self._added.add((added.owner, added.credential_id, added.public_key))
                return None
            proof = msgspec.convert(entry.passkey, PasskeyProof)
        except msgspec.MsgspecError:
            return "what it keeps of a passkey can't be read"
        return self._problem(entry, proof, is_whole)

    def _problem(self, entry: _Entry, proof: PasskeyProof, is_whole: bool) -> str | None:
        voted = entry.action.get("parameters") or {}
        if voted.get("approval_id") != proof.signed.approval_id or voted.get("approves") is not True:
            return "its passkey signed another approval"
        if entry.requested_by != proof.signed.owner:
            return "its passkey belongs to somebody else"
        if is_whole and (proof.signed.owner, proof.credential_id, proof.public_key) not in self._added:
            return "its passkey was never added"
        try:
            check_assertion(proof)
        except PasskeyRefused as error:
            return str(error)
        self.checked += 1
        return None
