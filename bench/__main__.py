"""`make bench`: every figure of every part, next to its target, in one report."""

import importlib
import os
import pkgutil
import platform
import sqlite3
import sys
import time

import bench

_NOT_PARTS = ("__main__", "load")


def main() -> int:
    wanted = sys.argv[1:]
    print(f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {os.cpu_count()} CPUs")
    print(f"{'figure':58} {'measured':>12}  {'unit':22} {'target':>10}")
    missed = 0
    for part in sorted(module.name for module in pkgutil.iter_modules(bench.__path__)):
        if part in _NOT_PARTS or (wanted and part not in wanted):
            continue
        started = time.perf_counter()
        print(f"-- {part}", flush=True)
        for label, value, unit, target in importlib.import_module(f"bench.{part}").figures():
            missed += _print(label, value, unit, target)
        print(f"   ({time.perf_counter() - started:.0f} s)", flush=True)
    print(f"{missed} figure(s) miss their target" if missed else "every figure meets its target")
    return 0


def _print(label: str, value: float, unit: str, target: float | None) -> bool:
    # More is better for rates and where the unit says so; for everything else less is.
    at_least = "/s" in unit or "at least" in unit
    misses = target is not None and (value < target if at_least else value > target)
    sign = "≥" if at_least else "≤"
    goal = "" if target is None else f"{sign} {target:g}"
    print(f"{label:58} {value:12,.2f}  {unit:22} {goal:>10} {'MISSED' if misses else ''}", flush=True)
    return misses


if __name__ == "__main__":
    raise SystemExit(main())
