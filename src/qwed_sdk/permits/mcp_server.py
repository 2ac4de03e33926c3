"""Permits for an MCP server: every tool call needs one, in `_meta`, unless the tool is listed as open."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from qwed.domain.codes import Code
from qwed.domain.permits import PERMIT_META
from qwed_sdk.mcp.messages import tool_error
from qwed_sdk.permits.errors import PermitRefused
from qwed_sdk.tool_map import NotShowable, ToolMap, action_of_call

if TYPE_CHECKING:
    from qwed_sdk.permits.verifier import PermitVerifier, VerifiedPermit

_CALL = "tools/call"


class PermitMcp:
    """Append it to the `middleware` of an MCP server."""

    def __init__(self, permits: "PermitVerifier", tool_map: ToolMap, open_tools: Collection[str]) -> None:
        self._permits = permits
        self._tool_map = tool_map
        self._open = frozenset(open_tools)

    async def __call__(self, ctx: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        params: Mapping[str, Any] = ctx.params or {}
        if ctx.method != _CALL or params.get("name") in self._open:
            return await call_next(ctx)
        try:
            permit = await asyncio.to_thread(self._verify, params)
        except PermitRefused as refusal:
            return tool_error(str(refusal), {"code": refusal.code.value})
        started, failure = time.monotonic(), None
        try:
            return await call_next(ctx)
        except BaseException as error:
            failure = error
            raise
        finally:
            await asyncio.shield(asyncio.to_thread(self._report, permit, started, failure))

    def _verify(self, params: Mapping[str, Any]) -> "VerifiedPermit":
        meta, arguments = params.get("_meta") or {}, params.get("arguments") or {}
        token = meta.get(PERMIT_META) if isinstance(meta, Mapping) else None
        if not isinstance(params.get("name"), str) or not isinstance(arguments, Mapping):
            raise self._permits.refuse(token, Code.PERMIT_MISMATCH, "the call has no name or no arguments")
        try:
            action = action_of_call(params["name"], arguments, self._tool_map, is_strict=True).action
        except NotShowable as problem:
            raise self._permits.refuse(token, Code.PERMIT_MISMATCH, str(problem)) from problem
        return self._permits.verify(token, action)

    def _report(self, permit: "VerifiedPermit", started: float, failure: BaseException | None) -> None:
        self._permits.report(permit, permit.action_hash, started, error=failure)
