"""The calls that the AgentStateGuard document prints, run in the order it prints them."""

import contextlib
import io
import json
from pathlib import Path

import pytest

PHASE_1 = """
import json
from qwed_new.guards.agent_state_guard import AgentStateGuard

schema = {
    "type": "object",
    "properties": {
        "agent_id": {"type": "string"},
        "status": {"type": "string", "enum": ["pending", "running", "completed"]},
        "step_count": {"type": "integer"},
        "tasks": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": {"type": "string"},
                    "done": {"type": "boolean"},
                },
                "required": ["id", "done"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["agent_id", "status", "step_count", "tasks"],
    "additionalProperties": False,
}

guard = AgentStateGuard(required_schema=schema)

result = guard.verify_state_payload(json.dumps({
    "agent_id": "a1",
    "status": "pending",
    "step_count": 1,
    "tasks": [{"id": "task-1", "done": False}]
}))

print(result["verified"])          # True
print(result["status"])            # "VERIFIED"
print(result["normalized_state"])  # Keys sorted deterministically
"""

RULES = """
    required_schema=schema,
    transition_rules={
        "immutable_paths": ["$.agent_id"],
        "monotonic_integer_paths": ["$.step_count"],
        "ordered_enum_paths": {
            "$.status": ["pending", "running", "completed"],
        },
        "keyed_object_array_paths": {
            "$.tasks": {
                "key": "id",
                "monotonic_boolean_fields": ["done"],
                "allow_new_items": True,
            }
        },
    },
"""

PHASE_2 = f"""
guard = AgentStateGuard({RULES})

current = json.dumps({{
    "agent_id": "a1",
    "status": "pending",
    "step_count": 1,
    "tasks": [{{"id": "task-1", "done": False}}]
}})

proposed = json.dumps({{
    "agent_id": "a1",
    "status": "running",
    "step_count": 2,
    "tasks": [
        {{"id": "task-1", "done": True}},
        {{"id": "task-2", "done": False}}
    ]
}})

result = guard.verify_state_transition(current, proposed)

print(result["verified"])  # True
print(result["normalized_previous_state"]["status"])  # "pending"
print(result["normalized_state"]["status"])            # "running"
"""

PHASE_3 = f"""
guard = AgentStateGuard({RULES}
    allowed_commit_roots=["/var/agent-state"],
)

result = guard.verify_transition_and_commit_state(
    current_state_json=current,
    proposed_state_json=proposed,
    target_path="/var/agent-state/agent_a1.json",
)

if result["verified"]:
    print(result["committed_path"])   # "/var/agent-state/agent_a1.json"
    print(result["committed_bytes"])  # Number of bytes written
"""


def run(*snippets):
    """The names the snippets leave, and what they print."""
    names, printed = {}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        for snippet in snippets:
            exec(compile(snippet, "snippet", "exec"), names)
    return names, printed.getvalue().splitlines()


def test_phase_1_verifies_and_sorts():
    names, printed = run(PHASE_1)

    assert printed[:2] == ["True", "VERIFIED"]
    assert list(names["result"]["normalized_state"]) == ["agent_id", "status", "step_count", "tasks"]
    assert list(names["result"]["normalized_state"]["tasks"][0]) == ["done", "id"]


def test_phase_2_verifies_the_transition():
    _, printed = run(PHASE_1, PHASE_2)

    assert printed[3:] == ["True", "pending", "running"]


def test_phase_3_commits_where_the_directory_exists(tmp_path):
    names, printed = run(PHASE_1, PHASE_2, PHASE_3.replace("/var/agent-state", str(tmp_path)))

    file = tmp_path / "agent_a1.json"
    assert printed[6:] == [str(file), str(file.stat().st_size)]
    assert json.loads(file.read_bytes()) == names["result"]["normalized_state"]


@pytest.mark.skipif(
    Path("/var/agent-state").exists(), reason="the document's directory exists here; do not write to it"
)
def test_phase_3_as_printed_is_blocked_while_its_directory_does_not_exist():
    names, _ = run(PHASE_1, PHASE_2, PHASE_3)

    assert names["result"]["error_code"] == "QWED-AGENT-STATE-107"
