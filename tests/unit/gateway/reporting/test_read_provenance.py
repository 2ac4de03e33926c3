"""Provenance over HTTP: the whole chain, walls between principals, content compared."""

import base64
import uuid

import pytest
from tests.support.tokens import SigningAgent, jti_in
from tests.support.world import World

from qwed.domain.nodes import jti_of
from qwed.ect import hash_bytes


@pytest.fixture
def world():
    opened = World()
    yield opened
    opened.close()


@pytest.fixture
def chain(world):
    """read → anonymise → a decision of the gateway."""
    agent = SigningAgent(world)
    read = agent.token("read", ext={"apae.data_source": "database:patients"}, out_hash=hash_bytes(b"rows"))
    made = agent.token("anonymise", jti_in(read), ext={"apae.transformations": ["anonymize"]})
    decided = agent.verify(ects=[read, made]).json()
    return agent, jti_in(read), jti_in(made), jti_of(decided["activity_id"])


def ask(world, jti, question, **how):
    return world.call("GET", f"/provenance/{jti}/{question}", **how)


def test_the_questions_are_answered_from_the_ledger(world, chain):
    agent, read, made, decided = chain
    steps = ask(world, decided, "transformed").json()["steps"]

    assert ask(world, decided, "who").json()["agents"][0]["agent"] == agent.did
    assert [step["jti"] for step in steps] == [read, made]
    assert steps[1]["lineage"]["transformations"] == ["anonymize"]
    assert ask(world, decided, "complete").json()["status"] == "complete"
    graph = ask(world, decided, "graph").json()
    assert [read, made] in graph["edges"]
    assert [made, decided] in graph["edges"]
    assert graph["dot"].startswith("digraph")


def test_content_is_compared_with_the_hashes(world, chain):
    read = chain[1]

    def match(data):
        body = {"content": base64.b64encode(data).decode()}
        return world.call("POST", f"/provenance/{read}", json=body).json()

    assert (match(b"rows")["output"], match(b"rows")["input"]) == (True, None)
    assert match(b"other")["output"] is False
    for wrong in ("%", "Ý", "abc"):
        assert world.call("POST", f"/provenance/{read}", json={"content": wrong}).status_code == 422


def test_what_is_not_there_and_what_is_no_question_is_not_found(world, chain):
    assert ask(world, uuid.UUID(int=5), "who").status_code == 404
    assert ask(world, "nonsense", "who").status_code == 404
    assert ask(world, chain[1], "why").status_code == 404


def test_another_principals_chain_is_not_there_and_its_nodes_are_not_told(world, chain):
    _, _, made, _ = chain
    stranger = SigningAgent(world, name="stranger", principal_id="rival")
    own = stranger.token("steal", made)
    stranger.submit(own)
    key = stranger.agent["agent_token"]

    assert ask(world, made, "who", key=key).status_code == 404
    told = ask(world, jti_in(own), "graph", key=key)
    assert told.json()["nodes"][-1]["agent"] == stranger.did
    assert {node["agent"] for node in told.json()["nodes"][:-1]} == {"hidden"}
    assert "patients" not in told.text
    assert "patients" in ask(world, jti_in(own), "graph").text


def test_an_erased_or_unknown_parent_is_listed_as_missing(world, chain):
    _, _, made, decided = chain
    del world.services.store._tables.ledger._tokens[made]
    answer = ask(world, decided, "complete").json()

    assert (answer["status"], answer["missing"]) == ("incomplete", [made])
