"""Register an agent: nested or flat, checked field by field, its token shown once."""

from decimal import Decimal
from typing import Any, Final

import msgspec

from qwed.domain.agents import (
    DEFAULT_TRUST,
    Agent,
    AgentId,
    AgentType,
    Permissions,
    PrincipalId,
)
from qwed.domain.codes import Code
from qwed.domain.credentials import Caller, Scope, credential_hash
from qwed.domain.json_text import describe_type
from qwed.domain.json_types import Json
from qwed.domain.policy import BudgetLimits
from qwed.domain.registry import ENGINE_NAMES
from qwed.domain.trust import TrustLevel
from qwed.domain.trust_changes import Cause
from qwed.gateway.kernel.answers import Answer, malformed, refuse
from qwed.gateway.kernel.changes import noted
from qwed.gateway.kernel.records import Record
from qwed.gateway.kernel.requests import MAX_COUNT, MAX_NAME, MAX_TEXT, Amount, convert, read_amount
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.trust_entries import record_standing_change
from qwed.gateway.kernel.visibility import require_scope

MAX_LISTED: Final = 1_000


class BudgetBody(msgspec.Struct, forbid_unknown_fields=True):
    max_daily_cost_usd: Amount = msgspec.UNSET
    max_per_request_cost_usd: Amount = msgspec.UNSET
    max_requests_per_hour: int | msgspec.UnsetType | None = msgspec.UNSET
    max_requests_per_day: int | msgspec.UnsetType | None = msgspec.UNSET
    max_tokens_per_request: int | msgspec.UnsetType | None = msgspec.UNSET
    max_daily_tokens: int | msgspec.UnsetType | None = msgspec.UNSET


class IdentityBody(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    type: AgentType
    principal_id: str | None = None
    description: str | None = None
    framework: str | None = None
    model: str | None = None


class FlatBody(IdentityBody, forbid_unknown_fields=True):
    permissions: Permissions | None = None
    budget: BudgetBody | None = None
    trust_level: Any = None


class NestedBody(msgspec.Struct, forbid_unknown_fields=True):
    agent: IdentityBody
    permissions: Permissions | None = None
    budget: BudgetBody | None = None
    trust_level: Any = None


async def register_agent(services: Services, caller: Caller, raw: Json) -> Answer:
    require_scope(caller, Scope.REGISTER)
    body = _flatten(raw)
    # The count and the new agent are one step: registrations of one principal take turns.
    async with services.turns.turn(("register", caller.principal_id)):
        return await _register(services, caller, body)


async def _register(services: Services, caller: Caller, body: FlatBody) -> Answer:
    principal_id = await _principal(services, caller, body)
    permissions = body.permissions or Permissions()
    check_permissions(permissions)
    token = services.ids.agent_token(principal_id)
    token_hash = credential_hash(token)
    assert token_hash is not None
    agent = Agent(
        agent_id=AgentId(services.ids.agent()),
        name=_text("name", body.name, MAX_NAME),
        type=body.type,
        principal_id=principal_id,
        token_hash=token_hash,
        trust_level=_trust(caller, body),
        permissions=permissions,
        budget=read_budget(services.policy.budgets, body.budget),
        created_ms=services.clock.now_ms(),
        description=_optional("description", body.description, MAX_TEXT),
        framework=_optional("framework", body.framework, MAX_NAME),
        model=_optional("model", body.model, MAX_NAME),
        token_seen_by=caller.names,
    )
    activity = noted(services, caller, "register_agent", agent.to_wire(), agent=agent)
    change = record_standing_change(caller, agent, agent, Cause.REGISTERED, None, activity)
    await services.store.commit(Record(activity, agent=agent, trust_changes=(change,)))
    wire = agent.to_wire()
    return Answer({**wire, "agent_token": token, "activity_id": activity.activity_id}, status=201)


def _flatten(raw: Json) -> FlatBody:
    if not (isinstance(raw, dict) and "agent" in raw):
        return convert(raw, FlatBody)
    body = convert(raw, NestedBody)
    identity = {name: getattr(body.agent, name) for name in IdentityBody.__struct_fields__}
    return FlatBody(
        **identity, permissions=body.permissions, budget=body.budget, trust_level=body.trust_level
    )


async def _principal(services: Services, caller: Caller, body: FlatBody) -> PrincipalId:
    """A principal registers its own agents; only an operator may name somebody else."""
    given = body.principal_id
    if given is not None and not given.strip():
        raise malformed("principal_id", "is blank")
    if caller.is_operator:
        if given is None:
            raise malformed("principal_id", "is missing")
        return PrincipalId(_text("principal_id", given, MAX_NAME))
    if given not in (None, caller.principal_id):
        raise refuse(Code.AUTH_FORBIDDEN, "a principal registers agents of its own only")
    assert caller.principal_id is not None
    await _check_standing(services, caller.principal_id)
    return caller.principal_id


async def _check_standing(services: Services, principal_id: PrincipalId) -> None:
    count, has_violation = await services.store.principal_standing(principal_id)
    if has_violation:
        raise refuse(
            Code.AUTH_FORBIDDEN,
            "one of your agents is suspended for a violation: an operator has to register new ones",
        )
    limit = services.policy.ceilings_of(principal_id).max_agents
    if limit is not None and count >= limit:
        raise refuse(
            Code.AUTH_FORBIDDEN, f"a principal has at most {limit} agents", limit=limit, current=count
        )


def _trust(caller: Caller, body: FlatBody) -> TrustLevel:
    default = DEFAULT_TRUST[body.type]
    level = default if body.trust_level is None else read_trust_level("trust_level", body.trust_level)
    if level > default and not caller.is_operator:
        raise refuse(
            Code.AUTH_FORBIDDEN, f"trust level {level} is above the default {default} of type '{body.type}'"
        )
    if (level is TrustLevel.TRUSTED or body.type is AgentType.TRUSTED) and not caller.is_operator:
        raise refuse(Code.AUTH_FORBIDDEN, "type 'trusted' and trust level 3 need an operator's key")
    return level


def read_trust_level(field: str, value: Any) -> TrustLevel:
    """0 to 3, or its name."""
    if type(value) is int and 0 <= value <= 3:
        return TrustLevel(value)
    if isinstance(value, str) and value.upper() in TrustLevel.__members__:
        return TrustLevel[value.upper()]
    names = ", ".join(level.name.lower() for level in TrustLevel)
    raise malformed(field, f"is 0 to 3 or one of {names}, not {describe_type(value)}")


def check_permissions(permissions: Permissions) -> None:
    for name in permissions.allowed_engines:
        if name not in ENGINE_NAMES:
            raise malformed(
                "permissions.allowed_engines",
                f"'{name[:80]}' is no engine; there are {', '.join(ENGINE_NAMES)}",
            )
    for field in ("allowed_engines", "allowed_tools", "blocked_tools"):
        names = getattr(permissions, field)
        if len(names) > MAX_LISTED:
            raise malformed(f"permissions.{field}", f"lists more than {MAX_LISTED} names")
        if any(not name.strip() or len(name) > MAX_NAME for name in names):
            raise malformed(f"permissions.{field}", f"names have 1 to {MAX_NAME} characters")


def read_budget(base: BudgetLimits, body: BudgetBody | None) -> BudgetLimits:
    """The limits given, on top of `base`."""
    if body is None:
        return base
    changes: dict[str, Json] = {}
    for field in BudgetBody.__struct_fields__:
        value = getattr(body, field)
        if value is msgspec.UNSET:
            continue
        changes[field] = None if value is None else _limit(f"budget.{field}", value)
    return msgspec.structs.replace(base, **changes)


def _limit(field: str, value: Any) -> Decimal | int:
    if field.endswith("_usd"):
        amount = read_amount(field, value)
        exponent = amount.as_tuple().exponent
        if isinstance(exponent, int) and exponent < -9:
            raise malformed(field, "has at most 9 decimal places")
        return amount
    if not isinstance(value, int) or not 0 <= value <= MAX_COUNT:
        raise malformed(field, f"is an integer from 0 to {MAX_COUNT}")
    return value


def _text(field: str, value: str, limit: int) -> str:
    if not value.strip():
        raise malformed(field, "is blank")
    if len(value) > limit:
        raise malformed(field, f"is longer than {limit} characters")
    return value


def _optional(field: str, value: str | None, limit: int) -> str | None:
    if value is not None and len(value) > limit:
        raise malformed(field, f"is longer than {limit} characters")
    return value
