"""The vectors that the SDKs of every language read, as this one reads them."""

import json
from pathlib import Path
from typing import Any

import pytest

from qwed.domain.actions import Action, action_hash
from qwed_sdk import GatewayUnavailable, RequestRefused
from qwed_sdk.calls import parse, read_decision
from qwed_sdk.results import Decision
from qwed_sdk.tool_map import NotApplicable, NotShowable, ToolAs, action_of_call

VECTORS: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parents[1] / "vectors" / "sdk-contract.json").read_text()
)
ERRORS = {error.__name__: error for error in (GatewayUnavailable, RequestRefused, NotApplicable, NotShowable)}


def each(kind: str) -> Any:
    return pytest.mark.parametrize("vector", VECTORS[kind], ids=lambda vector: vector["name"])


def mapped(vector: dict[str, Any]) -> Any:
    rules = {name: ToolAs(**rule) if isinstance(rule, dict) else rule for name, rule in vector["map"].items()}
    return action_of_call(vector["tool"], vector["arguments"], rules)


@each("answers")
def test_an_answer_is_read_as_the_vector_says(vector: dict[str, Any]):
    def read() -> Decision:
        body = parse(vector["status"], vector["body"].encode(), {"content-type": vector["content_type"]})
        return read_decision(Decision, "t")(vector["status"], body)

    if vector["expect"] in ERRORS:
        with pytest.raises(ERRORS[vector["expect"]]):
            read()
    else:
        assert read().decision == vector["expect"]


@each("tool_calls")
def test_a_tool_call_is_the_action_that_the_vector_says(vector: dict[str, Any]):
    if "error" in vector:
        with pytest.raises(ERRORS[vector["error"]]):
            mapped(vector)
    else:
        assert mapped(vector).action == vector["action"]


@each("grants")
def test_a_grant_becomes_the_arguments_that_the_vector_says(vector: dict[str, Any]):
    if "error" in vector:
        with pytest.raises(ERRORS[vector["error"]]):
            mapped(vector).arguments_for(vector["granted"])
    else:
        assert mapped(vector).arguments_for(vector["granted"]) == vector["expect"]


@each("hashes")
def test_an_action_has_the_hash_that_the_vector_says(vector: dict[str, Any]):
    fields = {name: value for name, value in vector["action"].items() if name != "type"}

    assert action_hash(Action(vector["action"]["type"], **fields)) == vector["sha256"]
