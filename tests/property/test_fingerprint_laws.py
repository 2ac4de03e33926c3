"""The loop fingerprint: one for all spellings of an action, and another for every other action."""

import hashlib
import unicodedata
from decimal import Decimal

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from tests.property.test_canonical_laws import nested, odd_texts, texts

from qwed.domain.actions import Action, action_hash, members_of
from qwed.domain.canonical import encode_exact
from qwed.domain.fingerprints import Fingerprints, fold, identify
from qwed.domain.json_text import loads
from qwed.domain.sql_case import fold_sql_case

INVISIBLE = ["\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u202e", "\ufe0f", "\U000e0041", "\u034f"]
numbers = st.integers(-(10**25), 10**25) | st.decimals(
    allow_nan=False, allow_infinity=False, min_value=-(10**6), max_value=10**6
)
leaves = st.none() | st.booleans() | numbers | texts | odd_texts
values = nested(leaves)


def current(action, *, is_sql=False):
    return identify(action, is_sql=is_sql)[1].current


def fingerprint(value, *, is_sql=False):
    return current(Action("t", parameters={"p": value}), is_sql=is_sql)


def sql(query, **parameters):
    return current(Action("execute_sql", query, parameters=parameters), is_sql=True)


def respelled_number(draw, number):
    """The same number as JSON may write it."""
    if isinstance(number, int) and not isinstance(number, bool):
        zeros = draw(st.integers(0, 3))
        written = draw(
            st.sampled_from([f"{number}", f"{number}.{'0' * zeros}0", f"{number}.0e0", f"{number}e0"])
        )
        return loads(written.encode())
    return Decimal(f"{number}{'0' if '.' in f'{number}' and 'E' not in f'{number}' else ''}")


@st.composite
def respelled(draw, original):
    """Another spelling of the same value."""
    value = draw(original)
    return value, _respell(draw, value)


def _respell(draw, value):
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | Decimal):
        return respelled_number(draw, value)
    if isinstance(value, str):
        at = draw(st.integers(0, len(value)))
        middle = draw(st.sampled_from(["", *INVISIBLE]))
        return draw(st.sampled_from(["", " ", "\n"])) + value[:at] + middle + value[at:] + "\t"
    if isinstance(value, list):
        return [_respell(draw, item) for item in value]
    spelled = {key: _respell(draw, item) for key, item in value.items()}
    if draw(st.booleans()):
        spelled.setdefault("a member that is null", None)
    return spelled


@given(respelled(values))
def test_every_spelling_of_a_value_has_the_same_fingerprint(pair):
    value, other = pair
    assert fingerprint(value) == fingerprint(other)


@given(values)
def test_folding_twice_is_folding_once(value):
    once = fold(value)
    assert encode_exact(fold(once)) == encode_exact(once)


@given(values, values)
@example("1", 1)
@example("1", Decimal("1.0"))
@example(1, True)
@example(0, False)
@example(0, None)
@example("", None)
@example("null", None)
@example("\x01d1.5", Decimal("1.5"))
@example("\x01i100000000000000000000", 10**20)
@example(Decimal("0.1"), Decimal("0.10000000000000000001"))
@example([None], [])
@example([1, 2], [2, 1])
@example({"a": {"b": None}}, {})
@example({"a": 1, "a\u200b": 2}, {"a": 2, "a\u200b": 1})
def test_two_values_share_a_fingerprint_only_if_they_fold_alike(one, other):
    assume(_meaning(one) != _meaning(other))
    assert fingerprint(one) != fingerprint(other)


def _meaning(value):
    """What the law says a value means, written independently of the code."""
    if isinstance(value, bool) or value is None:
        return ("literal", value)
    if isinstance(value, int | Decimal):
        return ("number", Decimal(value).as_integer_ratio())
    if isinstance(value, str):
        return ("text", _seen(value).strip())
    if isinstance(value, list):
        return ("list", tuple(map(_meaning, value)))
    kept = {key: item for key, item in value.items() if item is not None}
    names = {key: _seen(key) for key in kept}
    if len(set(names.values())) < len(names):
        names = {key: key for key in kept}
    return ("object", tuple(sorted((names[key], repr(_meaning(item))) for key, item in kept.items())))


def _seen(text):
    return "".join(c for c in text if unicodedata.category(c) != "Cf" and not _is_zero_width(c))


def _is_zero_width(character):
    number = ord(character)
    return (
        character in "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2065"
        or 0xFE00 <= number <= 0xFE0F
        or 0xE0000 <= number <= 0xE0FFF
    )


def test_every_format_character_of_unicode_is_folded():
    formats = [chr(n) for n in range(0x110000) if unicodedata.category(chr(n)) == "Cf"]
    assert {fold(f"a{character}b") for character in formats} == {"ab"}


@pytest.mark.parametrize("number", ["1", "1.0", "1e0", "1E+0", "10e-1", "0.1e1", "1.000"])
def test_one_number_has_one_fingerprint_however_it_is_written(number):
    assert fingerprint(loads(number.encode())) == fingerprint(1)
    assert fingerprint(loads(number.encode())) == fingerprint(float(number))
    assert fingerprint(number) != fingerprint(1)


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300))
def test_a_double_is_the_decimal_that_its_shortest_digits_say(number):
    assert fingerprint(number) == fingerprint(Decimal(repr(number)))


members = (
    st.none() | texts | odd_texts | st.sampled_from([" x", "x ", "\tx\n", "x\u00a0", "2+2", "SELECT 'A'"])
)
some_parameters = st.just({}) | st.dictionaries(texts, values, max_size=3)


@given(texts, members, members, members, some_parameters, st.booleans())
def test_the_quick_way_gives_what_the_plain_ways_give(type, query, code, target, parameters, is_sql):
    action = Action(type, query, code, target, parameters)
    exact, prints = identify(action, is_sql=is_sql)

    assert exact == action_hash(action)
    assert prints == Fingerprints(b"\x02" + _plainly_folded(action, is_sql=is_sql), _plainly_trimmed(action))


def _plainly_folded(action, *, is_sql):
    folded = {name: fold(value) for name, value in members_of(action).items()}
    if is_sql and folded["query"] is not None:
        folded["query"] = fold_sql_case(folded["query"])
    if is_sql:
        slots = ("sql", "query", "statement", "stmt")
        folded["parameters"] = {
            key: fold_sql_case(item) if isinstance(item, str) and key.casefold() in slots else item
            for key, item in folded["parameters"].items()
        }
    return hashlib.sha256(encode_exact(folded)).digest()


def _plainly_trimmed(action):
    return hashlib.sha256(encode_exact(_trimmed(members_of(action)))).digest()


def _trimmed(value):
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, dict):
        return {key: _trimmed(item) for key, item in value.items()}
    return [_trimmed(item) for item in value] if isinstance(value, list) else value


@given(values)
def test_the_action_hash_folds_nothing(value):
    action = Action("t", parameters={"p": value})
    assert identify(action)[0] == action_hash(action)


# --- SQL ----------------------------------------------------------------------------------------------------

words = st.text("aAbBzZ_ ,*=<>().;:+0123456789\n", max_size=12)
quoted = st.one_of(
    st.text("aAzZ 0-9,;()", max_size=6).map(lambda text: f"'{text}'"),
    st.text("aAzZ", min_size=1, max_size=6).map(lambda text: f'"{text}"'),
    st.text("aAzZ", min_size=1, max_size=6).map(lambda text: f"`{text}`"),
    st.text("aAzZ", min_size=1, max_size=6).map(lambda text: f"[{text}]"),
    st.text("aAzZ '", max_size=6).map(lambda text: f"-- {text}\n"),
    st.text("aAzZ '", max_size=6).map(lambda text: f"/*{text}*/"),
    st.text("aAzZ '", max_size=6).map(lambda text: f"$${text}$$"),
    st.text("aAzZ '", max_size=6).map(lambda text: f"$Tag${text}$Tag$"),
)
statements = st.lists(st.tuples(words, quoted), max_size=5)


@given(statements, words)
def test_letter_case_is_folded_outside_quotation_marks_and_kept_within(pieces, end):
    text = "".join(outside + inside for outside, inside in pieces) + end
    expected = "".join(outside.lower() + inside for outside, inside in pieces) + end.lower()
    assert fold_sql_case(text) == expected


@given(st.text("aAqQ'\"`[]()-/*#$\\ \nTé", max_size=40))
def test_folding_a_statement_twice_is_folding_it_once_and_never_changes_its_length(text):
    folded = fold_sql_case(text)
    assert fold_sql_case(folded) == folded
    assert len(folded) == len(text)
    assert folded.lower() == text.lower()


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 'it\\'s' FROM T",
        "SELECT 'A",
        'SELECT "A',
        "SELECT A # don't\nFROM T",
        "SELECT q'[it's]' FROM T",
        "SELECT NQ'{A'b}' FROM T",
        "SELECT 1 /* a /* b */ ' */ FROM T",
        "SELECT 1--'A\nFROM T",
        "SELECT $a$ it's FROM T",
        "SELECT /* A",
    ],
)
def test_where_databases_read_quotation_marks_differently_nothing_is_folded(text):
    assert fold_sql_case(text) == text


def test_the_letter_case_of_a_statement_is_folded_for_sql_alone():
    assert sql("SELECT Name FROM Users") == sql("select name from users")
    assert sql("SELECT 'A'") == sql("select 'A'")
    assert sql("SELECT 'A'") != sql("SELECT 'a'")
    assert sql('SELECT "A"') != sql('SELECT "a"')
    assert current(Action("search_web", "SELECT")) != current(Action("search_web", "select"))


def test_parameters_that_hold_a_statement_are_folded_and_values_are_not():
    assert sql(None, statement="SELECT 1") == sql(None, statement="select 1")
    assert sql(None, SQL="SELECT 1") == sql(None, SQL="select 1")
    assert sql("select ?", name="Alice") != sql("select ?", name="alice")
    assert sql("select ?", query_name="A") != sql("select ?", query_name="a")


def test_a_statement_beyond_four_kilobytes_keeps_its_letter_case():
    long = "SELECT " + "a" * 4_096
    assert sql(long) != sql(long.lower())
    assert sql(long[:4_096]) == sql(long[:4_096].lower())
