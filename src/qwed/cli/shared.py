"""What commands have in common: their options, and plain or pretty output."""

import functools
from collections.abc import Callable
from typing import Any

import click

from qwed.cli.backend import Backend, open_backend
from qwed.gateway.wire import encode_json
from qwed.settings import read_settings

DECISION_COLOURS = {
    "APPROVED": "green",
    "CORRECTED": "cyan",
    "PENDING": "yellow",
    "DENIED": "red",
    "BUDGET_EXCEEDED": "magenta",
    "NOTED": "blue",
}


def with_backend(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--database`, `--url` and `--json`; the command gets the backend first."""

    @click.option("--database", metavar="PATH", help="The store to open when no gateway runs.")
    @click.option("--url", "base_url", metavar="URL", help="The gateway to ask (QWED_BASE_URL).")
    @click.option("--json", "as_json", is_flag=True, help="Plain JSON, for programs.")
    @functools.wraps(command)
    def call(database: str | None, base_url: str | None, **options: Any) -> Any:
        settings = read_settings(options={"database": database, "base_url": base_url})
        with open_backend(settings) as backend:
            return command(backend, **options)

    return call


def printable(text: str) -> str:
    """No terminal escapes from an agent's words."""
    return "".join(character if character.isprintable() else "�" for character in text)


def print_json(value: Any) -> None:
    click.echo(encode_json(value).decode())


def print_table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    from rich.console import Console  # noqa: PLC0415 - costs more than most commands
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(title=title, title_justify="left", header_style="bold")
    for column in columns:
        # Folded, not cut: an id that is cut cannot be copied.
        table.add_column(column, overflow="fold")
    for row in rows:
        # Text, not markup: agents choose these words.
        table.add_row(*(Text(printable(cell), style=DECISION_COLOURS.get(cell, "")) for cell in row))
    Console().print(table)


__all__ = ["Backend", "print_json", "print_table", "printable", "with_backend"]
