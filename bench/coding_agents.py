"""What coding agents wait for: the hook and the sandbox; and what the policy `coding` asks."""

import json
import os
import resource
import shutil
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

import httpx2

Figure = tuple[str, float, str, float | None]
TIMES = 40
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"


def figures() -> list[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return [*_hook(folder), *_gateway(folder), *_sandbox(folder), *_commands()]


class _Times:
    """How long it took, in milliseconds: usually here, and when the machine had nothing else to do."""

    def __init__(self, work: Callable[[], object], times: int = TIMES) -> None:
        taken = []
        for _ in range(times):
            started = time.perf_counter()
            work()
            taken.append((time.perf_counter() - started) * 1000)
        self.median, self.best = statistics.median(taken), min(taken)


@contextmanager
def _instant_server() -> Iterator[int]:
    """Answers everything at once: what is measured is the hook."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)

    def serve() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client:
                client.recv(65536)
                client.sendall(ANSWER)

    threading.Thread(target=serve, daemon=True).start()
    yield listener.getsockname()[1]
    listener.close()


def _hook(folder: Path) -> list[Figure]:
    from qwed.coding import hook_install

    project = folder / "shop"
    project.mkdir()
    for number in range(200):
        (project / f"{number}.py").write_text("x = 1\n")
    body = json.dumps({"tool_name": "Bash", "tool_input": {"command": "make"}}).encode()
    place = hook_install.place_of("claude-code", "user", folder, project)
    with _instant_server() as port:
        plan = hook_install.plan_install(place)
        hook_install.install(plan, f"http://127.0.0.1:{port}", "token")
        environment = {**os.environ, "CLAUDE_PROJECT_DIR": str(project)}

        def run() -> None:
            subprocess.run(
                place.command, shell=True, input=body, env=environment, check=True, capture_output=True
            )

        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        wall = _Times(run)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / TIMES * 1000
    return [
        ("hook, a process from start to end, 200 files, best", wall.best, "ms", 40.0),
        ("hook, the same, median on this machine", wall.median, "ms", None),
        ("hook, the same, CPU", cpu, "ms CPU", None),
    ]


def _gateway(folder: Path) -> list[Figure]:
    from tests.support.server import OPERATOR_KEY, Server

    policy = folder / "coding.yaml"
    policy.write_text(resources.files("qwed.policy.starters").joinpath("coding.yaml").read_text("utf-8"))
    permissions = {"allowed_engines": ["workspace"], "allowed_tools": ["file_edit"]}
    registration = {"name": "claude", "type": "autonomous", "principal_id": "dev", "permissions": permissions}
    with (
        Server(folder, environment={"QWED_CONFIG": str(policy)}) as server,
        httpx2.Client(base_url=server.base_url, timeout=60) as client,
    ):
        operator = {"Authorization": f"Bearer {OPERATOR_KEY}"}
        agent = client.post("/agents/register", json=registration, headers=operator).json()
        headers = {"Authorization": f"Bearer {agent['agent_token']}", "QWED-Project": "/home/dev/shop"}
        numbers = iter(range(10**6))

        def ask() -> None:
            number = next(numbers)
            body = {
                "session_id": "bench", "tool_use_id": f"call-{number}", "hook_event_name": "PreToolUse",
                "cwd": "/home/dev/shop", "tool_name": "Bash",
                "tool_input": {"command": f"cat src/{number}.py"},
            }  # fmt: skip
            answer = client.post("/hooks/claude-code", json=body, headers=headers)
            assert "allow" in answer.text, answer.text

        def live() -> None:
            client.get("/health")

        ask()
        empty, asked = _Times(live, 300), _Times(ask, 300)
    return [
        ("hook over HTTP, decided, recorded and signed, best", asked.best, "ms", 5.0),
        ("hook over HTTP, the same, median on this machine", asked.median, "ms", None),
        ("hook over HTTP, of which an empty request, best", empty.best, "ms", None),
    ]


def _sandbox(folder: Path) -> list[Figure]:
    from qwed.coding import sandbox
    from qwed.coding.sandbox import Box

    if shutil.which("bwrap") is None:
        return []
    project = folder / "project"
    project.mkdir()
    box = Box(project, "http://127.0.0.1:8000")
    times = _Times(lambda: sandbox.run(box, ["true"]))
    return [
        ("sandbox, start and end of `true`, best", times.best, "ms", 150.0),
        ("sandbox, the same, median on this machine", times.median, "ms", None),
    ]


def _commands() -> list[Figure]:
    from tests.support.commands import read_commands
    from tests.unit.engines.test_coding_policy import judge, read_development, share

    found: list[Figure] = []
    for name, commands in (
        ("ordinary", read_development()),
        ("ordinary, written later", read_commands("ordinary_unseen")),
        ("ordinary, written after that", read_commands("ordinary_third") + read_commands("ordinary_fourth")),
    ):
        answers = [judge(command) for command in commands]
        found.append(
            (f"policy coding, {len(answers)} {name}, asked", share(answers, "asked") * 100, "%", 2.0)
        )
        found.append(
            (f"policy coding, {len(answers)} {name}, refused", answers.count("refused"), "commands", 0.0)
        )
    for name, list_name in (
        ("misused programs", "misused"),
        ("hostile, written later", "hostile_unseen"),
        ("hostile, written after that", "hostile_third"),
        ("hostile, written last", "hostile_fourth"),
    ):
        answers = [judge(command) for command in read_commands(list_name)]
        stopped = share(answers, "asked", "refused") * 100
        found.append((f"policy coding, {len(answers)} {name}, stopped", stopped, "% at least", 97.0))
    return found
