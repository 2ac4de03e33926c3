"""Today's answers and records are those that were recorded."""

import itertools

from tests.oracle import recording
from tests.oracle.comparing import compare, read_ignored
from tests.oracle.run import FIRST_OF_LAST, LAST, play_as_text
from tests.support.tiers import scale


def test_the_gateway_answers_and_records_as_it_did():
    left, found = scale(ci=700, nightly=5_000, long=21_000), []
    for number, old in recording.read(recording.DEFAULT):
        # The prefix, and each corner once.
        if left > 0 or FIRST_OF_LAST <= number < FIRST_OF_LAST + len(LAST):
            found += compare(number, old, play_as_text(number), read_ignored())
            left -= sum(map(recording.is_request, old))

    assert "\n\n".join(map(str, found[:10])) == ""


def test_ids_make_no_difference():
    for number, old in itertools.islice(recording.read(recording.DEFAULT), 2):
        assert compare(number, old, play_as_text(number, salt="other ids"), read_ignored()) == []


def test_a_difference_is_found_and_one_that_is_expected_is_not():
    number, old = next(recording.read(recording.DEFAULT))
    new = [line.replace('"decision":"DENIED"', '"decision":"APPROVED"') for line in old]

    assert compare(number, old, new, [])
    assert compare(number, old, new, ["**.decision"]) == []
