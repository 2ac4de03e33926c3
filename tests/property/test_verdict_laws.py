"""`tighten` is the one way in which verdicts are combined: these laws make the order of rows free."""

from hypothesis import given
from hypothesis import strategies as st

from qwed.domain.codes import Code, Refusal
from qwed.domain.decisions import Decision
from qwed.domain.verdicts import APPROVED, Asked, Verdict

ORDER = [
    Decision.APPROVED,
    Decision.CORRECTED,
    Decision.PENDING,
    Decision.BUDGET_EXCEEDED,
    Decision.DENIED,
]
names = st.sampled_from("abc")
asked = st.builds(
    Asked,
    roles=st.frozensets(names, max_size=2),
    seconds=st.none() | st.integers(1, 3),
    rules=st.lists(names, max_size=3, unique=True).map(tuple),
)
refusals = st.builds(Refusal, st.sampled_from([Code.TRUST_INSUFFICIENT, Code.APPROVAL_REQUIRED]), names)
verdicts = st.just(APPROVED) | st.builds(
    Verdict, st.sampled_from(Decision), st.none() | refusals, st.integers(0, 2), asked
)


@given(verdicts, verdicts)
def test_it_does_not_matter_who_speaks_first(one, other):
    assert one.tighten(other) == other.tighten(one)


@given(verdicts, verdicts, verdicts)
def test_it_does_not_matter_which_two_are_joined_first(one, other, third):
    assert one.tighten(other).tighten(third) == one.tighten(other.tighten(third))


@given(verdicts)
def test_saying_it_twice_changes_nothing(one):
    assert one.tighten(one) == one
    assert one.tighten(APPROVED).decision is one.decision


@given(verdicts, verdicts)
def test_nothing_is_ever_loosened(one, other):
    both = one.tighten(other)

    assert ORDER.index(both.decision) == max(ORDER.index(one.decision), ORDER.index(other.decision))
    assert both.asked.roles == one.asked.roles | other.asked.roles
    assert set(both.asked.rules) == {*one.asked.rules, *other.asked.rules}
    given_seconds = [item.asked.seconds for item in (one, other) if item.asked.seconds is not None]
    assert both.asked.seconds == min(given_seconds, default=None)


@given(verdicts, verdicts)
def test_of_two_equally_strict_ones_the_lower_precedence_speaks(one, other):
    both = one.tighten(other)

    if one.decision is other.decision and one.precedence < other.precedence:
        assert both.refusal == one.refusal
