"""docs/benchmarks.md and its plots, from the JSON of `make bench` and of the peers."""

from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape

_WIDTH, _LEFT, _ROW, _TOP = 760, 220, 26, 44
#: Runnable processes per CPU that the parts bring along.
_OWN_LOAD = 2

#: What the peers' table shows: key, head, what one unit is.
COLUMNS = (
    ("decision_us", "one decision, µs CPU"),
    ("audit_us", "with a record, µs CPU"),
    ("durable_us", "with a record on disk, µs CPU"),
    ("schema_us", "schema guard, µs CPU"),
    ("import_cpu_ms", "import, ms CPU"),
    ("rss_mb", "RSS, MB"),
    ("install_mb", "installed, MB"),
)
PLOTS = {
    "decision.svg": ("One decision in-process, µs CPU (less is better)", "decision_us"),
    "audit.svg": ("One decision with its record, µs CPU (less is better)", "audit_us"),
    "schema.svg": ("Schema guard, µs CPU (less is better)", "schema_us"),
    "import.svg": ("Import, ms CPU (less is better)", "import_cpu_ms"),
    "install.svg": ("Installed, MB (less is better)", "install_mb"),
}


def page(report: Mapping[str, Any], peers: Mapping[str, Any], all_parts: list[str]) -> str:
    return "\n".join(
        [*_head(report, peers), *_peers(peers), *_targets(report), *_missing(report, all_parts), ""]
    )


def plots(peers: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: bar_chart(
            title, {row: float(values[key]) for row, values in peers["rows"].items() if key in values}
        )
        for name, (title, key) in PLOTS.items()
    }


def _head(report: Mapping[str, Any], peers: Mapping[str, Any]) -> list[str]:
    machine, measured = report["machine"], peers["measured"]
    loads = [part["load_average"] for part in report["parts"].values()]
    met = [figure["met"] for part in report["parts"].values() for figure in part["figures"]]
    return [
        "# Benchmarks",
        "",
        "Written by `scripts/write-benchmarks` from `make bench`; run both to have your own.",
        "",
        f"* Machine: {machine['cpus']} CPUs, {machine['system']}, Python {machine['python']}, "
        f"SQLite {machine['sqlite']}.",
        f"* Peers measured {measured['at']}, the parts {_span(report)}.",
        _quietness(loads, measured["load_average"], machine["cpus"]),
        *(f"* {note}" for note in measured.get("notes", ())),
        f"* Targets met: {met.count(True)} of {met.count(True) + met.count(False)}.",
        "",
        *_missed(report),
    ]


def _missed(report: Mapping[str, Any]) -> list[str]:
    """What is not good enough stands first, the furthest from its target at the top."""
    missed = [
        (_share_of_target(figure), name, figure)
        for name, part in report["parts"].items()
        for figure in part["figures"]
        if figure["met"] is False
    ]
    if not missed:
        return []
    lines = ["## Missed", "", "| part | figure | measured | unit | target | better than the target by | |"]
    lines.append("|---|---|---|---|---|---|---|")
    lines += [f"| {name} {_figure(figure)}" for _, name, figure in sorted(missed, key=lambda row: row[:2])]
    return [*lines, ""]


def _share_of_target(figure: Mapping[str, Any]) -> float:
    above, below = figure["value"], figure["target"]
    if not figure["more_is_better"]:
        above, below = below, above
    return float(above / below) if below else 0.0


def _quietness(loads: list[float], peers_load: float, cpus: int) -> str:
    """How much else the machine did: a reader has to know what a figure is worth."""
    said = (
        f"load average {min(loads):g} to {max(loads):g} on {cpus} CPUs while the parts ran, "
        f"{peers_load:g} at the end of the peers"
    )
    # The load generator of a part is a load itself: only more than the CPUs can do was somebody else's.
    if max([*loads, peers_load]) <= cpus * _OWN_LOAD:
        return f"* The machine had little else to do: {said}."
    return (
        f"* **The machine was shared and busy**: {said}. "
        "CPU time, interleaved rounds and the best of them leave out much of what that adds, not all: "
        "caches and clock speed are shared. Requests per second are wall time, and suffer in full. "
        "Ratios taken in one run are worth more than any single figure."
    )


def _span(report: Mapping[str, Any]) -> str:
    times = sorted(part["at"] for part in report["parts"].values())
    return times[0] if times[0] == times[-1] else f"{times[0]} to {times[-1]}"


def _peers(peers: Mapping[str, Any]) -> list[str]:
    rows = peers["rows"]
    lines = [
        "## Beside what one would pick instead",
        "",
        "Each package in an environment of its own, at the version below; the best of "
        f"{peers['measured']['rounds']} interleaved rounds. The work: may `lookup_order` be called with "
        "these arguments (and may `drop_table` not)? Is this order shaped as its schema says? "
        "**They do not all do the same**: read the second table with the first.",
        "",
        "| | version | " + " | ".join(head for _, head in COLUMNS) + " |",
        "|---|---|" + "---|" * len(COLUMNS),
    ]
    for name, row in rows.items():
        if "problem" in row:
            lines.append(
                f"| {name} | {row.get('version', '')} | {row['problem']} |" + " |" * (len(COLUMNS) - 1)
            )
        else:
            cells = [_number(row.get(key)) for key, _ in COLUMNS]
            lines.append(f"| {name} | {row.get('version', 'this')} | " + " | ".join(cells) + " |")
    if "guards_install_mb" in rows["QWED"]:
        lines += [
            "",
            "QWED is `qwed-gateway[server]`; `qwed-gateway[guards]` alone is "
            f"{rows['QWED']['guards_install_mb']:.0f} MB.",
        ]
    lines += ["", *(f"![{title}](benchmarks/{name})" for name, (title, _) in PLOTS.items()), ""]
    return [*lines, *_http(rows), *_differences(peers)]


def _http(rows: Mapping[str, Any]) -> list[str]:
    lines = [
        "### Over HTTP",
        "",
        "| | connections | requests/s | server, µs CPU | p50, ms | server RSS, MB |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in rows.items():
        http = row.get("http", {})
        if "problem" in http:
            lines.append(f"| {name} | | {http['problem']} | | | |")
        for load in ("c=1", "c=16"):
            if load in http:
                best = http[load]
                lines.append(
                    f"| {name} | {load[2:]} | {best['rate']:,.0f} | {best['cpu_us']:,.0f} "
                    f"| {best['p50_ms']:.1f} | {http['rss_mb']:.0f} |"
                )
    return [
        *lines,
        "",
        "QWED's server authenticates the agent, inspects the arguments, holds the budget, checks for loops "
        "and writes the signed record to disk before it answers. The toolkit's policy server matches rules, "
        "asks for no credential and records nothing. No other peer was measured over HTTP: "
        "the table below says why.",
        "",
    ]


def _differences(peers: Mapping[str, Any]) -> list[str]:
    return [
        "### What is not the same",
        "",
        "| | what was decided | what it does not do |",
        "|---|---|---|",
        "| QWED | one decision: a tool name and its arguments, by ToolGuard; with a record: "
        "`Gateway.verify_tool`, the whole protocol with a ledger entry "
        "| without the gateway (first column) nothing is recorded |",
        *(f"| {name} | {peer['decides']} | {peer['lacks']} |" for name, peer in peers["peers"].items()),
        "",
    ]


def _targets(report: Mapping[str, Any]) -> list[str]:
    lines = [
        "## Every target",
        "",
        "A ratio above 1 means better than the target, in either direction of better.",
        "",
    ]
    for name, part in sorted(report["parts"].items()):
        # Of the peers all else stands in a table of its own.
        figures = (
            [f for f in part["figures"] if f["target"] is not None] if name == "peers" else part["figures"]
        )
        if not figures:
            continue
        lines += [
            f"### {name}",
            "",
            f"{part['at']}, load average {part['load_average']:g}.",
            "",
            "| figure | measured | unit | target | better than the target by | |",
            "|---|---|---|---|---|---|",
            *map(_figure, figures),
            "",
        ]
    return lines


def _figure(figure: Mapping[str, Any]) -> str:
    value, target = figure["value"], figure["target"]
    if target is None or value is None:
        return f"| {_cell(figure['label'])} | {_number(value)} | {figure['unit']} | | | |"
    sign = "≥" if figure["more_is_better"] else "≤"
    verdict = "met" if figure["met"] else "**missed**"
    return (
        f"| {_cell(figure['label'])} | {_number(value)} | {figure['unit']} | {sign} {target:g} "
        f"| {_ratio(value, target, figure['more_is_better'])} | {verdict} |"
    )


def _ratio(value: float, target: float, more_is_better: bool) -> str:
    above, below = (value, target) if more_is_better else (target, value)
    return f"{above / below:.2f}" if below > 0 and above > 0 else "–"


def _missing(report: Mapping[str, Any], all_parts: list[str]) -> list[str]:
    missing = [part for part in all_parts if part not in report["parts"] and part != "peers"]
    if not missing:
        return []
    return [
        "## Not in this report",
        "",
        "These parts of `make bench` were not run for it: "
        + ", ".join(f"`{part}`" for part in missing)
        + ".",
    ]


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def bar_chart(title: str, bars: Mapping[str, float]) -> str:
    """One bar per name, the first one in our own colour; from nothing to the greatest."""
    height = _TOP + _ROW * len(bars) + 16
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        'font-family="sans-serif" font-size="12" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="16" y="24" font-size="15">{escape(title)}</text>',
    ]
    longest = max(bars.values(), default=1.0)
    for number, (name, value) in enumerate(bars.items()):
        y = _TOP + _ROW * number
        width = max(1.0, round((_WIDTH - _LEFT - 90) * value / longest, 1))
        colour = "#2b6cb0" if number == 0 else "#a0aec0"
        parts += [
            f'<text x="{_LEFT - 8}" y="{y + 13}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{_LEFT}" y="{y}" width="{width}" height="18" fill="{colour}"/>',
            f'<text x="{_LEFT + width + 6}" y="{y + 13}">{_number(value)}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])
