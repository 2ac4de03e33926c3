"""What an action asks the SQL engine: the texts that will run, the dialect, the schema, the values."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

TEXT_KEYS: Final = ("sql", "query", "statement", "statements", "sql_query", "sql_text")
_VALUE_KEYS: Final = ("params", "parameters", "values", "args", "arguments", "bind", "bindings", "binds")
_RESERVED: Final = frozenset(
    {*TEXT_KEYS, "dialect", "schema", "no_sensitive_columns", "forbidden_columns", "database", "timeout"}
)
_TEMPLATE: Final = re.compile(r"\$\{\s*(\w+)\s*\}|\{\{\s*(\w+)\s*\}\}|\{(\w+)\}")
_PLACEHOLDER: Final = re.compile(
    r"'(?:[^']|'')*+'?|(?P<mark>\?|%s|%\(\w+\)s|(?<![:\w]):\w+|\$\d+|(?<![\w@])@\w+)"
)
_MAX_VALUES: Final = 50


class SqlRequest(msgspec.Struct, frozen=True):
    texts: tuple[str, ...]
    dialect: str | None
    schema: Any
    unbound: tuple[str, ...]
    """Strings that travel beside the texts and that no placeholder takes up."""
    forbidden_columns: tuple[str, ...]
    no_sensitive_columns: bool
    bound_values: int = 0


def read_request(
    query: str | None, code: str | None, target: str | None, parameters: Mapping[str, Any]
) -> SqlRequest:
    values = dict(_named_values(parameters))
    texts = tuple(dict.fromkeys(_filled(text, values) for text in _texts(query, code, parameters)))
    strings = tuple(_strings(parameters))[:_MAX_VALUES]
    is_bound = bool(strings) and any(map(_takes_values, texts))
    unbound = () if is_bound else strings
    dialect = parameters.get("dialect")
    sensitive = parameters.get("no_sensitive_columns")
    columns = [parameters.get("forbidden_columns"), sensitive]
    return SqlRequest(
        texts,
        dialect if isinstance(dialect, str) else None if dialect is None else repr(dialect)[:40],
        parameters.get("schema"),
        (target, *unbound) if target else unbound,
        tuple(
            name for names in columns if isinstance(names, list) for name in names if isinstance(name, str)
        ),
        bool(sensitive),
        len(strings) if is_bound else 0,
    )


def _texts(query: str | None, code: str | None, parameters: Mapping[str, Any]) -> Iterator[str]:
    if query is not None:
        yield query
    if code is not None:
        yield code
    for key in TEXT_KEYS:
        value = parameters.get(key)
        if isinstance(value, str):
            yield value
        elif isinstance(value, list | tuple):
            yield from (item for item in value if isinstance(item, str))


def _named_values(parameters: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in parameters.items():
        if key not in _RESERVED:
            yield key, value
        if key in _VALUE_KEYS and isinstance(value, Mapping):
            yield from ((name, item) for name, item in value.items() if isinstance(name, str))


def _filled(text: str, values: Mapping[str, Any]) -> str:
    """A template that takes values as text becomes the text that will run."""
    if "{" not in text or not values:
        return text

    def fill(match: re.Match[str]) -> str:
        name = match[1] or match[2] or match[3]
        value = values.get(name)
        return match.group() if value is None or isinstance(value, Mapping | list) else str(value)

    return _TEMPLATE.sub(fill, _filled_in_order(text, values))


def _filled_in_order(text: str, values: Mapping[str, Any]) -> str:
    """`{}` without a name takes the values one after the other, where there are as many."""
    given = [str(value) for value in values.values() if isinstance(value, str | int | float)]
    if "{}" not in text or text.count("{}") != len(given):
        return text
    pieces = text.split("{}")
    return pieces[0] + "".join(value + rest for value, rest in zip(given, pieces[1:], strict=True))


def _takes_values(text: str) -> bool:
    return any(match["mark"] for match in _PLACEHOLDER.finditer(text))


def _strings(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth > 8:
        return
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if depth or key not in _RESERVED:
                yield from _strings(item, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item, depth + 1)
