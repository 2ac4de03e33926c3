"""The Claude Agent SDK with the real program that it brings, against a scripted model on loopback."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any, Final

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, create_sdk_mcp_server, query, tool
from tests.frameworks.sdk.drivers.shop import TOOL_MAP, Shop, Way, gate_options
from tests.support.protected import Protected

from qwed.coding.drives import DRIVES
from qwed.coding.scripted_model import ScriptedModel
from qwed_sdk.claude_agent_sdk import QWEDPermission, protect

_SERVER: Final = "shop"
DRIVE: Final = DRIVES["claude-code"]


def name_of(tool_name: str) -> str:
    return f"mcp__{_SERVER}__{tool_name}"


def server_of(shop: Shop) -> Any:
    def made(name: str, argument: str, kind: type) -> Any:
        @tool(name, str(getattr(shop, name).__doc__), {argument: kind})
        async def run(arguments: dict[str, Any]) -> dict[str, Any]:
            said = getattr(shop, name)(**arguments)
            return {"content": [{"type": "text", "text": said}]}

        return run

    fields = {
        "lookup_order": ("order", int),
        "wipe_disk": ("disk", str),
        "publish_page": ("title", str),
        "sums": ("claim", str),
        "own_tool": ("value", str),
    }
    return create_sdk_mcp_server(_SERVER, tools=[made(name, *field) for name, field in fields.items()])


def options_of(world: Protected, **options: Any) -> dict[str, Any]:
    names = ("lookup_order", "wipe_disk", "publish_page", "own_tool")
    meanings = {name_of(name): name for name in names}
    return gate_options(
        world, tool_map={**meanings, name_of("sums"): TOOL_MAP["sums"]}, wait_seconds=20, **options
    )


def settings_of(shop: Shop, port: int, folder: Path) -> dict[str, Any]:
    return {
        "mcp_servers": {_SERVER: server_of(shop)},
        "strict_mcp_config": True,
        "setting_sources": [],
        "cwd": str(folder),
        "env": {**DRIVE.environment(port, folder), "CLAUDE_CONFIG_DIR": str(folder / "config")},
    }


def run(make: Any, shop: Shop, *turns: Any, **more: Any) -> list[str]:
    """What the model was told about its calls. `make` gives the options that protect."""
    with ScriptedModel(DRIVE, turns) as model, tempfile.TemporaryDirectory() as home:
        base = ClaudeAgentOptions(**settings_of(shop, model.port, Path(home)), **more)
        messages = asyncio.run(_play(make(base)))
        assert isinstance(messages[-1], ResultMessage)
        assert messages[-1].result == "done"
        return model.results


async def _play(options: ClaudeAgentOptions) -> list[Any]:
    return [message async for message in query(prompt="go", options=options)]


def asked(*calls: Any) -> list[dict[str, Any]]:
    return [{"name": name_of(name), "input": arguments} for name, arguments in calls]


def play(world: Protected, shop: Shop, *calls: Any) -> list[str]:
    return run(lambda options: protect(options, world.agent_id, **options_of(world)), shop, asked(*calls))


def permission(world: Protected) -> Any:
    return QWEDPermission(world.agent_id, **options_of(world))


WAYS: Final = {"claude-agent-sdk": Way(play)}
