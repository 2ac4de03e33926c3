"""The rules between two states: what may change, and in which direction.

Both states have passed the schema. A rule raises `Violated` with a sentence, or is content. A path
that is missing in either state violates its rule: what cannot be compared has not been kept.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from qwed.guards.agent_state.configuration import flag, mapping, names, refuse_unknown, thaw
from qwed.guards.agent_state.refusal import quote
from qwed.guards.agent_state.values import identity, same_value

Rule = Callable[[Any, Any], None]


class Violated(Exception):
    """Never leaves the package; the message says which rule was broken, and where."""


_ARRAY_KEYWORDS: Final = frozenset({"key", "monotonic_boolean_fields", "allow_new_items"})
_MISSING: Final = object()


def compile_rules(rules: Any, at: str) -> tuple[Rule, ...]:
    """`rules` is frozen. No rules at all is an empty tuple. Raises `ValueError`."""
    given = mapping(rules, at)
    refuse_unknown(given, frozenset(_COMPILERS), at)
    return tuple(
        rule for name in _COMPILERS if name in given for rule in _COMPILERS[name](given[name], f"{at}.{name}")
    )


def _immutable(paths: Any, at: str) -> Iterable[Rule]:
    return [_at_path(path, at, _check_unchanged) for path in names(paths, at)]


def _monotonic(paths: Any, at: str) -> Iterable[Rule]:
    return [_at_path(path, at, _not_decreased) for path in names(paths, at)]


def _order(orders: Any, at: str) -> Iterable[Rule]:
    return [
        _at_path(path, at, _advances_through(order, f"{at}.{path}"))
        for path, order in mapping(orders, at).items()
    ]


def _key(arrays: Any, at: str) -> Iterable[Rule]:
    return [
        _at_path(path, at, _keeps_items(rule, f"{at}.{path}")) for path, rule in mapping(arrays, at).items()
    ]


_COMPILERS: Final[Mapping[str, Callable[[Any, str], Iterable[Rule]]]] = {
    "immutable_paths": _immutable,
    "monotonic_integer_paths": _monotonic,
    "ordered_enum_paths": _order,
    "keyed_object_array_paths": _key,
}


def _at_path(path: str, at: str, rule: Rule) -> Rule:
    root, *steps = path.split(".")
    if root != "$" or not steps or not all(steps) or any(sign in path for sign in "[]*"):
        raise ValueError(f"{at}: {quote(path)} is not a path such as $.a.b")

    def check(current: Any, proposed: Any) -> None:
        try:
            rule(_find(current, steps, "current"), _find(proposed, steps, "proposed"))
        except Violated as violated:
            raise Violated(f"{path}: {violated}") from None

    return check


def _find(state: Any, steps: list[str], which: str) -> Any:
    for step in steps:
        if type(state) is not dict or step not in state:
            raise Violated(f"missing in the {which} state")
        state = state[step]
    return state


def _check_unchanged(before: Any, after: Any) -> None:
    if not same_value(before, after):
        raise Violated("immutable, and changed")


def _not_decreased(before: Any, after: Any) -> None:
    if type(before) is not int or type(after) is not int:
        raise Violated("not an integer in both states")
    if after < before:
        raise Violated(f"decreased from {before} to {after}")


def _advances_through(order: Any, at: str) -> Rule:
    if not isinstance(order, tuple) or not order:
        raise ValueError(f"{at}: expected a non-empty list of values in their order")
    steps = thaw(order)
    for index, step in enumerate(steps):
        if _position(step, steps, "current") != index:
            raise ValueError(f"{at}[{index}]: the value stands twice in the order")

    def check(before: Any, after: Any) -> None:
        start, end = _position(before, steps, "current"), _position(after, steps, "proposed")
        if end < start:
            raise Violated(f"moved back from step {start + 1} to step {end + 1} of its order")

    return check


def _position(value: Any, steps: list[Any], which: str) -> int:
    for index, step in enumerate(steps):
        if same_value(value, step):
            return index
    raise Violated(f"the {which} value is not in its order")


def _keeps_items(rule: Any, at: str) -> Rule:
    given = mapping(rule, at)
    refuse_unknown(given, _ARRAY_KEYWORDS, at)
    key = given.get("key")
    if not isinstance(key, str) or not key:
        raise ValueError(f"{at}.key: expected the name of a field")
    booleans = names(given.get("monotonic_boolean_fields", ()), f"{at}.monotonic_boolean_fields")
    if key in booleans:
        raise ValueError(f"{at}.monotonic_boolean_fields: the key {quote(key)} cannot change")
    allows_new = flag(given.get("allow_new_items", True), f"{at}.allow_new_items")

    def check(before: Any, after: Any) -> None:
        keys_before, keys_after = _keys(before, key, "current"), _keys(after, key, "proposed")
        if keys_after[: len(keys_before)] != keys_before:
            raise Violated("an item was removed or moved, or a new one is not at the end")
        if len(keys_after) > len(keys_before) and not allows_new:
            raise Violated("new items are not allowed")
        for index, item in enumerate(before):
            _keep_item(item, after[index], booleans, index)

    return check


def _keys(items: Any, key: str, which: str) -> list[tuple[str, str]]:
    if type(items) is not list:
        raise Violated(f"not an array in the {which} state")
    keys = []
    for index, item in enumerate(items):
        if type(item) is not dict or key not in item:
            raise Violated(f"item {index} of the {which} state has no {quote(key)}")
        value = item[key]
        kind = type(value)
        if kind is dict or kind is list:
            raise Violated(f"the {quote(key)} of item {index} of the {which} state is not a scalar")
        keys.append(identity(value))
    if len(set(keys)) != len(keys):
        raise Violated(f"two items of the {which} state share a {quote(key)}")
    return keys


def _keep_item(before: dict[str, Any], after: dict[str, Any], booleans: tuple[str, ...], index: int) -> None:
    for name, value in before.items():
        if name in booleans:
            _keep_boolean(value, after.get(name, _MISSING), name, index)
        elif name not in after or not same_value(value, after[name]):
            raise Violated(f"field {quote(name)} of item {index} changed")
    for name in after.keys() - before.keys():
        if name not in booleans or type(after[name]) is not bool:
            raise Violated(f"a field of item {index} appeared")


def _keep_boolean(before: Any, after: Any, name: str, index: int) -> None:
    if after is _MISSING:
        raise Violated(f"field {quote(name)} of item {index} disappeared")
    if type(before) is not bool or type(after) is not bool:
        raise Violated(f"field {quote(name)} of item {index} is not a boolean in both states")
    if before and not after:
        raise Violated(f"field {quote(name)} of item {index} went back to false")
