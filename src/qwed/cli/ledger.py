"""`qwed ledger`: the hash chain over the record."""

import sqlite3
from pathlib import Path

import click

from qwed.cli.shared import print_json
from qwed.ledger.chain import BrokenChain
from qwed.settings import MEMORY, read_settings
from qwed.stores.sqlite import verify_ledger


@click.group()
def ledger() -> None:
    """The record that cannot be changed unnoticed."""


@ledger.command()
@click.option("--database", metavar="PATH", help="The store [qwed.db]; a running gateway may own it.")
@click.option("--json", "as_json", is_flag=True, help="Plain JSON, for programs.")
def verify(database: str | None, as_json: bool) -> int:
    """Follow the whole chain and compare every entry with its payload."""
    settings = read_settings(options={"database": database})
    path = Path(settings.database)
    if settings.database == MEMORY or not path.exists():
        raise click.ClickException(f"there is no store at {settings.database}")
    try:
        head = verify_ledger(path)
    except BrokenChain as error:
        if as_json:
            print_json({"valid": False, "reason": str(error)})
        else:
            click.secho(f"BROKEN  {error}", fg="red", bold=True)
        return 1
    except sqlite3.Error as error:
        raise click.ClickException(f"{path} can't be read: {error}") from None
    if as_json:
        print_json({"valid": True, "entries": head.seq, "head": head.hash.hex()})
    else:
        click.echo(
            f"{click.style('VALID', fg='green', bold=True)}  {head.seq} entries, head {head.hash.hex()}"
        )
    return 0
