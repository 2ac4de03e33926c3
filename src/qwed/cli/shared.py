"""What commands have in common: their options, and plain output."""

import functools
from collections.abc import Callable
from typing import Any

import click

from qwed.cli.backend import Backend, open_backend
from qwed.gateway.kernel.wire import encode_json
from qwed.settings import read_settings

DECISION_COLOURS = {
    "APPROVED": "green",
    "CORRECTED": "cyan",
    "PENDING": "yellow",
    "DENIED": "red",
    "BUDGET_EXCEEDED": "magenta",
    "NOTED": "blue",
}


#: Columns of a terminal that has room for what is good to know besides.
WIDE = 120


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


def shown(value: Any) -> str:
    """A value in one line: words as they are, anything with a structure as JSON."""
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return printable(", ".join(value))
    return printable(value if isinstance(value, str) else encode_json(value).decode())


def print_json(value: Any) -> None:
    click.echo(encode_json(value).decode())


class Terminal:
    """Lines of a name and what is to say of it, in colour where the terminal has some."""

    def __init__(self) -> None:
        from rich.console import Console  # noqa: PLC0415 - costs more than most commands

        self._console = Console(highlight=False, soft_wrap=True)
        self.is_utf8 = "utf" in self._console.encoding.lower()
        self.is_wide = self._console.width >= WIDE

    def print(self, text: str) -> None:
        self._console.print(printable(text), markup=False)

    def line(self, name: str, *parts: Any) -> None:
        from rich.text import Text  # noqa: PLC0415

        said = [Text(printable(part)) if isinstance(part, str) else part for part in parts]
        self._console.print(Text(f"{name:15} ") + Text(" ").join(said))


def console() -> Terminal:
    return Terminal()


__all__ = ["Backend", "Terminal", "console", "print_json", "printable", "shown", "with_backend"]
