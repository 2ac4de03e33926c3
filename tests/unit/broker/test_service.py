"""The broker: who may ask, what is sent on with the credential, and what comes back without it."""

import base64
import hashlib
import json
import logging
import random
import socket
import ssl
import threading

import httpx2
import pytest
from tests.support.brokers import HOST, running, sign
from tests.support.payments import KEY, PaymentServer
from tests.support.receivers import wait_for
from tests.support.tiers import scale

POLICY = """
broker:
  hosts:
    api.payments.example:
      inject: {header: Authorization, from: env:PAYMENTS_KEY, format: "Bearer {}"}
      routes:
        "POST /v1/transfers": send_money
        "POST /v1/accounts/{account}/transfers": send_money
        "GET /large": read_large
      fields: {size: integer}
      actions: [ask]
      methods: [POST]
      address: ADDRESS
    files.payments.example:
      inject: {header: Authorization, from: env:PAYMENTS_KEY, format: "Bearer {}"}
      routes: {"POST /files": upload}
      body: hash
      address: ADDRESS
"""
PAYMENT = {"to": "bob", "amount": 5}
AS_JSON = {"Content-Type": "application/json"}
ACTION = {"type": "send_money", "parameters": PAYMENT}
URL = f"https://{HOST}/v1/transfers"


@pytest.fixture(scope="module")
def payments():
    with PaymentServer() as server:
        yield server


@pytest.fixture(scope="module")
def broker(payments, tmp_path_factory):
    logging.getLogger().setLevel(logging.DEBUG)
    policy = POLICY.replace("ADDRESS", payments.address)
    with running(policy, tmp_path_factory.mktemp("broker"), {"PAYMENTS_KEY": KEY}) as found:
        yield found


@pytest.fixture
def client(broker):
    with broker.client() as client:
        yield client


def ask(client, path, permit=None, method="POST", host=HOST, **more):
    """A request whose URL is the target of the action `ask`."""
    action = {"type": "ask", "target": f"https://{host}{path}"}
    return client.request(
        method, f"https://{host}{path}", headers={"QWED-Permit": permit or sign(action)}, **more
    )


def code_of(response):
    return response.json()["error"]["code"]


def test_a_permit_pays_once_and_the_agent_never_has_the_key(payments, client):
    before, permit = len(payments.paid), sign(ACTION)
    headers = {"QWED-Permit": permit, "Authorization": "Bearer made-up", "X-Account": "other"}

    first = client.post(URL, json=PAYMENT, headers=headers)
    second = client.post(URL, json=PAYMENT, headers=headers)

    assert (first.status_code, first.json()) == (201, {"status": "paid"})
    assert (second.status_code, code_of(second)) == (409, "QWED-PERMIT-005")
    assert payments.paid[before:] == [PAYMENT]
    seen = payments.seen[-1]
    assert seen["Host"] == HOST
    assert {"QWED-Permit", "X-Account", "Proxy-Authorization"}.isdisjoint(seen)


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"json": {**PAYMENT, "amount": 6}}, "QWED-PERMIT-004"),
        ({"json": {**PAYMENT, "note": ""}}, "QWED-PERMIT-004"),
        ({"json": PAYMENT, "url": f"https://{HOST}/v1/accounts/7/transfers"}, "QWED-PERMIT-004"),
        ({"json": PAYMENT, "url": f"{URL}?to=mallory"}, "QWED-BROKER-003"),
        ({"json": PAYMENT, "url": f"{URL}?fast=1"}, "QWED-PERMIT-004"),
        ({"json": PAYMENT, "url": f"https://{HOST}/v1/%2e%2e/transfers"}, "QWED-BROKER-002"),
        ({"json": PAYMENT, "method": "PUT"}, "QWED-BROKER-002"),
        ({"content": b"to=bob", "headers": {"Content-Type": "text/plain"}}, "QWED-BROKER-003"),
        ({"content": b'{"to":"bob","to":"eve"}', "headers": AS_JSON}, "QWED-BROKER-003"),
        ({"json": PAYMENT, "headers": {"Content-Encoding": "gzip"}}, "QWED-BROKER-003"),
        ({"json": PAYMENT, "headers": {"X-HTTP-Method-Override": "DELETE"}}, "QWED-BROKER-003"),
        ({"json": PAYMENT, "headers": {"Upgrade": "websocket", "Connection": "Upgrade"}}, "QWED-BROKER-003"),
        ({"content": b"x" * 1_100_000, "headers": {"Content-Type": "application/json"}}, "QWED-BROKER-003"),
        ({"json": PAYMENT, "headers": {"Host": "files.payments.example"}}, "QWED-BROKER-003"),
        ({"json": PAYMENT, "headers": {"QWED-Permit": "not.a.permit"}}, "QWED-PERMIT-002"),
    ],
)
def test_another_request_than_the_approved_one_is_not_sent(payments, client, changed, code):
    before = len(payments.seen)
    headers = {"QWED-Permit": sign(ACTION), **changed.get("headers", {})}
    response = client.request(**{"method": "POST", "url": URL, **changed, "headers": headers})

    assert code_of(response) == code
    assert response.json()["error"]["message"]
    assert len(payments.seen) == before


@pytest.mark.parametrize(
    "permit",
    [
        lambda: sign(ACTION, audience="elsewhere"),
        lambda: sign(ACTION, exp=1_800_000_000, iat=1_799_999_900),
        lambda: sign(ACTION, use="often"),
        lambda: sign(ACTION, act="sha256:" + "0" * 64),
        lambda: sign(ACTION)[:-4] + "AAAA",
        lambda: None,
    ],
)
def test_another_permit_sends_nothing(payments, client, permit):
    before, token = len(payments.seen), permit()
    response = client.post(URL, json=PAYMENT, headers={"QWED-Permit": token} if token else {})

    assert code_of(response).startswith("QWED-PERMIT-")
    assert len(payments.seen) == before


def test_no_mutation_of_the_request_has_an_effect(payments, broker):
    chance, before = random.Random(22), len(payments.paid)
    approved = {"to": "bob", "amount": 5, "note": {"lines": ["a", "b"]}, "urgent": False}
    permit = sign({"type": "send_money", "parameters": approved})
    values = [None, True, 0, 1, -5, 5.5, "", "bob ", "5", [], {}, ["bob"], 2**60]
    refused = 0
    with broker.client() as client:
        for _ in range(scale(ci=100, nightly=1_000, long=10_000)):
            changed = json.loads(json.dumps(approved))
            name = chance.choice([*changed, "added"])
            changed[name] = chance.choice([value for value in values if value != changed.get(name, "none")])
            if json.dumps(changed) == json.dumps(approved):
                continue
            response = client.post(URL, json=changed, headers={"QWED-Permit": permit})
            refused += code_of(response) == "QWED-PERMIT-004"
            assert response.status_code == 403
        assert client.post(URL, json=approved, headers={"QWED-Permit": permit}).status_code == 201

    assert refused > 0
    assert payments.paid[before:] == [approved]


def test_the_key_is_in_no_answer_header_error_or_log(client, caplog):
    with caplog.at_level(logging.DEBUG):
        paths = ("/echo", "/error", "/zipped", "/split")
        echo, error, zipped, split = (ask(client, path) for path in paths)

    assert echo.text.startswith("begin Bearer ***") and echo.text.endswith(" end")
    assert (error.status_code, error.text) == (500, "bad key " + "*" * len(KEY))
    assert zipped.text == "key " + "*" * len(KEY) + "!"
    assert split.text == "<" + "*" * len(KEY) + ">"
    shown = " ".join([str(dict(echo.headers)), echo.text, caplog.text])
    core = base64.b64encode(b"x" + KEY.encode()).decode()[2:-4]
    for form in (KEY, core, KEY.encode().hex(), KEY.encode().hex().upper()):
        assert form not in shown
    assert "location" in echo.headers


def test_a_redirect_is_answered_and_not_followed(payments, client):
    before = len(payments.seen)
    response = ask(client, "/redirect")

    assert (response.status_code, response.headers["location"]) == (307, "https://elsewhere.example/")
    assert len(payments.seen) == before + 1


def test_an_answer_that_can_not_be_read_is_refused(client):
    assert code_of(ask(client, "/brotli")) == "QWED-BROKER-005"
    with pytest.raises(httpx2.TransportError):
        ask(client, "/bomb")


def test_progress_comes_through_as_it_is_made(payments, client):
    payments.go_on.clear()
    action = {"type": "ask", "target": f"https://{HOST}/progress"}
    with client.stream("POST", f"https://{HOST}/progress", headers={"QWED-Permit": sign(action)}) as answer:
        pieces = answer.iter_raw()
        first = next(pieces)
        payments.go_on.set()
        rest = b"".join(pieces)

    assert (first, rest) == (b"data: 50%\n\n", b"data: 100%\n\n")


def test_a_large_answer_and_a_large_body_go_through(payments, client):
    size = scale(ci=8, nightly=64, long=1024) * 1024 * 1024
    action = {"type": "read_large", "parameters": {"size": size}}
    url, count = f"https://{HOST}/large?size={size}", 0
    with client.stream("GET", url, headers={"QWED-Permit": sign(action)}) as answer:
        for piece in answer.iter_raw():
            count += len(piece)
    content = bytes(3 * 1024 * 1024)
    parameters = {"body_sha256": hashlib.sha256(content).hexdigest(), "content_type": "application/pdf"}
    permit = sign({"type": "upload", "parameters": parameters}, audience="files.payments.example")
    headers = {"QWED-Permit": permit, "Content-Type": "application/pdf"}
    other = client.post("https://files.payments.example/files", content=content + b"x", headers=headers)

    assert count == size
    assert code_of(other) == "QWED-PERMIT-004"
    assert payments.seen[-1][":path"].startswith("/large")


def test_a_caller_without_the_credential_of_the_run_is_nobody(payments, broker):
    before = len(payments.seen)
    for proxy in (f"http://{broker.address}", f"http://run:wrong@{broker.address}"):
        with (
            httpx2.Client(proxy=proxy, verify=False, trust_env=False) as client,
            pytest.raises(httpx2.ProxyError, match=r"407|who asks"),
        ):
            client.post(URL, json=PAYMENT, headers={"QWED-Permit": sign(ACTION)})
    url = f"http://{broker.address}/wrong/{HOST}/v1/transfers"
    response = httpx2.post(url, json=PAYMENT, headers={"QWED-Permit": sign(ACTION)}, trust_env=False)

    assert (response.status_code, code_of(response)) == (407, "QWED-BROKER-001")
    assert len(payments.seen) == before


def test_a_host_that_nobody_listed_is_refused_with_a_sentence(client):
    with pytest.raises(httpx2.ProxyError, match=r"does not list elsewhere\.example:443"):
        client.get("https://elsewhere.example/")
    with pytest.raises(httpx2.ProxyError, match="does not list"):
        client.get(f"https://{HOST}:8443/")
    assert code_of(client.get("http://elsewhere.example/")) == "QWED-BROKER-002"


def test_the_base_url_and_plain_http_to_the_proxy_are_the_same_request(payments, broker, client):
    before = len(payments.paid)
    for url in (f"{broker.base_url}/{HOST}/v1/transfers", f"http://{HOST}/v1/transfers"):
        sender = httpx2.Client(trust_env=False) if url.startswith(broker.base_url) else broker.client()
        with sender:
            response = sender.post(url, json=PAYMENT, headers={"QWED-Permit": sign(ACTION)})
        assert response.status_code == 201, response.text
    assert payments.paid[before:] == [PAYMENT, PAYMENT]


def test_the_authority_speaks_for_the_listed_hosts_alone(broker):
    from cryptography import x509

    certificate = broker.broker.authority.certificate
    names = certificate.extensions.get_extension_for_class(x509.NameConstraints)
    life = certificate.not_valid_after_utc - certificate.not_valid_before_utc

    assert names.critical
    assert [name.value for name in names.value.permitted_subtrees] == [HOST, "files.payments.example"]
    assert life.total_seconds() <= 24 * 3600 + 300
    assert b"PRIVATE KEY" not in broker.bundle.read_bytes()
    ssl.create_default_context(cafile=str(broker.bundle))


def test_what_is_no_http_is_refused_and_the_broker_goes_on(broker, client):
    host, port = broker.address.split(":")
    for text in (b"\x16\x03\x01nonsense\r\n\r\n", b"GET / HTTP/1.1\r\nA: " + b"x" * 70_000):
        with socket.create_connection((host, int(port)), timeout=60) as raw:
            raw.sendall(text)
            assert b" 400 " in raw.recv(1000)

    assert client.post(URL, json=PAYMENT, headers={"QWED-Permit": sign(ACTION)}).status_code == 201


def test_of_64_uses_at_once_one_is_sent(payments, broker):
    before, permit, statuses = len(payments.paid), sign(ACTION), []
    url, start = f"{broker.base_url}/{HOST}/v1/transfers", threading.Barrier(64)

    def use():
        with httpx2.Client(trust_env=False, timeout=60) as client:
            start.wait(60)
            statuses.append(client.post(url, json=PAYMENT, headers={"QWED-Permit": permit}).status_code)

    threads = [threading.Thread(target=use) for _ in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert sorted(statuses) == [201] + [409] * 63
    assert payments.paid[before:] == [PAYMENT]


def test_a_tunnel_is_passed_unopened_and_recorded(payments, tmp_path, caplog):
    place = payments.address.removeprefix("http://").replace("127.0.0.1", "localhost")
    policy = f"broker: {{pass: ['{place}']}}"
    with running(policy, tmp_path, {}) as broker, caplog.at_level(logging.INFO, "qwed.broker"):
        host, port = broker.address.split(":")
        user = base64.b64encode(f"run:{broker.broker.caller.secret}".encode()).decode()
        with socket.create_connection((host, int(port)), timeout=60) as raw:
            head = f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\nProxy-Authorization: Basic {user}\r\n\r\n"
            raw.sendall(head.encode())
            assert b" 200 " in raw.recv(1000)
            raw.sendall(b"GET /v1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert b" 401 " in raw.recv(1000)
        wait_for(lambda: f"tunnel to {place}" in caplog.text, "the tunnel in the log")


@pytest.mark.parametrize("gateway", [{"replay": "gateway"}, {"jwks": "http://127.0.0.1:9/jwks.json"}])
def test_without_a_gateway_or_its_keys_nothing_is_sent(payments, tmp_path, gateway):
    before = len(payments.seen)
    policy = POLICY.replace("ADDRESS", payments.address)
    with running(policy, tmp_path, {"PAYMENTS_KEY": KEY}, **gateway) as broker, broker.client() as client:
        response = client.post(URL, json=PAYMENT, headers={"QWED-Permit": sign(ACTION)})

    assert (response.status_code, code_of(response)) == (503, "QWED-PERMIT-006")
    assert "can't be read" in response.text or "could not be asked" in response.text
    assert len(payments.seen) == before


def test_without_a_clock_nothing_is_sent(payments, broker, client, monkeypatch):
    before = len(payments.seen)
    verifier = broker.broker._hosts[HOST].redeemer.permits
    monkeypatch.setattr(verifier, "_clock", lambda: 0.0)
    response = client.post(URL, json=PAYMENT, headers={"QWED-Permit": sign(ACTION)})

    assert (response.status_code, code_of(response)) == (503, "QWED-PERMIT-006")
    assert "clock" in response.text
    assert len(payments.seen) == before


def test_a_host_that_does_not_answer_is_said_and_the_key_is_not(tmp_path):
    policy = POLICY.replace("ADDRESS", "http://127.0.0.1:9")
    with running(policy, tmp_path, {"PAYMENTS_KEY": KEY}) as broker, broker.client() as client:
        response = client.post(URL, json=PAYMENT, headers={"QWED-Permit": sign(ACTION)})

    assert (response.status_code, code_of(response)) == (502, "QWED-BROKER-005")
    assert KEY not in response.text


def test_a_permit_of_another_agent_is_refused(payments, tmp_path):
    policy = POLICY.replace("ADDRESS", payments.address)
    keys = {"PAYMENTS_KEY": KEY}
    with running(policy, tmp_path, keys, agent_id="agent_1") as broker, broker.client() as client:
        other = client.post(URL, json=PAYMENT, headers={"QWED-Permit": sign(ACTION, agent="agent_2")})
        own = client.post(URL, json=PAYMENT, headers={"QWED-Permit": sign(ACTION)})

    assert (code_of(other), own.status_code) == ("QWED-PERMIT-004", 201)
