"""Several processes behind one address: started, watched, replaced one by one, and stopped together.

Each worker has a listening socket of its own (the kernel spreads connections over them), and the parent
keeps all of them open: while a worker is being replaced, its connections wait and are not refused.
"""

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Final

import msgspec

from qwed.http.server import CannotServe, listen

START_SECONDS: Final = 60.0
#: A little longer than a worker takes to finish what it accepted.
STOP_SECONDS: Final = 25.0
LOOK_SECONDS: Final = 0.1
#: A worker that dies is replaced at once; one that dies again and again, not that often.
RESPAWN_SECONDS: Final = 0.5
MAX_FAILED_STARTS: Final = 5


class Inheritance(msgspec.Struct, frozen=True):
    """What a worker gets from its parent: descriptors, and the folder in which all workers count."""

    ready: int
    life: int
    sockets: tuple[int, ...]
    counts_folder: str


class Worker:
    """One process on one slot's sockets."""

    def __init__(self, command: Sequence[str], sockets: Sequence[socket.socket], counts_folder: str) -> None:
        ready_read, ready_write = os.pipe()
        life_read, self._life = os.pipe()
        descriptors = tuple(listener.fileno() for listener in sockets)
        given = msgspec.json.encode(Inheritance(ready_write, life_read, descriptors, counts_folder)).decode()
        try:
            self.process = subprocess.Popen(  # noqa: S603 - this very command, once more
                [*command, "--inherit", given],
                pass_fds=(ready_write, life_read, *descriptors),
                stdin=subprocess.DEVNULL,
            )
        finally:
            os.close(ready_write)
            os.close(life_read)
        self._ready = ready_read
        self.is_ready = False

    def look(self) -> bool:
        """Whether it listens by now."""
        if not self.is_ready and select.select([self._ready], [], [], 0)[0]:
            self.is_ready = os.read(self._ready, 1) == b"1"
        return self.is_ready

    @property
    def is_dead(self) -> bool:
        return self.process.poll() is not None

    def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()

    def end(self, within: float) -> None:
        """Wait for it, and kill it where that takes too long."""
        try:
            self.process.wait(max(0.0, within))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for descriptor in (self._ready, self._life):
            os.close(descriptor)


class Supervisor:
    """SIGTERM and SIGINT stop all workers; SIGHUP calls `on_hangup`, then replaces them one by one."""

    def __init__(
        self,
        command: Sequence[str],
        slots: Sequence[Sequence[socket.socket]],
        on_hangup: Callable[[], None] = lambda: None,
    ) -> None:
        self._on_hangup = on_hangup
        self._command = command
        self._slots = slots
        self._workers: list[Worker] = []
        self._is_stopping = False
        self._must_replace = False
        self._counts_folder = ""

    def run(self, on_listening: Callable[[], None]) -> None:
        """Until a signal. Raises `CannotServe` where no worker comes up."""
        with self._signals(), tempfile.TemporaryDirectory(prefix="qwed-counts-") as self._counts_folder:
            try:
                self._workers = [self._started(slot) for slot in self._slots]
                self._await_ready(self._workers)
                if not self._is_stopping:
                    on_listening()
                self._watch()
            finally:
                self._stop_all()

    def _started(self, slot: Sequence[socket.socket]) -> Worker:
        return Worker(self._command, slot, self._counts_folder)

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        def stop(number: int, frame: FrameType | None) -> None:
            self._is_stopping = True

        def replace(number: int, frame: FrameType | None) -> None:
            self._must_replace = True

        wanted = {signal.SIGTERM: stop, signal.SIGINT: stop, signal.SIGHUP: replace}
        before = {number: signal.signal(number, handler) for number, handler in wanted.items()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _await_ready(self, workers: Sequence[Worker]) -> None:
        end = time.monotonic() + START_SECONDS
        while not self._is_stopping and not all(worker.look() for worker in workers):
            if any(worker.is_dead for worker in workers) or time.monotonic() > end:
                raise CannotServe("a worker did not start; what it said is above")
            time.sleep(LOOK_SECONDS / 2)

    def _watch(self) -> None:
        failed = 0
        while not self._is_stopping:
            time.sleep(LOOK_SECONDS)
            if self._must_replace:
                self._must_replace = False
                self._on_hangup()
                self._replace_all()
            for number, worker in enumerate(self._workers):
                worker.look()
                if not worker.is_dead or self._is_stopping:
                    continue
                failed = 0 if worker.is_ready else failed + 1
                if failed >= MAX_FAILED_STARTS:
                    raise CannotServe(f"workers end before they listen, {failed} times in a row")
                worker.end(0)
                sys.stderr.write(
                    f"worker {worker.process.pid} ended ({worker.process.returncode}); replaced\n"
                )
                time.sleep(RESPAWN_SECONDS if failed else 0)
                self._workers[number] = self._started(self._slots[number])

    def _replace_all(self) -> None:
        """The new one listens before the old one stops. If it does not come up, the old one stays."""
        for number, old in enumerate(self._workers):
            new = self._started(self._slots[number])
            try:
                self._await_ready([new])
            except CannotServe as error:
                sys.stderr.write(f"{error}; the old worker goes on\n")
                new.stop()
                new.end(STOP_SECONDS)
                return
            self._workers[number] = new
            old.stop()
            old.end(STOP_SECONDS)
            if self._is_stopping:
                return

    def _stop_all(self) -> None:
        for worker in self._workers:
            worker.stop()
        end = time.monotonic() + STOP_SECONDS
        for worker in self._workers:
            worker.end(end - time.monotonic())


def open_slots(host: str, port: int, count: int) -> list[list[socket.socket]]:
    """For each worker, sockets on every address of the host; all on one port. Raises `CannotServe`."""
    first = listen(host, port, shared=True)
    chosen = first[0].getsockname()[1]
    slots = [first, *(listen(host, chosen, shared=True) for _ in range(count - 1))]
    for listener in (listener for slot in slots for listener in slot):
        listener.set_inheritable(True)
    return slots


class Inherited:
    """A worker's side: its sockets, whom to tell that it listens, and a pipe that ends with its parent."""

    def __init__(self, given: str) -> None:
        inheritance = msgspec.json.decode(given, type=Inheritance)
        self._ready, self._life = inheritance.ready, inheritance.life
        self.sockets = [socket.socket(fileno=descriptor) for descriptor in inheritance.sockets]
        self.counts_folder = Path(inheritance.counts_folder)

    def listening(self) -> None:
        os.write(self._ready, b"1")
        os.close(self._ready)

    def stop_with_parent(self) -> None:
        """Blocks until the parent is gone, then stops this process as a signal would."""
        os.read(self._life, 1)
        os.kill(os.getpid(), signal.SIGTERM)
