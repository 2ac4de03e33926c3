"""One agent behind two gateways on one database: what it does at either weighs at both."""

import threading
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest
from tests.support.fakes import FakeClock
from tests.support.services import shared
from tests.support.world import SIGNER

from qwed import Gateway, bootstrap
from qwed.domain.findings import Failure, Finding, Status
from qwed.domain.policy import DEFAULT_POLICY
from qwed.domain.risk import Risk
from qwed.stores.postgres import open_postgres
from qwed.stores.postgres.turns import PostgresTurns


class Told:
    """Finds harm in code, faults in what says so, and nothing else."""

    async def prove(self, engine, action, client):
        if action.type == "execute_code":
            return Finding(Status.FAILED, Risk.CRITICAL, engine, failure=Failure.FORBIDDEN)
        if action.query and action.query.startswith("wrong"):
            return Finding(Status.FAILED, Risk.LOW, engine, failure=Failure.INCORRECT)
        return Finding(Status.VERIFIED, Risk.LOW, engine)

    def warm(self) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.fixture
def gateways():
    url, clock, built = shared().new_database(), FakeClock(), []
    for _ in range(2):
        services = bootstrap.build(None)
        store = open_postgres(url, DEFAULT_POLICY, clock, SIGNER)
        parts = {"store": store, "turns": PostgresTurns(store), "clock": clock, "prover": Told()}
        built.append((services, Gateway(msgspec.structs.replace(services, **parts))))
    yield [gateway for _, gateway in built]
    for services, gateway in built:
        gateway.services.store.close()
        bootstrap.close(services)


@pytest.fixture
def agent_id(gateways):
    permissions = {"allowed_engines": ["math", "code"], "blocked_tools": ["send_money"]}
    return gateways[0].register_agent(name="a", type="trusted", principal_id="p", permissions=permissions)[
        "agent_id"
    ]


def at_once(works) -> list:
    start = threading.Barrier(len(works))

    def go(work):
        start.wait()
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(go, works))


def act(gateway, agent_id, action, conversation):
    context = {"conversation_id": conversation, "step_number": 1}
    return gateway.verify_action(agent_id, action, context)


def changes(gateway, agent_id):
    found = gateway.trust_history(agent_id)["changes"]
    return [
        (c["cause"], c["from_level"], c["to_level"]) for c in reversed(found) if c["cause"] != "registered"
    ]


def test_two_violations_at_two_gateways_each_count_once(gateways, agent_id):
    code = {"type": "execute_code", "code": "x"}
    at_once(
        [
            lambda n=n, gateway=gateway: act(gateway, agent_id, code, f"v{n}")
            for n, gateway in enumerate(gateways)
        ]
    )

    for gateway in gateways:
        assert gateway.get_agent(agent_id)["trust_level"] == 0
        assert changes(gateway, agent_id) == [("security_violation", 3, 1), ("security_violation", 1, 0)]


def test_denials_at_two_gateways_are_charged_once_per_window(gateways, agent_id):
    for number in range(44):
        answer = act(
            gateways[number % 2], agent_id, {"type": "calculate", "query": f"{number}"}, f"a{number}"
        )
        assert answer["decision"] == "APPROVED"
    at_once(
        [
            lambda n=n: act(gateways[n % 2], agent_id, {"type": "calculate", "query": f"wrong {n}"}, f"d{n}")
            for n in range(12)
        ]
    )

    assert changes(gateways[0], agent_id) == [("repeated_denials", 3, 2)]
    assert gateways[1].get_agent(agent_id)["trust_level"] == 2


def test_a_blocked_tool_used_once_at_each_gateway_was_used_twice(gateways, agent_id):
    for gateway in gateways:
        gateway.verify_tool(agent_id, "send_money", {})

    assert changes(gateways[0], agent_id) == [("security_violation", 3, 1)]
