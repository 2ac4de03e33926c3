"""What the MCP proxy adds to a tool call: the same client and server, with and without it in between.

Calls alternate between the two, so that both meet the same moments of the machine. The gateway is a
real one with a real file; what it adds by itself is measured beside, and so is the disk's own flush,
for which every decision waits.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bench.gateway import _disk

Figure = tuple[str, float, str, float | None]

CALLS = 150
#: A gateway loads its engines while it already answers.
WARM_SECONDS = 6.0
KEY = "qwed_live_bench_mcp_operator_key_0123"
SERVER = """
import asyncio
import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

TOOL = types.Tool(name="lookup_order", description="Look an order up.", input_schema={"type": "object"})

async def list_tools(ctx, params):
    return types.ListToolsResult(tools=[TOOL])

async def call_tool(ctx, params):
    return types.CallToolResult(content=[types.TextContent(type="text", text="done")])

async def main():
    server = Server("bench", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

asyncio.run(main())
"""


def figures() -> list[Figure]:
    with tempfile.TemporaryDirectory(dir=_disk()) as folder:
        gateway = _start_gateway(Path(folder))
        try:
            return asyncio.run(_measure(Path(folder), gateway.base_url))
        finally:
            gateway.process.terminate()
            gateway.process.wait()


class _Gateway:
    def __init__(self, process: "subprocess.Popen[str]", base_url: str) -> None:
        self.process = process
        self.base_url = base_url


def _start_gateway(folder: Path) -> _Gateway:
    (folder / "qwed.yaml").write_text("tools:\n  lookup_order: {group: safe}\n", encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "qwed", "serve", "--port", "0"],
        cwd=folder,
        env={**os.environ, "QWED_OPERATOR_KEY": KEY, "QWED_DATABASE": str(folder / "qwed.db")},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    return _Gateway(process, process.stdout.readline().split()[-1])


async def _measure(folder: Path, base_url: str) -> list[Figure]:
    from mcp import Client, StdioServerParameters

    from qwed_sdk import AsyncQWEDClient

    async with AsyncQWEDClient(KEY, base_url) as gateway:
        unlimited = dict.fromkeys(("max_daily_cost_usd", "max_requests_per_hour", "max_requests_per_day"))
        agent = await gateway.register_agent("bench", "autonomous", "bench", budget=unlimited)
        environ = {
            "QWED_BASE_URL": base_url,
            "QWED_AGENT_TOKEN": str(agent["agent_token"]),
            "QWED_MCP_PINS_FILE": str(folder / "pins.json"),
        }
        proxied = ["-m", "qwed", "mcp", "proxy", "--agent", agent.agent_id, "--renew-conversation", "--"]
        direct = StdioServerParameters(command=sys.executable, args=["-c", SERVER])
        through = StdioServerParameters(
            command=sys.executable, args=[*proxied, sys.executable, "-c", SERVER], env=environ
        )
        async with Client(direct) as plain, Client(through) as guarded:
            conversation = gateway.conversation(agent.agent_id)

            async def asked(number: int) -> Any:
                nonlocal conversation
                if number % 50 == 0:
                    conversation = gateway.conversation(agent.agent_id)
                action = {"type": "lookup_order", "parameters": {"order": number}}
                return await conversation.verify(action)

            with (folder / "flush").open("wb", buffering=0) as file:

                async def flushed(number: int) -> None:
                    file.write(b"x" * 4096)
                    os.fdatasync(file.fileno())

                calls = {
                    "plain": lambda number: plain.call_tool("lookup_order", {"order": number}),
                    "guarded": lambda number: guarded.call_tool("lookup_order", {"order": number}),
                    "asked": asked,
                    "flushed": flushed,
                }
                times = await _interleaved(calls)
    plain_ms, guarded_ms, asked_ms = (times[name] for name in ("plain", "guarded", "asked"))
    return [
        ("MCP tool call, no proxy, p50", plain_ms, "ms", None),
        ("MCP tool call through the proxy, p50", guarded_ms, "ms", None),
        ("the gateway's own answer to the SDK, p50", asked_ms, "ms", None),
        ("the disk's own write + fdatasync meanwhile, p50", times["flushed"], "ms", None),
        ("what the proxy adds beside that, p50", guarded_ms - plain_ms - asked_ms, "ms", None),
        ("what the proxy adds, p50", guarded_ms - plain_ms, "ms", 2.5),
    ]


async def _interleaved(calls: dict[str, Callable[[int], Awaitable[Any]]]) -> dict[str, float]:
    taken: dict[str, list[float]] = {name: [] for name in calls}
    warm_until, number = time.perf_counter() + WARM_SECONDS, 0
    while len(taken["plain"]) < CALLS:
        for name, call in calls.items():
            started = time.perf_counter()
            result = await call(number)
            elapsed = time.perf_counter() - started
            assert not getattr(result, "is_error", False), result
            if started > warm_until:
                taken[name].append(elapsed * 1e3)
        number += 1
    return {name: statistics.median(values) for name, values in taken.items()}
