"""Personal data in the slot that is for it is no leak: an order has an address, a ticket a date of birth.

Where the data goes decides: the slot has to be named for the kind, hold nothing but a value, and belong to a
tool that does not publish. What people read (`body`, `text`, `query`, …) is never such a slot. What the agent
was given, where the caller says so, it may pass on to any tool that does not publish.
"""

from collections.abc import Iterable
from typing import Any, Final

from qwed_open_responses.guards.base import Context
from qwed_open_responses.parts import OutputText, OutputToolCall
from qwed_open_responses.slots import words_of


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_PEOPLE: Final = _set(
    """
    to cc bcc from sender recipient recipients participant participants attendee attendees invitee invitees
    guest guests member members assignee assignees owner organizer organiser host contact contacts user users
    reviewer reviewers requester customer client patient passenger passengers traveler traveller travelers
    rider driver applicant employee candidate person people author subscriber account caller holder lead
    vendor supplier payee beneficiary tenant student teacher parent child
    spouse sibling emergency reporter watchers followers collaborators usernames username login reply
    """
)
_WORDS: Final = {
    "email": _PEOPLE | _set("email emails mail address addresses"),
    "phone": _PEOPLE
    | _set("phone phones mobile cell tel telephone whatsapp sms fax msisdn number numbers line"),
    "postal_address": _PEOPLE
    | _set(
        """
        address addresses street line1 line2 line location locations place places origin destination pickup
        dropoff stop stops start end near venue shipping billing delivery home residence residential
        where site waypoint waypoints departure arrival property house building source target
        """
    ),
    "date_of_birth": _set("birth dob birthday birthdate born birthdates"),
    "ip_address": _set("ip ips ipv4 ipv6 addr host client server remote"),
    "passport": _set("passport passports"),
    "driving_licence": _set("license licence licenses"),
    "iban": _set("iban account beneficiary payee creditor debtor recipient to from"),
}
# Slots that people read, whatever stands around them.
_READ: Final = _set(
    """
    body text message messages content contents note notes comment comments description query question prompt
    title subject summary caption remark reason html markdown instructions transcript review feedback data
    payload q
    """
)
_PUBLISHES: Final = _set(
    "tweet publish broadcast blog forum social announce announcement public post toot paste pastebin gist"
    " upload"
)
_MAX_LENGTH: Final = 200


class Places:
    """Where personal data may stand in one output."""

    def __init__(self, calls: Iterable[OutputToolCall], context: Context | None) -> None:
        self._public = tuple(call.path for call in calls if not _PUBLISHES.isdisjoint(words_of(call.name)))
        self._given = _read_given(context)

    def are_for(self, kind: str, text: OutputText, value: str) -> bool:
        if not text.in_call or any(text.path.startswith(path) for path in self._public):
            return False
        return _is_slot_for(kind, text) or (len(value) > _SHORTEST and _compact(value) in self._given)


# A shorter value would occur in anything.
_SHORTEST: Final = 4


def _is_slot_for(kind: str, text: OutputText) -> bool:
    words = _WORDS.get(kind)
    if words is None or len(text.value) > _MAX_LENGTH or "\n" in text.value:
        return False
    steps = text.path.rpartition("arguments")[2].split(".")
    if not _READ.isdisjoint(words_of(_name(steps[-1]))) or any("<json>" in step for step in steps):
        return False
    return any(not words.isdisjoint(words_of(_name(step))) for step in steps)


def _name(step: str) -> str:
    return step.partition("[")[0]


def _read_given(context: Context | None) -> str:
    """All that the caller says the agent was given, as letters and digits."""
    given: Any = (context or {}).get("given", ())
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list | tuple):
        return ""
    return "\0".join(_compact(text) for text in texts if isinstance(text, str))


def _compact(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))
