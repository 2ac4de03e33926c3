"""`@verified(client, action_type="send_email")`: a function that runs only when the gateway lets it."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar, cast

from qwed_sdk.async_client import AsyncQWEDClient
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
            bound = _bind(function, signature, args, kwargs)
            return gate().run(
                function.__name__,
                bound.named(),
                lambda allowed: _call(function, bound, allowed),
                conversation_id=conversation_id,
            )

        @functools.wraps(function)
        async def arun(*args: Json, **kwargs: Json) -> Json:
            bound = _bind(function, signature, args, kwargs)

            async def call(allowed: dict[str, Json]) -> Json:
                return await _call(function, bound, allowed)

            named = bound.named()
            return await gate().arun(function.__name__, named, call, conversation_id=conversation_id)

        return cast(F, arun if is_async else run)

    return decorate


def _only_agent(client: QWEDClient | AsyncQWEDClient) -> str:
    if len(client.agents) != 1:
        raise ValueError(f"the client knows {len(client.agents)} agents: say which one with agent_id=")
    return client.agents[0]


class _Bound(NamedTuple):
    """A call's arguments. `owner` is the parameter that holds the object or class of a method: the tool's own
    affair, and no argument."""

    arguments: inspect.BoundArguments
    owner: str | None

    def named(self) -> dict[str, Json]:
        found: dict[str, Json] = {}
        for name, value in self.arguments.arguments.items():
            if self.arguments.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                found |= value
            elif name != self.owner:
                found[name] = value
        return found


def _bind(
    function: Callable[..., Json],
    signature: inspect.Signature,
    args: tuple[Json, ...],
    kwargs: Mapping[str, Json],
) -> _Bound:
    arguments = signature.bind(*args, **kwargs)
    arguments.apply_defaults()
    is_method = bool(args) and _is_owner(args[0], function)
    return _Bound(arguments, next(iter(signature.parameters)) if is_method else None)


def _is_owner(first: object, function: Callable[..., Json]) -> bool:
    """Whether the function is a method of this object, or of this class. What a parameter is called does not
    tell: anybody may name an argument `self`."""
    holder = first if isinstance(first, type) else type(first)
    found = inspect.getattr_static(holder, function.__name__, None)
    found = getattr(found, "__func__", found)
    return callable(found) and inspect.unwrap(found) is inspect.unwrap(function)


def _call(function: Callable[..., Json], bound: _Bound, allowed: dict[str, Json]) -> Json:
    left, given = dict(allowed), bound.arguments
    for name, parameter in given.signature.parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            given.arguments[name] = left
        elif name in left and name != bound.owner:
            given.arguments[name] = left.pop(name)
        elif name != bound.owner:
            given.arguments.pop(name, None)
    kinds = {parameter.kind for parameter in given.signature.parameters.values()}
    if left and inspect.Parameter.VAR_KEYWORD not in kinds:
        raise TypeError(f"the granted action has arguments that the function has not: {', '.join(left)}")
    return function(*given.args, **given.kwargs)
