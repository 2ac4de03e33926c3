"""What it costs to verify a state, to commit it, and to take a snapshot of a workspace."""

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from unittest import mock

from qwed.guards.agent_state import AgentStateGuard
from qwed.guards.workspace import WorkspaceGuard

Figure = tuple[str, float, str, float | None]

_SCHEMA = {
    "type": "object",
    "properties": {
        "agent_id": {"type": "string"},
        "status": {"type": "string", "enum": ["pending", "running", "completed"]},
        "step_count": {"type": "integer"},
        "tasks": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": {"type": "string"}, "done": {"type": "boolean"}},
                "required": ["id", "done"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["agent_id", "status", "step_count", "tasks"],
    "additionalProperties": False,
}
_RULES = {
    "immutable_paths": ["$.agent_id"],
    "monotonic_integer_paths": ["$.step_count"],
    "ordered_enum_paths": {"$.status": ["pending", "running", "completed"]},
    "keyed_object_array_paths": {
        "$.tasks": {"key": "id", "monotonic_boolean_fields": ["done"], "allow_new_items": True}
    },
}
_FILES = 10_000
_CHANGED = 10


def figures() -> list[Figure]:
    with _directory() as directory:
        return [*_verification(), *_commit(directory), *_snapshot(directory)]


def _verification() -> Iterator[Figure]:
    guard = AgentStateGuard(_SCHEMA, _RULES)
    current, proposed = _state("pending", 1, [False]), _state("running", 2, [True, False])
    payload = _best(lambda: guard.verify_state_payload(current), 2_000)
    yield "agent state: phase 1, the document's example (CPU)", payload * 1e6, "µs", 25.0
    transition = _best(lambda: guard.verify_state_transition(current, proposed), 1_000)
    yield "agent state: phase 2, the document's example (CPU)", transition * 1e6, "µs", 70.0
    large = {tasks: _best(_transition_of(guard, tasks), 5) * 1e3 for tasks in (1_000, 4_000)}
    yield "agent state: phase 2, 1 000 tasks (CPU)", large[1_000], "ms", 8.0
    yield "agent state: phase 2, 4 000 tasks against 1 000", large[4_000] / large[1_000], "times", 5.0


def _transition_of(guard: AgentStateGuard, tasks: int) -> Callable[[], object]:
    current, proposed = _state("pending", 1, [False] * tasks), _state("running", 2, [True] * tasks)
    assert guard.verify_state_transition(current, proposed)["verified"]
    return lambda: guard.verify_state_transition(current, proposed)


def _commit(directory: Path) -> Iterator[Figure]:
    guard = AgentStateGuard(_SCHEMA, _RULES, [str(directory)])
    flushes: list[float] = []
    flush = os.fsync

    def timed_flush(descriptor: int) -> None:
        start = time.perf_counter()
        flush(descriptor)
        flushes.append(time.perf_counter() - start)

    states = [_state("running", step, [True]) for step in range(101)]
    with mock.patch("os.fsync", timed_flush):
        start = time.perf_counter()
        for current, proposed in pairwise(states):
            result = guard.verify_transition_and_commit_state(
                current, proposed, str(directory / "state.json")
            )
            assert result["verified"], result
        elapsed = (time.perf_counter() - start) / 100
    in_flushes = sum(flushes) / 100
    yield "agent state: phase 3, a commit (wall)", elapsed * 1e6, "µs", None
    yield f"agent state: phase 3, of which {len(flushes) // 100} fsyncs (wall)", in_flushes * 1e6, "µs", None


def _snapshot(directory: Path) -> Iterator[Figure]:
    workspace = directory / "workspace"
    for number in range(_FILES):
        path = workspace / f"d{number // 100}" / f"file-{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"content of {number}\n" * 20)
    (workspace / ".gitignore").write_text("*.log\nnode_modules/\n__pycache__/\n/build\n")
    guard = WorkspaceGuard(workspace, store=directory / "store")
    start = time.perf_counter()
    first = guard.snapshot()
    yield f"workspace: first snapshot, {_FILES} files (wall)", (time.perf_counter() - start) * 1e3, "ms", None
    times = []
    for turn in range(5):
        for number in range(_CHANGED):
            (workspace / f"d{number}" / f"file-{number * 101}.txt").write_text(f"changed in {turn}")
        start = time.perf_counter()
        guard.snapshot()
        times.append(time.perf_counter() - start)
    label = f"workspace: snapshot, {_FILES} files, {_CHANGED} changed (wall)"
    yield label, min(times) * 1e3, "ms", 300.0
    start = time.perf_counter()
    undone = guard.rollback(first).undone
    assert len(undone) == _CHANGED
    yield f"workspace: rollback of {_CHANGED} files (wall)", (time.perf_counter() - start) * 1e3, "ms", None


def _state(status: str, step: int, done: list[bool]) -> str:
    tasks = [{"id": f"task-{number}", "done": value} for number, value in enumerate(done, 1)]
    return json.dumps({"agent_id": "a1", "status": status, "step_count": step, "tasks": tasks})


def _best(work: Callable[[], object], repeats: int, rounds: int = 7) -> float:
    """CPU seconds of one call."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(repeats):
            work()
        best = min(best, time.process_time() - start)
    return best / repeats


@contextmanager
def _directory() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp())
    try:
        yield path
    finally:
        shutil.rmtree(path)


if __name__ == "__main__":
    for label, value, unit, target in figures():
        print(f"{label:75} {value:10.1f} {unit}" + (f"  (at most {target:g})" if target is not None else ""))
