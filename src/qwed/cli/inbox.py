"""The live inbox as values: what it shows, and what a key does to it. Nothing here reads or writes."""

import datetime
from collections.abc import Mapping
from typing import Final

import msgspec
from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from qwed.cli.approval_texts import said
from qwed.cli.shared import printable
from qwed.domain.json_types import Json
from qwed.gateway.kernel.wire import encode_json

Approval = Mapping[str, Json]

KEYS: Final = "↑ ↓ choose   a approve   d deny   q leave"
MAX_ROWS: Final = 15
MAX_TEXT: Final = 1_500
RISK_STYLES: Final = {"low": "green", "medium": "yellow", "high": "red", "critical": "bold red"}
_UP: Final = ("k", "\x1b[A", "\x1bOA")
_DOWN: Final = ("j", "\x1b[B", "\x1bOB")
_VERBS: Final = {"a": "approve", "d": "deny"}


COLUMN_WIDTHS: Final = {"": 1, "expires in": 10, "risk": 8, "agent": 22}


class InboxAnswer(msgspec.Struct, frozen=True):
    """What a person decided, of which approval: the one they saw, whatever arrived meanwhile."""

    verb: str
    approval_id: str


class Inbox(msgspec.Struct, frozen=True):
    """What waits, soonest to expire first. `asking` waits for a yes: one slip of a finger decides nothing."""

    waiting: tuple[Approval, ...] = ()
    chosen: str | None = None
    asking: InboxAnswer | None = None
    said: str = ""
    has_more: bool = False
    is_over: bool = False

    @property
    def selected(self) -> Approval | None:
        return next((a for a in self.waiting if a["id"] == self.chosen), None)


def refreshed(inbox: Inbox, found: Mapping[str, Json]) -> Inbox:
    """The same person looking at the same approval, as long as it waits."""
    waiting = tuple(sorted(found["approvals"], key=lambda a: (a["expires_at"], a["id"])))
    ids = [approval["id"] for approval in waiting]
    chosen = inbox.chosen if inbox.chosen in ids else (ids[0] if ids else None)
    asking = inbox.asking if inbox.asking is not None and inbox.asking.approval_id in ids else None
    said = inbox.said
    if inbox.asking is not None and asking is None:
        said = f"{inbox.asking.approval_id} no longer waits"
    return msgspec.structs.replace(
        inbox, waiting=waiting, chosen=chosen, asking=asking, said=said, has_more="next" in found
    )


def press(inbox: Inbox, key: str) -> tuple[Inbox, InboxAnswer | None]:
    if inbox.asking is not None:
        order = inbox.asking if key == "y" else None
        said = "" if order else "nothing was decided"
        return msgspec.structs.replace(inbox, asking=None, said=said), order
    if key == "q":
        return msgspec.structs.replace(inbox, is_over=True), None
    if key in _UP or key in _DOWN:
        return _move(inbox, 1 if key in _DOWN else -1), None
    if key in _VERBS and inbox.chosen is not None:
        return msgspec.structs.replace(inbox, asking=InboxAnswer(_VERBS[key], inbox.chosen), said=""), None
    return inbox, None


def _move(inbox: Inbox, by: int) -> Inbox:
    ids = [approval["id"] for approval in inbox.waiting]
    if inbox.chosen not in ids:
        return inbox
    place = min(max(ids.index(inbox.chosen) + by, 0), len(ids) - 1)
    return msgspec.structs.replace(inbox, chosen=ids[place], said="")


def view(inbox: Inbox, now: datetime.datetime) -> RenderableType:
    parts: list[RenderableType] = [_table(inbox, now)]
    if (selected := inbox.selected) is not None:
        parts.append(_details(selected))
    parts.append(Text(_prompt(inbox), style="bold yellow" if inbox.asking else ""))
    parts.append(Text(KEYS, style="dim"))
    return Group(*parts)


def _prompt(inbox: Inbox) -> str:
    if inbox.asking is not None:
        return f"{inbox.asking.verb} {inbox.asking.approval_id}? y is yes, any other key is no"
    return printable(inbox.said)


def _table(inbox: Inbox, now: datetime.datetime) -> RenderableType:
    if not inbox.waiting:
        return Text("nothing waits for you", style="green")
    count = f"{len(inbox.waiting)}{' and more' if inbox.has_more else ''}"
    table = Table(
        title=f"{count} waiting", title_justify="left", header_style="dim", box=box.SIMPLE_HEAD, expand=True
    )
    for column, width in COLUMN_WIDTHS.items():
        table.add_column(column, width=width, no_wrap=True)
    # Whatever is too long, it is the action that is cut: all of it stands below.
    table.add_column("action", ratio=1, no_wrap=True, overflow="ellipsis")
    ids = [approval["id"] for approval in inbox.waiting]
    place = ids.index(inbox.chosen) if inbox.chosen in ids else 0
    first = max(0, min(place - MAX_ROWS // 2, len(ids) - MAX_ROWS))
    for approval in inbox.waiting[first : first + MAX_ROWS]:
        is_chosen = approval["id"] == inbox.chosen
        risk = str(approval["risk_level"])
        table.add_row(
            Text("▶" if is_chosen else " "),
            Text(remaining(approval, now)),
            Text(printable(risk), style=RISK_STYLES.get(risk, "")),
            Text(printable(str(approval["agent_id"]))),
            Text(said(approval["action"])),
            style="reverse" if is_chosen else "",
        )
    return table


def _details(approval: Approval) -> RenderableType:
    lines = Text()
    for name in ("id", "reason", "user_intent", "required_role", "escalated_to", "action", "evidence"):
        value = approval.get(name)
        if value:
            text = value if isinstance(value, str) else encode_json(value).decode()
            lines.append(f"{name}: ", style="bold")
            lines.append(shorten(printable(text)) + "\n")
    for vote in approval["votes"]:
        verb = "approved" if vote["approves"] else "denied"
        lines.append(f"{verb} by {printable(vote['by'])} {printable(vote['note'] or '')}\n")
    return Panel(lines, title="what exactly", title_align="left")


def remaining(approval: Approval, now: datetime.datetime) -> str:
    left = datetime.datetime.fromisoformat(approval["expires_at"]) - now
    seconds = max(0, int(left.total_seconds()))
    if seconds >= 3600:
        return f"{seconds // 3600} h {seconds % 3600 // 60:02d} min"
    return f"{seconds // 60}:{seconds % 60:02d}"


def shorten(text: str) -> str:
    if len(text) <= MAX_TEXT:
        return text
    return f"{text[:MAX_TEXT]}… ({len(text)} characters; all of it: qwed approvals show)"
