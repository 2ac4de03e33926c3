"""The credential in what comes back: covered in every form, across every border, and nothing else."""

import base64
import urllib.parse

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.tiers import scale

from qwed.broker.forms import CoveredStream, Forms

SECRET = "sk_live_51+Qw/E7-d_é".encode("latin-1")[:-1] + b"%="
FORMS = Forms([SECRET])
ALL = {
    "plain": SECRET,
    "base64": base64.b64encode(SECRET),
    "base64 after one byte": base64.b64encode(b":" + SECRET),
    "base64 after two": base64.b64encode(b"a:" + SECRET),
    "base64 for URLs": base64.urlsafe_b64encode(b"Bearer " + SECRET),
    "percent": urllib.parse.quote_from_bytes(SECRET, safe="").encode(),
    "percent for all": b"".join(b"%%%02x" % byte for byte in SECRET),
    "percent twice": b"".join(b"%%25%02X" % byte for byte in SECRET),
    "base64 in a query": urllib.parse.quote_from_bytes(base64.b64encode(SECRET), safe="").encode(),
    "JSON": b"".join(rb"\u%04x" % byte for byte in SECRET),
    "JSON with slashes": SECRET.replace(b"/", rb"\/"),
    "in other case": SECRET.swapcase(),
    "HTML": b"".join(b"&#%d;" % byte for byte in SECRET),
    "HTML with hexadecimal": b"".join(b"&#x%X;" % byte for byte in SECRET),
    "a literal of bytes": b"".join(rb"\x%02x" % byte for byte in SECRET),
    "quoted-printable": b"".join(b"=%02X" % byte for byte in SECRET),
    "UTF-16": SECRET.decode("latin-1").encode("utf-16-le"),
    "base64 in lines": b"\r\n".join(
        base64.b64encode(SECRET)[at : at + 4] for at in range(0, len(base64.b64encode(SECRET)), 4)
    ),
    "base64 in lines, in JSON": rb"\n".join(
        base64.b64encode(SECRET)[at : at + 5] for at in range(0, len(base64.b64encode(SECRET)), 5)
    ),
    "hexadecimal": SECRET.hex().encode(),
    "hexadecimal in capitals": SECRET.hex().upper().encode(),
}


def covered(pieces):
    stream = CoveredStream(FORMS)
    return b"".join([*map(stream.feed, pieces), stream.end()])


@pytest.mark.parametrize("name", ALL)
def test_no_form_comes_through_whole_or_in_pieces(name):
    form = ALL[name]
    text = b"<" + form + b"> and " + form
    for size in (1, 2, 3, 7, len(text)):
        shown = covered([text[at : at + size] for at in range(0, len(text), size)])

        assert len(shown) == len(text)
        assert form not in shown
        # Of base64 the letters at the borders belong to the neighbours too.
        assert shown.count(b"*") >= 2 * (len(form) - 14)


@settings(max_examples=scale(ci=100, nightly=1_000, long=5_000), deadline=None)
@given(st.lists(st.binary(max_size=40) | st.sampled_from(list(ALL.values())), max_size=8), st.integers(1, 50))
def test_pieces_are_covered_like_the_whole(parts, size):
    text = b"".join(parts)

    shown = covered([text[at : at + size] for at in range(0, len(text), size)])

    assert shown == FORMS.cover(text)
    assert all(form not in shown for form in ALL.values())


@given(st.binary(max_size=400))
def test_other_bytes_stay_as_they_are(data):
    assert covered([data]) == data


def test_what_could_not_be_a_form_is_not_held_back():
    stream = CoveredStream(FORMS)

    assert stream.feed(b"data: 50%\n\n") == b"data: 50%\n\n"
    assert stream.feed(b"the end " + SECRET[:5]) == b"the end "
    assert stream.feed(b"!") == SECRET[:5] + b"!"


def test_a_long_token_costs_no_more_than_a_short_one_and_is_covered():
    token = base64.b64encode(bytes(range(256)) * 12)
    forms = Forms([token])
    stream, text = CoveredStream(forms), b"a" * 100_000 + token[:2_000] + b"|" + token + b"!"

    shown = b"".join([*(stream.feed(text[at : at + 777]) for at in range(0, len(text), 777)), stream.end()])

    assert shown == text[: -len(token) - 1] + b"*" * len(token) + b"!"


def test_marks_of_html_are_covered():
    forms = Forms([b"a&b<c>d\"e'f g"])

    for form in (
        b"a&amp;b&lt;c&gt;d&quot;e&#x27;f g",
        b"a%26b%3Cc%3Ed%22e%27f+g",
        b'a&#38;b&lt;c>d"e&#039;f g',
    ):
        assert set(forms.cover(form)) == {ord("*")}


def test_two_credentials_are_both_covered():
    forms = Forms([b"first-secret", b"second-secret"])

    assert forms.cover(b"first-secret second-secret") == b"*" * 12 + b" " + b"*" * 13
