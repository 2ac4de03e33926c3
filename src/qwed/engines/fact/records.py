"""Structured sources as records: of whom, which attribute, what value, in which cell."""

import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

import msgspec

from qwed.engines.fact.language import singular
from qwed.engines.fact.phrases import Phrase, phrase_of
from qwed.engines.fact.quantities import NUMBER, UNITS, OpenQuantity, Unit, exactly
from qwed.engines.fact.sources import MAX_NODES, ObjectSource, TableSource, show
from qwed.engines.fact.text import Value, read_items

_NAME_KEYS: Final = (
    "name",
    "title",
    "label",
    "company",
    "product",
    "id",
    "country",
    "city",
    "person",
    "employee",
)
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_]+|[%$€£¥]")
_HEADER_UNIT: Final = re.compile(r"[(\[]\s*([^)\]]{1,20})\s*[)\]]\s*\Z")
# Nobody writes the unit of an age.
YEARS: Final = UNITS["years"]
_SCALE_SIGNS: Final = {"m": 10**6, "mn": 10**6, "million": 10**6, "millions": 10**6, "k": 10**3, "bn": 10**9}


class FactRecord(msgspec.Struct, frozen=True):
    """`owners` are the names under which the thing is known; none: the whole source is about it."""

    source: str
    place: str
    owners: tuple[Phrase, ...]
    attribute: Phrase
    raw: Any
    value: Value | Phrase | bool | None
    unit_is_given: bool = True


class Column(msgspec.Struct, frozen=True):
    name: Phrase
    unit: Unit | None
    scale: int
    values: tuple[Value | Phrase | bool | None, ...]


class Grid(msgspec.Struct, frozen=True):
    """A table with its cells read, and the column that names the rows."""

    source: str
    columns: tuple[Column, ...]
    key_column: int | None
    size: int


def header_phrase(text: str) -> tuple[Phrase, Unit | None, int]:
    """The words of a header or key, and the unit it carries: `Revenue ($M)`, `height_m`."""
    bracket = _HEADER_UNIT.search(text)
    unit, scale = (None, 1)
    if bracket:
        unit, scale = _unit_of(bracket[1])
        text = text[: bracket.start()]
    name, separator, last = text.rpartition("_")
    if unit is None and separator and last.lower() in UNITS:
        unit, text = UNITS[last.lower()], name
    words = [word.lower() for word in _WORD.findall(text)]
    if unit is None and len(words) > 1 and words[-1] in UNITS:
        unit = UNITS[words.pop()]
    if words == ["age"]:
        unit = unit or YEARS
    return tuple(singular(word) for word in words if word not in ("the", "a", "of")), unit, scale


def _unit_of(text: str) -> tuple[Unit | None, int]:
    words = re.findall(r"[$€£¥%]|[A-Za-z/²]+\d?", text.lower())
    scale = next((_SCALE_SIGNS[word] for word in words if word in _SCALE_SIGNS and len(words) > 1), 1)
    rest = [word for word in words if len(words) == 1 or word not in _SCALE_SIGNS]
    unit = next((UNITS[word] for word in rest if word in UNITS), None)
    return unit, scale


def read_cell(raw: Any, unit: Unit | None, scale: int) -> Value | Phrase | bool | None:
    """A cell as a value, a phrase, a truth value, or None where there is nothing to compare."""
    if raw is None or isinstance(raw, bool):
        return raw
    if isinstance(raw, int | float | Decimal):
        return _number(raw, unit or NUMBER, scale)
    if isinstance(raw, str) and raw.isascii() and raw.isdigit() and len(raw) <= 18:
        return _number(int(raw), unit or NUMBER, scale)
    if isinstance(raw, str) and raw.strip() and len(raw) <= 400:
        items = read_items(raw)
        if len(items) == 1 and items[0].value is not None:
            return _with_unit(items[0].value, unit, scale)
        return phrase_of(items, {})
    return None


def _number(raw: int | float | Decimal, unit: Unit, scale: int) -> OpenQuantity | None:
    if isinstance(raw, float) and not math.isfinite(raw):
        return None
    digits = Decimal(repr(raw)) if isinstance(raw, float) else Decimal(raw)
    if not digits.is_finite() or abs(digits.adjusted()) > 60:
        return None
    exponent = digits.as_tuple().exponent
    places = -exponent if isinstance(exponent, int) and exponent < 0 else 0
    return exactly(Fraction(digits) * scale, unit, Fraction(scale, 10**places))


def _with_unit(value: Value, unit: Unit | None, scale: int) -> Value:
    if not isinstance(value, OpenQuantity) or not value.is_exact or value.unit != NUMBER or value.low is None:
        return value
    return exactly(value.low * scale, unit or NUMBER, value.step * scale)


def grid_of(table: TableSource) -> Grid:
    columns = []
    currency = next((index for index, name in enumerate(table.header) if name.lower() == "currency"), None)
    for index, name in enumerate(table.header):
        phrase, unit, scale = header_phrase(name)
        own = currency if unit is None and _is_money(phrase) else None
        values = tuple(read_cell(row[index], unit or _currency(row, own), scale) for row in table.rows)
        columns.append(Column(phrase, unit, scale, values))
    return Grid(table.id, tuple(columns), _key_column(columns), len(table.rows))


def _currency(row: tuple[Any, ...], column: int | None) -> Unit | None:
    """The unit that the row's own `currency` cell gives to its amounts."""
    name = row[column] if column is not None else None
    return UNITS.get(name.lower()) if isinstance(name, str) else None


def _key_column(columns: list[Column]) -> int | None:
    """The first column of distinct names."""
    for index, column in enumerate(columns):
        names = [value for value in column.values if isinstance(value, tuple)]
        if len(names) == len(column.values) == len(set(names)) and names:
            return index
    return None


def records_of_table(table: TableSource, grid: Grid) -> Iterator[FactRecord]:
    if grid.key_column is None:
        return
    key = grid.columns[grid.key_column]
    for row in range(grid.size):
        owner = key.values[row]
        assert isinstance(owner, tuple)
        for index, column in enumerate(grid.columns):
            if index != grid.key_column:
                place = f"row {row + 1}, column {table.header[index]!r}: {show(table.rows[row][index])}"
                yield FactRecord(
                    table.id,
                    place,
                    (owner,),
                    column.name,
                    table.rows[row][index],
                    column.values[row],
                    column.unit is not None,
                )


def records_of_object(source: ObjectSource) -> Iterator[FactRecord]:
    yield from _Walk(source.id).members(source.value, "$", ())


class _Walk:
    def __init__(self, source: str) -> None:
        self._source = source
        self._left = MAX_NODES

    def members(
        self, members: Mapping[str, Any], path: str, owners: tuple[Phrase, ...]
    ) -> Iterator[FactRecord]:
        names = _names_of(members) or owners
        currency = members.get("currency")
        for key, value in members.items():
            self._left -= 1
            if self._left < 0:
                return
            attribute, unit, scale = header_phrase(str(key))
            unit = unit or (
                UNITS.get(currency.lower()) if isinstance(currency, str) and _is_money(attribute) else None
            )
            place = f"{path}.{key}"
            if isinstance(value, Mapping):
                yield from self.members(value, place, (attribute,))
            elif isinstance(value, list | tuple):
                yield from self._list(value, place, names, attribute)
            else:
                shown = f"{place}: {show(value)}"
                cell = read_cell(value, unit, scale)
                yield FactRecord(self._source, shown, names, attribute, value, cell, unit is not None)

    def _list(
        self, values: Any, place: str, names: tuple[Phrase, ...], attribute: Phrase
    ) -> Iterator[FactRecord]:
        count = exactly(Fraction(len(values)))
        shown = f"{place}: {len(values)} items"
        yield FactRecord(self._source, shown, names, ("number", "of", *attribute), len(values), count)
        for index, item in enumerate(values):
            if isinstance(item, Mapping):
                yield from self.members(item, f"{place}[{index}]", ())


def _is_money(attribute: Phrase) -> bool:
    return bool(
        {"price", "cost", "amount", "total", "fee", "revenue", "salary", "value"} & set(map(str, attribute))
    )


def _names_of(members: Mapping[str, Any]) -> tuple[Phrase, ...]:
    for key in _NAME_KEYS:
        name = members.get(key)
        if isinstance(name, str) and name.strip() and len(name) < 200:
            return (phrase_of(read_items(name), {}),)
    return ()
