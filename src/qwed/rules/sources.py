"""How far a source is trusted, for one call of it: `trusted_when` is asked of what was read."""

import functools
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from qwed.domain.actions import Action
from qwed.domain.provenance_rules import SourceLabel, SourceRule
from qwed.domain.rules import PolicyRule, Then
from qwed.engines.tools.slot_values import SLOT_FUNCTIONS
from qwed.rules.evaluate import RuleBook, RuleView
from qwed.rules.expressions import Expression, ExpressionMistake, NotAnExpression, read_expression

_NOTHING_ELSE: Final = (
    "it is asked of what was read: action.parameters, paths(action), hosts(action) and so on"
)


def read_condition(text: str) -> Expression:
    """Raises `NotAnExpression` for one that asks about anything but the call."""
    expression = read_expression(text)
    is_of_call = all(path[0] == "action" for path in expression.paths) and all(
        name in SLOT_FUNCTIONS and what == "action" for name, what in expression.calls
    )
    if not is_of_call:
        raise NotAnExpression([ExpressionMistake(1, 1, _NOTHING_ELSE)])
    return expression


def label_source(rule: SourceRule, tool: str, parameters: Mapping[str, Any]) -> SourceRule:
    """The rule with the label that it has for this call. What can't be evaluated trusts nothing."""
    if rule.trusted_when is None:
        return rule
    action = Action(tool, parameters=dict(parameters))
    is_trusted = _is_about_something(rule.trusted_when, action) and _holds(rule.trusted_when, action)
    return msgspec.structs.replace(rule, label=SourceLabel.TRUSTED) if is_trusted else rule


def _is_about_something(text: str, action: Action) -> bool:
    """Of no path at all, everything holds."""
    calls = read_condition(text).calls
    return all(SLOT_FUNCTIONS[name](action, {}) for name, _ in calls)


def _holds(text: str, action: Action) -> bool:
    view = RuleView(
        action=action, asked=action, agent={}, context={}, risk=0, finding={}, charge=0.0, now_ms=0
    )
    return any(problem is None for _, problem in _book(text).ask(view).matched)


@functools.lru_cache(256)
def _book(text: str) -> RuleBook:
    return RuleBook([PolicyRule(id="trusted_when", when=text, then=Then.NOTE)])
