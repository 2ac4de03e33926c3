"""JSONTestSuite: what must be accepted, what must be refused, and that nothing raises."""

import pytest
from tests.support.vectors import suite_folder

from qwed.guards.agent_state import AgentStateGuard

VECTORS = suite_folder("json-parsing")
FILES = sorted((VECTORS / "test_parsing").glob("*.json"))

PARSED = {None, "QWED-AGENT-STATE-103"}
NOT_PARSED = {"QWED-AGENT-STATE-101", "QWED-AGENT-STATE-102"}
ANY_OBJECT = {"type": "object", "properties": {}, "additionalProperties": True}
GUARDS = [
    AgentStateGuard(schema, {"immutable_paths": ["$.a"]})
    for schema in (ANY_OBJECT, {"type": "array", "items": {"type": "integer"}}, {"type": "null"})
]
REPEATED_KEYS = {"y_object_duplicated_key", "y_object_duplicated_key_and_value"}
# Nesting is refused as such, before the grammar is looked at.
TOO_DEEP = {"n_structure_100000_opening_arrays", "n_structure_open_array_object"}


def text_of(file):
    # A byte that is not UTF-8 becomes a lone surrogate, which no state may hold.
    return file.read_bytes().decode("utf-8", "surrogateescape")


def vectors(prefix):
    return pytest.mark.parametrize(
        "file", [f for f in FILES if f.name.startswith(prefix)], ids=lambda f: f.stem
    )


@vectors("y_")
def test_what_must_be_accepted_is_accepted(file):
    code = GUARDS[0].verify_state_payload('{"vector":' + text_of(file) + "}").get("error_code")

    assert code == ("QWED-AGENT-STATE-102" if file.stem in REPEATED_KEYS else None)
    if file.stem not in REPEATED_KEYS:
        assert {guard.verify_state_payload(text_of(file)).get("error_code") for guard in GUARDS} <= PARSED


@vectors("n_")
def test_what_must_be_refused_is_refused(file):
    results = [guard.verify_state_payload(text_of(file)) for guard in GUARDS]

    assert not any(result["verified"] for result in results)
    allowed = {"QWED-AGENT-STATE-103"} if file.stem in TOO_DEEP else NOT_PARSED
    assert {result["error_code"] for result in results} <= allowed


@vectors("i_")
def test_what_may_go_either_way_is_decided_without_an_exception(file):
    for guard in GUARDS:
        for result in (
            guard.verify_state_payload(text_of(file)),
            guard.verify_state_transition(text_of(file), text_of(file)),
            guard.verify_state_payload(file.read_bytes()),
        ):
            assert result["status"] in ("VERIFIED", "BLOCKED")


def test_the_whole_suite_is_here():
    assert len(FILES) == 318
