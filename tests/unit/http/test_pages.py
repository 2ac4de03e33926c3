"""The shipped pages: under every address they are linked by, with a policy that lets nothing else in."""

import contextlib
import re
from importlib import resources

import pytest
from tests.support.world import World

STATIC = resources.files("qwed.http") / "static"
FILES = sorted(entry.name for entry in (STATIC / "dashboard").iterdir())


@pytest.fixture(scope="module")
def world():
    with contextlib.closing(World()) as built:
        yield built


@pytest.mark.parametrize(
    "path", ["", "/inbox", "/inbox/apr_1", "/agents/agent_1", "/decisions/act_1", "/search"]
)
def test_every_page_of_the_dashboard_can_be_opened_by_its_address(world, path):
    response = world.call("GET", f"/dashboard{path}", key=None)

    assert response.status_code == 200
    assert response.headers["Content-Type"].startswith("text/html")


def test_the_policy_lets_nothing_in_but_our_own_files(world):
    policy = world.call("GET", "/dashboard", key=None).headers["Content-Security-Policy"]

    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';")
    for rule in (
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "require-trusted-types-for 'script'",
    ):
        assert rule in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize("name", [name for name in FILES if not name.endswith(".html")])
def test_every_file_is_served_and_no_file_asks_for_another_host(world, name):
    response = world.call("GET", f"/static/dashboard/{name}", key=None)

    assert response.status_code == 200
    assert not re.search(r"""["'(]\s*(?:https?:)?//""", response.text.replace("http://www.w3.org/", ""))


@pytest.mark.parametrize("name", ["", "nothing.js", "index.html", "..%2fdocs.js", "%2e%2e"])
def test_nothing_else_is_served(world, name):
    assert world.call("GET", f"/static/dashboard/{name}", key=None).status_code == 404
    assert world.call("GET", "/static/dashboard", key=None).status_code == 404


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".js")])
def test_no_script_makes_markup_of_a_text(name):
    text = (STATIC / "dashboard" / name).read_text(encoding="utf-8")

    found = re.findall(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\.srcdoc", text
    )
    assert found == []


def test_the_page_has_no_inline_script_or_style():
    text = (STATIC / "dashboard" / "index.html").read_text(encoding="utf-8")

    assert not re.search(r"<style|\sstyle=|\son\w+=", text)
    assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", text))


def test_every_module_is_announced_in_advance():
    """So that a phone does not ask for them one after the other."""
    text = (STATIC / "dashboard" / "index.html").read_text(encoding="utf-8")

    for name in FILES:
        assert name == "index.html" or f"/static/dashboard/{name}" in text
