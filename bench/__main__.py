"""`make bench`: every figure of every part, next to its target, in one report.

    python -m bench [PART …] [--json FILE]

The JSON keeps what other runs wrote about other parts, so that a report can be gathered in several runs.
"""

import argparse
import importlib
import json
import os
import pkgutil
import platform
import sqlite3
import time
from pathlib import Path
from typing import Any

import bench

_NOT_PARTS = (
    *("__main__", "load", "large_record", "soak_run", "environments", "agentdojo", "page"),
    *("personal_data", "walk", "cells_simulation"),
)


def main() -> int:
    arguments = _arguments()
    print(f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {os.cpu_count()} CPUs")
    print(f"{'figure':58} {'measured':>12}  {'unit':22} {'target':>10}")
    missed = 0
    for part in parts():
        if arguments.part and part not in arguments.part:
            continue
        started = time.perf_counter()
        print(f"-- {part}", flush=True)
        figures = []
        for label, value, unit, target in importlib.import_module(f"bench.{part}").figures():
            missed += _print(label, value, unit, target)
            figures.append(figure(label, value, unit, target))
        seconds = time.perf_counter() - started
        print(f"   ({seconds:.0f} s)", flush=True)
        if arguments.json is not None:
            _keep(arguments.json, part, figures, seconds)
    print(f"{missed} figure(s) miss their target" if missed else "every figure meets its target")
    return 0


def parts() -> list[str]:
    return sorted(name for _, name, _ in pkgutil.iter_modules(bench.__path__) if name not in _NOT_PARTS)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("part", nargs="*", choices=[*parts(), []], help="only these parts")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the figures in this file as well")
    return parser.parse_args()


def _more_is_better(unit: str) -> bool:
    return "/s" in unit or "at least" in unit


def _misses(value: float, unit: str, target: float | None) -> bool:
    # More is better for rates and where the unit says so; for everything else less is.
    return target is not None and (value < target if _more_is_better(unit) else value > target)


def figure(label: str, value: float, unit: str, target: float | None) -> dict[str, Any]:
    """A figure as JSON; what has no number (a peer that can't be installed) has none there either."""
    return {
        "label": label,
        "value": value if value == value else None,
        "unit": unit,
        "target": target,
        "more_is_better": _more_is_better(unit),
        "met": None if target is None else not _misses(value, unit, target),
    }


def _print(label: str, value: float, unit: str, target: float | None) -> bool:
    misses = _misses(value, unit, target)
    sign = "≥" if _more_is_better(unit) else "≤"
    goal = "" if target is None else f"{sign} {target:g}"
    print(f"{label:58} {value:12,.2f}  {unit:22} {goal:>10} {'MISSED' if misses else ''}", flush=True)
    return misses


def _keep(path: Path, part: str, figures: list[dict[str, Any]], seconds: float) -> None:
    report = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"parts": {}}
    report["machine"] = {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": os.cpu_count(),
    }
    report["parts"][part] = {
        "at": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "load_average": round(os.getloadavg()[0], 1),
        "seconds": round(seconds),
        "figures": figures,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
