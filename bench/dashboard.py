"""The pages for people on a large record: a million entries (fewer at night), ten thousand open approvals."""

import http.client
import json
import shutil
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

from bench.gateway import Figure, _disk, _Gateway
from bench.large_record import Shape, build

TARGET_MS = 300.0
ROUNDS = 5
#: An overview is kept for a second: the next one is made anew.
PAUSE_SECONDS = 1.1
#: After a start, parsers and solvers load beside the first requests.
SETTLING_SECONDS = 8.0


def figures() -> list[Figure]:
    folder = Path(tempfile.mkdtemp(dir=_disk()))
    try:
        shape = Shape()
        started = time.perf_counter()
        agents = build(folder / "large.db", shape, time.time_ns() // 1_000_000)
        built = time.perf_counter() - started
        server = _Gateway(folder, folder / "large.db")
        try:
            time.sleep(SETTLING_SECONDS)
            pages = _pages(server, agents[0].agent_id)
            measured = [(name, _worst(server, paths)) for name, paths in pages.items()]
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)
    return [
        (f"{shape.activities:,} entries written", built, "s", None),
        *((f"page: {name}", milliseconds, "ms, slowest of 5", TARGET_MS) for name, milliseconds in measured),
    ]


def _pages(server: _Gateway, agent_id: str) -> dict[str, list[str]]:
    """What each page asks for."""
    newest = _get(server, "/approvals?status=open&limit=1")["approvals"][0]
    conversation = _get(server, f"/agents/{agent_id}/conversations")["conversations"][-1]["conversation_id"]
    agent, approval = f"/agents/{agent_id}", f"/approvals/{newest['id']}"
    return {
        "overview, 24 hours": ["/overview?hours=24", "/activity?limit=8"],
        "overview, 30 days": ["/overview?hours=720", "/activity?limit=8"],
        "inbox": ["/approvals?status=open&limit=50", approval, f"{approval}/comparison"],
        "agents": ["/agents?limit=100"],
        "agent": [agent, f"{agent}/budget", f"{agent}/trust?limit=100", f"{agent}/conversations"],
        "conversation": [f"/activity?agent_id={agent_id}&conversation_id={quote(conversation)}&limit=200"],
        "decision": [f"/activity/{newest['activity_id']}"],
        "search, everything": ["/activity?limit=50"],
        "search, nothing found": ["/activity?decision=NOTED&text=nowhere&limit=50"],
        "search, three weeks ago": [f"/activity?limit=50&to={_weeks_ago(3)}&decision=DENIED"],
    }


def _weeks_ago(weeks: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - weeks * 7 * 86400))


def _worst(server: _Gateway, paths: list[str]) -> float:
    """All requests of a page one after the other, though a browser sends them at once."""
    slowest = 0.0
    for _ in range(ROUNDS):
        started = time.perf_counter()
        for path in paths:
            _get(server, path)
        slowest = max(slowest, time.perf_counter() - started)
        time.sleep(PAUSE_SECONDS)
    return slowest * 1000


def _get(server: _Gateway, path: str) -> dict:  # type: ignore[type-arg]
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", path, headers={"Authorization": f"Bearer {server.KEY}"})
    response = connection.getresponse()
    body = response.read()
    connection.close()
    assert response.status == 200, (path, response.status, body[:300])
    return dict(json.loads(body))
