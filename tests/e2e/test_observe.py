"""`qwed serve --observe`, started as people start it: agents go on, the record and the dashboard say so."""

from collections import Counter

import pytest
from playwright.sync_api import expect
from tests.support.browser import launched, visiting
from tests.support.cluster import Cluster, verify_request
from tests.support.server import OPERATOR_KEY, Server
from tests.support.services import shared

pytestmark = pytest.mark.xdist_group("browser")
NINES = "rules: [{id: nines, when: 'action.query.contains(\"9\")', then: ask}]\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("observe")
    (folder / "qwed.yaml").write_text(NINES)
    with Server(folder, "--observe", "--until", "2999-01-01") as started:
        yield started


def test_agents_go_on_and_the_record_says_what_would_have_been(server):
    agent = server.register(principal_id="acme", name="Anna")
    path = f"/agents/{agent['agent_id']}/verify"
    told = [
        server.call(
            "POST",
            path,
            key=agent["agent_token"],
            json={
                "action": {"type": "calculate", "query": query},
                "context": {"conversation_id": "c", "step_number": step},
            },
        ).json()
        for step, query in enumerate(("9+1=10", "2+2=5", "3+3=6"), 1)
    ]
    assert [each["decision"] for each in told] == ["APPROVED"] * 3
    assert [each["would"]["decision"] for each in told] == ["PENDING", "CORRECTED", "APPROVED"]
    kept = server.call("GET", f"/agents/{agent['agent_id']}/activity").json()["activities"]
    observed = [entry["decision"] for entry in kept if entry.get("observed")]
    assert observed == ["APPROVED", "CORRECTED", "PENDING"]
    assert server.call("GET", "/approvals").json()["approvals"] == []
    assert server.call("GET", "/ready").json()["observing"] == {"until": "2999-01-01T00:00:00.000Z"}


def test_a_policy_that_enforces_everything_is_not_put_in_force(server):
    (server.folder / "qwed.yaml").write_text("profile: regulated\n")
    answer = server.call("POST", "/policy/reload", json={"reason": "stricter"})
    (server.folder / "qwed.yaml").write_text(NINES)

    assert answer.status_code == 422 and "enforces every decision" in answer.text


def test_every_page_of_the_dashboard_says_that_nothing_is_stopped(server):
    with launched() as browser, visiting(browser, server.base_url) as visit:
        page = visit.signed_in(OPERATOR_KEY)
        for path in ("/dashboard", "/dashboard/agents", "/dashboard/inbox", "/dashboard/policy"):
            page.goto(visit.url(path))
            expect(page.locator(".observing")).to_contain_text("stop no action until 2999-01-01")
        observed = page.locator("section", has=page.get_by_role("heading", name="Observed"))
        expect(observed).to_contain_text("3 decisions stopped nothing")


def test_all_workers_observe_and_count_what_ran_on_postgresql(tmp_path):
    services = shared()
    (tmp_path / "rules.yaml").write_text(
        "rules:\n  - id: few\n    when: action.type == 'calculate'\n    then: deny\n"
        "    limit: {at_most: 3, within: 1h}\n"
    )
    options = ("--config", str(tmp_path / "rules.yaml"), "--observe")
    with Cluster(tmp_path, services.new_database(), services.redis, 2, *options) as cluster:
        agent = cluster.register(budget={"max_daily_cost_usd": 0.08, "max_per_request_cost_usd": 1})
        asked = [verify_request(agent, f"{n} + 1", 1, f"c{n}") for n in range(8)]
        told = [answer.json() for answer in cluster.together(asked)]
        spent = cluster.call("GET", f"/agents/{agent['agent_id']}/budget").json()["cost"]["current_daily_usd"]

    assert [each["decision"] for each in told] == ["APPROVED"] * 8, told
    would = Counter(each["would"]["decision"] for each in told)
    assert would["APPROVED"] == 3 and sum(would.values()) == 8
    assert spent == pytest.approx(0.08)
