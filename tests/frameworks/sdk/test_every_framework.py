"""The same story in every framework: what the gateway allows runs once, and nothing else runs."""

import contextlib
import importlib
import os
import threading
from collections.abc import Iterator
from typing import Any, Final

import pytest
from tests.frameworks.sdk.drivers.shop import Shop, Way
from tests.support.protected import Protected

#: Environment → the frameworks that live in it. Each has a driver of that name.
FRAMEWORKS: Final = {
    "main": ("agent_framework", "langchain", "llamaindex", "openai_agents", "pydantic_ai"),
    "crewai": ("crewai",),
    "litellm": ("litellm",),
    "more": (
        "ag2",
        "autogen",
        "claude_agent_sdk",
        "google_adk",
        "haystack",
        "semantic_kernel",
        "smolagents",
        "strands",
    ),
}
WAYS: Final[dict[str, Way]] = {
    name: way
    for framework in FRAMEWORKS[os.environ["QWED_FRAMEWORKS"]]
    for name, way in importlib.import_module(f"tests.frameworks.sdk.drivers.{framework}").WAYS.items()
}
TELLING: Final = [name for name, way in WAYS.items() if not (way.is_refusal_final or way.is_step_refused)]


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Way:
    return WAYS[request.param]


@contextlib.contextmanager
def expecting_failure(way: Way) -> Iterator[None]:
    with pytest.raises(ValueError, match="v") if way.is_failure_final else contextlib.nullcontext():
        yield


def conversations(world: Protected) -> set[str]:
    entries = world.client.get_agent_activity(world.agent_id)
    return {entry["context"]["conversation_id"] for entry in entries if entry.get("context")}


@pytest.mark.parametrize("name", TELLING)
def test_approved_calls_run_once_and_denied_ones_answer_the_model(
    world: Protected, shop: Shop, name: str
) -> None:
    calls = [("lookup_order", {"order": 1}), ("wipe_disk", {"disk": "a"}), ("lookup_order", {"order": 2})]
    answers = WAYS[name].play(world, shop, *calls)

    assert sorted(shop.ran) == [("lookup_order", 1), ("lookup_order", 2)]
    assert sum("QWED-AGENT-TRUST-001" in answer for answer in answers) == 1
    assert sorted(world.record(), key=str) == [
        ("lookup_order", "APPROVED", "success"),
        ("lookup_order", "APPROVED", "success"),
        ("wipe_disk", "DENIED", None),
    ]


def test_an_approved_call_runs_once_and_is_asked_about_once(world: Protected, shop: Shop, way: Way) -> None:
    way.play(world, shop, ("lookup_order", {"order": 1}))

    assert shop.ran == [("lookup_order", 1)]
    assert world.record() == [("lookup_order", "APPROVED", "success")]


def test_a_denied_call_does_not_run_and_says_why(world: Protected, shop: Shop, way: Way) -> None:
    answers = way.play(world, shop, ("wipe_disk", {"disk": "a"}))

    assert shop.ran == []
    assert "QWED-AGENT-TRUST-001" in answers[-1]


def test_a_corrected_call_runs_corrected(world: Protected, shop: Shop, way: Way) -> None:
    way.play(world, shop, ("sums", {"claim": "2+2=5"}))

    assert shop.ran == [("sums", "2+2=4")]
    assert world.record() == [("calculate", "CORRECTED", "success")]


def test_a_pending_call_runs_only_after_a_person_approved(world: Protected, shop: Shop, way: Way) -> None:
    with world.person_answers() as waiting:
        way.play(world, shop, ("publish_page", {"title": "x"}))

    assert waiting[0]["action"]["parameters"] == {"title": "x"}
    assert shop.ran == [("publish_page", "x")]


def test_a_pending_call_that_a_person_denies_does_not_run(world: Protected, shop: Shop, way: Way) -> None:
    with world.person_answers("deny", note="too early"):
        answers = way.play(world, shop, ("publish_page", {"title": "x"}))

    assert shop.ran == []
    assert "too early" in answers[-1]


def test_a_tool_that_fails_is_reported(world: Protected, shop: Shop, way: Way) -> None:
    answers: list[str] = []
    with expecting_failure(way):
        answers = way.play(world, shop, ("own_tool", {"value": "v"}))

    assert way.failure_says in "".join(answers).lower()
    # A framework that tries again and again is stopped as any loop is; what ran is reported each time.
    ran = [row for row in world.record() if row[1] == "APPROVED"]
    assert ran == [("own_tool", "APPROVED", way.failure_outcome)] * len(shop.ran)
    assert shop.ran
    assert way.retries_failures or len(world.record()) == 1


def test_parallel_calls_share_the_conversation_of_their_run(world: Protected, shop: Shop, way: Way) -> None:
    for _ in range(2):
        way.play(world, shop, *[("lookup_order", {"order": n}) for n in range(12)])

    assert sorted(shop.ran) == sorted(("lookup_order", n) for n in range(12) for _ in range(2))
    assert world.record() == [("lookup_order", "APPROVED", "success")] * 24
    assert len(conversations(world)) == 2


def test_a_dead_gateway_means_that_nothing_runs(mortal: Protected, shop: Shop, way: Way) -> None:
    mortal.server.kill()
    answers = way.play(mortal, shop, ("lookup_order", {"order": 1}), ("publish_page", {"title": "x"}))

    assert shop.ran == []
    assert all("no usable answer" in answer for answer in answers)
    assert answers


def test_a_gateway_killed_while_a_call_waits_means_that_it_does_not_run(
    mortal: Protected, shop: Shop, way: Way
) -> None:
    answers: list[Any] = []
    thread = threading.Thread(
        target=lambda: answers.extend(way.play(mortal, shop, ("publish_page", {"title": "x"})))
    )
    thread.start()
    mortal.open_approval()
    mortal.server.kill()
    thread.join(60)

    assert not thread.is_alive()
    assert shop.ran == []
    assert "no usable answer" in answers[-1]
