"""Claims about a whole table: totals, averages, counts, extremes, the row that has them, filtered or not.

Every word of the claim must be accounted for, as an operation, a column, a value of a column or a small word;
otherwise the claim is not about this table.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Final

import msgspec

from qwed.engines.fact.dates import Span
from qwed.engines.fact.frames import TIME, Frame
from qwed.engines.fact.language import words
from qwed.engines.fact.phrases import Phrase
from qwed.engines.fact.quantities import OpenQuantity, Relation, compare, exactly
from qwed.engines.fact.records import Column, Grid
from qwed.engines.fact.structured import match_unit
from qwed.engines.fact.text import compare_values
from qwed.engines.fact.verdicts import Stance, Witness


def _median(values: list[Fraction]) -> Fraction:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def _mean(values: list[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def _sum(values: list[Fraction]) -> Fraction:
    return sum(values, Fraction(0))


_OPERATIONS: Final[dict[str, tuple[str, Callable[[list[Fraction]], Fraction]]]] = {
    **dict.fromkeys(("total", "sum", "combined", "overall"), ("sum", _sum)),
    **dict.fromkeys(("average", "mean"), ("average", _mean)),
    "median": ("median", _median),
    **dict.fromkeys(("maximum", "highest", "largest", "greatest", "max", "biggest"), ("maximum", max)),
    **dict.fromkeys(("minimum", "lowest", "smallest", "min"), ("minimum", min)),
}
_EXTREMES: Final = {
    **dict.fromkeys(("highest", "largest", "most", "greatest", "maximum", "biggest"), 1),
    **dict.fromkeys(("lowest", "smallest", "fewest", "least", "minimum"), -1),
}
_SUPERLATIVE_COLUMNS: Final = {
    "tallest": ("height", 1),
    "longest": ("length", 1),
    "heaviest": ("weight", 1),
    "lightest": ("weight", -1),
    "oldest": ("age", 1),
    "youngest": ("age", -1),
    "cheapest": ("price", -1),
    "fastest": ("speed", 1),
}
_SMALL_WORDS: Final = words("in of for from with where by at on be is having and across all among as which")
_ROWS: Final = words("row record entry item line")
_ROUNDED: Final = ("average", "median")


class Selection(msgspec.Struct, frozen=True):
    rows: tuple[int, ...]
    filters: tuple[str, ...] = ()


def judge_grid(claim: Frame, grid: Grid) -> Iterator[Witness]:
    """What the table as a whole says about the claim."""
    if claim.modal or claim.adverbs or claim.tense == "future" or grid.size == 0:
        return
    for judged in (
        _judge_number(claim, grid),
        _judge_count(claim, grid),
        _judge_extreme(claim, grid),
        _judge_year(claim, grid),
    ):
        if judged is not None:
            stance, rule, detail = judged
            if claim.is_negated:
                stance = Stance.CONTRADICTS if stance is Stance.ENTAILS else Stance.ENTAILS
            yield Witness(stance, rule, grid.source, detail)


_Judged = tuple[Stance, str, str] | None


def _read_claim(claim: Frame) -> tuple[list[object], OpenQuantity] | None:
    """The words of an attribute claim with its circumstances, and the number it states."""
    if claim.verb != "be" or claim.subject is None or len(claim.complement) != 1:
        return None
    number = claim.complement[0]
    if not isinstance(number, OpenQuantity):
        return None
    rest = [part for kind, phrase in claim.circumstances for part in (kind, *phrase)]
    return [word for word in (*claim.subject, *rest) if word != TIME], number


def _judge_number(claim: Frame, grid: Grid) -> _Judged:
    claimed = _read_claim(claim)
    if claimed is None or not isinstance(claimed[0][0], str) or claimed[0][0] not in _OPERATIONS:
        return None
    said, number = claimed
    name, operation = _OPERATIONS[str(said[0])]
    position = 2 if said[1:2] == ["of"] else 1
    if said[position : position + 1] == ["number"]:
        return _count(said[position:], number, grid)
    found = _column_at(said, position, grid)
    if found is None:
        return None
    column, position = found
    selection = _select(said[position:], grid)
    if selection is None or not selection.rows:
        return None
    values = _numbers(column, selection.rows)
    if values is None:
        return None
    result = exactly(operation(values), column.values[selection.rows[0]].unit)  # type: ignore[union-attr]
    return _compare_result(number, result, column, name, selection)


def _compare_result(
    number: OpenQuantity, result: OpenQuantity, column: Column, name: str, selection: Selection
) -> _Judged:
    said = match_unit(number, result, unit_is_given=column.unit is not None)
    if not isinstance(said, OpenQuantity) or result.low is None:
        return None
    shown = f"{name} of {' '.join(map(str, column.name))} over {len(selection.rows)} rows"
    shown += "".join(f", {text}" for text in selection.filters) + f" = {_show(result.low)}"
    if (
        name in _ROUNDED
        and said.is_exact
        and said.low is not None
        and abs(said.low - result.low) * 2 <= said.step
    ):
        return Stance.ENTAILS, name, shown
    relation = compare(said, msgspec.structs.replace(result, step=said.step))
    if relation is Relation.UNKNOWN:
        return None
    return (Stance.CONTRADICTS if relation is Relation.DISJOINT else Stance.ENTAILS), name, shown


def _show(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{value.numerator}/{value.denominator}"


def _numbers(column: Column, rows: tuple[int, ...]) -> list[Fraction] | None:
    """The numbers of a column, or None if one is missing, inexact or of another unit."""
    cells = [column.values[row] for row in rows]
    numbers = [
        cell.low
        for cell in cells
        if isinstance(cell, OpenQuantity) and cell.is_exact and cell.low is not None
    ]
    units = {cell.unit for cell in cells if isinstance(cell, OpenQuantity)}
    return numbers if len(numbers) == len(cells) and len(units) == 1 else None


def _column_at(said: list[object], position: int, grid: Grid) -> tuple[Column, int] | None:
    """The column whose name begins here; the longest name wins."""
    fitting = [
        column
        for column in grid.columns
        if column.name and tuple(said[position : position + len(column.name)]) == column.name
    ]
    if not fitting:
        return None
    best = max(fitting, key=lambda column: len(column.name))
    return best, position + len(best.name)


def _select(said: list[object], grid: Grid) -> Selection | None:
    """The rows that the rest of the claim speaks of; None if a word of it means nothing here."""
    rows = set(range(grid.size))
    filters: list[str] = []
    position = 0
    while position < len(said):
        if said[position] in _SMALL_WORDS or said[position] in _ROWS:
            position += 1
            continue
        found = _filter_at(said, position, grid)
        if found is None:
            return None
        kept, text, position = found
        rows &= kept
        filters.append(text)
    return Selection(tuple(sorted(rows)), tuple(filters))


def _filter_at(said: list[object], position: int, grid: Grid) -> tuple[set[int], str, int] | None:
    named = _column_at(said, position, grid)
    if named is not None:
        column, after = named
        while after < len(said) and said[after] in _SMALL_WORDS:
            after += 1
        return _value_at(said, after, [column])
    found = _value_at(said, position, list(grid.columns))
    if found is None:
        return None
    rows, text, after = found
    again = _column_at(said, after, grid)
    return rows, text, (again[1] if again is not None else after)


def _value_at(said: list[object], position: int, columns: list[Column]) -> tuple[set[int], str, int] | None:
    """The rows whose cell is the value that stands here; it must be a value of one column only."""
    if position < len(said) and isinstance(said[position], OpenQuantity | Span):
        value = said[position]
        dated = [column for column in columns if len(columns) == 1 or column.name in (("year",), ("date",))]
        if len(dated) != 1:
            return None
        rows = _rows_within(dated[0], value)  # type: ignore[arg-type]
        return (
            None
            if rows is None
            else (rows, f"{' '.join(map(str, dated[0].name))} within the claim's bound", position + 1)
        )
    for length in range(min(6, len(said) - position), 0, -1):
        phrase = tuple(said[position : position + length])
        holding = [column for column in columns if phrase in column.values]
        if len(holding) == 1:
            rows = {row for row, cell in enumerate(holding[0].values) if cell == phrase}
            return (
                rows,
                f"{' '.join(map(str, holding[0].name))} = {' '.join(map(str, phrase))}",
                position + length,
            )
        if holding:
            return None
    return None


def _rows_within(column: Column, bound: OpenQuantity | Span) -> set[int] | None:
    rows = set()
    for row, cell in enumerate(column.values):
        if not isinstance(cell, OpenQuantity | Span):
            return None
        said = match_unit(bound, cell, unit_is_given=column.unit is not None)
        relation = Relation.UNKNOWN if said is None else compare_values(said, cell)
        if relation is Relation.UNKNOWN:
            return None
        if relation is not Relation.DISJOINT:
            rows.add(row)
    return rows


def _judge_count(claim: Frame, grid: Grid) -> _Judged:
    if claim.verb == "have" and claim.subject and isinstance(claim.subject[0], OpenQuantity):
        return _judge_some_have(claim, grid)
    claimed = _read_claim(claim)
    if claimed is None or claimed[0][:1] not in (["number"], ["count"]):
        return None
    return _count(*claimed, grid)


def _count(said: list[object], number: OpenQuantity, grid: Grid) -> _Judged:
    counted = _count_rows(said[1:], grid)
    if counted is None:
        return None
    count, detail = counted
    relation = compare(number, exactly(Fraction(count)))
    if relation is Relation.UNKNOWN:
        return None
    return (Stance.CONTRADICTS if relation is Relation.DISJOINT else Stance.ENTAILS), "count", detail


def _count_rows(said: list[object], grid: Grid) -> tuple[int, str] | None:
    rest = said[1:] if said[:1] == ["of"] else said
    if not rest or not isinstance(rest[0], str):
        return None
    key = grid.columns[grid.key_column].name if grid.key_column is not None else ()
    is_key = bool(key) and tuple(rest[: len(key)]) == key
    if not is_key and rest[0] not in _ROWS:
        return None
    selection = _select(rest[len(key) if is_key else 1 :], grid)
    if selection is None:
        return None
    detail = f"{len(selection.rows)} of {grid.size} rows" + "".join(f", {text}" for text in selection.filters)
    return len(selection.rows), detail


def _judge_some_have(claim: Frame, grid: Grid) -> _Judged:
    """`3 employees have a salary above 50 000`: more than 3 would not make it false."""
    assert claim.subject is not None
    number = claim.subject[0]
    rest = [part for kind, phrase in claim.circumstances for part in (kind, *phrase)]
    counted = _count_rows([*claim.subject[1:], "with", *claim.complement, *rest], grid)
    if counted is None or not isinstance(number, OpenQuantity) or not number.is_exact or number.low is None:
        return None
    count, detail = counted
    if count == number.low:
        return Stance.ENTAILS, "count", detail
    return (Stance.CONTRADICTS, "count", detail) if count < number.low else None


def _judge_extreme(claim: Frame, grid: Grid) -> _Judged:
    """`X has the highest price`, `the product with the highest price is X`, `X is the tallest tower`."""
    if grid.key_column is None or claim.circumstances:
        return None
    for name, description in _name_and_description(claim, grid):
        column, sign = _extreme_column(description, grid)
        if column is not None:
            return _judge_top(name, column, sign, grid)
    return None


def _name_and_description(claim: Frame, grid: Grid) -> Iterator[tuple[Phrase, list[object]]]:
    subject, complement = claim.subject or (), claim.complement
    if claim.verb in ("have", "be"):
        yield subject, list(complement)
    if claim.verb == "be":
        yield complement, list(subject)


def _extreme_column(description: list[object], grid: Grid) -> tuple[Column | None, int]:
    position = description.index("with") + 1 if "with" in description else 0
    if position >= len(description):
        return None, 0
    word = description[position]
    if word in _EXTREMES:
        found = _column_at(description, position + 1, grid)
        if found is not None and found[1] == len(description):
            return found[0], _EXTREMES[str(word)]
    if word in _SUPERLATIVE_COLUMNS and len(description) <= 2:
        attribute, sign = _SUPERLATIVE_COLUMNS[str(word)]
        column = next((column for column in grid.columns if column.name == (attribute,)), None)
        return column, sign
    return None, 0


def _judge_top(name: Phrase, column: Column, sign: int, grid: Grid) -> _Judged:
    assert grid.key_column is not None
    names = grid.columns[grid.key_column].values
    numbers = _numbers(column, tuple(range(grid.size)))
    if numbers is None or name not in names:
        return None
    best = max(numbers) if sign > 0 else min(numbers)
    holders = [names[row] for row in range(grid.size) if numbers[row] == best]
    if len(holders) != 1:
        return None
    holder = holders[0]
    shown = f"the {'highest' if sign > 0 else 'lowest'} {' '.join(map(str, column.name))} is that of "
    shown += " ".join(map(str, holder)) if isinstance(holder, tuple) else str(holder)
    return (Stance.ENTAILS if holder == name else Stance.CONTRADICTS), "extreme row", shown


def _judge_year(claim: Frame, grid: Grid) -> _Judged:
    """`Revenue was 5 in 2020`, where the rows are years."""
    claimed = _read_claim(claim)
    if claimed is None:
        return None
    said, number = claimed
    found = _column_at(said, 0, grid)
    if found is None:
        return None
    selection = _select(said[found[1] :], grid)
    if selection is None or len(selection.rows) != 1 or not selection.filters:
        return None
    cell = found[0].values[selection.rows[0]]
    if not isinstance(cell, OpenQuantity):
        return None
    matched = match_unit(number, cell, unit_is_given=found[0].unit is not None)
    relation = Relation.UNKNOWN if matched is None else compare_values(matched, cell)
    if relation is Relation.UNKNOWN:
        return None
    stance = Stance.CONTRADICTS if relation is Relation.DISJOINT else Stance.ENTAILS
    return stance, "cell", f"row {selection.rows[0] + 1}, {', '.join(selection.filters)}"
