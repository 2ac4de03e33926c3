"""An encoding does not hide what it encodes."""

import base64
from urllib.parse import quote

import pytest

from qwed.domain.text_forms import canonical, decodings, is_disguised

HIDDEN = "DROP TABLE users;"


@pytest.mark.parametrize(
    "text",
    [
        quote(HIDDEN, safe=""),
        quote(quote(HIDDEN, safe=""), safe=""),
        "".join(f"&#{ord(letter)};" for letter in HIDDEN),
        "".join(f"\\x{ord(letter):02x}" for letter in HIDDEN),
        "".join(f"\\u{ord(letter):04x}" for letter in HIDDEN),
        base64.b64encode(HIDDEN.encode()).decode(),
        base64.urlsafe_b64encode(HIDDEN.encode()).decode().rstrip("="),
        base64.b64encode(base64.b64encode(HIDDEN.encode())).decode(),
        base64.b64encode(HIDDEN.encode("utf-16-le")).decode(),
        HIDDEN.encode().hex(),
        f"see {base64.b64encode(HIDDEN.encode()).decode()} there",
    ],
)
def test_decodings_show_what_is_hidden(text: str) -> None:
    assert is_disguised(text)
    assert any(HIDDEN in reading for reading in decodings(canonical(text)))


@pytest.mark.parametrize(
    "text",
    [
        "\u200b".join(HIDDEN),
        "".join(chr(ord(c) + 0xFEE0) if c != " " else c for c in HIDDEN),
        HIDDEN[:3] + "\x00" + HIDDEN[3:],
    ],
)
def test_disguises_are_undone(text: str) -> None:
    assert canonical(text) == HIDDEN


def test_digits_of_other_scripts_are_digits() -> None:
    assert canonical("٤١١١") == "4111"


@pytest.mark.parametrize(
    "text",
    [
        "a plain sentence with long words, internationalisation",
        "order-item-identifier",
        "updated_at_timestamp",
        "415555267100",
    ],
)
def test_ordinary_text_is_not_decoded(text: str) -> None:
    assert not is_disguised(text)


def test_random_looking_identifiers_decode_to_nothing_readable() -> None:
    assert list(decodings("req_8f14e45fceea167a5a36dedd4bea2543 dGhpc0lzTm90")) in ([], ["thisIsNot"])
