"""Whatever is erased, in whatever order, from however full a file: not a byte of it is left on the disk."""

import tempfile
from pathlib import Path

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.fakes import FakeClock
from tests.support.records import RING, an_activity, an_agent, an_approval, an_outcome, noted

from qwed.domain.approvals import ApprovalStatus
from qwed.domain.outcomes import OutcomeResult
from qwed.domain.policy import DEFAULT_POLICY
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.records import Record, Redaction, Tombstone
from qwed.stores import open_sqlite

NEEDLE = "needle-in-the-file "
ROWS = st.lists(
    st.tuples(st.booleans(), st.sampled_from([1, 3, 20, 90, 700]), st.integers(0, 10**9)),
    min_size=1,
    max_size=40,
)


def story(agent, number, row):
    """An activity, its approval and its outcome, all with the same words in them."""
    is_secret, times, at_ms = row
    text = (NEEDLE if is_secret else "filler ") * times
    activity = an_activity(
        agent,
        1_000 + number,
        payload=msgspec.json.encode({"text": text}),
        conversation_id=text[:60],
        action_type=text[:30],
    )
    # Ids in no order, so that the trees of the file are split and joined at random.
    approval = an_approval(agent, at_ms, status=ApprovalStatus.DENIED, intent=text)
    return activity, approval, an_outcome(activity, OutcomeResult.FAILURE, error=text)


def blank(agent, stories):
    return Redaction(
        agent.agent_id,
        tuple(Tombstone(activity.activity_id, "erased", None, b"{}") for activity, _, _ in stories),
        tuple(msgspec.structs.replace(approval, intent=None) for _, approval, _ in stories),
        tuple(msgspec.structs.replace(outcome, error=None) for _, _, outcome in stories),
        tuple({activity.conversation_id for activity, _, _ in stories}),
    )


@settings(max_examples=15, deadline=None)
@given(ROWS, st.randoms(use_true_random=False), st.integers(1, 6))
def test_nothing_of_what_is_erased_is_left_in_the_file(rows, chance, together):
    agent = an_agent()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "q.db"
        store = open_sqlite(path, DEFAULT_POLICY, FakeClock(), RING)
        try:
            run(store.commit(noted(agent, 1_000, agent=agent)))
            secret = []
            for number, row in enumerate(rows):
                activity, approval, outcome = story(agent, number, row)
                run(store.commit(Record(activity, approval=approval)))
                run(store.commit(noted(agent, 1_000, outcome=outcome)))
                secret += [(activity, approval, outcome)] if row[0] else []
            chance.shuffle(secret)
            for first in range(0, len(secret), together):
                redaction = blank(agent, secret[first : first + together])
                run(store.commit(noted(agent, 2_000, redaction=redaction)))

            assert not any(NEEDLE[:8].encode() in file.read_bytes() for file in Path(folder).iterdir())
        finally:
            store.close()
