"""An entry of the ledger as events of the Open Cybersecurity Schema Framework (OCSF 1.3).

Every activity is an API Activity (6003); one that was refused is a Detection Finding (2004), too. Both name
the entry, so that a SIEM leads back to the record. What the schema has no place for is under `unmapped`.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from qwed import __version__
from qwed.domain.decisions import Decision
from qwed.domain.json_types import Json
from qwed.gateway.kernel.records import Activity

OCSF_VERSION: Final = "1.3.0"
_API_ACTIVITY: Final = 6003
_DETECTION_FINDING: Final = 2004
_OTHER: Final = 99
_CREATE: Final = 1
_NEW: Final = 1
_INFORMATIONAL: Final = 1
_SEVERITIES: Final[Mapping[str, int]] = {"low": 2, "medium": 3, "high": 4, "critical": 5}
_SUCCESS, _FAILURE = 1, 2
_REFUSED: Final = frozenset({Decision.DENIED, Decision.BUDGET_EXCEEDED})
#: Of the entry, what has no attribute of its own there.
_UNMAPPED: Final = ("action", "context", "decision", "cost", "policy_version", "action_hash", "ect_par")


def events_of(seq: int, ledger: str, activity: Activity) -> Iterator[dict[str, Json]]:
    """One event, or two where the activity was refused."""
    entry: dict[str, Json] = msgspec.json.decode(activity.payload)
    yield _api_activity(seq, ledger, activity, entry)
    if activity.decision in _REFUSED:
        yield _finding(seq, ledger, activity, entry)


def _api_activity(seq: int, ledger: str, activity: Activity, entry: dict[str, Json]) -> dict[str, Json]:
    status = _FAILURE if activity.decision in _REFUSED else _SUCCESS
    if activity.decision == Decision.PENDING:
        status = _OTHER
    return {
        **_class(_API_ACTIVITY, _OTHER),
        "activity_name": activity.action_type,
        **_common(seq, ledger, activity, entry, activity.activity_id),
        "status_id": status,
        "status": activity.decision,
        **({"status_code": activity.error_code} if activity.error_code else {}),
        "actor": _actor(activity, entry),
        "api": {"operation": activity.action_type, "service": {"name": "QWED"}},
        "src_endpoint": {"uid": activity.agent_id},
        "unmapped": {name: entry[name] for name in _UNMAPPED if entry.get(name) is not None},
    }


def _finding(seq: int, ledger: str, activity: Activity, entry: dict[str, Json]) -> dict[str, Json]:
    return {
        **_class(_DETECTION_FINDING, _CREATE),
        "activity_name": "Create",
        **_common(seq, ledger, activity, entry, f"{activity.activity_id}/finding"),
        "status_id": _NEW,
        "is_alert": True,
        "finding_info": {
            "uid": activity.activity_id,
            "title": f"{activity.decision}: {activity.action_type}",
            "desc": _message(activity, entry),
            "created_time": activity.at_ms,
            "types": [activity.error_code or activity.decision],
        },
        "resources": [{"uid": activity.agent_id, "type": "agent"}],
    }


def _class(number: int, activity_id: int) -> dict[str, int]:
    return {
        "category_uid": number // 1000,
        "class_uid": number,
        "activity_id": activity_id,
        "type_uid": number * 100 + activity_id,
    }


def _common(seq: int, ledger: str, activity: Activity, entry: dict[str, Json], uid: str) -> dict[str, Json]:
    return {
        "time": activity.at_ms,
        "severity_id": _severity(entry),
        "message": _message(activity, entry),
        "metadata": {
            "version": OCSF_VERSION,
            "uid": uid,
            "correlation_uid": activity.conversation_id or activity.activity_id,
            "event_code": activity.error_code or activity.decision,
            "log_name": ledger,
            "sequence": seq,
            "tenant_uid": activity.principal_id,
            "product": {"name": "QWED", "vendor_name": "QWED", "version": __version__},
        },
    }


def _actor(activity: Activity, entry: dict[str, Json]) -> dict[str, Json]:
    asked_by = entry.get("requested_by")
    user = {"user": {"uid": asked_by}} if isinstance(asked_by, str) and asked_by else {}
    return {"app_uid": activity.agent_id, **user}


def _severity(entry: dict[str, Json]) -> int:
    found = entry.get("verification")
    risk = found.get("risk_level") if isinstance(found, dict) else None
    return _SEVERITIES.get(str(risk), _INFORMATIONAL)


def _message(activity: Activity, entry: dict[str, Json]) -> str:
    error = entry.get("error")
    why = error.get("message") if isinstance(error, dict) else None
    return f"{activity.action_type}: {activity.decision}" + (f" ({why})" if why else "")
