"""Where the gateway is, who is asking, and how often to try again."""

import os
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from qwed_sdk.calls import Call
from qwed_sdk.errors import GatewayUnavailable, QWEDError, RateLimited
from qwed_sdk.questions import KEY
from qwed_sdk.results import Json

DEFAULT_BASE_URL: Final = "http://127.0.0.1:8000"


@dataclass(frozen=True)
class GatewayConnection:
    """`max_tries` counts the first one too. Tokens of registered agents are kept for their own requests."""

    base_url: str
    api_key: str | None
    timeout_seconds: float = 10.0
    max_tries: int = 3
    backoff_seconds: float = 0.2
    tokens: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Connection({self.base_url!r})"

    def headers(self, call: Call[Json], agent_token: str | None) -> dict[str, str]:
        """An agent's requests are signed with its token where there is one; the key is for the rest."""
        token = agent_token or (self.tokens.get(call.agent_id) if call.agent_id else None)
        credential = token or self.api_key
        signed = {"Authorization": f"Bearer {credential}"} if credential else {}
        kind = {} if call.body is None else {"Content-Type": "application/json"}
        return {"Accept": "application/json", KEY: call.key, **kind, **signed, **call.headers}

    def seconds_for(self, call: Call[Json]) -> float:
        """How long one try may take."""
        return call.timeout_seconds or self.timeout_seconds


class Tries:
    """How often one call is sent, and until when: as long as all its tries together may take."""

    def __init__(self, connection: GatewayConnection, call: Call[Json]) -> None:
        self._connection = connection
        self._call = call
        self._made = 0
        self._deadline = time.monotonic() + connection.max_tries * connection.seconds_for(call)

    def pause_after(self, error: QWEDError) -> float | None:
        """How long to wait before the next try; None where there is none. Raises nothing."""
        self._made += 1
        if self._made >= self._connection.max_tries or not self._may_repeat(error):
            return None
        wished = getattr(error, "retry_after", None) or 0.0
        # Exponential, with jitter, so that clients do not come back together; a server's wish is a floor.
        backoff = min(self._connection.backoff_seconds * float(2 ** (self._made - 1)), 5.0)
        pause = max(backoff * (0.5 + random.random()), wished)  # noqa: S311
        return pause if time.monotonic() + pause < self._deadline else None

    def _may_repeat(self, error: QWEDError) -> bool:
        if isinstance(error, RateLimited):
            # Nothing was decided; without a word of when, it would only be asked too often once more.
            return error.retry_after is not None
        return isinstance(error, GatewayUnavailable) and error.may_pass and self._call.may_repeat


def connect(
    base_url: str | None, api_key: str | None, *, timeout: float, max_tries: int, environ: Mapping[str, str]
) -> GatewayConnection:
    address = (base_url or environ.get("QWED_BASE_URL") or DEFAULT_BASE_URL).rstrip("/")
    if urlsplit(address).scheme not in ("http", "https") or not urlsplit(address).netloc:
        raise ValueError(f"base_url is an http or https address, not {address[:100]!r}")
    if timeout <= 0 or max_tries < 1:
        raise ValueError("timeout is above 0 and max_tries at least 1")
    key = environ.get("QWED_API_KEY") or None if api_key is None else api_key
    if key is not None and not key.strip():
        raise ValueError("api_key is empty: give a key, or leave it out to take QWED_API_KEY")
    return GatewayConnection(address, key, timeout, max_tries)


def environment() -> Mapping[str, str]:
    return os.environ
