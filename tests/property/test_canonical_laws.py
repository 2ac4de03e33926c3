"""Canonical JSON against an independent implementation, and hashes that no two inputs share."""

import json
import math
from decimal import Decimal

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from qwed.domain.actions import Action, action_hash
from qwed.domain.canonical import MAX_SAFE_INTEGER, NotCanonical, encode, encode_exact
from qwed.domain.json_text import JsonError, Unrepresentable, loads

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
odd_texts = st.sampled_from(
    ["", "\x01", "\x01s", "\x01i5", "\x01d1.5", "\x7f", "\u2028", "é", "😀", "\ufb33", '"\\']
)
safe_integers = st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
floats = st.floats(allow_nan=False, allow_infinity=False)
plain = st.none() | st.booleans() | safe_integers | floats | texts | odd_texts


def nested(leaves):
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts | odd_texts, inner, max_size=4),
        max_leaves=12,
    )


@given(nested(plain))
def test_the_bytes_are_those_of_an_independent_implementation(value):
    assert encode(value) == rfc8785.dumps(value)


@given(floats)
@example(1e21)
@example(1e-7)
@example(5e-324)
@example(-0.0)
@example(123456789012345680000.0)
@example(1.7976931348623157e308)
def test_every_double_is_written_as_ecmascript_writes_it(number):
    assert encode(number) == rfc8785.dumps(number)
    assert float(encode(number)) == number


@given(nested(plain))
def test_canonical_bytes_are_json_and_a_fixed_point(value):
    once = encode(value)

    # An integer beyond 2^53 stands for a double there: JSON itself has only numbers.
    assert encode(json.loads(once, parse_int=float)) == once


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        -math.inf,
        2**53,
        -(2**53),
        "\ud800",
        {"\udc00": 1},
        {1: 2},
        {None: 1},
        b"x",
        {1, 2},
        object(),
        Decimal(1),
        1j,
        Unrepresentable("NaN"),
    ],
)
def test_what_has_no_canonical_form_is_refused_by_one_error(value):
    for wrapped in (value, [value], {"a": [value]}):
        with pytest.raises(NotCanonical):
            encode(wrapped)


def test_nesting_without_end_is_refused():
    endless: list = []
    endless.append(endless)

    for write in (encode, encode_exact):
        with pytest.raises(NotCanonical):
            write(endless)


# --- exact hashes ----------------------------------------------------------------------------------------

decimals = st.decimals(allow_nan=False, allow_infinity=False, places=None).filter(
    lambda value: abs(value.adjusted()) < 500
)
any_integers = st.integers(-(10**40), 10**40)
exact_values = nested(
    st.none() | st.booleans() | any_integers | decimals | texts | odd_texts | st.integers().map(str)
)


def json_text(value) -> str:
    """One text for each value, types kept apart: the reference that hashes are compared with."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(k)}:{json_text(value[k])}" for k in sorted(value)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(json_text, value)) + "]"
    if isinstance(value, Decimal):
        return f"decimal({value})"
    return json.dumps(value)


@given(exact_values, exact_values)
def test_two_inputs_share_their_bytes_only_if_they_are_the_same_input(one, other):
    assert (encode_exact(one) == encode_exact(other)) == (json_text(one) == json_text(other))


LOOK_ALIKES = [
    None,
    True,
    False,
    0,
    1,
    "1",
    "null",
    "true",
    "",
    [],
    {},
    [[]],
    [1],
    ["1"],
    Decimal("1.0"),
    Decimal("1.00"),
    Decimal("1"),
    Decimal("1E+1"),
    10,
    "1.0",
    2**53,
    2**53 + 1,
    str(2**53),
    "\x01i9007199254740992",
    "\x01si9007199254740992",
    "\x01d1.0",
    "\x01sd1.0",
    "\x01",
    "\x01s",
    "\x01s\x01",
    {"": 1},
    {"a": 1},
    {"a": "1"},
    {"\x01i1": 1},
    {"\x01s": 1},
    -(2**53),
    "\x01i-9007199254740992",
    10**30,
    Decimal(10**30),
    "ａ",
    "a",
    "é",
    "e\u0301",
]


def test_look_alikes_never_share_a_hash():
    digests = {action_hash(Action("t", parameters={"p": value})) for value in LOOK_ALIKES}

    assert len(digests) == len(LOOK_ALIKES)


def test_the_same_text_in_another_member_is_another_action():
    actions = [Action("t", **{name: "x"}) for name in ("query", "code", "target")]
    actions += [Action("x"), Action("t", parameters={"query": "x"}), Action("t")]

    assert len({action_hash(action) for action in actions}) == len(actions)


def test_an_empty_text_is_not_an_absent_one():
    assert action_hash(Action("t", "")) != action_hash(Action("t"))


@given(st.dictionaries(texts, st.integers(), min_size=2, max_size=5))
def test_the_order_of_members_does_not_matter(members):
    backwards = dict(reversed(members.items()))

    assert action_hash(Action("t", parameters=members)) == action_hash(Action("t", parameters=backwards))


# --- reading ---------------------------------------------------------------------------------------------


@given(nested(st.none() | st.booleans() | st.integers(-(10**30), 10**30) | texts))
def test_reading_what_was_written_gives_it_back(value):
    assert loads(json.dumps(value).encode()) == value
    assert loads(json.dumps(value, ensure_ascii=False).encode()) == value


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20, places=6))
def test_decimals_keep_every_digit(number):
    read = loads(f"[{number}]".encode())[0]

    assert str(read) == str(number) or read == int(number)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused_by_one_error(raw):
    try:
        value = loads(raw)
    except JsonError:
        return
    # Whatever was accepted, the standard reader reads too.
    json.loads(raw)
    assert isinstance(value, dict | list | str | int | Decimal | bool | Unrepresentable | None)


@given(st.text('[]{}",:\\ u0d8a1', max_size=80))
def test_broken_structure_is_read_or_refused_by_one_error(text):
    try:
        loads(text.encode(), max_depth=8)
    except JsonError:
        return
    json.loads(text)
