"""An agent that pays and has no key: a real gateway, a real `qwed broker`, and a payment service."""

import contextlib
import json
import os
import shlex
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from tests.support.brokers import HOST
from tests.support.holding_gateway import HoldingGateway
from tests.support.payments import KEY, PaymentServer
from tests.support.receivers import wait_for
from tests.support.server import COMMAND, Server, clean_environment

pytestmark = pytest.mark.xdist_group("permits")

POLICY = """
permits: {seconds: 12}
tools:
  settle_order: {risk: low, group: safe, permit: payments}
broker:
  hosts:
    api.payments.example:
      inject: {header: Authorization, from: env:PAYMENTS_KEY, format: "Bearer {}"}
      routes: {"POST /v1/transfers": settle_order}
      audience: payments
      address: ADDRESS
"""
URL = f"https://{HOST}/v1/transfers"


@pytest.fixture(scope="module")
def payments():
    with PaymentServer() as server:
        yield server


@pytest.fixture(scope="module")
def server(tmp_path_factory, payments):
    folder = tmp_path_factory.mktemp("gateway")
    (folder / "qwed.yaml").write_text(POLICY.replace("ADDRESS", payments.address))
    with Server(folder, "--config", str(folder / "qwed.yaml")) as server:
        server.broker_key = server.principal_key("acme", scopes=["permits"])
        yield server


def payment_to(name, amount):
    return {"to": name, "amount": amount, "currency": "EUR"}


class Agent:
    """Asks the gateway, and pays through the broker whose environment it was given."""

    def __init__(self, server):
        self.server = server
        made = server.register()
        self.agent_id, self.token = made["agent_id"], made["agent_token"]
        self.step = 0

    def ask(self, payment):
        self.step += 1
        body = {
            "action": {"type": "settle_order", "parameters": payment},
            "context": {"conversation_id": self.agent_id, "step_number": self.step},
            "options": {"permit": True},
        }
        path = f"/agents/{self.agent_id}/verify"
        answer = self.server.call("POST", path, key=self.token, json=body).json()
        assert answer["decision"] == "APPROVED", answer
        return answer["permit"]


class BrokerProcess:
    """`qwed broker serve`, and a client with nothing but what it says to a program."""

    def __init__(self, server, folder, *arguments, gateway=None):
        self.log_file = folder / "broker.log"
        self.folder = folder / "ways"
        command = [*COMMAND, "broker", "serve", "--config", str(server.folder / "qwed.yaml")]
        command += ["--folder", str(self.folder), "--gateway", gateway or server.base_url, *arguments]
        self.environment = {"QWED_BROKER_KEY": server.broker_key, "PAYMENTS_KEY": KEY}
        with self.log_file.open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=folder, env=clean_environment(**self.environment), stdout=log, stderr=log
            )
        wait_for(self._is_ready, "the broker's address")
        said = shlex.split((self.folder / "environment").read_text())
        self.ways = dict(word.split("=", 1) for word in said if word != "export")
        trust = ssl.create_default_context(cafile=self.ways["SSL_CERT_FILE"])
        self.client = httpx2.Client(proxy=self.ways["HTTPS_PROXY"], verify=trust, trust_env=False, timeout=60)

    def _is_ready(self):
        assert self.process.poll() is None, self.log()
        return "the broker answers at" in self.log()

    def log(self):
        return self.log_file.read_text(errors="replace")

    def pay(self, permit, payment):
        headers = {} if permit is None else {"QWED-Permit": permit}
        return self.client.post(URL, json=payment, headers=headers)

    def end(self, number):
        self.client.close()
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(60)


@contextlib.contextmanager
def broker_for(server, folder: Path, *arguments, **more) -> Iterator[BrokerProcess]:
    process = BrokerProcess(server, folder, *arguments, **more)
    try:
        yield process
    finally:
        process.end(signal.SIGKILL)


@pytest.fixture(scope="module")
def broker(server, tmp_path_factory):
    process = BrokerProcess(server, tmp_path_factory.mktemp("broker"))
    yield process
    assert process.end(signal.SIGTERM) == 0, process.log()
    assert not (process.folder / "environment").exists()


@pytest.fixture(scope="module")
def old_permit(server):
    """Asked for at the start; by the last test it has expired."""
    return Agent(server).ask(payment_to("old", 1)), time.time()


@pytest.fixture
def agent(server, old_permit):
    return Agent(server)


def code_of(response):
    return response.json()["error"]["code"]


def claims_of(permit):
    import base64

    part = permit.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def state_of(server, permit):
    return server.call("GET", f"/permits/{claims_of(permit)['jti']}").json()["state"]


def paid_to(payments, name):
    return [paid for paid in payments.paid if paid["to"] == name]


def test_what_was_approved_is_paid_once_with_a_key_that_the_agent_never_had(server, payments, broker, agent):
    payment = payment_to("bob", 12.5)
    permit = agent.ask(payment)
    first, again = broker.pay(permit, payment), broker.pay(permit, payment)

    assert (first.status_code, first.json()) == (201, {"status": "paid"})
    assert (again.status_code, code_of(again)) == (409, "QWED-PERMIT-005")
    assert paid_to(payments, "bob") == [payment]
    wait_for(lambda: state_of(server, permit) == "reported", "the receipt")
    receipt = server.call("GET", f"/permits/{claims_of(permit)['jti']}").json()["receipt"]
    assert receipt["action_hash"] == claims_of(permit)["act"].removeprefix("sha256:")
    assert KEY not in broker.log() + server.log() + json.dumps(broker.ways)
    assert server.broker_key not in broker.log() + json.dumps(broker.ways)


@pytest.mark.parametrize("changed", [{"amount": 6}, {"to": "mallory"}, {"note": "x"}, {"amount": "5"}])
def test_another_payment_than_the_approved_one_is_not_made_and_is_found(
    server, payments, broker, agent, changed
):
    payment, before = payment_to("carol", 5), len(payments.seen)
    permit = agent.ask(payment)
    refused = broker.pay(permit, {**payment, **changed})

    assert (refused.status_code, code_of(refused)) == (403, "QWED-PERMIT-004")
    assert len(payments.seen) == before
    wait_for(lambda: found(server, agent).get("call_refused") == 1, "the finding")
    assert state_of(server, permit) == "issued"


def found(server, agent):
    query = {"agent_id": agent.agent_id}
    return server.call("GET", "/permits/findings", params=query).json()["counts"]


def test_an_agent_that_was_suspended_after_the_approval_does_not_pay(server, payments, broker, agent):
    payment = payment_to("dave", 5)
    permit = agent.ask(payment)
    server.call("POST", f"/agents/{agent.agent_id}/suspend", json={"reason": "behaves oddly"})
    refused = broker.pay(permit, payment)

    assert (refused.status_code, code_of(refused)) == (403, "QWED-AGENT-003")
    assert "suspended" in refused.text
    assert paid_to(payments, "dave") == []
    assert found(server, agent) == {"call_refused": 1}


def test_a_broker_of_one_agent_finds_the_only_permit_of_a_call_that_carries_none(
    server, payments, agent, tmp_path
):
    once, twice = payment_to("erin", 5), payment_to("erin", 6)
    with broker_for(server, tmp_path, "--agent", agent.agent_id) as broker:
        none = broker.pay(None, once)
        agent.ask(once)
        paid = broker.pay(None, once)
        agent.ask(twice)
        agent.ask(twice)
        two = broker.pay(None, twice)

    assert (code_of(none), paid.status_code, code_of(two)) == ("QWED-PERMIT-001", 201, "QWED-PERMIT-004")
    assert paid_to(payments, "erin") == [once]


def test_a_broker_killed_between_use_and_sending_has_paid_nothing_and_pays_nothing_later(
    server, payments, agent, tmp_path
):
    payment = payment_to("frank", 5)
    permit = agent.ask(payment)
    with HoldingGateway(server.base_url) as held:
        held.held = "/use"
        with broker_for(server, tmp_path, gateway=held.base_url) as broker:
            lost = in_background(broker, permit, payment)
            assert held.answered.wait(60)
            broker.end(signal.SIGKILL)
        assert lost() == "no answer"

    assert held.statuses == [200]
    with broker_for(server, tmp_path) as broker:
        again = broker.pay(permit, payment)
        assert paid_to(payments, "frank") == []
        asked_again = broker.pay(agent.ask(payment), payment)

    assert (code_of(again), asked_again.status_code) == ("QWED-PERMIT-005", 201)
    assert paid_to(payments, "frank") == [payment]


def test_a_broker_killed_after_sending_does_not_send_again(server, payments, agent, tmp_path):
    payment = payment_to("grace", 5)
    permit = agent.ask(payment)
    payments.hold.clear()
    with broker_for(server, tmp_path) as broker:
        lost = in_background(broker, permit, payment)
        wait_for(lambda: paid_to(payments, "grace"), "the payment")
        broker.end(signal.SIGKILL)
    payments.hold.set()
    with broker_for(server, tmp_path) as broker:
        again = broker.pay(permit, payment)

    assert lost() == "no answer"
    assert code_of(again) == "QWED-PERMIT-005"
    assert paid_to(payments, "grace") == [payment]
    assert state_of(server, permit) == "used"


def in_background(broker, permit, payment):
    said = []

    def send():
        try:
            said.append(broker.pay(permit, payment).status_code)
        except httpx2.TransportError:
            said.append("no answer")

    thread = threading.Thread(target=send)
    thread.start()

    def result():
        thread.join(60)
        return said[0]

    return result


PROGRAM = """
import json, os, sys, httpx2
permit, payment = sys.argv[1], json.loads(sys.argv[2])
url, headers = "https://api.payments.example/v1/transfers", {"QWED-Permit": permit}
answer = httpx2.post(url, json=payment, headers=headers)
try:
    open(f"/proc/{os.getppid()}/environ", "rb").read()
    parent = "read"
except PermissionError:
    parent = "hidden"
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory, open("core", "wb") as core:
    for line in maps:
        place, rights, *_ = line.split()
        if rights.startswith("r") and "[v" not in line:
            start, end = (int(number, 16) for number in place.split("-"))
            memory.seek(start)
            core.write(memory.read(end - start))
print(json.dumps({"status": answer.status_code, "names": sorted(os.environ), "parent": parent,
                  "values": list(os.environ.values())}))
sys.exit(7)
"""


def test_a_program_behind_broker_run_pays_and_finds_no_key(server, payments, agent, tmp_path):
    payment = payment_to("heidi", 5)
    (tmp_path / "agent.py").write_text(PROGRAM)
    permit = agent.ask(payment)
    program = [sys.executable, "agent.py", permit, json.dumps(payment)]
    secrets = {"QWED_BROKER_KEY": server.broker_key, "PAYMENTS_KEY": KEY, "COPY": f"k={KEY}"}
    ran = subprocess.run(
        [*COMMAND, "broker", "run", "--config", str(server.folder / "qwed.yaml"), "--gateway",
         server.base_url, "--", *program],
        cwd=tmp_path, env=clean_environment(**secrets), capture_output=True, text=True, timeout=120,
    )  # fmt: skip

    assert ran.returncode == 7, ran.stderr
    said = json.loads(ran.stdout)
    assert said["status"] == 201
    # Root reads every process's memory: the broker hides from programs of the same, ordinary user.
    assert said["parent"] == ("read" if os.geteuid() == 0 else "hidden")
    assert secrets.keys().isdisjoint(said["names"])
    assert not any(KEY in text or server.broker_key in text for text in [*said["values"], ran.stderr])
    assert "taken out of the program's environment: COPY, PAYMENTS_KEY, QWED_BROKER_KEY" in ran.stderr
    core = (tmp_path / "core").read_bytes()
    assert permit.encode() in core
    assert KEY.encode() not in core
    assert server.broker_key.encode() not in core
    assert paid_to(payments, "heidi") == [payment]


def test_without_its_gateway_the_broker_sends_nothing_and_says_so(server, payments, agent, tmp_path):
    payment = payment_to("ivan", 5)
    permit = agent.ask(payment)
    with broker_for(server, tmp_path, gateway="http://127.0.0.1:9") as broker:
        refused = broker.pay(permit, payment)

    assert (refused.status_code, code_of(refused)) == (503, "QWED-PERMIT-006")
    assert paid_to(payments, "ivan") == []


def test_an_expired_permit_does_not_pay(payments, broker, old_permit):
    permit, issued = old_permit
    time.sleep(max(0.0, issued + 18.5 - time.time()))
    refused = broker.pay(permit, payment_to("old", 1))

    assert code_of(refused) == "QWED-PERMIT-003"
    assert paid_to(payments, "old") == []
