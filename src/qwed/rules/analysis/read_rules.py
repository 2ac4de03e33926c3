"""The rules of a policy with their expressions read."""

import msgspec

from qwed.domain.policy import Policy
from qwed.domain.rules import PolicyRule
from qwed.rules.expressions import Expression, read_expression


class ReadRule(msgspec.Struct, frozen=True):
    rule: PolicyRule
    when: Expression
    trigger: Expression | None


def read_rules(policy: Policy) -> list[ReadRule]:
    """An expression that cannot be read is a mistake of the file: no policy that was loaded has one."""
    return [
        ReadRule(
            rule, read_expression(rule.when), None if rule.trigger is None else read_expression(rule.trigger)
        )
        for rule in policy.rules
    ]
