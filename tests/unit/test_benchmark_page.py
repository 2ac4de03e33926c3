"""The page of the benchmarks says what was met, what was missed, and what was not measured."""

import ast
import json
from pathlib import Path

import pytest
from bench.__main__ import figure, parts
from bench.environments import CannotInstall
from bench.gateway import TEN_RULES
from bench.page import bar_chart, page, plots
from bench.peers import COUNTS, PEERS, Worker, compare

from qwed.bootstrap import read_policy

ROOT = Path(__file__).parents[2]
PEER = {"decides": "a name", "lacks": "no record", "package": "other"}


def report(*figures):
    machine = {"cpus": 2, "system": "Linux", "python": "3.11", "sqlite": "3.5"}
    part = {"at": "2026-01-01 00:00 UTC", "load_average": 9.5, "seconds": 1, "figures": list(figures)}
    return {"machine": machine, "parts": {"gateway": part}}


def peers(**rows):
    measured = {"at": "2026-01-02 00:00 UTC", "load_average": 3.0, "rounds": 5}
    ours = {"decision_us": 20.0, "install_mb": 100.0, "http": {"c=1": {"rate": 9, "cpu_us": 8, "p50_ms": 1}}}
    ours["http"]["rss_mb"] = 50
    return {"measured": measured, "rows": {"QWED": ours, **rows}, "peers": {"other": PEER}}


def test_a_target_is_a_ratio_in_either_direction_of_better():
    shown = page(
        report(figure("cost", 60.0, "µs", 120.0), figure("rate", 50.0, "requests/s", 100.0)), peers(), []
    )

    assert "| cost | 60 | µs | ≤ 120 | 2.00 | met |" in shown
    assert "| rate | 50 | requests/s | ≥ 100 | 0.50 | **missed** |" in shown
    assert "Targets met: 1 of 2" in shown


def test_what_is_missed_stands_first_and_the_furthest_from_its_target_at_the_top():
    figures = figure("a", 80.0, "µs", 40.0), figure("b", 1.0, "µs", 2.0), figure("c", 10.0, "µs/s", 100.0)

    shown = page(report(*figures), peers(), [])

    missed = shown.split("## Missed")[1].split("##")[0]
    assert missed.index("| gateway | c | 10 |") < missed.index("| gateway | a | 80 |")
    assert "| b |" not in missed
    assert shown.index("## Missed") < shown.index("## Beside what one would pick instead")


def test_how_much_faster_than_the_peer_is_a_target_like_any_other():
    rows = {
        "QWED": {"audit_us": 100.0, "http": {"c=16": {"rate": 1_000.0}}},
        "agent-governance-toolkit": {"audit_us": 150.0, "http": {"c=16": {"rate": 500.0}}},
    }
    told = report()
    told["parts"]["peers"] = {
        **told["parts"]["gateway"],
        "figures": [figure(*each) for each in compare(rows)],
    }

    shown = page(told, peers(), [])

    assert "| peers | a record in memory, beside the toolkit's call | 1.5 |" in shown.split("## Every")[0]
    assert "| HTTP, c=16, beside the toolkit's server | 2 | times (at least) | ≥ 2 | 1.00 | met |" in shown


def test_without_the_peer_nothing_is_compared():
    assert compare({"QWED": {"audit_us": 100.0}, "agent-governance-toolkit": {"problem": "no network"}}) == []


def test_a_peer_that_could_not_be_measured_is_named_with_its_reason():
    shown = page(report(), peers(other={"problem": "can't be installed: no network"}), [])

    assert "| other |  | can't be installed: no network |" in shown
    assert "| other | a name | no record |" in shown


def test_a_part_that_was_not_run_is_named():
    shown = page(report(), peers(), ["gateway", "reports", "peers"])

    assert "were not run for it: `reports`." in shown


def test_the_load_of_the_machine_is_stated():
    shown = page(report(), peers(), [])

    assert "**The machine was shared and busy**: load average 9.5 to 9.5 on 2 CPUs" in shown


def test_a_quiet_machine_is_not_called_busy():
    quiet = report()
    quiet["parts"]["gateway"]["load_average"] = 1.5

    assert "little else to do: load average 1.5 to 1.5 on 2 CPUs" in page(quiet, peers(), [])


def test_a_plot_has_a_bar_for_whoever_has_the_figure_and_escapes_names():
    svg = bar_chart("a < b", {"<x>": 1.0, "y": 2.0})

    assert svg.count("<rect") == 3
    assert "&lt;x&gt;" in svg
    assert plots(peers(other={"problem": "no"}))["decision.svg"].count("<rect") == 2


def test_what_has_no_number_has_none_in_the_json():
    assert json.dumps(figure("x: can't be installed", float("nan"), "not measured", None))
    assert figure("x", float("nan"), "not measured", None)["value"] is None


def test_every_peer_is_pinned_and_driven_and_says_what_it_lacks():
    folder = ROOT / "bench" / "peers"
    for peer in PEERS:
        pins = (folder / f"{peer.name}.txt").read_text().split()

        assert all("==" in pin for pin in pins)
        assert any(pin.startswith(f"{peer.package}==") for pin in pins)
        assert (folder / "drivers" / f"{peer.name}.py").exists()
        assert peer.lacks and peer.decides


def test_a_driver_that_cannot_be_imported_gives_its_reason(tmp_path, monkeypatch):
    import sys

    import bench.peers

    (tmp_path / "drivers").mkdir()
    (tmp_path / "worker.py").write_text((ROOT / "bench" / "peers" / "worker.py").read_text())
    (tmp_path / "drivers" / "broken.py").write_text("import no_such_package\n")
    (tmp_path / "drivers" / "fine.py").write_text("def works():\n    return {'decision': lambda n: None}\n")
    monkeypatch.setattr(bench.peers, "HERE", tmp_path)

    try:
        Worker(Path(sys.executable), "broken")
    except CannotInstall as error:
        assert "no_such_package" in str(error)
    else:
        raise AssertionError("it was imported")
    fine = Worker(Path(sys.executable), "fine")
    assert fine.started["works"] == ["decision"]
    assert fine.microseconds("decision") >= 0
    assert "decision" in COUNTS
    fine.stop()


@pytest.mark.parametrize("part", parts())
def test_every_part_has_figures(part):
    place = ROOT / "bench" / part
    source = (place / "__init__.py") if place.is_dir() else place.with_suffix(".py")

    defined = {node.name for node in ast.parse(source.read_text()).body if isinstance(node, ast.FunctionDef)}

    assert "figures" in defined, f"`make bench` would end at bench/{part}"


def test_the_rules_that_the_bench_measures_beside_are_read_by_a_gateway(tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text(TEN_RULES, encoding="utf-8")

    assert len(read_policy(policy).rules) == 10
