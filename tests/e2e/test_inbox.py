"""`qwed approvals watch` and `qwed webhooks`, as people run them."""

import json
import os
import pty
import select
import signal
import subprocess
import time

import pytest
from tests.support.receivers import Receiver, free_port, wait_for
from tests.support.server import COMMAND, OPERATOR_KEY, Server, clean_environment, json_lines, qwed

EMAIL = {"type": "send_email", "parameters": {"to": "a@example.com", "subject": "s", "body": "hello"}}


@pytest.fixture
def server(tmp_path):
    rules = {"private": ["127.0.0.0/8"], "first_retry_seconds": 0.1}
    (tmp_path / "qwed.yaml").write_text(json.dumps({"notifications": rules}), encoding="utf-8")
    with Server(tmp_path, "--config", str(tmp_path / "qwed.yaml")) as server:
        yield server


def environment(server):
    return {"QWED_BASE_URL": server.base_url, "QWED_API_KEY": OPERATOR_KEY}


def pending(server):
    agent = server.register(type="supervised")
    body = {"action": EMAIL, "context": {"conversation_id": "c", "step_number": 1}}
    path = f"/agents/{agent['agent_id']}/verify"
    return server.call("POST", path, key=agent["agent_token"], json=body).json()["approval"]["id"]


def status(server, approval_id):
    return server.call("GET", f"/approvals/{approval_id}").json()["status"]


class Terminal:
    """A command in a terminal of its own."""

    def __init__(self, *arguments, cwd, **environment):
        self._own, theirs = pty.openpty()
        more = {**environment, "TERM": "xterm", "LINES": "40"}
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=cwd,
            env=clean_environment(**more),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.text = ""

    def wait(self, wanted):
        return wait_for(lambda: self._read() or wanted in self.text, repr(wanted))

    def _read(self):
        while select.select([self._own], [], [], 0.05)[0]:
            try:
                chunk = os.read(self._own, 65_536)
            except OSError:
                return
            if not chunk:
                return
            self.text += chunk.decode("utf-8", "replace")

    def press(self, key):
        self.text = ""
        os.write(self._own, key.encode())

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._own)


def test_the_inbox_shows_what_arrives_and_answers_it_with_two_keys(server, tmp_path):
    terminal = Terminal("approvals", "watch", "--note", "seen", cwd=tmp_path, **environment(server))
    try:
        terminal.wait("nothing waits for you")
        approval_id = pending(server)
        terminal.wait(approval_id)
        terminal.press("a")
        terminal.wait(f"approve {approval_id}?")
        assert status(server, approval_id) == "open"
        terminal.press("y")
        terminal.wait(f"{approval_id} is approved")
        terminal.press("q")
        terminal.process.wait(60)

        assert terminal.process.returncode == 0
        shown = server.call("GET", f"/approvals/{approval_id}").json()
        assert (shown["status"], shown["votes"][0]["note"]) == ("approved", "seen")
    finally:
        terminal.close()


def test_without_a_terminal_there_is_a_line_for_what_begins_and_what_ends(server, tmp_path):
    for arguments in ((), ("--json",)):
        output = tmp_path / "watched.txt"
        with output.open("wb") as file:
            process = subprocess.Popen(
                [*COMMAND, "approvals", "watch", *arguments],
                cwd=tmp_path,
                env=clean_environment(**environment(server)),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        try:
            approval_id = pending(server)
            wait_for(lambda: approval_id in output.read_text(), "line")  # noqa: B023
            server.call("POST", f"/approvals/{approval_id}/deny", json={})
            wait_for(lambda: "denied" in output.read_text(), "second line")  # noqa: B023
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        if arguments:
            told = [(line["event"], line["approval"]["id"]) for line in json_lines(output.read_text())]
            assert told == [("waits", approval_id), ("over", approval_id)]


def test_webhooks_are_added_tested_listed_looked_into_and_removed(server, tmp_path):
    def call(*arguments):
        return qwed("webhooks", *arguments, cwd=tmp_path, **environment(server))

    with Receiver() as receiver:
        added = call("add", receiver.url(), "--event", "approval", "--event", "trust")
        webhook_id = added.stdout.strip()
        tested = call("test", webhook_id)
        listed = json.loads(call("list", "--json").stdout)["webhooks"]
        deliveries = json.loads(call("deliveries", webhook_id, "--json").stdout)["deliveries"]

    assert added.returncode == 0 and "whsec_" in added.stderr
    assert (tested.returncode, tested.stdout) == (0, "it arrived\n")
    assert [(hook["id"], hook["events"]) for hook in listed] == [(webhook_id, ["approval", "trust"])]
    assert [delivery["state"] for delivery in deliveries] == ["delivered"]
    again = call("deliveries", webhook_id, "--retry", deliveries[0]["id"])
    assert "nobody answers there" in again.stdout or "pending" in again.stdout
    assert "is removed" in call("remove", webhook_id).stdout
    assert call("deliveries", webhook_id).returncode == 1


def test_a_test_that_does_not_arrive_says_why(server, tmp_path):
    made = qwed("webhooks", "add", f"http://127.0.0.1:{free_port()}/", cwd=tmp_path, **environment(server))
    tested = qwed("webhooks", "test", made.stdout.strip(), cwd=tmp_path, **environment(server))

    assert tested.returncode == 1
    assert "nobody answers there" in tested.stderr


def test_a_gateway_that_goes_away_and_comes_back_does_not_end_the_inbox(server, tmp_path):
    terminal = Terminal("approvals", "watch", cwd=tmp_path, **environment(server))
    try:
        terminal.wait("nothing waits for you")
        server.stop()
        terminal.wait("no gateway answers")
        time.sleep(0.1)

        assert terminal.process.poll() is None
    finally:
        terminal.close()
        server.start()
