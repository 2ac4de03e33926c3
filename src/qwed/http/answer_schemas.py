"""What the API's description says of answers that programs act on: decisions."""

from typing import Any, Final

from qwed.domain.approvals import ApprovalStatus
from qwed.domain.codes import CODES
from qwed.domain.decisions import Decision
from qwed.domain.findings import Status
from qwed.domain.json_types import Json
from qwed.domain.risk import RISK_NAMES

_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_COUNT: Final = {"type": ["integer", "null"], "minimum": 0}
_SCORE: Final = {"type": "number", "minimum": 0, "maximum": 1}


def _object(required: str, **properties: Any) -> dict[str, Json]:
    return {"type": "object", "required": required.split(), "properties": properties}


_ERROR_MEMBER: Final = _object(
    "code message",
    code={"type": "string", "enum": [code.value for code in CODES]},
    message=_TEXT,
    details={"type": "object"},
)

_DECISION: Final = _object(
    "decision activity_id policy_version budget_remaining",
    decision={"type": "string", "enum": list(Decision)},
    activity_id={"type": "string", "pattern": "^act_"},
    policy_version=_TEXT,
    verification=_object(
        "status engine risk_level checks_passed checks_failed",
        status={"type": "string", "enum": list(Status)},
        engine=_TEXT,
        risk_level={"type": "string", "enum": list(RISK_NAMES)},
        checks_passed=_TEXTS,
        checks_failed=_TEXTS,
        reason=_TEXT,
        evidence={"type": "object"},
    ),
    corrected_action={
        "type": "object",
        "description": "What runs instead of what was proposed (CORRECTED), or waits for a person (PENDING)",
    },
    approval=_object(
        "id status expires_at url",
        id=_TEXT,
        status={"type": "string", "enum": list(ApprovalStatus)},
        expires_at={"type": "string", "format": "date-time"},
        url=_TEXT,
    ),
    observed={"type": "boolean", "description": "The gateway observes: this answer stops nothing"},
    would={"type": "object", "description": "What the answer would have been, where it is only observed"},
    attestation=_TEXT,
    execution_context=_TEXT,
    permit={"type": "string", "description": "A signed permit for the tool that runs the action"},
    budget_remaining=_object(
        "daily_cost_usd hourly_requests daily_requests daily_tokens",
        daily_cost_usd={"type": ["number", "null"], "minimum": 0},
        hourly_requests=_COUNT,
        daily_requests=_COUNT,
        daily_tokens=_COUNT,
    ),
    error=_ERROR_MEMBER,
)

_TOOL_DECISION: Final = {
    "allOf": [
        {"$ref": "#/components/schemas/Decision"},
        _object(
            "tool_name approved risk_score risk_assessment policy_checks",
            tool_name=_TEXT,
            approved={"type": "boolean"},
            blocked_reason=_TEXT,
            advisory={"type": "boolean"},
            risk_score=_SCORE,
            risk_assessment=_object(
                "base_risk factors final_risk requires_approval",
                base_risk=_SCORE,
                factors={
                    "type": "array",
                    "items": _object("factor weight", factor=_TEXT, weight={"type": "number"}),
                },
                final_risk=_SCORE,
                requires_approval={"type": "boolean"},
            ),
            policy_checks={
                "type": "array",
                "items": _object("policy passed", policy=_TEXT, passed={"type": "boolean"}),
            },
        ),
    ]
}

#: An error, beside a decision where one was made.
_ERROR: Final = _object("error", error=_ERROR_MEMBER, decision=_TEXT)

SCHEMAS: Final[dict[str, Json]] = {"Decision": _DECISION, "ToolDecision": _TOOL_DECISION, "Error": _ERROR}
#: By operation; every other answer is an object whose members its page of the documentation names.
ANSWERS: Final = {"verify": "Decision", "verify_tool": "ToolDecision", "redeem": "Decision"}
