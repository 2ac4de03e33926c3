"""In Chromium, with its virtual authenticator: add a passkey, approve with it, verify the record."""

import json
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page
from tests.support.browser import launched
from tests.support.server import OPERATOR_KEY, Server, clean_environment

MAIL = {"type": "send_email", "parameters": {"to": "a@example.com", "subject": "s", "body": "hello"}}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def plug_in_authenticator(page: Page) -> None:
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    session.send("WebAuthn.addVirtualAuthenticator", {"options": options})


def ask(server: Server) -> str:
    agent = server.register(type="supervised")
    body = {"action": MAIL, "context": {"conversation_id": "c", "step_number": 1}}
    path = f"/agents/{agent['agent_id']}/verify"
    answer = server.call("POST", path, key=agent["agent_token"], json=body).json()
    return str(answer["approval"]["id"])


def verify(database: Path) -> tuple[int, dict[str, Any]]:
    command = [sys.executable, "-m", "qwed", "ledger", "verify", "--database", str(database), "--json"]
    done = subprocess.run(command, capture_output=True, cwd=database.parent, env=clean_environment())
    return done.returncode, json.loads(done.stdout)


def test_in_a_browser_a_person_adds_a_passkey_and_approves_with_it(tmp_path: Path):
    port = free_port()
    home = f"http://localhost:{port}"
    policy = tmp_path / "policy.yaml"
    policy.write_text("people: {passkey_from: low}\napprovals: {separate: 'off'}\n", encoding="utf-8")
    arguments = ("--config", str(policy), "--port", str(port))
    server = Server(tmp_path, *arguments, environment={"QWED_PUBLIC_URL": home})
    with server, launched() as chromium:
        approval = ask(server)
        created = server.call("POST", "/keys", json={"principal_id": "acme", "scopes": ["read", "approve"]})
        page = chromium.new_page()
        plug_in_authenticator(page)
        page.goto(f"{home}/dashboard/inbox/{approval}")
        page.fill("input[type=password]", created.json()["api_key"])
        page.keyboard.press("Enter")
        page.wait_for_selector("#sign-out")
        page.wait_for_selector(".answers")
        page.keyboard.press("a")
        page.locator("dialog").get_by_role("button", name="Approve").click()
        page.get_by_text("you have no passkey here yet").wait_for()
        page.goto(f"{home}/dashboard/passkeys")
        page.get_by_role("button", name="Add a passkey").click()
        page.fill("input[name=label]", "laptop")
        assert Axe().run(page).response["violations"] == []
        page.locator("dialog").get_by_role("button", name="Add").click()
        page.wait_for_selector("td:has-text('laptop')")
        assert Axe().run(page).response["violations"] == []
        page.goto(f"{home}/dashboard/inbox/{approval}")
        page.wait_for_selector(".answers")
        page.keyboard.press("a")
        page.locator("dialog").get_by_role("button", name="Approve").click()
        page.wait_for_selector("dialog", state="hidden")
        page.goto(f"{home}/dashboard/inbox/{approval}")
        page.get_by_text("signed with a passkey").wait_for()
        told = server.call("GET", f"/approvals/{approval}", key=OPERATOR_KEY).json()
        assert told["status"] == "approved"
    assert server.process is not None

    status, answer = verify(server.database)
    assert (status, answer["passkeys"]) == (0, 1), answer
    spoil_the_signature(server.database)
    status, answer = verify(server.database)
    assert status == 1 and not answer["valid"]


def spoil_the_signature(database: Path) -> None:
    with sqlite3.connect(database) as connection:
        found = connection.execute(
            "SELECT seq, payload FROM activities WHERE action_type = 'answer_approval'"
        ).fetchone()
        entry = json.loads(found[1])
        entry["passkey"]["signature"] = entry["passkey"]["signature"][::-1]
        changed = json.dumps(entry).encode()
        connection.execute("UPDATE activities SET payload = ? WHERE seq = ?", (changed, found[0]))
