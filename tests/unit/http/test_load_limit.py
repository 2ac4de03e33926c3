"""What is over the limit is refused before it is parsed, and only if it is one whole request."""

import pytest

from qwed.http.load_limit import REFUSAL, RequestGate, is_whole_post

BODY = b'{"action":{"type":"calculate"}}'
HEAD = b"POST /agents/a/verify HTTP/1.1\r\nHost: x\r\n"


@pytest.mark.parametrize("name", [b"Content-Length", b"content-length", b"CONTENT-LENGTH"])
def test_one_whole_request_can_be_answered_without_a_parser(name):
    assert is_whole_post(HEAD + name + b": %d\r\n\r\n" % len(BODY) + BODY)


OTHERS = {
    "reading": b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n",
    "cut head": HEAD,
    "cut body": HEAD + b"Content-Length: 99\r\n\r\n" + BODY,
    "two at once": (HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY) * 2,
    "chunked": HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "no length": HEAD + b"\r\n",
    "length in the body": HEAD + b"\r\n\r\ncontent-length: 5\r\nabcde",
    "absurd length": HEAD + b"Content-Length: 99999999999\r\n\r\n",
    "nothing": b"",
}


@pytest.mark.parametrize("name", OTHERS)
def test_everything_else_is_for_the_parser(name):
    assert not is_whole_post(OTHERS[name])


def test_a_refusal_is_a_whole_answer_that_says_when_to_retry():
    head, body = REFUSAL.split(b"\r\n\r\n", 1)
    assert head.startswith(b"HTTP/1.1 503 ")
    assert b"\r\nretry-after: 1\r\n" in head and b"content-length: %d" % len(body) in head
    assert b"QWED-RATE-001" in body and b'"decision"' not in body


def test_the_gate_counts_who_is_inside():
    gate = RequestGate(2)
    with gate:
        assert not gate.is_full
        with gate:
            assert gate.is_full
    assert not gate.is_full


def test_who_only_waits_is_not_inside():
    gate = RequestGate(1)
    with gate:
        with gate.left():
            assert not gate.is_full
        assert gate.is_full
