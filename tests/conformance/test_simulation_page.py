"""The page on the simulation is what the simulator says."""

import importlib.machinery
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "assurance"


def load_script():
    loader = importlib.machinery.SourceFileLoader(
        "simulation_page", str(ROOT / "scripts" / "simulation-page")
    )
    spec = importlib.util.spec_from_loader("simulation_page", loader)
    script = importlib.util.module_from_spec(spec)
    loader.exec_module(script)
    return script


SCRIPT = load_script()


@pytest.mark.parametrize("name", SCRIPT.SCENARIOS)
def test_every_table_is_that_of_a_run(name):
    page = (FOLDER / "simulation.md").read_text(encoding="utf-8")

    assert f"<!-- {name} -->\n{SCRIPT.table(SCRIPT.SCENARIOS[name])}\n<!-- end -->" in page


def test_every_plot_is_that_of_a_run():
    for name, svg in SCRIPT.charts(SCRIPT.simulate(SCRIPT.SCENARIOS["defaults"])).items():
        assert (FOLDER / name).read_text(encoding="utf-8") == svg
