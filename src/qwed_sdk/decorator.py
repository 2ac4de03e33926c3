"""`@verified(client, action_type="send_email")`: a function that runs only when the gateway lets it."""

import functools
import inspect
from collections.abc import Callable
from typing import TypeVar, cast

from qwed_sdk.async_client import AsyncQWEDClient
from qwed_sdk.bound_calls import bind_call
from qwed_sdk.client import QWEDClient
from qwed_sdk.results import Json
from qwed_sdk.tool_gate import DEFAULT_WAIT_SECONDS, ToolGate
from qwed_sdk.tool_map import ToolAs

F = TypeVar("F", bound=Callable[..., Json])


def verified(
    client: QWEDClient | AsyncQWEDClient | ToolGate,
    action_type: str | None = None,
    *,
    agent_id: str | None = None,
    query: str | None = None,
    code: str | None = None,
    target: str | None = None,
    conversation_id: str | None = None,
    wait_seconds: float = DEFAULT_WAIT_SECONDS,
) -> Callable[[F], F]:
    """The function's arguments, defaults included, are the action's parameters; `query`, `code` and `target`
    name the one that is that field. Raises `ToolRefused` instead of running.

    `agent_id` may be left out where the client has the token of exactly one agent. Functions that are to
    share a conversation share a `ToolGate`.
    """

    def decorate(function: F) -> F:
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError("a generator runs after it was called, so it can't be verified")
        is_async = inspect.iscoroutinefunction(function)
        if not is_async and isinstance(client, AsyncQWEDClient):
            raise TypeError("an ordinary function needs a QWEDClient, not an AsyncQWEDClient")
        name = action_type or function.__name__
        as_action = ToolAs(name, query, code, target) if query or code or target else name
        signature = inspect.signature(function)

        @functools.cache
        def gate() -> ToolGate:
            if isinstance(client, ToolGate):
                client.map_tool(function.__name__, as_action)
                return client
            return ToolGate(
                agent_id or _only_agent(client),
                client=client,
                tool_map={function.__name__: as_action},
                wait_seconds=wait_seconds,
                conversation_id=conversation_id,
            )

        @functools.wraps(function)
        def run(*args: Json, **kwargs: Json) -> Json:
            bound = bind_call(function, signature, args, kwargs)
            return gate().run(
                function.__name__,
                bound.named(),
                lambda allowed: bound.call(function, allowed),
                conversation_id=conversation_id,
            )

        @functools.wraps(function)
        async def arun(*args: Json, **kwargs: Json) -> Json:
            bound = bind_call(function, signature, args, kwargs)

            async def call(allowed: dict[str, Json]) -> Json:
                return await bound.call(function, allowed)

            named = bound.named()
            return await gate().arun(function.__name__, named, call, conversation_id=conversation_id)

        return cast(F, arun if is_async else run)

    return decorate


def _only_agent(client: QWEDClient | AsyncQWEDClient) -> str:
    if len(client.agents) != 1:
        raise ValueError(f"the client knows {len(client.agents)} agents: say which one with agent_id=")
    return client.agents[0]
