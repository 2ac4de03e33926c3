"""What is in force, and what of it differs from the default."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from qwed.domain.policy import DEFAULT_POLICY, Policy
from qwed.policy.engines import RULES

# Where a value stands in the file, when that is not where it stands in the policy.
_FILE_PATHS: Final = {
    "denied_cells": "trust.denied_cells",
    "named_principals": "principals.named",
    "tools_require_context": "tools.require_context",
}


class ChangedSetting(msgspec.Struct, frozen=True):
    """`default` or `in_force` is None where there is nothing on that side."""

    path: str
    default: Any
    in_force: Any


class PolicyExplanation(msgspec.Struct, frozen=True):
    version: str
    is_default: bool
    changes: tuple[ChangedSetting, ...]
    in_force: Mapping[str, Any]


def explain(policy: Policy) -> PolicyExplanation:
    in_force = policy.to_wire()
    changes = changes_between(DEFAULT_POLICY.to_wire(), in_force)
    return PolicyExplanation(policy.version, not changes, tuple(changes), in_force)


def changes_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[ChangedSetting]:
    """Every key that differs between two policies' wire forms, by its place in the file."""
    return sorted(_changes("", before, after), key=lambda change: change.path)


def _changes(path: str, default: Any, in_force: Any) -> Iterator[ChangedSetting]:
    if default == in_force:
        return
    if not (isinstance(default, dict) and isinstance(in_force, dict)):
        yield ChangedSetting(path, default, in_force)
        return
    for key in {**default, **in_force}:
        inner = f"{path}.{key}" if path else _FILE_PATHS.get(key, key)
        yield from _changes(inner, default.get(key, _engine_default(path, key)), in_force.get(key))


def _engine_default(section: str, key: str) -> Any:
    rule = RULES.get(section, {}).get(key)
    return list(rule.default) if rule and isinstance(rule.default, tuple) else rule and rule.default
