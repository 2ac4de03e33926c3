"""`qwed provenance`: where data came from, asked of the ledger."""

import click

from qwed.cli.groups import CommandGroup
from qwed.cli.shared import Backend, print_json, printable, with_backend
from qwed.cli.tables import print_table, when_seconds
from qwed.domain.json_types import Json


@click.group(cls=CommandGroup)
def provenance() -> None:
    """Where data came from: who touched it, how it was changed, whether everything is there."""


@provenance.command()
@click.argument("jti")
@with_backend
def who(backend: Backend, jti: str, as_json: bool) -> None:
    """Which agents touched what token JTI is about."""
    found = backend.provenance(jti, "who")
    if as_json:
        print_json(found)
        return
    rows = [
        [
            item["agent"],
            str(item["tokens"]),
            when_seconds(item["first"]),
            when_seconds(item["last"]),
            ", ".join(item["actions"]),
        ]
        for item in found["agents"]
    ]
    print_table("Who touched it", ["agent", "tokens", "first", "last", "actions"], rows)


@provenance.command()
@click.argument("jti")
@with_backend
def transformed(backend: Backend, jti: str, as_json: bool) -> None:
    """What was done to the data before token JTI, in order."""
    found = backend.provenance(jti, "transformed")
    if as_json:
        print_json(found)
        return
    steps = found["steps"]
    rows = [
        [when_seconds(step["at"]), step["agent"], step["action"], _say(step["lineage"])] for step in steps
    ]
    print_table("What was done to it", ["when", "agent", "action", "says"], rows)


@provenance.command()
@click.argument("jti")
@with_backend
def complete(backend: Backend, jti: str, as_json: bool) -> int:
    """Whether everything before token JTI is on record.

    Exit codes: 0 complete, 1 incomplete or unknown.
    """
    found = backend.provenance(jti, "complete")
    if as_json:
        print_json(found)
    else:
        click.echo(f"{found['status']}: {found['visited']} tokens")
        for missing in found["missing"]:
            click.secho(f"missing {printable(missing)}", fg="red")
    return 0 if found["status"] == "complete" else 1


@provenance.command()
@click.argument("jti")
@click.option("--dot", "as_dot", is_flag=True, help="As DOT, to be drawn with Graphviz.")
@with_backend
def graph(backend: Backend, jti: str, as_dot: bool, as_json: bool) -> None:
    """The graph of everything before token JTI."""
    found = backend.provenance(jti, "graph")
    if as_dot:
        click.echo(found["dot"], nl=False)
    elif as_json:
        print_json({name: value for name, value in found.items() if name != "dot"})
    else:
        rows = [[node["jti"], node["agent"], node["action"], node["level"]] for node in found["nodes"]]
        print_table(f"{len(found['edges'])} edges between", ["token", "agent", "action", "level"], rows)


@provenance.command()
@click.argument("conversation")
@click.argument("value")
@with_backend
def value(backend: Backend, conversation: str, value: str, as_json: bool) -> int:
    """Who said VALUE in CONVERSATION: the user, a tool's result, or nobody.

    Exit codes: 0 somebody said it, 1 nobody did, or nothing was reported.
    """
    found = backend.origins(conversation, value)
    traced = [origin for agent in found["agents"] for origin in agent["origins"]]
    if as_json:
        print_json(found)
    else:
        for agent in found["agents"]:
            click.echo(f"{printable(agent['agent_id'])}: {agent['provenance']}")
            for origin in agent["origins"]:
                click.echo(f"  {origin['origin']}  {printable(origin['says'])}")
        if not found["agents"]:
            click.echo("no conversation of that name is on record")
    return 0 if any(origin["origin"] != "unsaid" for origin in traced) else 1


def _say(lineage: dict[str, Json]) -> str:
    return "; ".join(f"{name}: {value}" for name, value in lineage.items())
