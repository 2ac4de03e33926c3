"""Workers on PostgreSQL and Redis, beside a bare endpoint and pgbench with one insert and update."""

import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.gateway import BARE, BARE_ANSWER, Figure, _disk, verify_body
from bench.load import ROOMY, Load, post, run_load

CONCURRENCY = 64
AGENTS = 16
SECONDS = 5.0
ROUNDS = 3
KEY = "qwed_live_benchmark_operator_key_0123456789"


def figures() -> list[Figure]:
    with tempfile.TemporaryDirectory(dir=_disk()) as name, servers(Path(name)) as (postgres, redis):
        return _measured(Path(name), postgres, redis)


@contextmanager
def servers(folder: Path) -> Iterator[tuple[Any, Any]]:
    """PostgreSQL and Redis as they would be run: every commit reaches the disk."""
    from tests.support.postgres import PostgresServer
    from tests.support.redis import RedisServer

    folder.chmod(0o755)
    postgres = PostgresServer(folder / "postgres", durable=True, settings={"shared_buffers": "256MB"}).start()
    redis = RedisServer(folder / "redis").start()
    try:
        yield postgres, redis
    finally:
        redis.stop()
        postgres.stop()


def _measured(folder: Path, postgres: Any, redis: Any) -> list[Figure]:
    database = postgres.create_database("bench")
    rates: dict[int, list[tuple[Load, float]]] = {}
    for workers in (1, 2):
        gateway = Workers(folder / f"w{workers}", workers, database, redis.url)
        try:
            gateway.load("warm", 2.0)
            rates[workers] = [gateway.load(f"w{workers}r{n}", SECONDS) for n in range(ROUNDS)]
        finally:
            gateway.stop()
    bare = _Bare(folder)
    try:
        plain = max((bare.load() for _ in range(ROUNDS)), key=lambda load: load.rate)
    finally:
        bare.stop()
    pgbench = _pgbench(postgres, folder)
    two = [load for load, _ in rates[2]]
    cpu = {workers: min(cpu for _, cpu in runs) for workers, runs in rates.items()}
    return [
        ("2 workers, PostgreSQL + Redis, c=64", max(load.rate for load in two), "decisions/s", 2_500.0),
        ("1 worker, PostgreSQL + Redis, c=64", max(load.rate for load, _ in rates[1]), "decisions/s", None),
        ("bare endpoint, one process, c=64", plain.rate, "requests/s", None),
        ("pgbench, one insert + update, c=64", pgbench, "transactions/s", None),
        ("2 workers, p50", min(load.median for load in two), "ms", None),
        ("2 workers, p99", min(load.percentile(0.99) for load in two), "ms", 60.0),
        ("bare endpoint p99", plain.percentile(0.99), "ms", None),
        ("worker CPU per decision, 1 worker", cpu[1] * 1e6, "µs", None),
        ("worker CPU per decision, 2 workers", cpu[2] * 1e6, "µs", None),
        ("worker CPU per decision, 2 workers / 1", cpu[2] / cpu[1], "ratio", 1.2),
    ]


class Workers:
    def __init__(self, folder: Path, workers: int, database: str, redis: str) -> None:
        folder.mkdir()
        self._log = (folder / "log").open("ab")
        command = [sys.executable, "-m", "qwed", "serve", "--port", "0", "--database", database]
        command += ["--redis", redis, "--workers", str(workers)]
        own = {"QWED_OPERATOR_KEY": KEY, "QWED_DATA_DIR": str(folder.parent), **ROOMY}
        environ = {**os.environ, **own}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self._log, env=environ, text=True
        )
        assert self.process.stdout is not None
        self.port = 0
        for line in self.process.stdout:
            if "http://127.0.0.1:" in line:
                self.port = int(line.rsplit(":", 1)[1].split("/")[0])
                break
        self.agents = [self._register() for _ in range(AGENTS)]

    def _register(self) -> tuple[str, str]:
        budget = {"max_daily_cost_usd": None, "max_requests_per_hour": None, "max_requests_per_day": None}
        body = {"name": "bench", "type": "autonomous", "principal_id": "bench", "budget": budget}
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/agents/register",
            json.dumps(body).encode(),
            {"Authorization": f"Bearer {KEY}"},
        )
        with urllib.request.urlopen(request) as response:
            agent = json.load(response)
        return agent["agent_id"], agent["agent_token"]

    def _pids(self) -> list[int]:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [self.process.pid, *map(int, children)]

    def rss_kb(self) -> int:
        """Of all processes together."""
        texts = [Path(f"/proc/{pid}/status").read_text() for pid in self._pids()]
        return sum(int(text.split("VmRSS:")[1].split()[0]) for text in texts)

    def _cpu(self) -> float:
        ticks = 0
        for pid in self._pids():
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def _requests(self, number: int, name: str) -> Iterator[bytes]:
        agent, token = self.agents[number % AGENTS]
        headers = {"Authorization": f"Bearer {token}"}
        count = 0
        while True:
            conversation, step = divmod(count, 50)
            body = verify_body(count, f"{name}-{number}-{conversation}", step + 1)
            yield post(f"/agents/{agent}/verify", body, headers)
            count += 1

    def load(self, name: str, seconds: float) -> tuple[Load, float]:
        before = self._cpu()
        load = run_load(self.port, [self._requests(n, name) for n in range(CONCURRENCY)], seconds)
        assert set(load.statuses) == {200}, (load.statuses, load.last_body)
        assert b'"decision":"APPROVED"' in load.last_body, load.last_body
        return load, (self._cpu() - before) / load.requests

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)
        self._log.close()


class _Bare:
    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", BARE, BARE_ANSWER], stdout=subprocess.PIPE, text=True, cwd=Path.cwd()
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1].split("/")[0])

    def load(self) -> Load:
        return run_load(self.port, [self._requests(n) for n in range(CONCURRENCY)], SECONDS)

    def _requests(self, number: int) -> Iterator[bytes]:
        body = verify_body(number, f"bare-{number}", 1)
        while True:
            yield post("/agents/agent_0000000000000000/verify", body, {"Authorization": "Bearer " + "x" * 54})

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)


_SCRIPT = """\\set number random(1, 16)
BEGIN;
INSERT INTO bench_rows (agent, payload) VALUES (:number, repeat('x', 600));
UPDATE bench_counters SET used = used + 1 WHERE agent = :number;
COMMIT;
"""


def _pgbench(postgres: Any, folder: Path) -> float:
    from tests.support.postgres import binaries

    postgres.create_database("pgbench")
    postgres.sql("CREATE TABLE bench_rows (id bigserial PRIMARY KEY, agent int, payload text)", "pgbench")
    postgres.sql("CREATE TABLE bench_counters (agent int PRIMARY KEY, used bigint)", "pgbench")
    postgres.sql("INSERT INTO bench_counters SELECT n, 0 FROM generate_series(1, 16) AS n", "pgbench")
    script = folder / "pgbench.sql"
    script.write_text(_SCRIPT)
    done = subprocess.run(
        [
            *(binaries() / "pgbench", "-n", "-f", script, "-c", str(CONCURRENCY), "-j", "2"),
            *("-T", str(int(SECONDS)), "-M", "prepared", postgres.url("pgbench")),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"tps = ([0-9.]+)", done.stdout)
    return float(found.group(1)) if found else 0.0


if __name__ == "__main__":
    for label, value, unit, _ in figures():
        print(f"{label:50} {value:12.2f} {unit}")
