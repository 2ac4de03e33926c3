"""The API's description, made from the table of operations and the types that read the requests."""

import re
from typing import Any, Final

import msgspec

from qwed.domain.approvals import ApprovalStatus
from qwed.domain.decisions import Decision
from qwed.gateway.agents.manage_agents import ChangeBody, ReasonBody
from qwed.gateway.agents.manage_keys import KeyBody
from qwed.gateway.agents.register_agent import FlatBody, NestedBody
from qwed.gateway.approvals.answer_approval import RedeemBody, VoteBody
from qwed.gateway.decide.evaluate_access import EvaluationBody, EvaluationsBody
from qwed.gateway.evidence.ledger_queries import CosignatureBody, EctKeysBody, EctsBody
from qwed.gateway.evidence.permits import FindingBody, ReceiptBody, UseBody
from qwed.gateway.evidence.redact_activity import RedactBody, RedactManyBody
from qwed.gateway.evidence.report_outcome import SettleBody
from qwed.gateway.kernel.changes import NOTED
from qwed.gateway.kernel.requests import ActionBody, OutcomeBody, ToolBody, VerifyBody
from qwed.gateway.notices.manage_webhooks import WebhookBody
from qwed.gateway.policy.change_policy import CheckBody, PolicyBody, ReloadBody, RollbackBody, StopBody
from qwed.gateway.policy.run_backtest import BacktestBody
from qwed.gateway.policy.workflows import WorkflowBody
from qwed.gateway.reporting.read_activity import DEFAULT_LIMIT, MAX_LIMIT
from qwed.gateway.reporting.read_origins import OriginsBody
from qwed.gateway.reporting.read_provenance import MatchBody
from qwed.gateway.reporting.search_activity import PARAMETERS as SEARCH_PARAMETERS
from qwed.gateway.trust.behaviours import SpecBody
from qwed.gateway.trust.change_trust import TrustBody
from qwed.gateway.trust.trust_scores import AssertionBody, ReinstateBody, SeedBody
from qwed.http.answer_schemas import ANSWERS, SCHEMAS
from qwed.http.passkey_routes import NewPasskeyBody, ToSignBody
from qwed.http.request_reader import MAX_IDEMPOTENCY_KEY
from qwed.http.sessions import SignInBody
from qwed.reports import ReportFormat

JSON: Final = "application/json"
SEE_OTHER: Final = 303


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
        "evaluation",
        "POST",
        "/access/v1/evaluation",
        "Ask in the words of AuthZEN 1.0; advisory, and recorded",
        "decide",
        (EvaluationBody,),
        errors=(400,),
    ),
    Operation(
        "evaluations",
        "POST",
        "/access/v1/evaluations",
        "Ask several questions in the words of AuthZEN 1.0",
        "decide",
        (EvaluationsBody,),
        errors=(400,),
    ),
    Operation(
        "authzen",
        "GET",
        "/.well-known/authzen-configuration",
        "Where AuthZEN's endpoints are",
        "decide",
        is_open=True,
    ),
    Operation(
        "hook",
        "POST",
        "/hooks/{coding_agent}",
        "A tool call as a coding agent tells its hook of it; answered in that agent's words",
        "decide",
        errors=(400, 404, 413, 422),
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
        "search",
        "GET",
        "/activity",
        "Search the record across agents, newest first",
        "record",
        query=SEARCH_PARAMETERS,
    ),
    Operation(
        "entry",
        "GET",
        "/activity/{activity_id}",
        "One entry, with the checks it went through",
        "record",
        errors=(404,),
    ),
    Operation(
        "conversations",
        "GET",
        f"{_AGENT}/conversations",
        "The latest conversations",
        "record",
        errors=(404,),
    ),
    Operation("origins", "POST", "/origins", "Who said a value in a conversation", "record", (OriginsBody,)),
    Operation("overview", "GET", "/overview", "How things stand", "record", query=("hours",)),
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
        "unused_permits",
        "GET",
        "/permits",
        "The permits of an agent that fit one action, and that nobody used",
        "permits",
        query=("agent_id", "audience", "action_hash"),
        errors=(404,),
    ),
    Operation(
        "permit_findings",
        "GET",
        "/permits/findings",
        "What was found between what was approved and what was run",
        "permits",
        query=("agent_id", "after", "limit"),
        errors=(404,),
    ),
    Operation(
        "permit_finding",
        "POST",
        "/permits/findings",
        "Report a call that a tool refused, or an effect that no permit allows",
        "permits",
        (FindingBody,),
        status=201,
        errors=(404,),
    ),
    Operation("permit", "GET", "/permits/{jti}", "One permit, as it stands", "permits", errors=(404,)),
    Operation(
        "use_permit",
        "POST",
        "/permits/{jti}/use",
        "Use a permit, once: one caller gets it",
        "permits",
        (UseBody,),
        errors=(404, 409),
    ),
    Operation(
        "receipt_of_permit",
        "POST",
        "/permits/{jti}/receipt",
        "Report what was run: it is compared with what was approved",
        "permits",
        (ReceiptBody,),
        errors=(404, 409),
    ),
    Operation(
        "redact",
        "POST",
        f"{_AGENT}/activity/{{activity_id}}/redact",
        "Erase what an entry says; the entry stays, and the ledger verifies",
        "record",
        (RedactBody,),
        errors=(404, 409),
    ),
    Operation(
        "redact_matching",
        "POST",
        f"{_AGENT}/redact",
        "Erase what matching entries say, a page at a time",
        "record",
        (RedactManyBody,),
        errors=(404,),
    ),
    Operation(
        "agent_report",
        "GET",
        f"{_AGENT}/compliance-report",
        "What was measured of one agent, and what was not: JSON, CSV or PDF",
        "record",
        errors=(404, 413),
        query=("format", "from", "to"),
    ),
    Operation(
        "report",
        "GET",
        "/compliance-report",
        "The same for everything the caller may see",
        "record",
        errors=(413,),
        query=("format", "from", "to"),
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
        "compare",
        "GET",
        "/approvals/{approval_id}/comparison",
        "What is unusual about it, beside what its agent did before",
        "approvals",
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
        "ask_for_passkey",
        "POST",
        "/approvals/{approval_id}/passkey",
        "What a browser signs with a passkey, to approve this",
        "approvals",
        (ToSignBody,),
        body_optional=True,
        errors=(404,),
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
    Operation(
        "trust_history",
        "GET",
        "/agents/{agent_id}/trust",
        "Level, conduct, and every change with its reasons",
        "agents",
        query=("cursor", "limit"),
        errors=(404,),
    ),
    Operation(
        "own_trust_score",
        "GET",
        "/agents/{agent_id}/trust-score",
        "How far the gateway trusts this agent: for itself, or an operator",
        "assurance",
        errors=(404,),
    ),
    Operation(
        "spec",
        "GET",
        "/agents/{agent_id}/behavior-spec",
        "The behaviour specification in force",
        "assurance",
        errors=(404,),
    ),
    Operation(
        "set_spec",
        "PUT",
        "/agents/{agent_id}/behavior-spec",
        "Say what the agent may do; its tokens are checked against it",
        "assurance",
        (SpecBody,),
        errors=(404,),
    ),
    Operation(
        "trust_score",
        "GET",
        "/trust-score",
        "How far the gateway trusts one issuer of tokens (operators)",
        "assurance",
        query=("peer",),
        errors=(404,),
    ),
    Operation(
        "prove_scores",
        "GET",
        "/trust-score/replay",
        "Compute every score again from the ledger, and compare (operators)",
        "assurance",
        errors=(404,),
    ),
    Operation(
        "seed_score",
        "POST",
        "/trust-score",
        "Say where a score begins (operators)",
        "assurance",
        (SeedBody,),
        errors=(404,),
    ),
    Operation(
        "assert_trust",
        "POST",
        "/trust-score/assertion",
        "The gateway's signed word about an agent: for itself, or an operator",
        "assurance",
        (AssertionBody,),
        errors=(404,),
    ),
    Operation(
        "reinstate",
        "POST",
        "/trust-score/reinstate",
        "Lift a revocation (operators)",
        "assurance",
        (ReinstateBody,),
        errors=(404,),
    ),
    Operation(
        "provenance",
        "GET",
        "/provenance/{jti}/{question}",
        "Ask where data came from: who, transformed, complete, graph",
        "assurance",
        errors=(404,),
    ),
    Operation(
        "match",
        "POST",
        "/provenance/{jti}",
        "Compare content with the hashes of a token",
        "assurance",
        (MatchBody,),
        errors=(404,),
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
        "Add a webhook; its secret is shown once",
        "notices",
        (WebhookBody,),
        status=201,
    ),
    Operation(
        "drop_webhook", "DELETE", "/webhooks/{webhook_id}", "Remove a webhook", "notices", errors=(404,)
    ),
    Operation("session", "GET", "/session", "Who is signed in with this browser", "people", is_open=True),
    Operation(
        "sign_in",
        "POST",
        "/session",
        "Sign in with an API key; the answer sets a cookie",
        "people",
        (SignInBody,),
        is_open=True,
        errors=(401, 403, 429),
    ),
    Operation(
        "begin_sign_in",
        "GET",
        "/sign-in",
        "Sign in with the identity provider: the browser is sent there",
        "people",
        status=303,
        query=("to",),
        is_open=True,
        errors=(404,),
    ),
    Operation(
        "complete_sign_in",
        "GET",
        "/sign-in/callback",
        "Where the identity provider sends the browser back to",
        "people",
        status=303,
        query=("code", "state", "iss", "error"),
        is_open=True,
        errors=(403, 404, 429),
    ),
    Operation(
        "slack_answer",
        "POST",
        "/slack/answers",
        "A button that somebody pressed in Slack, with Slack's signature",
        "approvals",
        is_open=True,
        errors=(401, 403, 404, 409, 422, 429),
    ),
    Operation("passkeys", "GET", "/passkeys", "Your passkeys", "people", errors=(404,)),
    Operation(
        "begin_passkey",
        "POST",
        "/passkeys/options",
        "What a browser needs to make a passkey",
        "people",
        errors=(404,),
    ),
    Operation(
        "add_passkey",
        "POST",
        "/passkeys",
        "Add a passkey",
        "people",
        (NewPasskeyBody,),
        status=201,
        errors=(404,),
    ),
    Operation(
        "drop_passkeys",
        "DELETE",
        "/passkeys/{owner}",
        "Take away all passkeys of somebody who lost theirs",
        "people",
        errors=(404,),
    ),
    Operation("sign_out", "DELETE", "/session", "Sign out", "people", is_open=True, errors=(403,)),
    Operation(
        "test_webhook",
        "POST",
        "/webhooks/{webhook_id}/test",
        "Send a test event",
        "notices",
        status=202,
        errors=(404,),
    ),
    Operation(
        "deliveries",
        "GET",
        "/webhooks/{webhook_id}/deliveries",
        "What was sent, or is on its way, newest first",
        "notices",
        query=("after", "limit"),
        errors=(404,),
    ),
    Operation(
        "retry_delivery",
        "POST",
        "/webhooks/{webhook_id}/deliveries/{delivery_id}/retry",
        "Send it again, now",
        "notices",
        status=202,
        errors=(404,),
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
    Operation(
        "submit_ects",
        "POST",
        "/ect",
        "Submit execution context tokens; each gets a receipt",
        "evidence",
        (EctsBody,),
        status=201,
        errors=(431,),
    ),
    Operation(
        "ect", "GET", "/ect/{jti}", "A token received, or that of a decision", "evidence", errors=(404,)
    ),
    Operation(
        "redact_ect",
        "POST",
        "/ect/{jti}/redact",
        "Erase a token that was submitted; its entry stays, and the ledger verifies",
        "evidence",
        (RedactBody,),
        errors=(404, 409),
    ),
    Operation("policy", "GET", "/policy", "The policy in force, and what is stopped", "policy"),
    Operation(
        "apply_policy",
        "PUT",
        "/policy",
        "Put another policy in force, everywhere at once",
        "policy",
        (PolicyBody,),
        errors=(409,),
    ),
    Operation(
        "policy_history",
        "GET",
        "/policy/history",
        "Every change of what is in force, newest first",
        "policy",
        query=("before", "limit"),
    ),
    Operation(
        "policy_version",
        "GET",
        "/policy/versions/{version}",
        "One version: its text, who applied it and why",
        "policy",
        errors=(404, 422),
    ),
    Operation(
        "reload_policy",
        "POST",
        "/policy/reload",
        "Make this host's policy file the version of the deployment",
        "policy",
        (ReloadBody,),
        errors=(409,),
    ),
    Operation(
        "roll_back_policy",
        "POST",
        "/policy/rollback",
        "Put an older version in force again",
        "policy",
        (RollbackBody,),
        errors=(404, 409),
    ),
    Operation("shadow", "GET", "/shadow", "What the policy that only watches would have said", "policy"),
    Operation(
        "check_policy",
        "POST",
        "/policy/check",
        "What is wrong or doubtful in a text, and how it differs from what is in force",
        "policy",
        (CheckBody,),
    ),
    Operation(
        "backtest_policy",
        "POST",
        "/policy/backtest",
        "What another policy would have decided: one stretch of the record",
        "policy",
        (BacktestBody,),
    ),
    Operation(
        "stop_acting",
        "POST",
        "/stop",
        "Stop everything, a team or a tool, everywhere",
        "policy",
        (StopBody,),
        errors=(409,),
    ),
    Operation("resume_acting", "POST", "/resume", "End a stop", "policy", (StopBody,), errors=(404, 409)),
    Operation(
        "register_workflow",
        "POST",
        "/workflows",
        "Register a policy token: who may act where, and after what",
        "evidence",
        (WorkflowBody,),
        status=201,
    ),
    Operation(
        "workflow", "GET", "/workflows/{workflow_id}", "A workflow and its nodes", "evidence", errors=(404,)
    ),
    Operation(
        "set_ect_keys",
        "PUT",
        f"{_AGENT}/ect-keys",
        "The public keys with which an agent signs its tokens",
        "evidence",
        (EctKeysBody,),
        errors=(404,),
    ),
    Operation(
        "checkpoint",
        "GET",
        "/ledger/checkpoint",
        "The newest signed checkpoint, or that of a size",
        "evidence",
        query=("size",),
        errors=(404,),
    ),
    Operation(
        "cosign",
        "POST",
        "/ledger/checkpoint/cosignatures",
        "Keep a witness's signature",
        "evidence",
        (CosignatureBody,),
        status=201,
        errors=(404,),
    ),
    Operation(
        "entries", "GET", "/ledger/entries", "Entries, oldest first", "evidence", query=("after", "limit")
    ),
    Operation(
        "inclusion",
        "GET",
        "/ledger/proof/inclusion",
        "Prove that an entry is in the ledger",
        "evidence",
        query=("seq", "subject", "size"),
        errors=(404,),
    ),
    Operation(
        "consistency",
        "GET",
        "/ledger/proof/consistency",
        "Prove that the ledger only grew",
        "evidence",
        query=("first", "second"),
        errors=(404,),
    ),
    Operation(
        "log_checkpoint",
        "GET",
        "/ledger/log/checkpoint",
        "The newest tree as a C2SP checkpoint, with its cosignatures",
        "evidence",
        errors=(404,),
    ),
    Operation(
        "log_key",
        "GET",
        "/ledger/log/key",
        "The key of this log, as witnesses take it",
        "evidence",
        errors=(404,),
    ),
    Operation(
        "log_tile",
        "GET",
        "/ledger/log/tile/{place*}",
        "A tile of the tree, or a bundle of entries (C2SP tlog-tiles)",
        "evidence",
        errors=(404,),
    ),
    Operation("health", "GET", "/health", "Alive?", "health", is_open=True),
    Operation("ready", "GET", "/ready", "Able to decide?", "health", is_open=True, errors=(503,)),
    Operation("metrics", "GET", "/metrics", "Prometheus metrics", "health"),
)

_MEANINGS: Final = {
    400: "Not JSON",
    401: "No valid credential",
    403: "Not allowed to this credential, or suspended",
    404: "No such thing, or not yours",
    409: "It happened already",
    413: "Too large or too deep",
    422: "The wrong shape; the field is named",
    429: "Too many, or past the budget",
    431: "Too many tokens, or too large",
    503: "Nothing can be recorded now",
}
_REPORTS: Final = (JSON, "text/csv", "application/pdf")
_OTHER_MEDIA: Final = {
    "events": ("text/event-stream",),
    "metrics": ("text/plain",),
    "log_checkpoint": ("text/plain",),
    "log_key": ("text/plain",),
    "log_tile": ("application/octet-stream",),
    "report": _REPORTS,
    "agent_report": _REPORTS,
}
_INSTANT: Final = {"type": "string", "format": "date-time"}
_QUERY: Final[dict[str, Any]] = {
    "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
    "from": _INSTANT,
    "to": _INSTANT,
    "decision": {"type": "string", "enum": [*Decision, NOTED]},
    "status": {"type": "string", "enum": list(ApprovalStatus)},
    "format": {"type": "string", "enum": list(ReportFormat), "default": ReportFormat.JSON},
}
_IDEMPOTENCY: Final = (
    "Idempotency-Key",
    "The same key with the same body gets the recorded answer, for 60 seconds",
    {"type": "string", "minLength": 1, "maxLength": MAX_IDEMPOTENCY_KEY},
)
_HEADERS: Final = {"verify": (_IDEMPOTENCY,), "verify_tool": (_IDEMPOTENCY,)}


def describe(version: str) -> bytes:
    """OpenAPI 3.1."""
    kinds = tuple(dict.fromkeys(kind for operation in OPERATIONS for kind in operation.body))
    schemas, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    by_kind = dict(zip(kinds, schemas, strict=True))
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        # What takes several segments has one name here too.
        path = operation.path.replace("*}", "}")
        paths.setdefault(path, {})[operation.method.lower()] = _operation(operation, by_kind)
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
            "schemas": {**components, **SCHEMAS},
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
        for name in re.findall(r"{(\w+)\*?}", operation.path)
    ]
    in_query = [
        {"name": name, "in": "query", "required": False, "schema": _QUERY.get(name, {"type": "string"})}
        for name in operation.query
    ]
    in_headers = [
        {"name": name, "in": "header", "required": False, "description": meaning, "schema": schema}
        for name, meaning, schema in _HEADERS.get(operation.name, ())
    ]
    return in_path + in_query + in_headers


def _responses(operation: Operation) -> dict[str, Any]:
    answer = ANSWERS.get(operation.name)
    whole = {"type": "object"} if answer is None else {"$ref": f"#/components/schemas/{answer}"}
    content = {
        media: {"schema": whole if media == JSON else {"type": "string"}}
        for media in _OTHER_MEDIA.get(operation.name, (JSON,))
    }
    answered: dict[str, Any] = {"description": "The answer", "content": content}
    if operation.status == SEE_OTHER:
        # A browser is sent elsewhere: there is nothing to read.
        answered = {"description": "Go on there", "headers": {"Location": {"schema": {"type": "string"}}}}
    responses: dict[str, Any] = {str(operation.status): answered}
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
