"""`make faults`: a pytest plugin that prints how often each fault was done, and how often all held."""

from collections.abc import Iterable
from typing import Any

import pytest


def rows_of(reports: Iterable[Any]) -> dict[str, list[int]]:
    """By test: runs, and those after which everything held."""
    rows: dict[str, list[int]] = {}
    for report in reports:
        if report.when == "call" or report.outcome == "failed":
            test = report.nodeid.rpartition("::")[2].partition("[")[0].removeprefix("test_")
            row = rows.setdefault(test.replace("_", " "), [0, 0])
            row[0] += 1
            row[1] += report.outcome == "passed"
    return rows


def table(rows: dict[str, list[int]]) -> str:
    width = max(map(len, rows), default=0)
    lines = [f"{'':{width}}  {'runs':>5} {'held':>5}"]
    lines += [
        f"{name:{width}}  {runs:5} {held:5}{'' if runs == held else '  FAILED'}"
        for name, (runs, held) in rows.items()
    ]
    return "\n".join(lines)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    stats = terminalreporter.stats
    reports = [report for outcome in ("passed", "failed", "error") for report in stats.get(outcome, ())]
    terminalreporter.write_line(table(rows_of(reports)))
