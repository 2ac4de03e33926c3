"""The policy in force, as one value: what has a meaning, how risky it is, what it costs, what is bounded.

The defaults are the tables of the agent protocol. The file that changes them is read elsewhere; here
nothing is parsed. `version` names the content, so two files that mean the same share it.
"""

import enum
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any, Final

import msgspec

from qwed.domain.broker_rules import BrokerRules
from qwed.domain.canonical import encode_exact, sha256_hex
from qwed.domain.json_types import Json
from qwed.domain.people import PeopleRules
from qwed.domain.provenance_rules import ProvenanceRules
from qwed.domain.registry import ACTION_ENGINES, DANGEROUS_TOOLS, SAFE_TOOLS, TOOL_CONTROL, TOOL_RISK_LEVELS
from qwed.domain.risk import Risk
from qwed.domain.rules import PolicyRule, Team
from qwed.domain.skeleton import compact_skeleton

ZERO_USD: Final = Decimal(0)
_ADDED_LATER: Final = frozenset(
    {"broker", "cedar", "change_approvers", "people", "provenance", "rules", "teams"}
)


class ToolGroup(enum.StrEnum):
    """How a tool call by this name is answered before its parameters are looked at."""

    SAFE = "safe"
    DANGEROUS = "dangerous"


class DeniedCells(enum.StrEnum):
    """What a denied cell of the trust × risk table answers."""

    DENY = "deny"
    PENDING = "pending"


class Profile(enum.StrEnum):
    RELAXED = "relaxed"
    STANDARD = "standard"
    REGULATED = "regulated"


class ParameterCheck(msgspec.Struct, frozen=True):
    """Which inspection a tool's parameter gets, where its name alone does not say it."""

    parameter: str
    kind: str


class ActionRule(msgspec.Struct, frozen=True):
    """One action type. Tools are the action types of the engine `tool_control`.

    `risk` is None where the engine alone decides it; where both speak, the higher risk holds.
    """

    engine: str
    risk: Risk | None = None
    price_usd: Decimal | None = None
    min_price_usd: Decimal = ZERO_USD
    group: ToolGroup | None = None
    checks: tuple[ParameterCheck, ...] = ()
    #: Where a permit for it may be used; with one, every approval carries a permit.
    permit: str | None = None


def mark_dangerous(rule: ActionRule) -> ActionRule:
    """Whatever the rule says otherwise, this is critical and waits for a person."""
    return msgspec.structs.replace(rule, risk=Risk.CRITICAL, group=ToolGroup.DANGEROUS)


class LoopLimits(msgspec.Struct, frozen=True):
    """`max_repeats` identical actions may follow each other; the next is refused. The `no_progress`-th
    same action on the same state within `window` is refused. `cross_conversation` None is off."""

    max_steps: int = 50
    max_repeats: int = 2
    window: int = 20
    no_progress: int = 3
    cycle_max_period: int = 5
    cycle_rounds: int = 3
    cycle_rounds_without_hashes: int = 5
    cross_conversation: int | None = None
    #: Only what was done on the same state counts as repeated.
    same_state_only: bool = False
    #: A call that failed, as its outcome says, may be tried again so often in a row.
    max_failed_repeats: int = 10


class RateLimit(msgspec.Struct, frozen=True):
    limit: int
    window_seconds: float


class Limits(msgspec.Struct, frozen=True):
    """`engine_queue` counts the jobs of slow engines that wait; `write_queue` the decisions that wait
    for the store. Above either, the answer is UNCERTAIN or 503, never a longer wait."""

    max_body_bytes: int = 1024 * 1024
    max_depth: int = 64
    engine_seconds: float = 2.0
    engine_queue: int = 256
    write_queue: int = 4096
    lease_seconds: float = 30.0
    requests_per_credential: RateLimit | None = None
    failed_auth: RateLimit = RateLimit(20, 10.0)
    #: Of one agent's refusals before an engine looks, so many have an entry of their own; more are counted.
    refusals_per_hour: int = 300
    #: Whether nothing is decided while the ledger is behind by more than 10 s, or can't be written.
    stop_when_ledger_lags: bool = False


class BudgetLimits(msgspec.Struct, frozen=True):
    """What one agent may spend; the policy holds those of an agent that states none. None is unlimited."""

    max_daily_cost_usd: Decimal | None = Decimal(100)
    max_per_request_cost_usd: Decimal | None = Decimal(1)
    max_requests_per_hour: int | None = 1000
    max_requests_per_day: int | None = 10_000
    max_tokens_per_request: int | None = 4096
    max_daily_tokens: int | None = None


class PrincipalCeilings(msgspec.Struct, frozen=True):
    """What all agents of one principal may use together. None is unlimited."""

    max_agents: int | None = 100
    max_daily_cost_usd: Decimal | None = None
    max_requests_per_day: int | None = None


class Separate(enum.StrEnum):
    """Whether a key that has seen an agent's token is kept from answering that agent's approvals."""

    ALWAYS = "always"
    #: Where another key of its principal could answer.
    WHEN_POSSIBLE = "when_possible"
    OFF = "off"


class ApprovalRules(msgspec.Struct, frozen=True):
    """`approvers` different people must agree; `role`, when set, is one that each of them must have.

    People are reminded, and then a second role is asked, as long as nobody has answered. None is never.
    """

    ttl_seconds: int = 900
    max_open: int = 100
    approvers: int = 1
    role: str | None = None
    remind_after_seconds: int | None = None
    escalate_after_seconds: int | None = None
    escalate_to_role: str | None = None
    separate: Separate = Separate.WHEN_POSSIBLE


class NotificationRules(msgspec.Struct, frozen=True):
    """`private` lists the hosts, wildcards or address ranges that may be told although they are not
    public; `allow` empty: every public host. The waits between tries double from the first to the longest."""

    allow: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    timeout_seconds: float = 10.0
    first_retry_seconds: float = 5.0
    max_retry_seconds: float = 3600.0
    max_attempts: int = 100
    give_up_after_seconds: int = 3 * 86_400


class AssuranceRules(msgspec.Struct, frozen=True):
    """Switches are None where the profile decides; `min_score` and `min_confidence` hold for every action.

    `verifiers` are issuers whose findings about others count; the scores are those of one who starts at
    `initial_score`.
    """

    trust_scoring: bool | None = None
    trust_thresholds: bool | None = None
    behaviour_verification: bool | None = None
    hitl_gates: bool | None = None
    data_provenance: bool | None = None
    checkpoints: bool | None = None
    initial_score: Decimal = Decimal("0.5")
    alpha: Decimal = Decimal("0.01")
    beta: Decimal = Decimal("0.8")
    floor: Decimal = Decimal("0.2")
    settle_seconds: int = 600
    min_score: Decimal | None = None
    min_confidence: str | None = None
    #: By trust level ("1" to "3"), the least score that bears it out.
    level_scores: Mapping[str, Decimal] = {}
    verifiers: tuple[str, ...] = ()
    #: A checkpoint counts only for what descends from it.
    strict_checkpoints: bool = False


class PermitRules(msgspec.Struct, frozen=True):
    """How long a permit lasts."""

    seconds: int = 120


class Retention(msgspec.Struct, frozen=True):
    """Days after which rows may be removed. None keeps them. The ledger is never shortened."""

    activity_days: int | None = None
    approval_days: int | None = None
    security_log_days: int | None = 30
    delivery_days: int | None = 30


def _default_actions() -> dict[str, ActionRule]:
    rules = {name: ActionRule(engine, _ENGINE_RISKS.get(engine)) for name, engine in ACTION_ENGINES.items()}
    for name, risk in TOOL_RISK_LEVELS.items():
        rules[name] = ActionRule(TOOL_CONTROL, risk, group=_default_group(name))
    return rules


def _default_group(name: str) -> ToolGroup | None:
    if name in DANGEROUS_TOOLS:
        return ToolGroup.DANGEROUS
    return ToolGroup.SAFE if name in SAFE_TOOLS else None


# sql and code are absent: their engines read the risk from the statement.
_ENGINE_RISKS: Final[Mapping[str, Risk]] = {"math": Risk.LOW, "logic": Risk.LOW, "fact": Risk.LOW}


class Policy(msgspec.Struct, frozen=True, dict=True):
    """`sql` … `payments` and `guards` are the rules of engines and guards, in those rooms' own words."""

    profile: Profile | None = None
    actions: Mapping[str, ActionRule] = msgspec.field(default_factory=_default_actions)
    tools_require_context: bool = False
    prices: Mapping[str, Decimal] = msgspec.field(default_factory=dict)
    default_price_usd: Decimal = Decimal("0.01")
    loops: LoopLimits = LoopLimits()
    #: By agent id, what holds for it instead.
    agent_loops: Mapping[str, LoopLimits] = msgspec.field(default_factory=dict)
    limits: Limits = Limits()
    budgets: BudgetLimits = BudgetLimits()
    principals: PrincipalCeilings = PrincipalCeilings()
    named_principals: Mapping[str, PrincipalCeilings] = msgspec.field(default_factory=dict)
    approvals: ApprovalRules = ApprovalRules()
    denied_cells: DeniedCells = DeniedCells.DENY
    notifications: NotificationRules = NotificationRules()
    retention: Retention = Retention()
    #: How many people it takes to make the policy looser.
    change_approvers: int = 1
    assurance: AssuranceRules = AssuranceRules()
    permits: PermitRules = PermitRules()
    sql: Mapping[str, Json] = msgspec.field(default_factory=dict)
    files: Mapping[str, Json] = msgspec.field(default_factory=dict)
    urls: Mapping[str, Json] = msgspec.field(default_factory=dict)
    email: Mapping[str, Json] = msgspec.field(default_factory=dict)
    payments: Mapping[str, Json] = msgspec.field(default_factory=dict)
    guards: Mapping[str, Json] | Sequence[Any] = msgspec.field(default_factory=dict)
    rules: tuple[PolicyRule, ...] = ()
    #: Policies in Cedar that deny beside the rules.
    cedar: str = ""
    provenance: ProvenanceRules | None = None
    broker: BrokerRules | None = None
    teams: Mapping[str, Team] = msgspec.field(default_factory=dict)
    people: PeopleRules = PeopleRules()

    def is_registered(self, action_type: str) -> bool:
        return action_type in self.actions

    def engine_of(self, action_type: str) -> str | None:
        """None for a type without registered semantics."""
        rule = self.actions.get(action_type)
        return rule.engine if rule else None

    def risk_of(self, action_type: str) -> Risk | None:
        """None where the engine alone decides (and for a type that is not registered)."""
        rule = self.actions.get(action_type)
        return rule.risk if rule else None

    def price_of(self, action_type: str) -> Decimal:
        """What one decision costs: the type's own price, else its engine's, else the default."""
        rule = self.actions.get(action_type)
        if rule is None:
            return self.default_price_usd
        if rule.price_usd is not None:
            return rule.price_usd
        return self.prices.get(rule.engine, self.default_price_usd)

    def cost_of(self, action_type: str, usage_usd: Decimal = ZERO_USD) -> Decimal:
        """Price and usage together, never below the type's minimum; the same for estimate and outcome."""
        rule = self.actions.get(action_type)
        return max(self.price_of(action_type) + usage_usd, rule.min_price_usd if rule else ZERO_USD)

    def loops_of(self, agent_id: str) -> LoopLimits:
        return self.agent_loops.get(agent_id, self.loops)

    def ceilings_of(self, principal_id: str) -> PrincipalCeilings:
        return self.named_principals.get(principal_id, self.principals)

    @cached_property
    def safe_tools(self) -> frozenset[str]:
        return self._group(ToolGroup.SAFE)

    @cached_property
    def dangerous_tools(self) -> frozenset[str]:
        return self._group(ToolGroup.DANGEROUS)

    def rules_of(self, team: str | None) -> tuple[PolicyRule, ...]:
        """Everybody's, and the team's own under names that nobody else's have."""
        own = self.teams[team].rules if team is not None else ()
        return (*self.rules, *(msgspec.structs.replace(rule, id=f"{team}/{rule.id}") for rule in own))

    @cached_property
    def team_of(self) -> Mapping[str, str]:
        """The team of each principal that has one."""
        return {principal: name for name, team in self.teams.items() for principal in team.principals}

    @cached_property
    def action_rules(self) -> Mapping[str, ActionRule]:
        """What each registered name comes to: one that reads like a dangerous tool is dangerous."""
        return {
            name: mark_dangerous(rule) if self.reads_dangerous(name) else rule
            for name, rule in self.actions.items()
        }

    def reads_dangerous(self, name: str) -> bool:
        return compact_skeleton(name) in self._dangerous_skeletons

    @cached_property
    def _dangerous_skeletons(self) -> frozenset[str]:
        return frozenset(map(compact_skeleton, self.dangerous_tools))

    def _group(self, group: ToolGroup) -> frozenset[str]:
        return frozenset(name for name, rule in self.actions.items() if rule.group is group)

    @cached_property
    def version(self) -> str:
        """The content's hash, the same however the file was written."""
        return f"sha256:{sha256_hex(encode_exact(self.to_wire()))}"

    def to_wire(self) -> dict[str, Json]:
        """The whole policy as JSON: amounts as plain decimal strings, risks by name."""
        wire: dict[str, Json] = _wire(self)
        wire["people"] = None if self.people == PeopleRules() else wire["people"]
        # What nobody uses does not change the name of a policy that was there before it.
        return {name: value for name, value in wire.items() if value or name not in _ADDED_LATER}

    @classmethod
    def from_wire(cls, wire: Mapping[str, Json]) -> "Policy":
        """The policy that `to_wire` wrote. Raises `ValueError` for anything else."""
        actions = {
            name: {**rule, "risk": None if rule["risk"] is None else Risk.from_wire(rule["risk"])}
            for name, rule in wire["actions"].items()
        }
        return msgspec.convert({**wire, "actions": actions}, cls)


def _wire(value: Any) -> Any:
    match value:
        case PolicyRule():
            return {name: _wire(getattr(value, name)) for name in value.__struct_fields__ if name != "line"}
        case msgspec.Struct():
            return {name: _wire(getattr(value, name)) for name in value.__struct_fields__}
        case Risk():
            return value.wire
        case enum.StrEnum():
            return value.value
        case Decimal():
            return plain_amount(value)
        case Mapping():
            return {key: _wire(item) for key, item in value.items()}
        case list() | tuple():
            return [_wire(item) for item in value]
        case set() | frozenset():
            return sorted(map(_wire, value))
    return value


def plain_amount(amount: Decimal) -> str:
    """One spelling per amount: 0.010 and 1E-2 are "0.01"."""
    text = format(amount, "f") if amount else "0"
    return text.rstrip("0").rstrip(".") if "." in text else text


DEFAULT_POLICY: Final = Policy()
