"""The SDK's own cost: importing it, and what a step of a conversation adds to the bare HTTP request."""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx2

from qwed_sdk import QWEDClient, ToolGate
from qwed_sdk.questions import BOUND, KEY, answer_name

Figure = tuple[str, float, str, float | None]

ROUNDS = 300
_KEY = {"Authorization": "Bearer key"}
ACTION = {"type": "lookup_order", "parameters": {"order": 7, "detail": "all"}}
ANSWER = json.dumps(
    {
        "decision": "APPROVED",
        "activity_id": "act_1",
        "policy_version": "sha256:0",
        "outcome": "success",
        "verification": {"status": "VERIFIED", "engine": "tool_control", "risk_level": "low"},
        "budget_remaining": {"daily_cost_usd": 99.9, "hourly_requests": 999, "daily_requests": 9999},
    }
).encode()


def figures() -> list[Figure]:
    transport = httpx2.MockTransport(_answer)
    client = QWEDClient("key", "http://gateway.test", transport=transport)
    bare = httpx2.Client(base_url="http://gateway.test", transport=transport)
    context = {"conversation_id": "c", "step_number": 1}
    with _gateway() as address:
        near, raw = QWEDClient("key", address), httpx2.Client(base_url=address, trust_env=False)
        ratio = _ratio(
            lambda: near.conversation("agent_1").verify(ACTION),
            lambda: _post(raw, {"action": ACTION, "context": context}),
        )
    request = _cpu(lambda: _post(bare, {"action": ACTION, "context": context}))
    step = _cpu(lambda: client.conversation("agent_1").verify(ACTION))
    gate = ToolGate("agent_1", client=client)
    call = _cpu(lambda: gate.run("lookup_order", ACTION["parameters"], lambda arguments: "done"))
    return [
        ("sdk: import qwed_sdk", _import_ms("import qwed_sdk"), "ms wall", 120.0),
        ("sdk: import the client", _import_ms("from qwed_sdk import QWEDClient"), "ms wall", None),
        ("sdk: bare request, no network", request, "µs CPU", None),
        ("sdk: a conversation's step over a bare request", step - request, "µs CPU", 120.0),
        ("sdk: a conversation's step / a raw request, over loopback", ratio, "ratio of CPU", 1.2),
        ("sdk: a tool call through the gate over its two requests", call - 2 * request, "µs CPU", 250.0),
    ]


@contextmanager
def _gateway() -> Iterator[str]:
    """In a process of its own: its CPU is not ours. It answers what the gateway would, at once."""
    command = [sys.executable, "-c", _SERVER, ANSWER.decode()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        process.kill()


_SERVER = """
import hashlib, socketserver, sys

ANSWER = sys.argv[1].encode()

class Handler(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True

    def handle(self):
        while self.rfile.readline():
            headers = {}
            while line := self.rfile.readline().strip():
                name, _, value = line.partition(b":")
                headers[name.lower()] = value.strip()
            self.rfile.read(int(headers.get(b"content-length", 0)))
            key = headers.get(b"idempotency-key", b"")
            name = hashlib.sha256(key + b"\\n200\\n" + ANSWER).hexdigest().encode()
            head = b"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nQWED-Answer: " + name
            self.wfile.write(head + b"\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(ANSWER) + ANSWER)

server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
"""


def _ratio(work: Callable[[], Any], raw: Callable[[], Any]) -> float:
    """In turns, so that both meet the same moments of the machine."""
    work(), raw()
    return statistics.median(_cpu_once(work) / _cpu_once(raw) for _ in range(15))


def _cpu_once(work: Callable[[], Any]) -> float:
    started = time.process_time()
    for _ in range(ROUNDS):
        work()
    return time.process_time() - started


def _answer(request: httpx2.Request) -> httpx2.Response:
    name = answer_name(request.headers.get(KEY, ""), 200, ANSWER)
    return httpx2.Response(200, content=ANSWER, headers={BOUND: name})


def _post(http: httpx2.Client, body: dict[str, Any]) -> Any:
    return json.loads(http.post("/agents/agent_1/verify", json=body, headers=_KEY).content)


def _cpu(work: Callable[[], Any]) -> float:
    """Microseconds of CPU, the best of several runs."""
    work()
    best = float("inf")
    for _ in range(5):
        best = min(best, _cpu_once(work))
    return best / ROUNDS * 1e6


def _import_ms(statement: str) -> float:
    code = f"import time; s = time.perf_counter(); {statement}; print(time.perf_counter() - s)"
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(5)
    ]
    return min(float(run.stdout) for run in runs) * 1000
