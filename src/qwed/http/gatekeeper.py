"""Who is calling: authentication for every route, with limits on those who fail it."""

from typing import TYPE_CHECKING, Final

from starlette.requests import Request
from starlette.responses import Response

from qwed.domain.bounds import Proxies
from qwed.domain.codes import Code
from qwed.domain.credentials import Caller
from qwed.domain.secrets import mask_for_record
from qwed.gateway.agents.authenticate import PresentedCredentials, authenticate, caller_of_key
from qwed.gateway.kernel.answers import RequestError, refuse
from qwed.gateway.kernel.rate_limits import Limited
from qwed.gateway.kernel.services import Services
from qwed.http.logs import EventLog
from qwed.http.metrics import Metrics
from qwed.http.request_reader import address_of, presented
from qwed.http.security_log import SecurityLog
from qwed.http.sessions import CSRF_HEADER, Session, Sessions

if TYPE_CHECKING:
    from qwed.http.signin.passkeys import Passkeys
    from qwed.http.signin.people import People
    from qwed.http.signin.slack import SlackDoor


#: In a request's scope: somebody was recognised.
IS_KNOWN: Final = "qwed.is_known"


class Gatekeeper:
    """A wrong credential costs no write: it is counted by source address, in memory, and logged."""

    def __init__(
        self, services: Services, log: EventLog, metrics: Metrics, proxies: Proxies | None = None
    ) -> None:
        limits = services.policy.limits
        self._first = services
        self._log = log
        self._metrics = metrics
        self._proxies = proxies or Proxies()
        self.sessions = Sessions(services.signer.derive, services.clock, behind_proxy=self._proxies.is_used)
        #: Those who sign in with an identity provider, where there is one.
        self.people: People | None = None
        #: What approvals are signed with, where this gateway knows its own address.
        self.passkeys: Passkeys | None = None
        #: Who presses buttons in Slack, where its signing secret is known.
        self.slack: SlackDoor | None = None
        #: Where failures are kept for a while, where there is such a place.
        self.security_log: SecurityLog | None = None
        failed, each = limits.failed_auth, limits.requests_per_credential
        self._failures = services.commons.limiter("failures", failed)
        self._requests = None if each is None else services.commons.limiter("requests", each)

    @property
    def _services(self) -> Services:
        return self._first.newest

    async def caller(self, request: Request, credentials: PresentedCredentials | None = None) -> Caller:
        """Raises 401, or 429 for an address that keeps failing and for a credential past its rate."""
        caller = await self.recognised(request, credentials)
        if self._requests is not None:
            passed = await self._requests.hit(caller.name)
            if isinstance(passed, Limited):
                raise _refuse_limited(passed, "this credential sends too many requests")
        return caller

    async def recognised(self, request: Request, credentials: PresentedCredentials | None = None) -> Caller:
        """Whose they are, without counting a request."""
        caller = await (
            self.identified(request) if credentials is None else authenticate(self._services, credentials)
        )
        if caller is None:
            raise await self.failure(request)
        request.scope[IS_KNOWN] = True
        return caller

    async def identified(self, request: Request) -> Caller | None:
        """By the credentials in the headers; where there are none, by the session of a browser.

        Raises 403 for a change that does not come from a page of ours."""
        credentials = presented(request)
        if credentials.credentials:
            return await authenticate(self._services, credentials)
        signed_in = await self.signed_in(request)
        if signed_in is None:
            return None
        caller, session = signed_in
        if self.sessions.is_forged(request, session):
            message = f"a change made in a browser carries the {CSRF_HEADER} that GET /session answers"
            raise refuse(Code.AUTH_FORBIDDEN, message)
        return caller

    async def signed_in(self, request: Request) -> tuple[Caller, Session] | None:
        """Who is behind the browser's cookie, as long as neither they nor the session were ended."""
        session = self.sessions.of(request)
        if session is None or await self._services.store.is_session_ended(session.session_id):
            return None
        if session.key_hash is not None:
            caller = await caller_of_key(self._services, session.key_hash)
        else:
            caller = None if self.people is None else await self.people.caller(session)
        return None if caller is None else (caller, session)

    async def sign_out(self, request: Request, response: Response) -> None:
        """The cookie is taken back, and a copy of it is believed nowhere any more."""
        session = self.sessions.of(request)
        if session is not None:
            await self._services.store.end_session(session.session_id, session.expires_ms)
            self.sessions.take_back(request, response)

    async def sign_out_url(self, request: Request) -> str | None:
        """Where a person ends their session at the identity provider, too."""
        session = self.sessions.of(request)
        if session is None or session.key_hash is not None or self.people is None:
            return None
        return await self.people.sign_out_url(session)

    async def failure(self, request: Request) -> RequestError:
        """One failed authentication. Only invalid credentials are slowed, never a valid one beside them."""
        self._metrics.failed_authentication()
        address = address_of(request, self._proxies)
        passed = await self._failures.hit(address)
        if isinstance(passed, Limited):
            # Beyond the limit nothing is logged either: the log must not be the thing that is flooded.
            return _refuse_limited(passed, "too many failed authentications from this address")
        path = mask_for_record(request.url.path)[:200]
        self._log.write("warning", "failed_authentication", address=address, path=path)
        if self.security_log is not None:
            self.security_log.write(address, path)
        return refuse(Code.AUTH_MISSING, "send a valid API key or agent token")


def _refuse_limited(passed: Limited, message: str) -> RequestError:
    error = refuse(Code.RATE_LIMITED, message)
    error.retry_after = max(1, int(-(-passed.retry_after_seconds // 1)))
    return error
