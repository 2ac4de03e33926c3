"""`qwed ledger`: the record that cannot be changed unnoticed, checked, exported and proven."""

import sqlite3
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import click

from qwed.bootstrap import signing_key_path, source_of
from qwed.cli.ect import read_jwks, token_text
from qwed.cli.errors import CannotRun
from qwed.cli.groups import CommandGroup
from qwed.cli.ledger_remote import URL_OPTION, RemoteLedger, find_remote
from qwed.cli.ledger_store import DATABASE_OPTION, JSON_OPTION, find_store
from qwed.cli.ledger_texts import tell_broken, tell_export
from qwed.cli.ocsf import write_ocsf
from qwed.cli.replay import replay_ledger
from qwed.cli.shared import print_json
from qwed.domain.times import iso
from qwed.ect.jwk import InvalidKey, PublicKey
from qwed.ect.jws import InvalidToken
from qwed.ect.key_files import open_ring, read_ring
from qwed.ect.keys import KeyUnusable, node_issuer
from qwed.ect.signatures import keys_of
from qwed.gateway.kernel.ports import StoreUnavailable
from qwed.http.pages import lone_page
from qwed.ledger import export as exports
from qwed.ledger.audit import AuditKind, Tampering
from qwed.ledger.checkpoints import Checkpoint, Cosigned, cosign, read_checkpoint
from qwed.ledger.merkle import NoSuchProof
from qwed.ledger.notes import InvalidNote, NoteKey, read_vkey
from qwed.ledger.passkeys import PasskeyLibraryMissing
from qwed.settings import PostgresUrl, Settings
from qwed.stores.sqlite.counters import CounterAudit, verify_counters
from qwed.stores.sqlite.ledger import Followed, SqliteLedger, export_ledger, verify_ledger

_JWKS = click.option("--jwks", metavar="FILE", help="The gateway's /.well-known/jwks.json [the key file].")


@click.group(cls=CommandGroup)
def ledger() -> None:
    """Verify, export and prove the signed record."""


@ledger.command()
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
@JSON_OPTION
def verify(
    database: str | None,
    base_url: str | None,
    exported: str | None,
    jwks: str | None,
    witness_jwks: str | None,
    witness_vkey: tuple[str, ...],
    known: tuple[str, ...],
    as_json: bool,
) -> int:
    """Follow every entry, signature and payload; compare rows that decide (agents, keys, approvals, trust …)
    with their last entries; recompute counters. Over HTTP: every entry and the last signature, with the keys
    that the gateway publishes, or --jwks. Exit codes: 0 valid, 1 broken, 2 could not look."""
    remote = None if exported is not None else find_remote(database, base_url)
    if remote is not None:
        return _verify_remote(remote, jwks, witness_jwks, witness_vkey, known, as_json)
    if exported is not None:
        keys = _keys(jwks or _require("--jwks", "an export is verified with the public keys alone"))
        witnesses = _keys(witness_jwks) if witness_jwks else None
        checkpoints = _read_known(known, keys)
        noting = [_vkey(text) for text in witness_vkey]
        with _open(exported) as lines:
            try:
                return tell_export(exports.verify(lines, keys, witnesses, checkpoints, noting), as_json)
            except PasskeyLibraryMissing as error:
                raise CannotRun(str(error)) from None
    store = find_store(database)
    path = store.path
    keys = _keys(jwks) if jwks else deployment_keys(store.settings, path)
    try:
        found = verify_ledger(path, keys, _read_known(known, keys), store.waiting)
        if isinstance(found, Tampering):
            return tell_broken(found.says, as_json, kind=found.kind, first=found.seq, last=found.last)
        counted = verify_counters(path, time.time_ns() // 1_000_000, is_copy=store.is_copy)
    except sqlite3.Error as error:
        raise CannotRun(f"{path} can't be read: {error}") from None
    except PasskeyLibraryMissing as error:
        raise CannotRun(str(error)) from None
    if counted.differences:
        return tell_broken("; ".join(counted.differences), as_json, kind=AuditKind.EDITED)
    head = found.audited.head
    if as_json:
        print_json(
            {
                "valid": True,
                "ledger": found.ledger,
                "entries": head.seq,
                "head": head.hash.hex(),
                "root": found.audited.root.hex(),
                "compared": found.payloads,
                "erased": found.erased,
                "passkeys": found.passkeys,
                "rows": _rows(found),
                "counters": {"checked": counted.checked, "not_checked": counted.not_checked},
            }
        )
    else:
        click.echo(
            f"{click.style('VALID', fg='green', bold=True)}  {head.seq} entries, all signed,"
            f" head {head.hash.hex()}\n"
            f"       {found.payloads} compared with their payloads, {found.erased} payloads erased"
        )
        for line in (*_describe_passkeys(found), *_describe_rows(found), *_describe_counters(counted)):
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
    keys = _keys(jwks) if jwks else remote.keys()
    witnesses = _keys(witness_jwks) if witness_jwks else None
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
    keys = _keys(jwks)
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


def deployment_keys(settings: Settings, database: Path) -> Mapping[str, PublicKey]:
    """The public halves of the deployment's keys, from the file it signs with."""
    given = settings.database if isinstance(settings.database, PostgresUrl) else database
    path = signing_key_path(given, settings.data_dir)
    try:
        return read_ring(path, node_issuer(settings.node_name), source_of(settings.signing_key)).known()
    except KeyUnusable as error:
        raise CannotRun(f"{error}; give the public keys with --jwks") from None


def _describe_counters(counted: CounterAudit) -> Iterator[str]:
    yield f"{counted.checked} counters (budgets, rates, steps) follow from the activities"
    if counted.not_checked:
        yield f"{counted.not_checked} counters not checked: the activities they follow from are gone"


def _keys(path: str) -> Mapping[str, PublicKey]:
    try:
        return keys_of(read_jwks(path))
    except InvalidKey as error:
        raise CannotRun(f"{path}: {error}") from None


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


ledger.add_command(replay_ledger)
ledger.add_command(write_ocsf)
