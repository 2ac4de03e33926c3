"""How the words travel: signed JSON and Slack-compatible messages over HTTP, plain text by mail.

A channel sends one delivery once. Nothing that a receiver answers is read but its status, nothing is
followed, and no address or secret is part of a reason.
"""

import ssl
from collections.abc import Callable
from functools import cached_property
from typing import Any, Final, Protocol

import httpx2
import msgspec

from qwed.domain.deliveries import Delivery, DeliveryFailure
from qwed.domain.signatures import EVENT_ID_HEADER, SIGNATURE_HEADER, signature
from qwed.domain.webhooks import Webhook
from qwed.notify.addresses import Doorkeeper, NoticeTarget, RefusedAddress, Resolve, resolve
from qwed.notify.wording import NoticeText, worded

GONE: Final = 410
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
            return _judged(await self._post(target, headers, body))
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


def _judged(status: int) -> DeliveryFailure | None:
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


class SlackMessage:
    def __init__(self, post: HttpPost) -> None:
        self._post = post

    async def send(self, hook: Webhook, delivery: Delivery) -> DeliveryFailure | None:
        body = msgspec.json.encode(slack_message(worded(delivery.event, delivery.body)))
        return await self._post(hook.url, {}, body)


def slack_message(message: NoticeText) -> dict[str, Any]:
    """Blocks of plain text, in which nothing has a meaning; `text` is what a notification shows."""
    facts = "\n".join(f"{name}: {value}" for name, value in message.facts)
    return {
        "text": _escaped(message.title),
        "blocks": [
            {"type": "header", "text": _plain_text(message.title)},
            {"type": "section", "text": _plain_text(facts or "-")},
        ],
    }


def _plain_text(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text[:3000], "emoji": False}


def _escaped(text: str) -> str:
    """No mention, link or emphasis of an agent's making: those begin with one of these."""
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(character, entity)
    # A word joiner after it, and it marks up nothing.
    return "".join(f"{character}\u2060" if character in "*_~`@#" else character for character in text)
