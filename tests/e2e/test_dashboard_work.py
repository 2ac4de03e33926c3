"""What people do with the dashboard all day: triage, understand a decision, find things, look after keys."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from tests.e2e.test_dashboard import PERSON, an_agent, approval, ask, waiting
from tests.support.browser import launched, visiting
from tests.support.server import OPERATOR_KEY, Server

pytestmark = pytest.mark.xdist_group("browser")

expect.set_options(timeout=60_000)
AXE = Axe()
DROP = {"type": "execute_sql", "query": "DELETE FROM orders"}


@pytest.fixture(scope="module")
def browser():
    with launched() as started:
        yield started


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("gateway")) as started:
        yield started


@pytest.fixture
def person(server):
    return server.principal_key("acme", scopes=PERSON, roles=["operator:acme"])


@pytest.fixture
def visit(browser, server):
    with visiting(browser, server.base_url) as made:
        yield made


@pytest.fixture
def page(visit, person):
    return visit.signed_in(person)


@pytest.fixture
def operator(visit):
    return visit.signed_in(OPERATOR_KEY)


def empty_inbox(server):
    key = server.principal_key("acme", scopes=PERSON)
    for one in server.call("GET", "/approvals?status=open&limit=100").json()["approvals"]:
        answer = server.call("POST", f"/approvals/{one['id']}/deny", key=key, json={})
        assert answer.status_code == 200, answer.text


# --- the beginning -----------------------------------------------------------------------------------


def test_the_first_page_leads_to_the_dashboard_which_says_what_to_do_first(operator, visit, server):
    operator.goto(visit.url("/"))

    expect(operator.get_by_role("heading", name="Put your first agent behind QWED")).to_be_visible()
    assert operator.url == visit.url("/dashboard")
    an_agent(server)
    operator.reload()
    expect(operator.get_by_role("heading", name="Recent activity")).to_be_visible()
    expect(operator.get_by_role("heading", name="Put your first agent behind QWED")).to_have_count(0)


def test_the_page_of_the_api_shows_bodies_and_examples(visit):
    page = visit.page
    page.goto(visit.url("/docs#verify"))

    expect(page.get_by_text("action.query").first).to_be_visible()
    expect(page.get_by_text('"conversation_id":"conv_1"')).to_be_visible()


# --- the inbox ---------------------------------------------------------------------------------------


def test_the_key_that_edits_types_nothing_and_the_original_stays_in_sight(page, visit, server):
    approval_id = waiting(server, an_agent(server))
    page.goto(visit.url(f"/dashboard/inbox/{approval_id}"))
    expect(page.get_by_role("button", name="Edit")).to_be_visible()
    page.keyboard.press("e")
    text = page.get_by_label("Action", exact=True)
    expect(text).to_be_focused()
    assert text.input_value().startswith("{") and text.input_value().endswith("}")

    text.fill('{"type": "send_email", "target": "reports/weekly.csv", "parameters": {"rows": 48}}')
    expect(page.get_by_text("The type changes from")).to_be_visible()
    text.fill('{"type": "file_write", "target": "reports/weekly.csv", "parameters": {"rows": 5}}')
    expect(page.locator(".diff-new")).to_contain_text('"rows": 5')
    expect(page.locator(".diff-gone")).to_contain_text('"rows": 48')
    expect(page.get_by_text("The type changes from")).to_have_count(0)
    page.get_by_role("button", name="Verify and approve").click()
    expect(page.get_by_role("status").filter(has_text="approved with changes")).to_be_visible()

    page.goto(visit.url(f"/dashboard/inbox/{approval_id}?status=approved"))
    expect(page.get_by_role("heading", name="Edited by a person")).to_be_visible()
    expect(page.locator(".reading .diff-gone")).to_contain_text('"rows": 48')


def test_the_first_request_is_open_and_the_title_counts(page, visit, server):
    empty_inbox(server)
    approval_id = waiting(server, an_agent(server))
    page.goto(visit.url("/dashboard/inbox"))

    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    assert page.url == visit.url(f"/dashboard/inbox/{approval_id}")
    expect(page).to_have_title("(1) Inbox · QWED")


def test_requests_are_sorted_filtered_grouped_and_denied_together(page, visit, server):
    empty_inbox(server)
    noisy, quiet = an_agent(server, name="noisy"), an_agent(server, name="quiet")
    same = [waiting(server, noisy, conversation=f"c{number}") for number in range(3)]
    kept = waiting(server, quiet, {"type": "file_write", "target": "reports/other.csv"})
    page.goto(visit.url("/dashboard/inbox"))
    rows = page.locator(".mail")

    expect(rows).to_have_count(2)
    expect(page.locator(".times")).to_have_text("× 3")
    page.get_by_label("Group repeats").uncheck()
    expect(rows).to_have_count(4)
    page.get_by_label("Sort by").select_option("agent")
    page.get_by_label("Filter this list").fill("noisy")
    expect(rows).to_have_count(3)
    page.get_by_role("button", name="Deny all 3 listed").click()
    page.get_by_label("Note").fill("a loop")
    page.get_by_role("button", name="Deny all 3", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="3 of 3 denied")).to_be_visible()
    assert [approval(server, one)["status"] for one in same] == ["denied"] * 3
    assert approval(server, same[0])["votes"][0]["note"] == "a loop"
    assert approval(server, kept)["status"] == "open"


def test_who_wants_to_be_notified_is_told_of_what_waits_while_looking_elsewhere(
    browser, server, person, visit
):
    visit.context.grant_permissions(["notifications"])
    visit.context.add_init_script(
        "window.told = []; class Note extends EventTarget { static permission = 'granted';"
        " static requestPermission = async () => 'granted';"
        " constructor(title, more) { super(); window.told.push([title, more.body]); } }"
        " window.Notification = Note;"
    )
    page = visit.signed_in(person)
    page.goto(visit.url("/dashboard/inbox"))
    page.get_by_role("button", name="Notify me").click()
    expect(page.get_by_role("button", name="Stop notifying me")).to_be_visible()
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    page.evaluate("Object.defineProperty(document, 'hidden', {value: true})")
    waiting(server, an_agent(server))

    page.wait_for_function("window.told.length > 0")
    assert page.evaluate("window.told[0]") == [
        "file_write waits for you",
        'reports/weekly.csv  ·  {"rows":48}',
    ]


# --- a decision --------------------------------------------------------------------------------------


def test_a_decision_begins_with_the_verdict_and_folds_what_passed(page, visit, server):
    denied = ask(server, an_agent(server), DROP)
    page.goto(visit.url(f"/dashboard/decisions/{denied['activity_id']}"))

    verdict = page.get_by_label("Verdict")
    expect(verdict).to_contain_text("The gateway denied it.")
    expect(verdict).to_contain_text("may not act at critical risk")
    expect(page.locator(".check.decided")).to_be_visible()
    expect(page.locator(".check.passed").first).not_to_be_visible()
    page.get_by_text("checks passed").click()
    expect(page.locator(".check.passed").first).to_be_visible()
    expect(page.locator("mark").first).to_have_text("DELETE FROM orders")
    expect(page.locator(".sql-word").first).to_have_text("DELETE")
    expect(page.get_by_text('"missing_where"').first).not_to_be_visible()
    page.get_by_text("Evidence as JSON").first.click()
    expect(page.get_by_text('"missing_where"').first).to_be_visible()


def test_code_is_marked_where_it_is_wrong_and_an_address_is_taken_apart(page, visit, server):
    agent = an_agent(server)
    evil = ask(server, agent, {"type": "execute_code", "code": "x = 1\neval(input())\n"})
    page.goto(visit.url(f"/dashboard/decisions/{evil['activity_id']}"))
    expect(page.locator(".line.marked")).to_contain_text("eval(input())")

    other = an_agent(server)
    called = ask(server, other, {"type": "api_call", "target": "http://169.254.169.254/latest?a=1"})
    page.goto(visit.url(f"/dashboard/decisions/{called['activity_id']}"))
    expect(page.locator(".address .host")).to_have_text("169.254.169.254")


def test_the_graph_names_its_nodes_by_action_and_decision(page, visit, server):
    agent = an_agent(server, name="storyteller")
    ask(server, agent, {"type": "calculate", "query": "2+2"})
    denied = ask(server, agent, DROP, 2)
    entry = server.call("GET", f"/activity/{denied['activity_id']}").json()["activity"]
    page.goto(visit.url(f"/dashboard/provenance/{entry['ect_jti']}"))

    expect(page.locator("#chosen")).to_contain_text("execute_sql: denied")
    expect(page.locator("#chosen")).to_contain_text("storyteller")


# --- finding -----------------------------------------------------------------------------------------


def test_agents_have_figures_and_are_sorted_and_filtered(page, visit, server):
    good, bad = an_agent(server, name="figures a good"), an_agent(server, name="figures b bad")
    ask(server, good, {"type": "calculate", "query": "1+1"})
    ask(server, bad, DROP)
    page.goto(visit.url("/dashboard/agents"))
    page.get_by_label("Filter agents").fill("figures")
    rows = page.locator("tbody tr")

    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text("figures a good")
    expect(rows.nth(1)).to_contain_text("100 %")
    expect(rows.nth(1).get_by_label("1 of the last 1 refused")).to_be_visible()
    page.get_by_role("button", name="Refused").click()
    expect(rows.nth(0)).to_contain_text("figures b bad")
    expect(page.locator("th[aria-sort=descending]")).to_contain_text("Refused")


def test_a_bar_of_the_chart_leads_to_its_decisions(page, visit, server):
    ask(server, an_agent(server), {"type": "calculate", "query": "3+3"})
    page.goto(visit.url("/dashboard"))
    bar = page.locator(".chart a").last
    bar.hover()
    expect(page.locator(".tip")).to_contain_text("approved")
    bar.click()

    expect(page.get_by_role("heading", name="Search")).to_be_visible()
    expect(page.locator(".results")).to_contain_text("calculate")
    assert "from=" in page.url and "to=" in page.url
    expect(page.locator(".tip")).to_have_count(0)


def test_a_search_takes_a_name_is_kept_and_becomes_a_file(page, visit, server):
    agent = an_agent(server, name="=named agent")
    ask(server, agent, {"type": "calculate", "query": "5+5"})
    page.goto(visit.url("/dashboard/search"))
    expect(page.locator("datalist#agents option[value='=named agent']")).to_have_count(1)
    page.get_by_label("Agent", exact=True).fill("=named agent")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.get_by_label("Agent", exact=True)).to_have_value("=named agent")
    assert f"agent_id={agent['agent_id']}" in page.url

    page.get_by_role("button", name="Save this search").click()
    page.get_by_label("Name").fill("mine")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_role("link", name="mine")).to_be_visible()
    with page.expect_download() as file:
        page.get_by_role("button", name="CSV").click()
    text = file.value.path().read_text(encoding="utf-8")
    assert text.splitlines()[0].startswith("time_utc,decision,agent_id")
    assert ",'=named agent,calculate,5+5," in text
    page.goto(visit.url("/dashboard/search"))
    page.get_by_role("link", name="mine").click()
    expect(page.locator(".results tbody tr")).to_have_count(2)
    page.get_by_role("button", name="Forget mine").click()
    expect(page.get_by_role("link", name="mine")).to_have_count(0)


def test_times_name_their_zone(page, visit, server):
    done = ask(server, an_agent(server), {"type": "calculate", "query": "6+6"})
    page.goto(visit.url(f"/dashboard/decisions/{done['activity_id']}"))

    expect(page.locator(".page-head .dim").first).to_contain_text("UTC")


# --- keys, webhooks, budgets -------------------------------------------------------------------------


def test_a_key_is_made_shown_once_and_revoked(operator, visit, server):
    operator.goto(visit.url("/dashboard/keys"))
    operator.get_by_role("button", name="Create a key").click()
    operator.get_by_label("Principal").fill("acme")
    operator.get_by_label("Label").fill("Mira")
    operator.get_by_label("approve").check()
    operator.get_by_role("button", name="Create", exact=True).click()
    secret = operator.locator(".secret").text_content()
    operator.get_by_role("button", name="I have kept it").click()
    row = operator.locator("tr").filter(has_text="Mira")
    expect(row).to_contain_text("read, approve")
    assert server.call("GET", "/agents", key=secret).status_code == 200

    row.get_by_role("button", name="Revoke").click()
    operator.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(row).to_contain_text("revoked")
    assert server.call("GET", "/agents", key=secret).status_code == 401


def test_a_webhook_is_added_and_removed_and_budgets_are_seen(operator, visit, server):
    agent = an_agent(server, name="spender")
    operator.goto(visit.url("/dashboard/webhooks"))
    operator.get_by_role("button", name="Add a webhook").click()
    operator.get_by_label("Address").fill("https://hooks.example.com/qwed")
    operator.get_by_role("button", name="Add", exact=True).click()
    operator.get_by_role("button", name="I have kept it").click()
    expect(operator.get_by_text("notified about approval")).to_be_visible()
    operator.get_by_role("button", name="Remove").click()
    operator.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(operator.get_by_text("No notifications yet")).to_be_visible()

    operator.goto(visit.url("/dashboard/budgets"))
    card = operator.locator(".card").filter(has_text=agent["name"])
    expect(card).to_contain_text("Requests this hour")


# --- for everybody -----------------------------------------------------------------------------------


def faults(page):
    found = AXE.run(page).response["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html'][:160]}" for one in found]


def test_axe_finds_nothing_on_any_page_or_dialog(operator, visit, server):
    agent = an_agent(server)
    approval_id = waiting(server, agent)
    denied = ask(server, agent, DROP, 2)
    pages = (
        "",
        "/inbox",
        "/agents",
        f"/agents/{agent['agent_id']}",
        "/search",
        "/budgets",
        "/keys",
        "/teams",
        "/webhooks",
    )
    wrong = {}
    for path in (*pages, f"/decisions/{denied['activity_id']}"):
        operator.goto(visit.url(f"/dashboard{path}"))
        expect(operator.locator("main .loading")).to_have_count(0)
        wrong[path] = faults(operator)
    operator.goto(visit.url(f"/dashboard/inbox/{approval_id}"))
    for key in "aed?":
        expect(operator.get_by_role("button", name="Approve")).to_be_visible()
        operator.keyboard.press(key)
        expect(operator.get_by_role("dialog")).to_be_visible()
        wrong[f"dialog {key}"] = faults(operator)
        operator.keyboard.press("Escape")
        # A closed dialog is hidden first and removed by its event: only then is the next key heard.
        expect(operator.locator("dialog")).to_have_count(0)
    operator.goto(visit.url("/dashboard/keys"))
    operator.get_by_role("button", name="Create a key").click()
    wrong["dialog create key"] = faults(operator)
    operator.goto(visit.url("/docs#verify"))
    wrong["docs"] = faults(operator)

    assert {place: found for place, found in wrong.items() if found} == {}


# --- teams -------------------------------------------------------------------------------------------

TEAMS = """
teams:
  payments:
    principals: [acme]
    rules:
      - {id: few-transfers, when: action.type == 'transfer', then: ask, limit: {at_most: 3, within: 1h}}
  research:
    principals: [lab]
people:
  groups:
    finance-leads: {principal: acme, roles: [finance], scopes: [read, approve]}
"""


def test_a_team_shows_its_people_agents_and_rules_and_is_stopped_and_resumed(browser, tmp_path):
    (tmp_path / "qwed.yaml").write_text(TEAMS)
    with Server(tmp_path, "--config", "qwed.yaml") as server, visiting(browser, server.base_url) as visit:
        agent = an_agent(server, name="payer")
        page = visit.signed_in(OPERATOR_KEY)
        page.goto(visit.url("/dashboard/teams"))
        card = page.locator(".card").filter(has_text="payments")
        expect(card).to_contain_text("finance-leads")
        expect(card.get_by_role("link", name="payer")).to_be_visible()
        expect(page.locator(".card").filter(has_text="research")).to_contain_text("none yet")
        card.get_by_text("1 rule of its own").click()
        expect(card).to_contain_text("few-transfers")

        card.get_by_role("button", name="Stop payments").click()
        wrong = {"dialog": faults(page)}
        page.get_by_label("Reason").fill("an incident")
        page.get_by_role("dialog").get_by_role("button", name="Stop", exact=True).click()
        expect(card).to_contain_text("an incident")
        refused = ask(server, agent, {"type": "calculate", "query": "1+1"}, 1)
        assert refused["decision"] == "DENIED", refused
        wrong["page"] = faults(page)
        card.get_by_role("button", name="Resume payments").click()
        page.get_by_label("Reason").fill("over")
        page.get_by_role("dialog").get_by_role("button", name="Resume", exact=True).click()
        expect(card.get_by_role("button", name="Stop payments")).to_be_visible()
        assert ask(server, agent, {"type": "calculate", "query": "1+1"}, 2)["decision"] == "APPROVED"
        assert not any(wrong.values()), wrong


def test_without_teams_the_page_says_what_one_is(operator, visit):
    operator.goto(visit.url("/dashboard/teams"))
    expect(operator.get_by_text("No teams yet")).to_be_visible()


def test_teams_are_for_those_who_may_see_the_policy(page, visit):
    page.goto(visit.url("/dashboard/teams"))
    expect(page.get_by_text("You may not see the teams")).to_be_visible()
