"""The value of an amount, whatever separates its digits, as the shortest way to write it."""

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Final

from qwed.domain.lazy_pattern import lazy_pattern

_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZkm"
_APART = lazy_pattern(r"[ '’_]")
_DOTTED = lazy_pattern(r"\d{1,3}(\.\d{3})+,\d+|\d{1,3}(\.\d{3}){2,}")
_WITH_COMMAS = lazy_pattern(r"\d{1,3}(,\d{2,3})*,\d{3}(\.\d+)?")
_THOUSANDS = lazy_pattern(r"\d{1,3}\.\d{3}")
#: As nearly all are written; not `1.000`.
_PLAIN = lazy_pattern(r"([0-9]{1,12})(?:\.([0-9]{1,2}))?")


def read_amounts(text: str) -> Iterator[str]:
    if (amount := read_amount(text)) is not None:
        yield amount
    # `1.000` is a thousand to some, and one to others.
    if _THOUSANDS.fullmatch(text.strip(_LETTERS)) and (amount := read_amount(text.replace(".", ""))):
        yield amount


def plain_amount(text: str) -> str | None:
    """Of a text that has digits and a point, and no more than two digits behind it."""
    match = _PLAIN.fullmatch(text)
    if match is None:
        return None
    whole, part = match[1].lstrip("0") or "0", (match[2] or "").rstrip("0")
    return f"{whole}.{part}" if part else whole


def read_amount(text: str) -> str | None:
    """Without a sign."""
    if (amount := plain_amount(text)) is not None:
        return amount
    plain = text if text.isascii() and text.replace(".", "").isdigit() else _APART.sub("", text)
    factor = {"k": 1_000, "m": 1_000_000}.get(plain[-1:].casefold(), 1)
    plain = plain.strip(_LETTERS)
    if _DOTTED.fullmatch(plain):
        plain = plain.replace(".", "")
    elif "," in plain and _WITH_COMMAS.fullmatch(plain):
        plain = plain.replace(",", "")
    try:
        value = abs(Decimal(plain.replace(",", "."))) * factor
    except InvalidOperation:
        return None
    if not value.is_finite() or value >= 10**24 or value.as_tuple().exponent < -24:  # type: ignore[operator]
        return None
    return f"{value.normalize():f}"
