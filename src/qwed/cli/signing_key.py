"""`qwed signing-key`: the key with which the gateway signs what it decided."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

import click

from qwed.bootstrap import signing_key_path, source_of
from qwed.cli.errors import CannotRun
from qwed.cli.groups import CommandGroup
from qwed.cli.shared import print_json
from qwed.ect.key_files import KeySource, read_ring, retire_for, revoke, rotate
from qwed.ect.keys import KeyRing, KeyUnusable, generate, load, node_issuer, save
from qwed.ect.remote_keys import create_remote, is_remote
from qwed.settings import environment, read_settings

_DATABASE = click.option("--database", metavar="PATH", help="The store whose key it is [qwed.db].")
_ALGORITHM = click.option(
    "--algorithm", type=click.Choice(["ES256", "ES384", "Ed25519"]), default="ES256", help="How it signs."
)
Found = TypeVar("Found")
_JSON = click.option("--json", "as_json", is_flag=True, help="Plain JSON, for programs.")


@click.group("signing-key", cls=CommandGroup)
def signing_key() -> None:
    """The key that signs decisions, attestations and checkpoints; it stays where it is."""


@signing_key.command()
@_DATABASE
@_JSON
def show(database: str | None, as_json: bool) -> int:
    """The public keys: the one that signs, and those that did. With --json, as a JWKS."""
    place = _place(database)
    _tell(_usable(lambda: read_ring(place.path, place.issuer, place.source)), as_json)
    return 0


@signing_key.command("create")
@click.option("--out", metavar="FILE", help="Where to write it [the place where the store expects it].")
@click.option("--in", "uri", metavar="URI", help="Make it inside an HSM: pkcs11:token=…;object=…?…")
@_ALGORITHM
@_DATABASE
@_JSON
def create_key(database: str | None, out: str | None, uri: str | None, algorithm: str, as_json: bool) -> int:
    """Make a key before the first start, to hand it to several gateways. An existing one is left alone."""
    place = _place(database)
    if uri is not None:
        return _create_inside(uri, algorithm, place, as_json)
    path = Path(out) if out else place.path
    try:
        save(generate(algorithm), path)
    except KeyUnusable as error:
        raise CannotRun(str(error)) from None
    _tell(_usable(lambda: read_ring(path, place.issuer)), as_json)
    return 0


def _create_inside(uri: str, algorithm: str, place: "_KeyPlace", as_json: bool) -> int:
    if not is_remote(uri):
        raise CannotRun("--in takes pkcs11:…; a key in a file is made with --out")
    _usable(lambda: create_remote(uri, algorithm, environment()))
    public = _usable(lambda: load(uri, environment())).public
    kid = f"{place.issuer}#{public.thumbprint()}"
    if as_json:
        print_json({"keys": [{**public.publish(), "kid": kid}]})
    else:
        click.echo(f"{click.style('made', fg='green')}     {kid}  ({', '.join(public.algorithms)})")
        click.echo(
            "set QWED_SIGNING_KEY to its URI; a store that has a key already: signing-key rotate --to URI"
        )
    return 0


@signing_key.command("rotate")
@_ALGORITHM
@click.option("--to", "uri", metavar="URI", help="A key that is there: pkcs11:…, awskms:…, gcpkms:…, file:…")
@click.option(
    "--new-log-key",
    is_flag=True,
    help="Also a new key for witnesses: after a leak. Send them its public half.",
)
@_DATABASE
@_JSON
def rotate_key(
    database: str | None, algorithm: str, uri: str | None, new_log_key: bool, as_json: bool
) -> int:
    """Make a new key; the old one stays published, so that what it signed can be verified.

    The ledger's Ed25519 key, by which witnesses know it, stays as it is. A running gateway signs with the
    old one until it is started again.
    """
    path, issuer, source = _place(database)
    now = int(time.time())
    if uri is None and source is not None:
        raise CannotRun(
            "the key is where QWED_SIGNING_KEY says: make a new one there, and rotate --to its URI"
        )
    if uri is not None:
        if new_log_key:
            raise CannotRun("--new-log-key belongs to keys in files")
        to = KeySource(uri, environment())
        _tell(_usable(lambda: retire_for(path, issuer, now, source, to)), as_json)
        click.echo(
            "now set QWED_SIGNING_KEY to that URI, start the gateway, and remove the old key", err=True
        )
        return 0
    _tell(_usable(lambda: rotate(path, issuer, now, algorithm, new_log_key=new_log_key)), as_json)
    return 0


@signing_key.command("revoke")
@click.argument("kid")
@_DATABASE
@_JSON
def revoke_key(kid: str, database: str | None, as_json: bool) -> int:
    """Take back a key that no longer signs: nothing that it signed is accepted any more."""
    place = _place(database)
    now = int(time.time())
    _tell(_usable(lambda: revoke(place.path, place.issuer, kid, now, place.source)), as_json)
    return 0


class _KeyPlace(NamedTuple):
    path: Path
    issuer: str
    source: KeySource | None


def _place(database: str | None) -> _KeyPlace:
    settings = read_settings(options={"database": database})
    if isinstance(settings.database, str):
        raise CannotRun("a gateway in memory has a key of its own each time it starts")
    path = signing_key_path(settings.database, settings.data_dir)
    return _KeyPlace(path, node_issuer(settings.node_name), source_of(settings.signing_key))


def _usable(work: Callable[[], Found]) -> Found:
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
