"""A limit of the policy's rules on real servers: exact for all workers together, and across a kill."""

import contextlib
import threading
from collections import Counter
from pathlib import Path

import httpx2
import pytest
from tests.support.cluster import Cluster, verify_request
from tests.support.server import Server
from tests.support.services import shared
from tests.support.tiers import scale
from tests.support.traffic import UNLIMITED

pytestmark = pytest.mark.xdist_group("cluster")

AT_MOST = scale(ci=20, nightly=100, long=100)


def _policy(folder: Path) -> str:
    path = folder / "rules.yaml"
    path.write_text(
        "rules:\n  - id: few\n    when: action.type == 'calculate'\n    then: deny\n"
        f"    limit: {{at_most: {AT_MOST}, within: 1h}}\n"
    )
    return str(path)


def _requests(agent: dict, name: str, count: int) -> list[dict]:
    return [verify_request(agent, f"{n} + 1", 1, f"{name}{n}") for n in range(count)]


def _recorded(server: Server, agent: dict) -> Counter:
    """What the record says was decided, whoever got an answer."""
    page = server.call("GET", f"/agents/{agent['agent_id']}/activity", params={"limit": 1000}).json()
    return Counter((entry["decision"], entry.get("error_code")) for entry in page["activities"])


def _send_until_full(server: Server, agent: dict) -> None:
    """What a busy machine could not prove in time waits for a person and is not counted."""
    for attempt in range(10):
        answers = server.together(_requests(agent, f"again{attempt}-", AT_MOST))
        if all(answer.json()["decision"] == "DENIED" for answer in answers):
            return
    raise AssertionError("the limit is never reached")


@pytest.mark.parametrize("workers", scale(ci=(2,), nightly=(1, 2, 4), long=(1, 2, 4)))
def test_exactly_as_many_pass_on_postgresql_although_a_worker_is_killed(tmp_path, workers):
    services = shared()
    config = ("--config", _policy(tmp_path))
    with Cluster(tmp_path, services.new_database(), services.redis, workers, *config) as cluster:
        agent = cluster.register(budget=UNLIMITED)
        if workers > 1:
            killer = threading.Timer(0.2, cluster.kill_worker)
            killer.start()
        with contextlib.suppress(httpx2.HTTPError):
            cluster.together(_requests(agent, "first", 2 * AT_MOST))
        cluster.await_ready()
        _send_until_full(cluster, agent)
        found = _recorded(cluster, agent)

    assert found["APPROVED", None] == AT_MOST, found
    assert found["DENIED", "QWED-AGENT-RULE-003"] >= AT_MOST, found


def test_exactly_as_many_pass_on_sqlite_although_the_gateway_is_killed(tmp_path):
    config = ("--config", _policy(tmp_path))
    server = Server(tmp_path, *config).start()
    agent = server.register(budget=UNLIMITED)
    killer = threading.Timer(0.1, server.kill)
    killer.start()
    with contextlib.suppress(httpx2.HTTPError):
        server.together(_requests(agent, "first", 2 * AT_MOST))
    killer.join()
    with Server(tmp_path, *config) as server:
        _send_until_full(server, agent)
        found = _recorded(server, agent)

    assert found["APPROVED", None] == AT_MOST, found
