"""Events in words: short, plain, and whatever an agent wrote stays text."""

import msgspec
import pytest
from tests.support.records import a_delivery

from qwed.domain.webhooks import Event
from qwed.notify.channels import slack_message
from qwed.notify.mail import write_mail
from qwed.notify.notice_text import MAX_FACT, MAX_TITLE, word

HOSTILE = "\x1b[31m<!channel>\r\nBcc: x@evil.example\u202e *b*" + "x" * 5000


def body(**data) -> bytes:
    told = {"id": "evt_1", "agent_id": "agent_1", "data": data}
    return msgspec.json.encode(told)


BODIES = {
    "approval": {
        "approval": {
            "id": "apr_1",
            "status": "open",
            "action": {"type": HOSTILE, "query": HOSTILE, "parameters": {HOSTILE: HOSTILE}},
            "risk_level": "high",
            "reason": HOSTILE,
            "user_intent": HOSTILE,
            "votes": [{"by": "key:k", "note": HOSTILE}],
            "expires_at": "2026-04-06T12:00:00.000Z",
        }
    },
    "decision": {
        "decision": {
            "action": {"type": HOSTILE, "code": HOSTILE},
            "error": {"message": HOSTILE},
            "verification": {"risk_level": "low", "reason": HOSTILE},
        }
    },
    "trust": {
        "agent": {"name": HOSTILE, "trust_level": 0, "status": "active"},
        "change": {"reason": HOSTILE},
    },
    "outcome": {"outcome": {"activity_id": "act_1", "action_type": HOSTILE}},
    "policy": {
        "change": {
            "version": 7,
            "kind": "stop",
            "by": HOSTILE,
            "reason": HOSTILE,
            "policy_version": "sha256:00",
            "stops": [{"scope": "tool", "name": HOSTILE}, {"scope": "all", "name": None}],
            "rolled_back_to": None,
            "approved_by": HOSTILE,
        }
    },
    "test": {"message": "hello"},
}


@pytest.mark.parametrize("event", Event)
def test_every_event_has_words_in_which_nothing_of_an_agents_is_more_than_text(event):
    message = word(event, body(**BODIES[event.topic]))

    assert 0 < len(message.title) <= MAX_TITLE
    for text in (message.title, *(value for _, value in message.facts)):
        assert text.isprintable() and len(text) <= MAX_FACT


@pytest.mark.parametrize("event", Event)
def test_an_event_of_which_much_was_left_out_has_words_too(event):
    assert word(event, body()).title
    assert word(event, body(approval={"left_out": ["action"]})).title


@pytest.mark.parametrize(
    ("change", "title", "facts"),
    [
        (
            {"kind": "stop", "stops": [{"scope": "tool", "name": "refund"}, {"scope": "all", "name": None}]},
            "Stopped by key:k",
            {"Stopped now": "tool refund; everything"},
        ),
        ({"kind": "resume", "stops": []}, "Resumed by key:k", {}),
        ({"kind": "apply", "approved_by": "person:b"}, "Policy applied by key:k", {"Agreed by": "person:b"}),
        ({"kind": "rollback", "rolled_back_to": 3}, "Policy rolled back by key:k", {"Back to": "3"}),
    ],
)
def test_a_change_of_the_policy_says_what_changed_who_did_it_and_why(change, title, facts):
    told = {"version": 4, "by": "key:k", "reason": "a leak", "policy_version": "sha256:00", **change}
    text = word(Event.POLICY_CHANGED, body(change=told))

    assert text.title == title
    expected = {"Change": "4", "Why": "a leak", "Policy": "sha256:00", **facts}
    assert dict(text.facts) == {"Agent": "agent_1", **expected, "Event": "evt_1"}


def test_mail_has_no_header_but_ours():
    mail = write_mail(
        word(Event.APPROVAL_REQUESTED, body(**BODIES["approval"])),
        "q@x.example",
        "a@b.example",
        a_delivery(5),
    )

    names = {name.lower() for name in mail.keys()}  # noqa: SIM118
    assert names == {
        "from", "to", "subject", "date", "message-id", "auto-submitted", "content-type",
        "content-transfer-encoding", "mime-version",
    }  # fmt: skip
    assert b"\nBcc:" not in mail.as_bytes()


def test_a_notification_text_mentions_nobody():
    text = slack_message(word(Event.DECISION_FAILED, body(**BODIES["decision"])))["text"]

    assert "<" not in text and "&lt;!channel&gt;" in text
