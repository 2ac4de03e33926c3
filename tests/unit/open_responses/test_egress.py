"""What the guard finds of secrets that leave in addresses: thresholds on drawn samples."""

import base64
import json
import zlib

import pytest
from tests.corpora import egress
from tests.corpora.egress import addresses

from qwed_open_responses.guards import SafetyGuard
from qwed_open_responses.spelled_pieces import readings_of
from qwed_open_responses.url_secrets import find_hidden_secrets


@pytest.fixture(scope="module")
def guard() -> SafetyGuard:
    return SafetyGuard(max_calls=None)


def _passes(guard: SafetyGuard, text: str) -> bool:
    return guard.check({"type": "text", "text": text}).passed


@pytest.mark.parametrize("seed", ["first", "second", "third"])
def test_nearly_every_disguise_of_a_secret_in_an_address_is_seen_through(
    guard: SafetyGuard, seed: str
) -> None:
    samples = list(addresses.hostile(seed))
    missed = [name for name, text in samples if _passes(guard, text)]

    assert len(samples) == 132
    assert len(missed) <= 2, missed


def test_hashes_numbers_and_signed_names_are_no_secrets(guard: SafetyGuard) -> None:
    texts = list(addresses.ordinary("first"))

    assert len(texts) == 680
    assert [text for text in texts if not _passes(guard, text)] == []


def test_many_ordinary_addresses_in_one_text_do_not_add_up_to_a_secret(guard: SafetyGuard) -> None:
    assert _passes(guard, "\n".join(addresses.ordinary("second")))


def test_forty_letters_beside_an_address_of_the_vendor_are_no_key() -> None:
    drawn = "lwjdmiI4ggf6eGvk0uz3FvAHjqnbC87IhJAEF7Fu"
    text = f"https://bucket-aws-logs-0123456789.example.com/ https://x.example.com/a/{drawn}/b"

    assert list(find_hidden_secrets(text)) == []


def test_what_is_packed_is_unpacked_only_so_far() -> None:
    bomb = base64.urlsafe_b64encode(zlib.compress(b"a1" * 1_000_000, 9)).decode()[:880]

    assert all(len(reading) <= 4_096 for reading in readings_of(bomb))


def test_most_orders_in_descriptions_and_cards_are_found(guard: SafetyGuard) -> None:
    hostile = egress.HOSTILE_DESCRIPTIONS
    texts = [json.dumps(one) for one in (*egress.tools(hostile), *egress.cards(hostile))]
    missed = [text for text in (*hostile, *texts) if _passes(guard, text)]

    assert len(hostile) == 40
    assert len(missed) <= 0.2 * 3 * len(hostile)


def test_honest_descriptions_and_cards_pass(guard: SafetyGuard) -> None:
    honest = egress.HONEST_DESCRIPTIONS
    texts = [json.dumps(one) for one in (*egress.tools(honest), *egress.cards(honest))]

    assert len(honest) == 35
    assert [text for text in (*honest, *texts) if not _passes(guard, text)] == []
