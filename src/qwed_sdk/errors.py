"""What goes wrong between a client and its gateway.

QWEDError
├── GatewayUnavailable   down, slow, or answering nonsense: nothing was approved
├── RequestRefused       the gateway answered, with an error instead of a decision
│   └── RateLimited      asked too often, or refused too often: `retry_after` says how long
├── ActionDenied         the decision was no, or not yet (`conversations.py`)
└── ToolRefused          a tool did not run, for whatever reason (`tool_gate.py`)
"""

from collections.abc import Mapping
from typing import Any


class QWEDError(Exception):
    pass


class GatewayUnavailable(QWEDError):
    """No usable answer. Whatever was asked for is not approved."""


class RequestRefused(QWEDError):
    def __init__(self, status: int, error: Mapping[str, Any]) -> None:
        self.status = status
        self.code = str(error.get("code", ""))
        self.details = error.get("details")
        super().__init__(f"{error.get('message', 'refused')} ({self.code or status})")


class RateLimited(RequestRefused):
    """Too many requests, or too many that were refused: nothing was decided.

    `retry_after` is how many seconds to wait, where the gateway said so. A request that was refused too often
    may also be corrected: then it passes at once.
    """

    retry_after: float | None = None
