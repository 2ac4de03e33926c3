"""A real MCP client, through `qwed mcp proxy` in its own process, to a real server."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from tests.support.protected import Protected
from tests.support.server import clean_environment

ROOT = Path(__file__).parents[2]
SERVER = (sys.executable, "-m", "tests.support.mcp_server")


class Stage:
    """One folder: the server's, the pins', and what the proxy says on stderr."""

    def __init__(self, folder: Path, protected: Protected) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.server = SERVER
        self.protected = protected
        self.agent_id = protected.new_agent()

    @property
    def environment(self) -> dict[str, str]:
        return clean_environment(
            PYTHONPATH=str(ROOT),
            QWED_BASE_URL=self.protected.server.base_url,
            QWED_AGENT_TOKEN=self.protected.client._connection.tokens[self.agent_id],
            QWED_MCP_PINS_FILE=str(self.folder / "pins.json"),
        )

    def command(self, *options: str, url: str | None = None) -> list[str]:
        target = ["--url", url] if url else ["--", *self.server, str(self.folder)]
        return [sys.executable, "-m", "qwed", "mcp", "proxy", "--agent", self.agent_id, *options, *target]

    @asynccontextmanager
    async def client(
        self, *options: str, mode: str = "legacy", url: str | None = None, **callbacks: Any
    ) -> AsyncIterator[Client]:
        command = self.command(*options, url=url)
        parameters = StdioServerParameters(
            command=command[0], args=command[1:], env=self.environment, cwd=self.folder
        )
        with (self.folder / "stderr").open("w") as stderr:
            async with Client(stdio_client(parameters, errlog=stderr), mode=mode, **callbacks) as made:
                yield made

    @property
    def stderr(self) -> str:
        return (self.folder / "stderr").read_text()

    def ran(self) -> list[Any]:
        """What the server really ran, oldest first."""
        file = self.folder / "ran.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def record(self) -> list[tuple[str, str, str | None]]:
        self.protected.agent_id = self.agent_id
        return self.protected.record()

    def pin(self, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "qwed", "mcp", "pin", "--json", *options, "--", *SERVER, str(self.folder)],
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
        )

    @contextmanager
    def http_server(self) -> Iterator[str]:
        """The same server over streamable HTTP."""
        process = subprocess.Popen(
            [*SERVER, str(self.folder), "http"],
            env=self.environment,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def said(result: Any) -> str:
    return "".join(part.text for part in result.content)
