import socket

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwed.domain.actions import Action
from qwed.domain.findings import Finding, Status
from qwed.domain.risk import Risk
from qwed.engines import frames

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**60), 10**60)
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=12,
)


def _typed(value):
    if isinstance(value, list):
        return [_typed(item) for item in value]
    if isinstance(value, dict):
        return {key: _typed(item) for key, item in value.items()}
    return type(value).__name__, str(value)


@given(json_values)
def test_parameters_cross_without_losing_a_digit(value):
    job = frames.Job("math", frames.exact_action(Action("calculate", parameters={"value": value})), 1.0)

    received = frames.decode_request(frames.encode(job)[4:])

    assert isinstance(received, frames.Job)
    assert _typed(received.action.parameters["value"]) == _typed(value)


@given(json_values)
def test_evidence_crosses_without_losing_a_digit(value):
    finding = Finding(
        Status.CORRECTED,
        Risk.HIGH,
        "math",
        evidence={"value": value},
        corrected=Action("calculate", query="2+2=4", parameters={"value": value}),
        checks_passed=("a", "b"),
    )

    received = frames.decode_reply(frames.encode(frames.AnswerFrame(frames.exact_finding(finding)))[4:])

    assert isinstance(received, frames.AnswerFrame)
    assert _typed(received.finding.evidence["value"]) == _typed(value)
    assert received.finding.corrected is not None
    assert _typed(received.finding.corrected.parameters["value"]) == _typed(value)
    assert received.finding.checks_passed == ("a", "b")


@pytest.mark.parametrize("value", [object(), {1: 2}, {"a": {None: 1}}, b"bytes", {1, 2}])
def test_what_is_not_json_is_refused_with_a_reason(value):
    with pytest.raises(frames.NotEncodable, match="not"):
        frames.exact_action(Action("calculate", parameters={"value": value}))


def test_a_lone_surrogate_is_refused():
    with pytest.raises(frames.NotEncodable):
        frames.encode(frames.Job("math", Action("calculate", query="\ud800"), 1.0))


def test_a_frame_beyond_the_bound_is_refused_by_both_ends():
    with pytest.raises(frames.NotEncodable, match="bytes"):
        frames.encode(frames.Job("math", Action("calculate", query="x" * frames.MAX_FRAME_BYTES), 1.0))

    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"\xff\xff\xff\xff")
        with pytest.raises(OSError, match="frame"):
            frames.receive(ours)


def test_nesting_without_end_is_refused():
    value: list[object] = []
    for _ in range(100_000):
        value = [value]

    with pytest.raises(frames.NotEncodable, match="deep"):
        frames.exact_action(Action("calculate", parameters={"value": value}))


def test_a_stream_that_ends_within_a_frame_is_its_end():
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            theirs.sendall(b"\x00\x00\x00\x09half")

        assert frames.receive(ours) is None


def test_an_unknown_extension_is_refused():
    body = msgspec.msgpack.encode(
        {"type": "job", "engine": "x", "cpu_seconds": 1.0}
        | {"action": {"type": "t", "parameters": {"v": msgspec.msgpack.Ext(9, b"")}}}
    )

    with pytest.raises(ValueError, match="extension"):
        frames.decode_request(body)
