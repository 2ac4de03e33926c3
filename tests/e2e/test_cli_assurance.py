"""`qwed trust score|replay`, `qwed provenance` and `qwed profile`, against a store."""

import sqlite3

import pytest
from tests.e2e.test_cli import call  # noqa: F401 - a fixture

from qwed import Gateway, bootstrap
from qwed.domain.nodes import jti_of

pytestmark = pytest.mark.xdist_group("cli")
POLICY = "assurance: {trust_scoring: true, settle_seconds: 0}\n"


@pytest.fixture
def story(tmp_path):
    """A store in which an agent failed once, and what it did stands in a chain."""
    (tmp_path / "qwed.yaml").write_text(POLICY)
    services = bootstrap.build(tmp_path / "qwed.db", policy=bootstrap.usable_policy(tmp_path / "qwed.yaml"))
    with Gateway(services) as gateway:
        agent = gateway.register_agent(name="Anna", type="supervised", principal_id="acme")
        context = {"conversation_id": "c", "step_number": 1}
        decided = gateway.verify_action(agent["agent_id"], {"type": "calculate", "query": "2+2"}, context)
        gateway.report_outcome(agent["agent_id"], decided["activity_id"], "failure")
        gateway.trust_score(agent["did"])
    return agent, jti_of(decided["activity_id"])


def test_a_score_is_shown_with_what_moved_it(call, story):  # noqa: F811
    agent, _ = story
    shown = call("trust", "score", agent["agent_id"], "--database", "qwed.db")
    plain = call("trust", "score", agent["did"], "--database", "qwed.db", "--json").json

    assert "0.4, low confidence" in shown.out
    assert "task_failure" in shown.out
    assert (plain["score"], plain["changes"][0]["after"]) == ("0.4", "0.4")


def test_an_operator_seeds_a_score_and_reinstates_a_peer_that_fell_below_the_floor(call, story, tmp_path):  # noqa: F811
    agent, _ = story
    where = ("--reason", "looked at it", "--database", "qwed.db")
    early = call("trust", "reinstate", agent["agent_id"], *where)
    seeded = call("trust", "seed", agent["agent_id"], "0.22", *where)
    with Gateway.open(tmp_path / "qwed.db", policy=tmp_path / "qwed.yaml") as gateway:
        context = {"conversation_id": "d", "step_number": 1}
        decided = gateway.verify_action(agent["agent_id"], {"type": "calculate", "query": "3+3"}, context)
        gateway.report_outcome(agent["agent_id"], decided["activity_id"], "failure")
    fallen = call("trust", "score", agent["agent_id"], "--database", "qwed.db")
    lifted = call("trust", "reinstate", agent["agent_id"], *where, "--json").json

    assert "no trust in this peer was revoked" in early.err
    assert "0.22, low confidence, in force" in seeded.out
    assert "0.176, low confidence, revoked" in fallen.out
    assert (lifted["score"], lifted["revoked"]) == ("0.176", False)


def test_replaying_proves_the_stored_scores_and_finds_a_touched_one(call, story, tmp_path):  # noqa: F811
    proven = call("trust", "replay", "--database", "qwed.db")
    assert (proven.code, "1 changes of 1 scores follow from" in proven.out) == (0, True)
    connection = sqlite3.connect(tmp_path / "qwed.db")
    connection.execute("UPDATE score_changes SET score_after = '1'")
    connection.commit()
    connection.close()
    found = call("trust", "replay", "--database", "qwed.db")

    assert found.code == 1
    assert "stored as 1, computed 0.4" in found.out


def test_provenance_is_asked_of_the_store(call, story):  # noqa: F811
    _, task = story
    where = ("--database", "qwed.db")

    assert "did:qwed:node:local" in call("provenance", "who", task, *where).out.replace("\n", "")
    assert call("provenance", "complete", task, *where).code == 0
    assert call("provenance", "transformed", task, *where, "--json").json["steps"] == []
    assert call("provenance", "graph", task, *where, "--dot").out.startswith("digraph provenance {")
    assert call("provenance", "graph", task, *where, "--json").json["nodes"][0]["jti"] == task
    assert "there is no token" in call("provenance", "who", "nothing", *where).err


def test_a_profile_is_explained_with_what_is_missing(call, tmp_path):  # noqa: F811
    (tmp_path / "qwed.yaml").write_text("profile: regulated\nassurance: {trust_scoring: false}\n")
    missing = call("profile", "explain")
    standard = call("profile", "explain", "standard", "--json").json

    assert missing.code == 1
    assert "trust_scoring is required in regulated and turned off: turn it on" in missing.out
    assert standard["warnings"] == ["trust_scoring is recommended in standard and turned off"]
    (tmp_path / "qwed.yaml").write_text("")
    assert "no profile is set" in call("profile", "explain").out


@pytest.mark.parametrize("profile", ["", "profile: standard\n"], ids=["none", "standard"])
def test_what_a_level_asks_for_is_explained(call, tmp_path, profile):  # noqa: F811
    (tmp_path / "qwed.yaml").write_text(f"{profile}assurance: {{level_scores: {{'2': 0.6, '3': '0.80'}}}}\n")
    explained = call("profile", "explain").out

    assert "trust level 2 asks for a score of 0.6" in explained
    assert "trust level 3 asks for a score of 0.8" in explained
    if profile:
        assert call("profile", "explain", "--json").json["level_scores"] == {"2": "0.6", "3": "0.8"}


@pytest.mark.parametrize(
    "levels", ["{'0': 0.1}", "{'4': 0.1}", "{two: 0.1}", "{'2': 1.1}", "{2: 0.1}", "[2]"]
)
def test_what_no_level_can_ask_for_is_refused(call, tmp_path, levels):  # noqa: F811
    (tmp_path / "qwed.yaml").write_text(f"assurance: {{level_scores: {levels}}}\n")

    assert call("profile", "explain").code != 0


def test_scores_survive_a_restart_digit_by_digit(call, tmp_path):  # noqa: F811
    (tmp_path / "qwed.yaml").write_text(POLICY)
    policy = bootstrap.usable_policy(tmp_path / "qwed.yaml")
    with Gateway(bootstrap.build(tmp_path / "qwed.db", policy=policy)) as gateway:
        agent = gateway.register_agent(name="Anna", type="supervised", principal_id="acme")
        for step in range(1, 4):
            context = {"conversation_id": "c", "step_number": step}
            action = {"type": "calculate", "query": f"{step}+1"}
            decided = gateway.verify_action(agent["agent_id"], action, context)
            gateway.report_outcome(agent["agent_id"], decided["activity_id"], "success")
        assert gateway.trust_score(agent["did"])["score"] == "0.53"
    with Gateway(bootstrap.build(tmp_path / "qwed.db", policy=policy)) as gateway:
        assert gateway.trust_score(agent["did"])["score"] == "0.53"

    assert call("trust", "replay", "--database", "qwed.db").code == 0
