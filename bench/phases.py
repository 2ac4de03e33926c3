"""`make bench-profile`: where the time of a decision goes, by phase.

One process asks the real application, without a socket: 16 requests at a time, as the load of `bench
gateway` does. Measured is CPU time of the thread that serves and of the one that writes, each phase without
those inside it; what measuring itself costs is measured and taken off.
"""

import asyncio
import inspect
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any

from bench.gateway import _disk, verify_body

AT_ONCE = 16
REQUESTS = 3_200
ROUNDS = 3
PHASES = ("parse", "authenticate", "admit", "prove", "judge", "encode", "commit", "answer", "write")


class Phases:
    """CPU time by phase. A phase inside another stops the clock of the outer one."""

    def __init__(self) -> None:
        self.spent: dict[str, int] = defaultdict(int)
        self.entered: dict[str, int] = defaultdict(int)
        self._stacks = threading.local()

    def enter(self, phase: str) -> None:
        stack, now = self._stack(), time.thread_time_ns()
        if stack:
            self.spent[stack[-1][0]] += now - stack[-1][1]
        self.entered[phase] += 1
        stack.append([phase, time.thread_time_ns()])

    def leave(self) -> None:
        stack, now = self._stack(), time.thread_time_ns()
        phase, since = stack.pop()
        self.spent[phase] += now - since
        if stack:
            stack[-1][1] = time.thread_time_ns()

    def _stack(self) -> list[list[Any]]:
        try:
            return self._stacks.open  # type: ignore[no-any-return]
        except AttributeError:
            self._stacks.open = []
            return self._stacks.open  # type: ignore[no-any-return]

    def watch(self, owner: Any, name: str, phase: str) -> None:
        call = getattr(owner, name)
        if inspect.iscoroutinefunction(call):
            setattr(owner, name, lambda *args, **rest: _Steps(self, phase, call(*args, **rest)))
            return

        def watched(*args: Any, **rest: Any) -> Any:
            self.enter(phase)
            try:
                return call(*args, **rest)
            finally:
                self.leave()

        setattr(owner, name, watched)


class _Steps:
    """A coroutine whose clock stands still while it waits."""

    def __init__(self, phases: Phases, phase: str, work: Any) -> None:
        self._phases, self._phase, self._work = phases, phase, work

    def __await__(self) -> Generator[Any, Any, Any]:
        while True:
            self._phases.enter(self._phase)
            try:
                waits_for = self._work.send(None)
            except StopIteration as end:
                return end.value
            finally:
                self._phases.leave()
            yield waits_for


def watch_all(phases: Phases, services: Any) -> None:
    from qwed.gateway.decide import doors, finish
    from qwed.gateway.decide.facts import Live
    from qwed.http import routes
    from qwed.http.gatekeeper import Gatekeeper
    from qwed.http.request_reader import BodyReader

    for owner, names, phase in (
        (BodyReader, "raw parsed", "parse"),
        (routes, "read_verify", "parse"),
        (routes, "presented", "authenticate"),
        (Gatekeeper, "caller", "authenticate"),
        (doors, "visible_agent", "authenticate"),
        (routes, "verify_action", "judge"),
        (Live, "admit", "admit"),
        (Live, "prove", "prove"),
        (doors, "finish", "encode"),
        (finish, "commit_deed", "commit"),
        (type(services.store._access.tables), "write", "write"),
    ):
        for name in names.split():
            phases.watch(owner, name, phase)


class Asker:
    """Requests to the application as a server hands them over."""

    def __init__(self, app: Any, agent: dict[str, Any]) -> None:
        self._app, self._agent = app, agent
        self._number = 0

    async def ask(self, at_once: int) -> None:
        await asyncio.gather(*(self._one(caller) for caller in range(at_once)))
        self._number += 1

    async def _one(self, caller: int) -> None:
        conversation, step = divmod(self._number, 50)
        body = verify_body(self._number, f"phases-{caller}-{conversation}", step + 1)
        path = f"/agents/{self._agent['agent_id']}/verify"
        scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "client": ("127.0.0.1", 1),
            "headers": [
                (b"host", b"localhost"),
                (b"content-length", b"%d" % len(body)),
                (b"authorization", b"Bearer " + self._agent["agent_token"].encode()),
            ],
        }
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        assert sent[0]["status"] == 200, sent


def measure(database: Path | None) -> dict[str, float]:
    """Microseconds of CPU a request, by phase."""
    from qwed import bootstrap
    from qwed.embedded import Gateway
    from qwed.http.app import create_app
    from qwed.http.logs import EventLog

    services = bootstrap.build(database)
    phases = Phases()
    try:
        budget = {"max_daily_cost_usd": None, "max_requests_per_hour": None, "max_requests_per_day": None}
        agent = Gateway(services).register_agent(
            name="bench", type="autonomous", principal_id="bench", budget=budget
        )
        watch_all(phases, services)
        with Path("/dev/null").open("wb") as nowhere:
            app = create_app(services, log=EventLog(stream=nowhere))
            phases.watch(app, "_serve", "answer")
            asker = Asker(app, agent)
            best = asyncio.run(_run(phases, asker))
    finally:
        bootstrap.close(services)
    return best


async def _run(phases: Phases, asker: Asker) -> dict[str, float]:
    cost = _cost_of_watching()
    best: dict[str, float] = {}
    for _ in range(ROUNDS + 1):
        phases.spent.clear()
        phases.entered.clear()
        for _ in range(REQUESTS // AT_ONCE):
            await asker.ask(AT_ONCE)
        found = {
            phase: max(0.0, phases.spent[phase] - cost * phases.entered[phase]) / REQUESTS / 1000
            for phase in PHASES
        }
        if not best or sum(found.values()) < sum(best.values()):
            best = found
    return best


def _cost_of_watching() -> float:
    """Nanoseconds that one entry and one leave leave in the phase itself."""
    phases = Phases()
    for _ in range(5_000):
        phases.enter("itself")
        phases.leave()
    return phases.spent["itself"] / 5_000


def figures() -> list[tuple[str, float, str, None]]:
    with tempfile.TemporaryDirectory(dir=_disk()) as folder:
        found = measure(Path(folder) / "qwed.db")
    rows = [(f"phase: {phase}", found[phase], "µs CPU", None) for phase in PHASES]
    return [*rows, ("phase: all together", sum(found.values()), "µs CPU", None)]


def _print() -> None:
    for label, microseconds, _, _ in figures():
        name = label.removeprefix("phase: ")
        print(f"{name:14} {microseconds:7.1f} µs  {'█' * round(microseconds / 2)}")


if __name__ == "__main__":
    sys.exit(_print())
