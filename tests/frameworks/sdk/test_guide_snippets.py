"""The guide's LangChain snippet, with the import path of 1.x and a model that LangChain needs anyway."""

from typing import Any

import pytest
from langchain_classic.agents import initialize_agent
from langchain_core.language_models.fake import FakeListLLM
from langchain_core.tools import Tool
from tests.support.protected import Protected

from qwed_sdk.langchain import QWEDVerificationCallback, ToolRefused


def said(tool: str) -> FakeListLLM:
    return FakeListLLM(
        responses=[f"Thought: go\nAction: {tool}\nAction Input: 7", "I now know.\nFinal Answer: done"]
    )


@pytest.fixture
def tools() -> tuple[list[str], list[Tool]]:
    ran: list[str] = []

    def run(name: str) -> Any:
        return lambda text: ran.append(f"{name} {text}") or "ok"

    names = ("lookup_order", "wipe_disk")
    return ran, [Tool(name=name, func=run(name), description=name) for name in names]


@pytest.mark.filterwarnings("ignore")
def test_the_guides_snippet_verifies_every_call(
    world: Protected, tools: tuple[list[str], list[Tool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QWED_API_KEY", world.key)
    monkeypatch.setenv("QWED_BASE_URL", world.server.base_url)
    ran, given = tools

    agent = initialize_agent(
        tools=given,
        llm=said("lookup_order"),
        callbacks=[QWEDVerificationCallback(agent_id=world.agent_id)],
    )
    assert agent.invoke("go")["output"] == "done"

    agent = initialize_agent(
        tools=given,
        llm=said("wipe_disk"),
        callbacks=[QWEDVerificationCallback(agent_id=world.agent_id)],
    )
    with pytest.raises(ToolRefused):
        agent.invoke("go")
    assert ran == ["lookup_order 7"]
    assert world.record() == [("lookup_order", "APPROVED", "success"), ("wipe_disk", "DENIED", None)]
