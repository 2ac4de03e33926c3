"""The tools that every framework is given, and how one plays an agent with them."""

import functools
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple, Protocol

from tests.support.protected import Protected

from qwed_sdk import ToolAs

TOOL_MAP: Final = {"sums": ToolAs("calculate", query="claim")}


class Shop:
    """Tools that remember what ran: `tests.support.protected.POLICY` says what each may do."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, Any]] = []

    def lookup_order(self, order: int) -> str:
        """Look an order up."""
        self.ran.append(("lookup_order", order))
        return f"order {order}"

    def wipe_disk(self, disk: str) -> str:
        """Wipe a disk."""
        self.ran.append(("wipe_disk", disk))
        return "wiped"

    def publish_page(self, title: str) -> str:
        """Publish a page."""
        self.ran.append(("publish_page", title))
        return "published"

    def sums(self, claim: str) -> str:
        """Check a sum."""
        self.ran.append(("sums", claim))
        return claim

    def own_tool(self, value: str) -> str:
        """Fail."""
        self.ran.append(("own_tool", value))
        raise ValueError(value)


def as_async(tool: Callable[..., str]) -> Callable[..., Awaitable[str]]:
    """The same tool, for frameworks that treat coroutines in another way."""

    @functools.wraps(tool)
    async def call(*args: Any, **kwargs: Any) -> str:
        return tool(*args, **kwargs)

    return call


class Play(Protocol):
    def __call__(self, world: Protected, shop: Shop, *calls: Any) -> list[str]:
        """An agent asks for these calls at once and then says it is done; gives what it was answered."""


class Way(NamedTuple):
    """One way of putting the gateway in front of a framework's tools."""

    play: Play
    #: A refusal ends the run with an error, which is the answer; otherwise the model is told and goes on.
    is_refusal_final: bool = False
    #: One refused call ends the whole step of the model, with the answers of the calls beside it.
    is_step_refused: bool = False
    #: What a tool raises ends the run; otherwise the model is told.
    is_failure_final: bool = False
    #: The framework tries a tool that failed again.
    retries_failures: bool = False
    #: What is reported of a tool that failed.
    failure_outcome: str = "failure"
    #: What the model hears of a tool that failed.
    failure_says: str = ""


def gate_options(world: Protected, **options: Any) -> dict[str, Any]:
    return {"client": world.client, "tool_map": TOOL_MAP, "wait_seconds": 20, **options}
