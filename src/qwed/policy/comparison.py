"""What one policy lets through and another does not: rules, action types, and every other key."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from qwed.domain.policy import ActionRule, Policy, ToolGroup
from qwed.policy.explanation import ChangedSetting, changes_between
from qwed.rules.analysis import Difference, Direction, diff_rules

_LOWER_IS_TIGHTER: Final = (
    "budgets.",
    "principals.",
    "limits.max_",
    "loops.max_",
    "loops.no_progress",
    "loops.cycle_rounds",
    "loops.cross_conversation",
    "approvals.ttl_seconds",
    "approvals.max_open",
)
_HIGHER_IS_TIGHTER: Final = ("approvals.approvers", "prices.", "default_price_usd")
_ORDERS: Final[Mapping[str, tuple[Any, ...]]] = {
    "profile": (None, "relaxed", "standard", "regulated"),
    "trust.denied_cells": ("pending", "deny"),
    "tools.require_context": (False, True),
    "approvals.separate": ("off", "when_possible", "always"),
}
_GROUPS: Final = (ToolGroup.SAFE, None, ToolGroup.DANGEROUS)
_APART: Final = frozenset({"actions", "rules"})


class PolicyDiff(msgspec.Struct, frozen=True):
    differences: tuple[Difference, ...]

    @property
    def needs_review(self) -> bool:
        """Whether anything got looser, or nobody can tell."""
        harmless = (Direction.SAME, Direction.TIGHTER)
        return any(each.direction not in harmless for each in self.differences)


def compare(old: Policy, new: Policy) -> PolicyDiff:
    by_subject = {each.subject: each for each in diff_rules(old, new)}
    for name in sorted({*old.actions, *new.actions}):
        subject = f"action {name}"
        row = _compare_action(subject, old.action_rules.get(name), new.action_rules.get(name), name)
        by_subject[subject] = _join(row, by_subject.get(subject, Difference(subject, Direction.SAME)))
    keys = list(_compare_keys(old, new))
    return PolicyDiff((*by_subject.values(), *keys))


def _join(one: Difference, other: Difference) -> Difference:
    """Both parts of one subject together."""
    if Direction.SAME in (one.direction, other.direction):
        return other if one.direction is Direction.SAME else one
    if one.direction is other.direction:
        direction = one.direction
    elif Direction.NOT_ANALYSED in (one.direction, other.direction):
        direction = Direction.NOT_ANALYSED
    else:
        direction = Direction.BOTH
    why = "; ".join(filter(None, (one.why, other.why)))
    return Difference(one.subject, direction, why, one.tighter or other.tighter, one.looser or other.looser)


def _compare_action(subject: str, old: ActionRule | None, new: ActionRule | None, name: str) -> Difference:
    example = {"action": {"type": name}}
    if old == new:
        return Difference(subject, Direction.SAME)
    if old is None:
        return Difference(subject, Direction.LOOSER, "is registered now", looser=example)
    if new is None:
        return Difference(subject, Direction.TIGHTER, "is not registered any more", tighter=example)
    if old.engine != new.engine or old.checks != new.checks:
        return Difference(subject, Direction.NOT_ANALYSED, "its engine or its checks changed")
    steps = [
        _sign(-1 if old.risk is None else old.risk.value, -1 if new.risk is None else new.risk.value),
        _sign(_GROUPS.index(old.group), _GROUPS.index(new.group)),
        _sign(old.price_usd or 0, new.price_usd or 0),
        _sign(old.min_price_usd, new.min_price_usd),
    ]
    return _by_steps(subject, steps, f"{_row(old)} → {_row(new)}", example)


def _row(rule: ActionRule) -> str:
    risk = "risk by engine" if rule.risk is None else f"{rule.risk.wire} risk"
    return f"{risk}, {rule.group.value if rule.group else 'no group'}"


def _by_steps(subject: str, steps: list[int], why: str, example: Mapping[str, Any] | None) -> Difference:
    is_tighter, is_looser = any(step > 0 for step in steps), any(step < 0 for step in steps)
    direction = {
        (True, False): Direction.TIGHTER,
        (False, True): Direction.LOOSER,
        (True, True): Direction.BOTH,
        (False, False): Direction.NOT_ANALYSED,
    }[is_tighter, is_looser]
    return Difference(
        subject, direction, why, example if is_tighter else None, example if is_looser else None
    )


def _sign(old: Any, new: Any) -> int:
    return int(new > old) - int(new < old)


def _compare_keys(old: Policy, new: Policy) -> Iterator[Difference]:
    before, after = (
        {name: value for name, value in policy.to_wire().items() if name not in _APART}
        for policy in (old, new)
    )
    for change in changes_between(before, after):
        why = f"{change.default} → {change.in_force}"
        yield Difference(change.path, _direction(change), why)


def _direction(change: ChangedSetting) -> Direction:
    path, old, new = change.path, change.default, change.in_force
    if path in _ORDERS:
        return _name(_sign(_ORDERS[path].index(old), _ORDERS[path].index(new)))
    is_lower = path.startswith(_LOWER_IS_TIGHTER)
    if not is_lower and not path.startswith(_HIGHER_IS_TIGHTER):
        return Direction.NOT_ANALYSED
    try:
        # None is no limit at all.
        numbers = [float("inf") if value is None else float(value) for value in (old, new)]
    except (TypeError, ValueError):
        return Direction.NOT_ANALYSED
    step = _sign(*numbers)
    return _name(-step if is_lower else step)


def _name(step: int) -> Direction:
    return Direction.TIGHTER if step > 0 else Direction.LOOSER if step < 0 else Direction.NOT_ANALYSED
