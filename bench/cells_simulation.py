"""`make simulate-scale`: a year of a million agents in 500 cells, from measured costs.

Hour by hour: who asks, what it costs the gateways and the databases of each cell, what fails, what is left.
Nothing here is measured at that size; what a decision costs is, and stands on the page with its source.
"""

import math
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from qwed.assurance.plots import line_chart

DOCS: Final = Path(__file__).resolve().parents[1] / "docs"
HOURS_A_DAY: Final = 24
#: Above this share of a machine, waiting grows faster than work.
BUSY: Final = 0.7
#: The busiest minute of an hour, against its mean.
PEAK_IN_THE_HOUR: Final = 1.5
#: By hour of the day (UTC), against the mean of a working day; and by day of the week.
_DAY: Final = tuple(1 + 0.7 * math.sin((hour - 9) / 24 * 2 * math.pi) for hour in range(24))
_WEEK: Final = (1.1, 1.15, 1.15, 1.15, 1.05, 0.7, 0.7)
_WEEK_MEAN: Final = sum(_WEEK) / 7


class Costs(msgspec.Struct, frozen=True):
    """What was measured."""

    gateway_us: float
    database_us: float
    bytes_a_decision: float
    ledger_bytes: float
    verified_a_second: float


class Faults(msgspec.Struct, frozen=True):
    """How often in a cell, in days, and for how many seconds it decides nothing, or less."""

    failover_days: float = 60
    failover_seconds: float = 30
    host_days: float = 20
    host_seconds: float = 300
    cell_days: float = 730
    cell_seconds: float = 3_600


class World(msgspec.Struct, frozen=True):
    agents: int = 1_000_000
    cells: int = 500
    principals: int = 20_000
    days: int = 365
    decisions_a_day: float = 2_000.0
    #: Over the year.
    growth: float = 2.0
    #: Weight of the n-th largest principal: n to the minus this.
    skew: float = 0.8
    #: Texts and outcomes go after so long; entries of the ledger stay.
    retention_days: int = 90
    #: For each cell.
    gateway_cores: int = 4
    gateway_hosts: int = 2
    database_cores: int = 2
    dollars_a_core_hour: float = 0.045
    dollars_a_gb_month: float = 0.12
    faults: Faults = Faults()
    seed: int = 7


class Year(msgspec.Struct):
    """What came of it."""

    asked: float
    refused_by_faults: float
    refused_by_load: float
    #: By cell: decisions of the year, and the greatest load of a database and of the gateways.
    decided: list[float]
    database_peak: list[float]
    gateway_peak: list[float]
    #: By day, over all cells: median, 99th of a hundred and greatest load of a database.
    loads: list[tuple[float, float, float]]
    #: By day: share of decisions that were refused.
    refused: list[float]
    #: By day, over all cells.
    decided_by_day: list[float]

    @property
    def answered(self) -> float:
        return sum(self.decided)


def shares(world: World) -> list[float]:
    """The share of all agents that each cell has: the largest principal first into the emptiest cell."""
    weights = [(number + 1) ** -world.skew for number in range(world.principals)]
    total = sum(weights)
    cells = [0.0] * world.cells
    for weight in weights:
        emptiest = min(range(world.cells), key=cells.__getitem__)
        cells[emptiest] += weight / total
    return cells


def simulate(world: World, costs: Costs) -> Year:
    chance = random.Random(world.seed)
    cells = shares(world)
    # Principals grow each at a pace of its own; nobody moves meanwhile.
    pace = [chance.lognormvariate(0, 0.2) for _ in cells]
    year = Year(0, 0, 0, [0.0] * len(cells), [0.0] * len(cells), [0.0] * len(cells), [], [], [])
    database_rate = world.database_cores * 1e6 / costs.database_us * 3600
    gateway_rate = world.gateway_cores * 1e6 / costs.gateway_us * 3600
    mean = world.agents * world.decisions_a_day / HOURS_A_DAY
    for day in range(world.days):
        growth = 1 + (world.growth - 1) * day / 365
        asked_today = refused_today = 0.0
        loads = [0.0] * len(cells)
        for hour in range(HOURS_A_DAY):
            level = mean * growth * _DAY[hour] * _WEEK[day % 7] / _WEEK_MEAN
            for number, share in enumerate(cells):
                asked = level * share * (1 + (pace[number] - 1) * day / 365)
                away, fewer = _faults(world, chance)
                gateways = gateway_rate * (1 - fewer / world.gateway_hosts)
                room = min(database_rate, gateways) / PEAK_IN_THE_HOUR
                by_fault = asked * away
                decided = min(asked - by_fault, room)
                by_load = asked - by_fault - decided
                year.decided[number] += decided
                year.refused_by_faults += by_fault
                year.refused_by_load += by_load
                load = asked * PEAK_IN_THE_HOUR / database_rate
                loads[number] = max(loads[number], load)
                year.database_peak[number] = max(year.database_peak[number], load)
                busy = asked * PEAK_IN_THE_HOUR / gateways
                year.gateway_peak[number] = max(year.gateway_peak[number], busy)
                asked_today += asked
                refused_today += by_fault + by_load
        loads.sort()
        year.asked += asked_today
        year.loads.append((loads[len(loads) // 2], loads[int(len(loads) * 0.99)], loads[-1]))
        year.refused.append(refused_today / asked_today)
        year.decided_by_day.append(asked_today - refused_today)
    return year


def _faults(world: World, chance: random.Random) -> tuple[float, float]:
    """Of this hour: the share in which nothing is decided, and for what share a host is missing."""
    faults, away, fewer = world.faults, 0.0, 0.0
    drawn = chance.random()
    for days, seconds in (
        (faults.failover_days, faults.failover_seconds),
        (faults.cell_days, faults.cell_seconds),
    ):
        if drawn < 1 / (days * HOURS_A_DAY):
            away = max(away, seconds / 3600)
        drawn = (drawn * 7919) % 1
    if drawn < 1 / (faults.host_days * HOURS_A_DAY):
        fewer = faults.host_seconds / 3600
    return min(1.0, away), fewer


# --- the page ----------------------------------------------------------------------------------------


def measured(page: str) -> Costs:
    """From docs/benchmarks.md. What the database takes and what a decision leaves was measured by
    `bench.large_database` and `bench.scale`."""

    def figure(label: str) -> float:
        found = re.search(rf"^\| {re.escape(label)} \| ([0-9.,]+) \|", page, re.M)
        if found is None:
            raise ValueError(f"docs/benchmarks.md has no figure {label!r}")
        return float(found.group(1).replace(",", ""))

    gateway = figure("worker CPU per decision, 2 workers")
    verified = figure("evidence: export verified offline, payloads too")
    return Costs(gateway, gateway / 2, 1_757, 305, verified)


def results(world: World, costs: Costs, year: Year) -> Iterator[tuple[str, str]]:
    """The rows of the page."""
    decided, peaks = sorted(year.decided), sorted(year.database_peak)
    largest, median = decided[-1], decided[len(decided) // 2]
    gateways = sorted(year.gateway_peak)
    stored = list(stored_gb(world, costs, year.decided_by_day))
    cores = world.cells * (world.gateway_cores + world.database_cores)
    core_dollars = cores * 24 * world.days * world.dollars_a_core_hour
    disk_dollars = sum(stored) * world.dollars_a_gb_month * 12 / 365
    average = year.answered / (world.days * 86_400)
    busy_day = first_busy_day(year)
    busy = sum(max(both) > BUSY for both in zip(year.database_peak, year.gateway_peak, strict=True))
    rates = [BUSY / peak * peak_rate(world) for peak in (peaks[-1], peaks[len(peaks) // 2])]
    hours = [cell / costs.verified_a_second / 3600 for cell in (median, largest)]
    ledgers = [cell * costs.ledger_bytes / 1e12 for cell in (median, largest)]
    yield "agents, principals, cells", f"{world.agents:,}, {world.principals:,}, {world.cells:,}"
    yield "decisions asked for", f"{year.asked / 1e9:,.1f} thousand million"
    yield "decided, on average; busiest minute asked for", f"{average:,.0f}/s; {peak_rate(world):,.0f}/s"
    yield "answered 503 because of faults (and asked again)", f"{year.refused_by_faults / year.asked:.4%}"
    yield "refused because a cell was full", f"{year.refused_by_load / year.asked:.4%}"
    yield (
        "greatest load of a database: median cell, fullest",
        f"{peaks[len(peaks) // 2]:.0%}, {peaks[-1]:.0%}",
    )
    yield "greatest load of the gateways: the same", f"{gateways[len(gateways) // 2]:.0%}, {gateways[-1]:.0%}"
    yield f"cells above {BUSY:.0%} at some hour", f"{busy} of {world.cells}"
    yield f"first day with a database above {BUSY:.0%}", "none" if busy_day is None else f"day {busy_day}"
    yield f"the fullest database reaches {BUSY:.0%} when all make", f"{rates[0]:,.0f} decisions/s"
    yield f"the median database reaches {BUSY:.0%} when all make", f"{rates[1]:,.0f} decisions/s"
    yield (
        "entries in a ledger: median cell, largest",
        f"{median / 1e9:,.2f}, {largest / 1e9:,.1f} thousand million",
    )
    yield "a ledger without payloads: the same", f"{ledgers[0]:,.2f}, {ledgers[1]:,.1f} TB"
    yield "on disk at the end, all cells", f"{stored[-1] / 1000:,.0f} TB"
    yield "verifying a whole ledger on one core: the same", f"{hours[0]:,.1f}, {hours[1]:,.1f} hours"
    yield (
        "verifying all, a core for each cell",
        f"{hours[1]:,.1f} hours; {sum(decided) / costs.verified_a_second / 86400:,.0f} days of CPU",
    )
    yield "machines", f"{cores:,} cores, ${core_dollars:,.0f}"
    yield "disks", f"${disk_dollars:,.0f}"
    yield "a million decisions", f"${(core_dollars + disk_dollars) / year.answered * 1e6:,.2f}"


def peak_rate(world: World) -> float:
    """Decisions a second in the busiest minute of the year."""
    growth = 1 + (world.growth - 1) * (world.days - 1) / 365
    mean = world.agents * world.decisions_a_day / 86_400
    return mean * growth * max(_DAY) * max(_WEEK[: world.days]) / _WEEK_MEAN * PEAK_IN_THE_HOUR


def stored_gb(world: World, costs: Costs, by_day: list[float]) -> Iterator[float]:
    """By day: entries of the ledger for good, the rest for as long as it is kept."""
    for day in range(len(by_day)):
        kept = sum(by_day[max(0, day + 1 - world.retention_days) : day + 1])
        rest = costs.bytes_a_decision - costs.ledger_bytes
        yield (sum(by_day[: day + 1]) * costs.ledger_bytes + kept * rest) / 1e9


def page_of(world: World, costs: Costs, year: Year) -> str:
    faults, largest = world.faults, shares(world)[0]
    half = "half of it, as in [sizing](deployment.md#sizing)"
    return "\n".join(
        [
            "# A million agents",
            "",
            "Written by `make simulate-scale`. **This is a simulation.** What a decision costs was"
            " measured on two",
            "cores; everything else on this page follows from that and from what it assumes. No"
            " deployment of this",
            "size was run.",
            "",
            "| Measured | | By |",
            "|---|---|---|",
            f"| a decision, gateway | {costs.gateway_us:.0f} µs of CPU | `bench.scale`, two workers |",
            f"| a decision, database | {costs.database_us:.0f} µs of CPU | {half} |",
            f"| a decision on disk | {costs.bytes_a_decision:.0f} bytes | `bench.large_database`, at"
            f" a million |",
            f"| … of it in the ledger | {costs.ledger_bytes:.0f} bytes | the same |",
            f"| verification | {costs.verified_a_second:,.0f} entries/s a core | `bench.evidence` |",
            "",
            f"**Assumed.** Each agent asks for {world.decisions_a_day:,.0f} decisions a day, and at"
            f" the end of the"
            f" year for {world.growth:g} times as many.",
            f"Principals are of very different sizes (the n-th largest weighs n^-{world.skew:g});"
            f" each is in one"
            " cell, the largest first into the emptiest.",
            f"People sleep at night and at weekends; the busiest minute has {PEAK_IN_THE_HOUR:g} times"
            f" the load of"
            " its hour.",
            f"A cell has {world.gateway_cores} cores of gateways on {world.gateway_hosts} hosts, and"
            f" {world.database_cores} of PostgreSQL. Texts are removed after {world.retention_days}"
            f" days, entries of"
            " the ledger never.",
            f"A core costs ${world.dollars_a_core_hour:g} an hour, a GB ${world.dollars_a_gb_month:g}"
            f" a month.",
            "",
            f"**What fails**, in each cell: every {faults.failover_days:.0f} days PostgreSQL fails over"
            f" ({faults.failover_seconds:.0f} s without decisions), every {faults.host_days:.0f} a"
            f" host of gateways"
            f" dies ({faults.host_seconds:.0f} s with half of them),",
            f"every {faults.cell_days:.0f} the whole cell is away for"
            f" {faults.cell_seconds / 3600:.0f} h. A fault"
            " stays in its cell.",
            "",
            "| What comes of it | |",
            "|---|---|",
            *(f"| {name} | {value} |" for name, value in results(world, costs, year)),
            "",
            "![Load of the databases](scale/load.svg)",
            "",
            "![Refused](scale/refused.svg)",
            "",
            "**What it says.** More hosts help full gateways; nothing but another cell helps a full"
            " database. The"
            f" largest principal has {largest:.1%} of all agents,",
            "and one principal can't be larger than its cell: its cell is full while the median one"
            " is almost idle."
            " Principals can't be moved between",
            "cells yet, so a cell is planned with room from the start, and equal cells are the wrong"
            " plan for such"
            " principals.",
            "",
        ]
    )


def first_busy_day(year: Year) -> int | None:
    return next((day + 1 for day, (_, _, most) in enumerate(year.loads) if most > BUSY), None)


def charts(year: Year) -> Iterator[tuple[str, str]]:
    median, high, most = (list(column) for column in zip(*year.loads, strict=True))
    lines = {"median cell": median, "99 of 100": high, "fullest": most}
    yield "load.svg", line_chart("Greatest load of a database, by day", "day", "share of its cores", lines)
    refused = {"refused, of 1 000 000": [share * 1e6 for share in year.refused]}
    yield "refused.svg", line_chart("Answered 503 or refused, by day", "day", "of a million", refused)


def main() -> int:
    world, costs = World(), measured((DOCS / "benchmarks.md").read_text(encoding="utf-8"))
    year = simulate(world, costs)
    (DOCS / "scale").mkdir(exist_ok=True)
    for name, svg in charts(year):
        (DOCS / "scale" / name).write_text(svg, encoding="utf-8")
    (DOCS / "scale.md").write_text(page_of(world, costs, year), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
