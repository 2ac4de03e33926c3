"""`make soak`: mixed traffic on two workers for ten minutes, with a database that stands still in the middle.

Memory, file descriptors, connections and latency must not grow. `python -m bench.soak_run SECONDS` for less.
"""

import random
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import httpx2
from tests.support.cluster import Cluster
from tests.support.postgres import PostgresServer, temporary_postgres
from tests.support.redis import RedisServer
from tests.support.server import OPERATOR_KEY
from tests.support.traffic import UNLIMITED

CALLERS = 8
PAUSE_SECONDS = 10
SAMPLES = 40


class Soak:
    def __init__(self, cluster: Cluster, postgres: PostgresServer) -> None:
        self._cluster, self._postgres = cluster, postgres
        self._agents = [cluster.register(budget=UNLIMITED) for _ in range(8)]
        self._agents += [cluster.register(type="supervised", budget=UNLIMITED) for _ in range(2)]
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._latencies: list[float] = []
        self.answers: dict[str, int] = {}
        self.samples: list[dict[str, float]] = []

    def run(self, seconds: float) -> None:
        callers = [threading.Thread(target=self._call, args=(n,)) for n in range(CALLERS)]
        for caller in callers:
            caller.start()
        started, paused = time.monotonic(), False
        for number in range(1, SAMPLES + 1):
            time.sleep(max(0.0, started + seconds * number / SAMPLES - time.monotonic()))
            if not paused and number >= SAMPLES // 2:
                self._postgres.pause()
                time.sleep(PAUSE_SECONDS)
                self._postgres.resume()
                paused = True
                continue
            self.samples.append(self._sample())
        self._over.set()
        for caller in callers:
            caller.join(60)

    def _call(self, caller: int) -> None:
        random_ = random.Random(caller)
        headers = {"Authorization": f"Bearer {OPERATOR_KEY}"}
        with httpx2.Client(base_url=self._cluster.base_url, headers=headers, timeout=30) as client:
            number = 0
            while not self._over.is_set():
                number += 1
                agent = random_.choice(self._agents)["agent_id"]
                began = time.monotonic()
                try:
                    response = client.request(
                        **_mixed(random_, agent, f"{caller}-{number // 20}", number % 20 + 1)
                    )
                    answer = str(response.json().get("decision") or response.status_code)
                except httpx2.HTTPError as error:
                    answer = type(error).__name__
                with self._lock:
                    self._latencies.append(time.monotonic() - began)
                    self.answers[answer] = self.answers.get(answer, 0) + 1

    def _sample(self) -> dict[str, float]:
        with self._lock:
            latencies, self._latencies = self._latencies, []
        pids = self._cluster.workers
        connections = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'qwed'"
        return {
            "memory MB": sum(map(_rss_mb, pids)),
            "descriptors": float(sum(1 for pid in pids for _ in Path(f"/proc/{pid}/fd").iterdir())),
            "connections": float(self._postgres.sql(connections)),
            "p50 ms": statistics.median(latencies) * 1000 if latencies else 0.0,
            "answers": float(len(latencies)),
        }


def _mixed(random_: random.Random, agent: str, conversation: str, step: int) -> dict[str, Any]:
    if random_.random() < 0.1:
        return {"method": "GET", "url": f"/agents/{agent}/activity?limit=20"}
    if random_.random() < 0.05:
        return {"method": "GET", "url": f"/agents/{agent}/budget"}
    kind = random_.choice(["calculate"] * 6 + ["execute_sql", "file_read", "send_email", "unheard_of"])
    queries = {"calculate": f"{step} + {random_.random():.6f}", "execute_sql": "SELECT 1"}
    action = {"type": kind, "query": queries.get(kind, "notes.txt")}
    context = {"conversation_id": conversation, "step_number": step}
    return {
        "method": "POST",
        "url": f"/agents/{agent}/verify",
        "json": {"action": action, "context": context},
    }


def _rss_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 600.0
    with tempfile.TemporaryDirectory() as name, temporary_postgres(durable=True) as postgres:
        redis = RedisServer(Path(name) / "redis").start()
        try:
            database = postgres.create_database("soak")
            with Cluster(Path(name), database, redis.url, 2) as cluster:
                soak = Soak(cluster, postgres)
                soak.run(seconds)
        finally:
            redis.stop()
    return report(soak)


#: How much the last quarter may have over the second one: times, plus.
BOUNDS = {
    "memory MB": (1.1, 30.0),
    "descriptors": (1.0, 16.0),
    "connections": (1.0, 4.0),
    "p50 ms": (1.5, 10.0),
}


def report(soak: Soak) -> int:
    quarter = len(soak.samples) // 4
    early, late = soak.samples[quarter : 2 * quarter], soak.samples[-quarter:]
    print(f"answers: {dict(sorted(soak.answers.items()))}")
    failed = 0
    for name, (times, plus) in BOUNDS.items():
        before, after = (statistics.median(sample[name] for sample in part) for part in (early, late))
        grows = after > before * times + plus
        failed += grows
        verdict = "GROWS" if grows else "ok"
        print(f"{name:14} second quarter {before:10.1f}   last quarter {after:10.1f}   {verdict}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
