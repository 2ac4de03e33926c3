"""When a delivery is tried again, and when it is given up."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.records import a_delivery, a_webhook

from qwed.domain.deliveries import DeliveryClaim, DeliveryFailure, DeliveryState, backoff_seconds, settled
from qwed.domain.policy import NotificationRules
from qwed.domain.signatures import is_signed, signature
from qwed.domain.webhooks import Channel, Event
from qwed_sdk.webhooks import NotTheGateway, verify

RULES = NotificationRules(
    first_retry_seconds=1, max_retry_seconds=60, max_attempts=5, give_up_after_seconds=90
)


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_waits_grow_to_a_longest_one_and_are_never_less_than_half(attempts, chance):
    wait = backoff_seconds(attempts, RULES, chance)
    whole = min(2.0 ** min(attempts - 1, 60), 60)

    assert whole / 2 <= wait <= whole


def test_what_arrived_is_delivered_and_what_failed_waits():
    delivery = a_delivery(0, attempts=2, last_error="it answered 500")

    assert settled(delivery, None, 10, RULES, 0.5).state is DeliveryState.DELIVERED
    assert settled(delivery, None, 10, RULES, 0.5).last_error is None
    failed = settled(delivery, DeliveryFailure("it answered 502"), 10, RULES, 1.0)
    assert (failed.state, failed.due_ms, failed.last_error) == (
        DeliveryState.PENDING, 2010, "it answered 502",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("attempts", "now_ms", "failure"),
    [
        (5, 10, DeliveryFailure("no")),
        (1, 90_000, DeliveryFailure("no")),
        (1, 10, DeliveryFailure("gone", is_final=True)),
    ],
    ids=["tries", "age", "final"],
)
def test_it_is_given_up_after_its_tries_at_its_age_or_when_nothing_can_help(attempts, now_ms, failure):
    given_up = settled(a_delivery(0, attempts=attempts), failure, now_ms, RULES, 0.5)

    assert given_up.state is DeliveryState.GIVEN_UP
    assert given_up.last_error == failure.reason


def test_a_reason_is_bounded():
    assert len(settled(a_delivery(0, attempts=1), DeliveryFailure("x" * 9999), 0, RULES, 0).last_error) == 200


@given(
    st.lists(st.tuples(st.integers(0, 500), st.sampled_from("abc")), max_size=60, unique_by=lambda c: c[0]),
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 5)),
    st.integers(0, 20),
)
def test_a_claim_takes_the_oldest_and_keeps_every_webhook_to_its_share(candidates, in_flight, limit):
    claim = DeliveryClaim(0, 1, limit, 3, in_flight)
    named = [(str(number), hook) for number, hook in candidates]
    taken = claim.chosen(named)

    assert len(taken) <= limit
    hooks = dict(named)
    for hook in "abc":
        now = sum(hooks[name] == hook for name in taken)
        room = max(0, 3 - in_flight.get(hook, 0))
        waiting = [name for name, each in named if each == hook]
        assert now <= room
        assert [name for name in taken if hooks[name] == hook] == waiting[:now]


# --- webhooks -----------------------------------------------------------------------------------------


def test_a_webhook_hears_of_its_topics_and_with_a_role_of_what_that_role_may_answer():
    everyone, trust = a_webhook(), a_webhook(events=("trust",))
    chiefs = a_webhook(role="chief")

    assert everyone.hears(Event.APPROVAL_REQUESTED) and everyone.hears(Event.OUTCOME_UNKNOWN)
    assert trust.hears(Event.TRUST_SUSPENDED) and not trust.hears(Event.DECISION_FAILED)
    assert not chiefs.hears(Event.APPROVAL_REQUESTED, ("security",))
    assert chiefs.hears(Event.APPROVAL_ESCALATED, ("security", "chief"))
    assert chiefs.hears(Event.DECISION_FAILED)
    assert not everyone.hears(Event.TEST)


@pytest.mark.parametrize(
    ("kind", "url", "shown"),
    [
        (Channel.SLACK, "https://hooks.slack.example/services/T/B/secret", "https://hooks.slack.example/…"),
        (Channel.WEBHOOK, "https://x.example/a?token=secret", "https://x.example/a?…"),
        (Channel.WEBHOOK, "https://u:secret@x.example/a", "https://x.example/a"),
        (Channel.EMAIL, "mailto:a@x.example", "mailto:a@x.example"),
    ],
    ids=["slack", "query", "userinfo", "mail"],
)
def test_what_may_be_a_secret_in_an_address_is_not_shown(kind, url, shown):
    hook = a_webhook(kind=kind, url=url)

    assert hook.to_wire()["url"] == shown
    assert "secret" not in repr(hook)


# --- signatures ---------------------------------------------------------------------------------------


def checked(header: str, body: bytes = b"{}", event_id: str = "evt_1", now: float = 100, secret="s") -> bool:
    return is_signed(secret, header, event_id, body, now_seconds=now, tolerance_seconds=300)


def test_a_signature_fits_exactly_what_was_signed():
    header = signature("s", 100, "evt_1", b"{}")

    assert checked(header)
    assert not checked(header, b"{ }")
    assert not checked(header, event_id="evt_2")
    assert not checked(header, secret="t")
    assert not checked(header, now=401) and not checked(header, now=-201)
    assert not checked(header.replace("t=100", "t=101"))


@given(st.text(max_size=80))
def test_no_other_text_is_a_signature(header):
    assert not checked(header)


def test_the_sdk_gives_the_event_or_refuses():
    body = msgspec.json.encode({"id": "evt_1", "type": "test"})
    header = signature("whsec_x", 100, "evt_1", body)

    assert verify(body, header, "evt_1", "whsec_x", now_seconds=120)["type"] == "test"
    with pytest.raises(NotTheGateway):
        verify(body, header, "evt_1", "whsec_x", now_seconds=1000)
    with pytest.raises(NotTheGateway):
        verify(body + b" ", header, "evt_1", "whsec_x", now_seconds=120)
