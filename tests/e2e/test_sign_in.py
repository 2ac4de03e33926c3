"""People sign in with the certified provider; what they may do with approvals as the persons they are."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from tests.support.browser import launched
from tests.support.oidc import CLIENT_ID, CLIENT_SECRET, RealProvider, real_provider
from tests.support.server import Server
from tests.support.signing_in import HOME, PersonsBrowser, SigningIn, policy_for
from tests.support.world import OPERATOR_KEY

from qwed.domain.policy import ApprovalRules, Separate

MAIL = {"type": "send_email", "parameters": {"to": "a@example.com", "subject": "s", "body": "hello"}}


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealProvider]:
    with real_provider(Path(tmp_path_factory.mktemp("provider")), HOME) as provider:
        yield provider


@pytest.fixture(autouse=True)
def people(provider: RealProvider) -> None:
    provider.knows(
        ada={"name": "Ada", "groups": ["finance"]},
        bob={"name": "Bob", "groups": ["finance"]},
        root={"name": "Root", "groups": ["admins"]},
        eve={"name": "Eve", "groups": ["strangers"]},
    )


@pytest.fixture
def worlds() -> Iterator[Any]:
    made: list[SigningIn] = []

    def make(provider: RealProvider, **options: Any) -> SigningIn:
        made.append(SigningIn(provider.issuer, **options))
        return made[-1]

    yield make
    for world in made:
        world.close()


def signed_in(world: SigningIn, provider: RealProvider, name: str) -> PersonsBrowser:
    browser = PersonsBrowser(world)
    answer = browser.come_back(provider.sign_in(browser.begin(), name))
    assert answer.status_code == 303, answer.text
    assert browser.session()["label"] == name.capitalize()
    return browser


def asked(world: SigningIn, agent: dict[str, Any], **more: Any) -> str:
    answer = world.verify(agent, MAIL, **{"key": agent["agent_token"], **more})
    assert answer["decision"] == "PENDING", answer
    return answer["approval"]["id"]


def approves(browser: PersonsBrowser, approval: str) -> tuple[int, dict[str, Any]]:
    answer = browser.call("POST", f"/approvals/{approval}/approve", json={})
    return answer.status_code, answer.json()


def test_a_person_signs_in_stays_signed_in_by_refreshes_and_signs_out(worlds: Any, provider: RealProvider):
    world = worlds(provider)
    ada = signed_in(world, provider, "ada")
    for _ in range(3):
        world.clock.advance(300_000)
        assert ada.session()["person"]["subject"] == "ada"

    answer = ada.call("DELETE", "/session").json()
    assert answer["sign_out_url"].startswith(provider.issuer)
    assert not ada.session()["signed_in"]


def test_somebody_in_no_group_of_the_policy_stays_outside(worlds: Any, provider: RealProvider):
    browser = PersonsBrowser(worlds(provider))

    answer = browser.come_back(provider.sign_in(browser.begin(), "eve"))
    assert answer.status_code == 403
    assert not browser.session()["signed_in"]


def test_who_is_taken_out_of_a_group_is_signed_out(worlds: Any, provider: RealProvider):
    world = worlds(provider)
    ada = signed_in(world, provider, "ada")
    provider.knows(ada={"name": "Ada", "groups": []})
    world.clock.advance(300_000)

    assert not ada.session()["signed_in"]


def test_whose_account_is_gone_is_signed_out(worlds: Any, provider: RealProvider):
    world = worlds(provider)
    ada = signed_in(world, provider, "ada")
    provider.knows()
    world.clock.advance(300_000)

    assert not ada.session()["signed_in"]


def test_a_vote_names_the_person_in_the_approval_and_in_the_record(worlds: Any, provider: RealProvider):
    world = worlds(provider)
    ada = signed_in(world, provider, "ada")
    approval = asked(world, world.register(type="supervised"))

    status, body = approves(ada, approval)
    assert (status, body["status"]) == (200, "approved")
    person = body["votes"][0]["person"]
    assert (person["subject"], person["name"], person["issuer"]) == ("ada", "Ada", provider.issuer)
    assert person["how"].startswith("oidc")
    listed = world.call("GET", "/activity", params={"action_type": "answer_approval"}).json()
    path = f"/activity/{listed['activities'][0]['activity_id']}"
    shown = world.call("GET", path).json()["activity"]
    assert shown["action"]["parameters"]["person"] == person


def test_two_approvers_are_two_persons_whatever_they_vote_with(worlds: Any, provider: RealProvider):
    world = worlds(provider, policy=policy_for(ApprovalRules(approvers=2)))
    root = signed_in(world, provider, "root")
    own = root.call("POST", "/keys", json={"principal_id": "acme", "scopes": ["read", "approve"]}).json()
    approval = asked(world, world.register(type="supervised"))
    assert approves(root, approval)[1]["status"] == "open"

    assert approves(root, approval)[0] == 409
    again = world.call("POST", f"/approvals/{approval}/approve", key=own["api_key"], json={})
    assert again.status_code == 409, again.text
    other_browser = signed_in(world, provider, "root")
    assert approves(other_browser, approval)[0] == 409
    assert approves(signed_in(world, provider, "ada"), approval)[1]["status"] == "approved"


@pytest.mark.parametrize(("rule", "status"), [(Separate.WHEN_POSSIBLE, 403), (Separate.OFF, 200)])
def test_who_asked_through_a_key_of_theirs_approves_only_where_separation_is_off(
    worlds: Any, provider: RealProvider, rule: Separate, status: int
):
    world = worlds(provider, policy=policy_for(ApprovalRules(separate=rule)))
    root = signed_in(world, provider, "root")
    own = root.call("POST", "/keys", json={"principal_id": "acme"}).json()
    assert own["owner"] == root.session()["person"]["id"]
    agent = world.register(type="supervised", key=OPERATOR_KEY)

    approval = asked(world, agent, key=own["api_key"])
    assert approves(root, approval)[0] == status


def test_who_registered_the_agent_leaves_its_approvals_to_another_person(worlds: Any, provider: RealProvider):
    world = worlds(provider)
    root, ada = signed_in(world, provider, "root"), signed_in(world, provider, "ada")
    own = root.call("POST", "/keys", json={"principal_id": "acme"}).json()
    agent = world.register(type="supervised", key=own["api_key"])
    approval = asked(world, agent)

    assert approves(root, approval)[0] == 403
    assert approves(ada, approval)[0] == 200


def test_where_only_people_approve_a_key_may_deny_and_not_approve(worlds: Any, provider: RealProvider):
    world = worlds(provider, policy=policy_for(only_people_approve=True))
    agent = world.register(type="supervised", key=world.principal_key())
    first, second = asked(world, agent), asked(world, agent, step=2)
    key = world.principal_key(scopes=["read", "approve"])

    refused = world.call("POST", f"/approvals/{first}/approve", key=key, json={})
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "QWED-APPROVAL-006")
    assert world.call("POST", f"/approvals/{second}/deny", key=key, json={}).status_code == 200
    assert approves(signed_in(world, provider, "ada"), first)[0] == 200


def test_a_replayed_answer_of_the_provider_is_refused(worlds: Any, provider: RealProvider):
    browser = PersonsBrowser(worlds(provider))
    url = provider.sign_in(browser.begin(), "ada")
    kept = dict(browser.cookies)
    assert browser.come_back(url).status_code == 303

    browser.cookies = kept
    assert browser.come_back(url).status_code == 403


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_in_a_browser_a_person_signs_in_votes_by_name_and_signs_out(tmp_path: Path):
    port = _free_port()
    home = f"http://127.0.0.1:{port}"
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "people: {groups: {finance: {principal: acme, scopes: [read, approve]}}}", encoding="utf-8"
    )
    with real_provider(tmp_path, home) as provider, launched() as chromium:
        provider.knows(ada={"name": "Ada Lovelace", "groups": ["finance"]})
        environment = {
            "QWED_PUBLIC_URL": home,
            "QWED_OIDC_ISSUER": provider.issuer,
            "QWED_OIDC_CLIENT_ID": CLIENT_ID,
            "QWED_OIDC_CLIENT_SECRET": CLIENT_SECRET,
        }
        arguments = ("--config", str(policy), "--port", str(port))
        with Server(tmp_path, *arguments, environment=environment) as server:
            agent = server.register(type="supervised")
            context = {"conversation_id": "c", "step_number": 1}
            body = {"action": MAIL, "context": context}
            path = f"/agents/{agent['agent_id']}/verify"
            answer = server.call("POST", path, key=agent["agent_token"], json=body).json()
            page = chromium.new_page()
            page.goto(f"{home}/dashboard?sign-in=groups")
            assert "none of your groups" in page.locator("[role=alert]").first.inner_text()
            assert Axe().run(page).response["violations"] == []
            page.goto(f"{home}/dashboard/inbox/{answer['approval']['id']}")
            page.click("#provider")
            page.fill("input[name=login]", "ada")
            page.fill("input[name=password]", "any")
            page.click("button[type=submit]")
            page.get_by_role("button", name="Continue").click()
            page.wait_for_selector("#sign-out")
            assert page.url.startswith(f"{home}/dashboard/inbox")
            page.get_by_role("button", name="Approve").wait_for()
            page.keyboard.press("a")
            page.locator("dialog").get_by_role("button", name="Approve").click()
            page.wait_for_selector("dialog", state="hidden")
            page.goto(f"{home}/dashboard/inbox/{answer['approval']['id']}")
            assert "Ada Lovelace" in page.locator(".voter").first.inner_text()
            assert Axe().run(page).response["violations"] == []
            page.click("#sign-out")
            page.wait_for_url(f"{provider.issuer}/**")
