"""`qwed approvals watch`: an inbox that lives in the terminal, or lines of text where there is none."""

import contextlib
import datetime
import os
import select
import sys
import time
from collections.abc import Callable, Iterator
from typing import Final

import click
import msgspec

from qwed.cli.approval_texts import said, standing
from qwed.cli.errors import CannotReach
from qwed.cli.inbox import Inbox, InboxAnswer, press, refreshed, view
from qwed.cli.shared import Backend, print_json, printable
from qwed.domain.json_types import Json
from qwed.gateway.kernel.answers import RequestError
from qwed.gateway.kernel.ports import StoreUnavailable

LOOK_SECONDS: Final = 1.0
_TROUBLE: Final = (CannotReach, RequestError, StoreUnavailable)


def watch_live(backend: Backend, note: str | None) -> None:
    """Until q or Ctrl-C."""
    from rich.live import Live  # noqa: PLC0415 - only a terminal needs it

    inbox = _look(backend, Inbox())
    with _keys() as read_key, Live(screen=True, auto_refresh=False) as screen:
        next_look = time.monotonic() + LOOK_SECONDS
        while not inbox.is_over:
            screen.update(view(inbox, datetime.datetime.now(datetime.UTC)), refresh=True)
            key = read_key(max(0.0, next_look - time.monotonic()))
            if key is not None:
                inbox, order = press(inbox, key)
                if order is not None:
                    inbox = _look(backend, _carry_out(backend, inbox, order, note))
            if time.monotonic() >= next_look:
                inbox = _look(backend, inbox)
                next_look = time.monotonic() + LOOK_SECONDS


def _look(backend: Backend, inbox: Inbox) -> Inbox:
    try:
        return refreshed(inbox, backend.approvals(status="open"))
    except _TROUBLE as error:
        return msgspec.structs.replace(inbox, said=str(error))


def _carry_out(backend: Backend, inbox: Inbox, order: InboxAnswer, note: str | None) -> Inbox:
    answer = backend.approve if order.verb == "approve" else backend.deny
    try:
        approval = answer(order.approval_id, note)
    except _TROUBLE as error:
        return msgspec.structs.replace(inbox, said=str(error))
    return msgspec.structs.replace(inbox, said=standing(approval))


@contextlib.contextmanager
def _keys() -> Iterator[Callable[[float], str | None]]:
    """Single keys, unechoed; the terminal is given back as it was."""
    import termios  # noqa: PLC0415 - there is no such module everywhere
    import tty  # noqa: PLC0415

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)

    def read(seconds: float) -> str | None:
        ready, _, _ = select.select([descriptor], [], [], seconds)
        # An arrow is three bytes that arrive together.
        return os.read(descriptor, 8).decode("utf-8", "replace") if ready else None

    try:
        tty.setcbreak(descriptor)
        yield read
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def watch_lines(backend: Backend, *, as_json: bool) -> None:
    """A line for each approval that begins to wait, and one when it no longer does. Until Ctrl-C."""
    known: set[str] = set()
    while True:
        try:
            found = {approval["id"]: approval for approval in backend.approvals(status="open")["approvals"]}
            for approval_id in [each for each in found if each not in known]:
                _tell("waits", found[approval_id], as_json=as_json)
            for approval_id in [each for each in known if each not in found]:
                _tell("over", backend.get_approval(approval_id), as_json=as_json)
            known = set(found)
        except _TROUBLE as error:
            click.echo(f"{error}", err=True)
        time.sleep(LOOK_SECONDS)


def _tell(what: str, approval: dict[str, Json], *, as_json: bool) -> None:
    if as_json:
        print_json({"event": what, "approval": approval})
    else:
        status = "waits for you" if what == "waits" else f"is {approval['status']}"
        agent = printable(approval["agent_id"])
        click.echo(f"{approval['id']} {status}: {approval['risk_level']} {agent} {said(approval['action'])}")
    sys.stdout.flush()
