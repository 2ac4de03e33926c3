"""`qwed ect`: execution context tokens, in this process; no gateway is asked."""

import sys
import time
from pathlib import Path

import click

from qwed.cli.errors import CannotRun
from qwed.cli.groups import CommandGroup
from qwed.cli.shared import print_json
from qwed.domain.json_text import JsonError, loads
from qwed.domain.json_types import Json
from qwed.ect import (
    Accepted,
    InvalidClaims,
    InvalidToken,
    KeyRing,
    KeyUnusable,
    Level,
    RefusedToken,
    TokenMemory,
    TrustedKeys,
    Unavailable,
    Verifier,
    hash_bytes,
    parse,
)
from qwed.ect import issue as issue_token
from qwed.ect import load as load_key
from qwed.ect.jwk import InvalidKey
from qwed.settings import environment

_LEVELS = click.Choice([level.name for level in Level])


@click.group(cls=CommandGroup)
def ect() -> None:
    """Execution context tokens: inspect, verify, issue.

    Exit codes: 0 accepted, 1 refused, 2 the command could not be carried out.
    """


@ect.command()
@click.argument("token")
def inspect(token: str) -> int:
    """Show what is in TOKEN (- is standard input), verifying nothing."""
    text = token_text(token)
    try:
        unverified = parse(text)
    except InvalidToken as error:
        click.echo(f"not a token: {error}", err=True)
        return 1
    print_json(
        {
            "verified": False,
            "level": unverified.level.name,
            "header": unverified.signed.header if unverified.signed is not None else None,
            "claims": unverified.claims,
            "token_hash": hash_bytes(text.encode("ascii")),
        }
    )
    return 0


@ect.command()
@click.argument("token")
@click.option("--jwks", required=True, metavar="FILE", help="The issuer's key set.")
@click.option("--issuer", required=True, metavar="URI", help="Whose keys these are.")
@click.option("--audience", required=True, metavar="NAME", help="The verifier's name, as in aud.")
@click.option("--parent", "parents", multiple=True, metavar="TOKEN", help="Presented with it; repeatable.")
@click.option("--algorithm", "algorithms", multiple=True, help="Allowed algorithms [ES256]; repeatable.")
@click.option("--level", type=_LEVELS, default="L2", help="At least [L2]; L3 needs a ledger.")
@click.option("--at", type=int, metavar="SECONDS", help="As if it were this time (Unix) [now].")
@click.option("--json", "as_json", is_flag=True, help="Plain JSON, for programs.")
def verify(
    token: str,
    jwks: str,
    issuer: str,
    audience: str,
    parents: tuple[str, ...],
    algorithms: tuple[str, ...],
    level: str,
    at: int | None,
    as_json: bool,
) -> int:
    """Verify TOKEN (- is standard input): signature, audience, times, claims, graph."""
    memory = TokenMemory()
    try:
        keys = TrustedKeys.from_jwks({issuer: read_jwks(jwks)})
        verifier = Verifier(
            [audience], keys, memory, memory, minimum=Level[level], algorithms=algorithms or ["ES256"]
        )
    except (InvalidKey, ValueError) as error:
        raise CannotRun(str(error)) from None
    now = int(time.time()) if at is None else at
    return _finish(verifier.verify(token_text(token), now, alongside=parents), as_json)


def _finish(answer: Accepted | RefusedToken | Unavailable, as_json: bool) -> int:
    if isinstance(answer, Accepted):
        said: dict[str, Json] = {
            "accepted": True,
            "level": answer.level.name,
            "chain_level": answer.chain_level.name,
            "claims": answer.ect.claims,
        }
        line = f"ACCEPTED  {answer.level.name}  {answer.ect.claims.exec_act!r}  {answer.ect.claims.jti}"
    elif isinstance(answer, RefusedToken):
        said = {"accepted": False, "reason": answer.reason.value, "says": answer.says}
        line = f"REFUSED  {answer.reason.value}: {answer.says}"
    else:
        raise CannotRun(answer.says)
    if as_json:
        print_json(said)
    else:
        click.secho(line, fg="green" if said["accepted"] else "red", bold=True)
    return 0 if said["accepted"] else 1


@ect.command()
@click.option("--key", required=True, metavar="URI", help="file:PATH or env:NAME, a private key in PEM.")
@click.option("--issuer", required=True, metavar="URI", help="Who issues it, as in iss.")
@click.option("--audience", "audiences", required=True, multiple=True, help="For whom; repeatable.")
@click.option("--action", required=True, metavar="NAME", help="What was done, as in exec_act.")
@click.option("--parent", "parents", multiple=True, metavar="JTI", help="What came before; repeatable.")
@click.option("--workflow", metavar="UUID", help="The workflow it belongs to, as in wid.")
@click.option("--input", "input_file", metavar="FILE", help="Its SHA-256 becomes inp_hash.")
@click.option("--output", "output_file", metavar="FILE", help="Its SHA-256 becomes out_hash.")
@click.option("--ext", metavar="JSON", help="Extension claims: an object.")
@click.option("--lifetime", type=int, default=600, metavar="SECONDS", help="Until exp [600].")
@click.option("--dialect", type=click.Choice(["00", "01"]), default="00", help="Revision of the draft [00].")
def issue(
    key: str,
    issuer: str,
    audiences: tuple[str, ...],
    action: str,
    parents: tuple[str, ...],
    workflow: str | None,
    input_file: str | None,
    output_file: str | None,
    ext: str | None,
    lifetime: int,
    dialect: str,
) -> int:
    """Issue a signed token and print it."""
    try:
        ring = KeyRing(issuer, load_key(key, environment()))
        token = issue_token(
            ring,
            action,
            audiences[0] if len(audiences) == 1 else audiences,
            int(time.time()),
            par=parents,
            wid=workflow,
            inp_hash=_file_hash(input_file),
            out_hash=_file_hash(output_file),
            ext=None if ext is None else loads(ext.encode()),
            lifetime_seconds=lifetime,
            dialect=dialect,
        )
    except (KeyUnusable, InvalidClaims, JsonError) as error:
        raise CannotRun(str(error)) from None
    click.echo(token)
    return 0


def token_text(argument: str) -> str:
    return (sys.stdin.read() if argument == "-" else argument).strip()


def read_jwks(path: str) -> dict[str, Json]:
    """Raises `CannotRun`."""
    try:
        value = loads(Path(path).read_bytes())
    except OSError as error:
        raise CannotRun(f"{path} can't be read: {error.strerror}") from None
    except JsonError as error:
        raise CannotRun(f"{path} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise CannotRun(f"{path} is not a key set")
    return value


def _file_hash(path: str | None) -> str | None:
    if path is None:
        return None
    try:
        return hash_bytes(Path(path).read_bytes())
    except OSError as error:
        raise CannotRun(f"{path} can't be read: {error.strerror}") from None
