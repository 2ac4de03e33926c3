"""The API's description says of decisions what they are."""

import contextlib
import json

import jsonschema_rs
import pytest
from tests.support.world import World

from qwed.domain.findings import Status
from qwed.domain.risk import Risk
from qwed.http.openapi import describe

DESCRIPTION = json.loads(describe("1"))
SCHEMAS = DESCRIPTION["components"]["schemas"]


@pytest.fixture
def world():
    with contextlib.closing(World()) as made:
        yield made


def fits(body, name):
    schema = {"$ref": f"#/components/schemas/{name}", "components": DESCRIPTION["components"]}
    jsonschema_rs.validator_for(schema).validate(body)


@pytest.mark.parametrize(
    ("status", "risk", "decision"),
    [
        (Status.VERIFIED, Risk.LOW, "APPROVED"),
        (Status.VERIFIED, Risk.HIGH, "PENDING"),
        (Status.UNCERTAIN, Risk.LOW, "PENDING"),
        (Status.VERIFIED, Risk.CRITICAL, "DENIED"),
    ],
)
def test_every_decision_is_one_that_the_description_allows(world, status, risk, decision):
    agent = world.register()
    world.prover.says(status, risk)
    asked = world.verify(agent)
    tool = world.call("POST", f"/agents/{agent['agent_id']}/tools/get_weather").json()

    assert asked["decision"] == tool["decision"] == decision
    fits(asked, "Decision")
    fits(tool, "ToolDecision")


def test_money_is_a_number_there_too():
    assert SCHEMAS["BudgetBody"]["properties"]["max_daily_cost_usd"]["type"] == ["number", "null"]
    assert SCHEMAS["UsageBody"]["properties"]["cost_usd"]["type"] == ["number", "null"]


@pytest.mark.parametrize("door", ["verify", "tools/{tool}"])
def test_a_repeated_request_has_a_header_that_the_description_names(door):
    parameters = DESCRIPTION["paths"][f"/agents/{{agent_id}}/{door}"]["post"]["parameters"]

    assert [one["name"] for one in parameters if one["in"] == "header"] == ["Idempotency-Key"]
