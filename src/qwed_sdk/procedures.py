"""What takes several calls, written once for both clients: generators that yield calls and get the answers.

A procedure does no I/O. It is carried out with a way of sending, by a thread or by a task.
"""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from qwed_sdk import calls
from qwed_sdk.calls import Call
from qwed_sdk.errors import QWEDError
from qwed_sdk.results import Approval, Json

R = TypeVar("R")
LONGEST_POLL_SECONDS = 30


@dataclass(frozen=True)
class Pause:
    """Time to let pass before the procedure goes on."""

    seconds: float


@dataclass(frozen=True)
class Hold:
    """A lock to hold before the procedure goes on; it releases the lock itself."""

    lock: threading.Lock


Step: TypeAlias = Call[Json] | Pause | Hold
Procedure: TypeAlias = Generator[Step, Json, R]


def carry_out(procedure: Procedure[R], send: Callable[[Call[Json]], Json]) -> R:
    try:
        step = next(procedure)
        while True:
            answer = None
            try:
                if isinstance(step, Pause):
                    time.sleep(step.seconds)
                elif isinstance(step, Hold):
                    step.lock.acquire()
                else:
                    answer = send(step)
            except QWEDError as error:
                step = procedure.throw(error)
            else:
                step = procedure.send(answer)
    except StopIteration as done:
        result: R = done.value
        return result
    finally:
        procedure.close()


async def acarry_out(procedure: Procedure[R], send: Callable[[Call[Json]], Awaitable[Json]]) -> R:
    try:
        step = next(procedure)
        while True:
            answer = None
            try:
                if isinstance(step, Pause):
                    await asyncio.sleep(step.seconds)
                elif isinstance(step, Hold):
                    await _hold(step.lock)
                else:
                    answer = await send(step)
            except QWEDError as error:
                step = procedure.throw(error)
            else:
                step = procedure.send(answer)
    except StopIteration as done:
        result: R = done.value
        return result
    finally:
        # A task that is cancelled leaves here: what the procedure holds is let go.
        procedure.close()


_at_work: Final[set[asyncio.Future[Json]]] = set()


async def ashielded(work: Coroutine[Json, Json, R]) -> R:
    """Goes on to its end also where the task that awaits it is cancelled."""
    task = asyncio.ensure_future(work)
    # The loop itself would not keep it.
    _at_work.add(task)
    task.add_done_callback(_at_work.discard)
    return await asyncio.shield(task)


def shielded(result: R) -> R:
    """What a thread does, nobody cancels."""
    return result


async def _hold(lock: threading.Lock) -> None:
    """Threads and tasks share the lock. It is held for one request, so looking again is cheap."""
    while not lock.acquire(blocking=False):
        await asyncio.sleep(0.002)


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
