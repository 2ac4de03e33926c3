"""A large record on PostgreSQL: `qwed migrate` of a file, then pages and a report of what arrived.

Twice, with one size and with half of it: what is flat is so at both.
"""

import http.client
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.support.tiers import tier

from bench.dashboard import SETTLING_SECONDS, _get
from bench.gateway import Figure, _disk, _Gateway
from bench.large_record import Shape, build
from bench.scale import servers

#: `make long` moves five million.
ROWS = {"nightly": 200_000, "long": 5_000_000}.get(tier(), 400_000)
PAGE_MS = 30.0
REPORT_SECONDS_A_MILLION = 10.0
BYTES = 1_500.0


def figures() -> list[Figure]:
    with tempfile.TemporaryDirectory(dir=_disk()) as name, servers(Path(name)) as (postgres, _):
        return [figure for rows in (ROWS // 2, ROWS) for figure in _measured(Path(name), postgres, rows)]


def _measured(folder: Path, postgres: Any, rows: int) -> list[Figure]:
    own = folder / str(rows)
    own.mkdir()
    agents = build(own / "qwed.db", Shape(rows), time.time_ns() // 1_000_000)
    url = postgres.create_database(f"rows_{rows}")
    seconds, cpu, peak = _move(own, url)
    (own / "qwed.db").unlink()
    size = int(postgres.sql(f"SELECT pg_database_size('rows_{rows}')"))
    postgres.sql("VACUUM ANALYZE", f"rows_{rows}")
    server = _Gateway(own, url)  # type: ignore[arg-type]
    try:
        _await_counted(postgres, f"rows_{rows}")
        time.sleep(SETTLING_SECONDS)
        busy, other = agents[0].agent_id, agents[-1].agent_id
        pages = {
            "an agent with a tenth of all entries": f"/agents/{busy}/activity?limit=50",
            "its refusals": f"/agents/{busy}/activity?limit=50&decision=DENIED",
            "another agent": f"/agents/{other}/activity?limit=50",
            "everybody's newest": "/activity?limit=50",
            "a search for a text that is nowhere": "/activity?text=nowhere&limit=50",
        }
        measured = [(name, _median(server, path)) for name, path in pages.items()]
        report = _report_cpu(server)
    finally:
        server.stop()
    label = f"{rows:,} entries"
    return [
        (f"{label}: qwed migrate", seconds, "s", None),
        (f"{label}: qwed migrate, CPU of the command", cpu, "s CPU", None),
        (f"{label}: qwed migrate, most memory", peak, "MB", 200.0),
        *((f"{label}: {name}", value, "ms, median of 9", PAGE_MS) for name, value in measured),
        (
            f"{label}: compliance report, a million",
            report * 1e6 / rows,
            "s CPU of the gateway",
            REPORT_SECONDS_A_MILLION,
        ),
        (f"{label}: on disk, a decision", size / rows, "bytes", BYTES),
    ]


def _move(folder: Path, url: str) -> tuple[float, float, float]:
    """Seconds, seconds of CPU, and the most memory in MB."""
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "qwed", "migrate", "--database", "qwed.db", "--to", url]
    # The key goes where the gateway that is measured looks for it.
    os.environ["QWED_DATA_DIR"] = str(folder)
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        peak = max(peak, _peak_kb(process.pid))
        time.sleep(0.5)
    assert process.returncode == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - started, cpu, peak / 1000


def _median(server: _Gateway, path: str) -> float:
    taken = []
    for _ in range(9):
        started = time.perf_counter()
        _get(server, path)
        taken.append(time.perf_counter() - started)
    return sorted(taken)[4] * 1000


def _peak_kb(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(status.split("VmHWM:")[1].split()[0]) if "VmHWM:" in status else 0


def _await_counted(postgres: Any, database: str) -> None:
    behind = "SELECT coalesce((SELECT max(seq) FROM ledger), 0) - seq FROM counted_until"
    while int(postgres.sql(behind, database)) > 0:
        time.sleep(1)


def _report_cpu(server: _Gateway) -> float:
    before = server._cpu()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=300)
    connection.request("GET", "/compliance-report", headers={"Authorization": f"Bearer {server.KEY}"})
    response = connection.getresponse()
    response.read()
    assert response.status == 200
    return server._cpu() - before
