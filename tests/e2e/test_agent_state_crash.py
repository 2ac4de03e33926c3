"""Real processes: killed at random instants, and racing each other for one state."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.support.tiers import scale

from qwed.guards.agent_state import AgentStateGuard

GUARD = """
import json, sys
from qwed.guards.agent_state import AgentStateGuard

target = sys.argv[1]
guard = AgentStateGuard(
    {"type": "object", "properties": {"n": {"type": "integer"}, "pad": {"type": "string"}}},
    {"monotonic_integer_paths": ["$.n"]},
    [target.rpartition("/")[0]],
)
"""
# Commits 1, 2, 3, … as fast as it can, and says which it knows to be written.
COUNTER = (
    GUARD
    + """
current = sys.argv[2]
while True:
    n = json.loads(current)["n"] + 1
    proposed = json.dumps({"n": n, "pad": "x" * (n % 7 * 3000)})
    result = guard.verify_transition_and_commit_state(current, proposed, target)
    assert result["verified"], result
    print(n, flush=True)
    current = proposed
"""
)
# Tries each step it is told, and answers with its verdict.
CONTENDER = (
    GUARD
    + """
for line in sys.stdin:
    current, proposed = json.loads(line)
    result = guard.verify_transition_and_commit_state(current, proposed, target)
    print(result.get("error_code", "won"), flush=True)
"""
)


def start(program, *arguments, **streams):
    return subprocess.Popen([sys.executable, "-c", program, *map(str, arguments)], text=True, **streams)


def test_a_commit_killed_at_a_random_instant_leaves_the_old_or_the_new_state_whole(tmp_path):
    target = tmp_path / "state.json"
    chance = random.Random(20)
    present = '{"n":0}'
    for _ in range(scale(ci=10, nightly=100, long=1_000)):
        process = start(COUNTER, target, present, stdout=subprocess.PIPE)
        first = process.stdout.readline()
        time.sleep(chance.random() * 0.08)
        process.send_signal(signal.SIGKILL)
        acknowledged = int((first + process.communicate()[0]).split()[-1])

        present = target.read_text()
        state = json.loads(present)
        assert state["n"] in (acknowledged, acknowledged + 1)
        assert state["pad"] == "x" * (state["n"] % 7 * 3000)
        assert present == json.dumps(state, separators=(",", ":"))
    assert _commit_once(target, present)["verified"]
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]


def _commit_once(target: Path, present: str):
    guard = AgentStateGuard(
        {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": True},
        {"monotonic_integer_paths": ["$.n"]},
        [str(target.parent)],
    )
    return guard.verify_transition_and_commit_state(present, '{"n":1000000}', str(target))


def test_of_many_processes_that_start_from_one_state_exactly_one_wins(tmp_path):
    target = tmp_path / "state.json"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    contenders = [start(CONTENDER, target, **pipes) for _ in range(5)]
    current = '{"n":0}'
    try:
        for contest in range(scale(ci=30, nightly=200, long=1_000)):
            for number, contender in enumerate(contenders):
                proposed = json.dumps({"n": contest + 1, "pad": str(number)})
                contender.stdin.write(json.dumps([current, proposed]) + "\n")
            for contender in contenders:
                contender.stdin.flush()
            verdicts = [contender.stdout.readline().strip() for contender in contenders]

            assert sorted(verdicts) == ["QWED-AGENT-STATE-106"] * 4 + ["won"]
            assert json.loads(target.read_text()) == {"n": contest + 1, "pad": str(verdicts.index("won"))}
            current = target.read_text()
    finally:
        for contender in contenders:
            contender.communicate()
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]
