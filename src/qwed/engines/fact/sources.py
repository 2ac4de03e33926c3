"""What the claim is held against: texts, JSON objects and tables, in the shapes people send them."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import msgspec

from qwed.domain import json_text
from qwed.domain.json_text import JsonError, Unrepresentable

MAX_SOURCES_SIZE: Final = 262_144
MAX_NODES: Final = 50_000
MAX_DEPTH: Final = 24
_CONTENT_KEYS: Final = ("text", "json", "table", "csv", "content", "data")
_ID_KEYS: Final = ("id", "name", "title", "source")


class TextSource(msgspec.Struct, frozen=True):
    id: str
    text: str


class TableSource(msgspec.Struct, frozen=True):
    """Rows of cells under a header; every row has as many cells as the header."""

    id: str
    header: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


class ObjectSource(msgspec.Struct, frozen=True):
    id: str
    value: Mapping[str, Any]


Source = TextSource | TableSource | ObjectSource


class BadSources(ValueError):
    """The sources are missing, too large or not of a known shape; the message says which."""


def read_sources(given: Any) -> list[Source]:
    """Every source, in the order given. Raises `BadSources`."""
    if given is None or given in ("", [], {}):
        raise BadSources("no sources are given")
    if size_of(given) > MAX_SOURCES_SIZE:
        raise BadSources(f"the sources are larger than {MAX_SOURCES_SIZE} characters")
    return list(_read(given, "source 1"))


def size_of(value: Any, depth: int = 0) -> int:
    """About how many characters the sources have. Raises `BadSources` when they are nested too deeply."""
    if depth > MAX_DEPTH:
        raise BadSources(f"the sources are nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, str):
        return len(value) + 2
    if isinstance(value, Mapping):
        return sum(len(str(key)) + 4 + size_of(item, depth + 1) for key, item in value.items())
    if isinstance(value, list | tuple):
        return sum(2 + size_of(item, depth + 1) for item in value)
    return 8


def _read(given: Any, name: str) -> Iterator[Source]:
    if isinstance(given, str):
        yield _from_text(given, name)
    elif isinstance(given, Mapping):
        yield from _from_object(given, name)
    elif isinstance(given, list | tuple) and _is_table(given):
        yield _table(given, name)
    elif isinstance(given, list | tuple):
        for index, item in enumerate(given, start=1):
            yield from _read(item, f"source {index}")
    else:
        raise BadSources(f"a source is a text, an object or a table, not {json_text.describe_type(given)}")


def _from_object(given: Mapping[str, Any], name: str) -> Iterator[Source]:
    content = [key for key in _CONTENT_KEYS if key in given]
    prose = next((key for key in ("text", "content") if _is_prose(given.get(key))), None)
    if prose is not None:
        label = next((str(given[key]) for key in _ID_KEYS if key in given), name)
        yield TextSource(label, given[prose])
        rest = {key: value for key, value in given.items() if key != prose}
        if not set(rest) <= set(_ID_KEYS):
            yield ObjectSource(label, rest)
        return
    others = set(given) - set(content) - set(_ID_KEYS) - {"type", "url", "date"}
    if len(content) == 1 and not others and isinstance(given[content[0]], str | Mapping | list | tuple):
        label = next((str(given[key]) for key in _ID_KEYS if key in given), name)
        value = given[content[0]]
        if content[0] == "csv" and isinstance(value, str):
            table = _csv_table(value, label)
            yield table if table is not None else TextSource(label, value)
        elif isinstance(value, Mapping):
            yield ObjectSource(label, value)
        else:
            yield from _read(value, label)
    else:
        yield ObjectSource(name, given)


def _is_prose(value: Any) -> bool:
    return isinstance(value, str) and " " in value.strip() and _csv_table(value, "") is None


def texts_in(source: ObjectSource) -> Iterator[TextSource]:
    """Strings inside an object that hold whole sentences."""
    waiting: list[tuple[str, Any]] = [(source.id, source.value)]
    for _ in range(MAX_NODES):
        if not waiting:
            return
        path, value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += [(f"{path}.{key}", item) for key, item in value.items()]
        elif isinstance(value, list | tuple):
            waiting += [(f"{path}[{index}]", item) for index, item in enumerate(value)]
        elif isinstance(value, str) and value.count(" ") >= 2 and value.rstrip().endswith((".", "!")):
            yield TextSource(path, value)


def _from_text(text: str, name: str) -> Source:
    stripped = text.strip()
    if stripped[:1] in ("{", "["):
        try:
            value = json_text.loads(stripped.encode("utf-8", "surrogatepass"), max_depth=MAX_DEPTH)
        except JsonError:
            value = None
        if isinstance(value, dict):
            return ObjectSource(name, value)
        if isinstance(value, list) and _is_table(value):
            return _table(value, name)
    return _csv_table(text, name) or TextSource(name, text)


def _is_table(value: Sequence[Any]) -> bool:
    if not value:
        return False
    if all(isinstance(row, Mapping) for row in value):
        documents = ("text", "json", "table", "csv")
        return all(
            row and not any(key in row for key in documents) and not _is_prose(row.get("content"))
            for row in value
        )
    is_rows = len(value) > 1 and all(isinstance(row, list | tuple) and row for row in value)
    return is_rows and all(isinstance(cell, str) for cell in value[0])


def _table(value: Sequence[Any], name: str) -> TableSource:
    if isinstance(value[0], Mapping):
        header = tuple(dict.fromkeys(str(key) for row in value for key in row))
        return TableSource(name, header, tuple(tuple(row.get(key) for key in header) for row in value))
    header = tuple(str(cell) for cell in value[0])
    rows = tuple(tuple((*row, *[None] * len(header))[: len(header)]) for row in value[1:])
    return TableSource(name, header, rows)


def _csv_table(text: str, name: str) -> TableSource | None:
    """A table, when the text is plainly one: two lines or more with the same number of short cells."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    if len(lines) < 2 or len(lines) > 20_000:
        return None
    if all(line.startswith("|") and line.endswith("|") for line in lines):
        rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]
        rows = [row for row in rows if not all(set(cell) <= set("-: ") for cell in row)]
        return _check_rows(rows, name)
    for delimiter in ("\t", ",", ";"):
        if lines[0].count(delimiter):
            try:
                return _check_rows(list(csv.reader(io.StringIO("\n".join(lines)), delimiter=delimiter)), name)
            except csv.Error:
                return None
    return None


def _check_rows(rows: list[list[str]], name: str) -> TableSource | None:
    if len(rows) < 2 or len({len(row) for row in rows}) != 1 or len(rows[0]) < 2:
        return None
    header = [cell.strip() for cell in rows[0]]
    is_header = all(
        cell and len(cell) <= 40 and not cell[0].isdigit() and cell[-1] not in ".!?" for cell in header
    )
    if not is_header or len(set(header)) != len(header):
        return None
    return TableSource(name, tuple(header), tuple(tuple(cell.strip() for cell in row) for row in rows[1:]))


def show(value: Any) -> str:
    """A cell or member as it stands in its source, for evidence."""
    if isinstance(value, str):
        return value[:200]
    if isinstance(value, Decimal | Unrepresentable):
        return str(value)[:200]
    try:
        return json.dumps(value, ensure_ascii=False, default=str)[:200]
    except (TypeError, ValueError, RecursionError):
        return f"a {type(value).__name__}"
