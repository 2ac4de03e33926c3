"""The eight ways a state is refused, and how a refusal travels inside the guard."""

import enum
from typing import Final

MAX_QUOTED: Final = 80


class StateCode(enum.StrEnum):
    NOT_A_STRING = "QWED-AGENT-STATE-101"
    NOT_JSON = "QWED-AGENT-STATE-102"
    NOT_THE_SCHEMA = "QWED-AGENT-STATE-103"
    NO_RULES = "QWED-AGENT-STATE-104"
    CURRENT_STATE = "QWED-AGENT-STATE-105"
    TRANSITION = "QWED-AGENT-STATE-106"
    COMMIT_TARGET = "QWED-AGENT-STATE-107"
    COMMIT_WRITE = "QWED-AGENT-STATE-108"


class StateRefused(Exception):
    """Never leaves the package: `AgentStateGuard` turns it into a BLOCKED result."""

    def __init__(self, code: StateCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def quote(text: str) -> str:
    """Foreign text for a message: printable ASCII, and short."""
    return ascii(text if len(text) <= MAX_QUOTED else text[:MAX_QUOTED] + "…")
