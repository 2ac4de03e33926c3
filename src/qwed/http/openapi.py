"""The API's description, made from the table of operations and the types that read the requests."""

import re
from typing import Any, Final

import msgspec

from qwed.domain.codes import CODES
from qwed.gateway.answer_approval import RedeemBody, VoteBody
from qwed.gateway.change_trust import TrustBody
from qwed.gateway.manage_agents import ChangeBody, ReasonBody
from qwed.gateway.manage_keys import KeyBody, WebhookBody
from qwed.gateway.register_agent import FlatBody, NestedBody
from qwed.gateway.report_outcome import SettleBody
from qwed.gateway.requests import ActionBody, OutcomeBody, ToolBody, VerifyBody


class AttestationBody(msgspec.Struct, forbid_unknown_fields=True):
    attestation: str


class Operation(msgspec.Struct, frozen=True):
    """`name` is the method of `Api` that answers; `errors` are statuses beside the common ones."""

    name: str
    method: str
    path: str
    summary: str
    tag: str
    body: tuple[type, ...] = ()
    body_optional: bool = False
    status: int = 200
    query: tuple[str, ...] = ()
    errors: tuple[int, ...] = ()
    is_open: bool = False


_AGENT: Final = "/agents/{agent_id}"

#: The first is the hot one: routes are tried in this order.
OPERATIONS: Final = (
    Operation(
        "verify", "POST", f"{_AGENT}/verify", "Verify an action", "decide", (VerifyBody,), errors=(404, 429)
    ),
    Operation(
        "verify_tool",
        "POST",
        f"{_AGENT}/tools/{{tool}}",
        "Verify a tool call; it executes nothing",
        "decide",
        (ToolBody,),
        body_optional=True,
        errors=(404, 429),
    ),
    Operation(
        "ask_engine",
        "POST",
        "/verify/{engine}",
        "Ask one engine alone; nothing is recorded",
        "decide",
        (ActionBody,),
        errors=(404,),
    ),
    Operation(
        "register",
        "POST",
        "/agents/register",
        "Register an agent",
        "agents",
        (FlatBody, NestedBody),
        status=201,
    ),
    Operation("agents", "GET", "/agents", "List agents", "agents", query=("after", "limit")),
    Operation("agent", "GET", _AGENT, "Show an agent", "agents", errors=(404,)),
    Operation(
        "change",
        "PATCH",
        _AGENT,
        "Change permissions, budget or description",
        "agents",
        (ChangeBody,),
        errors=(404,),
    ),
    Operation("deregister", "DELETE", _AGENT, "Deregister; the history stays", "agents", errors=(404,)),
    Operation("budget", "GET", f"{_AGENT}/budget", "Budget status", "agents", errors=(404,)),
    Operation(
        "suspend",
        "POST",
        f"{_AGENT}/suspend",
        "Suspend",
        "agents",
        (ReasonBody,),
        body_optional=True,
        errors=(404,),
    ),
    Operation("reactivate", "POST", f"{_AGENT}/reactivate", "Reactivate", "agents", errors=(404,)),
    Operation("rotate_token", "POST", f"{_AGENT}/rotate-token", "Replace the token", "agents", errors=(404,)),
    Operation(
        "complaint",
        "POST",
        f"{_AGENT}/complaint",
        "Complain: suspends at once",
        "agents",
        (ReasonBody,),
        body_optional=True,
        errors=(404,),
    ),
    Operation(
        "activity",
        "GET",
        f"{_AGENT}/activity",
        "Audit query, newest first",
        "record",
        errors=(404,),
        query=("from", "to", "decision", "action_type", "conversation_id", "limit", "cursor"),
    ),
    Operation(
        "outcome",
        "POST",
        f"{_AGENT}/activity/{{activity_id}}/outcome",
        "Report what happened",
        "record",
        (OutcomeBody,),
        errors=(404, 409),
    ),
    Operation(
        "settle",
        "POST",
        f"{_AGENT}/activity/{{activity_id}}/outcome/settle",
        "Settle an unknown outcome",
        "record",
        (SettleBody,),
        errors=(404, 409),
    ),
    Operation(
        "approvals",
        "GET",
        "/approvals",
        "What waits for a person",
        "approvals",
        query=("agent_id", "status", "after", "limit"),
    ),
    Operation(
        "approval",
        "GET",
        "/approvals/{approval_id}",
        "One approval",
        "approvals",
        query=("wait",),
        errors=(404,),
    ),
    Operation(
        "approve",
        "POST",
        "/approvals/{approval_id}/approve",
        "Approve, as it stands or edited",
        "approvals",
        (VoteBody,),
        body_optional=True,
        errors=(404, 409),
    ),
    Operation(
        "deny",
        "POST",
        "/approvals/{approval_id}/deny",
        "Deny",
        "approvals",
        (VoteBody,),
        body_optional=True,
        errors=(404, 409),
    ),
    Operation(
        "redeem",
        "POST",
        "/approvals/{approval_id}/redeem",
        "Use the grant, once",
        "approvals",
        (RedeemBody,),
        errors=(404, 409, 429),
    ),
    Operation(
        "trust",
        "POST",
        "/agents/{agent_id}/trust",
        "Ask for trust, or change it",
        "agents",
        (TrustBody,),
        errors=(404, 429),
    ),
    Operation("keys", "GET", "/keys", "List API keys", "credentials"),
    Operation(
        "create_key",
        "POST",
        "/keys",
        "Create an API key; it is shown once",
        "credentials",
        (KeyBody,),
        status=201,
    ),
    Operation("revoke_key", "DELETE", "/keys/{key_id}", "Revoke an API key", "credentials", errors=(404,)),
    Operation("webhooks", "GET", "/webhooks", "List webhooks", "notices"),
    Operation(
        "create_webhook",
        "POST",
        "/webhooks",
        "Be told; the secret is shown once",
        "notices",
        (WebhookBody,),
        status=201,
    ),
    Operation(
        "drop_webhook", "DELETE", "/webhooks/{webhook_id}", "Be told no more", "notices", errors=(404,)
    ),
    Operation("events", "GET", "/events", "Server-sent events", "notices"),
    Operation("tools", "GET", "/tools", "The tools in force", "registries"),
    Operation("actions", "GET", "/actions", "The action types in force", "registries"),
    Operation("jwks", "GET", "/.well-known/jwks.json", "The keys that sign", "evidence", is_open=True),
    Operation(
        "verify_attestation",
        "POST",
        "/attestations/verify",
        "Check an attestation",
        "evidence",
        (AttestationBody,),
        is_open=True,
    ),
    Operation("health", "GET", "/health", "Alive?", "health", is_open=True),
    Operation("ready", "GET", "/ready", "Able to decide?", "health", is_open=True, errors=(503,)),
    Operation("metrics", "GET", "/metrics", "Prometheus metrics", "health"),
)

_ERROR: Final = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string", "enum": [code.value for code in CODES]},
                "message": {"type": "string"},
                "details": {"type": "object"},
            },
        },
        "decision": {"type": "string"},
    },
}
_MEANINGS: Final = {
    400: "Not JSON",
    401: "No valid credential",
    403: "Not allowed to this credential, or suspended",
    404: "No such thing, or not yours",
    409: "It happened already",
    413: "Too large or too deep",
    422: "The wrong shape; the field is named",
    429: "Too many, or past the budget",
    503: "Nothing can be recorded now",
}
_OTHER_MEDIA: Final = {"events": "text/event-stream", "metrics": "text/plain"}


def describe(version: str) -> bytes:
    """OpenAPI 3.1."""
    kinds = tuple(dict.fromkeys(kind for operation in OPERATIONS for kind in operation.body))
    schemas, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    by_kind = dict(zip(kinds, schemas, strict=True))
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, by_kind)
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "QWED gateway",
            "version": version,
            "summary": "An agent proposes; QWED proves, decides, records, and then answers.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": {**components, "Error": _ERROR},
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
                "agentToken": {"type": "apiKey", "in": "header", "name": "X-Agent-Token"},
            },
        },
        "security": [{"bearer": []}, {"apiKey": []}, {"agentToken": []}],
    }
    return msgspec.json.encode(document)


def _operation(operation: Operation, schemas: dict[type, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.tag],
        "parameters": _parameters(operation),
        "responses": _responses(operation),
    }
    if operation.is_open:
        described["security"] = []
    if operation.body:
        found = [schemas[kind] for kind in operation.body]
        schema = found[0] if len(found) == 1 else {"anyOf": found}
        described["requestBody"] = {
            "required": not operation.body_optional,
            "content": {"application/json": {"schema": schema}},
        }
    return described


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    in_path = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)}", operation.path)
    ]
    return in_path + [
        {"name": name, "in": "query", "required": False, "schema": {"type": "string"}}
        for name in operation.query
    ]


def _responses(operation: Operation) -> dict[str, Any]:
    media = _OTHER_MEDIA.get(operation.name, "application/json")
    schema = {"type": "object"} if media == "application/json" else {"type": "string"}
    responses: dict[str, Any] = {
        str(operation.status): {"description": "The answer", "content": {media: {"schema": schema}}}
    }
    common = {*operation.errors, 503}
    if not operation.is_open:
        common |= {401, 403, 429}
    if operation.body:
        common |= {400, 413, 422}
    if operation.query:
        common.add(422)
    for status in sorted(common):
        responses[str(status)] = {
            "description": _MEANINGS[status],
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
        }
    return responses
