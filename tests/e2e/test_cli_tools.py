"""`qwed tools learn`: from a real refusal to a policy that a person accepted, and back to the gateway."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.server import qwed

from qwed import Gateway

pytestmark = pytest.mark.xdist_group("cli")


def ask(gateway: Gateway, agent_id: str, conversation: str) -> dict[str, str]:
    answers = {}
    for step, name in enumerate(("lookup_order", "update_order", "delete_order"), start=1):
        context = {"conversation_id": conversation, "step_number": step}
        action = {"type": name, "parameters": {"order": 7}}
        answers[name] = gateway.verify_action(agent_id, action, context)["decision"]
    return answers


@pytest.fixture
def refused(tmp_path: Path) -> tuple[Path, str]:
    with Gateway.open(tmp_path / "qwed.db") as gateway:
        agent = gateway.register_agent(name="a", type="autonomous", principal_id="acme")
        assert set(ask(gateway, agent["agent_id"], "before").values()) == {"DENIED"}
    return tmp_path, agent["agent_id"]


def learn(folder: Path, *arguments: str) -> Any:
    return qwed("tools", "learn", "--database", "qwed.db", *arguments, cwd=folder)


def test_nothing_is_written_unless_it_is_asked_for(refused: tuple[Path, str]) -> None:
    folder, agent_id = refused
    before = sorted(path.name for path in folder.iterdir())
    shown = learn(folder, agent_id)

    assert shown.returncode == 0, shown.stderr
    assert "  lookup_order:" in shown.stdout
    assert "  # delete_order:" in shown.stdout
    assert sorted(path.name for path in folder.iterdir()) == before


def test_an_accepted_proposal_is_in_force_with_the_stated_risks(refused: tuple[Path, str]) -> None:
    folder, agent_id = refused
    accepted = learn(folder, "--accept")
    policy = folder / "qwed.yaml"
    with Gateway.open(folder / "qwed.db", policy=policy) as gateway:
        answers = ask(gateway, agent_id, "after")
    again = learn(folder)

    assert accepted.returncode == 0, accepted.stderr
    assert answers == {"lookup_order": "APPROVED", "update_order": "PENDING", "delete_order": "DENIED"}
    assert "delete_order" in again.stdout
    assert "lookup_order" not in again.stdout


def test_a_proposal_can_be_written_beside_the_policy_and_only_once(refused: tuple[Path, str]) -> None:
    folder, _ = refused
    first = learn(folder, "--write", "learned.yaml")
    second = learn(folder, "--write", "learned.yaml")
    check = qwed("policy", "check", "learned.yaml", cwd=folder)

    assert first.returncode == 0
    assert check.returncode == 0, check.stderr
    assert second.returncode != 0
    assert "exists already" in second.stderr
    assert not (folder / "qwed.yaml").exists()


def test_a_policy_that_cannot_take_it_is_left_as_it_is(refused: tuple[Path, str]) -> None:
    folder, _ = refused
    policy = folder / "qwed.yaml"
    policy.write_text("tools: {refund: {risk: high}}\n", encoding="utf-8")
    answer = learn(folder, "--accept")

    assert answer.returncode != 0
    assert "left as it is" in answer.stderr
    assert policy.read_text(encoding="utf-8") == "tools: {refund: {risk: high}}\n"


def test_programs_get_json(refused: tuple[Path, str]) -> None:
    learned = json.loads(learn(refused[0], "--json").stdout)

    assert {proposal["name"]: proposal["is_offered"] for proposal in learned["proposals"]} == {
        "lookup_order": True,
        "update_order": True,
        "delete_order": False,
    }
