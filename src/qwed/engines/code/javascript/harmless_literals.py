"""What JavaScript's literals, operators and patterns come to."""

import re
from typing import Final

from qwed.engines.code.bounds import INFINITE, Bound


def unquote(spelled: str) -> str:
    """A literal's text; one with escapes is left as it is spelled, which is never shorter."""
    return spelled[1:-1] if "\\" not in spelled else spelled


def literal_number(spelled: str) -> float:
    plain = spelled.replace("_", "").lower().removesuffix("n")
    try:
        return float(int(plain, 0)) if plain[:2] in ("0x", "0o", "0b") else float(plain)
    except (ValueError, OverflowError):
        return INFINITE


def arithmetic(operator: str, left: Bound, right: Bound, *, plain: bool) -> Bound:
    if not plain or operator in ("/", "**"):
        return INFINITE
    if operator == "-":
        return left + right
    if operator == "%":
        return right
    return 0 if 0 in (left, right) else min(left, 1e200) * min(right, 1e200)


_QUANTIFIER: Final = re.compile(r"\*|\+|\{\d*,?\d*\}|\?(?![:!=<])")
_UNSAFE: Final = re.compile(r"\\[1-9k]|\(\?[!=<]|\)(?:[*+{])|\{\d{3,}|\{\d+,\d{3,}")
_CLASS: Final = re.compile(r"\[(?:\\.|[^\]\\])*\]|\\[^1-9k]")


def weigh_pattern(pattern: str) -> int | None:
    """How often a pattern can go over its text; none where it may need time without bound."""
    plain = _CLASS.sub("x", pattern)
    if _UNSAFE.search(plain):
        return None
    weight = len(_QUANTIFIER.findall(plain)) + plain.count("|")
    return weight if weight <= 4 else None
