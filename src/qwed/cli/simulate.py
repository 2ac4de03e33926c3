"""`qwed simulate`: what trust scores do to honest and hostile agents, before you rely on them."""

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import click
import msgspec

from qwed.assurance.explanations import Thresholds
from qwed.assurance.plots import line_chart
from qwed.assurance.scores import Confidence, ScoreRules
from qwed.assurance.simulation import Fate, Scenario, SimulationResult
from qwed.assurance.simulation import simulate as run
from qwed.cli.shared import print_json
from qwed.cli.tables import print_table
from qwed.domain.json_types import Json

COLUMNS = [
    "population",
    "names",
    "good tasks",
    "abuses",
    "gained",
    "refused",
    "waited",
    "stopped after",
    "revoked",
]


class _Amount(click.ParamType[Decimal]):
    name = "decimal"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        try:
            return Decimal(value)
        except InvalidOperation:
            self.fail(f"{value!r} is not a decimal number", param, ctx)


@click.command()
@click.option("--weeks", type=click.IntRange(1, 104), default=8, help="How long [8].")
@click.option("--agents", type=click.IntRange(1, 500), default=20, help="Of each population [20].")
@click.option("--seed", type=int, default=1, help="Where chance begins [1].")
@click.option("--initial", type=_Amount(), default="0.5", help="Score of an unknown agent [0.5].")
@click.option("--alpha", type=_Amount(), default="0.01", help="Added by a success [0.01].")
@click.option("--beta", type=_Amount(), default="0.8", help="Factor of a failure [0.8].")
@click.option("--floor", type=_Amount(), default="0.2", help="Below it, trust is revoked [0.2].")
@click.option("--threshold", type=_Amount(), default="0.7", help="Score for what matters [0.7].")
@click.option(
    "--confidence",
    type=click.Choice(["low", "medium", "high"]),
    default="medium",
    help="Experience for what matters [medium].",
)
@click.option("--detection", type=click.FloatRange(0, 1), default=0.9, help="Abuses noticed [0.9].")
@click.option(
    "--plots", type=click.Path(path_type=Path), metavar="FOLDER", help="Write the plots there, as SVG."
)
@click.option("--json", "as_json", is_flag=True, help="Plain JSON, for programs.")
def simulate(
    weeks: int,
    agents: int,
    seed: int,
    initial: Decimal,
    alpha: Decimal,
    beta: Decimal,
    floor: Decimal,
    threshold: Decimal,
    confidence: str,
    detection: float,
    plots: Path | None,
    as_json: bool,
) -> int:
    """Populations of agents over simulated weeks: what each gained before it was stopped, and how long
    honest ones waited. The same options give the same result."""
    try:
        rules = ScoreRules(initial=initial, alpha=alpha, beta=beta, floor=floor)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if not 0 <= threshold <= 1:
        raise click.UsageError(f"--threshold is within [0, 1], not {threshold}")
    wanted = Thresholds(threshold, Confidence[confidence.upper()])
    result = run(Scenario(rules, wanted, weeks, agents, detection=detection, seed=seed))
    if plots is not None:
        for name, text in charts(result).items():
            plots.mkdir(parents=True, exist_ok=True)
            (plots / name).write_text(text, encoding="utf-8")
    if as_json:
        print_json(msgspec.to_builtins(result))
    else:
        print_table(
            f"{weeks} weeks, {agents} agents each", list(COLUMNS), [row(fate) for fate in result.fates]
        )
    return 0


def row(fate: Fate) -> list[str]:
    """Averages per agent; the two spans are medians in days."""
    return [
        fate.kind.value,
        str(fate.names),
        f"{fate.good_tasks:.1f}",
        f"{fate.abuses:.1f}",
        f"{fate.gained:.1f}",
        f"{fate.refused:.1f}",
        _days(fate.days_to_sensitive),
        _days(fate.days_to_stop),
        f"{fate.revoked_share:.0%}",
    ]


def _days(days: float | None) -> str:
    return "never" if days is None else f"{days:.1f} d"


def charts(result: SimulationResult) -> dict[str, str]:
    return {
        "scores.svg": line_chart("Mean trust score", "day", "score", _name_members(result.scores)),
        "gains.svg": line_chart("Gained by abuse, per agent", "day", "value", _name_members(result.gains)),
    }


def _name_members(lines: Any) -> dict[str, Json]:
    return {kind.value: values for kind, values in lines.items()}
