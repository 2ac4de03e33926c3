"""Cedar policies (https://cedarpolicy.com) beside the rules in CEL: what Cedar does not allow is denied.

Cedar itself passes over a policy that fails while it is evaluated, a `forbid` too. Here an error is a denial,
and so is a value that Cedar has no type for: nothing is allowed because a policy could not be asked.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

import msgspec

from qwed.domain.json_types import Json

#: Of an action, written as text; deeper or longer ones are denied.
MAX_TEXT: Final = 64 * 1024
_MAX_DEPTH: Final = 16
_MAX_REASON: Final = 300
_MAX_LONG: Final = 2**63
#: Cedar's decimals have four digits behind the point and 64 bits in all.
_MAX_DECIMAL: Final = Decimal(2**63) / 10_000
#: In Cedar's JSON these make entities and calls of a value: no agent may write one.
_ESCAPES: Final = frozenset({"__entity", "__extn", "__expr"})
_MEMBERS: Final = ("id", "name", "type", "trust", "principal", "team")


class NotCedar(ValueError):
    """The text is no set of Cedar policies that can be used; the message says why."""


class _NotHandedOver(ValueError):
    pass


class CedarQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """What policies can name. The principal is `Agent::"ID"`, in `Principal::"…"` and perhaps in `Team::"…"`;
    the action is `Action::"TYPE"`, the resource `Tool::"TYPE"`; the rest is `context`."""

    action: Mapping[str, Json]
    agent: Mapping[str, Json]
    conversation: Mapping[str, Json]
    finding: Mapping[str, Json]
    risk: int


class CedarBook:
    """A set of policies, read once. Raises `NotCedar`, and `ImportError` where the extra is not there."""

    def __init__(self, text: str) -> None:
        import cedarpy  # noqa: PLC0415 - an extra

        self._cedar = cedarpy
        try:
            self._policies = cedarpy.PolicySet.from_str(text)
            parsed = msgspec.json.decode(cedarpy.policies_to_json_str(text))
        except ValueError as error:
            raise NotCedar(f"no Cedar policy: {str(error)[:_MAX_REASON]}") from None
        given: Mapping[str, Any] = parsed.get("staticPolicies", {})
        if parsed.get("templates"):
            raise NotCedar("templates have no values here: write policies without ?principal and ?resource")
        if not any(each.get("effect") == "permit" for each in given.values()):
            raise NotCedar("Cedar denies what nothing permits: add permit (principal, action, resource);")
        self._names = {
            key: str((each.get("annotations") or {}).get("id") or key) for key, each in given.items()
        }

    def explain_denial(self, question: CedarQuestion) -> str | None:
        """Why the action is not allowed; None where it is."""
        try:
            request, entities = _asked(question)
        except _NotHandedOver as error:
            return f"Cedar can't be asked: {error}"
        answer = self._cedar.is_authorized(request, self._policies, entities)
        if answer.diagnostics.errors:
            return f"a Cedar policy can't be evaluated: {'; '.join(answer.diagnostics.errors)}"[:_MAX_REASON]
        if answer.decision == self._cedar.Decision.Allow:
            return None
        named = ", ".join(sorted(self._names.get(key, key) for key in answer.diagnostics.reasons))
        return f"forbidden by Cedar: {named}" if named else "no Cedar policy permits it"


def _asked(question: CedarQuestion) -> tuple[dict[str, Json], list[dict[str, Json]]]:
    left = [MAX_TEXT]
    action_type, agent_id = str(question.action.get("type")), str(question.agent["id"])
    parents: list[Json] = [{"type": "Principal", "id": str(question.agent["principal"])}]
    if question.agent.get("team") is not None:
        parents.append({"type": "Team", "id": str(question.agent["team"])})
    known = {name: question.agent[name] for name in _MEMBERS if question.agent.get(name) is not None}
    context = {
        "action": question.action,
        "conversation": question.conversation,
        "finding": question.finding,
        "risk": question.risk,
    }
    request: dict[str, Json] = {
        "principal": {"type": "Agent", "id": agent_id},
        "action": {"type": "Action", "id": action_type},
        "resource": {"type": "Tool", "id": action_type},
        "context": _value(context, left, 0),
    }
    return request, [
        {"uid": {"type": "Agent", "id": agent_id}, "attrs": _value(known, left, 0), "parents": parents},
        {"uid": {"type": "Tool", "id": action_type}, "attrs": {}, "parents": []},
    ]


def _value(value: Any, left: list[int], depth: int) -> Any:
    """As Cedar takes it: whole numbers of 64 bits, decimals, texts, sets, records. Null is a member less."""
    left[0] -= len(value) if isinstance(value, str) else 8
    if left[0] < 0 or depth > _MAX_DEPTH:
        raise _NotHandedOver(f"the action is longer than {MAX_TEXT} characters or nested too deeply")
    match value:
        case bool() | str():
            return value
        case int() if -_MAX_LONG <= value < _MAX_LONG:
            return value
        case int() | float() | Decimal():
            return _decimal(Decimal(str(value)))
        case Mapping():
            return _record(value, left, depth)
        case list() | tuple():
            if any(item is None for item in value):
                raise _NotHandedOver("a list with null is no set")
            return [_value(item, left, depth + 1) for item in value]
    raise _NotHandedOver("a value is of no type that Cedar has")


def _record(value: Mapping[Any, Any], left: list[int], depth: int) -> dict[str, Any]:
    if _ESCAPES & value.keys():
        raise _NotHandedOver("a member has a name that makes an entity of it")
    left[0] -= sum(len(str(name)) for name in value)
    return {str(name): _value(item, left, depth + 1) for name, item in value.items() if item is not None}


def _decimal(number: Decimal) -> dict[str, Json]:
    if not number.is_finite() or abs(number) >= _MAX_DECIMAL or number != round(number, 4):
        raise _NotHandedOver("a number has more digits than Cedar's decimals")
    return {"__extn": {"fn": "decimal", "arg": f"{number:.4f}"}}
