"""`@verified(client, action_type="send_email")`: a function that runs only when the gateway lets it."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from qwed_sdk.async_client import AsyncQWEDClient
from qwed_sdk.client import QWEDClient
from qwed_sdk.tool_gate import DEFAULT_WAIT_SECONDS, ToolGate
from qwed_sdk.tool_map import ToolAs

F = TypeVar("F", bound=Callable[..., Any])


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
        def run(*args: Any, **kwargs: Any) -> Any:
            bound, arguments = _bound(signature, args, kwargs)
            return gate().run(
                function.__name__,
                arguments,
                lambda allowed: _call(function, bound, allowed),
                conversation_id=conversation_id,
            )

        @functools.wraps(function)
        async def arun(*args: Any, **kwargs: Any) -> Any:
            bound, arguments = _bound(signature, args, kwargs)

            async def call(allowed: dict[str, Any]) -> Any:
                return await _call(function, bound, allowed)

            return await gate().arun(function.__name__, arguments, call, conversation_id=conversation_id)

        return cast(F, arun if is_async else run)

    return decorate


def _only_agent(client: QWEDClient | AsyncQWEDClient) -> str:
    if len(client.agents) != 1:
        raise ValueError(f"the client knows {len(client.agents)} agents: say which one with agent_id=")
    return client.agents[0]


def _bound(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[inspect.BoundArguments, dict[str, Any]]:
    """The arguments by name. The object that a method belongs to is none of them."""
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    arguments: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            arguments |= value
        elif name not in ("self", "cls"):
            arguments[name] = value
    return bound, arguments


def _call(function: Callable[..., Any], bound: inspect.BoundArguments, allowed: dict[str, Any]) -> Any:
    left = dict(allowed)
    for name, parameter in bound.signature.parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            bound.arguments[name] = left
        elif name in left:
            bound.arguments[name] = left.pop(name)
        elif name not in ("self", "cls"):
            bound.arguments.pop(name, None)
    kinds = {parameter.kind for parameter in bound.signature.parameters.values()}
    if left and inspect.Parameter.VAR_KEYWORD not in kinds:
        raise TypeError(f"the granted action has arguments that the function has not: {', '.join(left)}")
    return function(*bound.args, **bound.kwargs)
