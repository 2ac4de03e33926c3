"""The `qwed-open-responses` package of the index: guards in the caller's process."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from work import ALLOWED, ORDER, REFUSED, SCHEMA, WRONG, arguments

from qwed_open_responses import ResponseVerifier
from qwed_open_responses.guards import SchemaGuard, ToolGuard


def works():
    verifier, guards = ResponseVerifier(), [ToolGuard(allowed_tools=[ALLOWED])]
    shape = SchemaGuard(schema=SCHEMA)

    def decide(number):
        assert verifier.verify_tool_call(ALLOWED, arguments(number), guards=guards).verified

    def check(_):
        assert shape.check(ORDER).passed

    assert not verifier.verify_tool_call(REFUSED, {}, guards=guards).verified
    assert not shape.check(WRONG).passed
    return {"decision": decide, "schema": check}
