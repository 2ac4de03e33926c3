"""Personal data in the slot that is for it, and on its way elsewhere."""

from typing import Any

import pytest
from tests.corpora import schema_calls
from tests.support.tiers import scale

from qwed_open_responses import ResponseVerifier
from qwed_open_responses.guards import SafetyGuard, ToolGuard

_ADDRESS = "742 Evergreen Terrace, Springfield, IL 62704"


def _passes(tool: str, arguments: dict[str, Any], context: dict[str, Any] | None = None) -> bool:
    guard = SafetyGuard(max_calls=None)
    return ResponseVerifier().verify_tool_call(tool, arguments, guards=[guard], context=context).verified


@pytest.mark.parametrize("is_held_back", [False, True])
def test_harmless_calls_pass(is_held_back: bool) -> None:
    verifier = ResponseVerifier([ToolGuard(), SafetyGuard(max_calls=None)])
    made = list(schema_calls.calls(is_held_back, scale(ci=250, nightly=1750, long=1750)))
    refused = [call for call in made if not verifier.verify_tool_call(*call).verified]

    assert len(refused) / len(made) <= 0.012, refused[:3]


@pytest.mark.parametrize(
    "arguments",
    [
        {"shipping_address": _ADDRESS},
        {"recipient": {"address": {"line1": _ADDRESS}}},
        {"passengers": [{"date_of_birth": "1985-03-12"}]},
        {"participants": ["ann.lee@gmail.com"]},
        {"sender": "ann.lee@gmail.com"},
    ],
)
def test_data_in_its_slot_is_no_leak_unless_the_tool_publishes(arguments: dict[str, Any]) -> None:
    assert _passes("create_order", arguments)
    assert not _passes("publish_page", arguments)


@pytest.mark.parametrize("slot", ["body", "query", "comment", "file_name"])
def test_data_in_another_slot_is_a_leak(slot: str) -> None:
    assert not _passes("create_order", {slot: f"she lives at {_ADDRESS}"})


def test_numbers_that_name_a_person_are_refused_in_every_slot() -> None:
    assert not _passes("create_order", {"customer": {"ssn": "536-22-8714"}})
    assert not _passes("create_order", {"customer": {"card": "4111 1111 1111 1111"}})


def test_what_the_agent_was_given_it_may_pass_on_but_not_publish() -> None:
    arguments = {"remark": "call +1 415 555 2671"}
    context = {"given": ["Book a table, my number is +1 (415) 555-2671."]}

    assert not _passes("book_table", arguments)
    assert _passes("book_table", arguments, context)
    assert not _passes("post_tweet", arguments, context)
