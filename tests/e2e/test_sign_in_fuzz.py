"""The sign-in endpoints beside an identity provider: made-up requests get documented answers, never a 5xx."""

import contextlib
import logging

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from tests.e2e.test_openapi_fuzz import CHECKS, EXAMPLES
from tests.support.oidc import lying_provider
from tests.support.signing_in import SigningIn

pytestmark = pytest.mark.xdist_group("fuzz")
SEEN: set[tuple[str, int]] = set()


@pytest.fixture(scope="module")
def sign_in_schema():
    with lying_provider() as provider, contextlib.closing(SigningIn(provider.issuer)) as world:
        yield schemathesis.openapi.from_asgi("/openapi.json", world._app)


schema = schemathesis.pytest.from_fixture("sign_in_schema")


@schema.include(path_regex="^/sign-in").parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    database=None,
)
def test_no_made_up_request_breaks_a_sign_in(case):
    logging.disable(logging.WARNING)
    response = case.call_and_validate(checks=CHECKS)
    SEEN.add((case.path, response.status_code))


def test_the_made_up_requests_reached_the_provider():
    """Runs after the one above: somebody was sent there, and nobody came back signed in unasked."""
    assert ("/sign-in", 303) in SEEN
    assert {path for path, _ in SEEN} == {"/sign-in", "/sign-in/callback"}
