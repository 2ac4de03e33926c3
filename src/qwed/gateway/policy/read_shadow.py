"""What a policy, a rule or a gateway that only watches would have said: from the record, for all workers."""

from collections import Counter
from typing import Any, Final

import msgspec

from qwed.domain.credentials import Caller, Scope
from qwed.gateway.kernel.answers import Answer
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import require_scope

#: The newest entries of the ledger that are looked through.
MAX_ENTRIES: Final = 20_000
MAX_EXAMPLES: Final = 50
STRETCH: Final = 1_000
_MARK: Final = b'"shadow":{'
#: Of a rule with `mode: observe`, and of a decision that stopped nothing.
_OBSERVED: Final = b'"observed":true'


async def read_shadow(services: Services, caller: Caller) -> Answer:
    """By row, agent and action, with examples, newest first."""
    require_scope(caller, Scope.POLICY)
    size = await services.store.evidence.size()
    start = after = max(0, size - MAX_ENTRIES)
    counts: dict[str, Counter[str]] = {
        name: Counter() for name in ("rows", "rules", "agents", "actions", "changes")
    }
    examples: list[dict[str, Any]] = []
    observed = _Observed()
    while after < size:
        items = await services.store.evidence.stretch(after, STRETCH)
        if not items:
            break
        after = items[-1].seq
        for item in items:
            payload = b"" if item.activity is None else item.activity.payload
            if _MARK in payload:
                _count(msgspec.json.decode(payload), counts, examples)
            if _OBSERVED in payload:
                observed.count(msgspec.json.decode(payload))
    watching = services.shadow
    return Answer(
        {
            "policy_version": None if watching is None else watching.policy.version,
            "looked_at": size - start,
            "differences": counts["changes"].total(),
            **{f"by_{name}": dict(counted.most_common(100)) for name, counted in counts.items()},
            "examples": examples[: -MAX_EXAMPLES - 1 : -1],
            **observed.to_wire(),
        }
    )


class _Observed:
    """What rules with `mode: observe` matched, and what a gateway that observes would have answered."""

    def __init__(self) -> None:
        self._rules: dict[str, Counter[str]] = {}
        self._examples: dict[str, str] = {}
        self._decisions: Counter[str] = Counter()
        self._codes: Counter[str] = Counter()

    def count(self, entry: Any) -> None:
        if entry.get("observed") is True:
            self._decisions[entry["decision"]] += 1
            if (code := entry.get("error_code")) is not None:
                self._codes[code] += 1
        for rule in entry.get("rules", ()):
            if isinstance(rule, dict) and rule.get("observed") is True:
                self._rules.setdefault(rule["id"], Counter())[rule["then"]] += 1
                self._examples[rule["id"]] = entry["activity_id"]

    def to_wire(self) -> dict[str, Any]:
        return {
            "observed_rules": [
                {"id": name, "would": dict(counted), "newest": self._examples[name]}
                for name, counted in sorted(self._rules.items())
            ],
            "observed_decisions": {
                "total": self._decisions.total(),
                "by_decision": dict(self._decisions),
                "by_code": dict(self._codes.most_common(100)),
            },
        }


def _count(entry: Any, counts: dict[str, Counter[str]], examples: list[dict[str, Any]]) -> None:
    other = entry.get("shadow")
    if not isinstance(other, dict):
        return
    counts["rows"].update(other.get("rows", ()))
    counts["rules"].update(other.get("rules", ()))
    counts["agents"][entry["agent_id"]] += 1
    counts["actions"][entry["action_type"]] += 1
    counts["changes"][f"{entry['decision']} -> {other['decision']}"] += 1
    shown = {name: entry.get(name) for name in ("activity_id", "agent_id", "action_type", "timestamp")}
    examples.append({**shown, "decision": entry["decision"], "would": other})
