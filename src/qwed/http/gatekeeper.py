"""Who is calling: authentication for every route, with limits on those who fail it."""

from starlette.requests import Request

from qwed.domain.codes import Code
from qwed.domain.credentials import Caller
from qwed.gateway.answers import RequestError, refuse
from qwed.gateway.authenticate import Presented, authenticate
from qwed.gateway.rate_limits import Limited, LocalLimiter, RateLimiter
from qwed.gateway.services import Services
from qwed.http.logs import EventLog
from qwed.http.metrics import Metrics
from qwed.http.reading import address_of, presented


class Gatekeeper:
    """A wrong credential costs no write: it is counted by source address, in memory, and logged."""

    def __init__(
        self, services: Services, log: EventLog, metrics: Metrics, *, behind_proxy: bool = False
    ) -> None:
        limits = services.policy.limits
        self._services = services
        self._log = log
        self._metrics = metrics
        self._behind_proxy = behind_proxy
        failed, each = limits.failed_auth, limits.requests_per_credential
        counter = services.clock.counter
        self._failures: RateLimiter = LocalLimiter(failed.limit, failed.window_seconds, counter)
        self._requests: RateLimiter | None = (
            None if each is None else LocalLimiter(each.limit, each.window_seconds, counter)
        )

    async def caller(self, request: Request, credentials: Presented | None = None) -> Caller:
        """Raises 401, or 429 for an address that keeps failing and for a credential past its rate."""
        caller = await self.recognised(request, presented(request) if credentials is None else credentials)
        if self._requests is not None:
            passed = self._requests.hit(caller.name)
            if isinstance(passed, Limited):
                raise _limited(passed, "this credential sends too many requests")
        return caller

    async def recognised(self, request: Request, credentials: Presented) -> Caller:
        """Whose they are, without counting a request."""
        caller = await authenticate(self._services, credentials)
        if caller is None:
            raise self.failure(request)
        return caller

    def failure(self, request: Request) -> RequestError:
        """One failed authentication. Only invalid credentials are slowed, never a valid one beside them."""
        self._metrics.failed_authentication()
        address = address_of(request, behind_proxy=self._behind_proxy)
        passed = self._failures.hit(address)
        if isinstance(passed, Limited):
            # Beyond the limit nothing is logged either: the log must not be the thing that is flooded.
            return _limited(passed, "too many failed authentications from this address")
        self._log.write("warning", "failed_authentication", address=address, path=request.url.path[:200])
        return refuse(Code.AUTH_MISSING, "send a valid API key or agent token")


def _limited(passed: Limited, message: str) -> RequestError:
    error = refuse(Code.RATE_LIMITED, message)
    error.retry_after = max(1, int(-(-passed.retry_after_seconds // 1)))
    return error
