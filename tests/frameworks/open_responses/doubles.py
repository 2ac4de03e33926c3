"""Guards for the framework tests, and a tool that remembers its calls."""

from typing import Any

from qwed_open_responses import BaseGuard, GuardResult
from qwed_open_responses.guards import SafetyGuard, ToolGuard


class CrashingGuard(BaseGuard):
    name = "CrashingGuard"

    def check(self, response: Any, context: Any = None) -> GuardResult:
        raise RuntimeError("the guard itself is broken")


class Calls:
    """What a tool was called with, in order."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def pay(self, account: str, note: str) -> str:
        """Pay an account, with a note."""
        self.made.append(account)
        return f"paid {account}"


GUARDS = (ToolGuard(blocklist=["nothing"]), SafetyGuard())
GOOD = {"account": "A-1", "note": "for the flowers"}
BAD = {"account": "A-2", "note": "'; DROP TABLE accounts; --"}
