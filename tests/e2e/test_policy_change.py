"""A policy changes on a gateway of several workers: nobody is lost, nobody decides by a mixture."""

import signal
import threading
from collections import Counter

import pytest
from tests.support.cluster import Cluster, verify_request
from tests.support.receivers import wait_for
from tests.support.services import shared
from tests.support.tiers import scale

UNLIMITED = {"max_requests_per_hour": None, "max_requests_per_day": None, "max_daily_cost_usd": None}
WORKERS = scale(ci=2, nightly=4, long=4)
TEXTS = ("actions: {calculate: {risk: medium}}\n", "actions: {calculate: {enabled: false}}\n")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    services = shared()
    folder = tmp_path_factory.mktemp("policy")
    with Cluster(folder, services.new_database(), services.redis, WORKERS) as cluster:
        yield cluster


def versions(cluster) -> set[int]:
    """What new connections are told, often enough to meet every worker."""
    return {cluster.call("GET", "/ready", key=None).json()["version"] for _ in range(6 * WORKERS)}


def await_version(cluster, number: int) -> None:
    wait_for(lambda: versions(cluster) == {number}, f"version {number} at every worker")


def test_a_policy_changes_under_load_and_no_decision_is_lost_or_mixed(cluster):
    agent, over, answers = cluster.register(budget=UNLIMITED), threading.Event(), []

    def call(caller: int) -> None:
        number = 0
        while not over.is_set():
            batch = [verify_request(agent, "1+1", 1, f"p{caller}-{number}-{n}") for n in range(4)]
            # A busy machine may answer 503: nothing was decided, and it is asked again, as clients do.
            while batch:
                pairs = list(zip(batch, cluster.together(batch), strict=True))
                answers.extend(answer for _, answer in pairs if answer.status_code != 503)
                batch = [request for request, answer in pairs if answer.status_code == 503]
            number += 1

    callers = [threading.Thread(target=call, args=(n,)) for n in range(scale(ci=3, nightly=8, long=16))]
    for caller in callers:
        caller.start()
    hashes = {}
    for number in range(1, scale(ci=5, nightly=20, long=50)):
        body = {"text": TEXTS[number % 2], "reason": f"round {number}"}
        answer = cluster.call("PUT", "/policy", json=body)
        assert answer.status_code == 200, answer.text
        hashes[answer.json()["policy_version"]] = number % 2
        known = len(answers)
        wait_for(lambda known=known: len(answers) > known, "decision after the change")
    over.set()
    for caller in callers:
        caller.join(60)
    await_version(cluster, number)

    seen = Counter()
    for answer in answers:
        assert answer.status_code == 200, answer.text
        body = answer.json()
        which = hashes.get(body["policy_version"])
        seen[which, body["decision"], body.get("error", {}).get("code")] += 1
    refused = (1, "DENIED", "QWED-AGENT-ACTION-001")
    assert set(seen) <= {(None, "APPROVED", None), (0, "APPROVED", None), refused}
    assert len(seen) >= 2
    _in_the_order_of_the_ledger(cluster, agent)


def _in_the_order_of_the_ledger(cluster, agent) -> None:
    """Between two changes of the record, every decision names the policy of the first."""
    entries, cursor = [], None
    while True:
        query = {"limit": 200} | ({"cursor": cursor} if cursor else {})
        page = cluster.call("GET", "/activity", params=query).json()
        entries += page["activities"]
        cursor = page.get("next")
        if cursor is None:
            break
    in_force = None
    for entry in reversed(entries):
        if entry["action_type"] == "apply_policy":
            in_force = entry["action"]["parameters"]["policy_version"]
        elif entry["decision"] != "NOTED" and in_force is not None and entry["agent_id"] == agent["agent_id"]:
            assert entry["policy_version"] == in_force


def test_a_stop_holds_at_every_worker_with_the_next_decision(cluster):
    agent = cluster.register(budget=UNLIMITED)
    stopped = cluster.call("POST", "/stop", json={"scope": "all", "reason": "fire"})
    answers = cluster.together([verify_request(agent, "1+1", 1, f"s{n}") for n in range(6 * WORKERS)])
    cluster.call("POST", "/resume", json={"scope": "all", "reason": "out"})

    assert stopped.status_code == 200
    assert {answer.json()["error"]["code"] for answer in answers} == {"QWED-AGENT-STOP-001"}


@pytest.mark.timeout(600)
def test_a_reload_that_fails_half_way_leaves_one_policy_in_force(tmp_path):
    """The file is good when it is applied, and broken while the workers are replaced."""
    services, file = shared(), tmp_path / "fleet.yaml"
    file.write_text(TEXTS[0])
    with Cluster(tmp_path, services.new_database(), services.redis, 2, "--config", str(file)) as cluster:
        assert versions(cluster) == {1}
        before = set(cluster.workers)
        file.write_text(TEXTS[1])
        cluster.process.send_signal(signal.SIGHUP)
        await_version(cluster, 2)
        file.write_text("actions: [nonsense")
        wait_for(lambda: not set(cluster.workers) & before, "replacement of every worker", 90)
        told = {
            (answer["version"], answer["policy_version"])
            for answer in (cluster.call("GET", "/ready", key=None).json() for _ in range(12))
        }

        assert len(told) == 1 and told.pop()[0] == 2
        cluster.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "the policy stays as it is" in cluster.log(), "word that the reload failed")
        assert versions(cluster) == {2}
