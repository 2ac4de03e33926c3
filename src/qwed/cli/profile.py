"""`qwed profile`: which assurance is in force here, and why."""

from collections.abc import Mapping
from pathlib import Path

import click

from qwed.assurance.in_force import in_force
from qwed.assurance.profiles import Mechanism, profile_named
from qwed.bootstrap import CannotStart, lacking, usable_policy
from qwed.cli.groups import CommandGroup
from qwed.cli.serve import policy_path
from qwed.cli.shared import print_json
from qwed.cli.tables import print_table
from qwed.domain.policy import Profile, plain_amount
from qwed.settings import read_settings


@click.group(cls=CommandGroup)
def profile() -> None:
    """Assurance profiles: relaxed, standard, regulated."""


@profile.command()
@click.argument("name", required=False, type=click.Choice([item.value for item in Profile]))
@click.option("--policy", "file", type=click.Path(path_type=Path), help="The policy file [as qwed serve].")
@click.option("--json", "as_json", is_flag=True, help="Plain JSON, for programs.")
def explain(name: str | None, file: Path | None, as_json: bool) -> int:
    """Say what is in force under the policy's profile, or would be under NAME, and why.

    Exit codes: 0 it can be given, 1 something is missing.
    """
    settings = read_settings()
    try:
        policy = usable_policy(file or policy_path(settings))
    except CannotStart as error:
        raise click.ClickException(str(error)) from None
    asked = profile_named(name) if name is not None else policy.profile
    levels = {level: plain_amount(score) for level, score in sorted(policy.assurance.level_scores.items())}
    if asked is None:
        _say_levels(levels)
        click.echo("no profile is set: nothing is asked for. Set 'profile' in the policy, or name one here.")
        return 0
    is_durable = not isinstance(settings.database, str)
    given = in_force(policy, lacks=lacking(is_durable=is_durable))[asked]
    rows = [
        [
            item.mechanism.value,
            item.cell.says,
            _state(item.mechanism, item.is_on),
            item.why,
        ]
        for item in given.settings
    ]
    if as_json:
        print_json(
            {
                "profile": asked.value,
                "mechanisms": [dict(zip(("name", "asks", "is", "why"), row, strict=True)) for row in rows],
                "level_scores": levels,
                "problems": given.problems,
                "warnings": given.warnings,
            }
        )
    else:
        print_table(f"The profile '{asked}'", ["mechanism", "asks for", "is", "because"], rows)
        _say_levels(levels)
        for warning in given.warnings:
            click.secho(f"warning: {warning}", fg="yellow")
        for problem in given.problems:
            click.secho(problem, fg="red")
    return 1 if given.problems else 0


def _say_levels(levels: Mapping[str, str]) -> None:
    for level, score in levels.items():
        click.echo(f"trust level {level} asks for a score of {score}: below it, a lower level holds")


def _state(mechanism: Mechanism, is_on: bool) -> str:
    """Every decision is an entry of the ledger, whatever the profile asks for."""
    return "on" if is_on or mechanism is Mechanism.LEDGER else "off"
