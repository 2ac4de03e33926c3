"""Keys and webhooks changed at the same time: a rule about how many there are holds all the same."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.support.world import OPERATOR_KEY

from qwed import Gateway, RequestError
from qwed.domain.credentials import OPERATOR_ROLE, ApiKey, Caller
from qwed.gateway.agents.manage_keys import revoke_key
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.notices.manage_webhooks import MAX_WEBHOOKS, create_webhook

OPERATOR = Caller(key=ApiKey("in-process", b"", None, (), (OPERATOR_ROLE,), 0))


@pytest.fixture
def gateway(tmp_path):
    with Gateway.open(tmp_path / "qwed.db") as gateway:
        yield gateway


def in_threads(calls):
    def made(call):
        try:
            return run(call()).status
        except RequestError as error:
            return error.status

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(made, calls))


def under_asyncio(calls):
    async def made(call):
        try:
            return (await call()).status
        except RequestError as error:
            return error.status

    async def all_of_them():
        return await asyncio.gather(*map(made, calls))

    return asyncio.run(all_of_them())


@pytest.mark.parametrize("together", [in_threads, under_asyncio])
def test_of_the_last_operator_keys_one_stays(gateway, together):
    keys = [gateway.create_key(roles=["operator"])["key_id"] for _ in range(4)]

    statuses = together([lambda key=key: revoke_key(gateway.services, OPERATOR, key) for key in keys])

    assert sorted(statuses) == [200, 200, 200, 403]
    assert sum(key["revoked_at"] is None for key in gateway.keys()["keys"]) == 1


@pytest.mark.parametrize("together", [in_threads, under_asyncio])
@pytest.mark.parametrize("principal", [{"principal_id": "acme"}, {}])
def test_a_principal_never_has_more_webhooks_than_it_may(gateway, together, principal):
    body = {"url": "https://example.com/hook", **principal}

    statuses = together([lambda: create_webhook(gateway.services, OPERATOR, body)] * (MAX_WEBHOOKS + 5))

    assert statuses.count(201) == MAX_WEBHOOKS
    assert statuses.count(403) == 5


def test_the_operators_webhooks_are_counted_without_those_of_principals(world):
    def hook(**body):
        return world.call(
            "POST", "/webhooks", key=OPERATOR_KEY, json={"url": "https://example.com/hook", **body}
        )

    assert [hook(principal_id="acme").status_code for _ in range(MAX_WEBHOOKS + 1)][-1] == 403
    statuses = [hook().status_code for _ in range(MAX_WEBHOOKS + 1)]

    assert statuses == [201] * MAX_WEBHOOKS + [403]
