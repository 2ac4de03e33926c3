"""The examples of *protect other frameworks*, run as printed."""

import asyncio
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from autogen_core.tools import FunctionTool
from google.adk.agents import LlmAgent
from google.genai import types
from haystack.dataclasses import ChatMessage
from smolagents import ToolCallingAgent
from strands import tool
from tests.frameworks.sdk.drivers import (
    ag2,
    autogen,
    claude_agent_sdk,
    google_adk,
    haystack,
    semantic_kernel,
    smolagents,
    strands,
)
from tests.frameworks.sdk.drivers.shop import Shop
from tests.support.documents import ROOT
from tests.support.protected import Protected

from qwed.coding.scripted_model import ScriptedModel

CALL: Final = ("lookup_order", {"order": 1})
Names = dict[str, Any]


def printed(section: str) -> str:
    page = (ROOT / "docs/how-to/protect-other-frameworks.md").read_text(encoding="utf-8")
    part = page.split(f"## {section}\n")[1].split("\n## ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", part, re.DOTALL)
    return str(code)


async def run_adk(names: Names) -> None:
    runner = names["runner"]
    session = await runner.session_service.create_session(app_name="shop", user_id="u")
    message = types.Content(role="user", parts=[types.Part(text="go")])
    async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=message):
        pass


async def run_claude(names: Names) -> None:
    async for _ in names["messages"]:
        pass


def prepare(section: str, shop: Shop) -> tuple[Names, Callable[[Names], Any]]:
    """What the example takes for granted, and a run of what it made."""
    if section == "Google ADK":
        agent = LlmAgent(name="a", model=google_adk.model(CALL), tools=[shop.lookup_order])
        return {"agent": agent}, lambda names: asyncio.run(run_adk(names))
    if section == "Strands Agents":
        given = {"model": strands.Model(CALL), "lookup_order": tool(shop.lookup_order)}
        return given, lambda names: names["agent"]("go")
    if section == "smolagents":
        model = smolagents.Scripted([CALL])
        made = ToolCallingAgent(tools=smolagents.tools_of(shop), model=model, verbosity_level=0)
        return {"agent": made}, lambda names: made.run("go")
    if section == "Haystack":
        given = {"generator": haystack.Generator(CALL), "lookup_order": haystack.tools_of(shop)[0]}
        return given, lambda names: names["agent"].run(messages=[ChatMessage.from_user("go")])
    if section == "Semantic Kernel":
        kernel = semantic_kernel.kernel_with(shop)
        invoked = kernel.invoke(function_name="lookup_order", plugin_name="shop", order=1)
        return {"kernel": kernel}, lambda names: asyncio.run(invoked)
    if section == "AutoGen":
        lookup = FunctionTool(shop.lookup_order, description="x")
        given = {"model": autogen.model(CALL), "lookup_order": lookup}
        return given, lambda names: asyncio.run(names["agent"].run(task="go"))
    assert section == "AG2"
    agent = ag2.Agent("a", config=ag2.model(CALL), tools=[shop.lookup_order])
    return {"agent": agent}, lambda names: asyncio.run(ag2.ask(agent))


SECTIONS: Final = (
    "Google ADK",
    "Strands Agents",
    "smolagents",
    "Haystack",
    "Semantic Kernel",
    "AutoGen",
    "AG2",
)


@pytest.mark.parametrize("section", SECTIONS)
def test_the_example_protects_as_it_is_printed(world: Protected, shop: Shop, section: str) -> None:
    given, run = prepare(section, shop)
    names = {**given, "me": world.agent_id, "client": world.client}
    exec(printed(section), names)
    run(names)

    # A function of Semantic Kernel goes by its full name, which this gateway does not know.
    is_known = section != "Semantic Kernel"
    assert shop.ran == ([("lookup_order", 1)] if is_known else [])
    assert [row[1] for row in world.record()] == ["APPROVED" if is_known else "DENIED"]


def test_the_example_for_claude_protects_as_it_is_printed(world: Protected, shop: Shop) -> None:
    drive = claude_agent_sdk.DRIVE
    with ScriptedModel(drive, [claude_agent_sdk.asked(CALL)]) as model, tempfile.TemporaryDirectory() as home:
        names = {
            "settings": claude_agent_sdk.settings_of(shop, model.port, Path(home)),
            "tool_map": claude_agent_sdk.options_of(world)["tool_map"],
            "me": world.agent_id,
            "client": world.client,
        }
        exec(printed("Claude Agent SDK"), names)
        asyncio.run(run_claude(names))

    assert shop.ran == [("lookup_order", 1)]
    assert world.record() == [("lookup_order", "APPROVED", "success")]
