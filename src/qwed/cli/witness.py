"""`qwed witness`: sign what a log shows only if the log never took anything back; ask witnesses to do so."""

import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import click
import httpx2

from qwed.cli.errors import CannotRun
from qwed.cli.groups import CommandGroup
from qwed.cli.shared import print_json
from qwed.domain.bounds import Bounds
from qwed.ect import base64url
from qwed.ect.keys import KeyUnusable, generate, load_file, save
from qwed.http.connections import Connections
from qwed.http.server import CannotServe, serve
from qwed.http.witness_app import WitnessApp, WitnessMemory, WitnessUnusable
from qwed.ledger.notes import (
    SIGNS,
    InvalidNote,
    NoteKey,
    NoteSigner,
    read_note,
    read_vkey,
    verify_witness_line,
)
from qwed.ledger.tlog import parse_log_checkpoint
from qwed.ledger.witness import SIZE_TYPE, AddCheckpoint
from qwed.settings import read_settings

ASK_SECONDS = 30.0
_KEY = click.option("--key", required=True, metavar="PATH", help="The witness's own key; made if missing.")
_NAME = click.option(
    "--name", required=True, metavar="NAME", help="What the witness is called: an address without scheme."
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Plain JSON, for programs.")


@click.group(cls=CommandGroup)
def witness() -> None:
    """Be a witness of logs (C2SP tlog-witness), or have this ledger witnessed."""


@witness.command()
@_KEY
@_NAME
@_JSON
def key(key: str, name: str, as_json: bool) -> int:
    """The witness's public key, as logs and verifiers take it."""
    vkey = _signer(key, name).cosigner.vkey
    if as_json:
        print_json({"vkey": vkey})
    else:
        click.echo(vkey)
    return 0


@witness.command("serve")
@_KEY
@_NAME
@click.option("--log", "logs", multiple=True, required=True, metavar="VKEY", help="A log's key; repeat it.")
@click.option("--folder", required=True, metavar="PATH", help="Where it remembers what it signed last.")
@click.option("--host", default="127.0.0.1", metavar="HOST", help="Where to listen [127.0.0.1].")
@click.option("--port", type=click.IntRange(0, 65_535), default=8800, help="0 is any that is free [8800].")
def serve_witness(key: str, name: str, logs: tuple[str, ...], folder: str, host: str, port: int) -> int:
    """Sign checkpoints of these logs, until Ctrl-C. Run it on a machine of its own.

    A log's key: GET /ledger/log/key of a gateway. The folder belongs to the key: a witness that lost its
    memory would sign another history.
    """
    signer = _signer(key, name)
    known: dict[str, list[NoteKey]] = defaultdict(list)
    for text in logs:
        log = _vkey(text, "--log")
        known[log.name].append(log)
    if any(log.kind != SIGNS for keys in known.values() for log in keys):
        raise CannotRun("--log takes the key of a log (kind 1), not of a witness")
    try:
        memory = WitnessMemory(Path(folder))
    except WitnessUnusable as error:
        raise CannotRun(str(error)) from None

    def tell(at: int) -> None:
        click.echo(f"witness {signer.cosigner.vkey} on http://{host}:{at}", err=True)

    app = WitnessApp(
        signer,
        {origin: tuple(keys) for origin, keys in known.items()},
        memory,
        lambda: int(time.time()),
        _say,
    )
    try:
        serve(app, host=host, port=port, on_listening=tell, connections=Connections(Bounds()))
    except CannotServe as error:
        raise CannotRun(str(error)) from None
    finally:
        memory.close()
    return 0


@witness.command()
@click.argument("address", metavar="URL")
@click.option("--vkey", required=True, metavar="VKEY", help="The witness's key: nobody else's line is kept.")
@click.option("--gateway", metavar="URL", help="The gateway whose ledger it is [QWED_BASE_URL].")
@click.option("--every", type=click.IntRange(min=1), metavar="SECONDS", help="Again and again, until Ctrl-C.")
@_JSON
def ask(address: str, vkey: str, gateway: str | None, every: int | None, as_json: bool) -> int:
    """Have the newest checkpoint signed by the witness at URL, and keep its line beside the checkpoint.

    QWED_API_KEY is an operator's key. The gateway knows the witness by `note_witnesses` in QWED_ECT_ISSUERS.
    """
    settings = read_settings()
    if settings.api_key is None:
        raise CannotRun("set QWED_API_KEY to an operator's key: it keeps the witness's signature")
    base = (gateway or settings.base_url or f"http://{settings.host}:{settings.port}").rstrip("/")
    headers = {"Authorization": f"Bearer {settings.api_key.reveal()}"}
    witness_key = _vkey(vkey, "--vkey")
    with httpx2.Client(timeout=ASK_SECONDS) as client:
        while True:
            try:
                found = _ask(client, base, headers, address.rstrip("/"), witness_key)
            except (httpx2.HTTPError, InvalidNote, CannotRun, ValueError, KeyError) as error:
                if every is None:
                    raise CannotRun(f"the witness did not sign: {error}") from None
                _say(f"the witness did not sign: {error}")
            else:
                if as_json:
                    print_json(found)
                else:
                    click.echo(f"{found['witness']} signed {found['size']} entries of {found['origin']}")
            if every is None:
                return 0
            time.sleep(every)


def _ask(
    client: httpx2.Client, base: str, headers: dict[str, str], address: str, witness_key: NoteKey
) -> dict[str, Any]:
    """One round; where the witness remembers a tree already, a second with the proof from there."""
    shown = _got(client.get(f"{base}/ledger/log/checkpoint", headers=headers))
    note, token = shown.text, shown.headers["QWED-Checkpoint"]
    checkpoint = parse_log_checkpoint(read_note(note).text)
    old, proof = 0, tuple[bytes, ...]()
    for _ in range(2):
        asked = AddCheckpoint(old, proof, note)
        answer = client.post(f"{address}/add-checkpoint", content=asked.body.encode())
        is_behind = answer.status_code == 409 and answer.headers.get("content-type", "").startswith(SIZE_TYPE)
        if not is_behind:
            break
        old = int(answer.text)
        if old > checkpoint.size:
            raise CannotRun(
                f"it signed {old} entries, and this ledger has {checkpoint.size}: something was taken back"
            )
        proof = _proof(client, base, headers, old, checkpoint.size)
    line = _got(answer).text
    if len(line.splitlines()) != 1:
        line = "".join(one for one in line.splitlines(keepends=True) if f" {witness_key.name} " in one)
    verify_witness_line(line, checkpoint.text, [witness_key])
    body = {"checkpoint": token, "cosignature": line}
    _got(client.post(f"{base}/ledger/checkpoint/cosignatures", json=body, headers=headers))
    return {"witness": witness_key.name, "origin": checkpoint.origin, "size": checkpoint.size, "line": line}


def _proof(
    client: httpx2.Client, base: str, headers: dict[str, str], old: int, size: int
) -> tuple[bytes, ...]:
    if old in (0, size):
        return ()
    params = {"first": old, "second": size}
    found = _got(client.get(f"{base}/ledger/proof/consistency", params=params, headers=headers)).json()
    return tuple(base64url.decode(item) for item in found["proof"])


def _got(answer: httpx2.Response) -> httpx2.Response:
    if answer.status_code >= 300:
        raise CannotRun(f"{answer.request.url} answered {answer.status_code}: {answer.text[:300].strip()}")
    return answer


def _signer(path: str, name: str) -> NoteSigner:
    place = Path(path)
    try:
        if not place.exists():
            save(generate("Ed25519"), place)
        return NoteSigner(name, load_file(place).unsafe_seed())
    except (KeyUnusable, InvalidNote) as error:
        raise CannotRun(str(error)) from None
    except TypeError:
        raise CannotRun(f"{path} is not an Ed25519 key: name another file, and one is made") from None


def _vkey(text: str, option: str) -> NoteKey:
    try:
        return read_vkey(text)
    except InvalidNote as error:
        raise CannotRun(f"{option}: {error}") from None


def _say(text: str) -> None:
    click.echo(f"witness: {text}", err=True)
