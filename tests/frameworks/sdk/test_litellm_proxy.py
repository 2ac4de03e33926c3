"""What LiteLLM's proxy has beside chat: its configuration file, other APIs, results that come back."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import HTTPException
from tests.frameworks.sdk.drivers import litellm
from tests.frameworks.sdk.drivers.shop import Shop, gate_options
from tests.support.protected import Protected

from qwed_sdk.litellm import QWEDGuardrail


def decide(world: Protected, response: Any) -> Any:
    guardrail = QWEDGuardrail(world.agent_id, **gate_options(world))
    return asyncio.run(guardrail.async_post_call_success_hook({}, None, response))


def messages_answer(name: str, **arguments: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "id": "toolu_1", "name": name, "input": arguments}
    return {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "x"}, block]}


def response_answer(name: str, **arguments: Any) -> Any:
    call = SimpleNamespace(
        type="function_call", call_id="c", name=name, arguments=json.dumps(arguments), status="completed"
    )
    return SimpleNamespace(output=[SimpleNamespace(type="reasoning"), call])


def test_the_configuration_file_makes_the_guardrail_that_holds_answers_back(shop: Shop) -> None:
    proxy = litellm.proxy()
    with proxy.guarded(proxy.of_the_file):
        # Its gateway is not there.
        answers = litellm.loop(shop, [("lookup_order", {"order": 1})])

    assert shop.ran == []
    assert "no usable answer" in answers[-1]


@pytest.mark.parametrize("answer", [messages_answer, response_answer])
def test_calls_in_other_apis_are_decided_too(world: Protected, answer: Any) -> None:
    decide(world, answer("lookup_order", order=1))
    with pytest.raises(HTTPException) as refused:
        decide(world, answer("wipe_disk", disk="a"))

    assert "QWED-AGENT-TRUST-001" in str(refused.value.detail)
    assert [row[:2] for row in world.record()] == [("lookup_order", "APPROVED"), ("wipe_disk", "DENIED")]


def test_calls_in_other_apis_are_corrected_too(world: Protected) -> None:
    message = decide(world, messages_answer("sums", claim="2+2=5"))
    response = decide(world, response_answer("sums", claim="2+2=5"))

    assert message["content"][1]["input"] == {"claim": "2+2=4"}
    assert json.loads(response.output[1].arguments) == {"claim": "2+2=4"}


@pytest.mark.parametrize(
    "answer",
    [
        SimpleNamespace(output=[SimpleNamespace(type="computer_call")]),
        SimpleNamespace(output=[SimpleNamespace(type="mcp_call")]),
        {"type": "something new"},
        object(),
    ],
)
def test_an_answer_that_nobody_looked_through_is_held_back(world: Protected, answer: Any) -> None:
    with pytest.raises(HTTPException):
        decide(world, answer)


def test_a_stream_of_another_api_is_held_back(world: Protected) -> None:
    async def raw() -> Any:
        yield b"event: message_start\n\n"

    async def read() -> list[Any]:
        guardrail = QWEDGuardrail(world.agent_id, **gate_options(world))
        return [each async for each in guardrail.async_post_call_streaming_iterator_hook(None, raw(), {})]

    with pytest.raises(HTTPException):
        asyncio.run(read())


def test_calls_beside_a_refused_one_are_reported_as_not_run(world: Protected, shop: Shop) -> None:
    calls = [("lookup_order", {"order": 1}), ("wipe_disk", {"disk": "a"})]
    litellm.WAYS["litellm"].play(world, shop, *calls)

    assert shop.ran == []
    assert world.record() == [("lookup_order", "APPROVED", "failure"), ("wipe_disk", "DENIED", None)]
