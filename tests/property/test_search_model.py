"""A search that looks at a few entries at a time finds, page by page, what a plain filter finds."""

import tempfile
from pathlib import Path

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.fakes import NOON
from tests.support.records import RING, an_activity, an_agent

from qwed.domain.agents import AgentId, PrincipalId
from qwed.gateway.kernel.records import Record, SearchQuery
from qwed.stores.memory import MemoryTables
from qwed.stores.sqlite import SqliteTables, searches

AGENTS = [an_agent(f"agent_{n:016x}", principal) for n, principal in enumerate(("acme", "acme", "globex"))]
DECISIONS = ("APPROVED", "DENIED", "NOTED")

entries = st.tuples(
    st.sampled_from(AGENTS),
    st.sampled_from(DECISIONS),
    st.sampled_from(("c1", "c2", None)),
    st.integers(0, 900_000),
)
optional = st.none()
queries = st.builds(
    SearchQuery,
    principal_id=optional | st.sampled_from(("acme", "globex", "nobody")).map(PrincipalId),
    agent_id=optional | st.sampled_from(AGENTS).map(lambda agent: AgentId(agent.agent_id)),
    from_ms=optional | st.integers(0, 1_000_000).map(lambda ms: NOON + ms),
    to_ms=optional | st.integers(0, 1_000_000).map(lambda ms: NOON + ms),
    decision=optional | st.sampled_from((*DECISIONS, "PENDING")),
    conversation_id=optional | st.sampled_from(("c1", "c3")),
    text=optional | st.just(b"1"),
    limit=st.integers(1, 5),
)


def all_pages(tables, query):
    found, position = [], None
    while True:
        page = tables.search(msgspec.structs.replace(query, before_seq=position))
        assert len(page.entries) <= query.limit
        found += [activity.activity_id for activity, _ in page.entries]
        if page.next_seq is None:
            return found
        assert position is None or page.next_seq < position
        position = page.next_seq


@settings(max_examples=60, deadline=None)
@given(st.lists(entries, max_size=40), st.lists(queries, min_size=1, max_size=6), st.integers(1, 7))
def test_a_search_in_steps_finds_what_a_filter_finds(written, asked, at_once):
    # A clock only goes forward; entries of requests that took longer come a little late.
    records = [
        Record(
            an_activity(agent, NOON + index * 20_000 + late % 30_000, decision, conversation_id=conversation)
        )
        for index, (agent, decision, conversation, late) in enumerate(written)
    ]
    model = MemoryTables(RING)
    model.write(records)
    before, searches.SEARCHED_AT_ONCE = searches.SEARCHED_AT_ONCE, at_once
    with tempfile.TemporaryDirectory() as folder:
        tables = SqliteTables(Path(folder) / "store.db", RING)
        try:
            if records:
                tables.write(records)

            for query in asked:
                assert all_pages(tables, query) == all_pages(model, query)
        finally:
            searches.SEARCHED_AT_ONCE = before
            tables.close()
