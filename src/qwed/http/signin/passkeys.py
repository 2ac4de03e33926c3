"""Passkeys of people: how one is added, and how an approval is signed with it (WebAuthn).

Nothing is kept between a question and its answer but a sealed text in the browser, which is used once. The
passkeys themselves lie in the store, sealed under the deployment's secret: who writes to the store beside
the gateway can take one away, and can't add one.
"""

import hashlib
import secrets
import urllib.parse
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from typing import Any, Final

import msgspec
import webauthn
from webauthn.helpers import options_to_json_dict
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from qwed.domain.approvals import NEVER_MS, Approval
from qwed.domain.canonical import NotCanonical
from qwed.domain.codes import Code
from qwed.domain.credentials import Caller
from qwed.domain.passkeys import MAX_PASSKEYS, Passkey, PasskeyProof, SignedApproval, hash_shown
from qwed.domain.policy import Separate
from qwed.gateway.kernel.answers import malformed, refuse
from qwed.gateway.kernel.changes import noted
from qwed.gateway.kernel.records import Record
from qwed.gateway.kernel.requests import PasskeyAnswer
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import require_operator
from qwed.http.passkey_routes import NewPasskeyBody, ToSignBody
from qwed.http.sessions import LIFETIME_SECONDS, Sealer, Session
from qwed.ledger.passkeys import ADD, PasskeyRefused, check_assertion, decode_base64url

FLOW_SECONDS: Final = 300
#: Whoever finds a browser open adds no passkey of theirs to it.
FRESH_SECONDS: Final = 900
MAX_LABEL: Final = 60
MAX_CREDENTIAL: Final = 65_536
_ADDING: Final = "add a passkey"


class _Flow(msgspec.Struct, frozen=True):
    """What was asked of the browser. To add a passkey is signed like an approval, of nothing."""

    signed: SignedApproval
    expires_ms: int


class Passkeys:
    def __init__(self, services: Services, home: str) -> None:
        parts = urllib.parse.urlsplit(home)
        self._first = services
        self._site = parts.hostname or ""
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._flows = Sealer(services.signer.derive, b"qwed passkey flow 1")
        self._kept = Sealer(services.signer.derive, b"qwed passkeys 1")

    @property
    def _services(self) -> Services:
        return self._first.newest

    # --- which there are -----------------------------------------------------------------------

    async def of(self, owner: str) -> tuple[Passkey, ...]:
        place = _place(owner)
        body = await self._services.store.sign_in(place)
        opened = None if body is None else self._kept.open(body, place)
        return () if opened is None else msgspec.msgpack.decode(opened, type=tuple[Passkey, ...])

    async def _keep(self, owner: str, passkeys: Sequence[Passkey]) -> None:
        place = _place(owner)
        body = self._kept.seal(msgspec.msgpack.encode(tuple(passkeys)), place)
        await self._services.store.keep_sign_in(place, body, NEVER_MS)

    # --- adding one ----------------------------------------------------------------------------

    async def ask_to_add(self, caller: Caller, session: Session) -> dict[str, Any]:
        """What the browser needs to make a passkey; and, for whoever has one, to sign with it that it is
        them. Raises 403 for a session that is not fresh."""
        self._require_fresh(session)
        had = await self.of(caller.name)
        if len(had) >= MAX_PASSKEYS:
            raise refuse(Code.AUTH_FORBIDDEN, f"you have {MAX_PASSKEYS} passkeys, which is the most")
        signed = _nothing(caller.name)
        named = caller.person.name if caller.person is not None else caller.name
        options = webauthn.generate_registration_options(
            rp_id=self._site,
            rp_name="QWED",
            user_id=hashlib.sha256(caller.name.encode()).digest(),
            user_name=named,
            challenge=signed.challenge,
            authenticator_selection=AuthenticatorSelectionCriteria(
                resident_key=ResidentKeyRequirement.PREFERRED,
                user_verification=UserVerificationRequirement.REQUIRED,
            ),
            exclude_credentials=_describe(had),
        )
        told = {"flow": self._seal(signed), "publicKey": options_to_json_dict(options)}
        return {**told, "proof": self._make_question(_nothing(caller.name), had)} if had else told

    async def add(self, caller: Caller, session: Session, body: NewPasskeyBody) -> Passkey:
        self._require_fresh(session)
        if len(body.label) > MAX_LABEL:
            raise malformed("label", f"is longer than {MAX_LABEL} characters")
        had = await self.of(caller.name)
        if had:
            if body.proof is None:
                raise refuse(Code.APPROVAL_PASSKEY, "sign with a passkey that you have, to add another")
            await self._check(caller, body.proof)
        passkey = self._register(caller, await self._open(caller, body.flow), body)
        if any(one.credential_id == passkey.credential_id for one in had):
            raise refuse(Code.AUTH_FORBIDDEN, "this passkey was added already")
        facts = {"owner": caller.name, "label": passkey.label}
        kept = {name: getattr(passkey, name) for name in ("owner", "credential_id", "public_key")}
        await self._record(caller, ADD, facts, kept)
        async with self._services.turns.turn(("passkeys", caller.name)):
            await self._keep(caller.name, (*await self.of(caller.name), passkey))
        return passkey

    def _register(self, caller: Caller, signed: SignedApproval, body: NewPasskeyBody) -> Passkey:
        if len(msgspec.json.encode(body.credential)) > MAX_CREDENTIAL:
            raise malformed("credential", f"has more than {MAX_CREDENTIAL} bytes")
        try:
            found = webauthn.verify_registration_response(
                credential=body.credential,
                expected_challenge=signed.challenge,
                expected_rp_id=self._site,
                expected_origin=self._origin,
                require_user_verification=True,
            )
        # A foreign reader of hostile bytes: whatever it raises means no.
        except Exception as error:  # noqa: BLE001
            problem = f"this passkey can't be added ({type(error).__name__})"
            raise refuse(Code.AUTH_SIGN_IN, problem) from None
        return Passkey(
            caller.name,
            _text(found.credential_id),
            _text(found.credential_public_key),
            body.label or "passkey",
            self._services.clock.now_ms(),
            found.sign_count,
        )

    async def forget(self, caller: Caller, owner: str) -> int:
        """All that somebody has, for whoever lost theirs: an operator does that, and not for themselves."""
        require_operator(caller)
        if owner == caller.name and self._services.policy.approvals.separate is not Separate.OFF:
            raise refuse(
                Code.AUTH_FORBIDDEN, "another operator has to take your passkeys away (approvals.separate)"
            )
        async with self._services.turns.turn(("passkeys", owner)):
            had = await self.of(owner)
            if not had:
                raise refuse(Code.NOT_FOUND, "no person of that name has a passkey here")
            await self._record(caller, "remove_passkeys", {"owner": owner, "count": len(had)})
            await self._keep(owner, ())
        return len(had)

    # --- approving with one --------------------------------------------------------------------

    async def ask_to_sign(self, caller: Caller, approval: Approval, body: ToSignBody) -> dict[str, Any]:
        had = await self.of(caller.name)
        if not had:
            message = "you have no passkey here yet: add one under Manage, Passkeys"
            raise refuse(Code.APPROVAL_PASSKEY, message)
        try:
            shown_hash = hash_shown(approval.action if body.action is None else body.action)
        except NotCanonical as error:
            raise malformed("action", str(error)) from None
        signed = SignedApproval(
            approval.approval_id, approval.action_hash, shown_hash, caller.name, secrets.token_urlsafe(16)
        )
        return self._make_question(signed, had)

    async def prove(self, caller: Caller, answer: PasskeyAnswer) -> PasskeyProof:
        """What the caller signed, once. Raises 403."""
        return await self._check(caller, answer)

    async def _check(self, caller: Caller, answer: PasskeyAnswer) -> PasskeyProof:
        signed = await self._open(caller, answer.flow)
        async with self._services.turns.turn(("passkeys", caller.name)):
            had = await self.of(caller.name)
            used = next((one for one in had if one.credential_id == answer.credential.get("id")), None)
            if used is None:
                raise refuse(Code.APPROVAL_PASSKEY, "this passkey is not one of yours")
            proof = self._proof(signed, used, answer.credential.get("response"))
            try:
                count = check_assertion(proof, used.sign_count)
            except PasskeyRefused as error:
                raise refuse(Code.APPROVAL_PASSKEY, str(error)) from None
            counted = msgspec.structs.replace(used, sign_count=count)
            await self._keep(caller.name, [counted if one is used else one for one in had])
        return proof

    def _proof(self, signed: SignedApproval, used: Passkey, response: Any) -> PasskeyProof:
        names = ("clientDataJSON", "authenticatorData", "signature")
        given = response if isinstance(response, dict) else {}
        texts = [text for name in names if isinstance(text := given.get(name), str)]
        if len(texts) != len(names):
            raise malformed("passkey.credential", f"needs {', '.join(names)} as base64url")
        return PasskeyProof(signed, self._site, self._origin, used.credential_id, used.public_key, *texts)

    # --- between a question and its answer -----------------------------------------------------

    def _make_question(self, signed: SignedApproval, had: Sequence[Passkey]) -> dict[str, Any]:
        options = webauthn.generate_authentication_options(
            rp_id=self._site,
            challenge=signed.challenge,
            allow_credentials=_describe(had),
            user_verification=UserVerificationRequirement.REQUIRED,
        )
        return {"flow": self._seal(signed), "publicKey": options_to_json_dict(options)}

    def _seal(self, signed: SignedApproval) -> str:
        expires_ms = self._services.clock.now_ms() + FLOW_SECONDS * 1000
        return self._flows.seal_text(msgspec.msgpack.encode(_Flow(signed, expires_ms)))

    async def _open(self, caller: Caller, text: str) -> SignedApproval:
        """What was asked of this caller; each question is answered once."""
        opened = self._flows.open_text(text)
        flow = None if opened is None else msgspec.msgpack.decode(opened, type=_Flow)
        if flow is None or flow.signed.owner != caller.name:
            raise refuse(Code.APPROVAL_PASSKEY, "the gateway did not ask you this")
        if self._services.clock.now_ms() >= flow.expires_ms:
            raise refuse(Code.APPROVAL_PASSKEY, "that took too long: try again")
        used = hashlib.sha256(flow.signed.nonce.encode()).digest()[:16]
        store = self._services.store
        async with self._services.turns.turn(("passkey flow", used)):
            if await store.is_session_ended(used):
                raise refuse(Code.APPROVAL_PASSKEY, "this was answered already: try again")
            await store.end_session(used, flow.expires_ms)
        return flow.signed

    def _require_fresh(self, session: Session) -> None:
        opened_ms = session.expires_ms - LIFETIME_SECONDS * 1000
        if self._services.clock.now_ms() - opened_ms > FRESH_SECONDS * 1000:
            message = "sign out and in again: passkeys are added within 15 minutes of a sign-in"
            raise refuse(Code.AUTH_FORBIDDEN, message)

    async def _record(self, caller: Caller, what: str, details: dict[str, Any], passkey: Any = None) -> None:
        activity = noted(
            self._services, caller, what, details, principal_id=caller.principal_id, passkey=passkey
        )
        await self._services.store.commit(Record(activity))


def _nothing(owner: str) -> SignedApproval:
    return SignedApproval(_ADDING, "", "", owner, secrets.token_urlsafe(16))


def _describe(had: Sequence[Passkey]) -> list[PublicKeyCredentialDescriptor]:
    return [PublicKeyCredentialDescriptor(id=decode_base64url(one.credential_id)) for one in had]


def _place(owner: str) -> bytes:
    return hashlib.sha256(b"qwed passkeys of " + owner.encode()).digest()[:16]


def _text(value: bytes) -> str:
    return urlsafe_b64encode(value).rstrip(b"=").decode("ascii")
