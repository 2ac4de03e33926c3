"""`qwed trust score`, `seed`, `reinstate` and `replay`: what conduct made of a score, and the proof of it."""

import click

from qwed.cli.shared import Backend, print_json, printable, with_backend
from qwed.cli.tables import print_table, when_seconds
from qwed.domain.json_types import Json
from qwed.domain.nodes import agent_did

MAX_LISTED = 20


@click.command()
@click.argument("peer")
@with_backend
def score(backend: Backend, peer: str, as_json: bool) -> None:
    """Show the gateway's trust in PEER (an agent's id, or the URI its tokens name), and what moved it."""
    told = backend.trust_score(_uri(peer))
    if as_json:
        print_json(told)
        return
    _print_state(told)
    click.echo(f"{told['interactions']} interactions, {told['pending']} successes still waiting to settle")
    rows = [
        [
            when_seconds(item["at"]),
            item["event"],
            item["before"][:12],
            item["after"][:12],
            item["evidence"] or "-",
        ]
        for item in told["changes"][-MAX_LISTED:]
    ]
    if rows:
        print_table("What moved it", ["when", "event", "before", "after", "evidence"], rows)


@click.command()
@click.argument("peer")
@click.argument("value", metavar="SCORE")
@click.option("--reason", required=True, help="Why; it stays in the record.")
@with_backend
def seed(backend: Backend, peer: str, value: str, reason: str, as_json: bool) -> None:
    """Say where the trust in PEER begins: SCORE is a number from 0 to 1."""
    _tell(backend.seed_trust(_uri(peer), value, reason), as_json)


@click.command()
@click.argument("peer")
@click.option("--reason", required=True, help="Why; it stays in the record.")
@with_backend
def reinstate(backend: Backend, peer: str, reason: str, as_json: bool) -> None:
    """Trust PEER again after its trust was revoked; the score stays what conduct made it.

    What else is in its way is listed.
    """
    told = backend.reinstate_trust(_uri(peer), reason)
    _tell(told, as_json)
    if not as_json:
        for need in told["still_needed"]:
            click.echo(f"still needed: {printable(need)}")


def _uri(peer: str) -> str:
    return peer if ":" in peer else agent_did(peer)


def _tell(told: dict[str, Json], as_json: bool) -> None:
    if as_json:
        print_json(told)
    else:
        _print_state(told)


def _print_state(told: dict[str, Json]) -> None:
    state = "revoked" if told["revoked"] else "in force"
    click.echo(f"{printable(told['peer'])}: {told['score'][:12]}, {told['confidence']} confidence, {state}")


@click.command()
@with_backend
def replay(backend: Backend, as_json: bool) -> int:
    """Compute every trust score again from the ledger, and compare with what is stored, digit by digit.

    Exit codes: 0 all of it follows from the ledger, 1 something does not.
    """
    proof = backend.replay_trust()
    if as_json:
        print_json(proof)
    else:
        for difference in proof["differences"]:
            click.secho(printable(difference), fg="red")
        verdict = "follow from" if proof["holds"] else "DO NOT follow from"
        click.secho(
            f"{proof['changes']} changes of {proof['peers']} scores {verdict} the {proof['entries']} entries"
            " of the ledger",
            fg="green" if proof["holds"] else "red",
        )
        if proof["erased"]:
            click.echo(f"{proof['erased']} entries were erased: what they moved cannot be computed again")
    return 0 if proof["holds"] else 1
