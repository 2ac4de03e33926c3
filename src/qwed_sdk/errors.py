"""What goes wrong between a client and its gateway.

QWEDError
├── GatewayUnavailable   down, slow, or answering nonsense: nothing was approved
├── RequestRefused       the gateway answered, with an error instead of a decision
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
