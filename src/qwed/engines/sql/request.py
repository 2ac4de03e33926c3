"""What an action asks the SQL engine: the texts that will run, the dialect, the schema, the values."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from qwed.engines.sql.part_names import is_condition
from qwed.engines.sql.placeholders import count_placeholders

_VALUE_KEYS: Final = ("params", "parameters", "values", "args", "arguments", "bind", "bindings", "binds")
_RESERVED: Final = frozenset(
    {"sql", "query", "statement", "stmt", "code", "dialect", "schema", "no_sensitive_columns"}
    | {"forbidden_columns", "database", "timeout"}
)
_TEMPLATE: Final = re.compile(r"\$\{\s*(\w+)\s*\}|\{\{\s*(\w+)\s*\}\}|\{(\w+)\}")
_MAX_VALUES: Final = 50


class SqlRequest(msgspec.Struct, frozen=True):
    texts: tuple[str, ...]
    dialect: str | None
    schema: Any
    unbound: tuple[str, ...]
    """Strings that travel beside the texts and that no placeholder takes up."""
    conditions: tuple[str, ...]
    """Those among such strings whose member is named for a condition."""
    forbidden_columns: tuple[str, ...]
    no_sensitive_columns: bool
    bound_values: int = 0


def read_request(texts: Iterable[str], target: str | None, parameters: Mapping[str, Any]) -> SqlRequest:
    """`texts` are what will run."""
    values = dict(_list_named_values(parameters))
    filled = tuple(dict.fromkeys(_fill(text, values) for text in texts))
    bound = find_bound_slots(filled, parameters)
    strings = tuple(_strings(parameters, bound))[:_MAX_VALUES]
    conditions = tuple(value for slot, value in strings if is_condition(slot))
    values_only = tuple(value for slot, value in strings if not is_condition(slot))
    dialect = parameters.get("dialect")
    sensitive = parameters.get("no_sensitive_columns")
    columns = [parameters.get("forbidden_columns"), sensitive]
    return SqlRequest(
        filled,
        dialect if isinstance(dialect, str) else None if dialect is None else repr(dialect)[:40],
        parameters.get("schema"),
        (target, *values_only) if target else values_only,
        conditions,
        tuple(
            name for names in columns if isinstance(names, list) for name in names if isinstance(name, str)
        ),
        bool(sensitive),
        len(bound),
    )


def find_bound_slots(texts: Iterable[str], parameters: Mapping[str, Any]) -> frozenset[str]:
    """The slots whose values a driver binds: as many values as there are placeholders, or by their names."""
    if not parameters:
        return frozenset()
    dialect = parameters.get("dialect")
    count, names = count_placeholders(texts, dialect if isinstance(dialect, str) else None)
    found = {name for name in names if name in parameters}
    for key in _VALUE_KEYS:
        value = parameters.get(key)
        if isinstance(value, Mapping):
            found.update(f"{key}.{name}" for name in value if name in names or len(value) == count)
        elif isinstance(value, list | tuple) and count and _is_row_of(value, count):
            found.add(key)
    return frozenset(found)


def _is_row_of(value: Sequence[Any], count: int) -> bool:
    """One row of values, or several rows for `executemany`."""
    rows = [item for item in value if isinstance(item, list | tuple)]
    return (
        len(value) == count
        if not rows
        else all(len(row) == count for row in rows) and len(rows) == len(value)
    )


def _list_named_values(parameters: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in parameters.items():
        if key not in _RESERVED:
            yield key, value
        if key in _VALUE_KEYS and isinstance(value, Mapping):
            yield from ((name, item) for name, item in value.items() if isinstance(name, str))


def _fill(text: str, values: Mapping[str, Any]) -> str:
    """A template that takes values as text becomes the text that will run."""
    if "{" not in text or not values:
        return text

    def fill(match: re.Match[str]) -> str:
        name = match[1] or match[2] or match[3]
        value = values.get(name)
        return match.group() if value is None or isinstance(value, Mapping | list) else str(value)

    return _TEMPLATE.sub(fill, _fill_in_order(text, values))


def _fill_in_order(text: str, values: Mapping[str, Any]) -> str:
    """`{}` without a name takes the values one after the other, where there are as many."""
    given = [str(value) for value in values.values() if isinstance(value, str | int | float)]
    if "{}" not in text or text.count("{}") != len(given):
        return text
    pieces = text.split("{}")
    return pieces[0] + "".join(value + rest for value, rest in zip(given, pieces[1:], strict=True))


def _strings(parameters: Mapping[str, Any], bound: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Strings that travel beside the texts and that no placeholder takes up, each with its slot."""
    for key, item in parameters.items():
        if key not in _RESERVED:
            yield from _strings_in(item, str(key), bound, 1)


def _strings_in(value: Any, slot: str, bound: frozenset[str], depth: int) -> Iterator[tuple[str, str]]:
    if slot in bound or depth > 8:
        return
    if isinstance(value, str):
        yield slot, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _strings_in(item, f"{slot}.{key}", bound, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings_in(item, slot, bound, depth + 1)
