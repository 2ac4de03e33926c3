"""`qwed ledger`: the record that cannot be changed unnoticed, checked, exported and proven."""

import sqlite3
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import click

from qwed.cli.ect import token_text
from qwed.cli.errors import CannotRun
from qwed.cli.groups import CommandGroup
from qwed.cli.ledger_remote import URL_OPTION, find_remote
from qwed.cli.ledger_store import DATABASE_OPTION, JSON_OPTION, find_store, read_keys
from qwed.cli.ledger_texts import tell_broken
from qwed.cli.ledger_verify import verify
from qwed.cli.ocsf import write_ocsf
from qwed.cli.replay import replay_ledger
from qwed.cli.shared import print_json
from qwed.ect.jws import InvalidToken
from qwed.ect.key_files import open_ring
from qwed.ect.keys import KeyUnusable
from qwed.gateway.kernel.ports import StoreUnavailable
from qwed.http.pages import lone_page
from qwed.ledger.checkpoints import Cosigned, cosign, read_checkpoint
from qwed.ledger.merkle import NoSuchProof
from qwed.stores.sqlite.ledger import SqliteLedger, export_ledger


@click.group(cls=CommandGroup)
def ledger() -> None:
    """Verify, export and prove the signed record."""


@ledger.command()
@DATABASE_OPTION
@URL_OPTION
@click.option("--out", metavar="FILE", help="Where to write it [standard output].")
@click.option("--without-payloads", is_flag=True, help="The entries and signatures alone.")
def export(database: str | None, base_url: str | None, out: str | None, without_payloads: bool) -> int:
    """Write the whole ledger as lines that anyone verifies with the public keys alone."""
    remote = find_remote(database, base_url)
    if remote is not None and not without_payloads:
        raise CannotRun(
            "over HTTP there are no payloads: say --without-payloads, or export where the store is"
        )
    lines = (
        remote.lines() if remote else export_ledger(find_store(database).path, payloads=not without_payloads)
    )
    try:
        if out is None:
            count = _write(sys.stdout.buffer, lines)
        else:
            with Path(out).open("xb") as file:
                count = _write(file, lines)
    except FileExistsError:
        raise CannotRun(f"{out} is there already: it is not overwritten") from None
    except (OSError, sqlite3.Error) as error:
        raise CannotRun(f"the ledger can't be exported: {error}") from None
    click.echo(f"{count} lines", err=True)
    return 0


@ledger.command()
@click.option("--out", required=True, metavar="FILE", help="Where to write it.")
def page(out: str) -> int:
    """Write the page that verifies an export in a browser: one file, which fetches nothing."""
    try:
        with Path(out).open("x", encoding="utf-8") as file:
            file.write(lone_page())
    except FileExistsError:
        raise CannotRun(f"{out} is there already: it is not overwritten") from None
    except OSError as error:
        raise CannotRun(f"{out} can't be written: {error.strerror}") from None
    click.echo(out)
    return 0


@ledger.command()
@DATABASE_OPTION
@URL_OPTION
@JSON_OPTION
def checkpoint(database: str | None, base_url: str | None, as_json: bool) -> int:
    """The newest signed checkpoint: keep it elsewhere, and a shortened ledger is noticed."""
    if (remote := find_remote(database, base_url)) is not None:
        told = remote.checkpoint()
        print_json(told) if as_json else click.echo(told["checkpoint"])
        return 0
    path = find_store(database).path
    with _Reading(path) as stored:
        signed = stored.checkpoint()
    if signed is None:
        raise CannotRun("the ledger is empty: nothing was signed yet")
    if as_json:
        print_json({"size": signed.size, "checkpoint": signed.token, "cosignatures": signed.cosignatures})
    else:
        click.echo(signed.token)
    return 0


@ledger.command()
@click.argument("subject")
@DATABASE_OPTION
@URL_OPTION
@JSON_OPTION
def prove(subject: str, database: str | None, base_url: str | None, as_json: bool) -> int:
    """Prove that the entry about SUBJECT (an activity's id, a token's jti, or a number) is in the ledger."""
    remote = find_remote(database, base_url)
    answer = _proven(subject, database) if remote is None else remote.prove(subject)
    if as_json:
        print_json(answer)
    else:
        click.echo(
            f"entry {answer['seq']} ({answer['entry']['subject']}) is among the first {answer['size']}:"
        )
        for item in answer["proof"]:
            click.echo(f"  {item}")
        click.echo(f"checkpoint {answer['checkpoint']}")
    return 0


def _proven(subject: str, database: str | None) -> dict[str, Any]:
    path = find_store(database).path
    with _Reading(path) as stored:
        seq = int(subject) if subject.isdecimal() else stored.position(subject)
        signed = stored.checkpoint()
        if seq is None or signed is None:
            raise CannotRun(f"the ledger has no entry about {subject!r}; qwed activity list AGENT shows ids")
        try:
            proof = stored.inclusion(seq, signed.size)
        except NoSuchProof:
            raise CannotRun(f"there is no entry {seq}: the signed ledger has 1 to {signed.size}") from None
        (entry,) = stored.entries(seq - 1, 1)
    return {
        "seq": seq,
        "entry": {
            "at_ms": entry.at_ms,
            "subject": entry.subject,
            "commitment": entry.commitment.hex(),
            "previous": entry.previous.hex(),
            "hash": entry.hash.hex(),
        },
        "size": signed.size,
        "proof": [item.hex() for item in proof],
        "checkpoint": signed.token,
    }


@ledger.command()
@click.argument("token")
@click.option("--jwks", required=True, metavar="FILE", help="The gateway's /.well-known/jwks.json.")
@click.option("--witness-key", required=True, metavar="PATH", help="The witness's own key; made if missing.")
@click.option("--witness", default="witness", metavar="NAME", help="The witness's name [witness].")
@click.option("--remembered", metavar="PATH", help="Where the last one signed is kept [beside the key].")
@click.option("--proof", multiple=True, metavar="HEX", help="Consistency with the last one signed, in order.")
@JSON_OPTION
def witness(
    token: str,
    jwks: str,
    witness_key: str,
    witness: str,
    remembered: str | None,
    proof: tuple[str, ...],
    as_json: bool,
) -> int:
    """Cosign a checkpoint, if its tree begins with the last one this witness signed.

    Run it on another machine, with a key that the gateway's machine never sees.
    """
    keys = read_keys(jwks)
    memory = Path(remembered or f"{witness_key}.remembered")
    try:
        ring = open_ring(Path(witness_key), f"did:qwed:witness:{witness}")
        last = read_checkpoint(memory.read_text("ascii").strip(), keys) if memory.exists() else None
        given = token_text(token)
        answer = cosign(ring, given, keys, last, [bytes.fromhex(item) for item in proof], int(time.time()))
    except (KeyUnusable, InvalidToken, ValueError, OSError) as error:
        raise CannotRun(f"the witness can't sign: {error}") from None
    if not isinstance(answer, Cosigned):
        return tell_broken(f"not signed: {answer.value.replace('_', ' ')}", as_json)
    fresh = memory.with_name(f"{memory.name}.new")
    fresh.write_text(given, "ascii")
    fresh.replace(memory)
    if as_json:
        print_json({"size": answer.checkpoint.size, "cosignature": answer.token})
    else:
        click.echo(answer.token)
    return 0


def _write(file: BinaryIO, lines: Iterator[bytes]) -> int:
    count = 0
    for count, line in enumerate(lines, start=1):  # noqa: B007 - the last number is the answer
        file.write(line)
    file.flush()
    return count


class _Reading:
    """The ledger of a store, on a connection that cannot write."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> SqliteLedger:
        self._connection = sqlite3.connect(f"{self._path.resolve().as_uri()}?mode=ro", uri=True)
        return SqliteLedger(lambda sql, *values: self._connection.execute(sql, values).fetchall())

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._connection.close()
        if isinstance(error, sqlite3.Error | StoreUnavailable):
            raise CannotRun(f"{self._path} can't be read: {error}") from None


ledger.add_command(verify)
ledger.add_command(replay_ledger)
ledger.add_command(write_ocsf)
