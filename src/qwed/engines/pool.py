"""Warm worker processes for work that may run away.

Each worker belongs to one thread, which takes the next job, hands it over, and kills and replaces
the worker when the deadline passes. A job always ends in a finding: whatever went wrong is
UNCERTAIN, and `evidence["limit"]` says what it was:

    deadline  memory  cpu  depth   the work was too much
    crash     report               the engine or its process failed
    start     unavailable          no worker, or no engine, could be had
    queue     wait     closed      it was never looked at
    size                           the action is too large to hand over
"""

import os
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Final

import msgspec

from qwed.domain.actions import Action
from qwed.domain.findings import Failure, Finding, Status, uncertain
from qwed.domain.risk import Risk
from qwed.engines import frames
from qwed.engines.catalogue import CATALOGUE, EngineEntry, EngineRules, encode_rules
from qwed.engines.fair_queue import Client, FairQueue, Share
from qwed.engines.worker_process import WorkerLost, WorkerProcess

DEADLINE_SECONDS: Final = 2.0
MEMORY_BYTES: Final = 1024 * 1024 * 1024
MAX_WAITING: Final = 64
MAX_WAITING_PER_AGENT: Final = 16
#: A principal has one of so many parts of the places to wait.
WAITING_PARTS: Final = 4
MAX_WAIT_SECONDS: Final = 15.0


class _Waiting(msgspec.Struct):
    engine: str
    action: Action
    future: "Future[Finding]"
    submitted_at: float
    least_risk: Risk


class WorkerPool:
    """Processes and threads are started one ahead of the work, and end with `close` or the parent."""

    def __init__(
        self,
        rules: EngineRules | None = None,
        *,
        size: int = 2,
        deadline_seconds: float = DEADLINE_SECONDS,
        memory_bytes: int = MEMORY_BYTES,
        max_waiting: int = MAX_WAITING,
        max_waiting_per_agent: int = MAX_WAITING_PER_AGENT,
        max_wait_seconds: float = MAX_WAIT_SECONDS,
        catalogue: Mapping[str, EngineEntry] = CATALOGUE,
    ) -> None:
        self._catalogue = catalogue
        self._hello = frames.Hello(
            dict(catalogue), encode_rules(rules or EngineRules(), catalogue), memory_bytes
        )
        self._size = size
        self._deadline_seconds = deadline_seconds
        self._max_wait_seconds = max_wait_seconds
        self._queue: FairQueue[_Waiting] = FairQueue(
            Share(
                # Whoever else comes finds a worker, or waits for one job to end.
                in_flight_of_principal=max(1, size - 1),
                waiting=max_waiting,
                waiting_of_principal=max(1, max_waiting // WAITING_PARTS),
                waiting_of_agent=max_waiting_per_agent,
            )
        )
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._workers: dict[int, WorkerProcess] = {}
        self._used_engines: set[str] = set()
        self._idle = 0
        self._closed = False
        self._owner_pid = os.getpid()

    def submit(
        self, engine: str, action: Action, *, client: Client | None = None, least_risk: Risk = Risk.LOW
    ) -> "Future[Finding]":
        """Never raises, and the future always gets a finding. Thread-safe.

        An agent has one job in flight and a few waiting, its principal all workers but one and a part of
        the places; they take turns. The finding's risk is `least_risk` or what the engine says, whichever
        is higher.
        """
        future: Future[Finding] = Future()
        job = _Waiting(engine, action, future, time.monotonic(), least_risk)
        refusal = self._enqueue(job, client)
        if refusal is not None:
            _resolve(job, self._say_undecided(engine, *refusal))
        return future

    def warm(self, *engines: str) -> None:
        """Starts one worker and loads the engines' libraries, without waiting for it. The next one starts
        when this one is at work: an idle gateway does not pay for all of them."""
        with self._changed:
            if self._closed or self._owner_pid != os.getpid():
                return
            self._used_engines.update(self._catalogue.keys() & engines)
            if not self._threads:
                self._start_thread()

    def close(self) -> None:
        """Kills every worker; what waits or runs is answered UNCERTAIN. Idempotent."""
        if self._owner_pid != os.getpid():
            return
        with self._changed:
            self._closed = True
            waiting = self._queue.drain()
            for worker in list(self._workers.values()):  # Their threads drop those that end.
                worker.kill()
            self._changed.notify_all()
        for job in waiting:
            if job.future.set_running_or_notify_cancel():
                _resolve(job, self._say_undecided(job.engine, "closed", "the engines were shut down"))
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()

    def __enter__(self) -> "WorkerPool":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _enqueue(self, job: _Waiting, client: Client | None) -> tuple[str, str] | None:
        """Why the job was not taken in."""
        if job.engine not in self._catalogue:
            return "unavailable", f"there is no engine {job.engine!r}"
        if self._owner_pid != os.getpid():
            return "closed", "the engines belong to the process this one was forked from"
        with self._changed:
            if self._closed:
                return "closed", "the engines were shut down"
            if len(self._queue) >= self._idle and len(self._threads) < self._size:
                self._start_thread()
            if not self._threads:
                return "start", "no thread could be started"
            if not self._queue.put(job, client):
                return "queue", "too many actions are waiting for the engines"
            self._changed.notify()
        return None

    def _start_thread(self) -> None:
        slot = len(self._threads)
        thread = threading.Thread(
            target=self._serve, args=(slot,), name=f"qwed-engine-worker-{slot}", daemon=True
        )
        try:
            thread.start()
        except RuntimeError:
            # Out of threads, or the interpreter is ending: those there are must do.
            return
        self._threads.append(thread)

    def _serve(self, slot: int) -> None:
        worker: WorkerProcess | None = self._replacement(slot)
        while (taken := self._take()) is not None:
            owner, job = taken
            worker, finding = self._run(slot, worker, job)
            # The owner is freed first: whoever sees the answer may submit again at once.
            with self._changed:
                self._queue.finish(owner)
                self._changed.notify()
            _resolve(job, finding)
            if worker is None:
                worker = self._replacement(slot)
        if worker is not None:
            worker.close()

    def _take(self) -> tuple[tuple[object, object], _Waiting] | None:
        """The next job worth doing; None when the pool is closed."""
        while True:
            with self._changed:
                while not self._closed and (taken := self._queue.take()) is None:
                    self._idle += 1
                    self._changed.wait()
                    self._idle -= 1
                if self._closed:
                    return None
                if not self._idle and len(self._threads) < self._size:
                    self._start_thread()
            assert taken is not None
            owner, job = taken
            if not job.future.set_running_or_notify_cancel():
                pass
            elif time.monotonic() - job.submitted_at > self._max_wait_seconds:
                _resolve(job, self._say_undecided(job.engine, "wait", "no worker was free for too long"))
            else:
                return owner, job
            with self._changed:
                self._queue.finish(owner)

    def _run(
        self, slot: int, worker: WorkerProcess | None, job: _Waiting
    ) -> tuple[WorkerProcess | None, Finding]:
        """The worker that is left afterwards, and the finding."""
        try:
            request = frames.Job(job.engine, frames.exact_action(job.action), self._deadline_seconds)
            worker = worker or self._start_worker(slot)
            self._used_engines.add(job.engine)
            worker.load(job.engine)
            finding, worn_out = worker.run(request, self._deadline_seconds)
        except frames.NotEncodable as error:
            return worker, self._not_handed_over(job.engine, error)
        except WorkerLost as lost:
            self._workers.pop(slot, None)
            if self._closed:
                return None, self._say_undecided(job.engine, "closed", "the engines were shut down")
            return None, self._say_undecided(job.engine, lost.limit, lost.reason)
        # A thread that dies would leave its jobs without an answer, for a defect of ours.
        except Exception as error:  # noqa: BLE001
            self._discard(slot, worker)
            return None, self._say_undecided(job.engine, "crash", f"the pool failed ({type(error).__name__})")
        if worn_out:
            self._discard(slot, worker)
            return None, finding
        return worker, finding

    def _discard(self, slot: int, worker: WorkerProcess | None) -> None:
        self._workers.pop(slot, None)
        if worker is not None:
            worker.close()

    def _replacement(self, slot: int) -> WorkerProcess | None:
        """A worker that is ready before its next job comes; None when none could be had."""
        if self._closed:
            return None
        worker = None
        try:
            worker = self._start_worker(slot)
            for engine in sorted(self._used_engines):
                # Someone who waits needs one engine, and is not made to wait for the others.
                if len(self._queue):
                    break
                worker.load(engine)
        # As above: the thread must live, and the next job will tell what is wrong.
        except Exception:  # noqa: BLE001
            self._discard(slot, worker)
            return None
        return worker

    def _start_worker(self, slot: int) -> WorkerProcess:
        worker = WorkerProcess(self._hello)
        with self._changed:
            self._workers[slot] = worker
            if self._closed:
                worker.kill()
        return worker

    def _say_undecided(self, engine: str, limit: str, reason: str) -> Finding:
        return uncertain(engine, self._risk(engine), reason, limit=limit)

    def _not_handed_over(self, engine: str, error: frames.NotEncodable) -> Finding:
        return Finding(
            Status.FAILED,
            self._risk(engine),
            engine,
            f"the action can't be read: {error}",
            {"limit": "size"},
            failure=Failure.MALFORMED,
            checks_failed=("readable",),
        )

    def _risk(self, engine: str) -> Risk:
        entry = self._catalogue.get(engine)
        return Risk.CRITICAL if entry is None else entry.risk_when_undecided


def at_least(finding: Finding, risk: Risk) -> Finding:
    """The finding with its risk raised to `risk` where it was lower."""
    return finding if finding.risk >= risk else msgspec.structs.replace(finding, risk=risk)


def _resolve(job: _Waiting, finding: Finding) -> None:
    job.future.set_result(at_least(finding, job.least_risk))
