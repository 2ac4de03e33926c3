"""Words that make a result an approximate one: "= about 22", "= 22 approximately", "= 22 (approx.)"."""

from typing import Final

from qwed.engines.math.lexicon import APPROXIMATE
from qwed.engines.math.statements import Span

_EQUAL: Final = ("=", "is")
_FILLERS: Final = frozenset({"(", ")", ".", ",", "≈"}) | APPROXIMATE


def approximated(tokens: list[str], spans: list[Span]) -> tuple[list[str], list[Span]]:
    """The same with ≈ for the relation that such a word belongs to, and without the word."""
    if APPROXIMATE.isdisjoint(tokens):
        return tokens, spans
    changed, places = list(tokens), list(spans)
    for at in range(len(changed) - 2, -1, -1):
        if changed[at] not in APPROXIMATE:
            continue
        if at and changed[at - 1] in _EQUAL:
            changed[at - 1] = "≈"
            del changed[at], places[at]
        elif _is_afterthought(changed, at):
            relation = _last_equal(changed, at)
            if relation is not None:
                changed[relation] = "≈"
                start = at - (changed[at - 1] == "(")
                del changed[start:-1], places[start:-1]
    return changed, places


def _is_afterthought(tokens: list[str], at: int) -> bool:
    """Nothing but brackets and a full stop follows."""
    return at > 0 and _FILLERS.issuperset(tokens[at:-1])


def _last_equal(tokens: list[str], before: int) -> int | None:
    return next((at for at in range(before - 1, -1, -1) if tokens[at] == "="), None)
