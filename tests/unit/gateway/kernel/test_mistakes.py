"""A refusal of a body says what was given, what was expected, and where."""

import pytest

from qwed.domain import json_text
from qwed.gateway.agents.manage_keys import KeyBody
from qwed.gateway.agents.register_agent import FlatBody, NestedBody
from qwed.gateway.kernel.answers import RequestError
from qwed.gateway.kernel.requests import OutcomeBody, VerifyBody, convert


@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        (
            FlatBody,
            b'{"name":"a","type":"boss"}',
            "type: is one of supervised, autonomous, trusted, not 'boss'",
        ),
        (FlatBody, b'{"name":"a","type":null}', "type: is one of supervised, autonomous, trusted, not null"),
        (FlatBody, b'{"type":"supervised"}', "name: is missing"),
        (FlatBody, b'{"name":5,"type":"supervised"}', "name: is a string, not integer"),
        (FlatBody, b'{"name":NaN,"type":"supervised"}', "name: is a string, not NaN"),
        (
            NestedBody,
            b'{"agent":{"name":"a","type":"supervised","zap":2}}',
            "agent.zap: is no field here; there are name, type, principal_id, description, framework, model",
        ),
        (
            FlatBody,
            b'{"name":"a","type":"supervised","budget":{"max_requests_per_hour":1.5}}',
            "budget.max_requests_per_hour: is an integer or null, not number",
        ),
        (
            FlatBody,
            b'{"name":"a","type":"supervised","permissions":{"allowed_tools":[1]}}',
            "permissions.allowed_tools[0]: is a string, not integer",
        ),
        (FlatBody, b"[]", "body: is an object, not array"),
        (
            KeyBody,
            b'{"scopes":["boss"]}',
            "scopes[0]: is one of verify, register, read, approve, trust, permits, metrics, policy, audit,"
            " not 'boss'",
        ),
        (
            OutcomeBody,
            b'{"outcome":"SUCCESS"}',
            "outcome: is one of success, partial, failure, unknown, not 'SUCCESS'",
        ),
        (
            VerifyBody,
            b'{"action":{},"options":{"require_attestation":1}}',
            "options.require_attestation: is true or false, not integer",
        ),
    ],
)
def test_a_mistake_is_named_with_what_was_expected(kind: type, body: bytes, message: str) -> None:
    with pytest.raises(RequestError) as refused:
        convert(json_text.loads(body), kind)

    assert refused.value.refusal.message == message


def test_a_text_in_the_wrong_place_is_not_repeated() -> None:
    with pytest.raises(RequestError) as refused:
        convert("qwed_live_secret", FlatBody)

    assert refused.value.refusal.message == "body: is an object, not string"
