"""LiteLLM's proxy behind the gateway: a guardrail over the tool calls in a model's answers.

The proxy does not run tools. It holds back an answer whose calls may not run, so an agent behind it never
sees them; what an agent does without being told to by a model, it does not see.
"""

import json
import uuid
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from qwed_sdk.async_client import AsyncQWEDClient
from qwed_sdk.client import QWEDClient
from qwed_sdk.extras import extra_needed
from qwed_sdk.results import Json
from qwed_sdk.tool_gate import ToolGate, ToolPermit, ToolRefused
from qwed_sdk.tool_map import ToolAs

try:
    from fastapi import HTTPException  # type: ignore[import-not-found,unused-ignore]
    from litellm import stream_chunk_builder  # type: ignore[import-not-found,unused-ignore]
    from litellm.integrations.custom_guardrail import (  # type: ignore[import-not-found,unused-ignore]
        CustomGuardrail,
        get_session_id_from_request_data,
    )
    from litellm.llms.base_llm.base_model_iterator import (  # type: ignore[import-not-found,unused-ignore]
        MockResponseIterator,
    )
    from litellm.types.utils import (  # type: ignore[import-not-found,unused-ignore]
        EmbeddingResponse,
        ModelResponse,
        ModelResponseStream,
        TextCompletionResponse,
    )
except ImportError as missing:
    raise extra_needed("qwed_sdk.litellm", "litellm", missing) from missing

__all__ = ["QWEDGuardrail", "ToolRefused"]

MAX_UNREPORTED: Final = 10_000
#: Shorter than what clients of a model's API wait.
DEFAULT_WAIT_SECONDS: Final = 60.0
#: Answers in which no call of a tool has a place.
_WITHOUT_CALLS: Final = (TextCompletionResponse, EmbeddingResponse)


@dataclass(frozen=True)
class _Asked:
    """One call in an answer, whatever the API that it was made for."""

    id: str
    name: str
    arguments: Json
    change: Callable[[dict[str, Json]], None]


class QWEDGuardrail(CustomGuardrail):  # type: ignore[misc,unused-ignore]
    """For the proxy's configuration: `guardrail: qwed_sdk.litellm.QWEDGuardrail`, `default_on: true`,
    `mode: [pre_call, post_call]`, `agent_id: agent_…`; `api_key` and `api_base` are the gateway's. One
    conversation per `litellm_session_id` of a request, or per request.

    An answer with a refused call is status 403, and none of its calls may run; a corrected call is rewritten
    in the answer; a PENDING one holds the answer back for up to `wait_seconds`. A streamed answer is held
    until all its calls are decided. The next request brings the tool's result: that is reported as success,
    since a result that says that it failed is only a text here.
    """

    def __init__(
        self,
        agent_id: str,
        *,
        client: QWEDClient | AsyncQWEDClient | None = None,
        api_key: str | None = None,
        api_base: str | None = None,
        agent_token: str | None = None,
        tool_map: Mapping[str, Json] | None = None,
        wait_seconds: float = DEFAULT_WAIT_SECONDS,
        **others: Any,
    ) -> None:
        super().__init__(**{**others, "default_on": True})
        meanings = {name: _meaning(given) for name, given in (tool_map or {}).items()}
        if client is None:
            client = AsyncQWEDClient(api_key, api_base)
        self._gate = ToolGate(
            agent_id, client=client, agent_token=agent_token, tool_map=meanings, wait_seconds=wait_seconds
        )
        self._unreported: OrderedDict[str, ToolPermit] = OrderedDict()

    async def async_pre_call_hook(
        self, user_api_key_dict: Json, cache: Json, data: dict[str, Json], call_type: str
    ) -> None:
        for call_id, result in _results(data):
            permit = self._unreported.pop(call_id, None)
            if permit is not None:
                await self._gate.areport(permit, result=result)

    async def async_post_call_success_hook(
        self, data: dict[str, Json], user_api_key_dict: Json, response: Any
    ) -> Any:
        await self._decide(data, response)
        return response

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Json, response: Any, request_data: dict[str, Json]
    ) -> AsyncIterator[Any]:
        chunks = [chunk async for chunk in response]
        if not all(isinstance(chunk, ModelResponseStream) for chunk in chunks):
            raise _block("streamed answers can be verified for chat completions only: ask without stream")
        whole = stream_chunk_builder(chunks=chunks) if chunks else None
        if not isinstance(whole, ModelResponse):
            if chunks:
                raise _block("the streamed answer could not be put together")
            return
        if await self._decide(request_data, whole):
            async for chunk in MockResponseIterator(model_response=whole):
                yield chunk
            return
        for chunk in chunks:
            yield chunk

    async def _decide(self, data: Mapping[str, Json], response: Any) -> bool:
        """Whether a call was changed. Raises what the proxy answers with, if one is refused."""
        session = get_session_id_from_request_data(dict(data))
        conversation_id = session or str(uuid.uuid4())
        permits: list[tuple[_Asked, ToolPermit]] = []
        is_changed = False
        try:
            for asked in _calls(response):
                if not isinstance(asked.arguments, dict):
                    raise ToolRefused(asked.name, "its arguments are not a JSON object")
                permit = await self._gate.apermit(
                    asked.name, asked.arguments, conversation_id=conversation_id
                )
                permits.append((asked, permit))
                if permit.arguments != asked.arguments:
                    asked.change(permit.arguments)
                    is_changed = True
        except ToolRefused as refused:
            for _, permit in permits:
                permit.outcome = "failure"
                await self._gate.areport(permit, result="not run: a call beside it was refused")
            raise _block(str(refused)) from refused
        for asked, permit in permits:
            self._unreported[asked.id] = permit
        while len(self._unreported) > MAX_UNREPORTED:
            self._unreported.popitem(last=False)
        return is_changed


def _meaning(given: Json) -> str | ToolAs:
    return given if isinstance(given, str | ToolAs) else ToolAs(**given)


def _block(reason: str) -> HTTPException:
    return HTTPException(status_code=403, detail={"error": reason})


def _calls(response: Any) -> Iterator[_Asked]:
    """Every call in an answer. An answer of a kind that nobody looked through is refused."""
    if isinstance(response, ModelResponse):
        for choice in response.choices:
            yield from _chat_calls(choice.message)
        return
    if isinstance(response, _WITHOUT_CALLS):
        return
    body = response if isinstance(response, dict) else None
    if body is not None and body.get("type") == "message" and isinstance(body.get("content"), list):
        yield from _anthropic_calls(body["content"])
        return
    output = getattr(response, "output", None)
    if isinstance(output, list):
        yield from _response_calls(output)
        return
    raise ToolRefused(
        type(response).__name__, "an answer of this kind can't be looked through for tool calls"
    )


def _chat_calls(message: Any) -> Iterator[_Asked]:
    calls = [(call, call.function, str(call.id)) for call in getattr(message, "tool_calls", None) or ()]
    old = getattr(message, "function_call", None)
    if old is not None:
        calls.append((message, old, str(uuid.uuid4())))
    for call, function, call_id in calls:
        if function is None:
            raise ToolRefused(str(getattr(call, "type", "call")), "it is no call of a function")
        yield _Asked(call_id, str(function.name), _read(function.arguments), _setting(function, "arguments"))


def _anthropic_calls(content: Sequence[Any]) -> Iterator[_Asked]:
    for block in content:
        if isinstance(block, dict) and block.get("type") == "tool_use":
            change = _putting(block, "input")
            yield _Asked(str(block.get("id")), str(block.get("name")), block.get("input"), change)


def _response_calls(output: Sequence[Any]) -> Iterator[_Asked]:
    for item in output:
        kind = item.get("type") if isinstance(item, dict) else getattr(item, "type", None)
        if kind == "function_call":
            read = item.get if isinstance(item, dict) else lambda name, item=item: getattr(item, name, None)
            change = (
                _putting(item, "arguments", json.dumps)
                if isinstance(item, dict)
                else _setting(item, "arguments")
            )
            yield _Asked(str(read("call_id")), str(read("name")), _read(read("arguments")), change)
        elif kind not in ("message", "reasoning"):
            raise ToolRefused(str(kind), "the provider runs it, or it is no call of a function")


def _read(arguments: Json) -> Json:
    try:
        return json.loads(arguments) if arguments else {}
    except (TypeError, ValueError, RecursionError):
        return None


def _setting(target: Any, name: str) -> Callable[[dict[str, Json]], None]:
    return lambda arguments: setattr(target, name, json.dumps(arguments))


def _putting(
    target: dict[str, Json], name: str, form: Callable[[dict[str, Json]], Json] = dict
) -> Callable[[dict[str, Json]], None]:
    return lambda arguments: target.__setitem__(name, form(arguments))


def _results(data: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    """What the tools returned, in each of the three APIs."""
    given = data.get("messages")
    asked = data.get("input")
    for message in [*(given if isinstance(given, list) else ()), *(asked if isinstance(asked, list) else ())]:
        if not isinstance(message, dict):
            continue
        if message.get("role") == "tool":
            yield str(message.get("tool_call_id")), message.get("content")
        elif message.get("type") == "function_call_output":
            yield str(message.get("call_id")), message.get("output")
        for block in message["content"] if isinstance(message.get("content"), list) else ():
            if isinstance(block, dict) and block.get("type") == "tool_result":
                yield str(block.get("tool_use_id")), block.get("content")
