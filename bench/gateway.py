"""The gateway's own figures: decisions in-process, on SQLite, over HTTP beside a bare endpoint."""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from bench.load import ROOMY, Load, post, run_load

Figure = tuple[str, float, str, float | None]

CONCURRENCY = 16
#: Comparisons made beside more than this, or beside bare rounds further apart, are void.
MAX_FOREIGN_LOAD = 1.5
MAX_APART = 0.1
SECONDS = 4.0
ROUNDS = 3


def figures() -> list[Figure]:
    return [*in_process(), *on_sqlite(), *over_http(), *when_grown()]


# --- in-process ----------------------------------------------------------------------------------


def in_process() -> list[Figure]:
    from qwed import Gateway

    with Gateway.open(":memory:") as gateway:
        agent = _agent(gateway)
        best = min(_cpu_per_decision(gateway, agent, 4_000, f"memory{n}") for n in range(ROUNDS))
    return [("in-process verify, memory store", best * 1e6, "µs CPU", 75.0)]


def _agent(gateway: object) -> str:
    unlimited = {
        "max_daily_cost_usd": None,
        "max_requests_per_hour": None,
        "max_requests_per_day": None,
    }
    registered = gateway.register_agent(  # type: ignore[attr-defined]
        name="bench", type="autonomous", principal_id="bench", budget=unlimited
    )
    return str(registered["agent_id"])


def _cpu_per_decision(gateway: object, agent: str, count: int, name: str) -> float:
    verify = gateway.verify_action  # type: ignore[attr-defined]
    started = time.process_time()
    for number in range(count):
        conversation, step = divmod(number, 50)
        action = {"type": "calculate", "query": f"{number} + {number + 1}"}
        answer = verify(agent, action, {"conversation_id": f"{name}-{conversation}", "step_number": step + 1})
        assert answer["decision"] == "APPROVED", answer
    return (time.process_time() - started) / count


# --- SQLite --------------------------------------------------------------------------------------


def on_sqlite() -> list[Figure]:
    from qwed import Gateway

    with tempfile.TemporaryDirectory(dir=_disk()) as folder:
        flushes = _flush_rate(Path(folder))
        with Gateway.open(Path(folder) / "qwed.db") as gateway:
            agent = _agent(gateway)
            _threads(gateway, agent, 64, 10, "warm")
            best = max(_threads(gateway, agent, 64, 100, f"run{n}") for n in range(ROUNDS))
    return [
        ("durable decisions, SQLite, 64 callers", best, "decisions/s", 6_000.0),
        ("the disk's own write + fdatasync", flushes, "flushes/s", None),
    ]


def _disk() -> str:
    """A folder on the project's own disk: the system's temporary one may be memory."""
    folder = Path.cwd() / ".bench"
    folder.mkdir(exist_ok=True)
    return str(folder)


def _threads(gateway: object, agent: str, callers: int, each: int, name: str) -> float:
    def work(caller: int) -> None:
        for number in range(each):
            conversation, step = divmod(number, 50)
            answer = gateway.verify_action(  # type: ignore[attr-defined]
                agent,
                {"type": "calculate", "query": f"{number} + {caller}"},
                {"conversation_id": f"{name}-{caller}-{conversation}", "step_number": step + 1},
            )
            assert answer["decision"] == "APPROVED", answer

    threads = [threading.Thread(target=work, args=(caller,)) for caller in range(callers)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return callers * each / (time.perf_counter() - started)


def _flush_rate(folder: Path) -> float:
    descriptor = os.open(folder / "flush", os.O_WRONLY | os.O_CREAT)
    started = time.perf_counter()
    for _ in range(300):
        os.write(descriptor, b"x" * 4096)
        os.fdatasync(descriptor)
    elapsed = time.perf_counter() - started
    os.close(descriptor)
    return 300 / elapsed


# --- HTTP ----------------------------------------------------------------------------------------


def over_http() -> list[Figure]:
    with tempfile.TemporaryDirectory(dir=_disk()) as folder:
        gateway, bare = _Gateway(Path(folder)), _Bare(Path(folder))
        full = _Full(Path(folder), Path(folder) / "full.db")
        foreign = ForeignLoad(gateway, bare, full)
        try:
            rounds = [(gateway.load(f"r{n}"), full.load(f"f{n}"), bare.load()) for n in range(ROUNDS)]
        finally:
            load = foreign.cores()
            for server in (gateway, bare, full):
                server.stop()
    ours, loaded, theirs = (max(loads, key=lambda load: load.rate) for loads in zip(*rounds, strict=True))
    best_p99 = min(each[0].percentile(0.99) for each in rounds)
    bare_p99 = min(each[2].percentile(0.99) for each in rounds)
    slowest = min(each[2].rate for each in rounds)
    compared = [
        ("HTTP verify / bare, requests/s", ours.rate / theirs.rate, "ratio (at least)", 0.4),
        ("HTTP verify with much to look at / bare", loaded.rate / theirs.rate, "ratio (at least)", 0.33),
        ("HTTP verify / bare, p99", best_p99 / bare_p99, "ratio", 3.0),
        ("HTTP verify / bare, server CPU", gateway.cpu_per_request / bare.cpu_per_request, "ratio", 2.4),
    ]
    is_void = load > MAX_FOREIGN_LOAD or slowest < (1 - MAX_APART) * theirs.rate
    return [
        ("other work while HTTP was measured", load, "cores", None),
        ("bare rounds, slowest / fastest", slowest / theirs.rate, "ratio (at least)", None),
        *(
            (f"void, {label}", value, unit, None) if is_void else (label, value, unit, target)
            for label, value, unit, target in compared
        ),
        ("HTTP verify, c=16", ours.rate, "requests/s", None),
        ("HTTP verify with much to look at, c=16", loaded.rate, "requests/s", None),
        ("bare endpoint, c=16", theirs.rate, "requests/s", None),
        ("HTTP verify p50", ours.median, "ms", None),
        ("HTTP verify p99", best_p99, "ms", None),
        ("bare endpoint p99", bare_p99, "ms", None),
        ("HTTP verify, server CPU", gateway.cpu_per_request * 1e6, "µs", None),
        ("HTTP verify with much to look at, server CPU", full.cpu_per_request * 1e6, "µs", None),
        ("bare endpoint, server CPU", bare.cpu_per_request * 1e6, "µs", None),
    ]


class ForeignLoad:
    """How many cores were busy with what is neither ours nor the servers'."""

    def __init__(self, *servers: "_Server") -> None:
        self._servers = servers
        self._since, self._before = time.perf_counter(), self._busy()

    def cores(self) -> float:
        return max(0.0, (self._busy() - self._before) / (time.perf_counter() - self._since))

    def _busy(self) -> float:
        """Seconds of all CPUs, without idling and waiting, and without our own."""
        ticks = list(map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]))
        everybody = (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")
        return everybody - time.process_time() - sum(server._cpu() for server in self._servers)


class _Server:
    def __init__(self, command: list[str], folder: Path, environ: dict[str, str]) -> None:
        self.log = (folder / "log").open("ab")
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self.log, env={**os.environ, **environ}, text=True
        )
        assert self.process.stdout is not None
        self.port = 0
        for line in self.process.stdout:
            if "http://127.0.0.1:" in line:
                self.port = int(line.rsplit(":", 1)[1].split("/")[0])
                break
        else:
            raise RuntimeError(f"a server to be measured did not start: {self._last_words(folder)}")
        self.cpu_per_request = float("inf")

    def _last_words(self, folder: Path) -> str:
        self.process.wait(30)
        return (folder / "log").read_text(encoding="utf-8", errors="replace")[-400:]

    def _cpu(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def measured(self, sources: list[Iterator[bytes]], seconds: float = SECONDS) -> Load:
        before = self._cpu()
        load = run_load(self.port, sources, seconds)
        self.cpu_per_request = min(self.cpu_per_request, (self._cpu() - before) / load.requests)
        assert set(load.statuses) == {200}, load.statuses
        return load

    def rss_kb(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)
        self.log.close()


class _Gateway(_Server):
    KEY = "qwed_live_benchmark_operator_key_0123456789"

    def __init__(self, folder: Path, database: Path | None = None, *more: str) -> None:
        command = [sys.executable, "-m", "qwed", "serve", "--port", "0", *more]
        environ = {
            "QWED_DATABASE": str(database or folder / "qwed.db"),
            "QWED_OPERATOR_KEY": self.KEY,
            "QWED_LOG_LEVEL": "info",
            **ROOMY,
        }
        super().__init__(command, folder, environ)
        agent = self.register()
        self.agent, self.token = agent["agent_id"], agent["agent_token"]

    def register(self) -> dict[str, str]:
        body = {
            "name": "bench",
            "type": "autonomous",
            "principal_id": "bench",
            "budget": {
                "max_daily_cost_usd": None,
                "max_requests_per_hour": None,
                "max_requests_per_day": None,
            },
        }
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/agents/register",
            json.dumps(body).encode(),
            {"Authorization": f"Bearer {self.KEY}"},
        )
        with urllib.request.urlopen(request) as response:
            return dict(json.load(response))

    def requests(self, name: str) -> Iterator[bytes]:
        path = f"/agents/{self.agent}/verify"
        headers = {"Authorization": f"Bearer {self.token}"}
        number = 0
        while True:
            conversation, step = divmod(number, 50)
            yield post(path, self.body(number, f"{name}-{conversation}", step + 1), headers)
            number += 1

    def body(self, number: int, conversation: str, step: int) -> bytes:
        return verify_body(number, conversation, step)

    def load(self, name: str, seconds: float = SECONDS) -> Load:
        load = self.measured([self.requests(f"{name}-{c}") for c in range(CONCURRENCY)], seconds)
        assert b'"decision":"APPROVED"' in load.last_body, load.last_body
        return load


class _Full(_Gateway):
    """With much to look at: an intent, a conversation of a long name, ten rules that don't match."""

    def __init__(self, folder: Path, database: Path) -> None:
        policy = folder / "policy.yaml"
        policy.write_text(TEN_RULES, encoding="utf-8")
        super().__init__(folder, database, "--config", str(policy))

    def body(self, number: int, conversation: str, step: int) -> bytes:
        return verify_body(number, f"conversation-of-the-long-name-{conversation}", step, INTENT)


INTENT = "Find out what the orders of the last week come to, and whether that is what the invoice says."
TEN_RULES = "rules:\n" + "".join(
    f"  - id: rule-{n}\n    when: action.type == 'transfer_{n}' && agent.trust < 3\n"
    "    then: deny\n    message: not this\n"
    for n in range(10)
)


def verify_body(number: int, conversation: str, step: int, intent: str = "bench") -> bytes:
    return json.dumps(
        {
            "action": {"type": "calculate", "query": f"{number} * 17 + {number + 3}"},
            "context": {"conversation_id": conversation, "step_number": step, "user_intent": intent},
        }
    ).encode()


BARE = """
import asyncio, sys
import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
from qwed.domain import json_text

ANSWER = sys.argv[1].encode()

async def verify(request):
    json_text.loads(await request.body())
    return Response(ANSWER, media_type="application/json")

app = Starlette(routes=[Route("/agents/{agent_id}/verify", verify, methods=["POST"])])
config = uvicorn.Config(app, port=0, log_config=None, access_log=False)
class Server(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        print(f"http://127.0.0.1:{self.servers[0].sockets[0].getsockname()[1]}/", flush=True)
Server(config).run()
"""

#: As long as a real answer: what the gateway says to `calculate`.
BARE_ANSWER = json.dumps(
    {
        "decision": "APPROVED",
        "activity_id": "act_" + "0" * 28,
        "policy_version": "sha256:" + "0" * 64,
        "verification": {
            "status": "VERIFIED",
            "engine": "math",
            "risk_level": "low",
            "checks_passed": ["parsed", "evaluated"],
            "checks_failed": [],
            "evidence": {"expression": "1234 * 17 + 1237", "value": "22215"},
        },
        "budget_remaining": {
            "daily_cost_usd": None,
            "hourly_requests": None,
            "daily_requests": None,
            "daily_tokens": None,
        },
    },
    separators=(",", ":"),
)


class _Bare(_Server):
    def __init__(self, folder: Path) -> None:
        super().__init__([sys.executable, "-c", BARE, BARE_ANSWER], folder, {})

    def load(self) -> Load:
        return self.measured([self._requests(c) for c in range(CONCURRENCY)])

    def _requests(self, name: int) -> Iterator[bytes]:
        number = 0
        while True:
            conversation, step = divmod(number, 50)
            body = verify_body(number, f"bare-{name}-{conversation}", step + 1)
            yield post("/agents/agent_0000000000000000/verify", body, {"Authorization": "Bearer " + "x" * 54})
            number += 1


# --- growth --------------------------------------------------------------------------------------


GROWN_ROWS = 1_000_000
GROWN_AGENTS = 10_000
READINGS = 20
RSS_FROM, RSS_TO = 200_000, 1_000_000


def when_grown() -> list[Figure]:
    """The same decisions on an empty store and on one with a million activities and 10 000 agents."""
    from qwed import Gateway

    with tempfile.TemporaryDirectory(dir=_disk()) as folder:
        empty, grown = Path(folder) / "empty.db", Path(folder) / "grown.db"
        _grow(grown)
        with Gateway.open(empty) as small, Gateway.open(grown) as large:
            small_agent, large_agent = _agent(small), _agent(large)
            _threads(small, small_agent, 16, 20, "warm")
            _threads(large, large_agent, 16, 20, "warm")
            pairs = [
                (
                    _cpu_of_threads(small, small_agent, f"s{n}"),
                    _cpu_of_threads(large, large_agent, f"l{n}"),
                )
                for n in range(5)
            ]
        growth = _rss_growth(Path(folder))
    ratio = min(large for _, large in pairs) / min(small for small, _ in pairs)
    return [
        ("1 000 000 activities, 10 000 agents / empty", ratio, "ratio of CPU", 1.2),
        (f"RSS, slope through {READINGS} readings", growth, "bytes per decision", 2.0),
    ]


def _cpu_of_threads(gateway: object, agent: str, name: str) -> float:
    started = time.process_time()
    _threads(gateway, agent, 16, 50, name)
    return (time.process_time() - started) / (16 * 50)


def _grow(path: Path) -> None:
    from qwed.domain.conversations import Step
    from qwed.ect.key_files import open_ring
    from qwed.ect.keys import node_issuer
    from qwed.gateway.kernel.records import Activity, Booking, CommittedStep, Record
    from qwed.stores.sqlite import SqliteTables

    ring = open_ring(path.with_name(f"{path.name}.key"), node_issuer("local"))
    tables = SqliteTables(path, ring)
    payload = b'{"filler": "' + b"x" * 560 + b'"}'
    now = time.time_ns() // 1_000_000 - GROWN_ROWS
    for first in range(0, GROWN_ROWS, 1_000):
        records = []
        for number in range(first, first + 1_000):
            agent = f"agent_{number % GROWN_AGENTS:016x}"
            activity = Activity(
                f"act_{number:032x}", agent, "bench", now + number, "calculate", "APPROVED", None,
                f"old-{number // 50}", 10_000_000, 0, os.urandom(32), payload,
            )  # fmt: skip
            step = CommittedStep(agent, f"old-{number // 50}", Step(number % 50 + 1, os.urandom(32)))
            booking = Booking(agent, "bench", number % 7, now // 1000 - 90_000, 1, 10_000_000, 0)
            records.append(Record(activity, step=step, booking=booking))
        tables.write(records)
    tables.close()


def _rss_growth(folder: Path) -> float:
    """Bytes per decision once the caches are full: the slope of a line through readings at even distances."""
    server = _Gateway(folder, folder / "rss.db")
    readings: list[tuple[int, int]] = []
    decisions, distance = 0, (RSS_TO - RSS_FROM) / (READINGS - 1)
    try:
        while len(readings) < READINGS:
            decisions += server.load(f"w{decisions}", 5.0).requests
            if decisions >= RSS_FROM + len(readings) * distance:
                readings.append((decisions, server.rss_kb() * 1024))
    finally:
        server.stop()
    return statistics.linear_regression(*zip(*readings, strict=True)).slope


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    for figure in figures():
        print(figure)
