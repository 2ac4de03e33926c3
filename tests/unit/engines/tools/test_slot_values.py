"""What rules see of recipients, hosts, amounts and paths, in whichever argument they are."""

import pytest

from qwed.domain.actions import Action
from qwed.engines.tools.slot_values import UnreadableSlot, amounts_of, hosts_of, paths_of, recipients_of


def _action(kind: str, **parameters) -> Action:
    return Action(kind, parameters=parameters)


def test_recipients_are_found_in_every_list_and_folded():
    action = _action(
        "send_email",
        to=["Bob <bob@ACME.example>", "mailto:eve@evil.example"],
        cc="Ann <ann@acme.example>; ops",
        options={"bcc": ["x@B\u00fccher.example"]},
    )

    assert [(each["local"], each["domain"]) for each in recipients_of(action, {})] == [
        ("bob", "acme.example"),
        ("eve", "evil.example"),
        ("ann", "acme.example"),
        ("ops", ""),
        ("x", "xn--bcher-kva.example"),
    ]


def test_a_parameter_that_the_policy_marks_is_read_as_what_it_is_marked():
    action = _action("notify", whom="eve@evil.example")

    assert recipients_of(action, {}) == []
    assert recipients_of(action, {"whom": "email"})[0]["domain"] == "evil.example"


def test_hosts_come_without_user_port_and_capitals():
    action = _action(
        "http_request",
        url="https://user:secret@WWW.Evil.example:8443/path",
        callback={"webhook_url": "//cdn.example/x"},
        note="https://hidden.example/",
    )

    assert hosts_of(action, {}) == ["www.evil.example", "cdn.example", "hidden.example"]


def test_paths_are_read_as_every_decoder_would_read_them():
    found = paths_of(_action("file_read", path="/tmp/../secrets/%6bey", files=["a\\b", "./c"]), {})

    assert "/secrets/key" in found and "a/b" in found and "c" in found


def test_amounts_come_with_the_currency_in_or_beside_them():
    assert amounts_of(_action("transfer_money", amount="1200.50", currency="eur"), {}) == [
        {"value": 1200.5, "currency": "EUR"}
    ]
    assert amounts_of(_action("transfer_money", amount="$7"), {}) == [{"value": 7.0, "currency": "USD"}]


def test_an_amount_that_cannot_be_read_is_no_amount():
    with pytest.raises(UnreadableSlot, match=r"parameters\.amount"):
        amounts_of(_action("transfer_money", amount="a lot"), {})
