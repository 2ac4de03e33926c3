"""Where an action stands: its conversation, its step, and the state it was proposed in.

The context is read untyped, because each mistake in it has a code of its own (checks 4, 5, 10 to 12).
"""

import re
from collections.abc import Mapping
from typing import Any, Final, TypeGuard

import msgspec

from qwed.domain.codes import Code, Refusal
from qwed.domain.json_text import describe_type
from qwed.domain.json_types import Json
from qwed.domain.parameters import has_surrogate

MAX_CONVERSATION_ID: Final = 256
STATE_SOURCES: Final = ("file_tree", "db_snapshot", "conversation_digest", "git_tree", "custom")
_SHA256_HEX: Final = re.compile(r"[0-9a-f]{64}")


class StepContext(msgspec.Struct, frozen=True):
    conversation_id: str
    step: int
    state: bytes | None = None
    state_problem: Refusal | None = None


#: The step that the store gives: the one after the last, once the decision before it is made.
NEXT_STEP: Final = 0


def read_context(raw: Json, *, state_required: bool, takes_next: bool = False) -> StepContext | Refusal:
    """Checks 4 and 5; what checks 10 to 12 would say comes along, to be said in its turn."""
    context = raw if type(raw) is dict or isinstance(raw, Mapping) else {}
    conversation_id, step = context.get("conversation_id"), context.get("step_number")
    if takes_next and _is_name(conversation_id) and step is None:
        return _read_state(context, conversation_id, NEXT_STEP, state_required=state_required)
    if not _is_name(conversation_id) or step is None:
        return Refusal(
            Code.CONTEXT_MISSING,
            "context needs conversation_id, a non-blank string of at most "
            f"{MAX_CONVERSATION_ID} characters, and step_number",
        )
    # A bool is an int to Python, and 1.0 or NaN would compare like one: only a true integer counts.
    if type(step) is not int or step < 1:
        # A very long integer can't even be written.
        given = step if type(step) is int and step.bit_length() < 64 else describe_type(step)
        return Refusal(Code.STEP_INVALID, f"step_number is an integer of at least 1, not {given}")
    return _read_state(context, conversation_id, step, state_required=state_required)


def _read_state(
    context: Mapping[str, Json], conversation_id: str, step: int, *, state_required: bool
) -> StepContext:
    if not state_required and "pre_action_state_hash" not in context and "state_source" not in context:
        return StepContext(conversation_id, step)
    problem = _state_problem(context, required=state_required)
    state_hash = context.get("pre_action_state_hash")
    state = bytes.fromhex(state_hash) if state_hash and problem is None else None
    return StepContext(conversation_id, step, state, problem)


def _is_name(value: Any) -> TypeGuard[str]:
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_CONVERSATION_ID:
        return False
    return value.isascii() or not has_surrogate(value)


def _state_problem(context: Mapping[str, Json], *, required: bool) -> Refusal | None:
    state_hash, source = context.get("pre_action_state_hash"), context.get("state_source")
    has_hash, has_source = state_hash not in (None, ""), source not in (None, "")
    if has_hash != has_source or (required and not has_hash):
        rule = "must both be given here" if required else "must be provided together"
        return Refusal(Code.STATE_INCOMPLETE, f"pre_action_state_hash and state_source {rule}")
    if not has_hash:
        return None
    if not isinstance(state_hash, str) or not _SHA256_HEX.fullmatch(state_hash):
        return Refusal(
            Code.STATE_HASH, "pre_action_state_hash is a SHA-256 in 64 lower-case hexadecimal digits"
        )
    if source not in STATE_SOURCES:
        return Refusal(Code.STATE_SOURCE, f"state_source is one of {', '.join(STATE_SOURCES)}")
    return None
