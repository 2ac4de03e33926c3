"""Values that change the statement they are put into."""

import pytest
from tests.corpora import fragments

from qwed_open_responses.sql_fragments import SIGNAL, SIGNALS, breaks_out
from qwed_open_responses.text_scan import compiled


def _is_found(value: str) -> bool:
    return compiled(SIGNALS[SIGNAL]).search(value) is not None and breaks_out(value.replace("%00", "\0"))


def test_injections_that_the_rules_were_not_made_from_are_found() -> None:
    held = [value for value in fragments.INJECTIONS if fragments.is_held_back(value)]
    missed = [value for value in held if not _is_found(value)]

    assert len(missed) / len(held) <= 0.02, missed


def test_names_prose_and_searches_are_none() -> None:
    refused = [value for value in fragments.ORDINARY if _is_found(value)]

    assert len(refused) / len(fragments.ORDINARY) <= 0.01, refused


@pytest.mark.parametrize(
    "value", ['"IS"', "'or'", "1 or 2", "Order by 5 pm", "union select board", "time.sleep(5)", "", "'"]
)
def test_words_and_signs_of_sql_are_no_injection(value: str) -> None:
    assert not breaks_out(value)


def test_nesting_without_end_is_read_within_bounds() -> None:
    assert not breaks_out("' or " + "(" * 5000)
