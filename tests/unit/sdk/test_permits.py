"""Permits at a tool: every way of not having the right one is refused before the function runs."""

import asyncio
import base64
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from tests.support.services import shared

from qwed.domain.permits import PERMIT_TYPE, issue_permit
from qwed.ect.keys import NodeSigner, generate
from qwed_sdk.carried_permits import carry
from qwed_sdk.conversations import action_hash_of
from qwed_sdk.permits import PermitRefused, PermitVerifier, RequestAction, carrying
from qwed_sdk.permits import keys as key_sets

SIGNER = NodeSigner(generate(), "test")
OTHER = NodeSigner(generate(), "test")
ELSEWHERE = NodeSigner(generate(), "elsewhere")
PAYMENT = {"to": "bob", "amount": 5}
HASH = action_hash_of({"type": "send_money", "parameters": PAYMENT})
_numbers = iter(range(10**6))


def sign(action_hash=HASH, signer=SIGNER, at=None, **changed):
    now = int((time.time() if at is None else at) * 1000)
    permit = issue_permit(
        f"act_{next(_numbers)}", "agent_1", "acme", "payments", "pay", action_hash, now, 120
    )
    claims = {**permit.claims(signer.issuer), **changed}
    return signer.sign(PERMIT_TYPE, {name: value for name, value in claims.items() if value is not None})


def write_keys(folder: Path, *signers: NodeSigner) -> Path:
    file = folder / "jwks.json"
    file.write_text(json.dumps({"keys": [key for signer in signers for key in signer.jwks()["keys"]]}))
    return file


class Tool:
    def __init__(self, permits: PermitVerifier) -> None:
        self.effects: list[dict[str, object]] = []

        @permits.required(action_type="send_money")
        def send_money(to, amount, currency="EUR"):
            self.effects.append({"to": to, "amount": amount, "currency": currency})
            return "sent"

        self.send_money = send_money


@pytest.fixture
def permits(tmp_path):
    # What an earlier test of this process approved and never reported is no permit here.
    carry(None)
    return PermitVerifier(write_keys(tmp_path, SIGNER), "payments", replay="memory")


@pytest.fixture
def tool(permits):
    return Tool(permits)


def refused(tool, token, **changed):
    before = list(tool.effects)
    with pytest.raises(PermitRefused) as refusal:
        tool.send_money(qwed_permit=token, **{**PAYMENT, **changed})
    assert tool.effects == before
    return refusal.value.code.value


def test_a_permit_lets_its_call_run_once(tool):
    token = sign()

    assert tool.send_money(qwed_permit=token, **PAYMENT) == "sent"
    assert refused(tool, token) == "QWED-PERMIT-005"


def test_positions_and_defaults_are_the_same_call(tool):
    whole = action_hash_of({"type": "send_money", "parameters": {**PAYMENT, "currency": "EUR"}})
    tool.send_money("bob", 5, qwed_permit=sign())
    tool.send_money("bob", amount=5, qwed_permit=sign(whole))
    tool.send_money("bob", 5, "EUR", qwed_permit=sign(whole))

    assert tool.effects == [{**PAYMENT, "currency": "EUR"}] * 3
    assert refused(tool, sign(), currency="EUR") == "QWED-PERMIT-004"


def test_the_context_carries_a_permit_and_the_tool_does_not_hand_it_on(tool):
    with carrying(sign()):
        assert tool.send_money(**PAYMENT) == "sent"
        assert refused(tool, None) == "QWED-PERMIT-005"


@pytest.mark.parametrize(
    ("token", "code"),
    [
        (lambda: None, "QWED-PERMIT-001"),
        (lambda: "", "QWED-PERMIT-001"),
        (lambda: 7, "QWED-PERMIT-002"),
        (lambda: "not.a.permit", "QWED-PERMIT-002"),
        (lambda: sign("0" * 64), "QWED-PERMIT-004"),
        (lambda: sign(aud="elsewhere"), "QWED-PERMIT-004"),
        (lambda: sign(aud=["payments"]), "QWED-PERMIT-002"),
        (lambda: sign(at=time.time() - 200), "QWED-PERMIT-003"),
        (lambda: sign(at=time.time() + 60), "QWED-PERMIT-003"),
        (lambda: sign(exp=int(time.time()) + 7200), "QWED-PERMIT-002"),
        (lambda: sign(exp=None), "QWED-PERMIT-002"),
        (lambda: sign(use="often"), "QWED-PERMIT-002"),
        (lambda: sign(iss="did:qwed:node:other"), "QWED-PERMIT-002"),
        (lambda: sign(signer=OTHER), "QWED-PERMIT-002"),
        (lambda: sign(signer=ELSEWHERE), "QWED-PERMIT-002"),
        (lambda: SIGNER.sign("qwed-attestation+jwt", {"jti": "x"}), "QWED-PERMIT-002"),
    ],
)
def test_no_other_token_lets_it_run(tool, token, code):
    assert refused(tool, token()) == code


@pytest.mark.parametrize("alg", ["none", "HS256", "RS256", "ES384", "EdDSA", "es256"])
def test_another_algorithm_in_the_header_is_refused(tool, alg):
    head, payload, signature = sign().split(".")
    header = json.loads(base64.urlsafe_b64decode(head + "==")) | {"alg": alg}
    segment = base64.urlsafe_b64encode(json.dumps(header).encode()).rstrip(b"=").decode()
    signatures = [signature, ""]
    if alg == "HS256":
        import hashlib
        import hmac

        public = SIGNER.active._private.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        mac = hmac.new(public, f"{segment}.{payload}".encode(), hashlib.sha256).digest()
        signatures.append(base64.urlsafe_b64encode(mac).rstrip(b"=").decode())

    for each in signatures:
        assert refused(tool, f"{segment}.{payload}.{each}") == "QWED-PERMIT-002"


def test_a_value_that_is_not_json_is_refused(tool):
    assert refused(tool, sign(), amount=object()) == "QWED-PERMIT-004"
    assert refused(tool, sign(), amount=b"5") == "QWED-PERMIT-004"
    assert refused(tool, sign(), amount=float("nan")) == "QWED-PERMIT-004"


def test_an_argument_that_changes_after_the_look_is_not_what_runs(tmp_path):
    permits = PermitVerifier(write_keys(tmp_path, SIGNER), "payments", replay="memory")
    items, seen = ["a"], []

    @permits.required(action_type="order")
    def order(items):
        seen.append(list(items))

    replay = permits._replay.use

    def use(*arguments):
        replay(*arguments)
        items.append("b")

    permits._replay.use = use
    order(items, qwed_permit=sign(action_hash_of({"type": "order", "parameters": {"items": ["a"]}})))

    assert seen == [["a"]]


def test_a_coroutine_needs_a_permit_too_and_a_generator_can_not_have_one(permits):
    ran = []

    @permits.required(action_type="send_money")
    async def send_money(to, amount):
        ran.append(to)

    asyncio.run(send_money(**PAYMENT, qwed_permit=sign()))
    with pytest.raises(PermitRefused):
        asyncio.run(send_money(**PAYMENT))
    assert ran == ["bob"]
    with pytest.raises(TypeError):

        @permits.required()
        def generate_numbers():
            yield 1


def test_a_key_that_was_retired_signs_nothing_later(tmp_path):
    now = int(time.time())
    rotated = SIGNER.rotated(generate(), now - 50)
    tool = Tool(PermitVerifier(write_keys(tmp_path, rotated), "payments", replay="memory"))

    assert tool.send_money(qwed_permit=sign(at=now - 60), **PAYMENT) == "sent"
    assert refused(tool, sign(at=now)) == "QWED-PERMIT-002"
    assert tool.send_money(qwed_permit=sign(signer=rotated), **PAYMENT) == "sent"
    revoked = rotated.revoked(SIGNER.kid, now)
    other = tmp_path / "b"
    other.mkdir()
    tool = Tool(PermitVerifier(write_keys(other, revoked), "payments", replay="memory"))
    assert refused(tool, sign(at=now - 60)) == "QWED-PERMIT-002"


def test_a_new_key_is_found_when_it_is_first_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(key_sets, "LOOK_AGAIN_SECONDS", -1.0)
    tool = Tool(PermitVerifier(write_keys(tmp_path, SIGNER), "payments", replay="memory"))
    tool.send_money(qwed_permit=sign(), **PAYMENT)
    rotated = SIGNER.rotated(generate(), int(time.time()))
    write_keys(tmp_path, rotated)

    assert tool.send_money(qwed_permit=sign(signer=rotated), **PAYMENT) == "sent"


def test_a_key_set_of_two_issuers_needs_a_name(tmp_path):
    file = write_keys(tmp_path, SIGNER, ELSEWHERE)

    assert refused(Tool(PermitVerifier(file, "payments", replay="memory")), sign()) == "QWED-PERMIT-006"
    named = Tool(PermitVerifier(file, "payments", replay="memory", issuer="did:qwed:node:test"))
    assert named.send_money(qwed_permit=sign(), **PAYMENT) == "sent"
    assert refused(named, sign(signer=ELSEWHERE)) == "QWED-PERMIT-002"


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"keys": 3}', '{"keys": [{"kty": "EC", "kid": "x"}]}'])
def test_a_key_set_that_can_not_be_read_is_closed_with_a_sentence(tmp_path, content):
    file = tmp_path / "jwks.json"
    file.write_text(content)
    tool = Tool(PermitVerifier(file, "payments", replay="memory"))
    with pytest.raises(PermitRefused, match="keys can't be read"):
        tool.send_money(qwed_permit=sign(), **PAYMENT)

    assert (
        refused(Tool(PermitVerifier(tmp_path / "gone", "payments", replay="memory")), sign())
        == "QWED-PERMIT-006"
    )


@pytest.mark.parametrize("now", [0.0, float("nan"), -1.0, float("inf"), OSError()])
def test_no_clock_is_closed(tmp_path, now):
    def clock():
        if isinstance(now, OSError):
            raise now
        return now

    permits = PermitVerifier(write_keys(tmp_path, SIGNER), "payments", replay="memory", clock=clock)

    assert refused(Tool(permits), sign()) == "QWED-PERMIT-006"


def test_a_clock_that_goes_back_is_closed(tmp_path):
    times = [time.time()]
    permits = PermitVerifier(
        write_keys(tmp_path, SIGNER), "payments", replay="memory", clock=lambda: times[-1]
    )
    tool = Tool(permits)
    tool.send_money(qwed_permit=sign(), **PAYMENT)
    times.append(times[0] - 100)

    assert refused(tool, sign(at=times[-1])) == "QWED-PERMIT-006"


def test_a_gateway_that_does_not_answer_is_closed(tmp_path):
    permits = PermitVerifier(
        write_keys(tmp_path, SIGNER), "payments", gateway="http://127.0.0.1:9", api_key="qwed_live_tool"
    )

    assert refused(Tool(permits), sign()) == "QWED-PERMIT-006"


def test_what_is_missing_is_said_at_once(tmp_path, monkeypatch):
    monkeypatch.delenv("QWED_API_KEY", raising=False)
    file = write_keys(tmp_path, SIGNER)
    with pytest.raises(ValueError, match="QWED_API_KEY"):
        PermitVerifier(file, "payments")
    with pytest.raises(ValueError, match="https"):
        PermitVerifier("http://gateway.example/.well-known/jwks.json", "payments", replay="memory")
    with pytest.raises(ValueError, match="replay"):
        PermitVerifier(file, "payments", replay="file")


def test_without_cryptography_a_sentence_says_what_to_install():
    code = (
        "import sys; sys.modules['cryptography'] = None\n"
        "import qwed_sdk.tool_gate, qwed_sdk.carried_permits\n"
        "import qwed_sdk.permits\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert "pip install 'qwed-gateway[permits]'" in done.stderr


def test_redis_keeps_one_list_for_all_and_is_closed_when_it_is_gone(tmp_path):
    file = write_keys(tmp_path, SIGNER)
    tools = [Tool(PermitVerifier(file, "payments", replay=shared().redis)) for _ in range(2)]
    token = sign(jti=f"pmt_{os.getpid()}_{time.time_ns()}")
    outcomes = []

    def use(number):
        try:
            tools[number % 2].send_money(qwed_permit=token, **PAYMENT)
            outcomes.append("ran")
        except PermitRefused as refusal:
            outcomes.append(refusal.code.value)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(outcomes) == ["QWED-PERMIT-005"] * 15 + ["ran"]
    gone = Tool(PermitVerifier(file, "payments", replay="redis://127.0.0.1:9"))
    assert refused(gone, sign()) == "QWED-PERMIT-006"


# --- web services -----------------------------------------------------------------------------------

ROUTES = {"POST /payments/{to}": RequestAction("send_money", "POST", "/payments/{to}", {"amount": "integer"})}


def ask(permits, method="POST", path="/payments/bob", query="", body=b'{"amount":5}', token=None, **headers):
    """The status, and how often the service itself was reached: by ASGI and by WSGI."""
    reached = []

    async def app(scope, receive, send):
        reached.append((await receive())["body"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"ok"})

    def wsgi(environ, start_response):
        reached.append(environ["wsgi.input"].read())
        start_response("200 OK", [])
        return [b"ok"]

    given = {"content-type": "application/json", **headers}
    if token is not None:
        given["qwed-permit"] = token[0]
    sent = []

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }
    asyncio.run(permits.asgi(app, ROUTES, open_routes=["GET /health"])(scope, receive, send))
    if token is not None:
        given["qwed-permit"] = token[1]
    import io

    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "CONTENT_TYPE": given["content-type"],
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body),
        **{f"HTTP_{name.upper().replace('-', '_')}": value for name, value in given.items()},
    }
    statuses = []
    list(permits.wsgi(wsgi, ROUTES, open_routes=["GET /health"])(environ, lambda s, h: statuses.append(s)))
    return (sent[0]["status"], int(statuses[0].split()[0]), len(reached))


def test_a_request_with_its_permit_reaches_the_service(permits):
    assert ask(permits, token=(sign(), sign())) == (200, 200, 2)
    assert ask(permits, query="amount=5", body=b"", token=(sign(), sign())) == (200, 200, 2)
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert ask(permits, body=b"amount=5", token=(sign(), sign()), **form) == (200, 200, 2)
    assert ask(permits, method="GET", path="/health", body=b"") == (200, 200, 2)


@pytest.mark.parametrize(
    "changed",
    [
        {"body": b'{"amount":6}'},
        {"body": b'{"amount":5,"amount":6}'},
        {"body": b'{"amount":"5"}'},
        {"body": b'{"amount":5,"currency":"USD"}'},
        {"body": b"[5]"},
        {"body": b"not json"},
        {"body": b"x" * 1_100_000},
        {"path": "/payments/mallory"},
        {"path": "/payments/bob/"},
        {"path": "/payments/../payments/bob"},
        {"path": "/payments/%2e%2e"},
        {"path": "/payments/b%2fob"},
        {"path": "/refunds/bob"},
        {"query": "amount=5"},
        {"query": "to=mallory"},
        {"method": "PUT"},
        {"content-encoding": "gzip"},
        {"content-type": "text/plain"},
        {"content-type": "application/json; charset=utf-7"},
        {"content-type": 'application/x-www-form-urlencoded;charset="utf-16"', "body": b"amount=5"},
    ],
)
def test_any_other_request_does_not(permits, changed):
    asgi, wsgi, reached = ask(permits, token=(sign(), sign()), **changed)

    assert reached == 0
    assert (asgi, wsgi) == (403, 403)


def test_a_path_that_was_decoded_already_is_not_decoded_again(permits):
    """The service has `%62ob` there, whoever would read `bob`."""
    import io

    reached = []

    def wsgi(environ, start_response):
        reached.append(environ["PATH_INFO"])
        start_response("200 OK", [])
        return [b"ok"]

    async def app(scope, receive, send):
        reached.append(scope["path"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"ok"})

    async def receive():
        return {"type": "http.request", "body": b'{"amount":5}', "more_body": False}

    def ask_both(path):
        statuses, sent = [], []

        async def send(message):
            sent.append(message)

        fields = {"CONTENT_TYPE": "application/json", "CONTENT_LENGTH": "12", "HTTP_QWED_PERMIT": sign()}
        environ = {"REQUEST_METHOD": "POST", "PATH_INFO": path, **fields}
        environ["wsgi.input"] = io.BytesIO(b'{"amount":5}')
        list(permits.wsgi(wsgi, ROUTES)(environ, lambda status, _: statuses.append(int(status[:3]))))
        headers = [(b"content-type", b"application/json"), (b"qwed-permit", sign().encode())]
        scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers}
        asyncio.run(permits.asgi(app, ROUTES)(scope, receive, send))
        return [*statuses, sent[0]["status"]]

    assert ask_both("/payments/%62ob") == [403, 403]
    assert ask_both("/payments/bob") == [200, 200]
    assert reached == ["/payments/bob", "/payments/bob"]


def test_no_permit_and_a_websocket_do_not(permits):
    assert ask(permits) == (401, 401, 0)
    sent = []

    async def connect():
        async def app(scope, receive, send):
            raise AssertionError("reached")

        async def send(message):
            sent.append(message)

        await permits.asgi(app, ROUTES)({"type": "websocket"}, None, send)

    asyncio.run(connect())
    assert sent[0]["type"] == "websocket.close"
