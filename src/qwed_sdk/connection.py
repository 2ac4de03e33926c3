"""Where the gateway is, who is asking, and how often to try again."""

import os
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from qwed_sdk.calls import TRANSIENT, Call

DEFAULT_BASE_URL: Final = "http://127.0.0.1:8000"


@dataclass(frozen=True)
class Connection:
    """`max_tries` counts the first one too. Tokens of registered agents are kept for their own requests."""

    base_url: str
    api_key: str | None
    timeout_seconds: float = 10.0
    max_tries: int = 3
    backoff_seconds: float = 0.2
    tokens: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Connection({self.base_url!r})"

    def headers(self, call: Call[Any], agent_token: str | None) -> dict[str, str]:
        """An agent's requests are signed with its token where there is one; the key is for the rest."""
        token = agent_token or (self.tokens.get(call.agent_id) if call.agent_id else None)
        credential = token or self.api_key
        signed = {"Authorization": f"Bearer {credential}"} if credential else {}
        kind = {} if call.body is None else {"Content-Type": "application/json"}
        return {"Accept": "application/json", **kind, **signed, **call.headers}

    def may_try_again(self, call: Call[Any], attempt: int, status: int | None) -> bool:
        """`status` is None where there was no answer at all."""
        return call.may_repeat and attempt < self.max_tries and (status is None or status in TRANSIENT)

    def pause_seconds(self, attempt: int, headers: Mapping[str, str] | None) -> float:
        """Exponential, with jitter, so that clients do not come back together; a server's wish is a floor."""
        pause = self.backoff_seconds * float(2 ** (attempt - 1)) * (0.5 + random.random())  # noqa: S311
        wished = (headers or {}).get("retry-after", "")
        return min(max(pause, float(wished) if wished.isdigit() else 0.0), 5.0)


def connect(
    base_url: str | None, api_key: str | None, *, timeout: float, max_tries: int, environ: Mapping[str, str]
) -> Connection:
    address = (base_url or environ.get("QWED_BASE_URL") or DEFAULT_BASE_URL).rstrip("/")
    if urlsplit(address).scheme not in ("http", "https") or not urlsplit(address).netloc:
        raise ValueError(f"base_url is an http or https address, not {address[:100]!r}")
    if timeout <= 0 or max_tries < 1:
        raise ValueError("timeout is above 0 and max_tries at least 1")
    return Connection(address, api_key or environ.get("QWED_API_KEY"), timeout, max_tries)


def environment() -> Mapping[str, str]:
    return os.environ
