"""The dashboard in a real browser, in front of a real gateway."""

import http.server
import itertools
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import expect
from tests.support.browser import CONTRAST, Visit, launched, visiting
from tests.support.server import OPERATOR_KEY, Server

from qwed_sdk import QWEDClient

pytestmark = pytest.mark.xdist_group("browser")

expect.set_options(timeout=60_000)
ENGINES = ["math", "logic", "fact", "sql", "code"]
PERSON = ["read", "approve", "register", "trust"]
#: A write waits for a person at trust level 2.
WRITE = {"type": "file_write", "target": "reports/weekly.csv", "parameters": {"rows": 48}}
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def browser():
    with launched() as started:
        yield started


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("dashboard")) as started:
        yield started


@pytest.fixture(scope="module")
def person(server):
    """The key of somebody at acme who may answer."""
    return server.principal_key("acme", scopes=PERSON, label="Mira")


@pytest.fixture(scope="module")
def other(server):
    """The key of somebody else at acme who may answer."""
    return server.principal_key("acme", scopes=PERSON, label="Noor")


@pytest.fixture(scope="module")
def maker(server):
    """The key that registers and asks for the agents; it may not answer."""
    return server.principal_key("acme")


@pytest.fixture
def visit(browser, server):
    with visiting(browser, server.base_url) as made:
        yield made


@pytest.fixture
def page(visit, person):
    """A page of somebody who has signed in."""
    return visit.signed_in(person)


def an_agent(server, principal="acme", **registration):
    number = next(_numbers)
    registration = {"name": f"agent {number}", "permissions": {"allowed_engines": ENGINES}, **registration}
    return server.register(principal_id=principal, **registration)


def ask(server, agent, action=WRITE, step=1, conversation="today", intent="the weekly report"):
    context = {"conversation_id": conversation, "step_number": step, "user_intent": intent}
    body = {"action": action, "context": context}
    return server.call(
        "POST", f"/agents/{agent['agent_id']}/verify", key=agent["agent_token"], json=body
    ).json()


def waiting(server, agent, action=WRITE, **how):
    answer = ask(server, agent, action, **how)
    assert answer["decision"] == "PENDING", answer
    return answer["approval"]["id"]


def approval(server, approval_id):
    return server.call("GET", f"/approvals/{approval_id}").json()


# --- signing in --------------------------------------------------------------------------------------


def test_a_key_signs_in_and_out_and_stays_out_of_the_browser(visit, person):
    page = visit.page
    page.goto(visit.url("/dashboard"))
    page.get_by_label("API key").fill(person)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()

    (cookie,) = visit.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    kept = page.evaluate("document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)")
    assert person not in kept and person not in cookie["value"] and "qwed_session" not in kept
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("API key")).to_be_visible()
    page.reload()
    expect(page.get_by_label("API key")).to_be_visible()


def test_a_wrong_key_is_told_so(visit):
    visit.forgives("401")
    page = visit.page
    page.goto(visit.url("/dashboard"))
    page.get_by_label("API key").fill("qwed_live_nobody")
    page.keyboard.press("Enter")

    expect(page.get_by_role("alert")).to_contain_text("not valid")
    assert visit.context.cookies() == []


def test_a_shared_link_leads_where_it_should_after_signing_in(visit, server, person):
    agent = an_agent(server)
    activity = ask(server, agent, {"type": "calculate", "query": "2+2"})["activity_id"]
    page = visit.page
    page.goto(visit.url(f"/dashboard/decisions/{activity}?from=mail"))
    page.get_by_label("API key").fill(person)
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name="calculate")).to_be_visible()
    assert page.url == visit.url(f"/dashboard/decisions/{activity}?from=mail")


def test_a_revoked_key_is_signed_out_where_it_is(visit, server):
    visit.forgives("401")
    created = server.call("POST", "/keys", json={"principal_id": "acme", "scopes": PERSON}).json()
    page = visit.signed_in(created["api_key"])
    page.goto(visit.url("/dashboard/agents"))
    expect(page.get_by_role("heading", name="Agents")).to_be_visible()
    server.call("DELETE", f"/keys/{created['key_id']}")

    # The page may have noticed by itself, and have no menu any more.
    page.goto(visit.url("/dashboard/search"))

    expect(page.get_by_label("API key")).to_be_visible()


def test_another_sites_page_changes_nothing(page, visit, server):
    """A page on another host, open in the same browser, sends a form and a script's request."""
    visit.forgives("403", "ERR_", "CORS", "Refused", "401")
    agent = an_agent(server)
    target = f"{server.base_url}/agents/{agent['agent_id']}/suspend"
    with hostile_page(target) as address:
        page.goto(address)
        page.evaluate(
            "target => fetch(target, {method: 'POST', credentials: 'include', mode: 'no-cors', body: '{}'})",
            target,
        )
        page.evaluate("document.forms[0].submit()")
        page.wait_for_url(target)

    assert server.call("GET", f"/agents/{agent['agent_id']}").json()["status"] == "active"


def test_a_script_of_ours_without_the_token_changes_nothing(page, visit, server):
    visit.forgives("403")
    agent = an_agent(server)
    page.goto(visit.url("/dashboard"))

    status = page.evaluate(
        "path => fetch(path, {method: 'POST'}).then(answer => answer.status)",
        f"/agents/{agent['agent_id']}/suspend",
    )

    assert status == 403
    assert server.call("GET", f"/agents/{agent['agent_id']}").json()["status"] == "active"


class hostile_page:
    """A page on `localhost`, which is another site than `127.0.0.1`."""

    def __init__(self, target):
        form = f'<form method="post" action="{target}" enctype="text/plain"><input name="x" value="y"></form>'
        body = form.encode()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(body if self.path == "/" else b"")

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self):
        self._thread.start()
        return f"http://localhost:{self._server.server_address[1]}/"

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


# --- answering ---------------------------------------------------------------------------------------


def test_what_a_person_approves_lets_the_waiting_agent_go_on(page, visit, server, maker):
    agent = an_agent(server)
    with QWEDClient(maker, server.base_url) as sdk, ThreadPoolExecutor(1) as pool:
        sdk.use_agent_token(agent["agent_id"], agent["agent_token"])
        decision = sdk.verify_action(agent["agent_id"], WRITE, {"conversation_id": "sdk", "step_number": 1})
        assert decision.is_pending
        answer = pool.submit(sdk.wait_for_approval, decision.approval_id, 30, agent_id=agent["agent_id"])

        page.goto(visit.url("/dashboard/inbox"))
        page.locator(f"[data-id='{decision.approval_id}']").click()
        page.get_by_role("button", name="Approve").click()
        page.get_by_label("Note").fill("fine by me")
        page.get_by_role("dialog").get_by_role("button", name="Approve").click()

        expect(page.get_by_role("status").filter(has_text="approved")).to_be_visible()
        approved = answer.result(30)
        assert approved.status == "approved"
        assert approved["votes"][0]["note"] == "fine by me"
        assert sdk.redeem(decision.approval_id, agent["agent_id"], WRITE).decision == "APPROVED"


def test_edited_arguments_are_verified_again_and_only_they_are_granted(page, visit, server):
    visit.forgives("422")
    agent = an_agent(server)
    approval_id = waiting(server, agent)
    page.goto(visit.url(f"/dashboard/inbox/{approval_id}"))
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Action").fill('{"type": "file_write", "target": "../../etc/passwd"}')
    page.get_by_role("button", name="Verify and approve").click()
    expect(page.get_by_role("alert")).not_to_be_empty()
    page.get_by_label("Action").fill("{not json")
    page.get_by_role("button", name="Verify and approve").click()
    expect(page.get_by_role("alert")).to_contain_text("not JSON")

    edited = {**WRITE, "parameters": {"rows": 5}}
    page.get_by_label("Action").fill(
        '{"type": "file_write", "target": "reports/weekly.csv", "parameters": {"rows": 5}}'
    )
    page.get_by_role("button", name="Verify and approve").click()
    expect(page.get_by_role("status").filter(has_text="approved with changes")).to_be_visible()

    granted = approval(server, approval_id)
    assert (granted["status"], granted["action"]) == ("approved", edited)
    token, path = agent["agent_token"], f"/approvals/{approval_id}/redeem"
    assert server.call("POST", path, key=token, json={"action": WRITE}).status_code == 409
    assert server.call("POST", path, key=token, json={"action": edited}).json()["decision"] == "APPROVED"


def test_a_denial_with_its_note_is_on_record(page, visit, server):
    agent = an_agent(server)
    approval_id = waiting(server, agent)
    page.goto(visit.url(f"/dashboard/inbox/{approval_id}"))
    page.get_by_role("button", name="Deny", exact=True).click()
    page.get_by_label("Note").fill("not this week")
    page.get_by_role("dialog").get_by_role("button", name="Deny").click()
    expect(page.get_by_role("status").filter(has_text="denied")).to_be_visible()

    page.goto(visit.url(f"/dashboard/inbox/{approval_id}?status=denied"))
    expect(page.get_by_text("not this week")).to_be_visible()
    assert approval(server, approval_id)["status"] == "denied"


def test_whoever_comes_second_is_told(page, visit, server, other):
    visit.forgives("409")
    approval_id = waiting(server, an_agent(server))
    page.goto(visit.url(f"/dashboard/inbox/{approval_id}"))
    page.get_by_role("button", name="Approve").click()
    server.call("POST", f"/approvals/{approval_id}/deny", key=other, json={})

    page.get_by_role("dialog").get_by_role("button", name="Approve").click()

    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("answered already")
    page.keyboard.press("Escape")
    expect(page.locator(".reading .pill").first).to_contain_text("denied")


def test_the_keyboard_alone_is_enough(page, visit, server):
    approval_id = waiting(server, an_agent(server))
    other = waiting(server, an_agent(server))
    page.goto(visit.url("/dashboard"))
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("approve what is open")
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("i")
    expect(page.get_by_role("heading", name="Inbox")).to_be_visible()
    expect(page.locator(f"[data-id='{other}'][aria-current]")).to_be_visible()
    page.keyboard.press("j")
    expect(page.locator(f"[data-id='{approval_id}'][aria-current]")).to_be_visible()
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    page.keyboard.press("a")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Enter")

    expect(page.get_by_role("status").filter(has_text="approved")).to_be_visible()
    assert approval(server, approval_id)["status"] == "approved"
    assert approval(server, other)["status"] == "open"
    assert outline == "solid"


def test_a_key_that_may_only_look_is_offered_nothing_else(visit, server):
    agent = an_agent(server)
    approval_id = waiting(server, agent)
    page = visit.signed_in(server.principal_key("acme", scopes=["read"]))
    page.goto(visit.url(f"/dashboard/inbox/{approval_id}"))

    expect(page.get_by_text("may look at this, not answer it")).to_be_visible()
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    page.goto(visit.url(f"/dashboard/agents/{agent['agent_id']}"))
    expect(page.get_by_role("heading", name=agent["name"])).to_be_visible()
    expect(page.get_by_role("button", name="Suspend")).to_have_count(0)


def test_what_is_unlike_before_is_pointed_out(page, visit, server):
    agent = an_agent(server)
    for step in range(1, 9):
        action = {"type": "api_call", "target": "https://erp.example.com/", "parameters": {"amount": step}}
        assert ask(server, agent, action, step)["decision"] == "APPROVED"
    approval_id = waiting(server, agent, step=9)
    page.goto(visit.url(f"/dashboard/inbox/{approval_id}"))

    unlike = page.locator(".unusual")
    expect(unlike).to_contain_text("never among its last 8 actions")
    expect(unlike).to_contain_text("at most medium before")


def test_numbers_beyond_those_of_the_browser_keep_their_digits(page, visit, server):
    agent = an_agent(server)
    action = {**WRITE, "parameters": {"account": 9007199254740993, "amount": 12345678901234567890}}
    approval_id = waiting(server, agent, action)
    page.goto(visit.url(f"/dashboard/inbox/{approval_id}"))
    expect(page.locator(".reading")).to_contain_text("12345678901234567890")
    page.get_by_role("button", name="Edit").click()
    page.get_by_role("button", name="Verify and approve").click()
    expect(page.get_by_role("status").filter(has_text="approved")).to_be_visible()

    redeemed = server.call(
        "POST", f"/approvals/{approval_id}/redeem", key=agent["agent_token"], json={"action": action}
    )
    assert redeemed.json()["decision"] == "APPROVED"


# --- what happens, as it happens ---------------------------------------------------------------------


def test_what_an_agent_asks_appears_without_reloading(page, visit, server, other):
    agent = an_agent(server)
    page.goto(visit.url("/dashboard/inbox"))
    expect(page.get_by_text("Live", exact=True)).to_be_visible()

    approval_id = waiting(server, agent)

    expect(page.locator(f"[data-id='{approval_id}']")).to_be_visible()
    expect(page.locator(".count")).to_be_visible()
    server.call("POST", f"/approvals/{approval_id}/deny", key=other, json={})
    expect(page.locator(f"[data-id='{approval_id}']")).to_have_count(0)


def test_the_overview_counts_on(page, visit, server):
    agent = an_agent(server)
    page.goto(visit.url("/dashboard"))
    expect(page.get_by_text("Live", exact=True)).to_be_visible()

    activity = ask(server, agent, {"type": "calculate", "query": "6*7"})["activity_id"]

    expect(page.locator(f"a[href='/dashboard/decisions/{activity}']")).to_be_visible()


def test_nothing_of_another_principal_is_seen_heard_or_opened(page, visit, server):
    visit.forgives("404")
    foreign = an_agent(server, "globex", name="the other one")
    approval_id = waiting(server, foreign)
    activity = approval(server, approval_id)["activity_id"]
    page.goto(visit.url("/dashboard/inbox"))
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    second = waiting(server, foreign, step=2)
    mine = waiting(server, an_agent(server))
    expect(page.locator(f"[data-id='{mine}']")).to_be_visible()

    assert (
        page.locator(f"[data-id='{second}']").count()
        == page.locator(f"[data-id='{approval_id}']").count()
        == 0
    )
    for path in (
        f"/dashboard/inbox/{approval_id}",
        f"/dashboard/decisions/{activity}",
        f"/dashboard/agents/{foreign['agent_id']}",
    ):
        page.goto(visit.url(path))
        expect(page.get_by_text("This does not exist here")).to_be_visible()
    for path in ("/dashboard", "/dashboard/agents", f"/dashboard/search?agent_id={foreign['agent_id']}"):
        page.goto(visit.url(path))
        expect(page.locator(".loading")).to_have_count(0)
        assert "the other one" not in page.locator("main").inner_text()
    assert approval(server, approval_id)["status"] == "open"


# --- agents, decisions, search -----------------------------------------------------------------------


def test_an_agent_is_suspended_reactivated_and_given_a_new_token(page, visit, server):
    agent = an_agent(server)
    page.goto(visit.url(f"/dashboard/agents/{agent['agent_id']}"))
    page.get_by_role("button", name="Suspend").click()
    page.get_by_label("Reason").fill("looks odd")
    page.get_by_role("dialog").get_by_role("button", name="Suspend").click()
    expect(page.locator(".page-head .pill").first).to_contain_text("suspended")
    assert ask(server, agent)["error"]["code"] == "QWED-AGENT-003"

    page.get_by_role("button", name="Reactivate").click()
    page.get_by_role("dialog").get_by_role("button", name="Reactivate").click()
    expect(page.locator(".page-head .pill").first).to_contain_text("active")

    page.get_by_role("button", name="Rotate token").click()
    page.get_by_role("button", name="Replace it").click()
    token = page.locator(".secret").inner_text()
    page.get_by_role("button", name="I have kept it").click()
    old = server.call("GET", f"/agents/{agent['agent_id']}", key=agent["agent_token"])
    new = server.call("GET", f"/agents/{agent['agent_id']}", key=token)
    assert (old.status_code, new.status_code) == (401, 200)


def test_trust_is_shown_over_time_with_its_reasons(page, visit, server):
    agent = an_agent(server)
    for to_level, reason in ((1, "a strange week"), (2, "it behaved")):
        body = {"to_level": to_level, "reason": reason}
        server.call("POST", f"/agents/{agent['agent_id']}/trust", json=body)
    page.goto(visit.url(f"/dashboard/agents/{agent['agent_id']}"))

    trust = page.locator("section", has=page.get_by_role("heading", name="Trust over time"))
    expect(trust).to_contain_text("a strange week")
    expect(trust).to_contain_text("2 → 1")
    expect(trust.get_by_role("img")).to_have_accessible_name(
        re.compile("Trust level: 2 since .*, 1 since .*, 2 since")
    )


def test_a_conversation_is_a_timeline_of_decisions_that_say_why(page, visit, server):
    agent = an_agent(server)
    ask(server, agent, {"type": "calculate", "query": "2+2"}, 1, "talk")
    ask(server, agent, {"type": "file_read", "target": "../../secrets"}, 2, "talk")
    page.goto(visit.url(f"/dashboard/agents/{agent['agent_id']}"))
    page.get_by_role("link", name="talk").click()

    steps = page.locator(".timeline .step")
    expect(steps).to_have_count(2)
    expect(steps.nth(0)).to_contain_text("approved")
    expect(steps.nth(1)).to_contain_text("denied")
    assert page.url.endswith("?conversation=talk")

    steps.nth(1).get_by_role("link").click()
    expect(page.locator(".check.decided")).to_contain_text("QWED-AGENT-005")
    page.get_by_role("button", name="Show the proof").click()
    expect(page.get_by_text("Ledger entry")).to_be_visible()
    page.get_by_text("Signed token").click()
    checks = server.call("GET", f"/activity/{page.url.rsplit('/', 1)[1]}").json()["checks"]
    assert page.locator(".check").count() == len(checks) >= 20
    assert page.locator(".check.passed").count() == sum(row["state"] == "passed" for row in checks) > 10


def test_the_newest_conversation_is_open_before_one_is_chosen(page, visit, server):
    agent = an_agent(server)
    ask(server, agent, {"type": "calculate", "query": "2+2"}, 1, "earlier")
    ask(server, agent, {"type": "calculate", "query": "3+3"}, 1, "later")
    page.goto(visit.url(f"/dashboard/agents/{agent['agent_id']}"))

    expect(page.locator(".timeline .step")).to_contain_text("3+3")
    expect(page.locator(".conversation[aria-current]")).to_contain_text("later")


def test_what_is_new_is_what_agents_asked_for_not_bookkeeping(page, visit, server):
    agent = an_agent(server)
    ask(server, agent, {"type": "calculate", "query": "20+22"})
    an_agent(server)
    page.goto(visit.url("/dashboard"))

    feed = page.locator(".feed")
    expect(feed).to_contain_text("20+22")
    expect(feed).not_to_contain_text("register_agent")


def test_a_search_is_an_address(page, visit, server):
    agent = an_agent(server)
    ask(server, agent, {"type": "calculate", "query": "1+1"})
    ask(server, agent, {"type": "beam_up", "query": "scotty"}, 2)
    page.goto(visit.url("/dashboard/search"))
    page.get_by_label("Agent", exact=True).fill(agent["agent_id"])
    page.get_by_label("Decision").select_option("DENIED")
    page.get_by_label("Text").fill("scotty")
    page.get_by_role("button", name="Search", exact=True).click()
    rows = page.locator(".results tbody tr")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("beam_up")

    address = page.url
    assert (
        f"agent_id={agent['agent_id']}" in address
        and "decision=DENIED" in address
        and "text=scotty" in address
    )
    page.goto(visit.url("/dashboard"))
    page.goto(address)
    expect(rows).to_have_count(1)
    expect(page.get_by_label("Text")).to_have_value("scotty")
    page.get_by_label("Text").fill("nowhere at all")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.get_by_text("Nothing found")).to_be_visible()
    page.go_back()
    expect(rows).to_have_count(1)


# --- hostile text ------------------------------------------------------------------------------------

PAYLOAD = '<img src=x onerror="window.hurt=1"><script>window.hurt=1</script>\'"></textarea><b>bold</b>'


def test_markup_in_everything_an_agent_says_is_shown_as_text(page, visit, server):
    agent = an_agent(server, name=f"name{PAYLOAD}"[:100], description=PAYLOAD, framework=PAYLOAD[:60])
    action = {
        "type": "file_write",
        "target": f"reports/{PAYLOAD}"[:90],
        "query": f"query{PAYLOAD}",
        "parameters": {
            f"key{PAYLOAD}": f"value{PAYLOAD}",
            "__proto__": {"class": "pill", "on": {"click": "x"}},
        },
    }
    approval_id = waiting(server, agent, action, conversation=f"talk{PAYLOAD}", intent=f"intent{PAYLOAD}")
    unknown = ask(server, agent, {"type": f"type{PAYLOAD}", "query": "x"}, 2, conversation=f"talk{PAYLOAD}")
    allowed = ask(server, agent, {"type": "calculate", "query": "1+2"}, 3, conversation=f"talk{PAYLOAD}")
    outcome = {"outcome": "failure", "error": f"error{PAYLOAD}"}
    server.call(
        "POST", f"/agents/{agent['agent_id']}/activity/{allowed['activity_id']}/outcome", json=outcome
    )
    server.call("POST", f"/agents/{agent['agent_id']}/suspend", json={"reason": f"reason{PAYLOAD}"})
    seen = []
    pages = {
        f"/dashboard/inbox/{approval_id}": ("query<img", "intent<img", "key<img"),
        f"/dashboard/decisions/{unknown['activity_id']}": ("type<img",),
        f"/dashboard/decisions/{allowed['activity_id']}": ("error<img",),
        f"/dashboard/agents/{agent['agent_id']}": ("name<img", "reason<img", "talk<img"),
        "/dashboard/agents": ("name<img",),
        f"/dashboard/search?agent_id={agent['agent_id']}": ("type<img",),
        "/dashboard": ("name<img", "reason<img"),
    }
    for path, expected in pages.items():
        page.goto(visit.url(path))
        for text in expected:
            expect(page.locator("main")).to_contain_text(text)
        seen += page.evaluate(
            "[...document.querySelectorAll('main img, main script, main b')].map(n => n.outerHTML)"
        )
        assert page.evaluate("window.hurt") is None
    page.goto(visit.url(f"/dashboard/inbox/{approval_id}"))
    page.get_by_role("button", name="Deny", exact=True).click()
    page.get_by_label("Note").fill(f"note{PAYLOAD}")
    page.get_by_role("dialog").get_by_role("button", name="Deny").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.goto(visit.url(f"/dashboard/inbox/{approval_id}?status=denied"))
    expect(page.locator("main")).to_contain_text("note<img")

    assert seen == []
    assert page.evaluate("window.hurt") is None


def test_what_cannot_be_seen_is_shown(page, visit, server):
    """Reversed text and characters without width could make one action look like another."""
    agent = an_agent(server)
    approval_id = waiting(server, agent, {**WRITE, "parameters": {"to": "eve\u202emoc.elpmaxe\u200b"}})
    page.goto(visit.url(f"/dashboard/inbox/{approval_id}"))

    expect(page.locator(".reading")).to_contain_text("\\u202e")
    assert "\u202e" not in page.locator("main").inner_text()
    assert "⟨U+202E⟩" in page.locator(f"[data-id='{approval_id}']").inner_text()


# --- how it looks ------------------------------------------------------------------------------------


def every_page(server):
    agent = an_agent(server, name="a name that is rather long for an agent but not impossible")
    approval_id = waiting(server, agent, {**WRITE, "target": "reports/" + "very-long-" * 12 + ".csv"})
    ask(server, agent, {"type": "verify_math", "query": "1+1=3"}, 2)
    denied = ask(server, agent, {"type": "beam_up", "query": "x" * 300}, 3)
    return [
        "/dashboard",
        "/dashboard/inbox",
        f"/dashboard/inbox/{approval_id}",
        "/dashboard/agents",
        f"/dashboard/agents/{agent['agent_id']}?conversation=today",
        f"/dashboard/decisions/{denied['activity_id']}",
        "/dashboard/search",
        "/dashboard/budgets",
        "/dashboard/keys",
        "/dashboard/webhooks",
    ]


NAMELESS = """[...document.querySelectorAll('a, button, input, select, textarea')].filter(node =>
    node.checkVisibility() && !node.textContent.trim() && !node.ariaLabel && !node.labels?.length
  ).map(node => node.outerHTML)"""


def test_everything_can_be_read_in_both_themes_and_every_control_has_a_name(visit, server, person):
    page = visit.page
    page.goto(visit.url("/dashboard"))
    expect(page.get_by_label("API key")).to_be_visible()
    faint, nameless = page.evaluate(CONTRAST), page.evaluate(NAMELESS)
    visit.signed_in(person)
    for path in every_page(server):
        page.goto(visit.url(path))
        expect(page.locator("main .loading")).to_have_count(0)
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            faint += [f"{path} {theme} {problem}" for problem in page.evaluate(CONTRAST)]
        nameless += page.evaluate(NAMELESS)
        assert page.locator("h1").count() == 1, path

    assert faint == []
    assert nameless == []


def test_the_theme_follows_the_system_until_it_is_chosen(browser, server, person):
    with visiting(browser, server.base_url, color_scheme="dark") as visit:
        page = visit.signed_in(person)
        page.goto(visit.url("/dashboard"))
        ground = "getComputedStyle(document.body).backgroundColor"
        dark = page.evaluate(ground)
        page.get_by_role("button", name="Switch to the light theme").click()
        light = page.evaluate(ground)
        page.reload()
        expect(page.get_by_role("button", name="Switch to the dark theme")).to_be_visible()

        assert (dark, light, page.evaluate(ground)) == ("rgb(14, 19, 24)", "rgb(245, 246, 248)", light)


def test_on_a_phone_everything_fits_and_a_thumb_can_answer(browser, server, person):
    phone = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
    with visiting(browser, server.base_url, **phone) as visit:
        page = visit.signed_in(person)
        for path in every_page(server):
            page.goto(visit.url(path))
            expect(page.locator("main .loading")).to_have_count(0)
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
        approval_id = waiting(server, an_agent(server))
        page.goto(visit.url("/dashboard/inbox"))
        page.locator(f"[data-id='{approval_id}']").tap()
        button = page.get_by_role("button", name="Approve")
        expect(button).to_be_in_viewport()
        assert button.bounding_box()["height"] >= 44
        button.tap()
        page.get_by_role("dialog").get_by_role("button", name="Approve").tap()
        expect(page.get_by_role("status").filter(has_text="approved")).to_be_visible()

        assert approval(server, approval_id)["status"] == "approved"


def test_a_gateway_that_is_gone_is_said(browser, tmp_path):
    own = Server(tmp_path).start()
    with visiting(browser, own.base_url) as visit:
        visit.forgives("ERR_", "Failed to load")
        key = own.principal_key("acme", scopes=PERSON)
        page = visit.signed_in(key)
        page.goto(visit.url("/dashboard"))
        expect(page.get_by_text("Live", exact=True)).to_be_visible()
        own.kill()
        expect(page.get_by_text("Reconnecting")).to_be_visible()

        page.get_by_role("link", name="Agents", exact=True).click()

        expect(page.get_by_role("alert")).to_contain_text("does not answer")


def test_an_address_that_is_no_page_says_so(page, visit):
    page.goto(visit.url("/dashboard/nowhere"))

    expect(page.get_by_text("There is no such page")).to_be_visible()


def test_an_operator_sees_an_agent_without_a_complaint_where_no_scores_are_kept(visit, server):
    agent = server.register(principal_id="acme", name="Plain")
    page = visit.signed_in(OPERATOR_KEY)
    page.goto(visit.url(f"/dashboard/agents/{agent['agent_id']}"))

    # That nothing failed on the way is looked at when the visit ends.
    expect(page.get_by_role("heading", name="Plain")).to_be_visible()
    expect(page.get_by_role("heading", name="Trust score")).to_have_count(0)


def test_a_visit_notices_what_it_should(browser, server):
    """The watch that every test above relies on: errors and foreign requests are not overlooked."""
    made = Visit(browser, server.base_url)
    made.page.goto(made.url("/dashboard"))
    made.page.evaluate("console.error('something broke')")
    made.page.evaluate("fetch('http://192.0.2.1/').catch(() => null)")
    made.page.wait_for_timeout(100)
    problems = made.close()

    assert any("something broke" in problem for problem in problems)
    assert any("192.0.2.1" in problem for problem in problems)
