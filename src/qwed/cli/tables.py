"""Tables for a terminal: words are never broken, because an id that is broken cannot be copied."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from qwed.cli.shared import DECISION_COLOURS, printable

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

Rows: TypeAlias = "Sequence[Mapping[str, Text]]"
#: What a column of sentences needs at least to be read.
MIN_TEXT_WIDTH: Final = 16
#: The longest id.
MAX_WORD_WIDTH: Final = 40
#: What somebody would copy as one word. Anything else is data, and folds.
_NAME: Final = re.compile(r"[\w.:-]+\Z")
#: Between columns: the box's own blank, and ours.
PADDING: Final = 3
#: A file or a pipe has no edge: one row, one line.
UNBOUNDED: Final = 10_000


def when(timestamp: str | None) -> str:
    """`2026-11-17 19:12:08`, in UTC as everything on record."""
    return "" if timestamp is None else timestamp[:19].replace("T", " ")


def when_seconds(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    below: Mapping[str, str] | None = None,
    empty: str = "",
) -> None:
    """Cells are words, which may be an agent's, or texts that are styled already.

    Where the terminal is too narrow, a column that `below` names stands under the one it gives. `empty` is
    said instead of a table without rows.
    """
    if not rows:
        click.echo(empty or title)
        return
    from rich.console import Console  # noqa: PLC0415 - costs more than most commands

    console = Console()
    width = console.width if console.is_terminal else UNBOUNDED
    texts = [dict(zip(columns, map(_text, row), strict=True)) for row in rows]
    if below and _find_needed_width(columns, texts) > width:
        columns = [column for column in columns if column not in below]
        texts = [_stack(row, below) for row in texts]
    console.width = max(width, _find_needed_width(columns, texts))
    console.print(_table(title, columns, texts, console.width))


def _text(cell: Any) -> "Text":
    from rich.text import Text  # noqa: PLC0415

    # Text, not markup: agents choose these words.
    return Text(printable(cell), style=DECISION_COLOURS.get(cell, "")) if isinstance(cell, str) else cell


def _stack(row: Mapping[str, "Text"], below: Mapping[str, str]) -> dict[str, "Text"]:
    from rich.text import Text  # noqa: PLC0415

    stacked = {column: text for column, text in row.items() if column not in below}
    for column, host in below.items():
        if row[column].plain:
            stacked[host] = stacked[host] + Text("\n") + Text(row[column].plain, style="dim")
    return stacked


def _find_needed_width(columns: Sequence[str], rows: Rows) -> int:
    return sum(_min_width(column, rows) + PADDING for column in columns)


def _min_width(column: str, rows: Rows) -> int:
    """The longest name, unbroken, or what a sentence needs."""
    cells = [column, *(row[column].plain for row in rows)]
    names = [len(word) for cell in cells for word in cell.split() if _NAME.match(word)]
    return max(min(max(names, default=0), MAX_WORD_WIDTH), min(_natural_width(column, rows), MIN_TEXT_WIDTH))


def _natural_width(column: str, rows: Rows) -> int:
    return max(len(column), *(len(line) for row in rows for line in row[column].plain.split("\n")))


def _widths(columns: Sequence[str], rows: Rows, width: int) -> dict[str, int]:
    """As wide as what they hold; too much of it is taken from the widest that can spare it."""
    widths = {column: _natural_width(column, rows) for column in columns}
    least = {column: _min_width(column, rows) for column in columns}
    for _ in range(sum(widths.values()) + PADDING * len(columns) - width):
        widest = max(columns, key=lambda column: (widths[column] > least[column], widths[column]))
        widths[widest] -= 1
    return widths


def _table(title: str, columns: Sequence[str], rows: Rows, width: int) -> "Table":
    from rich import box  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        header_style="dim",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, PADDING - 1, 0, 0),
    )
    for column, column_width in _widths(columns, rows, width).items():
        table.add_column(column, width=column_width, overflow="fold")
    for row in rows:
        table.add_row(*(row[column] for column in columns))
    return table
