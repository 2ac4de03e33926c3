"""Guards around a plain function: it runs only with arguments that were verified."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from qwed.domain.json_types import Json
from qwed_open_responses.errors import ToolCallBlocked
from qwed_open_responses.guards.base import BaseGuard, Context
from qwed_open_responses.verifier import ResponseVerifier

F = TypeVar("F", bound=Callable[..., Any])


def guarded(
    guards: Iterable[BaseGuard],
    *,
    name: str | None = None,
    context: Context | None = None,
    strict: bool | None = None,
) -> Callable[[F], F]:
    """Raises `ToolCallBlocked` instead of calling the function when a guard fails.

    The guards see the call as a tool call: the function's name, and its arguments by parameter name.
    """
    verifier = ResponseVerifier(guards, strict=strict)

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        tool_name = name or function.__name__

        def verify(args: tuple[Any, ...], kwargs: dict[str, Json]) -> None:
            result = verifier.verify_tool_call(
                tool_name, _name_arguments(signature, args, kwargs), context=context
            )
            if not result.verified:
                raise ToolCallBlocked(result)

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def call_async(*args: Any, **kwargs: Any) -> Any:
                verify(args, kwargs)
                return await function(*args, **kwargs)

            return call_async  # type: ignore[return-value]

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            verify(args, kwargs)
            return function(*args, **kwargs)

        return call  # type: ignore[return-value]

    return decorate


def _name_arguments(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Json]
) -> dict[str, Json]:
    """The arguments by name, defaults included, without a method's own object; `**kwargs` join the rest."""
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    named: dict[str, Json] = {}
    for parameter in signature.parameters.values():
        value = bound.arguments[parameter.name]
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            named.update(value)
        elif parameter.name not in ("self", "cls"):
            named[parameter.name] = value
    return named
