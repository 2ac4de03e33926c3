"""Kept answers: what a gateway wrote is read as it was given, and nothing else is."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwed.domain.agents import AgentId
from qwed.ect.keys import NodeSigner, generate
from qwed.gateway.kernel.kept_answers import open_answer, seal_answer
from qwed.gateway.kernel.ports import StoreUnavailable
from qwed.gateway.kernel.records import Remembered

SIGNER, OTHER = NodeSigner(generate(), "test"), NodeSigner(generate(), "test")
KEPT = Remembered(AgentId("a"), b"k" * 32, 200, b'{"decision":"DENIED"}', 60_000)


@given(st.dictionaries(st.text(), st.text() | st.integers(-9, 9)))
def test_an_answer_is_read_as_it_was_given_and_stays_json_meanwhile(body):
    kept = msgspec.structs.replace(KEPT, body=msgspec.json.encode({"decision": "APPROVED", **body}))
    sealed = seal_answer(SIGNER, kept)
    assert msgspec.json.decode(sealed.body)["seal"]
    assert open_answer(SIGNER, sealed) == kept


@pytest.mark.parametrize(
    "changes",
    [
        {"agent_id": "b"},
        {"key_hash": b"l" * 32},
        {"status": 201},
        {"status": "200"},
        {"status": 2**70},
        {"expires_ms": 60_001},
        {"retry_after_seconds": 1},
        {"body": KEPT.body},
        {"body": KEPT.body.decode()},
        {"body": None},
        {"body": b""},
        {"body": b',"seal":"' + b"0" * 64 + b'"}'},
    ],
)
def test_what_somebody_changed_is_not_read(changes):
    edited = msgspec.structs.replace(seal_answer(SIGNER, KEPT), **changes)
    with pytest.raises(StoreUnavailable, match="not written by this deployment"):
        open_answer(SIGNER, edited)


def test_what_another_deployment_sealed_is_not_read():
    with pytest.raises(StoreUnavailable):
        open_answer(SIGNER, seal_answer(OTHER, KEPT))
