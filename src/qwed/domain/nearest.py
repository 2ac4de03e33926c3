"""The name that somebody probably meant."""

import difflib
from collections.abc import Iterable


def nearest_name(name: str, names: Iterable[str], cutoff: float = 0.6) -> str | None:
    by_lower = {each.lower(): each for each in names}
    near = difflib.get_close_matches(name[:80].lower(), by_lower, 1, cutoff)
    return by_lower[near[0]] if near else None


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """The nearest name there is, or all of them where they are few."""
    names = list(names)
    near = nearest_name(name, names)
    return f"did you mean {near}?" if near else f"expected one of {', '.join(names)}"
