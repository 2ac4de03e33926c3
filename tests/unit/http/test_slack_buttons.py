"""People answer with buttons in Slack. What Slack did not sign, or signed for somebody else, is refused."""

import hashlib
import hmac
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import httpx2
import msgspec
import pytest
from tests.support.signing_in import GROUPS
from tests.support.world import OPERATOR_KEY, World

from qwed.domain.deliveries import Delivery
from qwed.domain.people import GroupRights, PeopleRules, SlackUser
from qwed.domain.policy import DEFAULT_POLICY, ApprovalRules, Policy
from qwed.domain.scopes import Scope
from qwed.domain.webhooks import Event
from qwed.http.app import create_app
from qwed.notify.channels import pagerduty_event, slack_message, teams_message
from qwed.notify.notice_text import NoticeText, word
from qwed.policy import PolicyError, load_policy

SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
MAIL = {"type": "send_email", "parameters": {"to": "a@example.com", "subject": "s", "body": "hello"}}
LEADS = GroupRights(scopes=(Scope.READ, Scope.APPROVE), principal="umbrella")
USERS = {
    "U_ADA": SlackUser("ada", ("finance",)),
    "U_BOB": SlackUser("bob", ("finance",)),
    "U_LOOK": SlackUser("eve", ("onlookers",)),
    "U_OTHER": SlackUser("mia", ("umbrella-leads",)),
    "U_NOBODY": SlackUser("max", ("strangers",)),
}


def policy(approvers: int = 1, **people: Any) -> Policy:
    rules = PeopleRules(groups={**GROUPS, "umbrella-leads": LEADS}, slack=USERS, **people)
    approvals = ApprovalRules(approvers=approvers)
    return msgspec.structs.replace(DEFAULT_POLICY, people=rules, approvals=approvals)


class SlackWorld(World):
    def __init__(self, rules: Policy) -> None:
        super().__init__(policy=rules)
        self._app = create_app(self.services, log=self._events, slack_secret=SECRET)
        self.agent = self.register(type="supervised", key=OPERATOR_KEY)

    def ask(self, step: int = 1) -> dict[str, Any]:
        answer = self.verify(self.agent, MAIL, step=step, key=self.agent["agent_token"])
        return self.call("GET", f"/approvals/{answer['approval']['id']}").json()

    def press(
        self, user: str, button: str, value: str, *, age: int = 0, secret: str = SECRET, spoil: str = ""
    ) -> httpx2.Response:
        at = str(self.services.clock.now_ms() // 1000 - age)
        told = {
            "type": "block_actions",
            "user": {"id": user, "username": user.lower()},
            "actions": [{"action_id": button, "value": value}],
        }
        body = urlencode({"payload": json.dumps(told)})
        signed = hmac.new(secret.encode(), f"v0:{at}:{body}".encode(), hashlib.sha256).hexdigest()
        headers = {"X-Slack-Request-Timestamp": at, "X-Slack-Signature": f"v0={signed}"}
        return self.call("POST", "/slack/answers", key=None, content=(body + spoil).encode(), headers=headers)


@pytest.fixture
def world() -> Iterator[SlackWorld]:
    made = SlackWorld(policy())
    yield made
    made.close()


def value(approval: dict[str, Any]) -> str:
    """As the button of a notice carries it."""
    body = msgspec.json.encode({"agent_id": "agent_1", "data": {"approval": approval}})
    notice = word(Event.APPROVAL_REQUESTED, body, "Analyst", "https://qwed.example")
    blocks = slack_message(notice, has_buttons=True)["blocks"]
    assert [one["text"]["text"] for one in blocks[-1]["elements"]] == ["Approve", "Deny", "Open"]
    return str(blocks[-1]["elements"][0]["value"])


def status(world: SlackWorld, approval: dict[str, Any]) -> str:
    return str(world.call("GET", f"/approvals/{approval['id']}").json()["status"])


def test_a_button_approves_as_the_person_whom_the_policy_names(world: SlackWorld):
    approval = world.ask()

    assert world.press("U_ADA", "qwed_approve", value(approval)).status_code == 200
    vote = world.call("GET", f"/approvals/{approval['id']}").json()["votes"][0]
    assert (vote["person"]["subject"], vote["person"]["how"]) == ("ada", "slack")
    assert status(world, approval) == "approved"


def test_a_button_denies(world: SlackWorld):
    approval = world.ask()

    assert world.press("U_ADA", "qwed_deny", value(approval)).status_code == 200
    assert status(world, approval) == "denied"


FORGED: dict[str, dict[str, Any]] = {
    "another secret": {"secret": "guessed"},
    "too old": {"age": 301},
    "from the future": {"age": -301},
    "changed on the way": {"spoil": "&more=1"},
}


@pytest.mark.parametrize("how", FORGED)
def test_what_slack_did_not_sign_now_counts_like_a_wrong_key(world: SlackWorld, how: str):
    approval = world.ask()

    assert world.press("U_ADA", "qwed_approve", value(approval), **FORGED[how]).status_code == 401
    assert status(world, approval) == "open"


def test_without_headers_nothing_is_believed(world: SlackWorld):
    assert world.call("POST", "/slack/answers", key=None, content=b"payload=%7B%7D").status_code == 401


@pytest.mark.parametrize(
    ("user", "code"), [("U_LOOK", 403), ("U_OTHER", 404), ("U_NOBODY", 403), ("U_UNKNOWN", 403)]
)
def test_who_may_not_answer_in_the_dashboard_may_not_in_slack(world: SlackWorld, user: str, code: int):
    approval = world.ask()

    assert world.press(user, "qwed_approve", value(approval)).status_code == code
    assert status(world, approval) == "open"


def test_a_repeated_press_is_answered_already_and_a_second_person_counts():
    world = SlackWorld(policy(approvers=2))
    try:
        approval = world.ask()
        presses = [
            world.press(user, "qwed_approve", value(approval)).status_code for user in ("U_ADA", "U_ADA")
        ]
        assert presses == [200, 409]
        assert status(world, approval) == "open"
        assert world.press("U_BOB", "qwed_approve", value(approval)).status_code == 200
        assert status(world, approval) == "approved"
    finally:
        world.close()


def test_a_button_for_another_action_or_of_another_kind_is_refused(world: SlackWorld):
    approval = world.ask()

    assert world.press("U_ADA", "qwed_approve", f"{approval['id']} sha256:other").status_code == 409
    assert world.press("U_ADA", "delete_all", value(approval)).status_code == 422
    assert status(world, approval) == "open"


def test_where_a_passkey_or_a_reason_is_needed_a_button_is_not_enough():
    for rules in (policy(passkey_from="low"), policy(reason_from="low")):
        world = SlackWorld(rules)
        try:
            approval = world.ask()
            assert world.press("U_ADA", "qwed_approve", value(approval)).status_code in (403, 422)
            assert status(world, approval) == "open"
        finally:
            world.close()


def test_where_no_secret_is_set_there_are_no_buttons_and_no_door(world: SlackWorld):
    plain = World()
    try:
        assert plain.call("POST", "/slack/answers", key=None, content=b"x").status_code == 404
    finally:
        plain.close()
    notice = NoticeText("Approval needed", (("Agent", "a"),), None, ("appr_1", "h"))

    assert all(block["type"] != "actions" for block in slack_message(notice)["blocks"])


def test_a_policy_names_slack_users_and_its_name_follows():
    text = "people: {slack: {U1: {subject: ada, groups: [finance]}}, passkey_from: high}"
    read = load_policy(text, "policy.yaml")

    assert read.people.slack == {"U1": SlackUser("ada", ("finance",))}
    assert Policy.from_wire(read.to_wire()) == read
    with pytest.raises(PolicyError, match="needs subject"):
        load_policy("people: {slack: {U1: {groups: [finance]}}}", "policy.yaml")
    with pytest.raises(PolicyError, match="risk"):
        load_policy("people: {passkey_from: enormous}", "policy.yaml")


def test_teams_and_pagerduty_get_their_own_shapes(world: SlackWorld):
    approval = {**world.ask(), "reason": "**bold** [link](https://evil.example)"}
    body = msgspec.json.encode({"agent_id": "agent_1", "data": {"approval": approval}})
    notice = word(Event.APPROVAL_REQUESTED, body, "Analyst", "https://qwed.example")
    card = teams_message(notice)["attachments"][0]["content"]
    assert card["actions"][0]["url"] == f"https://qwed.example/dashboard/inbox/{approval['id']}"
    # A text run shows markup as it is written.
    assert {part["type"] for part in card["body"]} == {"RichTextBlock"}
    assert ("Agent", "Analyst (agent_1)") in notice.facts

    delivery = delivered(Event.APPROVAL_REQUESTED, body)
    opened = pagerduty_event(notice, delivery, "key")
    closed = pagerduty_event(notice, delivered(Event.APPROVAL_DENIED, body), "key")
    assert (opened["event_action"], closed["event_action"]) == ("trigger", "resolve")
    assert opened["dedup_key"] == closed["dedup_key"]
    assert opened["payload"]["severity"] in ("info", "warning", "error", "critical")


def delivered(event: Event, body: bytes) -> Delivery:
    return Delivery("dlv_1", "hook_1", None, "evt_1", event, 0, 0, body)
