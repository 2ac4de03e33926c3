"""People who signed in: how a sign-in begins and ends, and what somebody may do at each request."""

import hashlib
import hmac
import secrets
import urllib.parse
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from qwed.domain.agents import PrincipalId
from qwed.domain.codes import Code
from qwed.domain.credentials import Caller, Person
from qwed.domain.json_types import Json
from qwed.gateway.kernel.answers import refuse
from qwed.gateway.kernel.changes import noted
from qwed.gateway.kernel.records import Record
from qwed.gateway.kernel.services import Services
from qwed.http.sessions import Sealer, Session, Sessions
from qwed.http.signin.provider import Provider, ProviderTokens
from qwed.http.signin.refused import ProviderUnavailable, SignInProblem, SignInRefused

FLOW_SECONDS: Final = 600
MAX_NAME: Final = 200
MAX_GROUP: Final = 256
MAX_TOLD_GROUPS: Final = 2_000


class SignInFlow(msgspec.Struct, frozen=True):
    """A sign-in that was begun in this browser, kept in its cookie until the provider sends it back."""

    flow_id: bytes
    state: str
    nonce: str
    verifier: str
    to: str
    expires_ms: int


class SignedIn(msgspec.Struct, frozen=True):
    """What a person's session stands on, and when the provider last said so."""

    person: Person
    groups: tuple[str, ...]
    id_token: str
    refresh_token: str | None
    checked_ms: int
    #: Where the provider can't be asked again: when its word is too old.
    until_ms: int


class People:
    def __init__(self, services: Services, provider: Provider, sessions: Sessions) -> None:
        self._first = services
        self._provider = provider
        self._sessions = sessions
        self._flows = Sealer(services.signer.derive, b"qwed sign-in flow 1")
        self._kept = Sealer(services.signer.derive, b"qwed sign-in 1")

    @property
    def _services(self) -> Services:
        return self._first.newest

    async def begin(self, to: str) -> tuple[str, str]:
        """Where the browser goes, and what it keeps meanwhile. Raises `ProviderUnavailable`."""
        flow = SignInFlow(
            secrets.token_bytes(16),
            secrets.token_urlsafe(32),
            secrets.token_urlsafe(32),
            secrets.token_urlsafe(48),
            to,
            self._services.clock.now_ms() + FLOW_SECONDS * 1000,
        )
        digest = hashlib.sha256(flow.verifier.encode()).digest()
        challenge = urlsafe_b64encode(digest).rstrip(b"=").decode()
        url = await self._provider.authorization_url(state=flow.state, nonce=flow.nonce, challenge=challenge)
        return url, self._flows.seal_text(msgspec.msgpack.encode(flow))

    async def complete(self, cookie: str | None, query: Mapping[str, str]) -> tuple[Caller, Session, str]:
        """Who came back, their session, and where they wanted to go. Raises `SignInRefused`."""
        flow = self._flow(cookie, query.get("state", ""))
        await self._use_up(flow)
        await self._check_answer(query)
        code = query.get("code", "")
        if not 1 <= len(code) <= 4096:
            raise SignInRefused(SignInProblem.PROVIDER, "the identity provider sent no code")
        tokens = await self._provider.exchange(code, flow.verifier)
        signed_in = await self._sign_in(tokens, flow.nonce, None)
        caller = self._caller(signed_in)
        if isinstance(caller, str):
            raise SignInRefused(SignInProblem.GROUPS, caller)
        session = self._sessions.opened(None)
        await self._keep(session, signed_in)
        await self._record(caller, signed_in.person)
        return caller, session, flow.to

    async def caller(self, session: Session) -> Caller | None:
        """Who this session is and what they may do now; None once the provider or the policy says no."""
        signed_in = await self._find_stored(session)
        if signed_in is None:
            return None
        if self._is_due(signed_in):
            signed_in = await self._check_again(session)
        caller = None if signed_in is None else self._caller(signed_in)
        return caller if isinstance(caller, Caller) else None

    async def sign_out_url(self, session: Session) -> str | None:
        """Where to end the session at the provider too; None where that can't be said."""
        signed_in = await self._find_stored(session)
        try:
            return None if signed_in is None else await self._provider.sign_out_url(signed_in.id_token)
        except (ProviderUnavailable, SignInRefused):
            return None

    def _flow(self, cookie: str | None, state: str) -> SignInFlow:
        opened = None if cookie is None else self._flows.open_text(cookie)
        flow = None if opened is None else msgspec.msgpack.decode(opened, type=SignInFlow)
        if flow is None or not hmac.compare_digest(flow.state.encode(), state.encode()):
            raise SignInRefused(SignInProblem.STATE, "this browser did not start this sign-in")
        if self._services.clock.now_ms() >= flow.expires_ms:
            raise SignInRefused(SignInProblem.STATE, "the sign-in took too long: start again")
        return flow

    async def _use_up(self, flow: SignInFlow) -> None:
        """A sign-in ends once: a copy of its address and its cookie is worth nothing."""
        store = self._services.store
        async with self._services.turns.turn(("sign-in", flow.flow_id)):
            if await store.is_session_ended(flow.flow_id):
                raise SignInRefused(SignInProblem.STATE, "this sign-in was completed already")
            await store.end_session(flow.flow_id, flow.expires_ms)

    async def _check_answer(self, query: Mapping[str, str]) -> None:
        """That this provider sent it (RFC 9207), and no error."""
        found = await self._provider.discover()
        issuer = query.get("iss")
        is_missing = issuer is None and found.authorization_response_iss_parameter_supported
        if is_missing or issuer not in (None, found.issuer):
            raise SignInRefused(SignInProblem.STATE, "the answer is from another identity provider")
        if "error" in query:
            raise SignInRefused(SignInProblem.PROVIDER, "the identity provider refused the sign-in")

    async def _sign_in(self, tokens: ProviderTokens, nonce: str | None, before: SignedIn | None) -> SignedIn:
        """What the tokens say. A refresh may bring no ID token; then the provider is asked who it is."""
        services, provider = self._services, self._provider
        subject = None if before is None else before.person.subject
        claims: Mapping[str, Json] = {}
        if tokens.id_token is not None:
            claims = await provider.check(tokens.id_token, nonce, subject)
        elif subject is None:
            raise SignInRefused(SignInProblem.TOKEN, "the identity provider sent no ID token")
        subject = subject or claims["sub"]
        named, now_ms = services.policy.people.groups_claim, services.clock.now_ms()
        if named not in claims:
            # Claims of the ID token count first: that one is signed.
            claims = {**await provider.user_info(tokens.access_token, subject), **claims}
        name = before.person.name if before is not None else _name(claims, subject)
        id_token = tokens.id_token or (before.id_token if before is not None else "")
        ends = claims.get("exp")
        return SignedIn(
            Person(provider.registration.issuer, subject, name, _how(claims, before)),
            _groups(claims.get(named)),
            id_token,
            tokens.refresh_token or (before.refresh_token if before is not None else None),
            now_ms,
            int(ends) * 1000 if isinstance(ends, int | float) else now_ms,
        )

    def _caller(self, signed_in: SignedIn) -> Caller | str:
        rights = self._services.policy.people.rights_of(signed_in.groups)
        if isinstance(rights, str):
            return rights
        principal = None if rights.principal is None else PrincipalId(rights.principal)
        return Caller(
            principal_id=principal,
            person=signed_in.person,
            group_roles=rights.roles,
            group_scopes=rights.scopes,
        )

    def _is_due(self, signed_in: SignedIn) -> bool:
        age_ms = self._services.clock.now_ms() - signed_in.checked_ms
        return age_ms >= self._services.policy.people.recheck_seconds * 1000

    async def _check_again(self, session: Session) -> SignedIn | None:
        """The provider's word of now. A refresh token may work once only, so one request at a time asks.

        Raises 503 where the provider does not answer: nobody acts on what it said long ago."""
        services = self._services
        async with services.turns.turn(("signed in", session.session_id)):
            before = await self._find_stored(session)
            if before is None or not self._is_due(before):
                return before
            if before.refresh_token is None:
                if services.clock.now_ms() < before.until_ms:
                    return before
                await services.store.end_session(session.session_id, session.expires_ms)
                return None
            try:
                tokens = await self._provider.refresh(before.refresh_token)
                after = await self._sign_in(tokens, None, before)
            except SignInRefused:
                await services.store.end_session(session.session_id, session.expires_ms)
                return None
            except ProviderUnavailable as error:
                message = f"the identity provider can't be asked whether you may still act: {error}"
                raise refuse(Code.AUTH_PROVIDER, message) from None
            await self._keep(session, after)
            return after

    async def _keep(self, session: Session, signed_in: SignedIn) -> None:
        body = self._kept.seal(msgspec.msgpack.encode(signed_in), session.session_id)
        await self._services.store.keep_sign_in(session.session_id, body, session.expires_ms)

    async def _find_stored(self, session: Session) -> SignedIn | None:
        body = await self._services.store.sign_in(session.session_id)
        opened = None if body is None else self._kept.open(body, session.session_id)
        if opened is None:
            return None
        signed_in = msgspec.msgpack.decode(opened, type=SignedIn)
        # Another provider since: what the old one said counts no more.
        return signed_in if signed_in.person.issuer == self._provider.registration.issuer else None

    async def _record(self, caller: Caller, person: Person) -> None:
        details = {"person": person.to_wire(), "roles": caller.roles, "scopes": caller.scopes}
        activity = noted(self._services, caller, "sign_in", details, principal_id=caller.principal_id)
        await self._services.store.commit(Record(activity))


def read_target(text: str | None) -> str:
    """Where to go afterwards: a page of the dashboard, and nowhere else."""
    if text is None or len(text) > 500 or not text.startswith("/dashboard"):
        return "/dashboard"
    parts = urllib.parse.urlsplit(text)
    is_ours = not parts.scheme and not parts.netloc and "\\" not in text and text.isprintable()
    return text if is_ours and parts.path.split("/")[1] == "dashboard" else "/dashboard"


def _name(claims: Mapping[str, Json], subject: str) -> str:
    for claim in ("name", "preferred_username", "email"):
        value = claims.get(claim)
        if isinstance(value, str) and value.strip():
            return value.strip()[:MAX_NAME]
    return subject[:MAX_NAME]


def _how(claims: Mapping[str, Json], before: SignedIn | None) -> str:
    """`oidc`, with what the provider says it checked (RFC 8176), such as `oidc (mfa, pwd)`."""
    methods = claims.get("amr")
    if isinstance(methods, list) and methods and all(isinstance(each, str) for each in methods):
        return f"oidc ({', '.join(sorted(methods)[:8])})"[:MAX_NAME]
    return "oidc" if before is None else before.person.how


def _groups(claim: Any) -> tuple[str, ...]:
    if isinstance(claim, str):
        claim = [claim]
    if not isinstance(claim, list):
        return ()
    return tuple(
        group for group in claim[:MAX_TOLD_GROUPS] if isinstance(group, str) and len(group) <= MAX_GROUP
    )
