"""QWED itself: guards in the caller's process, and the gateway in memory and on a file."""

import sys
import tempfile
from pathlib import Path

from qwed import Gateway
from qwed_open_responses import ResponseVerifier
from qwed_open_responses.guards import SchemaGuard, ToolGuard

sys.path.insert(0, str(Path(__file__).parents[1]))
from work import ALLOWED, ORDER, REFUSED, SCHEMA, WRONG, arguments

UNLIMITED = {"max_daily_cost_usd": None, "max_requests_per_hour": None, "max_requests_per_day": None}

#: Kept by name, so that it goes with the process and not before.
FOLDER = tempfile.TemporaryDirectory(dir=Path.cwd() / ".bench", prefix="peer-")


def works():
    verifier, guards = ResponseVerifier(), [ToolGuard(allowlist=[ALLOWED], allow_unknown=False)]
    shape = SchemaGuard(SCHEMA)

    def decide(number):
        assert verifier.verify_tool_call(ALLOWED, arguments(number), guards=guards).verified

    def check(_):
        assert shape.check(ORDER).passed

    assert not verifier.verify_tool_call(REFUSED, {}, guards=guards).verified
    assert not shape.check(WRONG).passed
    return {
        "decision": decide,
        "audit": recorded(Gateway.open(":memory:")),
        "durable": recorded(Gateway.open(Path(FOLDER.name) / "qwed.db")),
        "schema": check,
    }


def recorded(gateway):
    agent = gateway.register_agent(
        name="bench",
        type="autonomous",
        principal_id="bench",
        permissions={"allowed_tools": [ALLOWED]},
        budget=UNLIMITED,
    )["agent_id"]
    assert gateway.verify_tool(agent, REFUSED, {})["decision"] == "DENIED"

    def decide(number):
        assert gateway.verify_tool(agent, ALLOWED, arguments(number))["decision"] == "APPROVED"

    return decide
