"""A person is awaited: said in the log, and on the terminal where there is one, with the place to answer."""

import logging
import sys
from dataclasses import dataclass

from qwed_sdk.results import Decision

logger = logging.getLogger("qwed_sdk")


@dataclass(frozen=True)
class Somewhere:
    """Where people answer."""

    base_url: str

    def announce(self, what: str, decision: Decision, wait_seconds: float) -> None:
        """Nobody answers what nobody knows of."""
        how_long = f"waiting up to {wait_seconds:g} s" if wait_seconds > 0 else "not waiting"
        text = (
            f"QWED: a person is asked about {what[:100]!r}, {how_long}. Answer at"
            f" {self.base_url}/dashboard/inbox or with: qwed approvals approve {decision.approval_id}"
        )
        logger.warning("%s", text)
        # Without a handler, logging itself writes warnings to the terminal.
        if logger.hasHandlers() and sys.stderr is not None and sys.stderr.isatty():
            print(text, file=sys.stderr)
