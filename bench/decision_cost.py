"""What a decision costs beside an earlier version: two checkouts of the sources in alternation, CPU time.

    python -m bench.decision_cost OTHER_SRC     # a folder with the other version's `qwed` package

As a part of `make bench` the earlier version is the commit below, where the repository has it.
"""

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

Figure = tuple[str, float, str, float | None]

ROOT: Final = Path(__file__).parent.parent
# The last commit before every text of an action was looked at.
EARLIER: Final = "860e938"
ROUNDS: Final = 3
COUNT: Final = 300
RUN: Final = 5
ACTIONS: Final[dict[str, dict[str, Any]]] = {
    "calculate": {"type": "calculate", "query": "{n} + 7"},
    "sql": {
        "type": "execute_sql",
        "query": "SELECT id, name FROM orders WHERE status = 'open' AND total > {n} ORDER BY id LIMIT 20",
    },
    "python": {
        "type": "execute_code",
        "code": "def mean(values):\n    return sum(values) / len(values)\n\nprint(mean([1, 2, 3, {n}]))\n",
        "parameters": {"language": "python"},
    },
    "shell": {
        "type": "execute_code",
        "code": "ls -la docs{n} && grep -n total src/report.py",
        "parameters": {"language": "shell"},
    },
    "javascript": {
        "type": "execute_code",
        "code": "const totals = [1, 2, {n}].map(v => v * 2);\nconsole.log(totals);\n",
        "parameters": {"language": "javascript"},
    },
    "file_read": {"type": "file_read", "parameters": {"path": "data/reports/{n}.csv"}},
}


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        earlier = _earlier_sources(Path(folder))
        if earlier is None:
            return
        for kind, (before, now) in compare(earlier).items():
            yield f"a decision about {kind}, at {EARLIER}", before, "µs CPU", None
            yield f"a decision about {kind}, now", now, "µs CPU", None
            yield f"a decision about {kind}", now / before, "times as before", 1.1


def compare(earlier: Path) -> dict[str, tuple[float, float]]:
    """The least that each kind of action took in either version, which took turns."""
    best: dict[str, list[float]] = {kind: [float("inf"), float("inf")] for kind in ACTIONS}
    for _ in range(ROUNDS):
        for version, sources in enumerate((earlier, ROOT / "src")):
            for kind, seconds in _run(sources).items():
                best[kind][version] = min(best[kind][version], seconds * 1e6)
    return {kind: (before, now) for kind, (before, now) in best.items()}


def _run(sources: Path) -> dict[str, float]:
    environment = {**os.environ, "PYTHONPATH": f"{sources}:{ROOT}"}
    command = [sys.executable, "-m", "bench.decision_cost", "--measure"]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, check=True)
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def _earlier_sources(folder: Path) -> Path | None:
    command = ["git", "-C", str(ROOT), "archive", EARLIER, "src"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        return None
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as packed:
        packed.extractall(folder, filter="data")
    return folder / "src"


def _measure() -> dict[str, float]:
    from qwed import Gateway

    with Gateway.open(":memory:") as gateway:
        registered = gateway.register_agent(
            name="bench",
            type="trusted",
            principal_id="bench",
            permissions={"allowed_engines": ["math", "logic", "sql", "code", "tool_control"]},
            budget={"max_daily_cost_usd": None, "max_requests_per_hour": None, "max_requests_per_day": None},
        )
        agent = str(registered["agent_id"])
        for kind in ACTIONS:
            _seconds(gateway, agent, kind, 40, "warm")
        return {kind: _seconds(gateway, agent, kind, COUNT, "run") for kind in ACTIONS}


def _seconds(gateway: Any, agent: str, kind: str, count: int, name: str) -> float:
    """Of the fastest of several runs of actions: what else the machine does makes the others slower."""
    base = 10_000 if name == "warm" else 20_000
    actions = [json.loads(json.dumps(ACTIONS[kind]).replace("{n}", str(base + n))) for n in range(count)]
    best = float("inf")
    for first in range(0, count, RUN):
        started = time.process_time()
        for step, action in enumerate(actions[first : first + RUN], 1):
            context = {"conversation_id": f"{name}-{kind}-{first}", "step_number": step}
            answer = gateway.verify_action(agent, action, context)
            assert answer["decision"] in ("APPROVED", "PENDING"), answer
        best = min(best, (time.process_time() - started) / RUN)
    return best


def _main() -> None:
    if sys.argv[1:] == ["--measure"]:
        print(json.dumps(_measure()))
        return
    for kind, (before, now) in compare(Path(sys.argv[1])).items():
        print(f"{kind:12} {before:8.0f} µs → {now:8.0f} µs   {now / before:5.2f} times")


if __name__ == "__main__":
    _main()
