"""`qwed signing-key`: the key with which the gateway signs what it decided."""

import time
from collections.abc import Callable
from pathlib import Path

import click

from qwed.bootstrap import signing_key_path
from qwed.cli.errors import CannotRun
from qwed.cli.groups import CommandGroup
from qwed.cli.shared import print_json
from qwed.ect.key_files import read_ring, revoke, rotate
from qwed.ect.keys import KeyRing, KeyUnusable, generate, node_issuer, save
from qwed.settings import read_settings

_DATABASE = click.option("--database", metavar="PATH", help="The store whose key it is [qwed.db].")
_ALGORITHM = click.option(
    "--algorithm", type=click.Choice(["ES256", "ES384", "Ed25519"]), default="ES256", help="How it signs."
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Plain JSON, for programs.")


@click.group("signing-key", cls=CommandGroup)
def signing_key() -> None:
    """The key that signs decisions, attestations and checkpoints; it stays in its file."""


@signing_key.command()
@_DATABASE
@_JSON
def show(database: str | None, as_json: bool) -> int:
    """The public keys: the one that signs, and those that did. With --json, as a JWKS."""
    path, issuer = _place(database)
    _tell(_usable(lambda: read_ring(path, issuer)), as_json)
    return 0


@signing_key.command("create")
@click.option("--out", metavar="FILE", help="Where to write it [the place where the store expects it].")
@_ALGORITHM
@_DATABASE
@_JSON
def create_key(database: str | None, out: str | None, algorithm: str, as_json: bool) -> int:
    """Make a key before the first start, to hand it to several gateways. An existing file is left alone."""
    place, issuer = _place(database)
    path = Path(out) if out else place
    try:
        save(generate(algorithm), path)
    except KeyUnusable as error:
        raise CannotRun(str(error)) from None
    _tell(_usable(lambda: read_ring(path, issuer)), as_json)
    return 0


@signing_key.command("rotate")
@_ALGORITHM
@click.option(
    "--new-log-key", is_flag=True, help="Also a new key for witnesses: after a leak. They have to be told."
)
@_DATABASE
@_JSON
def rotate_key(database: str | None, algorithm: str, new_log_key: bool, as_json: bool) -> int:
    """Make a new key; the old one stays published, so that what it signed can be verified.

    The ledger's Ed25519 key, by which witnesses know it, stays as it is. A running gateway signs with the
    old one until it is started again.
    """
    path, issuer = _place(database)
    now = int(time.time())
    _tell(_usable(lambda: rotate(path, issuer, now, algorithm, new_log_key=new_log_key)), as_json)
    return 0


@signing_key.command("revoke")
@click.argument("kid")
@_DATABASE
@_JSON
def revoke_key(kid: str, database: str | None, as_json: bool) -> int:
    """Take back a key that no longer signs: nothing that it signed is accepted any more."""
    path, issuer = _place(database)
    _tell(_usable(lambda: revoke(path, issuer, kid, int(time.time()))), as_json)
    return 0


def _place(database: str | None) -> tuple[Path, str]:
    settings = read_settings(options={"database": database})
    if isinstance(settings.database, str):
        raise CannotRun("a gateway in memory has a key of its own each time it starts")
    return signing_key_path(settings.database, settings.data_dir), node_issuer(settings.node_name)


def _usable(work: Callable[[], KeyRing]) -> KeyRing:
    try:
        return work()
    except KeyUnusable as error:
        raise CannotRun(str(error)) from None


def _tell(ring: KeyRing, as_json: bool) -> None:
    if as_json:
        print_json(ring.jwks())
        return
    click.echo(f"{click.style('signs', fg='green')}    {ring.kid}  ({ring.active.algorithm})")
    for old in ring.retired:
        state = "retired" if old.revoked_at is None else click.style("revoked", fg="red")
        click.echo(f"{state}  {old.kid}")
