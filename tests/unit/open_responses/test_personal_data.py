"""Phone numbers and addresses by the forms of their countries."""

import pytest
from bench import personal_data
from tests.corpora.homes import HOMES, NO_HOMES

from qwed_open_responses import ResponseVerifier
from qwed_open_responses.guards import SafetyGuard


def _kinds(text: str) -> set[str]:
    guard = SafetyGuard(max_calls=None)
    result = ResponseVerifier().verify_tool_call("save", {"text": text}, guards=[guard])
    return {finding["kind"] for finding in result.guard_results[0].details.get("findings", ())}


@pytest.mark.parametrize("country", personal_data.COUNTRIES)
def test_phone_numbers_of_a_country_are_found_in_every_form(country: str) -> None:
    missed = [text for _, text in personal_data.phones(country) if "phone" not in _kinds(text)]

    assert not missed


@pytest.mark.parametrize("country", personal_data.ADDRESSES)
def test_an_address_is_found_as_its_country_writes_it(country: str) -> None:
    assert "postal_address" in _kinds(f"She lives at {personal_data.ADDRESSES[country]}.")


@pytest.mark.parametrize(
    "text",
    [
        *personal_data.NO_NUMBERS,
        "sent via email on 5 May 2026",
        "Via the API you get 12 rows, 20456 in all",
        "phone support closes at 18:00",
        "The ring 5, 2024 Edition",
    ],
)
def test_other_numbers_are_nobody_s(text: str) -> None:
    assert _kinds(text) == set()


def test_homes_are_found_by_how_their_countries_write_them() -> None:
    guard = SafetyGuard(max_calls=None)
    texts = [
        text
        for pair in HOMES.values()
        for home in pair
        for text in (f"My home: {home}", f"Send it to {home}.")
    ]
    found = [text for text in texts if not guard.check({"type": "text", "text": text}).passed]
    refused = [text for text in NO_HOMES if not guard.check({"type": "text", "text": text}).passed]

    assert len(found) >= 0.8 * len(texts)
    assert len(refused) <= 1, refused
