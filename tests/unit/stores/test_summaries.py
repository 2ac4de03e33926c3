"""Sums of an agent's record that go on from where they ended."""

import random
from collections.abc import Callable

from qwed.domain.agents import AgentId
from qwed.stores import summaries
from qwed.stores.summaries import Summaries, Summary

ALICE, BOB = AgentId("agent_a"), AgentId("agent_b")


class Entries:
    """The record of one agent, and how much of it was looked at."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, str, int]] = []
        self.looked_at = 0

    def add(self, decision: str, cost: int) -> None:
        self.rows.append((len(self.rows) + 1, decision, cost))

    def count_after(self, seq: int) -> list[tuple[str, int, int, int]]:
        found = [row for row in self.rows if row[0] > seq]
        self.looked_at += len(found)
        return [(decision, 1, cost, number) for number, decision, cost in found]

    def summary(self) -> Summary:
        found: Summary = {}
        for _, decision, cost in self.rows:
            count, earlier = found.get(decision, (0, 0))
            found[decision] = (count + 1, earlier + cost)
        return found


def test_a_sum_is_that_of_all_entries_however_often_and_when_it_is_asked_for() -> None:
    chance, known = random.Random(7), Summaries()
    records = {ALICE: Entries(), BOB: Entries()}
    for _ in range(500):
        agent_id = chance.choice((ALICE, BOB))
        records[agent_id].add(chance.choice(("APPROVED", "DENIED")), chance.randrange(10**12))
        if chance.random() < 0.3:
            assert known.of(agent_id, records[agent_id].count_after) == records[agent_id].summary()


def test_no_entry_is_counted_twice() -> None:
    known, entries = Summaries(), Entries()
    for _ in range(10):
        entries.add("APPROVED", 1)
        known.of(ALICE, entries.count_after)

    assert entries.looked_at == 10


def test_after_a_removal_everything_is_counted_again() -> None:
    known, entries = Summaries(), Entries()
    entries.add("APPROVED", 1)
    entries.add("DENIED", 0)
    known.of(ALICE, entries.count_after)
    del entries.rows[0]
    known.forget()

    assert known.of(ALICE, entries.count_after) == {"DENIED": (1, 0)}


def test_what_was_counted_during_a_removal_is_not_kept() -> None:
    known, entries = Summaries(), Entries()
    entries.add("APPROVED", 1)

    def removed_meanwhile(seq: int) -> list[tuple[str, int, int, int]]:
        counted = entries.count_after(seq)
        entries.rows.clear()
        known.forget()
        return counted

    known.of(ALICE, removed_meanwhile)

    assert known.of(ALICE, entries.count_after) == {}


def test_only_so_many_agents_are_remembered() -> None:
    known, entries = Summaries(), Entries()
    entries.add("APPROVED", 1)
    asked: Callable[[int], list[tuple[str, int, int, int]]] = entries.count_after
    for number in range(summaries.MAX_AGENTS + 10):
        known.of(AgentId(f"agent_{number}"), asked)

    assert len(known._known) == summaries.MAX_AGENTS
