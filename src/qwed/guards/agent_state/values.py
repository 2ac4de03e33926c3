"""When two states hold the same value."""

from decimal import Decimal
from typing import Any


def same_value(left: Any, right: Any) -> bool:
    """Equal as JSON values: 1.50 is 1.5, and true is not 1."""
    return bool(left == right) and _same_booleans(left, right)


def _same_booleans(left: Any, right: Any) -> bool:
    """Of two values that Python calls equal: it takes True for 1."""
    kind = type(left)
    if kind is dict:
        return all(_same_booleans(item, right[key]) for key, item in left.items())
    if kind is list:
        return all(map(_same_booleans, left, right))
    return (kind is bool) == (type(right) is bool)


def identity(scalar: Any) -> tuple[str, str]:
    """Two scalars have the same identity when they are the same value.

    Text, because the hashes of numbers collide at will: thirty thousand chosen keys would take
    minutes in a set.
    """
    kind = type(scalar)
    if kind is str:
        return "string", scalar
    if kind is int or kind is Decimal:
        return "number", _plain_digits(scalar)
    return "constant", str(scalar)


def _plain_digits(number: int | Decimal) -> str:
    if not number:
        return "0"
    digits = format(number, "f") if isinstance(number, Decimal) else str(number)
    return digits.rstrip("0").rstrip(".") if "." in digits else digits
