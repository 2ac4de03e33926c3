"""How the words travel over HTTP: signed JSON, and messages for Slack, Teams and PagerDuty.

A channel sends one delivery once. Nothing that a receiver answers is read but its status, nothing is
followed, and no address or secret is part of a reason.
"""

import ssl
from collections.abc import Callable
from functools import cached_property
from typing import Any, Final, Protocol
from urllib.parse import parse_qs, urlsplit

import httpx2
import msgspec

from qwed.domain.deliveries import Delivery, DeliveryFailure
from qwed.domain.signatures import EVENT_ID_HEADER, SIGNATURE_HEADER, signature
from qwed.domain.webhooks import Event, Webhook
from qwed.notify.addresses import Doorkeeper, NoticeTarget, RefusedAddress, Resolve, resolve
from qwed.notify.notice_text import NoticeText, Words

GONE: Final = 410
APPROVE_BUTTON: Final = "qwed_approve"
DENY_BUTTON: Final = "qwed_deny"
_ANSWERED: Final = frozenset({Event.APPROVAL_APPROVED, Event.APPROVAL_DENIED, Event.APPROVAL_EXPIRED})
_SEVERITIES: Final = {"low": "info", "medium": "warning", "high": "error", "critical": "critical"}
_USER_AGENT: Final = "QWED"


class Carrier(Protocol):
    async def send(self, hook: Webhook, delivery: Delivery) -> DeliveryFailure | None:
        """None where it arrived. Raises only what is no fault of the receiver's."""
        ...


class HttpPost:
    """One request to the address that was judged, under the name that was asked for."""

    def __init__(self, doorkeeper: Doorkeeper, timeout_seconds: float, resolver: Resolve = resolve) -> None:
        self._doorkeeper = doorkeeper
        self._timeout = timeout_seconds
        self._resolve = resolver

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    async def __call__(self, url: str, headers: dict[str, str], body: bytes) -> DeliveryFailure | None:
        try:
            target = await self._doorkeeper.target(url, self._resolve)
            return _judge(await self._post(target, headers, body))
        except RefusedAddress as refused:
            return DeliveryFailure(str(refused))
        except httpx2.TimeoutException:
            return DeliveryFailure("it did not answer in time")
        except httpx2.ConnectError as error:
            is_tls = isinstance(error.__context__, ssl.SSLError) or "certificate" in str(error).lower()
            return DeliveryFailure("its certificate is not trusted" if is_tls else "nobody answers there")
        except httpx2.HTTPError as error:
            return DeliveryFailure(f"it broke off: {type(error).__name__}")

    async def _post(self, target: NoticeTarget, headers: dict[str, str], body: bytes) -> int:
        """A connection of its own: one that was opened under another name is never used."""
        address = f"[{target.address}]" if ":" in target.address else target.address
        host = f"[{target.host}]" if ":" in target.host else target.host
        all_headers = {
            "Host": f"{host}:{target.port}",
            "Content-Type": "application/json",
            "User-Agent": _USER_AGENT,
            **headers,
        }
        async with (
            httpx2.AsyncClient(
                verify=self._tls, trust_env=False, follow_redirects=False, timeout=self._timeout
            ) as client,
            client.stream(
                "POST",
                f"{target.scheme}://{address}:{target.port}{target.path}",
                content=body,
                headers=all_headers,
                extensions={"sni_hostname": target.host},
            ) as response,
        ):
            return response.status_code


def _judge(status: int) -> DeliveryFailure | None:
    if 200 <= status < 300:
        return None
    if 300 <= status < 400:
        return DeliveryFailure(f"it answered {status}, and redirects are not followed")
    return DeliveryFailure(f"it answered {status}", is_final=status == GONE)


class SignedJson:
    def __init__(self, post: HttpPost, now_ms: Callable[[], int]) -> None:
        self._post = post
        self._now_ms = now_ms

    async def send(self, hook: Webhook, delivery: Delivery) -> DeliveryFailure | None:
        at_seconds = self._now_ms() // 1000
        headers = {
            SIGNATURE_HEADER: signature(hook.secret, at_seconds, delivery.event_id, delivery.body),
            EVENT_ID_HEADER: delivery.event_id,
            "QWED-Event": delivery.event.value,
            "QWED-Delivery-Id": delivery.delivery_id,
            "QWED-Attempt": str(delivery.attempts),
        }
        return await self._post(hook.url, headers, delivery.body)


class ChatMessage:
    """`shape` makes a message of the words, as one kind of receiver wants it."""

    def __init__(self, post: HttpPost, words: Words, shape: Callable[[NoticeText], dict[str, Any]]) -> None:
        self._post = post
        self._words = words
        self._shape = shape

    async def send(self, hook: Webhook, delivery: Delivery) -> DeliveryFailure | None:
        body = msgspec.json.encode(self._shape(await self._words.of(delivery)))
        return await self._post(hook.url, {}, body)


def slack_message(message: NoticeText, *, has_buttons: bool = False) -> dict[str, Any]:
    """Blocks of plain text, in which nothing has a meaning; `text` is what a notification shows. Buttons are
    there where the gateway can tell that it was Slack who says that they were pressed."""
    facts = "\n".join(f"{name}: {value}" for name, value in message.facts)
    blocks: list[dict[str, Any]] = [
        {"type": "header", "text": _plain_text(message.title)},
        {"type": "section", "text": _plain_text(facts or "-")},
    ]
    elements: list[dict[str, Any]] = []
    if has_buttons and message.waits is not None:
        value = " ".join(message.waits)
        elements = [
            _button("Approve", APPROVE_BUTTON, value=value, style="primary"),
            _button("Deny", DENY_BUTTON, value=value, style="danger"),
        ]
    if message.link is not None:
        elements.append(_button("Open", "qwed_open", url=message.link))
    if elements:
        blocks.append({"type": "actions", "elements": elements})
    return {"text": _escape(message.title), "blocks": blocks}


def _button(label: str, action_id: str, **more: str) -> dict[str, Any]:
    return {"type": "button", "text": _plain_text(label), "action_id": action_id, **more}


def teams_message(message: NoticeText) -> dict[str, Any]:
    """An adaptive card of text runs: in those, unlike in text blocks, nothing is markup."""
    lines = [(message.title, "Bolder"), *((f"{name}: {value}", "Default") for name, value in message.facts)]
    card: dict[str, Any] = {
        "type": "AdaptiveCard",
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "version": "1.4",
        "fallbackText": "A notice of QWED: open the dashboard",
        "body": [
            {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text, "weight": weight}]}
            for text, weight in lines
        ],
    }
    if message.link is not None:
        card["actions"] = [{"type": "Action.OpenUrl", "title": "Open", "url": message.link}]
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
    return {"type": "message", "attachments": [attachment]}


class PagerDutyEvent:
    """Events API v2. What waits opens an incident, and its answer closes it. The webhook's address carries
    the integration's key: `https://events.pagerduty.com/v2/enqueue?routing_key=…`."""

    def __init__(self, post: HttpPost, words: Words) -> None:
        self._post = post
        self._words = words

    async def send(self, hook: Webhook, delivery: Delivery) -> DeliveryFailure | None:
        parts = urlsplit(hook.url)
        key = parse_qs(parts.query).get("routing_key", [""])[0]
        body = pagerduty_event(await self._words.of(delivery), delivery, key)
        return await self._post(parts._replace(query="").geturl(), {}, msgspec.json.encode(body))


def pagerduty_event(message: NoticeText, delivery: Delivery, routing_key: str) -> dict[str, Any]:
    told = msgspec.json.decode(delivery.body)
    subject = (told.get("data") or {}).get("approval") or {}
    body: dict[str, Any] = {
        "routing_key": routing_key,
        "event_action": "resolve" if delivery.event in _ANSWERED else "trigger",
        "dedup_key": f"qwed-{subject.get('id') or delivery.event_id}",
        "client": "QWED",
        "payload": {
            "summary": message.title,
            "source": "qwed",
            "severity": _SEVERITIES.get(str(subject.get("risk_level")), "warning"),
            "component": delivery.event.value,
            "custom_details": dict(message.facts),
        },
    }
    if message.link is not None:
        body["client_url"] = message.link
        body["links"] = [{"href": message.link, "text": "Open in QWED"}]
    return body


def _plain_text(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text[:3000], "emoji": False}


def _escape(text: str) -> str:
    """No mention, link or emphasis of an agent's making: those begin with one of these."""
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(character, entity)
    # A word joiner after it, and it marks up nothing.
    return "".join(f"{character}\u2060" if character in "*_~`@#" else character for character in text)
