"""The API's own description, turned against it: made-up requests, valid and not, never a 5xx."""

import contextlib
import logging
from collections import defaultdict

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.support.tiers import scale
from tests.support.world import OPERATOR_KEY, World

pytestmark = [
    pytest.mark.xdist_group("fuzz"),
    pytest.mark.timeout(scale(ci=1_800, nightly=3_600, long=20_000)),
]

CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)
#: A stream has no end to wait for; it is tested elsewhere.
ENDLESS = "/events"
EXAMPLES = scale(ci=6, nightly=200, long=1_000)
SEEN: defaultdict[str, set[int]] = defaultdict(set)


@pytest.fixture(scope="module")
def gateway():
    with contextlib.closing(World()) as world:
        yield world


def existing(world):
    """Names of things that exist, made anew when a request has used them up."""
    found = getattr(world, "existing", None)
    if found is None or world.call("GET", f"/agents/{found['agent_id']}").json().get("status") != "active":
        agent = world.register(type="trusted")
        found = {"agent_id": agent["agent_id"], "activity_id": world.verify(agent)["activity_id"]}
        world.existing = {**found, "engine": "math"}
    return world.existing


@pytest.fixture(scope="module")
def api_schema(gateway):
    return schemathesis.openapi.from_asgi("/openapi.json", gateway._app)


schema = schemathesis.pytest.from_fixture("api_schema")


@schema.exclude(path=ENDLESS).parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    database=None,
)
def test_no_made_up_request_breaks_the_gateway(case, gateway):
    logging.disable(logging.WARNING)
    known = existing(gateway)
    for name in known.keys() & set(case.path_parameters or {}):
        # Every second request goes to something that exists.
        if len(str(case.path_parameters[name])) % 2:
            case.path_parameters[name] = known[name]
    response = case.call_and_validate(headers={"Authorization": f"Bearer {OPERATOR_KEY}"}, checks=CHECKS)
    SEEN[case.operation.label].add(response.status_code)


def test_the_requests_reached_beyond_the_doors():
    """Runs after the one above: many operations were answered both well and badly."""
    answered = [label for label, statuses in SEEN.items() if statuses & {200, 201}]

    assert len(SEEN) >= 30
    assert len(answered) >= 0.4 * len(SEEN), {label: SEEN[label] for label in SEEN.keys() - set(answered)}
