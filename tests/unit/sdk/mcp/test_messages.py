"""Messages: read as far as needed, and never in two ways."""

import msgspec
import pytest

from qwed_sdk.mcp.messages import MalformedMessage, encode, params_of, raw, read_call_result, read_message


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"nonsense",
        b"[]",
        b'[{"jsonrpc":"2.0","id":1,"method":"tools/call"}]',
        b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
        b'{"jsonrpc":"2.0"}',
        b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1}',
        b'{"jsonrpc":"2.0","id":1,"result":{},"error":{}}',
        b'{"jsonrpc":"2.0","id":1,"method":7}',
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b"\xff\xfe",
    ],
    ids=range(14),
)
def test_what_is_no_message_is_malformed(line: bytes):
    with pytest.raises(MalformedMessage):
        read_message(line)


def test_both_sides_see_one_envelope_whatever_was_written_twice():
    line = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","Method":"tools/call","method":"ping","x":1}'

    assert encode(read_message(line)) == b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def test_what_a_message_carries_passes_as_it_came():
    line = b'{"jsonrpc":"2.0","id":"a","result":{"b":1.10,"a":[1e2, "\\u00e9"],"a":2}}'

    assert encode(read_message(line)) == line


@pytest.mark.parametrize(
    "params",
    [
        b'{"name":"a","name":"b"}',
        b'{"name":"a","arguments":{"x":1,"x":2}}',
        b'{"name":"a","Arguments":{}}',
        b'{"name":"a","NAME":"b"}',
        b'{"name":"a","arguments":{"x":1e400}}',
        b'{"name":"a","arguments":{"x":' + b"9" * 309 + b"}}",
        b'{"name":"a","arguments":{"x":"\\ud800"}}',
        b'["a"]',
        b"7",
    ],
    ids=[
        "name_twice",
        "argument_twice",
        "other_case",
        "upper_case",
        "overflow",
        "long_overflow",
        "surrogate",
        "list",
        "number",
    ],
)
def test_what_could_be_read_in_two_ways_is_not_judged(params: bytes):
    line = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + params + b"}"

    with pytest.raises(MalformedMessage):
        params_of(read_message(line))


def test_numbers_and_texts_survive_being_judged():
    given = b'{"name":"a","arguments":{"n":123456789012345678901234567890,"f":0.1,"t":"\xc3\xa9"}}'
    message = read_message(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + given + b"}")

    assert bytes(raw(params_of(message))) == given


def test_a_number_without_a_json_value_is_never_written():
    with pytest.raises(ValueError):
        raw({"x": float("nan")})


@pytest.mark.parametrize("result", [b"[]", b"7", b'{"isError":"no"}'], ids=["list", "number", "text"])
def test_a_result_that_is_none_is_malformed(result: bytes):
    with pytest.raises(MalformedMessage):
        read_call_result(msgspec.Raw(result))
