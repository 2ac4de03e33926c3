"""When two states hold the same value."""

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
