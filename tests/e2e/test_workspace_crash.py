"""Processes killed at random instants: an acknowledged snapshot is there, a rollback can be repeated."""

import random
import signal
import subprocess
import sys
import time

from tests.support.tiers import scale

from qwed.guards.workspace import WorkspaceGuard

TAKE_SNAPSHOTS = """
import pathlib, sys
from qwed.guards.workspace import WorkspaceGuard

workspace = pathlib.Path(sys.argv[1])
guard = WorkspaceGuard(workspace, store=sys.argv[2])
step = int(sys.argv[3])
while True:
    step += 1
    for number in range(5):
        (workspace / f"{number}").write_text(f"{step} {number}" * 500)
    print(step, guard.snapshot(), flush=True)
"""
ROLL_BACK = """
import sys
from qwed.guards.workspace import WorkspaceGuard

guard = WorkspaceGuard(sys.argv[1], store=sys.argv[2])
print("ready", flush=True)
for turn in range(10**6):
    guard.rollback(sys.argv[3 + turn % 2])
"""


def start(program, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)], text=True, stdout=subprocess.PIPE
    )


def kill_soon(process, chance):
    first = process.stdout.readline()
    time.sleep(chance.random() * 0.15)
    process.send_signal(signal.SIGKILL)
    return (first + process.communicate()[0]).splitlines()


def _grown(workspace, step):
    for number in range(30):
        path = workspace / step / f"{number}" / "file"
        path.parent.mkdir(parents=True)
        path.write_text(step)
        (workspace / f"{number}").write_text(f"{step} {number}")
    return True


def test_every_snapshot_that_was_acknowledged_survives_a_kill(tmp_path):
    workspace, store = tmp_path / "workspace", tmp_path / "store"
    workspace.mkdir()
    chance = random.Random(5)
    acknowledged = {}
    for _ in range(scale(ci=5, nightly=50, long=300)):
        process = start(TAKE_SNAPSHOTS, workspace, store, max(acknowledged, default=0) + 1000)
        for line in kill_soon(process, chance):
            step, snapshot = line.split()
            acknowledged[int(step)] = snapshot

    guard = WorkspaceGuard(workspace, store=store)
    guard.snapshot()
    for step, snapshot in random.Random(6).sample(sorted(acknowledged.items()), min(len(acknowledged), 20)):
        guard.rollback(snapshot)
        assert [(workspace / f"{n}").read_text() for n in range(5)] == [f"{step} {n}" * 500 for n in range(5)]


def test_a_rollback_killed_at_a_random_instant_is_finished_by_the_next(tmp_path):
    workspace, store = tmp_path / "workspace", tmp_path / "store"
    workspace.mkdir()
    guard = WorkspaceGuard(workspace, store=store)
    first, second = [_grown(workspace, step) and guard.snapshot() for step in "ab"]
    chance = random.Random(7)
    for _ in range(scale(ci=6, nightly=60, long=300)):
        kill_soon(start(ROLL_BACK, workspace, store, first, second), chance)

        target = chance.choice([first, second])
        guard.rollback(target)
        assert guard.diff(target) == ()
        expected = {"a", *map(str, range(30))} | ({"b"} if target == second else set())
        assert {path.name for path in workspace.iterdir()} == expected
