"""`make conformance`: a pytest plugin that prints what was run, and what held, per suite, page or file.

A test is one case of the file it stands in. One that runs many, or that belongs to a vector file, says so
with `record_property`: `row`, `cases`, `held`, and `optional` for what is reported without being required.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

_SUITES = {
    "jcs": "RFC 8785 canonical JSON",
    "json-parsing": "JSONTestSuite",
    "json-schema": "JSON Schema 2020-12",
    "merkle": "Merkle proofs",
}


@dataclass
class Row:
    cases: int = 0
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    optional: bool = False

    def add(self, outcome: str, properties: dict[str, Any]) -> None:
        cases = int(properties.get("cases", 1))
        held = int(properties.get("held", cases if outcome == "passed" else 0))
        self.optional = self.optional or bool(properties.get("optional"))
        self.cases += cases
        if outcome == "skipped":
            self.skipped += cases
        else:
            self.passed += held
            self.failed += cases - held


def rows_of(reports: Iterable[Any]) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for report in reports:
        if report.when == "call" or report.outcome != "passed":
            # A module that is left out as a whole has no tests, and no properties.
            properties = dict(getattr(report, "user_properties", ()))
            rows.setdefault(_row_of(report.nodeid, properties), Row()).add(report.outcome, properties)
    return rows


def _row_of(nodeid: str, properties: dict[str, Any]) -> str:
    if "row" in properties:
        return str(properties["row"])
    file, _, rest = nodeid.partition("::")
    stem = Path(file).stem.removeprefix("test_")
    if not stem.endswith("_vectors"):
        return f"snippets/{stem}"
    vector = rest.partition("[")[2].removesuffix("]")
    if "json" in stem:
        reader = {"ect_json_vectors": "tokens", "json_text_vectors": "requests"}.get(stem, "agent state")
        return f"json-parsing/{vector[:2]}* ({reader})" if vector else f"json-parsing/the suite ({reader})"
    suite = stem.removesuffix("_vectors")
    if suite == "merkle" and vector:
        kind = "inclusion" if "inclusion" in rest.partition("[")[0] else "consistency"
        return f"merkle/{kind}/{vector.partition('/')[0]}"
    return f"{suite}/{vector or 'the suite'}"


def table(rows: dict[str, Row]) -> str:
    width = max([len(name) for name in rows] + [len("optional, reported only")])
    lines = [f"{'':{width}}  {'cases':>6} {'passed':>6} {'failed':>6} {'skipped':>7}"]
    suite = ""
    for name in sorted(rows, key=lambda name: (rows[name].optional, name.startswith("snippets/"), name)):
        head = "optional" if rows[name].optional else name.partition("/")[0]
        if head != suite:
            suite = head
            lines.append(f"-- {_title(head)}")
        lines.append(_line(name, rows[name], width))
    required = [row for row in rows.values() if not row.optional]
    optional = [row for row in rows.values() if row.optional]
    lines.append("-- all")
    lines.append(_line("required", _sum(required), width))
    if optional:
        lines.append(_line("optional, reported only", _sum(optional), width))
    return "\n".join(lines)


def _title(head: str) -> str:
    if head == "optional":
        return "optional tests of the JSON Schema suite (nothing requires them)"
    return (
        "the documents' own snippets" if head == "snippets" else f"{_SUITES.get(head, head)} (public vectors)"
    )


def _line(name: str, row: Row, width: int) -> str:
    failed = "" if row.optional or not row.failed else "  FAILED"
    return f"{name:{width}}  {row.cases:6} {row.passed:6} {row.failed:6} {row.skipped:7}{failed}"


def _sum(rows: list[Row]) -> Row:
    return Row(
        sum(row.cases for row in rows),
        sum(row.passed for row in rows),
        sum(row.failed for row in rows),
        sum(row.skipped for row in rows),
        optional=all(row.optional for row in rows),
    )


def _reports(reporter: pytest.TerminalReporter) -> list[pytest.TestReport | pytest.CollectReport]:
    return [
        report
        for outcome in ("passed", "failed", "error", "skipped")
        for report in reporter.stats.get(outcome, ())
        if isinstance(report, pytest.TestReport | pytest.CollectReport)
    ]


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """What was left out did not conform: vectors that are not there are no success."""
    reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
    left_out = any(row.skipped for row in rows_of(_reports(reporter)).values() if not row.optional)
    if left_out and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    rows = rows_of(_reports(terminalreporter))
    terminalreporter.section("conformance")
    terminalreporter.write_line(table(rows))
    if any(row.skipped for row in rows.values() if not row.optional):
        terminalreporter.write_line("NOT ALL OF IT WAS RUN: what was skipped is no success", red=True)
