"""`qwed ledger verify`: of a store, a running gateway, an export, or of many cells together."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import click

from qwed.cli.ect import token_text
from qwed.cli.errors import CannotRun
from qwed.cli.ledger_cells import verify_cells
from qwed.cli.ledger_remote import URL_OPTION, RemoteLedger, find_remote
from qwed.cli.ledger_store import (
    DATABASE_OPTION,
    JSON_OPTION,
    deployment_keys,
    find_store,
    read_keys,
    verify_store,
)
from qwed.cli.ledger_texts import tell_broken, tell_export
from qwed.cli.shared import print_json
from qwed.domain.times import iso
from qwed.ect.jwk import PublicKey
from qwed.ect.jws import InvalidToken
from qwed.ledger import export as exports
from qwed.ledger.audit import AuditKind, Tampering
from qwed.ledger.checkpoints import Checkpoint, read_checkpoint
from qwed.ledger.notes import InvalidNote, NoteKey, read_vkey
from qwed.ledger.passkeys import PasskeyLibraryMissing
from qwed.stores.sqlite.counters import CounterAudit
from qwed.stores.sqlite.ledger import Followed

_JWKS = click.option("--jwks", metavar="FILE", help="The gateway's /.well-known/jwks.json [the key file].")


@click.command()
@DATABASE_OPTION
@URL_OPTION
@click.option(
    "--export", "exported", metavar="FILE", help="An export instead of a store (- is standard input)."
)
@_JWKS
@click.option("--witness-jwks", metavar="FILE", help="The last checkpoint must be cosigned by one of these.")
@click.option(
    "--witness-vkey", multiple=True, metavar="VKEY", help="The same, for a witness that signs notes."
)
@click.option("--known", multiple=True, metavar="TOKEN", help="A checkpoint kept elsewhere, to agree with.")
@click.option(
    "--cells",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Every cell of this file (see qwed cells route), and that no principal is in two.",
)
@JSON_OPTION
def verify(
    database: str | None,
    base_url: str | None,
    exported: str | None,
    jwks: str | None,
    witness_jwks: str | None,
    witness_vkey: tuple[str, ...],
    known: tuple[str, ...],
    cells: Path | None,
    as_json: bool,
) -> int:
    """Follow every entry, signature and payload; compare rows that decide (agents, keys, approvals, trust …)
    with their last entries; recompute counters. Over HTTP: every entry and the last signature, with the keys
    that the gateway publishes, or --jwks. Exit codes: 0 valid, 1 broken, 2 could not look."""
    if cells is not None:
        if any((database, base_url, exported, jwks, witness_jwks, witness_vkey, known)):
            raise click.UsageError("--cells goes alone: the file says where each cell is, and its keys")
        return verify_cells(cells, as_json)
    remote = None if exported is not None else find_remote(database, base_url)
    if remote is not None:
        return _verify_remote(remote, jwks, witness_jwks, witness_vkey, known, as_json)
    if exported is not None:
        keys = read_keys(jwks or _require("--jwks", "an export is verified with the public keys alone"))
        witnesses = read_keys(witness_jwks) if witness_jwks else None
        checkpoints = _read_known(known, keys)
        noting = [_vkey(text) for text in witness_vkey]
        with _open(exported) as lines:
            try:
                return tell_export(exports.verify(lines, keys, witnesses, checkpoints, noting), as_json)
            except PasskeyLibraryMissing as error:
                raise CannotRun(str(error)) from None
    store = find_store(database)
    keys = read_keys(jwks) if jwks else deployment_keys(store.settings, store.path)
    found = verify_store(store, keys, _read_known(known, keys))
    if isinstance(found, Tampering):
        return tell_broken(found.says, as_json, kind=found.kind, first=found.seq, last=found.last)
    followed, counted = found
    if counted.differences:
        return tell_broken("; ".join(counted.differences), as_json, kind=AuditKind.EDITED)
    head = followed.audited.head
    if as_json:
        print_json(
            {
                "valid": True,
                "ledger": followed.ledger,
                "entries": head.seq,
                "head": head.hash.hex(),
                "root": followed.audited.root.hex(),
                "compared": followed.payloads,
                "erased": followed.erased,
                "passkeys": followed.passkeys,
                "rows": _rows(followed),
                "counters": {"checked": counted.checked, "not_checked": counted.not_checked},
            }
        )
    else:
        click.echo(
            f"{click.style('VALID', fg='green', bold=True)}  {head.seq} entries, all signed,"
            f" head {head.hash.hex()}\n"
            f"       {followed.payloads} compared with their payloads, {followed.erased} payloads erased"
        )
        for line in (*_describe_passkeys(followed), *_describe_rows(followed), *_describe_counters(counted)):
            click.echo(f"       {line}")
    return 0


def _verify_remote(
    remote: RemoteLedger,
    jwks: str | None,
    witness_jwks: str | None,
    witness_vkey: tuple[str, ...],
    known: tuple[str, ...],
    as_json: bool,
) -> int:
    """What can be seen from outside: payloads, rows and counters are verified where the store is."""
    keys = read_keys(jwks) if jwks else remote.keys()
    witnesses = read_keys(witness_jwks) if witness_jwks else None
    noting = [_vkey(text) for text in witness_vkey]
    return tell_export(
        exports.verify(remote.lines(), keys, witnesses, _read_known(known, keys), noting), as_json
    )


def _rows(found: Followed) -> dict[str, Any]:
    adopted_at = None if found.adopted_ms is None else iso(found.adopted_ms)
    return {"compared": found.rows, "taken_over": found.adopted, "taken_over_at": adopted_at}


def _describe_passkeys(found: Followed) -> Iterator[str]:
    if found.passkeys:
        yield f"{found.passkeys} approvals signed with passkeys, all signatures hold"


def _describe_rows(found: Followed) -> Iterator[str]:
    if found.rows is None:
        yield "rows (agents, keys, approvals, trust …) not checked: no entry has any; a start takes them over"
        return
    yield f"{found.rows} rows (agents, keys, approvals, trust …) as their last entries have them"
    if found.adopted_ms is not None:
        yield f"{found.adopted} rows taken over on {iso(found.adopted_ms)[:10]}, not provable before"


def _describe_counters(counted: CounterAudit) -> Iterator[str]:
    yield f"{counted.checked} counters (budgets, rates, steps) follow from the activities"
    if counted.not_checked:
        yield f"{counted.not_checked} counters not checked: the activities they follow from are gone"


def _vkey(text: str) -> NoteKey:
    try:
        return read_vkey(text)
    except InvalidNote as error:
        raise CannotRun(f"--witness-vkey: {error}") from None


def _read_known(tokens: Sequence[str], keys: Mapping[str, PublicKey]) -> list[Checkpoint]:
    try:
        return [read_checkpoint(token_text(token), keys) for token in tokens]
    except InvalidToken as error:
        raise CannotRun(f"a known checkpoint is not valid: {error}") from None


def _require(option: str, why: str) -> str:
    raise CannotRun(f"{option} is needed: {why}")


def _open(path: str) -> BinaryIO:
    try:
        return sys.stdin.buffer if path == "-" else Path(path).open("rb")
    except OSError as error:
        raise CannotRun(f"{path} can't be read: {error.strerror}") from None
