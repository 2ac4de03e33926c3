"""What a decision is in the words of each coding agent."""

from collections.abc import Callable, Mapping
from typing import Any, Final

ALLOW: Final = "allow"
DENY: Final = "deny"
ASK: Final = "ask"
Words = dict[str, Any]


def say(agent: str, decision: str, reason: str, corrected: Mapping[str, Any] | None = None) -> Words:
    return _WORDS[agent](decision, reason, corrected)


def _claude(decision: str, reason: str, corrected: Mapping[str, Any] | None) -> Words:
    output: Words = {
        "hookEventName": "PreToolUse",
        "permissionDecision": decision,
        "permissionDecisionReason": reason,
    }
    if corrected is not None:
        output["updatedInput"] = corrected
    return {"hookSpecificOutput": output}


def _codex(decision: str, reason: str, corrected: Mapping[str, Any] | None) -> Words:
    """Saying nothing lets a call go on, and so does `ask`, which it does not know."""
    if decision == ALLOW:
        return {} if corrected is None else _claude(ALLOW, reason, corrected)
    return _claude(DENY, reason, None)


def _gemini(decision: str, reason: str, corrected: Mapping[str, Any] | None) -> Words:
    words: Words = {"decision": ALLOW if decision == ALLOW else DENY, "reason": reason}
    if corrected is not None and decision == ALLOW:
        words["hookSpecificOutput"] = {"hookEventName": "BeforeTool", "tool_input": corrected}
    return words


def _cursor(decision: str, reason: str, corrected: Mapping[str, Any] | None) -> Words:
    words: Words = {"permission": decision, "user_message": reason, "agent_message": reason}
    if corrected is not None:
        words["updated_input"] = corrected
    return words


def _copilot(decision: str, reason: str, corrected: Mapping[str, Any] | None) -> Words:
    words: Words = {"permissionDecision": decision, "permissionDecisionReason": reason}
    if corrected is not None:
        words["modifiedArgs"] = corrected
    return words


_WORDS: Final[Mapping[str, Callable[[str, str, Mapping[str, Any] | None], Words]]] = {
    "claude-code": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "cursor": _cursor,
    "copilot": _copilot,
}
