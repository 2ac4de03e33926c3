"""Permits and findings, on every store: one use of a permit, whoever asks at the same time."""

from collections import Counter

import pytest
from tests.contract.test_stores import DURABLE, at_once, code_of
from tests.support.fakes import HOUR
from tests.support.records import a_permit, an_agent, noted

from qwed.domain.agents import AgentId, PrincipalId
from qwed.domain.codes import Code
from qwed.domain.permits import FindingKind, IssuedPermit, PermitFinding, lapse, use_permit
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.records import Redaction, Tombstone


def issued(shelf, agent, jti="pmt_1", **changed) -> IssuedPermit:
    permit = a_permit(jti, agent.agent_id, **{"expires_ms": shelf.now + 120_000, **changed})
    assert shelf.commit(noted(agent, shelf.now, permit=permit)) is None
    return permit


def used(shelf, permit) -> IssuedPermit:
    after = use_permit(permit, permit.audience, permit.action_hash, "key:tool", shelf.now)
    assert isinstance(after, IssuedPermit)
    return after


def a_finding(shelf, number, kind=FindingKind.CALL_REFUSED, agent="agent_1", principal="acme"):
    owner = PrincipalId(principal)
    return PermitFinding(f"act_{number:04}", kind, owner, AgentId(agent), shelf.now, "not so")


def test_of_many_uses_at_once_one_wins(shelf):
    agent = shelf.add(an_agent())
    permit = issued(shelf, agent)
    answers = at_once(32, lambda _: shelf.commit(noted(agent, shelf.now, permit=used(shelf, permit))))

    assert Counter(map(code_of, answers)) == {None: 1, Code.PERMIT_USED: 31}
    assert run(shelf.store.permit("pmt_1")).used_by == "key:tool"


def test_a_use_and_a_lapse_at_once_are_not_both_taken(shelf):
    agent = shelf.add(an_agent())
    permit = issued(shelf, agent)
    changes = (lapse(permit), used(shelf, permit))
    answers = at_once(16, lambda n: shelf.commit(noted(agent, shelf.now, permit=changes[n % 2])))

    assert Counter(map(code_of, answers))[None] == 1


@pytest.mark.parametrize("kind", DURABLE)
def test_a_permit_that_was_used_is_used_after_a_restart(shelf):
    agent = shelf.add(an_agent())
    permit = issued(shelf, agent)
    shelf.commit(noted(agent, shelf.now, permit=used(shelf, permit)))
    shelf.reopen()
    again = run(shelf.store.permit("pmt_1"))

    assert again == used(shelf, permit)
    assert use_permit(again, again.audience, again.action_hash, "x", shelf.now).code is Code.PERMIT_USED


def test_unused_permits_are_found_by_agent_place_and_action(shelf):
    agent = shelf.add(an_agent())
    for jti in ("pmt_1", "pmt_2", "pmt_3"):
        issued(shelf, agent, jti)
    issued(shelf, agent, "pmt_4", action_hash="b" * 64)
    issued(shelf, agent, "pmt_5", action_hash="c" * 64, expires_ms=shelf.now)

    def found(audience, action_hash):
        rows = run(shelf.store.unused_permits(agent.agent_id, audience, action_hash, shelf.now))
        return [permit.jti for permit in rows]

    assert len(found("payments", "a" * 64)) == 2
    assert found("payments", "b" * 64) == ["pmt_4"]
    assert found("elsewhere", "b" * 64) == []
    assert found("payments", "c" * 64) == []


def test_permits_that_nobody_used_are_due_when_they_have_expired(shelf):
    agent = shelf.add(an_agent())
    unused, spent = issued(shelf, agent), issued(shelf, agent, "pmt_2")
    shelf.commit(noted(agent, shelf.now, permit=used(shelf, spent)))

    assert run(shelf.store.permits_due(unused.expires_ms, 10)) == []
    assert run(shelf.store.permits_due(unused.expires_ms + 1, 10)) == [unused]
    assert [permit.jti for permit in run(shelf.store.permits_of(spent.activity_id))] == ["pmt_2"]


def test_findings_are_counted_and_listed_within_their_walls(shelf):
    agent = shelf.add(an_agent())
    unused, refused = FindingKind.PERMIT_UNUSED, FindingKind.CALL_REFUSED
    for number, (kind, name, owner) in enumerate(
        [(unused, "agent_1", "acme"), (refused, "agent_2", "acme"), (refused, "agent_3", "other")]
    ):
        shelf.commit(noted(agent, shelf.now, finding=a_finding(shelf, number, kind, name, owner)))
    count, listed = shelf.store.count_findings, shelf.store.findings
    end = shelf.now + 1

    assert run(count(None, None, 0, end)) == {unused: 1, refused: 2}
    assert run(count(PrincipalId("acme"), None, 0, end)) == {unused: 1, refused: 1}
    assert run(count(None, AgentId("agent_3"), 0, end)) == {refused: 1}
    assert run(count(None, None, 0, shelf.now)) == {}
    assert run(count(None, None, shelf.now + HOUR, end + HOUR)) == {}
    assert [row.finding_id for row in run(listed(PrincipalId("acme"), None, None, 10))] == [
        "act_0001",
        "act_0000",
    ]
    assert [row.finding_id for row in run(listed(None, None, "act_0002", 1))] == ["act_0001"]


def test_what_is_erased_leaves_no_permit(shelf):
    agent = shelf.add(an_agent())
    record = noted(agent, shelf.now)
    shelf.commit(record)
    permit = issued(shelf, agent, activity_id=record.activity.activity_id)
    stone = Tombstone(permit.activity_id, "erased", None, b"{}")
    shelf.commit(noted(agent, shelf.now, redaction=Redaction(agent.agent_id, (stone,))))

    assert run(shelf.store.permit("pmt_1")) is None
