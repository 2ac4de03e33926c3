"""Laws of behaviour verification: the sliding rate is that of counting again, for every order of arrival."""

import uuid

from hypothesis import given, settings
from hypothesis import strategies as st

from qwed.assurance.behaviour import BehaviourRule, Monitor
from qwed.assurance.specs import read_spec
from qwed.ect.claims import Claims

AGENT = "spiffe://example.com/agent/a"
START = 1_800_000_000


def windows_passed(iats, receives, limit):
    """Whether the last action is in a window (t − 60, t] with more than `limit`, by either clock."""
    by_own = any(sum(end - 60 < iat <= end for iat in iats) > limit for end in range(iats[-1], iats[-1] + 60))
    by_ledger = sum(receives[-1] - 60_000 < at <= receives[-1] for at in receives) > limit
    return by_own or by_ledger


@settings(max_examples=300, deadline=None)
@given(
    st.integers(0, 5),
    st.lists(
        st.tuples(
            st.sampled_from([0, 1, 30, 59, 60, 61, 119, 400]), st.sampled_from([0, 1, 59, 60, 61, 300])
        ),
        min_size=1,
        max_size=25,
    ),
)
def test_the_rate_is_that_of_counting_every_window(limit, arrivals):
    spec = read_spec(
        {
            "spec_version": "1",
            "agent_id": AGENT,
            "allowed_actions": ["act"],
            "constraints": {"max_actions_per_minute": limit},
        }
    )
    monitor, received, iats, receives = Monitor(spec), START * 1000, [], []
    for number, (pause, age) in enumerate(arrivals):
        received += pause * 1000
        iat = received // 1000 - age
        iats.append(iat)
        receives.append(received)
        claims = Claims(AGENT, ("v",), iat, iat + 600, str(uuid.UUID(int=number)), "act", ())
        found = [violation.rule for violation in monitor.check(claims, received)]

        expected = [BehaviourRule.MAX_ACTIONS_PER_MINUTE] if windows_passed(iats, receives, limit) else []
        assert found == expected
