"""Every decision on record can be made again from the record, and comes out the same."""

from collections import Counter

import msgspec
from tests.oracle.run import play
from tests.support.tiers import scale

from qwed.gateway.decide.replay import NotReplayable, replay

#: What the worlds hold beside decisions, and what they erase.
EXPECTED = {
    "same",
    NotReplayable.NO_DECISION,
    NotReplayable.ERASED,
    NotReplayable.MASKED,
}


def replay_world(world, counts, differences):
    store = world.gateway.store

    async def replay_all():
        after = 0
        while items := await store.evidence.stretch(after, 500):
            for item in items:
                if item.activity is not None:
                    entry = msgspec.json.decode(item.activity.payload)
                    found = await replay(entry, store.shared)
                    counts[_word_for(found)] += 1
                    if found.differs:
                        differences.append((found.differs, entry))
            after = items[-1].seq

    world.gateway.run(replay_all())


def _word_for(found):
    return "same" if found.is_same else found.reason or "different"


def test_every_recorded_decision_comes_out_the_same():
    counts, differences = Counter(), []
    number = 0
    while counts["same"] < scale(ci=600, nightly=5_000, long=100_000) and not differences:
        play(number, at_end=lambda world: replay_world(world, counts, differences))
        number += 1

    assert differences[:3] == []
    assert set(counts) <= EXPECTED, counts


def one_decision(world, decision):
    store = world.gateway.store

    async def find():
        items = await store.evidence.stretch(0, 2_000)
        entries = [msgspec.json.decode(item.activity.payload) for item in items if item.activity is not None]
        return next(entry for entry in entries if entry["decision"] == decision and "account" in entry)

    return world.gateway.run(find())


def test_what_the_record_does_not_bear_out_is_found_and_what_it_lacks_is_named():
    found = {}

    def look(world):
        def again(**changes):
            return world.gateway.run(replay({**entry, **changes}, world.gateway.store.shared))

        entry = one_decision(world, "APPROVED")
        account = entry["account"]
        found["as it is"] = again()
        found["another decision"] = again(decision="DENIED", error_code="QWED-AGENT-005")
        risk = {**entry["verification"], "risk_level": "critical"}
        found["another risk"] = again(verification=risk)
        found["another agent"] = again(account={**account, "agent": "nobody"})
        found["another policy"] = again(policy_version="sha256:none")
        found["older"] = again(account=None)
        found["erased"] = again(redacted=True)
        found["noted"] = again(decision="NOTED")

    play(0, at_end=look)

    assert found["as it is"].is_same
    assert found["another decision"].differs and found["another risk"].differs
    reasons = {name: answer.reason for name, answer in found.items() if answer.reason is not None}
    assert reasons == {
        "another agent": NotReplayable.PAST_RETENTION,
        "another policy": NotReplayable.PAST_RETENTION,
        "older": NotReplayable.OLDER_FORMAT,
        "erased": NotReplayable.ERASED,
        "noted": NotReplayable.NO_DECISION,
    }
