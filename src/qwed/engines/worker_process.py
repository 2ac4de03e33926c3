"""A worker as its parent sees it: started, asked, killed."""

import os
import signal
import socket
import subprocess
import sys
import time
from typing import Final

import msgspec

from qwed.domain.findings import Finding
from qwed.engines import frames

START_SECONDS: Final = 30.0


class WorkerLost(Exception):
    """The worker is gone, and with it the answer; `limit` names what ended it."""

    def __init__(self, limit: str, reason: str) -> None:
        super().__init__(reason)
        self.limit = limit
        self.reason = reason


class WorkerProcess:
    """One child process. `kill` may be called from any thread, everything else from its owner's."""

    def __init__(self, hello: frames.Hello) -> None:
        """Starts it. Raises `WorkerLost` when it does not come up."""
        self._loaded: set[str] = set()
        try:
            self._channel, self._process = _spawn()
        except OSError as error:
            raise WorkerLost("start", f"no worker could be started: {error.strerror}") from None
        self._ask_ready(hello)

    @property
    def pid(self) -> int:
        return self._process.pid

    def load(self, engine: str) -> None:
        """Imports the engine's libraries, outside of any job's deadline. Raises `WorkerLost`."""
        if engine not in self._loaded:
            self._ask_ready(frames.Load(engine))
            self._loaded.add(engine)

    def run(self, job: frames.Job, deadline_seconds: float) -> tuple[Finding, bool]:
        """The finding, and whether the worker should be replaced.

        Raises `WorkerLost`, after which the worker is dead, or `frames.NotEncodable`, after which
        it is as it was.
        """
        reply = self._ask(frames.encode(job), deadline_seconds)
        if not isinstance(reply, frames.AnswerFrame):
            raise self._report_lost("crash", "the worker broke its protocol")
        return reply.finding, reply.worn_out

    def kill(self) -> None:
        self._process.kill()

    def close(self) -> None:
        """Ends the process and collects it. Idempotent."""
        self._channel.close()
        self._process.kill()
        self._process.wait()

    def _ask_ready(self, request: frames.Hello | frames.Load) -> None:
        reply = self._ask(frames.encode(request), START_SECONDS)
        if not isinstance(reply, frames.Ready):
            raise self._report_lost("start", "the worker did not come up")

    def _ask(self, frame: bytes, deadline_seconds: float) -> frames.Reply:
        ends_at = time.monotonic() + deadline_seconds
        try:
            self._channel.settimeout(deadline_seconds)
            self._channel.sendall(frame)
            body = frames.receive(self._channel, ends_at)
            if body is not None:
                return frames.decode_reply(body)
        except TimeoutError:
            raise self._report_lost("deadline", f"no answer within {deadline_seconds:g} s") from None
        except (OSError, msgspec.MsgspecError):
            pass
        raise self._report_lost(*self._cause_of_death())

    def _cause_of_death(self) -> tuple[str, str]:
        try:
            code = self._process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            return "crash", "the worker broke its protocol"
        if code == -signal.SIGXCPU:
            return "cpu", "the work needs more processor time than allowed"
        if code < 0:
            return "crash", f"the worker was ended by {_signal_name(-code)}"
        return "crash", f"the worker ended with exit code {code}"

    def _report_lost(self, limit: str, reason: str) -> WorkerLost:
        self.close()
        return WorkerLost(limit, reason)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _spawn() -> tuple[socket.socket, "subprocess.Popen[bytes]"]:
    ours, theirs = socket.socketpair()
    try:
        return ours, _popen(theirs.fileno())
    except OSError:
        ours.close()
        raise
    finally:
        theirs.close()


def _popen(descriptor: int) -> "subprocess.Popen[bytes]":
    # -P: the working directory is not searched.
    flags = ["-P", "-B"] if sys.dont_write_bytecode else ["-P"]
    command = [sys.executable, *flags, "-m", "qwed.engines.worker", str(descriptor), str(os.getpid())]
    environment = {
        # The gateway's environment holds secrets, and a worker reads hostile input: it gets the
        # import path alone.
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        # Sets iterate alike in every worker.
        "PYTHONHASHSEED": "0",
        # Each arena reserves address space, which the memory limit counts.
        "MALLOC_ARENA_MAX": "2",
        # A solver's context is several megabytes, built and freed for each job: handing the pages
        # back and faulting them in again costs more than solving.
        "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
        "MALLOC_TRIM_THRESHOLD_": str(256 << 20),
    }
    return subprocess.Popen(  # noqa: S603  (our own interpreter, arguments of our own)
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(descriptor,),
        env=environment,
        start_new_session=True,
    )
