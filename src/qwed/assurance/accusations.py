"""What tokens say about others' work: who is accused of what, and whose word counts.

Only the observer itself, a listed verifier, the direct counterpart (who requested the very task, from the
very agent) and the agent itself are believed. Whoever only read or continued the work is not a counterpart:
the agent did not choose them.
"""

from collections.abc import Callable, Collection, Iterator
from typing import Any, Final

import msgspec

from qwed.assurance.scores import ScoreEvent
from qwed.ect.claims import Claims

ERROR: Final = "atd:error"
ROLLBACK_REQUEST: Final = "atd:rollback_request"
CHECKPOINT: Final = "atd:checkpoint"
TRUST_ASSERTION: Final = "apae:trust_assertion"
TRUST_REVOKE: Final = "apae:trust_revoke"
COMPLIANCE_CHECK: Final = "apae:compliance_check"
SPEC_UPDATE: Final = "apae:spec_update"
HITL_DECISION: Final = "hitl:decision"
#: Tokens about work, which are no work themselves.
ABOUT_WORK: Final = frozenset(
    {
        ERROR,
        ROLLBACK_REQUEST,
        CHECKPOINT,
        TRUST_ASSERTION,
        TRUST_REVOKE,
        COMPLIANCE_CHECK,
        SPEC_UPDATE,
        HITL_DECISION,
    }
)
TARGET_AGENT: Final = "atd.target_agent"
ERROR_TYPE: Final = "atd.error_type"


class Seen(msgspec.Struct, frozen=True, gc=False):
    """What is kept of a token: who said it, to whom, after what."""

    iss: str
    aud: tuple[str, ...]
    par: tuple[str, ...]


Find = Callable[[str], Seen | None]


class Accusation(msgspec.Struct, frozen=True, gc=False):
    """`task` is the accused's own token, or the observer's request that was to be answered."""

    peer: str
    event: ScoreEvent
    task: str


def event_of(claims: Claims, observer: str) -> ScoreEvent:
    """The most specific row of the table holds."""
    if claims.exec_act == ROLLBACK_REQUEST:
        return ScoreEvent.ROLLBACK_TRIGGERED
    kind = claims.ext.get(ERROR_TYPE)
    if kind == "constraint_violation":
        return ScoreEvent.POLICY_VIOLATION
    # That nothing came is known only to whoever waited.
    if kind == "timeout" and claims.iss == observer:
        return ScoreEvent.TASK_TIMEOUT
    return ScoreEvent.TASK_FAILURE


def accusations(
    claims: Claims, observer: str, verifiers: Collection[str], find: Find
) -> Iterator[Accusation]:
    """Those to be believed, of an error or a request to roll back."""
    event = event_of(claims, observer)
    target: Any = claims.ext.get(TARGET_AGENT)
    if target is not None and not isinstance(target, str):
        return
    is_believed = claims.iss == observer or claims.iss in verifiers
    named = False
    for task in claims.par:
        node = find(task)
        if node is None:
            continue
        for peer in _performers(node, observer):
            if target is not None and peer != target:
                continue
            named = True
            if is_believed or claims.iss == peer or _is_requested_by(claims.iss, peer, node, find):
                yield Accusation(peer, event, task)
    if not named and target is not None and (is_believed or claims.iss == target):
        yield Accusation(target, event, claims.jti)


def offenders(claims: Claims) -> list[str]:
    """The tokens that a compliance check found in violation."""
    violations = claims.ext.get("apae.violations")
    if not isinstance(violations, list):
        return []
    found = [item.get("jti") for item in violations if isinstance(item, dict)]
    return [jti for jti in found if isinstance(jti, str)]


def _performers(node: Seen, observer: str) -> tuple[str, ...]:
    """Of a token, whoever made it; of the observer's request, whoever was asked."""
    if node.iss != observer:
        return (node.iss,)
    return tuple(name for name in node.aud if name != observer)


def _is_requested_by(accuser: str, peer: str, node: Seen, find: Find) -> bool:
    """Whether the accused's token answers one that the accuser had addressed to it."""
    if node.iss != peer:
        return False
    for jti in node.par:
        request = find(jti)
        if request is not None and request.iss == accuser and peer in request.aud:
            return True
    return False
