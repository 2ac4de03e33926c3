"""The door for tools is never wider than `/verify`: the same call at both doors, over names and levels."""

import pytest

from qwed import Gateway
from qwed.domain.policy import DEFAULT_POLICY

RANK = {"DENIED": 0, "PENDING": 1, "CORRECTED": 2, "APPROVED": 2}
NAMES = [
    *DEFAULT_POLICY.actions,
    "my_tool",
    "nobody_knows",
    "SEND_EMAIL",
    "send-email",
    "send_email ",
    "dropTable",
    "delete_database\u200b",
]
ARGUMENTS = [
    {"to": "a@example.com", "path": "notes.txt", "url": "https://example.com"},
    {"path": "../../etc/passwd"},
    {"url": "http://169.254.169.254/latest"},
]
PERMISSIONS = {
    "few": {"allowed_engines": ["math"]},
    "many": {
        "allowed_engines": ["math", "logic", "fact", "sql", "code"],
        "allowed_tools": ["my_tool", "send_money", "execute_sql", "calculate"],
    },
    "blocked": {"allowed_tools": ["my_tool", "send_email"], "blocked_tools": ["send_email", "my_tool"]},
}


@pytest.fixture(scope="module")
def gateway():
    with Gateway.open(":memory:") as made:
        yield made


def decided(gateway, level, permissions, name, arguments, door):
    """By an agent of its own: what one call costs must not weigh on the next."""
    agent_id = gateway.register_agent(
        name="a", type="trusted", principal_id="p", trust_level=level, permissions=permissions
    )["agent_id"]
    context = {"conversation_id": "c", "step_number": 1}
    if door == "tool":
        return gateway.verify_tool(agent_id, name, arguments, context=context)["decision"]
    return gateway.verify_action(agent_id, {"type": name, "parameters": arguments}, context)["decision"]


@pytest.mark.parametrize("level", [1, 3])
@pytest.mark.parametrize("permissions", PERMISSIONS)
def test_no_tool_call_gets_further_than_the_same_action(gateway, level, permissions):
    allowed = PERMISSIONS[permissions]
    wider = []
    for name in NAMES:
        for arguments in ARGUMENTS:
            call, action = (
                decided(gateway, level, allowed, name, arguments, door) for door in ("tool", "verify")
            )
            if RANK[call] > RANK[action]:
                wider.append((name, arguments, action, call))

    assert wider == []
