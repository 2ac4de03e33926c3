"""A deadline for calls that know none: the library of an HSM may hang for good."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


class DeadlineCaller:
    """Each call has a thread, which keeps no process from ending; one that hangs holds one of `at_once`."""

    def __init__(self, seconds: float, at_once: int) -> None:
        self._seconds = seconds
        self._free = threading.BoundedSemaphore(at_once)

    def call(self, work: Callable[[], T]) -> T:
        """What `work` returns or raises. Raises `TimeoutError` where it takes longer, or finds no place."""
        until = time.monotonic() + self._seconds
        if not self._free.acquire(timeout=self._seconds):
            raise TimeoutError
        answer: Future[T] = Future()
        threading.Thread(target=self._settle, args=(answer, work), name="qwed-deadline", daemon=True).start()
        return answer.result(until - time.monotonic())

    def _settle(self, answer: Future[T], work: Callable[[], T]) -> None:
        try:
            answer.set_result(work())
        # Whatever it is: it is raised again where somebody waits.
        except BaseException as error:  # noqa: BLE001
            answer.set_exception(error)
        finally:
            self._free.release()
