"""`qwed trust score` and `qwed trust replay`: what conduct made of a score, and the proof of it."""

import click

from qwed.cli.shared import Backend, print_json, printable, with_backend
from qwed.cli.tables import print_table, when_seconds
from qwed.domain.nodes import agent_did

MAX_LISTED = 20


@click.command()
@click.argument("peer")
@with_backend
def score(backend: Backend, peer: str, as_json: bool) -> None:
    """Show the gateway's trust in PEER (an agent's id, or the URI its tokens name), and what moved it."""
    told = backend.trust_score(peer if ":" in peer else agent_did(peer))
    if as_json:
        print_json(told)
        return
    state = "revoked" if told["revoked"] else "in force"
    click.echo(f"{printable(told['peer'])}: {told['score'][:12]}, {told['confidence']} confidence, {state}")
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
