"""`qwed attest`: attestations, checked with the key set alone."""

import time

import click

from qwed.cli.ect import read_jwks, token_text
from qwed.cli.errors import CannotRun
from qwed.cli.groups import CommandGroup
from qwed.cli.shared import print_json
from qwed.ect import InvalidToken
from qwed.ect.attestations import UNIFORM_REFUSAL, read_attestation
from qwed.ect.jwk import InvalidKey
from qwed.ect.signatures import keys_of


@click.group(cls=CommandGroup)
def attest() -> None:
    """Attestations: signed statements of what the gateway approved."""


@attest.command()
@click.argument("token")
@click.option("--jwks", required=True, metavar="FILE", help="The gateway's /.well-known/jwks.json.")
@click.option("--action-hash", metavar="HEX", help="The action it has to be about (SHA-256).")
@click.option("--at", type=int, metavar="SECONDS", help="As if it were this time (Unix) [now].")
@click.option("--json", "as_json", is_flag=True, help="Plain JSON, for programs.")
def verify(token: str, jwks: str, action_hash: str | None, at: int | None, as_json: bool) -> int:
    """Check the attestation TOKEN (- is standard input). Exit codes: 0 valid, 1 not, 2 could not look."""
    try:
        keys = keys_of(read_jwks(jwks))
    except InvalidKey as error:
        raise CannotRun(f"{jwks}: {error}") from None
    try:
        read = read_attestation(token_text(token), keys, int(time.time()) if at is None else at)
        if action_hash is not None and read.action_hash != action_hash.removeprefix("sha256:").lower():
            raise InvalidToken("about another action")
    except InvalidToken:
        if as_json:
            print_json({"valid": False, "error": UNIFORM_REFUSAL})
        else:
            click.secho(UNIFORM_REFUSAL, fg="red", bold=True)
        return 1
    if as_json:
        print_json({"valid": True, "attestation": read})
    else:
        click.secho(f"VALID  {read.jti}  by {read.iss}  for action {read.action_hash}", fg="green", bold=True)
    return 0
