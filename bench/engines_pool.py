"""What it costs to ask an engine in a worker, to replace one, and to import them all."""

import os
import subprocess
import sys
import time
from pathlib import Path

from qwed.domain.actions import Action
from qwed.engines.pool import WorkerPool

Figure = tuple[str, float, str, float | None]

_SMALL = Action("verify_logic", query="x + y = 10 and x - y = 4")
_REFUSED = Action("verify_logic", query="hello world")
# No small rational numbers are found for this, nor a proof that there are none.
_BOMB = Action("verify_logic", query="x*x*x + y*y*y + z*z*z = 33 and w*w*w*w + v*v*v*v = 99")


def figures() -> list[Figure]:
    with WorkerPool(size=1) as pool:
        started = time.perf_counter()
        pool.submit("logic", _REFUSED).result()
        cold = time.perf_counter() - started
        return [
            ("pool: first answer of a cold worker, z3 loaded (wall)", cold * 1e3, "ms", None),
            ("pool: a job that is refused at sight (wall)", _fastest(pool, _REFUSED) * 1e3, "ms", None),
            ("pool: a small SMT query, warm (wall, best)", _fastest(pool, _SMALL) * 1e3, "ms", 5.0),
            ("pool: a small SMT query, warm (CPU of both processes)", _cpu(pool, _SMALL) * 1e3, "ms", 5.0),
            ("pool: worker killed and replaced (wall)", _replaced() * 1e3, "ms", None),
            ("import qwed.engines (CPU)", _import_milliseconds(), "ms", 80.0),
        ]


def _fastest(pool: WorkerPool, action: Action) -> float:
    best = float("inf")
    for _ in range(200):
        started = time.perf_counter()
        pool.submit("logic", action).result()
        best = min(best, time.perf_counter() - started)
    return best


def _cpu(pool: WorkerPool, action: Action, count: int = 300) -> float:
    """Mean processor time of a job, ours and the worker's."""
    (worker,) = pool._workers.values()
    before = _process_seconds(worker.pid) + time.process_time()
    for _ in range(count):
        pool.submit("logic", action).result()
    return (_process_seconds(worker.pid) + time.process_time() - before) / count


def _process_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _replaced() -> float:
    """From the deadline of one job to the answer of the next."""
    with WorkerPool(size=1, deadline_seconds=0.05) as pool:
        pool.submit("logic", _REFUSED).result()
        pool.submit("logic", _BOMB).result()
        started = time.perf_counter()
        pool.submit("logic", _REFUSED).result()
        return time.perf_counter() - started


def _import_milliseconds() -> float:
    clock = "time.process_time()"
    script = f"import time; started = {clock}; import qwed.engines; print({clock} - started)"
    runs = [
        float(subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout)
        for _ in range(5)
    ]
    return min(runs) * 1e3
