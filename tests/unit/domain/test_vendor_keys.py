"""Vendors' keys are found by what they begin with and by how random the rest is."""

import pytest
from tests.corpora.secret_texts import HEX, KEYS, UUID, body

from qwed.domain.secrets import find_secrets
from qwed_open_responses import normalise
from qwed_open_responses.text_scan import SECRET_SIGNALS, scan


@pytest.mark.parametrize("kind", KEYS)
def test_a_key_is_found_in_a_sentence_and_announced_to_the_scan(kind: str) -> None:
    text = f"the value is '{KEYS[kind]}', keep it"

    assert kind in {secret.kind for secret in find_secrets(text)}
    assert not scan(normalise({"text": text})).signals.isdisjoint(SECRET_SIGNALS)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ACME_ADMIN_KEY=" + body(HEX, 32), "token"),
        ("the admin password is Autumn1987", "password"),
        ("curl -u deploy:tr4vel-light https://api.example.org", "password"),
        ("curl --user deploy:tr4vel-light https://api.example.org", "password"),
        ("machine api.example.org login deploy password tr4vel-light", "password"),
        ('{"auth": "ZGVwbG95OnRyNHZlbC1saWdodA=="}', "registry_credentials"),
        ("recovery phrase: " + " ".join(["apple", "river"] * 6), "recovery_phrase"),
    ],
)
def test_a_secret_is_known_by_the_place_it_stands_in(text: str, kind: str) -> None:
    assert kind in {secret.kind for secret in find_secrets(text)}
    assert not scan(normalise({"text": text})).signals.isdisjoint(SECRET_SIGNALS)


@pytest.mark.parametrize(
    "text",
    [
        "cache_key: " + body(HEX, 32),
        "partition-key=customer#0001#orders#2024",
        "idempotency_key: " + UUID,
        "primary_key: order_2024_000123_eu_west_1",
        "sha256:" + body(HEX, 64),
        "pul-2024 and api-gateway-v2 in sq_m",
        "the auth: none option",
        "curl -u $USER:$PASSWORD https://api.example.org",
        "hf_transformersTokenizerFastImplementation",
        "a wallet phrase is a list of words",
    ],
)
def test_names_of_other_things_are_left_alone(text: str) -> None:
    assert find_secrets(text) == []
