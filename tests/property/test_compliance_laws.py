"""The figures of a report against the same figures computed the plain way, from the list of everything."""

import tempfile
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.fakes import DAY, NOON, FakeClock
from tests.support.records import RING, an_activity, an_agent, an_outcome

from qwed.domain.outcomes import OutcomeResult
from qwed.domain.policy import DEFAULT_POLICY
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.records import Record, ReportScope
from qwed.gateway.reporting.report_sums import Count
from qwed.stores import memory, open_memory, open_sqlite
from qwed.stores.sqlite import searches

AGENTS = (an_agent(principal="acme"), an_agent(principal="acme"), an_agent(principal="rival"))
CODES = ("QWED-AGENT-005", "QWED-AGENT-LOOP-003", "QWED-AGENT-BUDGET-001", None)
VERIFICATIONS = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {
            "status": st.sampled_from(["VERIFIED", "FAILED", "UNCERTAIN"]),
            "engine": st.sampled_from(["math", "sql"]),
            "risk_level": st.sampled_from(["low", "critical"]),
        }
    ),
)
ENTRIES = st.lists(
    st.fixed_dictionaries(
        {
            "agent": st.sampled_from(AGENTS),
            "at_ms": st.integers(0, 5 * DAY).map(lambda offset: NOON + offset),
            "decision": st.sampled_from(
                ["APPROVED", "DENIED", "CORRECTED", "PENDING", "BUDGET_EXCEEDED", "NOTED"]
            ),
            "code": st.sampled_from(CODES),
            "verification": VERIFICATIONS,
            "version": st.sampled_from(["sha256:a", "sha256:b"]),
            "cost": st.integers(-(10**9), 2**62),
            "tokens": st.integers(0, 10**9),
            "redacted": st.booleans(),
            "outcome": st.none()
            | st.tuples(st.sampled_from(OutcomeResult), st.sampled_from(["agent:a", "key:k"])),
        }
    ),
    max_size=25,
)
PERIODS = st.tuples(st.integers(0, 5 * DAY), st.integers(0, 5 * DAY)).map(sorted)


def write(store, entries):
    for entry in entries:
        facts = {"policy_version": entry["version"]}
        if entry["verification"] is not None:
            facts["verification"] = entry["verification"]
        if entry["redacted"]:
            facts["redacted"] = True
        activity = an_activity(
            entry["agent"],
            entry["at_ms"],
            entry["decision"],
            error_code=entry["code"],
            cost_nano=entry["cost"],
            tokens=entry["tokens"],
            payload=msgspec.json.encode(facts),
        )
        outcome = None
        if entry["outcome"] is not None and entry["decision"] in ("APPROVED", "CORRECTED"):
            result, by = entry["outcome"]
            outcome = an_outcome(activity, result, reported_by=by)
        run(store.commit(Record(activity, outcome=outcome)))


def count_of(store, scope):
    count, after = Count(), 0
    while after is not None:
        survey = run(store.survey(scope, after))
        for tally in survey.tallies:
            count.add(tally)
        after = survey.next_seq
    return count


def is_within(scope, entry):
    return (
        scope.from_ms <= entry["at_ms"] < scope.to_ms
        and scope.agent_id in (None, entry["agent"].agent_id)
        and scope.principal_id in (None, entry["agent"].principal_id)
    )


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@settings(max_examples=30, deadline=None)
@given(ENTRIES, PERIODS, st.sampled_from(["all", "agent", "principal"]))
def test_every_figure_is_what_the_list_says(kind, entries, period, whose):
    scope = ReportScope(
        NOON + period[0],
        NOON + period[1],
        agent_id=AGENTS[0].agent_id if whose == "agent" else None,
        principal_id=AGENTS[0].principal_id if whose == "principal" else None,
    )
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "SURVEY_STRETCH", 7)
        patch.setattr(searches, "SURVEY_STRETCH", 7)
        clock = FakeClock()
        store = (
            open_memory(DEFAULT_POLICY, clock, RING)
            if kind == "memory"
            else open_sqlite(Path(folder) / "q.db", DEFAULT_POLICY, clock, RING)
        )
        try:
            write(store, entries)
            count = count_of(store, scope)
        finally:
            store.close()

    mine = [entry for entry in entries if is_within(scope, entry)]
    decided = [entry for entry in mine if entry["decision"] != "NOTED"]
    noted = [entry for entry in mine if entry["decision"] == "NOTED"]
    allowed = [entry for entry in mine if entry["decision"] in ("APPROVED", "CORRECTED")]
    refused = [entry for entry in mine if entry["decision"] in ("DENIED", "BUDGET_EXCEEDED")]
    seen = [entry for entry in decided if entry["verification"] is not None]
    assert count.entries == len(mine)
    assert count.noted == len(noted)
    assert count.decisions == Counter(entry["decision"] for entry in decided)
    assert {agent: dict(counts) for agent, counts in count.by_agent.items()} == {
        agent.agent_id: dict(Counter(entry["decision"] for entry in decided if entry["agent"] is agent))
        for agent in AGENTS
        if any(entry["agent"] is agent for entry in decided)
    }
    assert count.refusals == Counter((entry["code"] or "", entry["decision"]) for entry in refused)
    assert count.verified == Counter(
        (v["engine"], v["risk_level"], v["status"], entry["decision"])
        for entry in seen
        for v in [entry["verification"]]
    )
    assert count.unexamined == len(decided) - len(seen)
    assert count.uncertain == sum(entry["verification"]["status"] == "UNCERTAIN" for entry in seen)
    assert count.outcomes == Counter(
        None if entry["outcome"] is None else entry["outcome"][0].value for entry in allowed
    )
    assert count.self_reported == sum(
        entry["outcome"] is not None and entry["outcome"][1] == "agent:a" for entry in allowed
    )
    assert count.cost_nano == sum(entry["cost"] for entry in decided)
    assert count.settled_nano == sum(entry["cost"] for entry in noted)
    assert count.tokens == sum(entry["tokens"] for entry in mine)
    assert count.redacted == sum(entry["redacted"] for entry in mine)
    assert count.first_ms == min((entry["at_ms"] for entry in mine), default=None)
    assert count.last_ms == max((entry["at_ms"] for entry in mine), default=None)
    assert count.days == Counter(entry["at_ms"] // DAY for entry in mine)
    assert {version: seen[0] for version, seen in count.versions.items()} == dict(
        Counter(entry["version"] for entry in mine)
    )
