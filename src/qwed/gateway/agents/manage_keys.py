"""API keys: who may call."""

from typing import Final

import msgspec

from qwed.domain.agents import PrincipalId
from qwed.domain.codes import Code
from qwed.domain.credentials import (
    DEFAULT_SCOPES,
    OPERATOR_ROLE,
    ApiKey,
    Caller,
    Scope,
    credential_hash,
)
from qwed.domain.json_types import Json
from qwed.domain.times import iso
from qwed.gateway.kernel.answers import Answer, malformed, refuse
from qwed.gateway.kernel.changes import noted
from qwed.gateway.kernel.ports import Ids
from qwed.gateway.kernel.records import Record
from qwed.gateway.kernel.requests import MAX_NAME, convert
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import require_operator, require_scope

MAX_LIFETIME_SECONDS: Final = 10 * 365 * 86_400


class KeyBody(msgspec.Struct, forbid_unknown_fields=True):
    principal_id: str | None = None
    scopes: tuple[Scope, ...] = DEFAULT_SCOPES
    roles: tuple[str, ...] = ()
    label: str | None = None
    expires_in_seconds: int | None = None


def new_key(ids: Ids, body: KeyBody, now_ms: int, owner: str | None = None) -> tuple[ApiKey, str]:
    """A key and its secret, which is shown once and stored only as a hash."""
    principal = None if body.principal_id is None else PrincipalId(body.principal_id)
    secret = ids.api_key(principal)
    key_hash = credential_hash(secret)
    assert key_hash is not None
    scopes = tuple(dict.fromkeys(body.scopes))
    lifetime = body.expires_in_seconds
    key = ApiKey(
        ids.key(),
        key_hash,
        principal,
        scopes,
        body.roles,
        now_ms,
        body.label,
        expires_ms=None if lifetime is None else now_ms + lifetime * 1000,
        owner=owner,
    )
    return key, secret


async def create_key(services: Services, caller: Caller, raw: Json) -> Answer:
    require_operator(caller)
    body = convert(raw, KeyBody)
    _check_key(body)
    key, secret = new_key(services.ids, body, services.clock.now_ms(), caller.person_id)
    activity = noted(services, caller, "create_key", _key_wire(key), principal_id=key.principal_id)
    await services.store.commit(Record(activity, key=key))
    return Answer({**_key_wire(key), "api_key": secret}, status=201)


def _check_key(body: KeyBody) -> None:
    is_operator = OPERATOR_ROLE in body.roles
    if body.principal_id is None and not is_operator:
        raise malformed("principal_id", "is missing: a key has a principal or the role 'operator'")
    if body.principal_id is not None and is_operator:
        raise malformed("principal_id", "an operator's key is bound to no principal")
    check_principal(body.principal_id)
    if len(body.roles) > 20 or any(not role.strip() or len(role) > MAX_NAME for role in body.roles):
        raise malformed("roles", f"are at most 20 names of 1 to {MAX_NAME} characters")
    if body.label is not None and len(body.label) > MAX_NAME:
        raise malformed("label", f"is longer than {MAX_NAME} characters")
    lifetime = body.expires_in_seconds
    if lifetime is not None and not 1 <= lifetime <= MAX_LIFETIME_SECONDS:
        raise malformed("expires_in_seconds", f"is from 1 to {MAX_LIFETIME_SECONDS}")


def check_principal(principal_id: str | None) -> None:
    if principal_id is not None and not (principal_id.strip() and len(principal_id) <= MAX_NAME):
        raise malformed("principal_id", f"has 1 to {MAX_NAME} characters")


async def list_keys(services: Services, caller: Caller) -> Answer:
    require_scope(caller, Scope.READ)
    keys = await services.store.keys(caller.principal_id)
    return Answer({"keys": [_key_wire(key) for key in keys]})


async def revoke_key(services: Services, caller: Caller, key_id: str) -> Answer:
    require_scope(caller, Scope.REGISTER)
    # To count the operators' keys and to take one away is one step.
    async with services.turns.turn("keys"):
        return await _revoke(services, caller, key_id)


async def _revoke(services: Services, caller: Caller, key_id: str) -> Answer:
    own = await services.store.keys(caller.principal_id)
    key = next((key for key in own if key.key_id == key_id), None)
    if key is None:
        raise refuse(Code.NOT_FOUND, f"there is no key {key_id[:80]!r}")
    others = [other for other in own if other.key_id != key_id]
    if key.is_operator and not any(_outlasts(other) for other in others):
        raise refuse(Code.AUTH_FORBIDDEN, "this is the last operator key: create another one first")
    revoked = msgspec.structs.replace(key, revoked_ms=services.clock.now_ms())
    activity = noted(services, caller, "revoke_key", _key_wire(revoked), principal_id=key.principal_id)
    await services.store.commit(Record(activity, key=revoked))
    return Answer(_key_wire(revoked))


def _outlasts(key: ApiKey) -> bool:
    """A key that expires is no way back in."""
    return key.is_operator and key.revoked_ms is None and key.expires_ms is None


def _key_wire(key: ApiKey) -> dict[str, Json]:
    return {
        "key_id": key.key_id,
        "principal_id": key.principal_id,
        "scopes": key.scopes,
        "roles": key.roles,
        "label": key.label,
        "created_at": iso(key.created_ms),
        "revoked_at": None if key.revoked_ms is None else iso(key.revoked_ms),
        "expires_at": None if key.expires_ms is None else iso(key.expires_ms),
        "owner": key.owner,
    }
