"""Semantic Kernel behind the gateway: a filter before every function that a kernel invokes."""

from collections.abc import Awaitable, Callable

from qwed_sdk.async_client import AsyncQWEDClient
from qwed_sdk.client import QWEDClient
from qwed_sdk.extras import extra_needed
from qwed_sdk.results import Json
from qwed_sdk.tool_gate import DEFAULT_WAIT_SECONDS, ToolGate, ToolRefused
from qwed_sdk.tool_map import ToolMap

try:
    from semantic_kernel import Kernel  # type: ignore[import-not-found,unused-ignore]
    from semantic_kernel.filters import (  # type: ignore[import-not-found,unused-ignore]
        FilterTypes,
        FunctionInvocationContext,
    )
    from semantic_kernel.functions import (  # type: ignore[import-not-found,unused-ignore]
        FunctionResult,
        KernelArguments,
    )
except ImportError as missing:
    raise extra_needed("qwed_sdk.semantic_kernel", "semantic-kernel", missing) from missing

__all__ = ["ToolRefused", "protect"]


def protect(
    kernel: Kernel,
    agent_id: str,
    *,
    client: QWEDClient | AsyncQWEDClient | None = None,
    agent_token: str | None = None,
    tool_map: ToolMap | None = None,
    wait_seconds: float = DEFAULT_WAIT_SECONDS,
) -> Kernel:
    """Put the gateway before the functions of this kernel, those that are added later included; returns the
    same kernel. Call it after all other filters were added, so that none changes the arguments afterwards.
    A function goes by its full name, `plugin-function`. A prompt is no action; what the model then calls is.

    Put `tool_run(…)` around a run to make it a conversation of its own. A refused call answers the model; a
    PENDING one waits up to `wait_seconds` for a person. A sub-agent with a kernel of its own needs this too.
    """
    gate = ToolGate(
        agent_id, client=client, agent_token=agent_token, tool_map=tool_map, wait_seconds=wait_seconds
    )

    async def ask(
        context: FunctionInvocationContext, next: Callable[[FunctionInvocationContext], Awaitable[None]]
    ) -> None:
        if context.function.is_prompt:
            await next(context)
            return
        try:
            permit = await gate.apermit(str(context.function.fully_qualified_name), dict(context.arguments))
        except ToolRefused as refused:
            context.result = FunctionResult(function=context.function.metadata, value=str(refused))
            return
        if permit.arguments != permit.proposed:
            settings = context.arguments.execution_settings
            context.arguments = KernelArguments(settings=settings, **permit.arguments)
        try:
            await next(context)
        except BaseException as error:
            await gate.areport(permit, error=error)
            raise
        await gate.areport(permit, result=_value(context))

    kernel.add_filter(FilterTypes.FUNCTION_INVOCATION, ask)
    return kernel


def _value(context: FunctionInvocationContext) -> Json:
    return None if context.result is None else context.result.value
