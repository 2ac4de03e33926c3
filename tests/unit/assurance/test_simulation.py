"""The simulator: the same seed gives the same world, and the populations fare as they must."""

import xml.etree.ElementTree as ElementTree
from decimal import Decimal

import msgspec
import pytest
from click.testing import CliRunner

from qwed.assurance.explanations import Thresholds
from qwed.assurance.plots import line_chart
from qwed.assurance.scores import Confidence, ScoreRules
from qwed.assurance.simulation import Scenario, SimulatedKind, simulate
from qwed.cli.simulate import simulate as command

SMALL = Scenario(weeks=3, agents=4)


@pytest.fixture(scope="module")
def result():
    return simulate(SMALL)


def fate(result, kind):
    return next(fate for fate in result.fates if fate.kind is kind)


def test_the_same_seed_gives_the_same_world(result):
    assert simulate(SMALL) == result
    assert simulate(msgspec.structs.replace(SMALL, seed=2)) != result


def test_honest_agents_gain_nothing_by_abuse_and_are_never_revoked(result):
    honest = fate(result, SimulatedKind.HONEST)

    assert (honest.gained, honest.abuses, honest.revoked_share, honest.names) == (0, 0, 0, 4)
    assert honest.days_to_sensitive is not None


def test_colluding_agents_get_in_no_sooner_than_lone_sleepers(result):
    alone, together = fate(result, SimulatedKind.SLEEPER), fate(result, SimulatedKind.COLLUDING)

    # Sixteen of the tasks of four days: ten successes and 0.7 cannot be had before.
    assert min(alone.days_to_sensitive, together.days_to_sensitive) > 4


def test_those_who_abuse_everything_are_revoked_and_need_new_names(result):
    sybil = fate(result, SimulatedKind.SYBIL)

    assert sybil.revoked_share == 1
    assert sybil.names > 4
    assert sybil.days_to_sensitive is None


def test_a_threshold_nobody_reaches_lets_nobody_in():
    none = simulate(
        Scenario(ScoreRules(alpha=Decimal("0.0001")), Thresholds(Decimal(1), Confidence.HIGH), 1, 2)
    )

    assert all(fate.days_to_sensitive is None for fate in none.fates)


def test_scores_and_gains_are_told_for_every_day(result):
    assert {len(values) for values in (*result.scores.values(), *result.gains.values())} == {21}
    assert all(0 <= value <= 1 for values in result.scores.values() for value in values)


def test_the_command_prints_a_table_json_and_plots(tmp_path):
    runner = CliRunner()
    small = ["--weeks", "1", "--agents", "2"]
    table = runner.invoke(command, small)
    plain = runner.invoke(command, [*small, "--json", "--plots", str(tmp_path / "plots")])

    assert "honest" in table.output
    assert [item["kind"] for item in msgspec.json.decode(plain.output)["fates"]] == list(SimulatedKind)
    for name in ("scores.svg", "gains.svg"):
        assert ElementTree.parse(tmp_path / "plots" / name).getroot().tag.endswith("svg")


@pytest.mark.parametrize(
    "wrong", [["--beta", "1"], ["--alpha", "much"], ["--threshold", "7"], ["--weeks", "0"]]
)
def test_options_that_mean_nothing_are_refused(wrong):
    assert CliRunner().invoke(command, wrong).exit_code == 2


def test_a_chart_escapes_what_it_is_told():
    svg = line_chart("<b>", "&", '"', {"<x>": [0.0, 1.0]})

    assert ElementTree.fromstring(svg).find("{http://www.w3.org/2000/svg}title").text == "<b>"
    assert "<x>" not in svg
