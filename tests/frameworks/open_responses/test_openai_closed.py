"""OpenAI's clients are closed by default: what qwed does not know is refused, and a new thing is named."""

import asyncio
import typing
from collections.abc import Iterator
from typing import Any

import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types import conversations, responses
from openai.types.beta.beta_response_output_item import BetaResponseOutputItem
from openai.types.chat import ChatCompletionMessage, chat_completion_chunk
from tests.frameworks.open_responses.doubles import BAD
from tests.frameworks.open_responses.openai_server import Script, serving

from qwed_open_responses import items
from qwed_open_responses.errors import ResponseBlocked
from qwed_open_responses.guards import SafetyGuard, ToolGuard
from qwed_open_responses.middleware.assembly import carries_call
from qwed_open_responses.middleware.openai_rules import RULES, SETTINGS, AttributeRule
from qwed_open_responses.middleware.openai_sdk import AsyncVerifiedOpenAI, VerifiedOpenAI

GUARDS = (ToolGuard(blocklist=["nothing"]), SafetyGuard())
MESSAGES: list[Any] = [{"role": "user", "content": "pay"}]


@pytest.fixture
def server() -> Iterator[tuple[str, Script]]:
    with serving() as served:
        yield served


def client(url: str = "http://127.0.0.1:9/v1", **options: Any) -> VerifiedOpenAI:
    return VerifiedOpenAI(api_key="sk-x", base_url=url, guards=GUARDS, max_retries=0, **options)


def types_of(union: Any) -> set[str]:
    """The `type` of every member of a union of models."""
    if hasattr(union, "model_fields"):
        field = union.model_fields.get("type")
        return set(typing.get_args(field.annotation)) if field else {union.__name__}
    members = typing.get_args(union)
    if typing.get_origin(union) is typing.Annotated:
        members = members[:1]
    return set().union(*map(types_of, members))


# The tables against the installed package. A failure names what is new: it is refused until somebody has
# understood it and put it into a table.


@pytest.mark.parametrize(
    "union",
    [
        responses.ResponseOutputItem,
        responses.ResponseItem,
        conversations.ConversationItem,
        BetaResponseOutputItem,
    ],
    ids=["output", "item", "conversation", "beta"],
)
def test_every_item_type_of_the_package_is_understood(union: Any) -> None:
    found = types_of(union)

    assert len(found) > 20
    assert sorted(kind for kind in found if kind not in items.CALLS | items.HARMLESS_ITEMS) == []


def test_every_stream_event_of_the_package_is_understood() -> None:
    known = items.HARMLESS_EVENTS | items.WHOLE_EVENTS | items.CALL_EVENTS | items.PART_EVENTS
    known |= {items.ITEM_ADDED, items.ITEM_DONE}

    assert sorted(types_of(responses.ResponseStreamEvent) - known) == []


def test_every_member_of_a_chat_chunk_is_understood() -> None:
    plain = {"audio", "content", "refusal", "role", "annotations"}
    for model in (chat_completion_chunk.ChoiceDelta, ChatCompletionMessage):
        calls = {
            name for name in model.model_fields if carries_call({"choices": [{"delta": {name: [{"a": 1}]}}]})
        }
        assert calls - {"content"} == {"function_call", "tool_calls"}
        assert set(model.model_fields) - calls <= plain


# Resources and methods of version 3.49 that are refused. A new one makes the test below name it.
REFUSED = {
    "": """admin batches containers content_provenance_checks conversations decisions delete evals get
        get_api_list live patch post put realtime request safety skills videos webhooks with_raw_response
        with_streaming_response""",
    "chat": "with_raw_response with_streaming_response",
    "chat.completions": "list messages with_streaming_response",
    "beta": """agents assistants chatkit realtime responses threads with_raw_response
        with_streaming_response""",
    "beta.chat": "with_raw_response with_streaming_response",
    "beta.chat.completions": "list messages with_streaming_response",
    "responses": "connect input_items with_streaming_response",
    "completions": "with_raw_response with_streaming_response",
    "files": "content retrieve_content with_raw_response with_streaming_response",
}


def reached(root: Any, path: str) -> Any:
    for name in path.split(".") if path else ():
        root = getattr(root, name)
    return root


@pytest.mark.parametrize("path", REFUSED)
@pytest.mark.parametrize("plain", [OpenAI, AsyncOpenAI])
def test_every_attribute_has_a_rule_or_is_refused(plain: Any, path: str) -> None:
    own = VerifiedOpenAI if plain is OpenAI else AsyncVerifiedOpenAI
    real = reached(plain(api_key="sk-x"), path)
    verified = reached(own(api_key="sk-x", guards=GUARDS), path)
    names = {name for name in dir(real) if not name.startswith("_")}
    with_rules = {name for name in names if (f"{path}.{name}" if path else name) in RULES}
    left = names - with_rules - (SETTINGS if not path else set())

    assert left == set(REFUSED[path].split())
    for name in left:
        assert not hasattr(verified, name)
        with pytest.raises(ResponseBlocked, match=r"ResponseVerifier\.verify"):
            getattr(verified, name)
    for name in with_rules:
        assert getattr(verified, name) is not None


def test_every_resource_that_is_opened_is_looked_through() -> None:
    assert {path for path, rule in RULES.items() if rule is AttributeRule.OPEN} | {""} == set(REFUSED)


def test_an_attribute_of_a_later_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OpenAI, "novelties", property(lambda self: "unverified"), raising=False)

    with pytest.raises(ResponseBlocked, match="novelties"):
        client().novelties
    with pytest.raises(AttributeError, match="does not exist"):
        client().never_heard_of


# What the doors let out


@pytest.mark.parametrize(
    "ask",
    [
        lambda maker: maker.post("/responses", cast_to=object, body={}),
        lambda maker: maker.request(object, object),
        lambda maker: maker.with_raw_response.chat.completions.create(model="m", messages=MESSAGES),
        lambda maker: maker.chat.with_raw_response.completions.create(model="m", messages=MESSAGES),
        lambda maker: maker.responses.with_streaming_response.create(model="m", input="x"),
        lambda maker: maker.with_options(timeout=5).beta.threads.create(),
        lambda maker: maker.copy().batches.list(),
        lambda maker: maker.realtime.connect(model="m"),
        lambda maker: maker.responses.with_raw_response.stream(model="m", input="x"),
    ],
)
def test_ways_around_the_guards_ask_nobody(server: tuple[str, Script], ask: Any) -> None:
    url, script = server

    with pytest.raises((ResponseBlocked, AttributeError)):
        ask(client(url))

    assert script.requests == []


@pytest.mark.parametrize(
    "item",
    [
        {"type": "local_shell_call", "id": "i", "call_id": "c", "status": "completed",
         "action": {"type": "exec", "command": ["rm", "-rf", "/home"], "env": {}}},
        {"type": "shell_call", "id": "i", "call_id": "c", "status": "completed",
         "action": {"commands": ["rm -rf /home"]}},
        {"type": "custom_tool_call", "id": "i", "call_id": "c", "name": "terminal", "input": "rm -rf /home"},
        {"type": "apply_patch_call", "id": "i", "call_id": "c", "status": "completed",
         "operation": {"type": "delete_file", "path": "../../etc/passwd"}},
        {"type": "program", "id": "i", "call_id": "c", "code": "import os; os.system('rm -rf /home')",
         "fingerprint": "f"},
        {"type": "novel_thing", "id": "i", "payload": {"do": "it"}},
    ],
    ids=lambda item: item["type"],
)  # fmt: skip
@pytest.mark.parametrize("stream", [False, True])
def test_calls_of_every_kind_are_verified(
    server: tuple[str, Script], item: dict[str, Any], stream: bool
) -> None:
    url, script = server
    script.items = [item]

    with pytest.raises(ResponseBlocked):
        answer = client(url).responses.create(model="gpt-4", input="x", stream=stream)
        list(answer)
    assert len(script.requests) == 1


def test_beta_chat_is_verified_as_chat_is(server: tuple[str, Script]) -> None:
    url, script = server
    script.calls = [{"name": "pay", "arguments": f'{{"note": "{BAD["note"]}"}}'}]

    with pytest.raises(ResponseBlocked, match="sql_injection"):
        client(url).beta.chat.completions.parse(model="gpt-4", messages=MESSAGES)


@pytest.mark.parametrize("stream", [False, True])
def test_an_asynchronous_callback_is_awaited(server: tuple[str, Script], stream: bool) -> None:
    url, script = server
    script.text = "Her SSN is 536-22-8714"
    told: list[Any] = []

    async def tell(answer: Any, result: Any) -> None:
        await asyncio.sleep(0)
        told.append(result.block_reason)

    async def go() -> None:
        options: Any = {"guards": GUARDS, "max_retries": 0, "on_blocked": tell}
        async with AsyncVerifiedOpenAI(api_key="sk-x", base_url=url, **options) as maker:
            answer = await maker.responses.create(model="gpt-4", input="x", stream=stream)
            [event async for event in answer]

    with pytest.raises(ResponseBlocked):
        asyncio.run(go())
    assert len(told) == 1

    with pytest.raises(ResponseBlocked):
        client(url, on_blocked=tell).responses.create(model="gpt-4", input="x")
    assert len(told) == 2


def test_settings_reach_the_client_that_asks(server: tuple[str, Script]) -> None:
    url, _ = server
    maker = client()
    maker.base_url = url

    assert maker.responses.create(model="gpt-4", input="x").output_text == "done"
    assert maker.with_options(timeout=3).timeout == 3
