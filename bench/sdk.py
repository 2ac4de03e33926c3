"""The SDK's own cost: importing it, and what a step of a conversation adds to the bare HTTP request."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import httpx2

from qwed_sdk import QWEDClient, ToolGate
from qwed_sdk.questions import BOUND, KEY, answer_name

Figure = tuple[str, float, str, float | None]

ROUNDS = 300
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
    request = _cpu(lambda: _post(bare, {"action": ACTION, "context": context}))
    step = _cpu(lambda: client.conversation("agent_1").verify(ACTION))
    gate = ToolGate("agent_1", client=client)
    call = _cpu(lambda: gate.run("lookup_order", ACTION["parameters"], lambda arguments: "done"))
    return [
        ("sdk: import qwed_sdk", _import_ms("import qwed_sdk"), "ms wall", 120.0),
        ("sdk: import the client", _import_ms("from qwed_sdk import QWEDClient"), "ms wall", None),
        ("sdk: bare request, no network", request, "µs CPU", None),
        ("sdk: a conversation's step over a bare request", step - request, "µs CPU", 120.0),
        ("sdk: a conversation's step / a bare request", step / request, "ratio", 1.2),
        ("sdk: a tool call through the gate over its two requests", call - 2 * request, "µs CPU", 250.0),
    ]


def _answer(request: httpx2.Request) -> httpx2.Response:
    name = answer_name(request.headers.get(KEY, ""), 200, ANSWER)
    return httpx2.Response(200, content=ANSWER, headers={BOUND: name})


def _post(http: httpx2.Client, body: dict[str, Any]) -> Any:
    return json.loads(http.post("/agents/agent_1/verify", json=body).content)


def _cpu(work: Callable[[], Any]) -> float:
    """Microseconds of CPU, the best of several runs."""
    work()
    best = float("inf")
    for _ in range(5):
        started = time.process_time()
        for _ in range(ROUNDS):
            work()
        best = min(best, time.process_time() - started)
    return best / ROUNDS * 1e6


def _import_ms(statement: str) -> float:
    code = f"import time; s = time.perf_counter(); {statement}; print(time.perf_counter() - s)"
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(5)
    ]
    return min(float(run.stdout) for run in runs) * 1000
