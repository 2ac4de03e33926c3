"""The process that looks at what may run away: `python -m qwed.engines.worker <descriptor>`.

It serves one job at a time and is expendable: its parent kills it at the deadline. It has no
environment, no open files and no way to write one; it ends with its parent.
"""

import ctypes
import os
import resource
import signal
import socket
import sys
import time
from typing import Final

from qwed.domain.findings import Finding, uncertain
from qwed.domain.risk import Risk
from qwed.engines import frames
from qwed.engines.catalogue import build_from_bytes, why_unavailable
from qwed.engines.protocol import Engine

_PR_SET_PDEATHSIG: Final = 1
# Beyond this part of its memory limit a worker is replaced: what it holds will not shrink again.
_WORN_OUT_AT: Final = 0.5


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _die_with_parent(int(sys.argv[2]))
    with socket.socket(fileno=int(sys.argv[1])) as channel:
        _serve(channel)


def _die_with_parent(parent: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # The parent may have died before the line above took effect.
    if os.getppid() != parent:
        sys.exit(1)


def _serve(channel: socket.socket) -> None:
    """Answers until the parent closes its end."""
    hello = _next(channel)
    if not isinstance(hello, frames.Hello):
        return
    _limit_resources(hello.memory_bytes)
    _forbid_files(forbidden=True)
    engines: dict[str, Engine] = {}
    channel.sendall(frames.encode(frames.Ready()))
    while (request := _next(channel)) is not None:
        match request:
            case frames.Load(engine=name):
                _forbid_files(forbidden=False)
                engines[name] = build_from_bytes(name, hello.catalogue[name], hello.rules.get(name))
                _forbid_files(forbidden=True)
                channel.sendall(frames.encode(frames.Ready()))
            case frames.Job(engine=name):
                channel.sendall(_answer(engines[name], request, hello))


def _next(channel: socket.socket) -> frames.Request | None:
    body = frames.receive(channel)
    return None if body is None else frames.decode_request(body)


def _limit_resources(memory_bytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))


def _forbid_files(*, forbidden: bool) -> None:
    """A job may write none; an import may, so that the next worker finds its bytecode."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0 if forbidden else hard, hard))


def _limit_cpu(seconds: float) -> None:
    """For this job alone: the limit counts from the start of the process."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + seconds) + 1, hard))


def _answer(engine: Engine, job: frames.Job, hello: frames.Hello) -> bytes:
    _limit_cpu(job.cpu_seconds)
    risk = hello.catalogue[job.engine].risk_when_undecided
    finding, worn_out = _verify(engine, job, risk)
    worn_out = worn_out or _peak_memory_bytes() > hello.memory_bytes * _WORN_OUT_AT
    try:
        return frames.encode(frames.AnswerFrame(frames.exact_finding(finding), worn_out))
    except frames.NotEncodable as error:
        finding = uncertain(job.engine, risk, f"the finding could not be reported: {error}", limit="report")
        return frames.encode(frames.AnswerFrame(finding, worn_out))


def _verify(engine: Engine, job: frames.Job, risk: Risk) -> tuple[Finding, bool]:
    try:
        return engine.verify(job.action), False
    except MemoryError:
        limit, reason = "memory", "the work needs more memory than allowed"
    except RecursionError:
        limit, reason = "depth", "the input is nested too deeply"
    except ModuleNotFoundError as error:
        limit, reason = "unavailable", why_unavailable(job.engine, error)
    # The boundary of the worker: a defect in an engine must answer, and answer no.
    except Exception as error:  # noqa: BLE001
        limit, reason = "crash", f"the engine failed ({type(error).__name__})"
    return uncertain(job.engine, risk, reason, limit=limit), limit == "memory"


def _peak_memory_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
