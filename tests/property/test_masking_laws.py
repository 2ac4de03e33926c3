"""The quick look before masking never passes a text, or a record, in which masking would change anything."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.corpora.secret_texts import KEYS, KINDS, PLACED, UUID
from tests.support.pattern_samples import draw
from tests.support.tiers import scale

from qwed.domain.credential_places import find_placed
from qwed.domain.plain_texts import is_plain
from qwed.domain.secrets import find_secrets, mask_for_record
from qwed.domain.vendor_keys import VENDORS
from qwed.gateway.kernel.masks import is_harmless, shown

BY_PLACE = [
    "curl -u deploy:tr4vel-light https://api.example.org",
    "run --user deploy:tr4vel-light now",
    "machine api.example.org login deploy password tr4vel-light",
    "auth = ZGVwbG95OnRyNHZlbC1saWdodA== and more",
    "recovery phrase: " + " ".join(["apple", "river"] * 6),
    "Basic dXNlcjpwYXNzd29yZDE=",
    "ACME_ADMIN_KEY=9f86d081884c7d659a2feaa0c55ad015",
    *(
        f"{owner} key: 9f86d081884c7d659a2feaa0c55ad015"
        for owner in (
            "signing",
            "encryption",
            "master",
            "license",
            "shared",
            "account",
            "access",
            "private",
            "auth",
        )
    ),
    "apiKey=9f86d081884c7d659a2feaa0c55ad015",
    "authkey=9f86d081884c7d659a2feaa0c55ad015",
    "xoxb-12345abcde and a_long_run_of_letters",
    "passphrase=tr4vel-light",
    "Passcode: tr4vel-light",
    "PIN: 4711",
    "pwd=tr4vel",
    "bob:pa\\ss1word@db:5432/app",
    "$1$abcdefgh$aB3dE5fG7hI9j",
    "$1$ab,cd,ef,gh,ij,kl,mn,op1 and a_long_run_of_letters",
]
SECRET_TEXTS = [*KINDS.values(), *KEYS.values(), *PLACED, *BY_PLACE]
NAMES = [
    *(
        "password",
        "apiKey",
        "x-api-key",
        "Proxy-Authorization",
        "auth",
        "set_cookie2",
        "sessionToken",
        "db_passwd",
    ),
    *("ｐａｓｓｗｏｒｄ", "pass\u200bword", "cookıe", "ſecret", "TO\u212aEN", "credentials : ", " 'bearer'"),
]
AROUND = (
    "",
    " ",
    "\n",
    "\t",
    "\x02",
    "x",
    "7",
    "é",
    "ü",
    "→",
    "\\",
    "\\n",
    '"',
    "'",
    "(",
    "=",
    ":",
    ",",
    "_",
    "-",
    "/",
)
around = st.lists(st.one_of(st.sampled_from(AROUND), st.text(max_size=6)), max_size=4).map("".join)
ordinary = st.sampled_from(
    [UUID, "9f86d081884c7d659a2feaa0c55ad015", "conversation-0000000001", "the total, please"]
)


def is_masked(text: str) -> bool:
    """By the rules themselves, without the quick look."""
    return bool(find_secrets(text) or find_placed(text))


def places(text: str):
    """Wherever a text can stand in a record."""
    yield from ({"query": text}, {text: 1}, [text], [[text, "x"]], {"a": [{"b": text}], "id": UUID})


@pytest.mark.parametrize("text", SECRET_TEXTS)
def test_no_secret_is_passed_over_whatever_stands_around_it(text):
    assert is_masked(text) or is_masked(f"{text} a_long_run_of_letters")
    for before in AROUND:
        for after in AROUND[::4]:
            said = f"{before}{text}{after}"
            if is_masked(said):
                assert not is_plain(said), said
                assert mask_for_record(said) != said
                assert not is_harmless({"query": said}), said


@pytest.mark.parametrize("text", SECRET_TEXTS)
def test_a_record_with_a_secret_anywhere_is_not_harmless(text):
    for said in places(f"see\n{text}\tnow a_long_run_of_letters"):
        assert shown(said) == said or not is_harmless(said)


@pytest.mark.parametrize("name", NAMES)
def test_a_value_under_the_name_of_a_secret_is_not_harmless(name):
    for said in (
        {name: "plain"},
        {"a": [{name: ["plain"]}]},
        [name, "plain"],
        {"name": name, "value": "plain"},
    ):
        assert "plain" not in str(shown(said))
        assert not is_harmless(said)


#: A drawn text is no such key: it has to decode, or something has to stand before it.
NOT_DRAWN = {"jwt", "basic_credentials", "telegram_token", "azure_client_secret"}


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: f"{vendor.kind} {vendor.marker}")
def test_what_any_vendors_pattern_describes_is_not_passed_over(vendor):
    masked = 0
    for seed in range(scale(ci=12, nightly=500)):
        key = draw(vendor.pattern.pattern, random.Random(seed))
        for text in (key, f"see\n{key}\tnow", f"x={key}, {vendor.marker} {UUID}"):
            masked += is_masked(text)
            assert not (is_plain(text) and is_masked(text)), text
            assert shown({"query": text}) == {"query": text} or not is_harmless({"query": text}), text

    assert masked or vendor.kind in NOT_DRAWN


@settings(max_examples=scale(ci=400, nightly=10_000), deadline=None)
@given(
    st.lists(st.one_of(st.sampled_from(SECRET_TEXTS), st.sampled_from(NAMES), ordinary, around), max_size=5)
)
def test_a_harmless_record_is_shown_as_it_was_said(parts):
    joined = "".join(parts)
    for said in (*places(joined), parts, dict.fromkeys(parts, joined)):
        assert not is_harmless(said) or shown(said) == said


def test_an_integer_that_is_too_long_to_show_is_not_harmless():
    assert not is_harmless({"n": 1 << 4_096})
    assert is_harmless({"n": 1 << 2_000})


@pytest.mark.parametrize(
    "said",
    [
        {"conversation_id": "9f86d081884c7d659a2feaa0c55ad015"},
        {"conversation_id": "thread_000000000000000000000001f"},
        {"conversation_id": UUID, "user_intent": "Compare the shipping cost; the author is a monkey"},
        {"source": "https://shop.example/orders/1", "commit": "9f86d081884c7d659a2feaa0c55ad0151e9a3b2c"},
        {"to": "bob@example.com", "at": "10:30"},
        {"code": "for row in rows:\n\tprint(row.total)\n"},
    ],
)
def test_ordinary_identifiers_and_words_are_harmless(said):
    assert is_harmless(said)
    assert shown(said) == said
