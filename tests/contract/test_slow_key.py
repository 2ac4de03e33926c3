"""On PostgreSQL, while a key in an HSM or a cloud signs the ledger, the store answers others."""

import os
from pathlib import Path

import pytest
from tests.contract.test_stores import database_of
from tests.support.fakes import FakeClock
from tests.support.records import an_agent, noted
from tests.support.slow_key import SlowKey

from qwed.domain.policy import DEFAULT_POLICY
from qwed.ect import signing_keys
from qwed.ect.keys import KeyRing
from qwed.ect.signing_keys import SigningKey
from qwed.gateway.kernel.coroutines import run
from qwed.ledger.checkpoints import read_checkpoint
from qwed.stores.postgres import open_postgres


def test_reads_are_answered_while_the_ledger_is_being_signed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # No deadline ends the signature: whoever waits for it on the loop waits for good.
    monkeypatch.setattr(signing_keys, "REMOTE_SECONDS", 3600)
    key, clock, agent = SlowKey(), FakeClock(), an_agent()
    ring = KeyRing("did:qwed:node:slow", SigningKey(key), root=os.urandom(32))
    store = open_postgres(database_of(tmp_path), DEFAULT_POLICY, clock, ring)
    try:
        run(store.commit(noted(agent, clock.now_ms(), agent=agent)))
        assert key.asked.wait(60)
        found = run(store.agent(agent.agent_id))
        key.may_sign.set()
        run(store.ledger_state())
        signed = run(store.evidence.checkpoint())
    finally:
        key.may_sign.set()
        store.close()

    assert found is not None and found.agent_id == agent.agent_id
    assert signed is not None
    assert read_checkpoint(signed.token, ring.known()).size == signed.size > 0
