"""Webhooks: where a principal is told, and what became of what was sent."""

from typing import Final

import msgspec

from qwed.domain.agents import PrincipalId
from qwed.domain.codes import Code
from qwed.domain.credentials import Caller, Scope
from qwed.domain.deliveries import Delivery, DeliveryState
from qwed.domain.json_types import Json
from qwed.domain.times import iso
from qwed.domain.webhooks import MAILTO, Channel, Event, Topic, Webhook
from qwed.gateway.agents.manage_keys import check_principal
from qwed.gateway.kernel.answers import Answer, RequestError, malformed, refuse
from qwed.gateway.kernel.changes import noted
from qwed.gateway.kernel.notifications import addressed
from qwed.gateway.kernel.records import Record
from qwed.gateway.kernel.requests import MAX_NAME, convert
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import require_scope
from qwed.gateway.kernel.wire import encode_json

MAX_WEBHOOKS: Final = 20
MAX_URL: Final = 2_048


class WebhookBody(msgspec.Struct, forbid_unknown_fields=True):
    """`url` is `mailto:somebody@example.com` for e-mail; for PagerDuty it ends with `?routing_key=…`."""

    url: str
    kind: Channel = Channel.WEBHOOK
    events: tuple[str, ...] = tuple(Topic)
    role: str | None = None
    principal_id: str | None = None


async def create_webhook(services: Services, caller: Caller, raw: Json) -> Answer:
    """The address passes the same checks as an `api_call` would."""
    require_scope(caller, Scope.REGISTER)
    body = convert(raw, WebhookBody)
    check_principal(body.principal_id)
    principal = caller.principal_id if not caller.is_operator else _find_given_principal(body)
    if not caller.is_operator and body.principal_id not in (None, caller.principal_id):
        raise refuse(Code.AUTH_FORBIDDEN, "a principal's webhooks are its own")
    for event in body.events:
        if event not in tuple(Topic):
            raise malformed("events", f"are among {', '.join(Topic)}")
    if body.role is not None and not (body.role.strip() and len(body.role) <= MAX_NAME):
        raise malformed("role", f"has 1 to {MAX_NAME} characters")
    _check_url(services, body)
    async with services.turns.turn(("webhooks", principal)):
        return await _add_webhook(services, caller, principal, body)


async def _add_webhook(
    services: Services, caller: Caller, principal: PrincipalId | None, body: WebhookBody
) -> Answer:
    # Asked for nobody's, the store lists everybody's; those of the operator are its own.
    listed = await services.store.webhooks(principal)
    if sum(hook.principal_id == principal for hook in listed) >= MAX_WEBHOOKS:
        raise refuse(Code.AUTH_FORBIDDEN, f"a principal has at most {MAX_WEBHOOKS} webhooks")
    secret = services.ids.secret()
    hook = Webhook(
        services.ids.webhook(),
        principal,
        body.url,
        tuple(dict.fromkeys(body.events)),
        secret,
        services.clock.now_ms(),
        body.kind,
        body.role,
    )
    activity = noted(services, caller, "create_webhook", hook.to_wire(), principal_id=principal)
    await services.store.commit(Record(activity, webhook=hook))
    # Only what is signed has a use for the secret.
    shown_once = {"secret": secret} if body.kind is Channel.WEBHOOK else {}
    return Answer({**hook.to_wire(), **shown_once}, status=201)


def _find_given_principal(body: WebhookBody) -> PrincipalId | None:
    return None if body.principal_id is None else PrincipalId(body.principal_id)


def _check_url(services: Services, body: WebhookBody) -> None:
    if len(body.url) > MAX_URL:
        raise malformed("url", f"is longer than {MAX_URL} characters")
    if body.kind is Channel.EMAIL:
        if not body.url.startswith(MAILTO):
            raise malformed("url", "is an address such as mailto:somebody@example.com")
        problems = services.mail_problems(body.url.removeprefix(MAILTO))
    else:
        if body.kind is Channel.PAGERDUTY and "routing_key=" not in body.url:
            raise malformed("url", "is https://events.pagerduty.com/v2/enqueue?routing_key= and the key")
        problems = services.address_problems(body.url)
    if problems:
        raise malformed("url", problems[0])


async def list_webhooks(services: Services, caller: Caller) -> Answer:
    require_scope(caller, Scope.READ)
    hooks = await services.store.webhooks(caller.principal_id)
    return Answer({"webhooks": [hook.to_wire() for hook in hooks]})


async def drop_webhook(services: Services, caller: Caller, webhook_id: str) -> Answer:
    """What is still on its way to it is given up."""
    require_scope(caller, Scope.REGISTER)
    hook = await _visible_webhook(services, caller, webhook_id)
    activity = noted(services, caller, "drop_webhook", hook.to_wire(), principal_id=hook.principal_id)
    await services.store.commit(Record(activity, dropped_webhook=webhook_id))
    return Answer(hook.to_wire())


async def test_webhook(services: Services, caller: Caller, webhook_id: str) -> Answer:
    """Something to receive, on the way that everything takes."""
    require_scope(caller, Scope.REGISTER)
    hook = await _visible_webhook(services, caller, webhook_id)
    now_ms = services.clock.now_ms()
    event_id = services.ids.event(now_ms)
    body = {
        "id": event_id,
        "type": Event.TEST,
        "created_at": iso(now_ms),
        "principal_id": hook.principal_id,
        "data": {"message": "this is a test: nothing has happened"},
    }
    delivery = addressed(services, hook, Event.TEST, event_id, now_ms, encode_json(body))
    return await _send(services, caller, hook, delivery, "test_webhook")


async def list_deliveries(
    services: Services, caller: Caller, webhook_id: str, *, after: str | None, limit: int
) -> Answer:
    """The events themselves stay out: what they tell of is in the record."""
    require_scope(caller, Scope.READ)
    await _visible_webhook(services, caller, webhook_id)
    found = await services.store.deliveries(webhook_id, after, limit + 1)
    page = found[:limit]
    body: dict[str, Json] = {"deliveries": [delivery.to_wire() for delivery in page]}
    if len(found) > limit:
        body["next"] = page[-1].delivery_id
    return Answer(body)


async def retry_delivery(services: Services, caller: Caller, webhook_id: str, delivery_id: str) -> Answer:
    """Whatever became of it before, it is sent once more."""
    require_scope(caller, Scope.REGISTER)
    hook = await _visible_webhook(services, caller, webhook_id)
    delivery = await services.store.delivery(delivery_id)
    if delivery is None or delivery.webhook_id != webhook_id:
        raise refuse(Code.NOT_FOUND, f"the webhook has no delivery {delivery_id[:80]!r}")
    again = msgspec.structs.replace(
        delivery, state=DeliveryState.PENDING, attempts=0, due_ms=services.clock.now_ms()
    )
    return await _send(services, caller, hook, again, "retry_delivery")


async def _send(services: Services, caller: Caller, hook: Webhook, delivery: Delivery, what: str) -> Answer:
    details = {"webhook_id": hook.webhook_id, "delivery_id": delivery.delivery_id}
    activity = noted(services, caller, what, details, principal_id=hook.principal_id)
    refusal = await services.store.commit(Record(activity, deliveries=(delivery,)))
    if refusal is not None:
        raise RequestError(refusal)
    return Answer(delivery.to_wire(), status=202)


async def _visible_webhook(services: Services, caller: Caller, webhook_id: str) -> Webhook:
    hook = await services.store.webhook(webhook_id)
    if hook is None or not (caller.is_operator or hook.principal_id == caller.principal_id):
        raise refuse(Code.NOT_FOUND, f"there is no webhook {webhook_id[:80]!r}")
    return hook
