"""Which action a request is: read from its method, host, path, query and body, whole, or refused. No I/O."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from qwed.broker.refusals import BrokerRefused
from qwed.domain.broker_rules import BrokerHost
from qwed.domain.codes import Code
from qwed.domain.permits import PERMIT_HEADER
from qwed_sdk.request_actions import PlainRequest, RequestAction, action_of_request
from qwed_sdk.results import Json
from qwed_sdk.tool_map import NotShowable

#: What says nothing about the effect. Any other header is left out, unless the policy lists it.
_PLAIN_HEADERS: Final = frozenset(
    {"accept", "accept-language", "content-type", "idempotency-key", "user-agent"}
)
_OVERRIDES: Final = frozenset({"x-http-method-override", "x-http-method", "x-method-override"})
_PERMIT: Final = PERMIT_HEADER.lower()


class BrokeredHeaders:
    """The headers of one request, by name. A name that says how to read the body stands there once."""

    def __init__(self, pairs: Sequence[tuple[bytes, bytes]]) -> None:
        self.pairs = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in pairs]
        for name in ("content-type", "host", _PERMIT, "proxy-authorization", "content-encoding"):
            if sum(found == name for found, _ in self.pairs) > 1:
                raise _refuse(f"the request has {name} twice")

    def get(self, name: str) -> str | None:
        return next((value for found, value in self.pairs if found == name), None)

    @property
    def permit(self) -> str | None:
        return self.get(_PERMIT)

    def refuse_other_readings(self) -> None:
        """What would make the request another one than the one that is compared. Raises `BrokerRefused`."""
        names = {name for name, _ in self.pairs}
        if "upgrade" in names or "sec-websocket-key" in names:
            raise _refuse("a WebSocket has no permit: one permit is for one request")
        if self.get("content-encoding") not in (None, "identity"):
            raise _refuse("an encoded body can't be compared with its permit")
        if names & _OVERRIDES:
            raise _refuse("the request asks to be read with another method")


class HostMatch:
    """One entry of the policy, ready to compare requests with."""

    def __init__(self, name: str, entry: BrokerHost) -> None:
        self.name = name
        self.entry = entry
        self.origin = f"https://{name}"
        self._routes = [_route(route, action, entry) for route, action in entry.routes.items()]
        self._any = [
            RequestAction(action, method, None, entry.fields)
            for action in entry.actions
            for method in entry.methods
        ]
        self._passed = _PLAIN_HEADERS | {header.lower() for header in entry.headers}

    def rules_for(self, method: str, path: str) -> Sequence[RequestAction]:
        """Routes come first; a path that has none falls to `actions`. Raises `BrokerRefused`."""
        found = [rule for rule in self._routes if rule.fits(method, path)] or [
            rule for rule in self._any if rule.fits(method, path)
        ]
        if not found:
            what = f"{method} {path}"[:200]
            raise BrokerRefused(Code.BROKER_HOST, f"the policy has no action for {what!r} at {self.name}")
        return found

    def actions_of(
        self, rules: Sequence[RequestAction], target: str, method: str, content_type: str, body: bytes
    ) -> list[Mapping[str, Json]]:
        """What the request may be called; a permit is for one of them."""
        path, _, query = target.partition("?")
        request = PlainRequest(method, path, query, content_type, body, self.origin)
        try:
            return [action_of_request(rule, request, {}) for rule in rules]
        except NotShowable as problem:
            raise _refuse(str(problem)) from None

    def passed_on(self, headers: BrokeredHeaders) -> list[tuple[str, str]]:
        """Of the agent's headers: none that could change the effect, and not the one that is put in."""
        own = self.entry.inject.header.lower()
        return [(name, value) for name, value in headers.pairs if name in self._passed and name != own]


def _route(route: str, action: str, entry: BrokerHost) -> RequestAction:
    method, _, path = route.partition(" ")
    return RequestAction(action, method, path, entry.fields)


def hash_fields(digest: str, content_type: str) -> bytes:
    """The fields of a body that is named by its hash."""
    return json.dumps({"body_sha256": digest, "content_type": content_type}).encode()


def _refuse(why: str) -> BrokerRefused:
    return BrokerRefused(Code.BROKER_REQUEST, why)
