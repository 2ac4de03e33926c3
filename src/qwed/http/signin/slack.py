"""Buttons that people press in Slack. Slack signs what it sends; the policy says who its users are here."""

import hashlib
import hmac
import urllib.parse
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from qwed.domain.agents import PrincipalId
from qwed.domain.codes import Code
from qwed.domain.credentials import Caller, Person
from qwed.gateway.kernel.answers import malformed, refuse
from qwed.gateway.kernel.services import Services

MAX_SLACK_BYTES: Final = 262_144
#: What Slack sends is believed for so long; an approval is answered once, whoever repeats it.
MAX_AGE_SECONDS: Final = 300
#: By the id of the button, as the notice names it.
_BUTTONS: Final = {"qwed_approve": True, "qwed_deny": False}


class SlackPress(msgspec.Struct, frozen=True):
    user_id: str
    user_name: str
    approves: bool
    approval_id: str
    action_hash: str


class SlackDoor:
    """`issuer` is the identity provider of this gateway: one person is one person, wherever they answer."""

    def __init__(self, services: Services, secret: str, issuer: str) -> None:
        self._first = services
        self._secret = secret.encode()
        self._issuer = issuer

    @property
    def _services(self) -> Services:
        return self._first.newest

    def read(self, headers: Mapping[str, str], raw: bytes) -> SlackPress | None:
        """What was pressed; None where Slack did not send it, or not now. Raises 422 for anything else."""
        if not self._is_signed(headers, raw):
            return None
        try:
            form = urllib.parse.parse_qs(raw.decode("ascii"), strict_parsing=True, max_num_fields=10)
            told: Any = msgspec.json.decode(form["payload"][0])
            user, (pressed, *_) = told["user"], told["actions"]
            approves = _BUTTONS[pressed["action_id"]]
            approval_id, _, action_hash = pressed["value"].partition(" ")
            return SlackPress(
                str(user["id"]), str(user.get("username", ""))[:200], approves, approval_id, action_hash
            )
        except (ValueError, KeyError, TypeError, AttributeError, msgspec.MsgspecError):
            raise malformed("payload", "is not a button of a notice of this gateway") from None

    def _is_signed(self, headers: Mapping[str, str], raw: bytes) -> bool:
        at, given = headers.get("x-slack-request-timestamp", ""), headers.get("x-slack-signature", "")
        if not (at.isascii() and at.isdecimal() and len(at) <= 12):
            return False
        if abs(self._services.clock.now_ms() // 1000 - int(at)) > MAX_AGE_SECONDS:
            return False
        signed = b"v0:" + at.encode() + b":" + raw
        expected = "v0=" + hmac.new(self._secret, signed, hashlib.sha256).hexdigest()
        return hmac.compare_digest(expected.encode(), given.encode("latin-1", "replace"))

    def caller(self, pressed: SlackPress) -> Caller:
        """Who that is here, and what they may do. Raises 403 for whom the policy does not name."""
        people = self._services.policy.people
        known = people.slack.get(pressed.user_id)
        if known is None:
            message = "the policy does not say who this Slack user is (people.slack)"
            raise refuse(Code.APPROVAL_FORBIDDEN, message)
        rights = people.rights_of(known.groups)
        if isinstance(rights, str):
            raise refuse(Code.APPROVAL_FORBIDDEN, rights)
        name = pressed.user_name or known.subject
        return Caller(
            principal_id=None if rights.principal is None else PrincipalId(rights.principal),
            person=Person(self._issuer, known.subject, name, "slack"),
            group_roles=rights.roles,
            group_scopes=rights.scopes,
        )
