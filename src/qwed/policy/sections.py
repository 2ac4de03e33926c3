"""Every key of the policy file, and how its value is read."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from qwed.domain.permits import MAX_PERMIT_SECONDS
from qwed.domain.policy import DeniedCells, ParameterCheck, Profile, Separate, ToolGroup
from qwed.domain.registry import ENGINE_NAMES
from qwed.policy import readers
from qwed.policy.broker import broker
from qwed.policy.cedar import cedar
from qwed.policy.engines import CHECK_KINDS, RULES_READERS, URL_PATTERNS
from qwed.policy.people import PEOPLE
from qwed.policy.provenance import provenance
from qwed.policy.readers import PolicyReading, Reader, amount, flag, optional, seconds, whole
from qwed.policy.rules import rules, teams
from qwed.policy.yaml_text import YamlNode

_DAYS: Final = whole(1, 36_500)
_COUNT: Final = whole(0, 10**12)
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,127}")


def name(reading: PolicyReading, line: int, path: str, key: str) -> bool:
    if _NAME.fullmatch(key):
        return True
    reading.fail(line, path, f"{readers.shown(key)} is not a name: letters, digits and _ . : / - only")
    return False


def level(reading: PolicyReading, line: int, path: str, key: str) -> bool:
    if key in ("1", "2", "3"):
        return True
    reading.fail(line, path, f"{readers.shown(key)} is not a trust level above 0: 1, 2 or 3")
    return False


def principal_name(reading: PolicyReading, line: int, path: str, key: str) -> bool:
    if key.strip() and key.isprintable() and len(key) <= readers.MAX_TEXT:
        return True
    reading.fail(line, path, f"{readers.shown(key)} is not a principal")
    return False


def engine_name(reading: PolicyReading, line: int, path: str, key: str) -> bool:
    if key in ENGINE_NAMES:
        return True
    reading.fail(
        line, path, f"{readers.shown(key)} is not an engine; expected one of {', '.join(ENGINE_NAMES)}"
    )
    return False


def checks(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    """`{parameter: kind}`."""
    kinds = readers.mapping_of(name, readers.one_of("check", CHECK_KINDS))(reading, node, path)
    return tuple(ParameterCheck(parameter, kind) for parameter, kind in sorted(kinds.items()))


ACTION: Final[Mapping[str, Reader]] = {
    "engine": readers.one_of("engine", ENGINE_NAMES),
    "risk": readers.risk,
    "checks": checks,
    "price_usd": amount,
    "min_price_usd": amount,
    "permit": optional(readers.text),
    "enabled": flag,
}
TOOL: Final[Mapping[str, Reader]] = {
    "risk": readers.risk,
    "group": optional(readers.member("group", ToolGroup)),
    "checks": checks,
    "price_usd": amount,
    "min_price_usd": amount,
    "permit": optional(readers.text),
    "enabled": flag,
}
LOOPS: Final[Mapping[str, Reader]] = {
    "max_steps": whole(1, 10_000),
    "max_repeats": whole(1, 1_000),
    "max_failed_repeats": whole(1, 100),
    "window": whole(1, 1_000),
    "no_progress": whole(2, 1_000),
    "cycle_max_period": whole(2, 50),
    "cycle_rounds": whole(2, 100),
    "cycle_rounds_without_hashes": whole(2, 100),
    "cross_conversation": optional(whole(1, 10**6)),
    "same_state_only": flag,
}
RATE_LIMIT: Final[Mapping[str, Reader]] = {
    "limit": whole(1, 10**6),
    "window_seconds": seconds(0.001, 86_400),
}
LIMITS: Final[Mapping[str, Reader]] = {
    "max_body_bytes": whole(1024, 64 * 1024 * 1024),
    "max_depth": whole(4, 64),
    "engine_seconds": seconds(0.05, 60),
    "engine_queue": whole(1, 10**5),
    "write_queue": whole(1, 10**6),
    "lease_seconds": seconds(1, 3600),
    "requests_per_credential": optional(readers.fields(RATE_LIMIT)),
    "failed_auth": readers.always_on(readers.fields(RATE_LIMIT)),
    "refusals_per_hour": whole(1, 10**6),
    "stop_when_ledger_lags": flag,
}
BUDGETS: Final[Mapping[str, Reader]] = {
    "max_daily_cost_usd": optional(amount),
    "max_per_request_cost_usd": optional(amount),
    "max_requests_per_hour": optional(_COUNT),
    "max_requests_per_day": optional(_COUNT),
    "max_tokens_per_request": optional(_COUNT),
    "max_daily_tokens": optional(_COUNT),
}
CEILINGS: Final[Mapping[str, Reader]] = {
    "max_agents": optional(_COUNT),
    "max_daily_cost_usd": optional(amount),
    "max_requests_per_day": optional(_COUNT),
}
APPROVALS: Final[Mapping[str, Reader]] = {
    "ttl_seconds": whole(1, 30 * 86_400),
    "max_open": whole(1, 100_000),
    "approvers": whole(1, 10),
    "role": optional(readers.text),
    "remind_after_seconds": optional(whole(1, 30 * 86_400)),
    "escalate_after_seconds": optional(whole(1, 30 * 86_400)),
    "escalate_to_role": optional(readers.text),
    "separate": readers.member("way to separate approvers", Separate),
}
NOTIFICATIONS: Final[Mapping[str, Reader]] = {
    "allow": URL_PATTERNS,
    "private": URL_PATTERNS,
    "timeout_seconds": seconds(0.1, 60),
    "first_retry_seconds": seconds(0.01, 3600),
    "max_retry_seconds": seconds(0.01, 86_400),
    "max_attempts": whole(1, 1_000),
    "give_up_after_seconds": whole(1, 30 * 86_400),
}
ASSURANCE: Final[Mapping[str, Reader]] = {
    "trust_scoring": optional(flag),
    "trust_thresholds": optional(flag),
    "behaviour_verification": optional(flag),
    "hitl_gates": optional(flag),
    "data_provenance": optional(flag),
    "checkpoints": optional(flag),
    "initial_score": readers.share,
    "alpha": readers.share,
    "beta": readers.share,
    "floor": readers.share,
    "settle_seconds": whole(0, 30 * 86_400),
    "min_score": optional(readers.share),
    "min_confidence": optional(readers.one_of("confidence", ("low", "medium", "high"))),
    "level_scores": readers.mapping_of(level, readers.share),
    "verifiers": readers.list_of(readers.text),
    "strict_checkpoints": flag,
}
PERMITS: Final[Mapping[str, Reader]] = {"seconds": whole(1, MAX_PERMIT_SECONDS)}
RETENTION: Final[Mapping[str, Reader]] = {
    "activity_days": optional(_DAYS),
    "approval_days": optional(_DAYS),
    "security_log_days": optional(_DAYS),
    "delivery_days": optional(_DAYS),
}


def tools(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    """Tools by name, and beside them the one key that is not a tool."""
    entries = dict(readers.members_of(reading, node, path))
    require = entries.pop("require_context", None)
    rest = YamlNode(entries, node.line, node.key_line)
    by_name = readers.mapping_of(name, readers.fields(TOOL))(reading, rest, path)
    given = None if require is None else flag(reading, require, f"{path}.require_context")
    return {"by_name": by_name, "require_context": given}


def guards(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    """Kept as written, a list or a mapping: the guards read their own part."""
    if isinstance(node.value, list):
        return _plain(node)
    return {key: _plain(item) for key, item in readers.members_of(reading, node, path).items()}


def _plain(node: YamlNode) -> Any:
    if isinstance(node.value, dict):
        return {key: _plain(item) for key, item in node.value.items()}
    if isinstance(node.value, list):
        return [_plain(item) for item in node.value]
    return float(node.value) if isinstance(node.value, Decimal) else node.value


FILE: Final[Mapping[str, Reader]] = {
    "profile": optional(readers.member("profile", Profile)),
    "actions": readers.mapping_of(name, readers.fields(ACTION)),
    "tools": tools,
    "prices": readers.mapping_of(engine_name, amount),
    "default_price_usd": amount,
    "loops": readers.fields({**LOOPS, "agents": readers.mapping_of(name, readers.fields(LOOPS))}),
    "limits": readers.fields(LIMITS),
    "budgets": readers.fields(BUDGETS),
    "principals": readers.fields(
        {**CEILINGS, "named": readers.mapping_of(principal_name, readers.fields(CEILINGS))}
    ),
    "approvals": readers.fields(APPROVALS),
    "trust": readers.fields({"denied_cells": readers.member("way to treat denied cells", DeniedCells)}),
    "notifications": readers.fields(NOTIFICATIONS),
    "retention": readers.fields(RETENTION),
    "policy": readers.fields({"change": readers.fields({"approvers": whole(1, 2)})}),
    "assurance": readers.fields(ASSURANCE),
    "permits": readers.fields(PERMITS),
    **RULES_READERS,
    "guards": guards,
    "rules": rules,
    "cedar": cedar,
    "provenance": provenance,
    "teams": teams,
    "broker": broker,
    "people": readers.fields(PEOPLE),
}
