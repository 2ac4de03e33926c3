"""The proxy between a real MCP client and a real server, in front of a real gateway."""

import asyncio
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import MCPError
from tests.support.mcp_session import Stage, said
from tests.support.protected import Protected

pytestmark = pytest.mark.xdist_group("mcp-proxy")


@pytest.fixture
def stage(tmp_path: Path, protected: Protected) -> Stage:
    return Stage(tmp_path / "stage", protected)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_an_approved_call_runs_once_and_its_success_is_recorded(stage: Stage, mode: str):
    async def scenario() -> str:
        async with stage.client(mode=mode) as client:
            await client.list_tools()
            return said(await client.call_tool("lookup_order", {"order": "A-1"}))

    assert asyncio.run(scenario()) == "done A-1"
    assert stage.ran() == [["lookup_order", {"order": "A-1"}]]
    assert stage.record() == [("lookup_order", "APPROVED", "success")]


def test_a_denied_call_never_reaches_the_server_and_the_model_is_told_why(stage: Stage):
    async def scenario() -> Any:
        async with stage.client("--show-all") as client:
            return await client.call_tool("wipe_disk", {"order": "A-1"})

    result = asyncio.run(scenario())

    assert result.is_error
    assert "QWED-AGENT-TRUST-001" in said(result) and "less risky" in said(result)
    assert result.meta["qwed/decision"]["decision"] == "DENIED"
    assert stage.ran() == []
    assert stage.record() == [("wipe_disk", "DENIED", None)]


def test_a_corrected_call_runs_corrected(stage: Stage):
    async def scenario() -> Any:
        async with stage.client() as client:
            return await client.call_tool("calculate", {"expression": "2+2=5"})

    asyncio.run(scenario())

    assert stage.ran() == [["calculate", {"expression": "2+2=4"}]]
    assert stage.record() == [("calculate", "CORRECTED", "success")]


def test_a_mapped_tool_is_decided_as_what_it_is_mapped_to(stage: Stage):
    async def scenario() -> Any:
        async with stage.client("--map", "nobody_knows=wipe_disk", "--show-all") as client:
            return await client.call_tool("nobody_knows", {})

    assert asyncio.run(scenario()).is_error
    assert stage.record() == [("wipe_disk", "DENIED", None)]


def test_tools_that_the_agent_may_never_use_are_not_shown(stage: Stage):
    agent = stage.protected.client.register_agent(
        "narrow",
        "autonomous",
        "acme",
        permissions={"allowed_engines": ["logic"], "blocked_tools": ["Wipe-Disk"], "allowed_tools": []},
    )
    stage.agent_id = agent.agent_id

    async def scenario(*options: str) -> list[str]:
        async with stage.client(*options) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    assert asyncio.run(scenario()) == ["lookup_order", "publish_page"]
    assert len(asyncio.run(scenario("--show-all"))) == 6


def test_a_pending_call_waits_tells_of_it_and_runs_once_approved(stage: Stage):
    heard: list[str] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message or "")

    async def scenario() -> str:
        async with stage.client("--wait", "30") as client:
            return said(await client.call_tool("publish_page", {"order": "A"}, progress_callback=note))

    stage.protected.agent_id = stage.agent_id
    with stage.protected.person_answers("approve") as seen:
        answer = asyncio.run(scenario())

    assert answer == "done A"
    assert any(seen[0]["id"] in message for message in heard)
    assert stage.ran() == [["publish_page", {"order": "A"}]]
    assert stage.record() == [("publish_page", "PENDING", None), ("publish_page", "APPROVED", "success")]


def test_a_pending_call_that_a_person_changed_runs_as_changed(stage: Stage):
    async def scenario() -> str:
        async with stage.client("--wait", "30") as client:
            return said(await client.call_tool("publish_page", {"order": "A"}))

    stage.protected.agent_id = stage.agent_id
    edited = {"type": "publish_page", "parameters": {"order": "B"}}
    with stage.protected.person_answers("approve", action=edited):
        answer = asyncio.run(scenario())

    assert answer == "done B"
    assert stage.ran() == [["publish_page", {"order": "B"}]]


def test_a_pending_call_that_a_person_denies_does_not_run(stage: Stage):
    async def scenario() -> Any:
        async with stage.client("--wait", "30") as client:
            return await client.call_tool("publish_page", {"order": "A"})

    stage.protected.agent_id = stage.agent_id
    with stage.protected.person_answers("deny", note="not on a Friday"):
        result = asyncio.run(scenario())

    assert result.is_error and "not on a Friday" in said(result)
    assert stage.ran() == []


def test_a_pending_call_that_nobody_answers_in_time_runs_when_it_is_made_again(stage: Stage):
    async def scenario() -> tuple[Any, Any, Any]:
        async with stage.client("--wait", "1") as client:
            first = await client.call_tool("publish_page", {"order": "A"})
            second = await client.call_tool("publish_page", {"order": "A"})
            approval_id = first.meta["qwed/decision"]["approval_id"]
            await asyncio.to_thread(stage.protected.person.approve, approval_id)
            return first, second, await client.call_tool("publish_page", {"order": "A"})

    first, second, third = asyncio.run(scenario())

    assert first.is_error and first.meta["qwed/decision"]["approval_id"] in said(first)
    assert second.meta == first.meta
    assert said(third) == "done A"
    assert stage.ran() == [["publish_page", {"order": "A"}]]


def test_without_a_gateway_nothing_runs(stage: Stage, tmp_path: Path):
    gone = Protected(tmp_path / "gone")
    gone.start()
    stage = Stage(tmp_path / "alone", gone)

    async def scenario() -> tuple[Any, str]:
        async with stage.client("--gateway-timeout", "2") as client:
            await client.list_tools()
            gone.server.kill()
            result = await client.call_tool("lookup_order", {"order": "A"})
            with pytest.raises(MCPError) as refusal:
                await client.list_tools(cache_mode="bypass")
            return result, str(refusal.value)

    result, refusal = asyncio.run(scenario())
    gone.client.close()
    gone.person.close()

    assert result.is_error and "could not be asked" in said(result)
    assert "127.0.0.1" not in said(result)
    assert "could not be asked" in refusal
    assert stage.ran() == []


def test_a_tools_error_and_a_servers_error_are_failures(stage: Stage):
    async def scenario() -> Any:
        async with stage.client() as client:
            result = await client.call_tool("lookup_order", {"do": "fail"})
            with pytest.raises(MCPError):
                await client.call_tool("lookup_order", {"do": "raise"})
            return result

    result = asyncio.run(scenario())

    assert result.is_error and said(result) == "no such order"
    assert stage.record() == [("lookup_order", "APPROVED", "failure")] * 2


def test_a_server_that_crashes_gives_an_error_and_an_unknown_outcome(stage: Stage):
    async def scenario() -> Any:
        async with stage.client() as client:
            slow = asyncio.ensure_future(client.call_tool("lookup_order", {"do": "sleep"}))
            while not stage.ran():
                await asyncio.sleep(0.02)
            crashed = await client.call_tool("lookup_order", {"do": "crash"})
            with pytest.raises(MCPError):
                await client.list_resources()
            return crashed, await slow

    crashed, slow = asyncio.run(scenario())

    for result in (crashed, slow):
        assert result.is_error and "unknown" in said(result)
    assert stage.record() == [("lookup_order", "APPROVED", "unknown")] * 2


def test_cancelling_reaches_the_server_and_leaves_the_outcome_unknown(stage: Stage):
    async def scenario() -> None:
        async with stage.client() as client:
            call = asyncio.ensure_future(client.call_tool("lookup_order", {"do": "sleep"}))
            while not stage.ran():
                await asyncio.sleep(0.02)
            call.cancel()
            while not (stage.folder / "cancelled").exists():
                await asyncio.sleep(0.02)
            assert said(await client.call_tool("lookup_order", {"order": "next"})) == "done next"

    asyncio.run(asyncio.wait_for(scenario(), 60))

    assert stage.record()[0] == ("lookup_order", "APPROVED", "unknown")


def test_a_call_cancelled_while_it_waits_for_a_person_never_runs(stage: Stage):
    async def scenario() -> None:
        async with stage.client("--wait", "60") as client:
            call = asyncio.ensure_future(client.call_tool("publish_page", {"order": "A"}))
            approval = await asyncio.to_thread(stage.protected.open_approval)
            call.cancel()
            assert said(await client.call_tool("lookup_order", {"order": "next"})) == "done next"
            await asyncio.to_thread(stage.protected.person.approve, approval["id"])
            await asyncio.sleep(0.3)

    stage.protected.agent_id = stage.agent_id
    asyncio.run(asyncio.wait_for(scenario(), 60))

    assert stage.ran() == [["lookup_order", {"order": "next"}]]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_progress_of_the_server_reaches_the_client(stage: Stage, mode: str):
    heard: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async def scenario() -> None:
        async with stage.client(mode=mode) as client:
            await client.call_tool("lookup_order", {"do": "progress"}, progress_callback=note)

    asyncio.run(scenario())

    assert heard == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]


def test_large_results_pass_whole_and_larger_ones_not_at_all(stage: Stage):
    async def scenario() -> tuple[str, Any]:
        async with stage.client("--max-result-bytes", "6000000") as client:
            whole = await client.call_tool("lookup_order", {"do": "large", "order": "5000000"})
            return said(whole), await client.call_tool("lookup_order", {"do": "large", "order": "7000000"})

    whole, refused = asyncio.run(scenario())

    assert whole == "x" * 5_000_000
    assert refused.is_error and "larger than the 6000000" in said(refused)
    assert [outcome for _, _, outcome in stage.record()] == ["success", "success"]


def test_concurrent_calls_run_side_by_side_each_with_its_own_answer(stage: Stage):
    async def scenario() -> list[str]:
        async with stage.client() as client:
            arguments = [{"do": "meet", "together": 20, "order": str(n)} for n in range(20)]
            results = await asyncio.gather(*(client.call_tool("lookup_order", given) for given in arguments))
            return [said(result) for result in results]

    assert asyncio.run(scenario()) == [f"done {n}" for n in range(20)]
    assert stage.record() == [("lookup_order", "APPROVED", "success")] * 20


def test_what_is_no_tool_passes_as_it_is(stage: Stage):
    async def scenario() -> list[Any]:
        async with stage.client() as client:
            listed = await client.list_resources()
            read = await client.read_resource("memo://one")
            prompt = await client.get_prompt("greet", {"who": "Ada"})
            completed = await client.complete(
                types.PromptReference(type="ref/prompt", name="greet"), {"name": "who", "value": "Ad"}
            )
            with pytest.raises(MCPError, match="ethod not found"):
                await client.session.send_request(
                    types.Request(method="made/up", params=None), types.EmptyResult
                )
            return [
                listed.resources[0].name,
                read.contents[0].text,
                prompt.messages[0].content.text,
                completed.completion.values,
            ]

    assert asyncio.run(scenario()) == ["one", "memo one", "greet Ada", ["Ad-completed"]]
    assert stage.record() == []


def test_requests_of_the_server_reach_the_client_and_its_answers_the_server(stage: Stage):
    logged: list[Any] = []

    async def sample(context: Any, params: Any) -> Any:
        return types.CreateMessageResult(
            role="assistant", content=types.TextContent(type="text", text="four"), model="fake"
        )

    async def elicit(context: Any, params: Any) -> Any:
        return types.ElicitResult(action="accept", content={"size": "large"})

    async def roots(context: Any) -> Any:
        return types.ListRootsResult(roots=[types.Root(uri="file:///tmp/qwed")])

    async def log(params: Any) -> None:
        logged.append(params.data)

    async def scenario() -> list[str]:
        callbacks = {
            "sampling_callback": sample,
            "elicitation_callback": elicit,
            "list_roots_callback": roots,
            "logging_callback": log,
        }
        async with stage.client(**callbacks) as client:
            kinds = ("sample", "elicit", "roots", "log")
            return [said(await client.call_tool("lookup_order", {"do": kind})) for kind in kinds]

    answers = asyncio.run(scenario())

    assert answers[:2] == ["the model said four", "the user said large"]
    assert "file:///tmp/qwed" in answers[2]
    assert logged == ["hello from the server"]


def test_a_call_that_asks_for_input_and_comes_again_is_one_action(stage: Stage):
    async def elicit(context: Any, params: Any) -> Any:
        return types.ElicitResult(action="accept", content={"size": "large"})

    async def scenario() -> str:
        async with stage.client(mode="auto", elicitation_callback=elicit) as client:
            return said(await client.call_tool("lookup_order", {"do": "need_input"}))

    assert asyncio.run(scenario()) == "size large"
    assert len(stage.ran()) == 2
    assert stage.record() == [("lookup_order", "APPROVED", "success")]


def test_resources_and_prompts_are_verified_where_that_is_asked_for(stage: Stage):
    async def scenario() -> list[str]:
        mapped = ("--map", "resources/read=lookup_order", "--map", "prompts/get=wipe_disk")
        async with stage.client("--verify-resources", *mapped) as client:
            read = await client.read_resource("memo://one")
            with pytest.raises(MCPError) as refusal:
                await client.get_prompt("greet")
            return [read.contents[0].text, str(refusal.value)]

    text, refusal = asyncio.run(scenario())

    assert text == "memo one"
    assert "QWED-AGENT-TRUST-001" in refusal
    assert stage.record() == [("lookup_order", "APPROVED", "success"), ("wipe_disk", "DENIED", None)]


def test_the_51st_step_is_refused_unless_the_conversation_may_be_renewed(stage: Stage):
    async def scenario(*options: str) -> list[bool]:
        async with stage.client(*options) as client:
            calls = [await client.call_tool("lookup_order", {"order": str(n)}) for n in range(52)]
            return [bool(result.is_error) for result in calls]

    assert asyncio.run(scenario()) == [False] * 50 + [True] * 2
    assert asyncio.run(scenario("--renew-conversation")) == [False] * 52
