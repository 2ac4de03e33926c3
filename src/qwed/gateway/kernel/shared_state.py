"""What gateway processes share beside the store: counts of requests, and news of what happened."""

from collections.abc import Callable
from typing import Protocol

from qwed.domain.policy import RateLimit
from qwed.gateway.kernel.events import EventHub
from qwed.gateway.kernel.rate_limits import LocalLimiter, RateLimiter


class Commons(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def events(self) -> EventHub: ...

    def limiter(self, name: str, rate: RateLimit) -> RateLimiter: ...

    def outage(self) -> str | None:
        """Why nothing may be let through now; None while all is well."""
        ...

    def close(self) -> None: ...


class LocalCommons:
    """Of one process: there is nobody to share with, and nothing that could fail."""

    name = "local"

    def __init__(self, counter: Callable[[], float]) -> None:
        self._counter = counter
        self.events = EventHub()

    def limiter(self, name: str, rate: RateLimit) -> RateLimiter:
        return LocalLimiter(rate.limit, rate.window_seconds, self._counter)

    def outage(self) -> str | None:
        return None

    def close(self) -> None:
        """Nothing to let go of."""
