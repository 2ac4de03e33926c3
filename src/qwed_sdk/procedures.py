"""What takes several calls, written once for both clients: generators that yield calls and get the answers.

A procedure does no I/O. It is carried out with a way of sending, by a thread or by a task.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from qwed_sdk import calls
from qwed_sdk.calls import Call
from qwed_sdk.errors import QWEDError
from qwed_sdk.results import Approval

R = TypeVar("R")
LONGEST_POLL_SECONDS = 30


@dataclass(frozen=True)
class Pause:
    """Time to let pass before the procedure goes on."""

    seconds: float


Procedure: TypeAlias = Generator[Call[Any] | Pause, Any, R]


def carry_out(procedure: Procedure[R], send: Callable[[Call[Any]], Any]) -> R:
    try:
        step = next(procedure)
        while True:
            answer = None
            try:
                if isinstance(step, Pause):
                    time.sleep(step.seconds)
                else:
                    answer = send(step)
            except QWEDError as error:
                step = procedure.throw(error)
            else:
                step = procedure.send(answer)
    except StopIteration as done:
        result: R = done.value
        return result


async def acarry_out(procedure: Procedure[R], send: Callable[[Call[Any]], Awaitable[Any]]) -> R:
    try:
        step = next(procedure)
        while True:
            try:
                answer = await (asyncio.sleep(step.seconds) if isinstance(step, Pause) else send(step))
            except QWEDError as error:
                step = procedure.throw(error)
            else:
                step = procedure.send(answer)
    except StopIteration as done:
        result: R = done.value
        return result


def approval_answer(
    approval_id: str, agent_id: str | None, timeout: float, *, holds_thread: bool = False
) -> Procedure[Approval]:
    """The approval once it is no longer open, or as it is when the time is over.

    A long poll asks the gateway to keep the request until something happens; where that would keep a thread
    of a pool busy (`holds_thread`), it is asked again and again instead.
    """
    deadline = time.monotonic() + timeout
    pause = 0.05
    while True:
        left = deadline - time.monotonic()
        wait = 0 if holds_thread else max(0, min(LONGEST_POLL_SECONDS, int(left)))
        asked = time.monotonic()
        approval: Approval = yield calls.get_approval(approval_id, agent_id, wait)
        left = deadline - time.monotonic()
        if approval.status != "open" or left <= 0:
            return approval
        # A gateway where too many wait already answers a long poll at once.
        if time.monotonic() - asked < wait / 2 or wait == 0:
            yield Pause(min(pause, left))
            pause = min(pause * 1.5, 1.0)
