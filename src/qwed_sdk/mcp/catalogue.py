"""The tools of one server, held against their pins: which may be shown and called, and why others not."""

import enum
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from qwed.domain.skeleton import compact_skeleton
from qwed_sdk.mcp.definitions import definition_hash, suspicion
from qwed_sdk.mcp.pins import Pin, Pinned, Pins

MAX_TOOLS: Final = 2_000
MAX_NAME: Final = 256


class ToolStanding(enum.StrEnum):
    NEW = "new"
    PINNED = "pinned"
    CHANGED = "changed"
    SUSPICIOUS = "suspicious"
    AMBIGUOUS = "ambiguous"
    MALFORMED = "malformed"


class Listed(msgspec.Struct, frozen=True):
    """One tool as the server lists it. `why` is for people and models; None where nothing is wrong."""

    name: str
    sha256: str
    standing: ToolStanding
    why: str | None
    definition: Mapping[str, Any]


class TooManyTools(Exception):
    pass


def examine(tools: Sequence[Any], pinned: Pinned) -> list[Listed]:
    """Pure: every tool with its standing. Raises `TooManyTools`."""
    if len(tools) > MAX_TOOLS:
        raise TooManyTools(f"the server lists {len(tools)} tools; at most {MAX_TOOLS} are looked at")
    shapes = [compact_skeleton(_name(tool)) for tool in tools]
    twice = {shape for shape in shapes if shapes.count(shape) > 1}
    elsewhere = {compact_skeleton(name): other for name, other in pinned.elsewhere.items()}
    return [
        _examine_one(tool, pinned, shape in twice, elsewhere)
        for tool, shape in zip(tools, shapes, strict=True)
    ]


def _name(tool: Any) -> str:
    name = tool.get("name") if isinstance(tool, Mapping) else None
    return name if isinstance(name, str) and len(name) <= MAX_NAME else ""


def _examine_one(tool: Any, pinned: Pinned, is_twice: bool, elsewhere: Mapping[str, str]) -> Listed:
    name = _name(tool)
    sha256 = definition_hash(tool) if name else ""
    if not sha256 or not isinstance(tool.get("inputSchema"), Mapping):
        return Listed(name, sha256, ToolStanding.MALFORMED, "its definition is not one", {})
    pin = pinned.own.get(name)
    twin = pinned.twins.get(name)
    # The same program, pointed at something else, that says the very same about its tool.
    if pin is None and twin is not None and twin.sha256 == sha256:
        pin = twin

    def listed(standing: ToolStanding, why: str | None) -> Listed:
        return Listed(name, sha256, standing, why, tool)

    # Accepting one of two cannot say which one is meant.
    if is_twice:
        return listed(
            ToolStanding.AMBIGUOUS, "the server offers it more than once, or one that looks like it"
        )
    if pin is not None and pin.sha256 != sha256:
        return listed(ToolStanding.CHANGED, "its definition changed since it was pinned")
    if pin is not None and pin.accepted:
        return listed(ToolStanding.PINNED, None)
    why = suspicion(tool)
    if why is not None:
        return listed(ToolStanding.SUSPICIOUS, f"its definition cannot be trusted: {why}")
    if pin is not None:
        return listed(ToolStanding.PINNED, None)
    other = elsewhere.get(compact_skeleton(name))
    if other is not None:
        return listed(ToolStanding.AMBIGUOUS, f"the server {other!r} already offers a tool of this name")
    return listed(ToolStanding.NEW, None)


class Catalogue:
    """`pins_new`: a tool that was never seen is pinned as it is; otherwise it waits for `qwed mcp pin`.
    `is_apart`: clients see the server's name before each tool's, so that another server may have the same."""

    def __init__(
        self,
        server: str,
        pins: Pins,
        *,
        identity: str | None = None,
        pins_new: bool = True,
        is_apart: bool = False,
    ) -> None:
        self._server = server
        self._identity = identity or server
        self._is_apart = is_apart
        self._pins = pins
        self._pins_new = pins_new
        self._refused: dict[str, str] = {}
        self._offered: dict[str, Mapping[str, Any]] = {}

    def update(self, tools: Sequence[Any]) -> list[Listed]:
        """Look at a whole list, keep what was found. Raises `PinsUnusable`, `TooManyTools`."""
        found = [self._admit(tool) for tool in examine(tools, self._known())]
        new = {
            tool.name: Pin(tool.sha256)
            for tool in found
            if tool.standing is ToolStanding.NEW and not tool.why
        }
        self._pins.add(self._server, self._identity, new)
        self._refused = {tool.name: tool.why for tool in found if tool.why is not None}
        self._offered = {tool.name: tool.definition for tool in found if tool.why is None}
        return found

    def _known(self) -> Pinned:
        pinned = self._pins.of(self._server, self._identity)
        return msgspec.structs.replace(pinned, elsewhere={}) if self._is_apart else pinned

    def _admit(self, tool: Listed) -> Listed:
        if tool.standing is not ToolStanding.NEW or self._pins_new:
            return tool
        return msgspec.structs.replace(
            tool, why="nobody has pinned it yet; a person can, with 'qwed mcp pin'"
        )

    def refusal(self, name: str) -> str | None:
        """Why a call of this tool must not go on."""
        if name in self._offered:
            return None
        return self._refused.get(name, "the server does not offer it")

    def definition(self, name: str) -> Mapping[str, Any]:
        return self._offered.get(name, {})
