"""Bars and levels for a terminal: how much is used up, how far an agent is trusted."""

from decimal import Decimal
from typing import Any, Final

from rich.text import Text

LEVELS: Final = ("untrusted", "supervised", "autonomous", "trusted")
_LEVEL_STYLES: Final = ("red", "yellow", "cyan", "green")
_STATUS_STYLES: Final = {"active": "green", "suspended": "red", "deregistered": "dim"}
WIDTH: Final = 10
#: In a table, where more has to stand in one line.
NARROW: Final = 5


def gauge(used: Any, limit: Any, *, plain: bool = False, unit: str = "", width: int = WIDTH) -> Text:
    """`███░░░ 3 of 6`. Without a limit there is nothing to fill, and the number stands alone."""
    spent = Decimal(str(used))
    if limit is None:
        return Text(f"{spent:f}{unit} (unlimited)")
    whole = Decimal(str(limit))
    share = min(Decimal(1), spent / whole) if whole else Decimal(1)
    full, empty = ("#", ".") if plain else ("█", "░")
    # What is used at all shows, and what is not used up never looks as if it were.
    filled = min(width - (share < 1), max(int(share * width), int(share > 0)))
    bar = Text(full * filled, style=_share_style(share)) + Text(empty * (width - filled), style="dim")
    return bar + Text(f" {spent:f} of {whole:f}{unit}")


def _share_style(share: Decimal) -> str:
    if share >= Decimal("0.9"):
        return "red"
    return "yellow" if share >= Decimal("0.7") else "green"


def trust_gauge(level: int, *, plain: bool = False, short: bool = False) -> Text:
    full, empty = ("*", "-") if plain else ("●", "○")
    dots = Text(full * level + empty * (3 - level), style=_LEVEL_STYLES[level])
    return dots + Text(f" {level}" if short else f" {level} {LEVELS[level]}")


def status_text(status: str) -> Text:
    return Text(status, style=_STATUS_STYLES.get(status, ""))
