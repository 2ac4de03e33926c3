"""A permit is used once: who keeps the list of those that were."""

import importlib
import threading
from typing import Final, Protocol

from qwed.domain.codes import Code
from qwed_sdk.client import QWEDClient
from qwed_sdk.errors import QWEDError, RequestRefused
from qwed_sdk.extras import extra_needed
from qwed_sdk.permits import calls
from qwed_sdk.permits.errors import PermitRefused, code_said
from qwed_sdk.permits.tokens import VerifiedPermit

#: More than this many unexpired permits are not remembered by one process: then nothing is permitted.
MAX_REMEMBERED: Final = 1_000_000
USED: Final = "the permit was used already"


class ReplayList(Protocol):
    """`use` raises `PermitRefused` unless this is the first use. One winner, whoever asks at once."""

    name: str

    def use(self, permit: VerifiedPermit, now: float, leeway: float) -> None: ...


class GatewayList:
    """The gateway that issued it: also right between many tools and processes."""

    name = "gateway"

    def __init__(self, client: QWEDClient) -> None:
        self._client = client

    def use(self, permit: VerifiedPermit, now: float, leeway: float) -> None:
        try:
            self._client.send(calls.use_permit(permit.jti, permit.audience, permit.action_hash))
        except RequestRefused as error:
            raise PermitRefused(code_said(error), f"the gateway refused its use: {error}") from error
        except QWEDError as error:
            raise PermitRefused(
                Code.PERMIT_UNVERIFIABLE, f"the gateway could not be asked whether it was used: {error}"
            ) from error


class MemoryList:
    """One process, and only as long as it runs."""

    name = "memory"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._used: dict[str, float] = {}

    def use(self, permit: VerifiedPermit, now: float, leeway: float) -> None:
        with self._lock:
            if permit.jti in self._used:
                raise PermitRefused(Code.PERMIT_USED, USED)
            if len(self._used) >= MAX_REMEMBERED:
                self._used = {jti: end for jti, end in self._used.items() if end > now}
            if len(self._used) >= MAX_REMEMBERED:
                raise PermitRefused(Code.PERMIT_UNVERIFIABLE, "too many permits are in use to remember them")
            self._used[permit.jti] = permit.expires_at + 2 * leeway


class RedisList:
    """Redis, or what speaks like it: shared by the processes that name it."""

    name = "redis"

    def __init__(self, url: str) -> None:
        try:
            redis = importlib.import_module("redis")
        except ModuleNotFoundError as missing:
            raise extra_needed(__name__, "redis", missing) from None
        self._error: type[Exception] = redis.RedisError
        self._redis = redis.Redis.from_url(url, socket_timeout=5.0, socket_connect_timeout=5.0)

    def use(self, permit: VerifiedPermit, now: float, leeway: float) -> None:
        seconds = max(1, int(permit.expires_at + 2 * leeway - now) + 1)
        try:
            is_first = self._redis.set(f"qwed:permit:{permit.issuer}:{permit.jti}", 1, nx=True, ex=seconds)
        except (self._error, OSError) as error:
            raise PermitRefused(
                Code.PERMIT_UNVERIFIABLE, f"Redis could not be asked whether it was used: {error}"
            ) from error
        if not is_first:
            raise PermitRefused(Code.PERMIT_USED, USED)
