"""Whatever goes wrong: no step stays reserved, no money stays held, and the refusal is a sentence."""

import asyncio
import contextlib
import datetime
import ipaddress
import socket
import ssl
import subprocess
import time

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.support.fakes import FakeClock, ToldProver
from tests.support.records import RING
from tests.support.server import COMMAND, OPERATOR_KEY, Server, clean_environment, qwed, verify_request
from tests.support.world import OPERATOR_KEY as WORLD_KEY
from tests.support.world import SIGNER, World, calculate, code_of

from qwed.domain.findings import Finding, Status
from qwed.domain.policy import DEFAULT_POLICY
from qwed.domain.risk import Risk
from qwed.gateway.kernel.ports import StoreUnavailable
from qwed.stores import open_memory, open_sqlite

pytestmark = [pytest.mark.xdist_group("faults"), pytest.mark.repeated(nightly=3, long=20)]


class Crash(RuntimeError):
    """Nothing the gateway knows."""


class Breaking:
    """A port whose named method fails when told to, before or after doing its work."""

    def __init__(self, port, method):
        self._port, self._method = port, method
        self.error = None
        self.after = False

    def __getattr__(self, name):
        found = getattr(self._port, name)
        if name != self._method:
            return found

        async def call(*arguments, **named):
            if self.error is not None and not self.after:
                raise self.error
            result = await found(*arguments, **named)
            if self.error is not None:
                raise self.error
            return result

        return call


class CrashingSigner:
    issuer = SIGNER.issuer

    def sign(self, typ, claims):
        raise Crash("the key store burns")

    def derive(self, purpose):
        return SIGNER.derive(purpose)


@pytest.fixture(params=["memory", "sqlite"])
def make_store(request, tmp_path):
    def make(clock):
        if request.param == "memory":
            return open_memory(DEFAULT_POLICY, clock, RING)
        return open_sqlite(tmp_path / "qwed.db", DEFAULT_POLICY, clock, RING)

    return make


@pytest.fixture
def make_world():
    """Worlds that are closed whatever becomes of the test."""
    with contextlib.ExitStack() as worlds:
        yield lambda **parts: worlds.enter_context(contextlib.closing(World(**parts)))


def assert_nothing_is_held(world, agent, spent=0):
    budget = world.budget(agent)
    assert budget["cost"]["current_daily_usd"] == spent
    assert world.verify(agent, calculate("afterwards"), 1)["decision"] == "APPROVED"


def test_a_prover_that_crashes_frees_the_step(make_store, make_world):
    clock = FakeClock()
    world = make_world(store=make_store(clock), clock=clock)
    agent = world.register()

    def crash(engine, action):
        raise Crash

    world.prover.find = crash
    responses = [world.verify_response(agent) for _ in range(3)]
    with pytest.raises(Crash):
        world.gateway.verify_action(
            agent["agent_id"], calculate(), {"conversation_id": "c", "step_number": 1}
        )
    tool = world.call("POST", f"/agents/{agent['agent_id']}/tools/get_weather", json={})
    world.prover.says(Status.VERIFIED)

    assert {response.status_code for response in (*responses, tool)} == {500}
    assert "decision" not in responses[0].json()
    assert "Crash" not in responses[0].text
    assert_nothing_is_held(world, agent)


def test_a_signer_that_crashes_is_a_denial_and_frees_the_step(make_store, make_world):
    clock = FakeClock()
    world = make_world(store=make_store(clock), clock=clock, signer=CrashingSigner())
    agent = world.register()
    response = world.verify_response(agent, options={"require_attestation": True})

    assert (response.status_code, code_of(response.json())) == (200, "QWED-ATTESTATION-001")
    assert "the key store burns" not in response.text
    assert_nothing_is_held(world, agent)


@pytest.mark.parametrize("error", [StoreUnavailable("gone"), Crash()], ids=["unavailable", "crash"])
def test_a_commit_that_fails_before_it_writes_frees_the_step(make_store, make_world, error):
    clock = FakeClock()
    store = Breaking(make_store(clock), "commit")
    world = make_world(store=store, clock=clock)
    agent = world.register()
    store.error = error
    response = world.verify_response(agent)
    store.error = None

    assert response.status_code == (503 if isinstance(error, StoreUnavailable) else 500)
    assert "decision" not in response.json()
    assert world.decisions(agent) == []
    assert_nothing_is_held(world, agent)


def test_a_commit_whose_answer_is_lost_has_used_the_step_once(make_store, make_world):
    clock = FakeClock()
    store = Breaking(make_store(clock), "commit")
    world = make_world(store=store, clock=clock)
    agent = world.register()
    store.error, store.after = StoreUnavailable("lost"), True
    response = world.verify_response(agent)
    store.error = None

    assert response.status_code == 503
    assert [entry["decision"] for entry in world.decisions(agent)] == ["APPROVED"]
    assert code_of(world.verify(agent, calculate("again"), 1)) == "QWED-AGENT-LOOP-002"
    assert world.budget(agent)["cost"]["current_daily_usd"] == 0.01


def test_a_store_that_cannot_admit_refuses_and_holds_nothing(make_store, make_world):
    clock = FakeClock()
    store = Breaking(make_store(clock), "admit")
    world = make_world(store=store, clock=clock)
    agent = world.register()
    store.error = StoreUnavailable("gone")
    response = world.verify_response(agent)
    store.error = None

    assert (response.status_code, code_of(response.json())) == (503, "QWED-STORE-001")
    assert_nothing_is_held(world, agent)


def test_a_store_that_does_not_answer_makes_the_gateway_unready(make_world):
    clock = FakeClock()
    store = Breaking(open_memory(DEFAULT_POLICY, clock, RING), "ping")
    world = make_world(store=store, clock=clock)
    store.error = StoreUnavailable("gone")
    unready = world.call("GET", "/ready", key=None)
    store.error = None
    ready = world.call("GET", "/ready", key=None)

    assert (unready.status_code, unready.json()["ready"]) == (503, False)
    assert ready.status_code == 200


class WaitingProver(ToldProver):
    """Thinks until it is let go, so that a request can be left at work."""

    async def prove(self, engine, action, client):
        self.at_work.set()
        await asyncio.sleep(3600)
        return Finding(Status.VERIFIED, Risk.LOW, engine)


def test_a_cancelled_request_gives_back_its_step_and_its_hold(make_store, make_world):
    clock = FakeClock()
    prover = WaitingProver()
    world = make_world(store=make_store(clock), clock=clock, prover=prover)
    agent = world.register()

    async def scenario():
        prover.at_work = asyncio.Event()
        async with world.client() as client:
            client.headers["Authorization"] = f"Bearer {WORLD_KEY}"
            task = asyncio.create_task(client.request(**verify_request(agent, "1+1")))
            await prover.at_work.wait()
            blocked = await client.request(**verify_request(agent, "2+2"))
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            return blocked.json()

    blocked = world.run(scenario())
    assert code_of(blocked) == "QWED-AGENT-LOOP-002"
    prover.__class__ = ToldProver
    assert_nothing_is_held(world, agent)


def test_clients_that_hang_up_leak_nothing(tmp_path):
    with Server(tmp_path) as server:
        agent = server.register()
        host, port = server.base_url.removeprefix("http://").split(":")
        for number in range(60):
            request = httpx2.Request(**verify_request_at(server, agent, f"c{number}"))
            head = f"POST /agents/{agent['agent_id']}/verify HTTP/1.1\r\nHost: x\r\n"
            head += f"Authorization: Bearer {OPERATOR_KEY}\r\nContent-Length: {len(request.content)}\r\n\r\n"
            with socket.create_connection((host, int(port)), timeout=60) as connection:
                # Some leave in the middle of the body, some right after it.
                body = request.content if number % 3 else request.content[:-5]
                connection.sendall(head.encode() + body)
        settle(server, agent)
        requests = [verify_request(agent, "3*3", conversation=f"c{n}") for n in range(60)]
        answers = [response.json() for response in server.together(requests)]
        used = server.call("GET", f"/agents/{agent['agent_id']}/activity", params={"limit": 1000}).json()
        budget = server.call("GET", f"/agents/{agent['agent_id']}/budget").json()

    for answer in answers:
        # Used and recorded by the one that left, or free for this one.
        assert answer["decision"] == "APPROVED" or code_of(answer) == "QWED-AGENT-LOOP-002", answer
    assert all(answers[n]["decision"] == "APPROVED" for n in range(0, 60, 3))
    assert used["summary"]["approved"] == 60
    assert budget["cost"]["current_daily_usd"] == pytest.approx(0.60)


def settle(server, agent):
    """Until a second passes in which nothing more is recorded."""
    counts = []
    while len(counts) < 5 or len(set(counts[-5:])) > 1:
        summary = server.call("GET", f"/agents/{agent['agent_id']}/activity").json()["summary"]
        counts.append(summary["approved"])
        time.sleep(0.2)


def verify_request_at(server, agent, conversation):
    request = verify_request(agent, "1+1", conversation=conversation)
    return {**request, "url": server.base_url + request["url"]}


# --- start-up --------------------------------------------------------------------------------------------


def test_a_second_process_on_the_same_file_is_refused_with_a_sentence(tmp_path):
    with Server(tmp_path) as server:
        second = qwed("serve", "--port", "0", "--database", str(server.database), cwd=tmp_path)
        still = server.call("GET", "/health", key=None)

        assert second.returncode == 1
        assert "is in use by another process" in second.stderr
        assert str(server.process.pid) in second.stderr
        assert "Traceback" not in second.stderr
        assert still.status_code == 200
    with Server(tmp_path) as server:
        assert server.call("GET", "/ready", key=None).status_code == 200


def test_a_port_in_use_is_refused_with_a_sentence(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused = qwed("serve", "--port", port, "--database", "other.db", cwd=tmp_path)

    assert refused.returncode != 0
    assert port in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_an_address_others_can_reach_needs_tls_or_a_proxy(tmp_path, host):
    refused = qwed("serve", "--host", host, "--port", "0", "--database", "x.db", cwd=tmp_path)

    assert refused.returncode == 2
    assert "--tls-cert" in refused.stderr and "--behind-proxy" in refused.stderr
    assert not (tmp_path / "x.db").exists()


def test_behind_a_proxy_metrics_are_for_operators_even_from_this_machine(tmp_path):
    with Server(tmp_path, "--behind-proxy") as server:
        assert server.call("GET", "/metrics", key=None).status_code == 401
        assert server.call("GET", "/metrics").status_code == 200


def test_an_unexplained_start_up_hook_stops_the_gateway_before_the_store_opens(tmp_path):
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text("harmless = True\n")
    environment = {**clean_environment(), "PYTHONPATH": str(hooks)}
    command = [*COMMAND, "serve", "--port", "0", "--database", "x.db"]
    refused = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
    )

    assert refused.returncode != 0
    assert "sitecustomize" in refused.stderr
    assert "--trust-startup" in refused.stderr
    assert not (tmp_path / "x.db").exists()


# --- TLS -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "cert.pem", folder / "key.pem"
    paths[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    paths[1].chmod(0o600)
    return paths


def test_tls_1_3_is_spoken_and_nothing_older(tmp_path, certificate):
    cert, key = certificate
    with Server(tmp_path, "--tls-cert", str(cert), "--tls-key", str(key)) as server:
        context = ssl.create_default_context(cafile=cert)
        with httpx2.Client(verify=context, base_url=server.base_url) as client:
            assert client.get("/health").status_code == 200
        port = int(server.base_url.rpartition(":")[2])
        old = ssl.create_default_context(cafile=cert)
        old.maximum_version = ssl.TLSVersion.TLSv1_2
        with socket.create_connection(("127.0.0.1", port), timeout=60) as plain, pytest.raises(ssl.SSLError):
            old.wrap_socket(plain, server_hostname="127.0.0.1")
        with (
            socket.create_connection(("127.0.0.1", port), timeout=60) as plain,
            context.wrap_socket(plain, server_hostname="127.0.0.1") as connection,
        ):
            assert connection.version() == "TLSv1.3"
    assert server.base_url.startswith("https://")


def test_half_of_a_tls_setting_is_refused(tmp_path, certificate):
    cert, _ = certificate
    refused = qwed("serve", "--port", "0", "--database", "x.db", "--tls-cert", str(cert), cwd=tmp_path)

    assert refused.returncode != 0
    assert "tls" in refused.stderr.lower()
    assert "Traceback" not in refused.stderr
