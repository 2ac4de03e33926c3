"""What a definition says, and what it hides."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.corpora.mcp_definitions import BENIGN, HOSTILE

from qwed_sdk.mcp.definitions import PINNED_FIELDS, definition_hash, suspicion

TOOL = {"name": "add", "description": "Adds.", "inputSchema": {"type": "object"}}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize("kind", sorted(HOSTILE))
def test_what_hides_something_is_found(kind: str):
    assert suspicion({**TOOL, **HOSTILE[kind]}) is not None


@pytest.mark.parametrize("kind", sorted(BENIGN))
def test_what_only_looks_like_it_passes(kind: str):
    assert suspicion({**TOOL, **BENIGN[kind]}) is None


def test_a_definition_nested_beyond_looking_is_suspicious():
    deep: Any = "text"
    for _ in range(100):
        deep = [deep]

    assert suspicion({**TOOL, "inputSchema": {"x": deep}}) == "it is nested too deeply"


def test_nothing_is_not_suspicious():
    assert suspicion(None) is None
    assert suspicion({}) is None


@pytest.mark.parametrize("field", PINNED_FIELDS)
def test_every_pinned_field_changes_the_hash(field: str):
    assert definition_hash({**TOOL, field: "another"}) != definition_hash(TOOL)


def test_what_no_model_reads_does_not_change_the_hash():
    assert definition_hash({**TOOL, "_meta": {"x": 1}, "icons": [], "execution": {}}) == definition_hash(TOOL)
    assert definition_hash(dict(reversed(TOOL.items()))) == definition_hash(TOOL)


@given(JSON, JSON)
def test_two_definitions_share_a_hash_only_if_they_are_the_same(one: Any, other: Any):
    first, second, again = (definition_hash({**TOOL, "inputSchema": {"x": x}}) for x in (one, other, one))

    assert first == again
    assert first != second or one == other


@given(JSON)
def test_looking_at_a_definition_never_fails(value: Any):
    suspicion(value)
