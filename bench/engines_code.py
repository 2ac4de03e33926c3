"""The code engine: CPU time of typical texts, the cost of loading it, and how the cost grows."""

import subprocess
import sys
import time
from collections.abc import Callable

from qwed.engines.code import inspect_javascript, inspect_python, inspect_shell

PYTHON_50_LINES = '''"""Counts what a log says."""
import argparse
import collections
import json
import re
from pathlib import Path

LINE = re.compile(r"^(?P<when>\\\\S+) (?P<level>[A-Z]+) (?P<message>.*)$")


class Tally:
    def __init__(self, path, limit=10):
        self.path = Path(path)
        self.limit = limit
        self.levels = collections.Counter()
        self.messages = collections.defaultdict(int)

    def feed(self, line):
        found = LINE.match(line)
        if found is None:
            return False
        self.levels[found["level"]] += 1
        if found["level"] in ("ERROR", "WARNING"):
            self.messages[found["message"]] += 1
        return True

    def run(self):
        skipped = 0
        with self.path.open() as lines:
            for line in lines:
                if not self.feed(line.rstrip()):
                    skipped += 1
        return skipped

    def report(self):
        top = sorted(self.messages.items(), key=lambda pair: -pair[1])[: self.limit]
        return {"levels": dict(self.levels), "top": [{"message": m, "count": n} for m, n in top]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("--limit", type=int, default=10)
    args = parser.parse_args()
    tally = Tally(args.path, args.limit)
    skipped = tally.run()
    print(json.dumps(tally.report(), indent=2))
    print(f"{skipped} lines were skipped")
main()
'''
SHELL = """set -e
for f in *.log; do
  grep -c ERROR "$f" | sort -rn | head -5
done
tar czf logs.tgz *.log && ls -l logs.tgz
"""
JAVASCRIPT = (
    "const xs = [1, 2, 3].map(x => x * 2);\nfetch('https://api.example.com/').then(r => r.json());\n" * 5
)


def figures() -> list[tuple[str, float, str, float | None]]:
    return [
        ("a 50-line Python file", _best(lambda: inspect_python(PYTHON_50_LINES)) * 1e3, "ms", 3.0),
        ("a 6-line shell script", _best(lambda: inspect_shell(SHELL)) * 1e3, "ms", None),
        ("a 10-line JavaScript file", _best(lambda: inspect_javascript(JAVASCRIPT)) * 1e3, "ms", None),
        ("four times the Python text, time times", _growth(), "times", 6.0),
        ("import of qwed.engines.code beyond msgspec", _import_cost() * 1e3, "ms", 60.0),
    ]


def _best(work: Callable[[], object], rounds: int = 30) -> float:
    work()
    best = float("inf")
    for _ in range(rounds):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return best


def _growth() -> float:
    line = "x{0} = [y for y in range(3)]\nif x{0}:\n    print(x{0})\n"
    small = "".join(line.format(number) for number in range(100))
    large = "".join(line.format(number) for number in range(400))
    return _best(lambda: inspect_python(large), 5) / _best(lambda: inspect_python(small), 5)


def _import_cost() -> float:
    code = (
        "import time, msgspec; s = time.process_time(); import qwed.engines.code; "
        "print(time.process_time() - s)"
    )
    return min(
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(3)
    )
