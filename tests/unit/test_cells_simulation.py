"""The simulation of many cells: what is asked is decided or refused, and more of a thing has its effect."""

import msgspec
import pytest
from bench.cells_simulation import (
    DOCS,
    Costs,
    Faults,
    World,
    measured,
    page_of,
    peak_rate,
    shares,
    simulate,
    stored_gb,
)

COSTS = Costs(700, 350, 1_700, 300, 100_000)
SMALL = World(agents=20_000, cells=8, principals=100, days=21)
NEVER = Faults(1e12, 0, 1e12, 0, 1e12, 0)


def but(**changes):
    return msgspec.structs.replace(SMALL, **changes)


def test_every_request_is_decided_or_refused_for_one_reason():
    year = simulate(SMALL, COSTS)
    assert year.asked == pytest.approx(year.answered + year.refused_by_faults + year.refused_by_load)
    assert sum(year.decided_by_day) == pytest.approx(year.answered)
    assert year.refused_by_faults > 0
    days = SMALL.agents * SMALL.decisions_a_day * SMALL.days
    assert days < year.asked < days * 1.2


def test_each_agent_is_in_one_cell_and_the_largest_principal_fills_its_own():
    found = shares(SMALL)
    assert sum(found) == pytest.approx(1)
    assert len(found) == SMALL.cells
    alone = shares(but(skew=2))
    assert max(alone) == alone[0] > 0.6


def test_without_faults_nothing_is_refused_until_a_cell_is_full():
    assert simulate(but(faults=NEVER), COSTS).refused_by_faults == 0
    assert simulate(but(faults=NEVER), COSTS).refused_by_load == 0
    full = simulate(but(faults=NEVER, decisions_a_day=200_000), COSTS)
    assert full.refused_by_load > 0
    assert max(full.database_peak) > 1


def test_dearer_decisions_and_fewer_cells_load_a_database_more():
    base = max(simulate(SMALL, COSTS).database_peak)
    dearer = max(simulate(SMALL, msgspec.structs.replace(COSTS, database_us=700)).database_peak)
    assert dearer == pytest.approx(2 * base)
    assert max(simulate(but(cells=2), COSTS).database_peak) > base


def test_what_is_kept_for_a_time_is_removed_and_the_ledger_stays():
    world = but(retention_days=2)
    stored = list(stored_gb(world, COSTS, [1e9, 1e9, 1e9, 1e9]))
    assert stored == [1_700, 3_400, 3_700, 4_000]


def test_the_costs_are_those_of_the_benchmarks_page_and_the_page_names_them():
    costs = measured((DOCS / "benchmarks.md").read_text(encoding="utf-8"))
    year = simulate(SMALL, costs)
    page = page_of(SMALL, costs, year)
    assert f"{costs.gateway_us:.0f} µs" in page
    assert "This is a simulation" in page
    assert f"{peak_rate(SMALL):,.0f}/s" in page


def test_the_same_seed_gives_the_same_year():
    assert simulate(SMALL, COSTS) == simulate(SMALL, COSTS)
    assert simulate(but(seed=8), COSTS).decided != simulate(SMALL, COSTS).decided
