"""The dashboard's pages on trust scores and provenance, in a real browser."""

import json
import re
import time
import uuid

import pytest
from playwright.sync_api import expect
from tests.support.browser import CONTRAST, launched, visiting
from tests.support.records import an_activity, an_agent
from tests.support.server import OPERATOR_KEY, Server

from qwed.bootstrap import signing_key_path
from qwed.domain.nodes import jti_of
from qwed.ect import KeyRing, generate, issue, parse
from qwed.ect.key_files import open_ring
from qwed.ect.keys import node_issuer
from qwed.gateway.kernel.records import ReceivedEct, Record
from qwed.stores.sqlite import SqliteTables

pytestmark = pytest.mark.xdist_group("browser")
expect.set_options(timeout=60_000)


@pytest.fixture(scope="module")
def browser():
    with launched() as started:
        yield started


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("assurance")
    (folder / "qwed.yaml").write_text("assurance: {trust_scoring: true}\n")
    with Server(folder) as started:
        yield started


@pytest.fixture
def visit(browser, server):
    with visiting(browser, server.base_url) as made:
        yield made


@pytest.fixture(scope="module")
def story(server):
    """An agent that failed once, in its second step."""
    agent = server.register(principal_id="acme", name="Anna")
    decided = None
    for step in (1, 2):
        body = {
            "action": {"type": "calculate", "query": f"{step}+1={step + 1}"},
            "context": {"conversation_id": "c", "step_number": step},
        }
        path = f"/agents/{agent['agent_id']}"
        decided = server.call("POST", f"{path}/verify", key=agent["agent_token"], json=body).json()
    outcome = f"{path}/activity/{decided['activity_id']}/outcome"
    server.call("POST", outcome, key=agent["agent_token"], json={"outcome": "failure"})
    return agent, decided


def test_an_operator_sees_the_score_and_what_moved_it(visit, story):
    agent, _ = story
    page = visit.signed_in(OPERATOR_KEY)
    page.goto(visit.url(f"/dashboard/agents/{agent['agent_id']}"))
    card = page.locator("section", has=page.get_by_role("heading", name="Trust score"))

    expect(card).to_contain_text("0.4")
    expect(card).to_contain_text("task failure")
    expect(card.get_by_role("img")).to_have_attribute("aria-label", "Trust score, now 0.40")


def test_a_principal_is_shown_no_score(visit, server, story):
    agent, _ = story
    page = visit.signed_in(server.principal_key("acme", scopes=["read"]))
    page.goto(visit.url(f"/dashboard/agents/{agent['agent_id']}"))

    expect(page.get_by_role("heading", name="Anna")).to_be_visible()
    expect(page.get_by_text("Trust score")).to_have_count(0)


def test_a_decision_leads_to_where_it_came_from(visit, story):
    _, decided = story
    page = visit.signed_in(OPERATOR_KEY)
    page.goto(visit.url(f"/dashboard/decisions/{decided['activity_id']}"))
    page.get_by_role("link", name="Where it came from").click()

    expect(page.locator("canvas.graph")).to_be_visible()
    expect(page.locator("#chosen")).to_contain_text(jti_of(decided["activity_id"]))
    expect(page.get_by_text("2 tokens and 1 links")).to_be_visible()
    assert page.evaluate(CONTRAST) == []


def big_graph(count):
    names = [str(uuid.UUID(int=number + 1)) for number in range(count)]
    nodes = [
        {
            "jti": name,
            "agent": f"spiffe://example.com/agent/{number % 7}",
            "action": f"step {number}",
            "at": 1_800_000_000 + number,
            "wid": None,
            "level": "L1" if number % 50 == 0 else "L3",
            "outcome": None,
        }
        for number, name in enumerate(names)
    ]
    edges = [[names[max(0, number - 60)], names[number]] for number in range(60, count)]
    return {"jti": names[-1], "nodes": nodes, "edges": edges, "missing": [], "bounded": False, "dot": ""}


@pytest.fixture(scope="module")
def long_story(tmp_path_factory):
    """A gateway whose ledger holds sixty chains of tokens that end in one: five thousand in all."""
    folder = tmp_path_factory.mktemp("long")
    last = write_chains(folder / "qwed.db", 4_999, chains=60)
    with Server(folder) as started:
        yield started, last


def write_chains(path, count, chains):
    """Straight into a store that nobody has opened, signed with the key that its gateway will find."""
    pens = [KeyRing(f"spiffe://example.com/agent/{number}", generate()) for number in range(7)]
    tables = SqliteTables(path, open_ring(signing_key_path(path), node_issuer("local")))
    agent, now_ms = an_agent(), time.time_ns() // 1_000_000
    made = []
    try:
        while len(made) <= count:
            tokens = []
            for number in range(len(made), min(len(made) + 500, count + 1)):
                is_last = number == count
                par = made[-chains:] if is_last else made[number - chains : number - chains + 1]
                par = par if number >= chains else []
                act = "the end" if is_last else f"step {number}"
                token = issue(pens[number % 7], act, node_issuer("local"), now_ms // 1000, par=par)
                made.append(parse(token).claims["jti"])
                tokens.append(ReceivedEct(made[-1], token, now_ms, agent.principal_id))
            tables.write([Record(an_activity(agent, now_ms), ects=tuple(tokens))])
    finally:
        tables.close()
    return made[-1]


def test_five_thousand_nodes_can_be_moved_zoomed_and_clicked(browser, long_story):
    server, last = long_story
    with visiting(browser, server.base_url) as visit:
        page = visit.signed_in(OPERATOR_KEY)
        page.goto(visit.url(f"/dashboard/provenance/{last}"))
        expect(page.locator("#chosen")).to_contain_text("the end")
        move_zoom_and_click(page)


def move_zoom_and_click(page):
    canvas = page.locator("canvas.graph")
    expect(page.get_by_text("5,000 tokens")).to_be_visible()
    for _ in range(12):
        page.get_by_role("button", name="Zoom in").click()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 200)
    page.mouse.wheel(0, -300)
    page.mouse.down()
    page.mouse.move(box["x"] + 320, box["y"] + 260, steps=5)
    page.mouse.up()
    page.get_by_role("button", name="Fit").click()
    slowest = page.evaluate(
        """async () => {
          const canvas = document.querySelector("canvas.graph");
          let slowest = 0;
          for (let turn = 0; turn < 20; turn += 1) {
            const before = performance.now();
            const deltaY = turn % 2 ? -1 : 1;
            canvas.dispatchEvent(new WheelEvent("wheel", { deltaY, clientX: 300, clientY: 300 }));
            await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
            slowest = Math.max(slowest, performance.now() - before);
          }
          return slowest;
        }"""
    )
    page.get_by_role("button", name="Fit").click()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 20)
    for _ in range(20):
        page.mouse.wheel(0, -100)
    canvas.click(position={"x": 40, "y": 38})

    # Generous: what matters is that nothing freezes.
    assert slowest < 2_000
    expect(page.locator("#chosen")).to_contain_text(re.compile(r"step \d"))


def test_a_long_story_is_folded_and_a_node_is_chosen_without_a_mouse(visit):
    graph = big_graph(400)
    page = visit.signed_in(OPERATOR_KEY)
    page.route(
        "**/provenance/*/graph",
        lambda route: route.fulfill(body=json.dumps(graph), content_type="application/json"),
    )
    page.goto(visit.url(f"/dashboard/provenance/{graph['jti']}"))
    page.get_by_text("As a list").press("Enter")
    page.get_by_role("button", name="step 7", exact=True).press("Enter")

    expect(page.locator("#chosen")).to_contain_text(graph["nodes"][7]["jti"])
    assert page.evaluate(CONTRAST) == []


def test_without_a_token_the_page_says_where_to_find_one(visit):
    visit.forgives("404")
    page = visit.signed_in(OPERATOR_KEY)
    for path in ("/dashboard/provenance", "/dashboard/provenance/no-such-token"):
        page.goto(visit.url(path))
        expect(page.locator("main")).to_contain_text(
            "Open a decision in Search and choose “Where it came from”"
        )
        expect(page.get_by_role("link", name="Search the record")).to_be_visible()
        assert page.evaluate(CONTRAST) == []
