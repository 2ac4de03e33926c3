"""The OpenAI SDK against a local server that speaks its API: plain and streamed, sync and async."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from openai.types.chat import ChatCompletion
from tests.frameworks.open_responses.doubles import BAD, GOOD, GUARDS, CrashingGuard
from tests.frameworks.open_responses.openai_server import Script, serving

from qwed_open_responses.guards import SafetyGuard, SchemaGuard
from qwed_open_responses.middleware.openai_sdk import AsyncVerifiedOpenAI, ResponseBlocked, VerifiedOpenAI

MESSAGES: Any = [{"role": "user", "content": "pay"}]
SCHEMA = {"type": "object", "required": ["account"], "properties": {"account": {"type": "string"}}}


@pytest.fixture
def server() -> Iterator[tuple[str, Script]]:
    with serving() as served:
        yield served


def client(url: str, guards: Any = GUARDS, **options: Any) -> VerifiedOpenAI:
    return VerifiedOpenAI(api_key="sk-x", base_url=url, guards=guards, max_retries=0, **options)


def call(arguments: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": "pay", "arguments": json.dumps(arguments)}]


def ask(kind: str, maker: Any, **options: Any) -> Any:
    if kind == "chat":
        return maker.chat.completions.create(model="gpt-4", messages=MESSAGES, **options)
    return maker.responses.create(model="gpt-4", input="pay", **options)


KINDS = pytest.mark.parametrize("kind", ["chat", "responses"])


@KINDS
def test_a_verified_answer_is_handed_out_as_it_is(server: tuple[str, Script], kind: str) -> None:
    url, script = server
    script.calls = call(GOOD)

    answer = ask(kind, client(url))

    assert json.dumps(json.loads(json.dumps(answer.model_dump(mode="json")))).count("A-1") == 1


@KINDS
def test_a_refused_tool_call_is_never_handed_out(server: tuple[str, Script], kind: str) -> None:
    url, script = server
    script.calls = [*call(GOOD), *call(BAD)]

    with pytest.raises(ResponseBlocked, match="sql_injection"):
        ask(kind, client(url))

    assert len(script.requests) == 1


@KINDS
def test_a_refused_text_is_never_handed_out(server: tuple[str, Script], kind: str) -> None:
    url, script = server
    script.text = "Her SSN is 536-22-8714"

    with pytest.raises(ResponseBlocked, match="us_ssn"):
        ask(kind, client(url))


@KINDS
def test_a_stream_hands_out_nothing_before_it_is_verified(server: tuple[str, Script], kind: str) -> None:
    url, script = server
    script.calls = call(BAD)
    seen = []

    with pytest.raises(ResponseBlocked), ask(kind, client(url), stream=True) as stream:
        for event in stream:
            seen.append(event)

    assert seen == []


@KINDS
def test_a_verified_stream_is_complete(server: tuple[str, Script], kind: str) -> None:
    url, script = server
    script.calls = call(GOOD)

    events = list(ask(kind, client(url), stream=True))

    text = json.dumps([event.model_dump(mode="json") for event in events])
    assert len(events) > 3
    assert "pay" in text


@KINDS
def test_a_refused_text_does_not_leave_in_pieces(server: tuple[str, Script], kind: str) -> None:
    url, script = server
    script.text = "card 4111 1111 1111 1111"

    with pytest.raises(ResponseBlocked, match="card"):
        list(ask(kind, client(url), stream=True))


@KINDS
@pytest.mark.parametrize("stream", [False, True])
def test_a_crashing_guard_blocks(server: tuple[str, Script], kind: str, stream: bool) -> None:
    url, script = server
    script.calls = call(GOOD)

    with pytest.raises(ResponseBlocked, match="crashed"):
        answer = ask(kind, client(url, [CrashingGuard()]), stream=stream)
        list(answer)


@KINDS
def test_no_guards_block(server: tuple[str, Script], kind: str) -> None:
    with pytest.raises(ResponseBlocked, match="no guards"):
        ask(kind, client(server[0], []))


@KINDS
@pytest.mark.parametrize("arguments", [GOOD, BAD])
@pytest.mark.parametrize("stream", [False, True])
def test_the_async_client_does_the_same(
    server: tuple[str, Script], kind: str, arguments: dict[str, str], stream: bool
) -> None:
    url, script = server
    script.calls = call(arguments)

    async def go() -> list[Any]:
        async with AsyncVerifiedOpenAI(api_key="sk-x", base_url=url, guards=GUARDS, max_retries=0) as maker:
            answer = await ask(kind, maker, stream=stream)
            return [event async for event in answer] if stream else [answer]

    if arguments is BAD:
        with pytest.raises(ResponseBlocked):
            asyncio.run(go())
    else:
        assert asyncio.run(go())


@pytest.mark.parametrize("arguments", [GOOD, BAD])
def test_the_stream_helper_is_verified(server: tuple[str, Script], arguments: dict[str, str]) -> None:
    url, script = server
    script.calls = call(arguments)

    def final() -> ChatCompletion:
        with client(url).chat.completions.stream(model="gpt-4", messages=MESSAGES) as stream:
            list(stream)
            return stream.get_final_completion()

    if arguments is BAD:
        with pytest.raises(ResponseBlocked):
            final()
    else:
        assert final().choices[0].message.tool_calls


def test_the_async_stream_helper_is_verified(server: tuple[str, Script]) -> None:
    url, script = server
    script.calls = call(BAD)

    async def go() -> None:
        maker = AsyncVerifiedOpenAI(api_key="sk-x", base_url=url, guards=GUARDS, max_retries=0)
        async with maker.responses.stream(model="gpt-4", input="pay") as stream:
            await stream.get_final_response()

    with pytest.raises(ResponseBlocked):
        asyncio.run(go())


def test_raw_responses_are_verified_and_raw_streams_refused(server: tuple[str, Script]) -> None:
    url, script = server
    script.calls = call(GOOD)
    completions = client(url).chat.completions

    assert completions.with_raw_response.create(model="gpt-4", messages=MESSAGES).status_code == 200
    script.calls = call(BAD)
    with pytest.raises(ResponseBlocked):
        completions.with_raw_response.create(model="gpt-4", messages=MESSAGES)
    with pytest.raises(ResponseBlocked):
        completions.with_raw_response.create(model="gpt-4", messages=MESSAGES, stream=True)
    with pytest.raises(ResponseBlocked):
        completions.with_streaming_response.create(model="gpt-4", messages=MESSAGES)


def test_everything_else_passes_through_and_copies_keep_their_guards(server: tuple[str, Script]) -> None:
    url, script = server
    script.calls = call(BAD)
    maker = client(url)

    assert [model.id for model in maker.models.list()] == ["gpt-4"]
    with pytest.raises(ResponseBlocked):
        ask("chat", maker.with_options(timeout=5))


def test_warn_only_hands_out_and_reports(server: tuple[str, Script]) -> None:
    url, script = server
    script.calls = call(BAD)
    blocked: list[Any] = []

    answer = ask("chat", client(url, block_on_failure=False, on_blocked=lambda *told: blocked.append(told)))

    assert answer.choices[0].message.tool_calls
    assert len(blocked) == 1


def test_a_schema_guards_the_arguments(server: tuple[str, Script]) -> None:
    url, script = server
    guards = [SchemaGuard(schema=SCHEMA), SafetyGuard(block_pii=True)]
    script.calls = call({"account": "A-1"})

    assert ask("chat", client(url, guards)).choices[0].message.tool_calls
    script.calls = [{"name": "pay_status", "arguments": "{}"}]
    with pytest.raises(ResponseBlocked, match="account"):
        ask("chat", client(url, guards))


def test_unparseable_arguments_block(server: tuple[str, Script]) -> None:
    url, script = server
    script.calls = [{"name": "status", "arguments": '{"a": '}]

    with pytest.raises(ResponseBlocked, match="parse"):
        ask("chat", client(url))
