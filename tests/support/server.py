"""A real `qwed serve` in its own process."""

import asyncio
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

import httpx2

OPERATOR_KEY = "qwed_live_first-operator-of-this-test-7Kq2"
START_SECONDS = 240


class Server:
    """`with Server(folder) as server:` — started when it is entered, stopped like Ctrl-C when it is left."""

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        database: Path | None = None,
        environment: dict[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.database = database or folder / "qwed.db"
        self._arguments = arguments
        self._environment = environment or {}
        self.command = COMMAND
        self.base_url = ""
        self.output = ""
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def log_file(self) -> Path:
        return self.folder / "stderr.log"

    def log(self) -> str:
        return self.log_file.read_text(encoding="utf-8", errors="replace")

    def start(self) -> Self:
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.command, "serve", "--port", "0", "--database", str(self.database), *self._arguments],
                cwd=self.folder,
                env=clean_environment(**{"QWED_OPERATOR_KEY": OPERATOR_KEY, **self._environment}),
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self.output = _read_announcement(self.process)
        if "QWED gateway" not in self.output:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(10)
            self.kill()
            raise RuntimeError(f"the server did not start: {self.log()[-2000:]}")
        self.base_url = next(line for line in self.output.splitlines() if "QWED gateway" in line).split()[-1]
        return self

    def stop(self, within: float = 60) -> int:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(within)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()
        return self.process.returncode

    def kill(self) -> None:
        assert self.process is not None and self.process.stdout is not None
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def client(self, key: str | None = OPERATOR_KEY, **options: Any) -> httpx2.Client:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return httpx2.Client(base_url=self.base_url, headers=headers, timeout=60, **options)

    def call(
        self, method: str, path: str, *, key: str | None = OPERATOR_KEY, **request: Any
    ) -> httpx2.Response:
        with self.client(key) as client:
            return client.request(method, path, **request)

    def register(self, **registration: Any) -> dict[str, Any]:
        body = {
            "name": "tester",
            "type": "autonomous",
            "principal_id": "acme",
            "permissions": {"allowed_engines": ["math", "logic", "fact", "sql", "code"]},
            **registration,
        }
        response = self.call("POST", "/agents/register", json=body)
        assert response.status_code == 201, response.text
        return response.json()

    def principal_key(self, principal_id: str, **more: Any) -> str:
        return self.call("POST", "/keys", json={"principal_id": principal_id, **more}).json()["api_key"]

    def together(self, requests: list[dict[str, Any]], key: str = OPERATOR_KEY) -> list[httpx2.Response]:
        """All requests at once, each on a connection of its own."""

        async def send() -> list[httpx2.Response]:
            limits = httpx2.Limits(max_connections=len(requests))
            headers = {"Authorization": f"Bearer {key}"}
            async with httpx2.AsyncClient(
                base_url=self.base_url, headers=headers, limits=limits, timeout=60
            ) as client:
                return await asyncio.gather(*(client.request(**request) for request in requests))

        return asyncio.run(send())


#: The environments of the agent frameworks hold the SDK alone: there another interpreter runs the gateway.
COMMAND = (os.environ.get("QWED_GATEWAY_PYTHON", sys.executable), "-m", "qwed")


def clean_environment(**more: str) -> dict[str, str]:
    """This process's surroundings without anything that would set up QWED or Python differently."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("QWED_", "PYTHON"))}
    return {**kept, "NO_COLOR": "1", "COLUMNS": "200", **more}


def _read_announcement(process: subprocess.Popen[bytes]) -> str:
    """What it prints until it listens (an empty line ends it), or until it gives up."""
    assert process.stdout is not None
    text, end = b"", time.monotonic() + START_SECONDS
    while time.monotonic() < end and b"/docs" not in text:
        ready, _, _ = select.select([process.stdout], [], [], 0.2)
        if ready:
            chunk = os.read(process.stdout.fileno(), 4096)
            if not chunk:
                break
            text += chunk
    return text.decode()


def verify_request(
    agent: dict[str, Any], query: str, step: int = 1, conversation: str = "c", **body: Any
) -> dict:
    """A request for `together`."""
    return {
        "method": "POST",
        "url": f"/agents/{agent['agent_id']}/verify",
        "json": {
            "action": {"type": "calculate", "query": query},
            "context": {"conversation_id": conversation, "step_number": step},
            **body,
        },
    }


def qwed(
    *arguments: str, cwd: Path, timeout: float = 60, **environment: str
) -> subprocess.CompletedProcess[str]:
    """One `qwed` command to its end."""
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=cwd,
        env=clean_environment(**environment),
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def json_lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]
