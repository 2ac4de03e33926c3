"""Numbers, units and dates: how what a source leaves open lies to what a claim leaves open."""

import pytest

from qwed.engines.fact.quantities import Relation
from qwed.engines.fact.sentences import split_sentences
from qwed.engines.fact.sources import ObjectSource, TableSource, TextSource, read_sources
from qwed.engines.fact.text import compare_values, read_items


def relation(claim: str, source: str) -> Relation:
    (said,), (found,) = ([item.value for item in read_items(text) if item.value] for text in (claim, source))
    return compare_values(said, found)


@pytest.mark.parametrize(
    ("claim", "source", "expected"),
    [
        ("5 km", "5,000 m", Relation.SAME),
        ("1 mile", "1,609.344 m", Relation.SAME),
        ("12 inches", "1 foot", Relation.SAME),
        ("6.2 miles", "10 km", Relation.WITHIN),
        ("7 miles", "10 km", Relation.DISJOINT),
        ("2 hours", "120 minutes", Relation.SAME),
        ("2 years", "24 months", Relation.SAME),
        ("1 year", "365 days", Relation.UNKNOWN),
        ("68 °F", "20 °C", Relation.SAME),
        ("$5 million", "$5,000,000", Relation.SAME),
        ("$5m", "US$5,000,000", Relation.SAME),
        ("€5", "$5", Relation.UNKNOWN),
        ("50 cents", "$0.50", Relation.SAME),
        ("5%", "5 percent", Relation.SAME),
        ("twenty-five", "25", Relation.SAME),
        ("two dozen", "24", Relation.SAME),
        ("67 million", "67.4 million", Relation.UNKNOWN),
        ("about 67 million", "67.4 million", Relation.WITHIN),
        ("about 300", "324", Relation.WITHIN),
        ("about 300", "500", Relation.DISJOINT),
        ("300", "about 300", Relation.UNKNOWN),
        ("more than 5", "6", Relation.WITHIN),
        ("more than 5", "5", Relation.DISJOINT),
        ("at least 5", "5", Relation.WITHIN),
        ("fewer than 5", "at least 5", Relation.DISJOINT),
        ("at most 5", "more than 3", Relation.UNKNOWN),
        ("between 5 and 7", "6", Relation.WITHIN),
        ("6", "between 5 and 7", Relation.UNKNOWN),
        ("8", "5-7", Relation.DISJOINT),
        ("more than 9 million", "9.0 million", Relation.UNKNOWN),
        ("-5 °C", "5 °C", Relation.DISJOINT),
        ("in 1998", "on 4 May 1998", Relation.WITHIN),
        ("on 4 May 1998", "in 1998", Relation.UNKNOWN),
        ("on May 4, 1998", "on 1998-05-04", Relation.SAME),
        ("in the 1990s", "in May 1998", Relation.WITHIN),
        ("in the 20th century", "in 1998", Relation.WITHIN),
        ("in 1999", "in 1998", Relation.DISJOINT),
    ],
)
def test_two_values_are_compared_as_what_they_leave_open(claim: str, source: str, expected: Relation) -> None:
    assert relation(claim, source) is expected


def test_a_rate_is_no_amount() -> None:
    assert relation("5 dollars per hour", "5 dollars") is Relation.UNKNOWN


def test_sentences_end_where_a_reader_ends_them() -> None:
    text = 'Dr. Smith met J. R. Jones. They weighed 5.5 kg. Acme Inc. is big! "Really?" Yes.'
    text += "\n\nHeight: 3 m\n- one"

    assert [sentence.text for sentence in split_sentences(text)] == [
        "Dr. Smith met J. R. Jones.",
        "They weighed 5.5 kg.",
        "Acme Inc. is big!",
        '"Really?"',
        "Yes.",
        "Height: 3 m",
        "one",
    ]


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        ("Plain text.", [TextSource]),
        (["One.", "Two."], [TextSource, TextSource]),
        ({"id": "x", "text": "One."}, [TextSource]),
        ([{"id": "x", "text": "One."}, {"id": "y", "json": {"a": 1}}], [TextSource, ObjectSource]),
        ({"name": "Acme", "size": 5}, [ObjectSource]),
        ('{"name": "Acme"}', [ObjectSource]),
        ([{"a": 1}, {"a": 2}], [TableSource]),
        ("a,b\n1,2\n3,4", [TableSource]),
        ("a\tb\n1\t2", [TableSource]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", [TableSource]),
        ([["a", "b"], [1, 2]], [TableSource]),
        ({"id": "t", "table": [["a", "b"], [1, 2]]}, [TableSource]),
        ("First, we came.\nThen, we saw.", [TextSource]),
        ([{"id": 1, "content": "We came."}, {"id": 2, "content": "We saw."}], [TextSource, TextSource]),
        ({"text": "We came.", "author": "Caesar"}, [TextSource, ObjectSource]),
        ({"id": "x", "text": "a,b\n1,2"}, [TableSource]),
    ],
)
def test_sources_are_recognised_in_the_shapes_people_send(given: object, kinds: list[type]) -> None:
    assert [type(source) for source in read_sources(given)] == kinds
