"""The lattice of origins, as laws, and generated conversations against a small model."""

import base64
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from qwed.domain.actions import Action
from qwed.domain.provenance_rules import NO_PROVENANCE_RULES, SourceLabel, SourceRule
from qwed.domain.risk import Risk
from qwed.origins.atoms import Atom, AtomKind, atoms_in
from qwed.origins.index import (
    MAX_INDEX_ATOMS,
    Heard,
    Index,
    OriginLevel,
    Speaker,
    hear_atoms,
    hear_result,
    hear_user,
)
from qwed.origins.judge import judge
from qwed.origins.trace import find

KEY = b"k" * 32
ADDRESSES = [f"{name}@{host}.example" for name in ("anna", "bert", "eve") for host in ("us", "them")]
ADDRESS = st.sampled_from(ADDRESSES)
LABEL = st.sampled_from(list(SourceLabel))
#: Who says which address: the user, a tool with a label and whether in prose, or a person who approves.
EVENT = st.one_of(
    st.tuples(st.just("user"), ADDRESS),
    st.tuples(st.just("approval"), ADDRESS),
    st.tuples(st.just("field"), ADDRESS, LABEL),
    st.tuples(st.just("prose"), ADDRESS, LABEL),
)
EVENTS = st.lists(EVENT, max_size=12)


def hear(event: tuple[str, ...], step: int) -> Heard:
    kind, address = event[0], event[1]
    if kind == "user":
        return hear_user(KEY, f"please write to {address} today", step)
    if kind == "approval":
        return hear_atoms(KEY, Speaker.APPROVAL, atoms_in(address), step)
    result = {"mail": address} if kind == "field" else f"Somebody wrote:\nplease write to {address} today"
    return hear_result(KEY, "read", step, SourceRule(SourceLabel(event[2])), result)


def model(events: list[tuple[str, ...]], address: str) -> OriginLevel | None:
    """The best of its sources."""
    levels = {
        "user": lambda _: OriginLevel.USER,
        "approval": lambda _: OriginLevel.APPROVED,
        "field": lambda e: OriginLevel.UNTRUSTED if e[2] == "untrusted" else OriginLevel.TRUSTED,
        "prose": lambda e: OriginLevel.TRUSTED if e[2] == "trusted" else OriginLevel.UNTRUSTED,
    }
    return max((levels[event[0]](event) for event in events if event[1] == address), default=None)


def level(index: Index, address: str) -> OriginLevel | None:
    found = find(index, Atom(AtomKind.EMAIL, address))
    return None if found is None or found.via else found.level


@given(EVENTS)
def test_a_conversation_is_traced_as_the_model_says(events: list[tuple[str, ...]]) -> None:
    index = Index(KEY, [hear(event, step) for step, event in enumerate(events)])

    for address in ADDRESSES:
        assert level(index, address) == model(events, address)


@given(EVENTS, st.sampled_from(["field", "prose"]), ADDRESS)
def test_what_an_untrusted_tool_says_never_raises_anything(
    events: list[tuple[str, ...]], kind: str, address: str
) -> None:
    before = Index(KEY, [hear(event, step) for step, event in enumerate(events)])
    after = Index(KEY, [*before.heard, hear((kind, address, "untrusted"), 99)])

    for each in ADDRESSES:
        was, now = level(before, each), level(after, each)
        assert now == was or (was is None and now is OriginLevel.UNTRUSTED)


@given(EVENTS, ADDRESS, st.integers(0, 12))
def test_forgetting_never_lets_more_through(
    events: list[tuple[str, ...]], address: str, dropped: int
) -> None:
    heard = [hear(event, step) for step, event in enumerate(events)]
    whole, short = Index(KEY, heard), Index(KEY, heard[dropped:])
    short.is_forgetful = True
    action = Action("send_email", parameters={"to": address})

    if judge(whole, action, NO_PROVENANCE_RULES, Risk.MEDIUM).otherwise is not None:
        assert judge(short, action, NO_PROVENANCE_RULES, Risk.MEDIUM).otherwise is not None


SPELLINGS = st.sampled_from(
    [
        str.upper,
        str.title,
        quote,
        lambda text: quote(text, safe="").replace("%40", "%2540"),
        lambda text: base64.b64encode(text.encode()).decode(),
        lambda text: text.encode().hex(),
        lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
        lambda text: "\u200b".join(text),
        lambda text: f" {text} ",
        lambda text: text.replace("@", "&#64;"),
        lambda text: text.replace("e", "\\u0065"),
    ]
)


@given(ADDRESS, SPELLINGS, st.booleans())
def test_another_spelling_has_the_same_sources(address, spell, in_result) -> None:
    said, asked = (spell(address), address) if in_result else (address, spell(address))
    index = Index(
        KEY, [hear_user(KEY, "hello", 0), hear_result(KEY, "read", 1, SourceRule(), {"body": said})]
    )

    found = judge(index, Action("send_email", parameters={"to": asked}), NO_PROVENANCE_RULES, Risk.MEDIUM)

    assert found.otherwise is not None


@given(st.integers(1, 400), st.integers(1, 400), st.booleans())
def test_a_sum_is_as_good_as_its_worst_part(one: int, other: int, is_users: bool) -> None:
    parts = f"{one + 0.25} and {other + 1000.5}"
    index = Index(KEY, [hear_user(KEY, parts if is_users else "hello", 0)])
    if not is_users:
        index.add(hear_result(KEY, "read", 1, SourceRule(), {"text": parts}))

    found = find(index, Atom(AtomKind.AMOUNT, f"{one + other + 1000.75}"))

    assert found is not None
    assert found.level is (OriginLevel.USER if is_users else OriginLevel.UNTRUSTED)


def test_the_index_is_bounded_and_forgets_what_tools_said_first() -> None:
    index = Index(KEY, [hear_user(KEY, "write to anna@us.example", 0)])
    for step in range(1, 6):
        rows = [f"a{step}x{number}@bulk.example" for number in range(3_000)]
        index.add(hear_result(KEY, "list", step, SourceRule(), rows))

    assert index.size <= MAX_INDEX_ATOMS
    assert level(index, "anna@us.example") is OriginLevel.USER
    assert level(index, "a1x1@bulk.example") is None
    assert level(index, "a5x1@bulk.example") is OriginLevel.UNTRUSTED
    assert index.is_forgetful
