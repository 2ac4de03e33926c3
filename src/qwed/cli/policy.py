"""`qwed policy`."""

from pathlib import Path

import click

from qwed.bootstrap import CannotStart, usable_policy
from qwed.cli.groups import CommandGroup
from qwed.cli.serve import DEFAULT_POLICY_FILE
from qwed.cli.shared import print_json
from qwed.cli.tables import print_table
from qwed.gateway.kernel.wire import encode_json
from qwed.policy import explain


@click.group(cls=CommandGroup)
def policy() -> None:
    """The policy file: actions, tools, prices, limits."""


@policy.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Plain JSON, for programs.")
def check(file: Path | None, as_json: bool) -> None:
    """Check FILE [qwed.yaml] and explain what it changes.

    Every mistake is named with its line. Without a file the built-in policy is in force.
    """
    if file is None and DEFAULT_POLICY_FILE.exists():
        file = DEFAULT_POLICY_FILE
    try:
        explanation = explain(usable_policy(file))
    except CannotStart as error:
        raise click.ClickException(str(error)) from None
    if as_json:
        print_json(explanation)
        return
    click.echo(f"{file or 'the built-in policy'} is valid: {explanation.version}")
    if explanation.is_default:
        click.echo("nothing differs from the defaults")
        return
    rows = [[c.path, _short(c.default), _short(c.in_force)] for c in explanation.changes]
    print_table("What differs from the defaults", ["key", "default", "in force"], rows)


def _short(value: object) -> str:
    return "-" if value is None else encode_json(value).decode()[:100]
