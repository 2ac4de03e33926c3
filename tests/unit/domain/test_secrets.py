"""Secrets are found by shape, structure and context, and masked whole."""

import json
from itertools import pairwise

import pytest
from tests.corpora.hostile import SECRETS
from tests.corpora.secret_texts import JWT, KINDS
from tests.support.calls import counted_calls

from qwed.domain.secrets import FoundSecret, entropy, find_secrets, is_secret_value, mask, preview

HARMLESS = [
    "password must be at least 12 characters",
    "password: ********",
    "sk-your-api-key-here-1",
    "max_tokens: 4096",
    "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
    "token=${API_TOKEN_1}",
    "api_key = os.environ['KEY1']",
    "nextPageToken: CAUQAA1234567890abcd",
    "password_changed_at: 2024-01-01T10:00:00Z",
    "token_endpoint: https://auth.example.com/oauth2/v1/token",
    "postgres://user:password@localhost:5432/db",
    "idempotency_key: 123e4567-e89b-12d3-a456-426614174000",
    "PEM files start with -----BEGIN PRIVATE KEY----- and 64 columns",
    "the secret is 2 cups of flour",
    "eyJub3QiOiJhIHRva2VuIn0x.eyJub3QiOiJhIHRva2VuIn0x.signature1",
]


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_found_by_its_name(kind: str) -> None:
    assert kind in {secret.kind for secret in find_secrets(KINDS[kind])}


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_a_secret_is_left_alone(text: str) -> None:
    assert find_secrets(text) == []
    assert mask(text) == text


@pytest.mark.parametrize("kind", KINDS)
def test_a_masked_text_holds_no_secret_any_more(kind: str) -> None:
    masked = mask(f"see: {KINDS[kind]} (end)")

    assert find_secrets(masked) == []
    assert masked.startswith("see: ")


def test_masking_keeps_json_valid_and_the_rest_of_the_text() -> None:
    text = json.dumps(
        {"password": "hunter2", "note": "keep me", "inner": json.dumps({"token": "9f86d081884c7d659a2f"})}
    )

    assert json.loads(mask(text))["note"] == "keep me"
    assert "hunter2" not in mask(text)
    assert "9f86" not in mask(text)


def test_an_unfinished_private_key_is_masked_to_the_end() -> None:
    assert mask("x -----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg") == "x [masked private_key]"


def test_secrets_come_in_order_and_do_not_overlap() -> None:
    found = find_secrets(f"password=hunter2 then {JWT} then token: {JWT}")

    assert all(left.end <= right.start for left, right in pairwise(found))
    assert [secret.kind for secret in found] == ["password", "jwt", "jwt"]


def test_a_named_value_is_a_secret_by_its_name() -> None:
    assert is_secret_value("db_password", "hunter2")
    assert not is_secret_value("password_policy", "strict-2024")
    assert not is_secret_value("comment", "hunter2")


def test_a_preview_shows_too_little_to_use() -> None:
    assert preview("AKIAZ3MGNRTX4QPLK2VB") == "AKIA…(20 characters)"
    assert preview("abc") == "…(3 characters)"


def test_entropy_is_counted_in_bits_per_character() -> None:
    assert entropy("") == 0.0
    assert entropy("aaaa") == 0.0
    assert entropy("abcd") == 2.0


@pytest.mark.parametrize("unit", SECRETS)
def test_four_times_the_hostile_text_takes_four_times_the_calls(unit: str) -> None:
    def calls(size: int) -> int:
        with counted_calls() as work:
            find_secrets("1" + unit * (size // len(unit)))
        return work.calls

    assert calls(80_000) < 5 * calls(20_000) + 100


def test_a_secret_is_a_value() -> None:
    assert FoundSecret("jwt", 0, 3) == FoundSecret("jwt", 0, 3)
