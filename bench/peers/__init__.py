"""QWED beside the packages one would pick instead, each in an environment of its own.

Interleaved rounds, CPU time, best of them: what a busy machine adds is left out as far as that goes.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.environments import KEPT, ROOT, CannotInstall, environment, own_environment
from bench.peers.servers import TOOLKIT, http_figures

HERE = Path(__file__).parent
RESULTS = KEPT / "peers.json"
THIS = "QWED"
ROUNDS = 5
#: Repetitions in one round: what is slow by its nature is repeated less.
COUNTS = {"decision": 300, "audit": 300, "durable": 100, "schema": 200}
IMPORTS = 2

Figure = tuple[str, float, str, float | None]


@dataclass(frozen=True)
class Peer:
    name: str
    package: str
    decides: str
    lacks: str


PEERS = (
    Peer(
        "qwed",
        "qwed",
        "a path, by SystemGuard",
        "we found no documented tool policy or record in-process; its schema engine, and its server, "
        "which wants five secrets and an API key, were not measured",
    ),
    Peer(
        "qwed-open-responses",
        "qwed-open-responses",
        "a tool name and its arguments, by ToolGuard",
        "no record, server, budget, loop control, approval or trust",
    ),
    Peer(
        "agent-governance-toolkit",
        "agent-governance-toolkit",
        "a field of the context against rules, by PolicyEvaluator; govern() records it in memory",
        "arguments are not inspected unless a rule names them; no loop control or budget in these calls; "
        "the record of govern() is lost with the process; the HTTP policy server asks for no credential and "
        "records nothing; [full] lacks fastapi and uvicorn, which that server needs (we added them)",
    ),
    Peer(
        "cedarpy",
        "cedarpy",
        "principal, action, resource and context against Cedar policies",
        "a policy language and nothing else: no record, server, inspection of arguments, budget, approval",
    ),
    Peer(
        "guardrails-ai",
        "guardrails-ai",
        "the call's text, by a validator that the bench wrote",
        "judges texts, not actions: no tool policy; a history, no ledger; its server was not measured",
    ),
    Peer(
        "nemoguardrails",
        "nemoguardrails",
        "the call's text, by an input rail with an action that the bench wrote",
        "judges conversations, not actions: we found no tool policy, ledger or schema guard; "
        "its server was not measured",
    ),
    Peer(
        "openai-guardrails",
        "openai-guardrails",
        "the call's text, by its keyword filter",
        "judges texts, not actions: a list of forbidden words and no list of allowed tools; "
        "we found no record, schema guard or server",
    ),
)


class Worker:
    def __init__(self, python: Path, driver: str) -> None:
        command = [str(python), str(HERE / "worker.py"), str(HERE / "drivers" / f"{driver}.py")]
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115
        # The first import leaves byte code behind, as it would for a user; the second is the one to measure.
        environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            cwd=ROOT,
            env=environ,
        )
        try:
            self.started = self._answer()
        except CannotInstall:
            self.stop()
            raise

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._log.seek(0)
            problem = [text for text in self._log.read().splitlines() if text.strip()]
            raise CannotInstall(problem[-1][:300] if problem else "its driver ended without a word")
        return dict(json.loads(line))

    def microseconds(self, work: str) -> float:
        assert self._process.stdin is not None
        count = COUNTS[work]
        self._process.stdin.write(json.dumps({"work": work, "count": count}) + "\n")
        self._process.stdin.flush()
        return float(self._answer()["cpu"]) / count * 1e6

    def stop(self) -> None:
        self._process.communicate(timeout=60)
        self._log.close()


def measure() -> dict[str, Any]:
    rows: dict[str, dict[str, Any]] = {}
    pythons: dict[str, Path] = {}
    for name, driver in [(THIS, "this"), *((peer.name, peer.name) for peer in PEERS)]:
        rows[name] = {}
        try:
            pythons[name] = Path(sys.executable) if name == THIS else _installed(driver, rows[name])
        except CannotInstall as error:
            rows[name]["problem"] = f"can't be installed: {error}"
    rows[THIS].update(_own_sizes())
    workers = _started(pythons, rows)
    try:
        _interleaved(workers, rows)
    finally:
        for worker in workers.values():
            worker.stop()
    for name, http in http_figures(pythons).items():
        rows[name]["http"] = http
    return {"measured": _circumstances(), "rows": rows, "peers": {peer.name: _plain(peer) for peer in PEERS}}


def _installed(name: str, row: dict[str, Any]) -> Path:
    requirements = HERE / f"{name}.txt"
    python = environment(f"peers/{name}", requirements)
    pins = dict(line.split("==") for line in requirements.read_text().split() if "==" in line)
    row["version"] = pins[name]
    row["install_mb"] = _size_mb(python.parents[1])
    return python


def _own_sizes() -> dict[str, float]:
    return {
        "install_mb": _size_mb(own_environment("server").parents[1]),
        "guards_install_mb": _size_mb(own_environment("guards").parents[1]),
    }


def _size_mb(folder: Path) -> float:
    """What was installed, without the byte code that running it leaves behind."""
    files = (file for file in (folder / "lib").rglob("*") if file.is_file() and not file.is_symlink())
    return sum(file.stat().st_size for file in files if file.suffix != ".pyc") / 1e6


def _started(pythons: Mapping[str, Path], rows: dict[str, dict[str, Any]]) -> dict[str, Worker]:
    workers: dict[str, Worker] = {}
    for name, python in pythons.items():
        for _ in range(IMPORTS):
            try:
                worker = Worker(python, "this" if name == THIS else name)
            except CannotInstall as error:
                rows[name]["problem"] = f"can't be imported: {error}"
                break
            cheapest = min(rows[name].get("import_cpu_ms", float("inf")), worker.started["import_cpu_ms"])
            rows[name].update({**worker.started, "import_cpu_ms": cheapest})
            if name in workers:
                workers[name].stop()
            workers[name] = worker
    return workers


def _interleaved(workers: Mapping[str, Worker], rows: dict[str, dict[str, Any]]) -> None:
    for _ in range(ROUNDS):
        for work in COUNTS:
            for name, worker in workers.items():
                if work in worker.started["works"]:
                    key = f"{work}_us"
                    rows[name][key] = min(rows[name].get(key, float("inf")), worker.microseconds(work))


def _circumstances() -> dict[str, Any]:
    return {
        "at": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 1),
        "rounds": ROUNDS,
    }


def _plain(peer: Peer) -> dict[str, str]:
    return {"package": peer.package, "decides": peer.decides, "lacks": peer.lacks}


def figures() -> list[Figure]:
    """The part of the one report; the whole result is in `.bench/peers.json`."""
    results = measure()
    KEPT.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    rows = results["rows"]
    return [*(figure for name, row in rows.items() for figure in _figures(name, row)), *compare(rows)]


def compare(rows: Mapping[str, Mapping[str, Any]]) -> list[Figure]:
    """QWED beside the one peer that decides over HTTP and records: how many times as fast it is."""
    ours, theirs = rows[THIS], rows.get(TOOLKIT, {})
    found: list[Figure] = []
    if "audit_us" in ours and "audit_us" in theirs:
        times = theirs["audit_us"] / ours["audit_us"]
        found.append(("a record in memory, beside the toolkit's call", times, "times (at least)", 2.0))
    served, asked = (row.get("http", {}).get("c=16") for row in (ours, theirs))
    if served and asked:
        times = served["rate"] / asked["rate"]
        found.append(("HTTP, c=16, beside the toolkit's server", times, "times (at least)", 2.0))
    return found


def _figures(name: str, row: Mapping[str, Any]) -> list[Figure]:
    if "problem" in row:
        return [(f"{name}: {row['problem']}", float("nan"), "not measured", None)]
    units = {
        "decision_us": "µs CPU", "audit_us": "µs CPU", "durable_us": "µs CPU", "schema_us": "µs CPU",
        "import_cpu_ms": "ms CPU", "rss_mb": "MB", "install_mb": "MB",
    }  # fmt: skip
    found: list[Figure] = [
        (f"{name}: {key.rpartition('_')[0]}", float(row[key]), unit, None)
        for key, unit in units.items()
        if key in row
    ]
    for load, values in row.get("http", {}).items():
        if isinstance(values, Mapping):
            found.append((f"{name}: HTTP, {load}", float(values["rate"]), "requests/s", None))
            found.append((f"{name}: HTTP, {load}, server", float(values["cpu_us"]), "µs CPU", None))
    return found
