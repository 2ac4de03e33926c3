"""From the text of a policy file to the policy in force."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from qwed.assurance.in_force import score_rules
from qwed.domain.people import PeopleRules
from qwed.domain.policy import (
    DEFAULT_POLICY,
    ActionRule,
    ApprovalRules,
    LoopLimits,
    ParameterCheck,
    Policy,
    Profile,
    RateLimit,
    Separate,
    ToolGroup,
)
from qwed.domain.registry import CODE, ENGINE_NAMES, SQL, TOOL_CONTROL, WORKSPACE
from qwed.domain.risk import Risk
from qwed.domain.skeleton import compact_skeleton
from qwed.policy import readers
from qwed.policy.engines import KINDS_BY_ENGINE, RULES
from qwed.policy.mistakes import PolicyError
from qwed.policy.people import people_rules
from qwed.policy.readers import PolicyReading
from qwed.policy.sections import FILE
from qwed.policy.yaml_text import YamlError, YamlNode, read

_STRUCT_SECTIONS: Final = (
    "loops",
    "budgets",
    "approvals",
    "notifications",
    "retention",
    "assurance",
    "permits",
)
_PLAIN_SECTIONS: Final = (
    *("profile", "prices", "default_price_usd", "guards", "rules", "cedar"),
    *("provenance", "teams", "broker"),
    *RULES,
)
_GROUP_RISKS: Final = {ToolGroup.SAFE: Risk.LOW, ToolGroup.DANGEROUS: Risk.CRITICAL, None: Risk.MEDIUM}
_EMPTY: Final = YamlNode({}, 1, 1)


def load_policy(text: str, source: str) -> Policy:
    """The policy of this file; an empty one is the default. Raises `PolicyError` with every mistake."""
    try:
        root, mistakes = read(text)
    except YamlError as error:
        raise PolicyError(source, [error.mistake]) from None
    root = root or _EMPTY
    reading = PolicyReading()
    reading.mistakes += mistakes
    policy = _Assembly(reading, root, readers.fields(FILE)(reading, root, "")).policy()
    if reading.mistakes:
        raise PolicyError(source, reading.mistakes)
    return policy


class _Assembly:
    """Puts what was read over the defaults, and compares what only makes sense together."""

    def __init__(self, reading: PolicyReading, root: YamlNode, given: Mapping[str, Any]) -> None:
        self._reading = reading
        self._root = root
        self._given = given

    def policy(self) -> Policy:
        given = self._given
        values = {name: given[name] for name in _PLAIN_SECTIONS if name in given}
        own_loops = given.get("loops", {}).pop("agents", {})
        for name in _STRUCT_SECTIONS:
            values[name] = msgspec.structs.replace(getattr(DEFAULT_POLICY, name), **given.get(name, {}))
        values["agent_loops"] = self._agent_loops(values["loops"], own_loops)
        values["approvals"] = self._approvals(values["approvals"])
        values["limits"] = self._limits(given.get("limits", {}))
        values["actions"] = self._actions()
        values["tools_require_context"] = self._require_context()
        values |= given.get("trust", {})
        values["change_approvers"] = self._change_approvers()
        values["people"] = self._people()
        policy = msgspec.structs.replace(DEFAULT_POLICY, **values, **self._principals())
        self._compare(policy)
        return policy

    def _line(self, *keys: str) -> int:
        """Where a key stands, or the nearest above it that does."""
        return self._nodes(*keys)[-1].key_line

    def _is_written(self, *keys: str) -> bool:
        return len(self._nodes(*keys)) > len(keys)

    def _nodes(self, *keys: str) -> list[YamlNode]:
        nodes = [self._root]
        for key in keys:
            if not isinstance(nodes[-1].value, dict) or key not in nodes[-1].value:
                break
            nodes.append(nodes[-1].value[key])
        return nodes

    def _fail(self, message: str, *keys: str) -> None:
        self._reading.fail(self._line(*keys), ".".join(keys), message)

    def _limits(self, given: Mapping[str, Any]) -> Any:
        values = dict(given)
        if "failed_auth" in values:
            values["failed_auth"] = msgspec.structs.replace(
                DEFAULT_POLICY.limits.failed_auth, **values["failed_auth"]
            )
        if values.get("requests_per_credential") is not None:
            values["requests_per_credential"] = self._new_limit(values["requests_per_credential"])
        # Evidence that nobody can check is none: where it is required, nothing is decided without it.
        values.setdefault("stop_when_ledger_lags", self._given.get("profile") is Profile.REGULATED)
        return msgspec.structs.replace(DEFAULT_POLICY.limits, **values)

    def _new_limit(self, given: Mapping[str, Any]) -> RateLimit | None:
        if len(given) == 2:
            return RateLimit(**given)
        self._fail("needs limit and window_seconds", "limits", "requests_per_credential")
        return None

    def _principals(self) -> dict[str, Any]:
        general = dict(self._given.get("principals", {}))
        named = general.pop("named", {})
        ceilings = msgspec.structs.replace(DEFAULT_POLICY.principals, **general)
        own = {name: msgspec.structs.replace(ceilings, **values) for name, values in named.items()}
        return {"principals": ceilings, "named_principals": own}

    def _agent_loops(self, general: LoopLimits, own: Mapping[str, Any]) -> dict[str, LoopLimits]:
        found = {agent_id: msgspec.structs.replace(general, **values) for agent_id, values in own.items()}
        for agent_id, limits in found.items():
            if limits.no_progress > limits.window:
                self._fail("could never be reached within window", "loops", "agents", agent_id, "no_progress")
        return found

    def _people(self) -> PeopleRules:
        rules = people_rules(self._given.get("people", {}), self._given.get("teams", {}))
        if isinstance(rules, str):
            self._fail(rules, "people", "groups")
            return PeopleRules()
        return rules

    def _change_approvers(self) -> int:
        given = self._given.get("policy", {}).get("change", {}).get("approvers")
        return given or (2 if self._given.get("profile") is Profile.REGULATED else 1)

    def _require_context(self) -> bool:
        given = self._given.get("tools", {}).get("require_context")
        if isinstance(given, bool):
            return given
        return self._given.get("profile") in (Profile.STANDARD, Profile.REGULATED)

    def _approvals(self, rules: ApprovalRules) -> ApprovalRules:
        if self._given.get("profile") is not Profile.REGULATED:
            return rules
        if self._is_written("approvals", "separate") and rules.separate is not Separate.ALWAYS:
            self._fail("must be always in the regulated profile", "approvals", "separate")
        return msgspec.structs.replace(rules, separate=Separate.ALWAYS)

    def _actions(self) -> dict[str, ActionRule]:
        rules = dict(DEFAULT_POLICY.actions)
        tools = self._given.get("tools", {}).get("by_name", {})
        for name, given in self._given.get("actions", {}).items():
            if name in tools:
                self._fail("is under actions as well; keep one of them", "tools", name)
            self._put(rules, "actions", name, given, self._action(name, given))
        for name, given in tools.items():
            self._put(rules, "tools", name, given, self._tool(name, given))
        return rules

    def _put(
        self,
        rules: dict[str, ActionRule],
        section: str,
        name: str,
        given: Mapping[str, Any],
        rule: ActionRule,
    ) -> None:
        if given.get("enabled", True):
            rules[name] = rule
        elif name not in rules:
            self._fail("is not there by default, so there is nothing to switch off", section, name)
        elif rules[name].group is ToolGroup.DANGEROUS:
            self._fail("is dangerous: forgetting it would let an agent bring it in as its own", section, name)
        else:
            del rules[name]

    def _action(self, name: str, given: Mapping[str, Any]) -> ActionRule:
        known = DEFAULT_POLICY.actions.get(name)
        if known is None and not self._is_written("actions", name, "engine"):
            self._fail(
                f"a new action type needs an engine: one of {', '.join(ENGINE_NAMES)}", "actions", name
            )
        base = known or ActionRule(TOOL_CONTROL)
        if given.get("engine", base.engine) != base.engine:
            base = ActionRule(given["engine"])
        self._compare_checks(name, given.get("engine", base.engine), given.get("checks", ()))
        return _with_risk(msgspec.structs.replace(base, **_without_enabled(given)))

    def _compare_checks(self, name: str, engine: str, checks: tuple[ParameterCheck, ...]) -> None:
        allowed = KINDS_BY_ENGINE.get(engine, frozenset())
        for check in checks:
            if check.kind not in allowed:
                expected = f"one of {', '.join(sorted(allowed))}" if allowed else "none"
                message = f"{check.kind} says nothing to the {engine} engine; expected {expected}"
                self._fail(message, "actions", name, "checks", check.parameter)

    def _tool(self, name: str, given: Mapping[str, Any]) -> ActionRule:
        known = DEFAULT_POLICY.actions.get(name, ActionRule(TOOL_CONTROL))
        if known.engine != TOOL_CONTROL:
            self._fail(f"is an action of the {known.engine} engine; change it under actions", "tools", name)
        if "group" in given and "risk" not in given and given["group"] is not known.group:
            known = msgspec.structs.replace(known, risk=None)
        return _with_risk(msgspec.structs.replace(known, **_without_enabled(given)))

    def _compare(self, policy: Policy) -> None:
        if policy.loops.no_progress > policy.loops.window:
            self._fail("could never be reached within loops.window", "loops", "no_progress")
        if policy.limits.lease_seconds <= policy.limits.engine_seconds:
            self._fail("must be longer than limits.engine_seconds", "limits", "lease_seconds")
        self._compare_approvals(policy.approvals)
        try:
            score_rules(policy.assurance)
        except ValueError as error:
            self._fail(str(error), "assurance")
        for name, dangerous in _look_alikes(policy):
            self._fail(f"reads like {dangerous}, which is dangerous, and could never be safe", "tools", name)

    def _compare_approvals(self, rules: ApprovalRules) -> None:
        for key in ("remind_after_seconds", "escalate_after_seconds"):
            after = getattr(rules, key)
            if after is not None and after >= rules.ttl_seconds:
                self._fail("must be shorter than approvals.ttl_seconds", "approvals", key)
        if (rules.escalate_after_seconds is None) != (rules.escalate_to_role is None):
            self._fail("escalate_after_seconds and escalate_to_role belong together", "approvals")


def _without_enabled(given: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key != "enabled"}


def _with_risk(rule: ActionRule) -> ActionRule:
    """A rule without a risk gets its group's, or leaves it to an engine that can tell."""
    if rule.risk is not None or rule.engine in (SQL, CODE, WORKSPACE):
        return rule
    risk = _GROUP_RISKS[rule.group] if rule.engine == TOOL_CONTROL else Risk.LOW
    return msgspec.structs.replace(rule, risk=risk)


def _look_alikes(policy: Policy) -> Iterator[tuple[str, str]]:
    dangerous = {compact_skeleton(name): name for name in policy.dangerous_tools}
    for name in sorted(policy.safe_tools):
        if found := dangerous.get(compact_skeleton(name)):
            yield name, found
