"""The server's tools: all pages of its list, held against the pins, looked at again whenever they changed."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from qwed_sdk.mcp import messages
from qwed_sdk.mcp.catalogue import Catalogue, Listed, TooManyTools
from qwed_sdk.mcp.messages import MalformedMessage
from qwed_sdk.mcp.pins import PinsUnusable

MAX_PAGES: Final = 100
LIST_SECONDS: Final = 30.0
_ENVELOPE: Final = "io.modelcontextprotocol/"

Ask = Callable[[str, Mapping[str, Any]], Awaitable[Any]]


class Listing:
    """`ask` puts a request of our own to the server."""

    def __init__(self, ask: Ask, catalogue: Catalogue, log: Callable[[str], None]) -> None:
        self._ask = ask
        self._catalogue = catalogue
        self._log = log
        #: How often the server said that its tools changed, and how often it had when they were looked at.
        self._changes = 0
        self._looked_at: int | None = None
        self._looking = asyncio.Lock()

    def note_change(self) -> None:
        self._changes += 1

    async def look(self, meta: Any) -> tuple[dict[str, Any], list[Listed]]:
        """The server's first page as it is, and all tools with their standing. Raises `MalformedMessage`."""
        async with self._looking:
            return await self._look(meta)

    async def refusal(self, name: str, meta: Any) -> str | None:
        """Why this tool must not be called."""
        if self._looked_at != self._changes:
            async with self._looking:
                # Somebody else may have looked meanwhile.
                if self._looked_at != self._changes:
                    await self._look(meta)
        return self._catalogue.refusal(name)

    async def _look(self, meta: Any) -> tuple[dict[str, Any], list[Listed]]:
        changes = self._changes
        first, tools = await self._pages(_envelope(meta))
        try:
            found = self._catalogue.update(tools)
        except (PinsUnusable, TooManyTools) as problem:
            self._looked_at = None
            self._log(str(problem))
            raise MalformedMessage(
                "the tools of this server cannot be checked, so none can be used"
            ) from None
        self._looked_at = changes
        for tool in found:
            if tool.why is not None:
                self._log(f"tool {tool.name!r} is withheld: {tool.why}")
        return first, found

    async def _pages(self, envelope: Mapping[str, Any]) -> tuple[dict[str, Any], list[Any]]:
        params: dict[str, Any] = {"_meta": envelope} if envelope else {}
        page = first = await self._page(params)
        tools = list(page["tools"])
        for _ in range(MAX_PAGES - 1):
            if page.get("nextCursor") is None:
                break
            page = await self._page({**params, "cursor": page["nextCursor"]})
            tools += page["tools"]
        return first, tools

    async def _page(self, params: Mapping[str, Any]) -> dict[str, Any]:
        try:
            page = messages.object_of(await asyncio.wait_for(self._ask(messages.LIST, params), LIST_SECONDS))
        except TimeoutError:
            raise MalformedMessage("the server does not list its tools in time") from None
        if not isinstance(page.get("tools"), list):
            raise MalformedMessage("the server's list of tools is not one")
        return page


def _envelope(meta: Any) -> dict[str, Any]:
    """What newer revisions send with every request; a token for progress is not copied."""
    if not isinstance(meta, dict):
        return {}
    return {name: value for name, value in meta.items() if name.startswith(_ENVELOPE)}
