"""What is wrong between the client and the gateway, told so that one knows what to do."""

import pickle
import socket
import ssl
import threading
from collections.abc import Iterator

import httpx2
import pytest
from tests.support.named_answers import naming

from qwed_sdk import GatewayUnavailable, QWEDClient, RateLimited

ACTION = {"type": "calculate", "query": "1+1"}
CONTEXT = {"conversation_id": "c", "step_number": 1}
APPROVED = {"decision": "APPROVED", "activity_id": "act_1"}
LIMITED = {"error": {"code": "QWED-RATE-001", "message": "too often"}}


@pytest.fixture
def listener() -> Iterator[int]:
    """A port where somebody listens who speaks no TLS."""
    server = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        try:
            while True:
                connection, _ = server.accept()
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
                connection.close()
        except OSError:
            return

    thread = threading.Thread(target=answer)
    thread.start()
    yield server.getsockname()[1]
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join(10)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def trouble(base_url: str, **options: object) -> GatewayUnavailable:
    client = QWEDClient("key", base_url, max_tries=1, **options)  # type: ignore[arg-type]
    with client, pytest.raises(GatewayUnavailable) as raised:
        client.verify_action("agent_1", ACTION, CONTEXT)
    return raised.value


def test_a_gateway_that_is_down_a_wrong_name_and_no_tls_read_differently(listener: int) -> None:
    down = trouble(f"http://127.0.0.1:{free_port()}")
    no_tls = trouble(f"https://127.0.0.1:{listener}")
    no_host = trouble("http://gateway.invalid")

    assert "it is down" in str(down)
    assert "TLS" in str(no_tls)
    assert "no host of that name" in str(no_host)
    assert all(isinstance(error.__cause__, httpx2.HTTPError) for error in (down, no_tls, no_host))


def test_a_certificate_that_is_not_trusted_says_so() -> None:
    def untrusted(request: httpx2.Request) -> httpx2.Response:
        cause = ssl.SSLCertVerificationError(1, "certificate verify failed")
        cause.verify_message = "self-signed certificate"
        raise httpx2.ConnectError("failed", request=request) from cause

    error = trouble("https://gateway.test", transport=httpx2.MockTransport(untrusted))

    assert "its TLS certificate is not accepted (self-signed certificate)" in str(error)


@pytest.mark.parametrize("name", ["HTTP_PROXY", "ALL_PROXY"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_a_proxy_of_the_environment_is_not_asked_for_loopback(
    monkeypatch: pytest.MonkeyPatch, name: str, host: str
) -> None:
    # Neither reached nor, for SOCKS, even looked for.
    monkeypatch.setenv(name, "socks5://proxy.invalid:1")

    assert "it is down" in str(trouble(f"http://{host}:{free_port()}"))


def test_a_missing_package_for_a_socks_proxy_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://proxy.invalid:1")

    with pytest.raises(ImportError, match=r"pip install 'httpx2\[socks\]'"):
        QWEDClient("key", "http://gateway.test")


@pytest.mark.parametrize("key", ["", "  "])
def test_an_empty_key_is_an_error(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QWED_API_KEY", "qwed_live_from_the_environment")

    with pytest.raises(ValueError, match="api_key is empty"):
        QWEDClient(key, "http://gateway.test")


def limited_client(*answers: httpx2.Response, timeout: float = 10.0) -> tuple[QWEDClient, list[str]]:
    waiting, asked = list(answers), []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.headers["idempotency-key"])
        return waiting.pop(0)

    client = QWEDClient("key", "http://gateway.test", timeout=timeout, transport=naming(answer))
    object.__setattr__(client._connection, "backoff_seconds", 0.001)
    return client, asked


def test_too_many_requests_are_tried_again_after_the_time_that_was_asked_for() -> None:
    client, asked = limited_client(
        httpx2.Response(429, json=LIMITED, headers={"Retry-After": "0"}), httpx2.Response(200, json=APPROVED)
    )
    with client:
        assert client.verify_action("agent_1", ACTION, CONTEXT).may_act

    assert len(asked) == 2
    assert len(set(asked)) == 1


def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    client, asked = limited_client(
        httpx2.Response(429, json=LIMITED, headers={"Retry-After": "31"}), timeout=10.0
    )
    with client, pytest.raises(RateLimited) as raised:
        client.verify_action("agent_1", ACTION, CONTEXT)
    again = pickle.loads(pickle.dumps(raised.value))

    assert len(asked) == 1
    assert (again.retry_after, again.code, again.status, str(again)) == (
        31.0,
        "QWED-RATE-001",
        429,
        str(raised.value),
    )


def test_a_budget_that_is_used_up_is_a_decision_and_not_tried_again() -> None:
    said = {"decision": "BUDGET_EXCEEDED", "error": {"code": "QWED-AGENT-BUDGET-001", "message": "used up"}}
    client, asked = limited_client(httpx2.Response(429, json=said, headers={"Retry-After": "0"}))
    with client:
        assert client.verify_action("agent_1", ACTION, CONTEXT).decision == "BUDGET_EXCEEDED"

    assert len(asked) == 1


@pytest.mark.parametrize(
    "body",
    [
        b'{"decision":"APPROVED"}',
        b'{"decision":"APPROVED","activity_id":""}',
        b'{"decision":"APPROVED","activity_id":"act_1","cost":NaN}',
        b'{"decision":"APPROVED","activity_id":"act_1","cost":-Infinity}',
        b'{"decision":"APPROVED","activity_id":"act_1","cost":1e999}',
        b'{"decision":"PENDING","activity_id":"act_1"}',
        b'{"decision":"CORRECTED","activity_id":"act_1","corrected_action":{"query":"1+1"}}',
        b'{"decision":"CORRECTED","activity_id":"act_1","corrected_action":{"type":"execute_code"}}',
        b'{"decision":"PENDING","activity_id":"act_1","approval":{"id":"a"},"corrected_action":{"type":"x"}}',
    ],
)
def test_an_answer_that_is_not_whole_is_refused(body: bytes) -> None:
    answer = httpx2.Response(200, content=body, headers={"content-type": "application/json"})
    client, _ = limited_client(answer)
    with client, pytest.raises(GatewayUnavailable):
        client.verify_action("agent_1", ACTION, CONTEXT)


@pytest.mark.parametrize("named", [None, "0" * 64], ids=["unnamed", "another"])
def test_an_answer_that_does_not_name_the_question_is_refused(named: str | None) -> None:
    headers = {} if named is None else {"QWED-Answer": named}
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, json=APPROVED, headers=headers))

    error = trouble("http://gateway.test", transport=transport)

    assert "question" in str(error)
