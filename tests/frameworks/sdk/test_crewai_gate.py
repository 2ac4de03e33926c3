"""What is CrewAI's own: hooks, copies, its cache, where it collects tools, and the guide's snippet."""

import pytest
from crewai.hooks import clear_all_hooks
from tests.frameworks.sdk.drivers.crewai import Model, go, make, tools_of
from tests.frameworks.sdk.drivers.shop import Shop
from tests.support.protected import Protected

from qwed_sdk.crewai import QWEDVerifiedAgent


@pytest.fixture(params=["native", "text"])
def native(request: pytest.FixtureRequest) -> bool:
    return request.param == "native"


def test_clearing_crewais_hooks_changes_nothing(world: Protected, shop: Shop, native: bool) -> None:
    agent, _ = make(world, shop, native, ("wipe_disk", {"disk": "a"}))
    clear_all_hooks()
    go("crew", agent)

    assert shop.ran == []


def test_a_copied_agent_asks_too(world: Protected, shop: Shop, native: bool) -> None:
    agent, _ = make(world, shop, native, ("wipe_disk", {"disk": "a"}), ("lookup_order", {"order": 1}))
    copy = agent.copy()
    go("kickoff", copy)

    assert shop.ran == [("lookup_order", 1)]
    assert len(world.record()) == 2


def test_a_refusal_is_not_kept_in_crewais_cache(world: Protected, shop: Shop) -> None:
    agent, _ = make(world, shop, True, ("publish_page", {"title": "x"}))
    with world.person_answers("deny"):
        go("crew", agent)
    agent.llm.turns = 0
    with world.person_answers("approve"):
        go("crew", agent)

    assert shop.ran == [("publish_page", "x")]


def test_a_tool_that_would_not_ask_stops_the_run(world: Protected, shop: Shop) -> None:
    """As it would be, should another version of CrewAI collect its tools elsewhere."""
    from crewai import Agent

    from qwed_sdk import ToolRefused

    agent, _ = make(world, shop, True, ("lookup_order", {"order": 1}))
    object.__setattr__(agent, "_add_skill_loader_tool", lambda tools, task=None: tools)
    assert hasattr(Agent, "_add_skill_loader_tool")

    with pytest.raises(ToolRefused, match="without asking"):
        go("kickoff", agent)
    assert shop.ran == []


def test_the_guides_snippet_makes_an_agent_that_asks(
    world: Protected, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QWED_API_KEY", world.key)
    monkeypatch.setenv("QWED_BASE_URL", world.server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    analyst = QWEDVerifiedAgent(role="Analyst", goal="Analyze data", agent_id=world.agent_id)
    analyst.llm = Model(model="fake", calls=[("wipe_disk", {"disk": "a"}), ("lookup_order", {"order": 1})])
    analyst.tools = tools_of(shop)
    go("crew", analyst)

    assert shop.ran == [("lookup_order", 1)]
