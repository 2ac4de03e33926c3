"""The dashboard's page on the policy, in a real browser: write, check, backtest, apply, roll back."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from tests.support.browser import CONTRAST, launched, visiting
from tests.support.server import OPERATOR_KEY, Server

pytestmark = pytest.mark.xdist_group("browser")
expect.set_options(timeout=60_000)
AXE = Axe()
MISTAKEN = "rules:\n  - id: nines\n    when: action.qery == '9'\n    then: deny\n"
NINES = "rules:\n  - id: nines\n    when: action.query.contains('9')\n    then: deny\n"
NEVER = "rules:\n  - id: never\n    when: risk > CRITICAL\n    then: deny\n"


@pytest.fixture(scope="module")
def browser():
    with launched() as started:
        yield started


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("policy")
    (folder / "next.yaml").write_text(
        "rules: [{id: sixes, when: 'action.query.contains(\"6\")', then: deny}]\n"
    )
    with Server(folder, "--shadow", "next.yaml") as started:
        agent = started.register(principal_id="acme", name="Anna")
        for step, query in enumerate(("9+1=10", "2+2=4", "3+3=6"), 1):
            body = {
                "action": {"type": "calculate", "query": query},
                "context": {"conversation_id": "c", "step_number": step},
            }
            path = f"/agents/{agent['agent_id']}/verify"
            decided = started.call("POST", path, key=agent["agent_token"], json=body).json()
            assert decided["decision"] == "APPROVED", decided
        yield started


@pytest.fixture
def visit(browser, server):
    with visiting(browser, server.base_url) as made:
        yield made


@pytest.fixture
def page(visit):
    page = visit.signed_in(OPERATOR_KEY)
    page.goto(visit.url("/dashboard/policy"))
    expect(page.get_by_text("Nothing is wrong, and nothing is doubtful.")).to_be_visible()
    return page


def write(page, text):
    page.get_by_label("Text of the policy").fill(text)


def put_in_force(page, text, reason):
    write(page, text)
    expect(page.get_by_text("Nothing is wrong, and nothing is doubtful.")).to_be_visible()
    page.get_by_role("button", name="Put in force …").click()
    page.get_by_label("Reason").fill(reason)
    page.get_by_role("button", name="Put in force", exact=True).click()


def test_mistakes_are_told_with_their_line_which_a_click_selects(page):
    write(page, MISTAKEN)
    expect(page.get_by_text("This text can't be put in force.")).to_be_visible()
    expect(page.get_by_text("qery")).to_contain_text(["did you mean query?"])
    expect(page.locator(".line-wrong")).to_have_text("3")
    expect(page.get_by_role("button", name="Put in force …")).to_be_disabled()
    page.get_by_role("button", name="Line 3").click()

    selected = "(a => a.value.slice(a.selectionStart, a.selectionEnd))(document.activeElement)"
    assert page.evaluate(selected) == "    when: action.qery == '9'"


def test_a_doubtful_rule_is_named_with_its_line(page):
    write(page, NEVER)
    expect(page.locator(".line-doubtful").first).to_have_text("2")
    expect(page.get_by_text("never").first).to_be_visible()


def test_a_rule_is_compared_backtested_applied_and_rolled_back(page, server):
    write(page, NINES)
    expect(page.locator("section", has_text="What it decides").get_by_text("tighter").first).to_be_visible()
    expect(page.get_by_role("region", name="Differences")).to_contain_text("id: nines")
    page.get_by_label("Period").select_option("")
    page.get_by_role("button", name="Run the backtest").click()
    backtest = page.locator("section", has=page.get_by_role("heading", name="Backtest"))
    expect(backtest).to_contain_text("2 of 3 decisions stay the same; 1 change.")
    expect(backtest.locator(".tally")).to_contain_text("nines")
    expect(backtest).to_contain_text("approved")

    put_in_force(page, NINES, "nines are for the finance team")
    expect(page.get_by_text("Version 1 is in force.")).to_be_visible()
    history = page.locator("section", has=page.get_by_role("heading", name="History"))
    expect(history).to_contain_text("nines are for the finance team")
    put_in_force(page, NINES.replace("9", "8"), "and eights")
    expect(history).to_contain_text("and eights")
    page.get_by_text("Text of version 1").click()
    expect(history.get_by_role("region", name="Differences")).to_contain_text("contains('9')")
    page.get_by_role("button", name="Roll back to 1").click()
    page.get_by_label("Reason").fill("eights are fine")
    page.get_by_role("button", name="Roll back", exact=True).click()
    expect(history).to_contain_text("eights are fine")

    in_force = server.call("GET", "/policy").json()
    assert in_force["version"] == 3 and in_force["text"] == NINES
    assert [one["kind"] for one in server.call("GET", "/policy/history").json()["changes"]] == [
        "rollback",
        "apply",
        "apply",
    ]


def test_somebody_who_changed_it_in_between_is_not_overwritten(page, visit, server):
    visit.forgives("409")
    number = server.call("GET", "/policy").json()["version"]
    body = {"text": NEVER, "reason": "somebody else was quicker"}
    assert server.call("PUT", "/policy", json=body).status_code == 200
    write(page, NINES.replace("9", "7"))
    expect(page.get_by_role("button", name="Put in force …")).to_be_enabled()
    page.get_by_role("button", name="Put in force …").click()
    page.get_by_label("Reason").fill("sevens")
    page.get_by_role("button", name="Put in force", exact=True).click()

    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text(f"version {number + 1}")
    back = {"version": number, "reason": "as it was"} if number else None
    if back:
        assert server.call("POST", "/policy/rollback", json=back).status_code == 200
    else:
        assert server.call("PUT", "/policy", json={"text": "", "reason": "as it was"}).status_code == 200


def test_what_the_shadow_would_have_said_is_shown_by_rule_and_counted(page, server):
    told = server.call("GET", "/metrics").text
    assert 'qwed_shadow_differences_total{decision="APPROVED",would="DENIED"} 1.0' in told
    shadow = page.locator("section", has=page.get_by_role("heading", name="Shadow"))
    expect(shadow).to_contain_text("1 would have been decided otherwise")
    expect(shadow).to_contain_text("sixes")
    expect(shadow).to_contain_text("APPROVED -> DENIED")


def test_it_is_for_those_who_may_see_the_policy(visit, server):
    page = visit.signed_in(server.principal_key("acme", scopes=["read"]))
    page.goto(visit.url("/dashboard"))
    expect(page.get_by_role("link", name="Search")).to_be_visible()
    expect(page.get_by_role("link", name="Policy")).to_have_count(0)
    page.goto(visit.url("/dashboard/policy"))
    expect(page.get_by_text("You may not see the policy")).to_be_visible()


def test_the_scope_policy_opens_it_without_the_role_operator(visit, server):
    page = visit.signed_in(server.principal_key("acme", scopes=["read", "policy"]))
    page.goto(visit.url("/dashboard"))
    page.get_by_role("link", name="Policy").click()
    expect(page.get_by_label("Text of the policy")).to_be_visible()
    page.goto(visit.url("/dashboard/teams"))
    expect(page.get_by_text("No teams yet")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_and_everything_can_be_read(page, theme, width, tmp_path_factory):
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    write(page, NINES + NEVER.removeprefix("rules:\n"))
    expect(page.locator(".line-doubtful").first).to_be_visible()
    page.get_by_label("Period").select_option("")
    page.get_by_role("button", name="Run the backtest").click()
    expect(page.get_by_text("decisions stay the same")).to_be_visible()
    faults = [f"{one['id']}: {one['nodes'][0]['html'][:160]}" for one in AXE.run(page).response["violations"]]
    page.screenshot(path=tmp_path_factory.getbasetemp() / f"policy-{theme}-{width}.png", full_page=True)

    assert faults == []
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
