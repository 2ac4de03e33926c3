"""Every error code, once: what it means, the HTTP status it travels with, and what to do about it."""

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec


class Code(enum.StrEnum):
    AGENT_UNKNOWN = "QWED-AGENT-001"
    AGENT_TOKEN = "QWED-AGENT-002"  # noqa: S105
    AGENT_SUSPENDED = "QWED-AGENT-003"
    TOOL_NOT_ALLOWED = "QWED-AGENT-004"
    VERIFICATION_FAILED = "QWED-AGENT-005"
    ACTION_UNKNOWN = "QWED-AGENT-ACTION-001"
    CONTEXT_MISSING = "QWED-AGENT-CTX-001"
    STEP_INVALID = "QWED-AGENT-CTX-002"
    LOOP_LENGTH = "QWED-AGENT-LOOP-001"
    LOOP_REPLAY = "QWED-AGENT-LOOP-002"
    LOOP_REPEAT = "QWED-AGENT-LOOP-003"
    LOOP_NO_PROGRESS = "QWED-AGENT-LOOP-004"
    STATE_INCOMPLETE = "QWED-AGENT-STATE-001"
    STATE_HASH = "QWED-AGENT-STATE-002"
    STATE_SOURCE = "QWED-AGENT-STATE-003"
    STATE_PARAMETERS = "QWED-AGENT-STATE-004"
    BUDGET_COST = "QWED-AGENT-BUDGET-001"
    BUDGET_REQUESTS = "QWED-AGENT-BUDGET-002"
    BUDGET_TOKENS = "QWED-AGENT-BUDGET-003"
    TRUST_INSUFFICIENT = "QWED-AGENT-TRUST-001"
    APPROVAL_REQUIRED = "QWED-AGENT-TRUST-002"
    RULE_DENIED = "QWED-AGENT-RULE-001"
    RULE_ASKS = "QWED-AGENT-RULE-002"
    RULE_LIMIT = "QWED-AGENT-RULE-003"
    CEDAR_DENIED = "QWED-AGENT-RULE-004"
    ORIGIN_REFUSED = "QWED-AGENT-ORIGIN-001"
    TRUST_NOT_MET = "QWED-TRUST-001"
    REQUEST_MALFORMED = "QWED-REQUEST-001"
    REQUEST_TOO_LARGE = "QWED-REQUEST-002"
    KEY_IN_FLIGHT = "QWED-REQUEST-003"
    AUTH_MISSING = "QWED-AUTH-001"
    AUTH_FORBIDDEN = "QWED-AUTH-002"
    AUTH_SIGN_IN = "QWED-AUTH-003"
    AUTH_PROVIDER = "QWED-AUTH-004"
    NOT_FOUND = "QWED-NOTFOUND-001"
    RATE_LIMITED = "QWED-RATE-001"
    STORE_UNAVAILABLE = "QWED-STORE-001"
    ATTESTATION_UNSIGNED = "QWED-ATTESTATION-001"
    ATTESTATION_REJECTED = "QWED-ATTESTATION-002"
    APPROVAL_UNKNOWN = "QWED-APPROVAL-001"
    APPROVAL_ANSWERED = "QWED-APPROVAL-002"
    APPROVAL_EXPIRED = "QWED-APPROVAL-003"
    APPROVAL_MISMATCH = "QWED-APPROVAL-004"
    APPROVAL_REDEEMED = "QWED-APPROVAL-005"
    APPROVAL_FORBIDDEN = "QWED-APPROVAL-006"
    APPROVAL_PASSKEY = "QWED-APPROVAL-007"
    APPROVAL_REASON = "QWED-APPROVAL-008"
    OUTCOME_CONFLICT = "QWED-OUTCOME-001"
    REDACTION_CONFLICT = "QWED-REDACTION-001"
    ECT_REFUSED = "QWED-ECT-001"
    ECT_TOO_LARGE = "QWED-ECT-002"
    WORKFLOW_REFUSED = "QWED-ECT-003"
    PROFILE_UNMET = "QWED-PROFILE-001"
    PERMIT_MISSING = "QWED-PERMIT-001"
    PERMIT_INVALID = "QWED-PERMIT-002"
    PERMIT_EXPIRED = "QWED-PERMIT-003"
    PERMIT_MISMATCH = "QWED-PERMIT-004"
    PERMIT_USED = "QWED-PERMIT-005"
    PERMIT_UNVERIFIABLE = "QWED-PERMIT-006"
    BROKER_CALLER = "QWED-BROKER-001"
    BROKER_HOST = "QWED-BROKER-002"
    BROKER_REQUEST = "QWED-BROKER-003"
    BROKER_CREDENTIAL = "QWED-BROKER-004"
    BROKER_UPSTREAM = "QWED-BROKER-005"
    STOPPED = "QWED-AGENT-STOP-001"
    POLICY_UNREADABLE = "QWED-POLICY-001"
    POLICY_SOURCE = "QWED-POLICY-002"
    POLICY_CONFLICT = "QWED-POLICY-003"


class CodeRow(msgspec.Struct, frozen=True):
    status: int
    meaning: str
    remedy: str


def _row(status: int, meaning: str, remedy: str) -> CodeRow:
    return CodeRow(status, meaning, remedy)


CODES: Final[Mapping[Code, CodeRow]] = MappingProxyType(
    {
        Code.AGENT_UNKNOWN: _row(
            404, "The agent is not registered, or is not yours", "Register it, or check the id"
        ),
        Code.AGENT_TOKEN: _row(
            401, "No valid credential for this agent", "Send the token that registration returned"
        ),
        Code.AGENT_SUSPENDED: _row(403, "The agent is suspended", "Ask its principal to reactivate it"),
        Code.TOOL_NOT_ALLOWED: _row(
            200, "The agent's permissions exclude this engine or tool", "Change its permissions"
        ),
        Code.VERIFICATION_FAILED: _row(
            200, "The engine disproved the action, or found it forbidden", "Read verification.evidence"
        ),
        Code.ACTION_UNKNOWN: _row(
            200, "The action type has no registered semantics", "Register it in the policy file"
        ),
        Code.CONTEXT_MISSING: _row(
            200, "conversation_id or step_number is missing", "Send both with every action"
        ),
        Code.STEP_INVALID: _row(
            200, "step_number is not an integer of at least 1", "Count steps from 1 in integers"
        ),
        Code.LOOP_LENGTH: _row(200, "The conversation reached its step limit", "Begin a new conversation"),
        Code.LOOP_REPLAY: _row(
            200, "The step was used already, is out of order, or is in flight", "Send the next step number"
        ),
        Code.LOOP_REPEAT: _row(
            200, "The same action, or cycle of actions, repeats", "Do something else at this step"
        ),
        Code.LOOP_NO_PROGRESS: _row(
            200, "The same action met the same state three times", "Change the state or the action"
        ),
        Code.STATE_INCOMPLETE: _row(
            200, "pre_action_state_hash and state_source go together", "Send both, or neither"
        ),
        Code.STATE_HASH: _row(
            200, "pre_action_state_hash is not 64 lower-case hex digits", "Send a SHA-256 in hex"
        ),
        Code.STATE_SOURCE: _row(200, "state_source is not a known source", "Use one of the documented names"),
        Code.STATE_PARAMETERS: _row(
            200,
            "Parameters are not deterministic JSON",
            "Remove NaN, infinities (1e999 is one) and oversized values",
        ),
        Code.BUDGET_COST: _row(429, "A cost limit would be passed", "Wait for reset_at, or raise the limit"),
        Code.BUDGET_REQUESTS: _row(
            429, "A request limit would be passed", "Wait for reset_at, or raise the limit"
        ),
        Code.BUDGET_TOKENS: _row(
            429, "A token limit would be passed", "Wait for reset_at, or raise the limit"
        ),
        Code.TRUST_INSUFFICIENT: _row(
            200, "The agent's trust level does not reach this risk", "Ask for elevation, or for a person"
        ),
        Code.APPROVAL_REQUIRED: _row(200, "A person must approve the action first", "Wait for the approval"),
        Code.RULE_DENIED: _row(
            200, "A rule of the policy denies the action", "Read error.details.rules: each says why"
        ),
        Code.RULE_ASKS: _row(
            200, "A rule of the policy wants a person to decide", "Wait for the approval, or propose again"
        ),
        Code.RULE_LIMIT: _row(
            200,
            "A limit of the policy's rules is reached, or what must come before is missing",
            "Wait until the window has moved on, or do first what the rule names",
        ),
        Code.CEDAR_DENIED: _row(
            200, "A Cedar policy denies the action", "Read the message: it names the policy"
        ),
        Code.ORIGIN_REFUSED: _row(
            200,
            "A value of the action does not come from whom the policy wants it from",
            "Let the user say it, or name the source in the policy",
        ),
        Code.TRUST_NOT_MET: _row(
            403, "The agent does not meet the trust that is asked for", "Ask an operator to look at its score"
        ),
        Code.REQUEST_MALFORMED: _row(
            422,
            "The request is not what the endpoint reads (400 where it is not JSON)",
            "Fix the named field",
        ),
        Code.REQUEST_TOO_LARGE: _row(413, "The body is too large or nested too deeply", "Send less"),
        Code.KEY_IN_FLIGHT: _row(
            409,
            "The first request under this Idempotency-Key is still at work",
            "Send it again after Retry-After",
        ),
        Code.AUTH_MISSING: _row(401, "No valid credential", "Send an API key or agent token"),
        Code.AUTH_FORBIDDEN: _row(403, "The credential may not do this", "Use one with the named scope"),
        Code.AUTH_SIGN_IN: _row(
            403,
            "The sign-in with the identity provider was refused",
            "Begin again; ask an operator which groups may sign in",
        ),
        Code.AUTH_PROVIDER: _row(
            503, "The identity provider does not answer", "Try again; sign in with a key if it stays away"
        ),
        Code.NOT_FOUND: _row(404, "There is no such thing, or it is not yours", "Check the address"),
        Code.RATE_LIMITED: _row(
            429, "Too many requests, or too many that were refused", "Wait for Retry-After"
        ),
        Code.STORE_UNAVAILABLE: _row(
            503, "The store or ledger cannot record, so nothing is decided", "Retry; then see /ready"
        ),
        Code.ATTESTATION_UNSIGNED: _row(
            200, "An attestation was due and could not be signed", "Check the signing key with qwed doctor"
        ),
        Code.ATTESTATION_REJECTED: _row(422, "The attestation is not valid", "Ask its issuer for a new one"),
        Code.ECT_REFUSED: _row(
            403,
            "A token of the execution context was not accepted, or one is required",
            "Ask an operator for the reason: it is in the gateway's log",
        ),
        Code.ECT_TOO_LARGE: _row(
            431, "More than 32 tokens, or more than 32 KiB of them", "Present the nearest ancestors only"
        ),
        Code.PROFILE_UNMET: _row(
            403, "The request lacks what the assurance profile asks for", "Read the message: it says what"
        ),
        Code.WORKFLOW_REFUSED: _row(
            403,
            "The workflow's policy does not let this agent act here now",
            "Act at a node that names the agent, after its predecessors have completed",
        ),
        Code.STOPPED: _row(
            200,
            "An operator stopped everything, this team or this tool",
            "Ask an operator; qwed resume ends it",
        ),
        Code.POLICY_UNREADABLE: _row(
            422,
            "The policy has mistakes, or this deployment can't give what it asks for",
            "Read the mistakes",
        ),
        Code.POLICY_SOURCE: _row(
            409, "The policy comes from somewhere else: a file, or the store", "Change it where it comes from"
        ),
        Code.POLICY_CONFLICT: _row(
            409,
            "What is in force changed while this was prepared",
            "Look at what is in force, then decide again",
        ),
        Code.APPROVAL_UNKNOWN: _row(404, "No such approval, or it is not yours", "Check the id"),
        Code.APPROVAL_ANSWERED: _row(409, "The approval was answered already", "Read its answer"),
        Code.APPROVAL_EXPIRED: _row(409, "The approval expired", "Propose the action again"),
        Code.APPROVAL_MISMATCH: _row(
            409, "The grant is for another action", "Redeem with exactly the approved action"
        ),
        Code.APPROVAL_REDEEMED: _row(409, "The grant was used already", "Propose the action again"),
        Code.APPROVAL_FORBIDDEN: _row(
            403, "This credential may not answer the approval", "Somebody else must decide"
        ),
        Code.APPROVAL_PASSKEY: _row(
            403,
            "The approval has to be signed with a passkey",
            "Approve it in the dashboard, with your passkey",
        ),
        Code.APPROVAL_REASON: _row(422, "The policy asks for a reason", "Answer again, with a note"),
        Code.REDACTION_CONFLICT: _row(
            409, "The entry was redacted already, or its text is still needed", "Read the message"
        ),
        Code.PERMIT_MISSING: _row(
            401, "The call carries no permit", "Ask the gateway first, and pass its permit on"
        ),
        Code.PERMIT_INVALID: _row(
            403, "The permit was not signed by this gateway, or is not a permit", "Ask the gateway for one"
        ),
        Code.PERMIT_EXPIRED: _row(
            403, "The permit has expired, or is from the future", "Ask again; compare the clocks"
        ),
        Code.PERMIT_MISMATCH: _row(
            403,
            "The permit is for another tool, or for a call with other arguments",
            "Call exactly what was approved",
        ),
        Code.PERMIT_USED: _row(409, "The permit was used already", "Ask again: one permit is one call"),
        Code.PERMIT_UNVERIFIABLE: _row(
            503,
            "The permit can't be verified now: keys, gateway or clock are not available",
            "Retry; the call was refused",
        ),
        Code.BROKER_CALLER: _row(
            407, "The broker does not know the caller", "Start the program with `qwed broker run`"
        ),
        Code.BROKER_HOST: _row(
            403,
            "The policy does not list this host or request",
            "Add it under `broker` in the policy",
        ),
        Code.BROKER_REQUEST: _row(
            400, "The request can't be compared with a permit", "Send one plain HTTP/1.1 request, unencoded"
        ),
        Code.BROKER_CREDENTIAL: _row(
            503, "The broker can't read the credential for this host", "Look at `from` in the policy"
        ),
        Code.BROKER_UPSTREAM: _row(
            502, "The host did not answer, or not in a way that can be passed on", "Retry, with a new permit"
        ),
        Code.OUTCOME_CONFLICT: _row(
            409, "The outcome was reported already, or needs no settling", "Read the activity entry"
        ),
    }
)


class Refusal(msgspec.Struct, frozen=True):
    """Why the answer is no: data, not an exception."""

    code: Code
    message: str
    details: Mapping[str, object] | None = None

    def to_wire(self) -> dict[str, object]:
        wire: dict[str, object] = {"code": self.code.value, "message": self.message}
        if self.details:
            wire["details"] = self.details
        return wire
