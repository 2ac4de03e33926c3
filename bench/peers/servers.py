"""The peers that answer over HTTP, under the same load as the gateway: one connection, then sixteen."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.gateway import _Gateway
from bench.load import post, run_load

HERE = Path(__file__).parent
SECONDS = 2.0
ROUNDS = 3
LOADS = (1, 16)
TOOLKIT = "agent-governance-toolkit"
THIS = "QWED"


class PolicyServer:
    """The toolkit's policy server, with the policy that its in-process work has."""

    def __init__(self, python: Path, folder: Path) -> None:
        (folder / "shop.yaml").write_text((HERE / "agt-policy.yaml").read_text())
        self.port = _free_port()
        environ = {
            **os.environ,
            "AGENTMESH_POLICY_DIR": str(folder),
            "HOST": "127.0.0.1",
            "PORT": str(self.port),
            "LOG_LEVEL": "warning",
        }
        command = [str(python), "-W", "ignore", "-m", "agentmesh.server", "policy-server"]
        self.process = subprocess.Popen(
            command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder
        )
        _wait_for(self.port, self.process)

    def requests(self, name: str) -> Iterator[bytes]:
        number = 0
        while True:
            body = {
                "agent_did": "did:mesh:agent-1",
                "action": "lookup_order",
                "context": {"action": {"type": "lookup_order"}, "order_id": f"{name}-{number}"},
            }
            yield post("/api/v1/policy/evaluate", json.dumps(body).encode(), {})
            number += 1

    def is_right(self, body: bytes) -> bool:
        return json.loads(body)["decision"] == "allow"


class OwnServer:
    """`qwed serve` on a file: authenticated, inspected, recorded on disk and signed before it answers."""

    def __init__(self, folder: Path) -> None:
        self._server = _Gateway(folder)
        self.process, self.port = self._server.process, self._server.port

    def requests(self, name: str) -> Iterator[bytes]:
        path = f"/agents/{self._server.agent}/tools/query_data"
        headers = {"Authorization": f"Bearer {self._server.token}"}
        number = 0
        while True:
            conversation, step = divmod(number, 50)
            body = {
                "parameters": {"order_id": f"{name}-{number}"},
                "context": {"conversation_id": f"{name}-{conversation}", "step_number": step + 1},
            }
            yield post(path, json.dumps(body).encode(), headers)
            number += 1

    def is_right(self, body: bytes) -> bool:
        return bool(json.loads(body)["decision"] == "APPROVED")


def http_figures(pythons: Mapping[str, Path]) -> dict[str, dict[str, Any]]:
    with tempfile.TemporaryDirectory(dir=Path.cwd() / ".bench") as folder:
        servers: dict[str, OwnServer | PolicyServer] = {}
        found: dict[str, dict[str, Any]] = {}
        try:
            servers[THIS] = OwnServer(_below(folder, "own"))
            if TOOLKIT in pythons:
                try:
                    servers[TOOLKIT] = PolicyServer(pythons[TOOLKIT], _below(folder, "policies"))
                except TimeoutError as error:
                    found[TOOLKIT] = {"problem": str(error)}
            for number in range(ROUNDS):
                for name, server in servers.items():
                    for load in LOADS:
                        _measure(server, f"{number}-{load}", load, found.setdefault(name, {}))
        finally:
            for server in servers.values():
                server.process.terminate()
                server.process.wait(30)
    return found


def _below(folder: str, name: str) -> Path:
    path = Path(folder) / name
    path.mkdir()
    return path


def _measure(server: OwnServer | PolicyServer, name: str, load: int, found: dict[str, Any]) -> None:
    before = _cpu(server.process.pid)
    done = run_load(server.port, [server.requests(f"{name}-{each}") for each in range(load)], SECONDS)
    cpu_us = (_cpu(server.process.pid) - before) / done.requests * 1e6
    assert set(done.statuses) == {200}, (done.statuses, done.last_body[:300])
    assert server.is_right(done.last_body), done.last_body[:300]
    best = found.setdefault(f"c={load}", {"rate": 0.0, "cpu_us": float("inf"), "p50_ms": float("inf")})
    best["rate"] = max(best["rate"], done.rate)
    best["cpu_us"] = min(best["cpu_us"], cpu_us)
    best["p50_ms"] = min(best["p50_ms"], done.median)
    found["rss_mb"] = _rss_mb(server.process.pid)


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _rss_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()[0]) / 1024


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(port: int, process: "subprocess.Popen[bytes]", seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    process.kill()
    raise TimeoutError(f"the server did not listen within {seconds:.0f} s")


if __name__ == "__main__":
    print(json.dumps(http_figures({TOOLKIT: Path(sys.argv[1])}), indent=2))
