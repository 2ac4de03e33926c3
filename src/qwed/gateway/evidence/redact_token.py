"""Erasure of a token that was submitted: its text and salt go; that it came, and who took it out, stays."""

from qwed.domain.codes import Code
from qwed.domain.credentials import Caller, Scope
from qwed.domain.json_types import Json
from qwed.gateway.evidence.ledger_queries import find_received_token
from qwed.gateway.evidence.redact_activity import REDACT, RedactBody, check_reason
from qwed.gateway.kernel.answers import Answer, refuse
from qwed.gateway.kernel.changes import GATEWAY, noted
from qwed.gateway.kernel.records import Record, Redaction
from qwed.gateway.kernel.requests import convert
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import require_scope


async def redact_token(services: Services, caller: Caller, jti: str, raw: Json) -> Answer:
    """Nothing is left of it, and the note of the erasure says so: what names it as a parent ends there."""
    require_scope(caller, Scope.TRUST)
    reason = check_reason(convert(raw, RedactBody).reason)
    async with services.turns.turn(("redact_token", jti)):
        received = await find_received_token(services, caller, jti)
        # An auditor reads the tokens of every principal, and takes out only those of their own.
        if not caller.is_operator and received.principal_id != caller.principal_id:
            raise refuse(Code.AUTH_FORBIDDEN, "only an operator redacts a token of another principal")
        if received.token is None:
            raise refuse(Code.REDACTION_CONFLICT, "the token was redacted already")
        details = {"reason": reason, "entries": {received.jti: ""}}
        note = noted(services, caller, REDACT, details, principal_id=received.principal_id)
        redaction = Redaction(GATEWAY, (), tokens=(received.jti,))
        await services.store.commit(Record(note, redaction=redaction))
    return Answer({"redacted": [received.jti], "activity_id": note.activity_id})
