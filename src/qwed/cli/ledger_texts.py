"""What `qwed ledger` says of a ledger that it followed, for people and as JSON."""

from typing import Any

import click

from qwed.cli.shared import print_json
from qwed.ledger import export as exports
from qwed.ledger.audit import Tampering


def tell_export(found: exports.Exported | Tampering | exports.NotAnExport, as_json: bool) -> int:
    if isinstance(found, Tampering):
        return tell_broken(found.says, as_json, kind=found.kind, first=found.seq, last=found.last)
    if isinstance(found, exports.NotAnExport):
        return tell_broken(f"line {found.line}: {found.says}", as_json)
    head = found.audited.head
    if as_json:
        print_json(
            {
                "valid": True,
                "ledger": found.ledger,
                "entries": head.seq,
                "head": head.hash.hex(),
                "witnessed": found.is_witnessed,
                "compared": found.payloads,
            }
        )
    else:
        click.echo(
            f"{click.style('VALID', fg='green', bold=True)}  {head.seq} entries of {found.ledger},"
            f" head {head.hash.hex()}"
        )
    return 0


def tell_broken(says: str, as_json: bool, **more: Any) -> int:
    if as_json:
        print_json({"valid": False, "reason": says, **more})
    else:
        click.secho(f"BROKEN  {says}", fg="red", bold=True)
    return 1
