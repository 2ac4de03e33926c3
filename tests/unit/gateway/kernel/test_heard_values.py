"""What a conversation has heard, as it is kept: no text of it, nothing that two principals could compare."""

import logging

import pytest

from qwed import Gateway
from qwed.domain.agents import AgentId
from qwed.gateway.kernel.coroutines import run

SECRETS = ("blue-heron-42", "eve.q77@evil.example", "4711.42", "DE89370400440532013000")
RESULT = {"name": SECRETS[0], "mail": SECRETS[1], "due": SECRETS[2], "iban": SECRETS[3]}
SAID = "please look at the page about " + " and ".join(SECRETS)


@pytest.fixture
def heard(tmp_path, caplog):
    """The same words, reported by agents of two principals; the folder, and the agents."""
    caplog.set_level(logging.DEBUG)
    with Gateway.open(tmp_path / "qwed.db") as gateway:
        agents = [
            gateway.register_agent(name=name, type="autonomous", principal_id=name)["agent_id"]
            for name in ("one", "other")
        ]
        for agent in agents:
            context = {
                "conversation_id": "c",
                "step_number": 1,
                "results": [{"tool": "read_page", "result": RESULT, "step_number": 1}],
                "messages": [{"role": "user", "content": SAID}],
            }
            answer = gateway.verify_action(agent, {"type": "calculate", "query": "1+1=2"}, context)
            assert answer["provenance"] == "covered"
        yield gateway, agents


def test_no_text_of_a_result_or_a_message_is_in_any_file_log_or_entry(heard, tmp_path, caplog):
    gateway, _ = heard
    entries = run(gateway.services.store.evidence.stretch(0, 100))
    exported = b"".join(item.activity.payload for item in entries if item.activity is not None)
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())

    assert len(files) > 10_000 and len(exported) > 100
    for secret in SECRETS:
        for text in (secret, secret.lower(), secret.replace("-", "")):
            assert text.encode() not in files + exported
            assert text not in caplog.text


def test_the_hashes_of_two_principals_do_not_compare(heard):
    gateway, agents = heard
    services = gateway.services
    indices = [
        run(services.hearing.index_of(services.store, services.signer, AgentId(agent), "c"))
        for agent in agents
    ]
    one, other = (
        {each.hashes[start : start + 12] for each in index.heard for start in range(0, len(each.hashes), 12)}
        for index in indices
    )

    assert len(one) == len(other) > len(SECRETS)
    assert not one & other
