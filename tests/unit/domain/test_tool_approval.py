"""`ToolApprovalSystem` in the caller's process: its answer reads as the documents print it."""

import json

import pytest

from qwed import ToolApprovalSystem
from qwed.domain.tools import Group

#: The answer that the documents print.
PRINTED = """
{
"approved": false,
"blocked_reason": "Unknown tool 'my_custom_tool' requires explicit allowlisting (risk_score=0.2)"
}
"""


def test_the_answer_for_an_unknown_tool_is_the_printed_one():
    answer = ToolApprovalSystem().assess("my_custom_tool")
    printed = json.loads(PRINTED)
    assert {name: answer[name] for name in printed} == printed
    assert list(answer)[:2] == list(printed)


@pytest.mark.parametrize(
    ("name", "approved", "reason"),
    [
        ("read_database", True, None),
        ("get_weather", True, None),
        ("delete_files", False, "Dangerous tool 'delete_files' requires manual approval (risk_score=1.0)"),
        ("Drop-Table", False, "Dangerous tool 'Drop-Table' requires manual approval (risk_score=1.0)"),
        (
            "READ_DATABASE",
            False,
            "Unknown tool 'READ_DATABASE' requires explicit allowlisting (risk_score=0.2)",
        ),
        ("forbidden", False, "Tool 'forbidden' is blocked for this agent"),
    ],
)
def test_approved_and_the_reason_stand_in_the_answer_and_as_its_attributes(name, approved, reason):
    answer = ToolApprovalSystem(blocked=["forbidden"]).assess(name, {})
    assert (answer["approved"], answer.get("blocked_reason")) == (approved, reason)
    assert (answer.approved, answer.blocked_reason) == (approved, reason)
    assert ("blocked_reason" in answer) is not approved


def test_the_risk_is_explained_as_at_the_gateway():
    answer = ToolApprovalSystem().assess("send_money", {"note": "password"})
    assert answer["tool_name"] == "send_money"
    assert answer["risk_assessment"] == {
        "base_risk": 0.6,
        "factors": [
            {"factor": "name:money", "weight": 0.3},
            {"factor": "name:send", "weight": 0.1},
            {"factor": "parameters:password", "weight": 0.3},
        ],
        "final_risk": 1.0,
        "requires_approval": True,
    }
    assert answer["risk_score"] == answer.risk_score == 1.0
    assert json.loads(json.dumps(answer)) == answer


def test_a_custom_tool_is_allowed_by_the_list_of_safe_operations():
    answer = ToolApprovalSystem(safe={"my_custom_tool"}).assess("my_custom_tool")
    assert (answer["approved"], answer.group) == (True, Group.SAFE)
