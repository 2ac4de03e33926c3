"""Rules that put a person in the loop (policy tokens, section 3): when they trigger, and who may override.

Fails closed: a word that is not known, an input that is missing or of another type, a person that can't
be reached or does not answer in time all count as triggered. Of several rules the strictest action wins.
"""

import enum
import operator
from collections.abc import Callable, Collection, Container, Mapping
from decimal import Decimal
from typing import Any, Final

import msgspec

from qwed.domain.json_types import Json

MAX_RULES: Final = 100
DEFAULT_TIMEOUT_SECONDS: Final = 300


class HumanStep(enum.IntEnum):
    """In order of strictness."""

    CONTINUE = 0
    PAUSE = 1
    ESCALATE = 2
    ABORT = 3


_ACTIONS: Final = {"pause": HumanStep.PAUSE, "escalate": HumanStep.ESCALATE, "abort": HumanStep.ABORT}
_OVERRIDES: Final = {"continue": HumanStep.CONTINUE, **_ACTIONS}

#: The kinds we know, and the operators that do not contradict them.
KINDS: Final[Mapping[str, frozenset[str]]] = {
    "confidence_below": frozenset({"lt", "lte"}),
    "trust_below": frozenset({"lt", "lte"}),
    "amount_above": frozenset({"gt", "gte"}),
    "cost_above": frozenset({"gt", "gte"}),
    "risk_above": frozenset({"gt", "gte"}),
    "value_equals": frozenset({"eq"}),
    "value_differs": frozenset({"neq"}),
    "value_in": frozenset({"in"}),
}
_ORDERINGS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "lt": operator.lt,
    "lte": operator.le,
    "gt": operator.gt,
    "gte": operator.ge,
}
OPERATORS: Final = frozenset({*_ORDERINGS, "eq", "neq", "in"})


class InvalidRules(ValueError):
    """The rules can't be read; the message says where."""


class Trigger(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kind: str
    op: str
    value: Any
    input_ref: str


class HumanRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    trigger: Trigger
    required_role: str
    action: str
    allow_override: bool = False
    override_action: str | None = None


class Hitl(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rules: tuple[HumanRule, ...] = ()
    default_action: str = "abort"
    timeout_s: int = DEFAULT_TIMEOUT_SECONDS
    on_timeout: str = "abort"

    @property
    def default(self) -> HumanStep:
        return _ACTIONS.get(self.default_action, HumanStep.ABORT)


class HumanVerdict(msgspec.Struct, frozen=True):
    """The strictest action, and what asked for it: ids of rules, names of constraints."""

    action: HumanStep
    triggered: tuple[str, ...] = ()


def read_rules(value: Any) -> Hitl:
    """Raises `InvalidRules`."""
    try:
        hitl = msgspec.convert(value, Hitl)
    except msgspec.ValidationError as error:
        raise InvalidRules(f"hitl: {error}") from None
    if len(hitl.rules) > MAX_RULES or len({rule.id for rule in hitl.rules}) != len(hitl.rules):
        raise InvalidRules(f"hitl has at most {MAX_RULES} rules, each with its own id")
    if not 0 < hitl.timeout_s <= 86_400:
        raise InvalidRules("hitl.timeout_s is between 1 and 86400")
    for rule in hitl.rules:
        if not rule.id or not rule.required_role or not rule.trigger.input_ref:
            raise InvalidRules("a rule names itself, a role and an input")
        allowed = KINDS.get(rule.trigger.kind)
        if allowed is not None and rule.trigger.op in OPERATORS and rule.trigger.op not in allowed:
            raise InvalidRules(f"rule {rule.id!r}: {rule.trigger.kind} contradicts {rule.trigger.op}")
    return hitl


def evaluate(hitl: Hitl, inputs: Mapping[str, Json], open_constraints: Collection[str] = ()) -> HumanVerdict:
    """What the rules ask for. `open_constraints` are constraints nobody can check: they count as rules."""
    actions = {rule.id: _action(rule.action) for rule in hitl.rules if _triggers(rule.trigger, inputs)}
    actions |= {f"constraint {name}": hitl.default for name in open_constraints}
    return HumanVerdict(max(actions.values(), default=HumanStep.CONTINUE), tuple(actions))


def _action(word: str) -> HumanStep:
    return _ACTIONS.get(word, HumanStep.ABORT)


def _triggers(trigger: Trigger, inputs: Mapping[str, Json]) -> bool:
    if trigger.kind not in KINDS or trigger.input_ref not in inputs:
        return True
    given = _comparable(inputs[trigger.input_ref])
    if given is None:
        return True
    if trigger.op == "in":
        return _is_in(given, trigger.value)
    wanted = _comparable(trigger.value)
    if wanted is None or type(wanted) is not type(given):
        return True
    if trigger.op in ("eq", "neq"):
        return (given == wanted) is (trigger.op == "eq")
    ordering = _ORDERINGS.get(trigger.op)
    return ordering is None or not isinstance(given, Decimal) or ordering(given, wanted)


def _is_in(given: Any, values: Any) -> bool:
    wanted = [_comparable(item) for item in values] if isinstance(values, list) else []
    if not wanted or any(type(item) is not type(given) for item in wanted):
        return True
    return given in wanted


def _comparable(value: Any) -> Decimal | str | bool | None:
    """Numbers as decimals; None for what is not compared."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int | float | Decimal):
        number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
        return number if number.is_finite() else None
    return None


def after_waiting(hitl: Hitl, verdict: HumanVerdict, *, waited_s: float, is_reachable: bool) -> HumanStep:
    """What remains of a verdict while no person has answered."""
    if verdict.action in (HumanStep.CONTINUE, HumanStep.ABORT):
        return verdict.action
    if is_reachable and waited_s < hitl.timeout_s:
        return verdict.action
    return _ACTIONS.get(hitl.on_timeout, HumanStep.ABORT) if is_reachable else HumanStep.ABORT


class Override(msgspec.Struct, frozen=True):
    """A person's word that one rule shall not stop one request at one node."""

    rule_id: str
    node_id: str
    request_jti: str
    person: str
    roles: frozenset[str]
    is_authenticated: bool

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes it single-use."""
        return self.rule_id, self.node_id, self.request_jti


class OverrideRefusal(enum.StrEnum):
    NOT_ALLOWED = "not_allowed"
    NOT_AUTHENTICATED = "not_authenticated"
    OTHER_ROLE = "other_role"
    OWN_REQUEST = "own_request"
    NOT_BOUND = "not_bound"
    USED = "used"


def override(
    rule: HumanRule,
    given: Override,
    *,
    node_id: str,
    request_jti: str,
    requester: str,
    used: Container[tuple[str, str, str]],
) -> HumanStep | OverrideRefusal:
    """What the request may do instead, or why the override does not count."""
    if rule.allow_override is not True:
        return OverrideRefusal.NOT_ALLOWED
    if not given.is_authenticated:
        return OverrideRefusal.NOT_AUTHENTICATED
    if rule.required_role not in given.roles:
        return OverrideRefusal.OTHER_ROLE
    if given.person == requester:
        return OverrideRefusal.OWN_REQUEST
    if given.key != (rule.id, node_id, request_jti):
        return OverrideRefusal.NOT_BOUND
    if given.key in used:
        return OverrideRefusal.USED
    return _OVERRIDES.get(rule.override_action or "continue", HumanStep.ABORT)
