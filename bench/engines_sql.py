"""What a SQL statement costs to verify."""

import subprocess
import sys
import time
from collections.abc import Callable

from qwed.domain.actions import Action
from qwed.engines.sql import SqlEngine, warm_up

Figure = tuple[str, float, str, float | None]

_QUERIES = {
    "a short SELECT": "SELECT id, name FROM users WHERE active = true ORDER BY name LIMIT 10",
    "a typical SELECT": (
        "SELECT u.id, u.name, COUNT(o.id) AS orders FROM users AS u JOIN orders AS o ON o.user_id = u.id "
        "WHERE u.country = 'DE' AND o.total > 100 GROUP BY u.id, u.name ORDER BY orders DESC LIMIT 10"
    ),
}
_SCHEMA = {"users": {"id": "int", "name": "text", "country": "text"}, "orders": ["id", "user_id", "total"]}
_HOSTILE = "SELECT 1 FROM t WHERE " + "a = 1 OR " * 8_000 + "b = 2"


def figures() -> list[Figure]:
    warm_up()
    measured: list[Figure] = []
    for label, query in _QUERIES.items():
        measured.append((f"sql: {label}", _cold_microseconds(Action("execute_sql", query)), "µs", 200.0))
    typical = Action("execute_sql", _QUERIES["a typical SELECT"], parameters={"schema": _SCHEMA})
    measured.append(("sql: a typical SELECT against its schema", _cold_microseconds(typical), "µs", None))
    engine = SqlEngine()
    measured.append(("sql: identical text again", _microseconds(lambda: engine.verify(typical)), "µs", 10.0))
    hostile = Action("execute_sql", _HOSTILE)
    measured.append(
        ("sql: 8 000 OR terms", _cold_microseconds(hostile, rounds=3, count=1) / 1_000, "ms", None)
    )
    measured.append(("sql: import of the engine", _import_milliseconds(), "ms", 80.0))
    return measured


def _cold_microseconds(action: Action, rounds: int = 9, count: int = 50) -> float:
    """A new engine for every text, so that none is remembered."""
    engines = iter([SqlEngine() for _ in range(rounds * count)])
    return _microseconds(lambda: next(engines).verify(action), rounds, count)


def _microseconds(work: Callable[[], object], rounds: int = 9, count: int = 50) -> float:
    best = float("inf")
    for _ in range(rounds):
        started = time.process_time()
        for _ in range(count):
            work()
        best = min(best, (time.process_time() - started) / count)
    return best * 1e6


def _import_milliseconds() -> float:
    code = "import time; t = time.process_time(); import qwed.engines.sql; print(time.process_time() - t)"
    runs = (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(3)
    )
    return min(float(run.stdout) for run in runs) * 1e3
