"""The calls of the API that tools with permits make, as values. No I/O."""

from collections.abc import Mapping

from qwed_sdk.calls import Call, expect, segment
from qwed_sdk.results import Json, Result


def use_permit(jti: str, audience: str, action_hash: str) -> Call[Result]:
    body = {"audience": audience, "action_hash": action_hash}
    # Sent again, it would be its own second use.
    return Call("POST", f"/permits/{segment(jti)}/use", expect(Result, "state"), body)


def find_unused(agent_id: str, audience: str, action_hash: str) -> Call[Result]:
    query = {"agent_id": agent_id, "audience": audience, "action_hash": action_hash}
    return Call("GET", "/permits", expect(Result, "permits"), query=query, may_repeat=True)


def report_receipt(jti: str, receipt: Mapping[str, Json]) -> Call[Result]:
    given = {name: value for name, value in receipt.items() if value is not None}
    # The gateway takes one receipt: a second is refused, and changes nothing.
    return Call("POST", f"/permits/{segment(jti)}/receipt", expect(Result, "state"), given, may_repeat=True)


def report_permit_finding(finding: Mapping[str, Json]) -> Call[Result]:
    given = {name: value for name, value in finding.items() if value is not None}
    return Call("POST", "/permits/findings", expect(Result, "recorded"), given)
