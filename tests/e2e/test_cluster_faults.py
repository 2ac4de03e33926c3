"""Things that go wrong around several workers, each done for real while callers race for the same steps.

Recovery is bounded: a worker, the leader or a connection within a few seconds; a database or a Redis
within a few seconds of its own return. While one is away the answer is 503, never an approval.
"""

import asyncio
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from tests.support.cluster import Cluster, verify_request
from tests.support.postgres import temporary_postgres
from tests.support.receivers import wait_for
from tests.support.records import an_agent, an_attempt, noted
from tests.support.redis import RedisServer
from tests.support.server import COMMAND, OPERATOR_KEY
from tests.support.services import ROOT
from tests.support.traffic import UNLIMITED, Traffic

from qwed.domain.codes import Code, Refusal
from qwed.domain.policy import Limits, Policy
from qwed.ect.key_files import open_ring
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.ports import Admission
from qwed.stores.postgres import DatabaseClock, open_postgres

pytestmark = [pytest.mark.xdist_group("cluster"), pytest.mark.repeated(nightly=3, long=20)]

RECOVERY_SECONDS = 60
POLICY = """
approvals: {approvers: 2}
principals: {named: {tight: {max_requests_per_day: 60}}}
"""


@pytest.fixture(scope="module")
def postgres():
    # Every commit reaches the disk, or a crash would lose what was answered.
    with temporary_postgres(durable=True) as server:
        yield server


@pytest.fixture(scope="module")
def redis(tmp_path_factory):
    server = RedisServer(tmp_path_factory.mktemp("redis")).start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def database(postgres):
    return postgres.create_database("faults")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, database, redis):
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "policy.yaml").write_text(POLICY)
    with Cluster(folder, database, redis.url, 3, "--config", "policy.yaml") as cluster:
        yield cluster


def recovers(cluster, traffic, since):
    """Approvals go on again, soon."""
    try:
        wait_for(lambda: traffic.approved_after(since) >= 5, "approvals after the fault", RECOVERY_SECONDS)
    except AssertionError as error:
        raise AssertionError(f"{error}: {cluster.log()[-3000:]}") from None


def under(fault):
    """Run a fault in the middle of traffic; what must hold is checked afterwards."""

    def run(cluster, postgres, database, tmp_path, *arguments):
        with Traffic(cluster) as traffic:
            recovers(cluster, traffic, 0)
            fault(*arguments)
            recovers(cluster, traffic, time.monotonic())
        traffic.check(database, postgres.sql, tmp_path)
        return traffic

    return run


def test_a_worker_killed_in_the_middle_takes_no_step_with_it(cluster, postgres, database, tmp_path):
    before = set(cluster.workers)
    under(cluster.kill_worker)(cluster, postgres, database, tmp_path)
    cluster.await_ready()

    assert len(cluster.workers) == 3 and set(cluster.workers) != before


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "stopped"])
def test_a_host_beside_another_takes_nothing_with_it(cluster, postgres, database, redis, tmp_path, how):
    """All of its processes end at once, or it is asked to stop; callers go to the other host."""
    folder = tmp_path / "host"
    folder.mkdir()
    for name in ("policy.yaml", "qwed.key"):
        shutil.copy(cluster.folder / name, folder)
    with Cluster(folder, database, redis.url, 2, "--config", "policy.yaml") as host:
        with Traffic(cluster, beside=host) as traffic:
            recovers(cluster, traffic, 0)
            workers = host.workers if how is signal.SIGKILL else []
            for pid in (host.process.pid, *workers):
                os.kill(pid, how)
            host.process.wait(60)
            recovers(cluster, traffic, time.monotonic())
        traffic.check(database, postgres.sql, tmp_path)


def test_200_against_100_is_exact_while_a_worker_dies(cluster):
    """Who loses its connection asks again; what the dead worker held is free again, and nothing is lost."""
    agent = cluster.register(budget={**UNLIMITED, "max_requests_per_hour": 100})
    answers = asyncio.run(insist(cluster, agent, 200, kill_after=20))
    recorded = cluster.call("GET", f"/agents/{agent['agent_id']}/activity").json()["summary"]["approved"]
    cluster.await_ready()

    assert recorded == 100
    assert Counter(answer["decision"] for answer in answers) == {"APPROVED": 100, "BUDGET_EXCEEDED": 100}
    approved = [answer["activity_id"] for answer in answers if answer["decision"] == "APPROVED"]
    assert len(set(approved)) == 100


def test_a_ceiling_of_a_principal_is_exact_while_a_worker_dies(cluster, database, postgres):
    """Three agents share it."""
    tight = "SELECT count(*) FROM activities WHERE principal_id = 'tight' AND decision = 'APPROVED'"
    postgres.sql("DELETE FROM days WHERE subject = 'tight'", "faults")
    before = int(postgres.sql(tight, "faults"))
    agents = [cluster.register(principal_id="tight", budget=UNLIMITED) for _ in range(3)]
    answers = asyncio.run(insist(cluster, agents, 120, kill_after=20))
    cluster.await_ready()

    decisions = Counter(answer["decision"] for answer in answers)
    assert decisions == {"APPROVED": 60, "BUDGET_EXCEEDED": 60}
    assert int(postgres.sql(tight, "faults")) - before == 60


def test_a_cost_budget_is_exact_while_a_worker_dies(cluster):
    """A calculation costs a cent."""
    agent = cluster.register(budget={**UNLIMITED, "max_daily_cost_usd": 0.6})
    answers = asyncio.run(insist(cluster, agent, 120, kill_after=20))
    recorded = cluster.call("GET", f"/agents/{agent['agent_id']}/activity").json()["summary"]["approved"]
    cluster.await_ready()

    assert Counter(answer["decision"] for answer in answers) == {"APPROVED": 60, "BUDGET_EXCEEDED": 60}
    assert recorded == 60


def test_nobody_acts_after_its_suspension_though_a_worker_dies(cluster):
    with Traffic(cluster) as traffic:
        recovers(cluster, traffic, 0)
        cluster.kill_worker()
        path = f"/agents/{traffic.agent['agent_id']}/suspend"
        persist(lambda: cluster.call("POST", path, json={"reason": "a fault"}))
        suspended = time.monotonic()
        wait_for(lambda: sum(one[0] > suspended for one in traffic.answers) > 50, "answers", 60)
    cluster.await_ready()

    assert traffic.approved_after(suspended) == 0
    assert all(len(activities) == 1 for activities in traffic.approved.values())


def persist(call):
    """The first answer that is one."""
    end = time.monotonic() + RECOVERY_SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(httpx2.HTTPError):
            answer = call()
            if answer.status_code < 500:
                return answer
        time.sleep(0.05)
    raise AssertionError("no answer")


def test_two_people_agree_once_each_while_a_worker_dies(cluster):
    people = [cluster.principal_key("acme", scopes=["approve", "read"]) for _ in range(5)]
    agents = [cluster.register(type="supervised", budget=UNLIMITED) for _ in range(4)]
    mail = {"type": "send_email", "parameters": {"to": "a@example.com", "subject": "s", "body": "hello"}}

    def act(agent, path, body):
        return persist(lambda: cluster.call("POST", path, key=agent["agent_token"], json=body)).json()

    waiting = {}
    for agent in agents:
        body = {"action": mail, "context": {"conversation_id": "q", "step_number": 1}}
        waiting[act(agent, f"/agents/{agent['agent_id']}/verify", body)["approval"]["id"]] = agent
    votes = [(key, approval_id) for approval_id in waiting for key in people]
    with ThreadPoolExecutor(len(votes)) as crowd:
        cast = crowd.map(
            lambda vote: persist(
                lambda: cluster.call("POST", f"/approvals/{vote[1]}/approve", key=vote[0], json={})
            ),
            votes,
        )
        cluster.kill_worker()
        told = list(cast)
        redeemed = list(
            crowd.map(
                lambda approval_id: (
                    approval_id,
                    act(waiting[approval_id], f"/approvals/{approval_id}/redeem", {"action": mail}),
                ),
                [*waiting] * 4,
            )
        )
    cluster.await_ready()

    assert {answer.status_code for answer in told} <= {200, 409, 403, 404, 422}
    for approval_id in waiting:
        shown = cluster.call("GET", f"/approvals/{approval_id}").json()
        assert len(shown["votes"]) == 2, [one.text for one in told]
        assert len({vote["by"] for vote in shown["votes"]}) == 2
        used = {
            answer["activity_id"]
            for one, answer in redeemed
            if one == approval_id and answer.get("decision") == "APPROVED"
        }
        assert len(used) == 1, used


async def insist(cluster, agents, count, kill_after):
    """Each caller asks until it knows; in the middle of it a worker is killed."""
    answers = []
    agents = agents if isinstance(agents, list) else [agents]

    async def ask(client, number):
        for attempt in range(1000):
            key = f"{number}-{attempt}"
            agent = agents[number % len(agents)]
            asked = verify_request(agent, f"{number} + 1", 1, f"k{number}")
            body = await told(client, asked, key)
            # Somebody is at work on this step: it is the worker that died, until it is given up.
            if "in_flight" not in (body.get("error", {}).get("details") or {}):
                break
            await asyncio.sleep(0.3)
        answers.append(body)
        if len(answers) == kill_after:
            cluster.kill_worker()

    async with httpx2.AsyncClient(
        base_url=cluster.base_url,
        headers={"Authorization": f"Bearer {OPERATOR_KEY}"},
        limits=httpx2.Limits(max_connections=50),
        timeout=60,
    ) as client:
        async with asyncio.timeout(120):
            await asyncio.gather(*(ask(client, number) for number in range(count)))
    return answers


async def told(client, request, key):
    """The answer to one request, asked under one key until there is one."""
    while True:
        with contextlib.suppress(httpx2.HTTPError):
            response = await client.request(**request, headers={"Idempotency-Key": key})
            if response.status_code != 503:
                return response.json()
        await asyncio.sleep(0.1)


DIES = """
import sys, time
from pathlib import Path
from tests.support.records import an_attempt
from qwed.domain.policy import Limits, Policy
from qwed.ect.key_files import open_ring
from qwed.gateway.kernel.coroutines import run
from qwed.stores.postgres import DatabaseClock, open_postgres
clock = DatabaseClock()
policy = Policy(limits=Limits(lease_seconds=600))
store = open_postgres(sys.argv[1], policy, clock, open_ring(Path(sys.argv[2]), "test"))
agent = run(store.agent(sys.argv[3]))
print(type(run(store.admit(agent, an_attempt(1), clock.now_ms()))).__name__, flush=True)
time.sleep(600)
"""


def test_what_a_process_that_died_held_is_free_long_before_its_lease_ends(postgres, tmp_path):
    clock, url = DatabaseClock(), postgres.create_database("orphans")
    policy = Policy(limits=Limits(lease_seconds=600))
    store = open_postgres(url, policy, clock, open_ring(tmp_path / "key", "test"))
    agent = an_agent()
    run(store.commit(noted(agent, clock.now_ms(), agent=agent)))
    dies = subprocess.Popen(
        [sys.executable, "-c", DIES, url, str(tmp_path / "key"), agent.agent_id],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        assert dies.stdout.readline().strip() == "Held"
        while_it_lives = run(store.admit(agent, an_attempt(1), clock.now_ms()))
    finally:
        dies.kill()
        dies.wait()
        dies.stdout.close()

    def admitted():
        answer = run(store.admit(agent, an_attempt(1), clock.now_ms()))
        return None if isinstance(answer, Refusal) else answer

    again = wait_for(admitted, "admission", RECOVERY_SECONDS)
    counted = run(store.spending(agent, clock.now_ms())).requests
    store.close()

    assert while_it_lives.code is Code.LOOP_REPLAY
    assert isinstance(again, Admission)
    # Its caller was never answered, so its request does not count.
    assert counted == 1


def test_the_leader_of_the_ledger_killed_is_followed_by_another(cluster, postgres, database, tmp_path):
    def kill_leader():
        # Whoever holds the lock loses its session, as if its process had died.
        killed = postgres.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objid = 7932002",
            "faults",
        )
        assert "t" in killed

    under(kill_leader)(cluster, postgres, database, tmp_path)


def test_connections_cut_in_the_middle_of_transactions(cluster, postgres, database, tmp_path):
    def cut():
        for _ in range(10):
            postgres.sql(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = 'faults'"
                " AND application_name = 'qwed'"
            )
            time.sleep(0.1)

    under(cut)(cluster, postgres, database, tmp_path)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["restarted", "crashed"])
def test_a_database_that_ends_and_comes_back(cluster, postgres, database, tmp_path, how):
    def restart():
        postgres.stop(how)
        time.sleep(0.5)
        postgres.start()

    traffic = under(restart)(cluster, postgres, database, tmp_path)
    assert 503 in traffic.statuses


def test_a_database_that_stands_still(cluster, postgres, database, tmp_path):
    def pause():
        postgres.pause()
        time.sleep(10)
        postgres.resume()

    traffic = under(pause)(cluster, postgres, database, tmp_path)
    # Everybody was answered within the callers' patience.
    assert traffic.statuses <= {200, 503}


def test_redis_killed_means_503_until_it_is_back(cluster, postgres, database, redis, tmp_path):
    with Traffic(cluster) as traffic:
        recovers(cluster, traffic, 0)
        redis.kill()
        cluster.await_not_ready()
        # Which worker is asked is the kernel's choice: one more moment for one that was not.
        time.sleep(1)
        quiet_from = time.monotonic()
        ready = cluster.call("GET", "/ready", key=None)
        time.sleep(1)
        quiet_to = time.monotonic()
        health = cluster.call("GET", "/health", key=None)
        redis.start()
        recovers(cluster, traffic, time.monotonic())

    assert ready.status_code == 503 and "Redis" in ready.json()["reason"]
    assert health.status_code == 200
    during = [answer for answer in traffic.answers if quiet_from < answer[0] and answer[1] < quiet_to]
    assert during and {status for _, _, _, status, _ in during} == {503}
    traffic.check(database, postgres.sql, tmp_path)


def test_redis_that_stands_still_is_redis_that_is_away(cluster, postgres, database, redis, tmp_path):
    def pause():
        redis.pause()
        try:
            cluster.await_not_ready()
        finally:
            redis.resume()

    under(pause)(cluster, postgres, database, tmp_path)


def test_redis_flushed_forgets_counts_and_nothing_else(cluster, postgres, database, redis, tmp_path):
    under(lambda: redis.command(b"FLUSHALL"))(cluster, postgres, database, tmp_path)


def test_redis_away_at_the_start_is_waited_for(postgres, tmp_path):
    late = RedisServer(tmp_path / "redis")
    with Cluster(tmp_path, postgres.create_database("late"), late.url, 1) as gateway:
        refused = gateway.call("GET", "/agents")
        assert refused.status_code == 503 and int(refused.headers["Retry-After"]) >= 1
        late.start()
        try:
            gateway.await_ready()
            assert gateway.call("GET", "/agents").status_code == 200
        finally:
            late.stop()


OFF = """
import sys, time
real = time.time_ns
time.time_ns = lambda: real() + 120_000_000_000
from qwed.cli import main
main()
"""


def test_a_worker_whose_clock_is_two_minutes_off_decides_by_the_same_time(cluster, database, tmp_path):
    """The lease of a step taken by one is respected by the other, and both write the same time."""
    off = Cluster(tmp_path, database, None, 1, environment={"QWED_DATA_DIR": str(cluster.folder)})
    off.command = (COMMAND[0], "-c", OFF)
    with off:
        agent = cluster.register()
        first = cluster.together([verify_request(agent, "1+1", 1, "t")])[0]
        second = off.together([verify_request(agent, "1+2", 2, "t")])[0]
        third = cluster.together([verify_request(agent, "1+3", 2, "t")])[0]
        listed = off.call("GET", f"/agents/{agent['agent_id']}/activity").json()["activities"]
    assert [r.json()["decision"] for r in (first, second, third)] == ["APPROVED", "APPROVED", "DENIED"]
    times = sorted(entry["timestamp"] for entry in listed if entry["decision"] == "APPROVED")
    seconds = [time.mktime(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) for text in times]
    assert seconds[-1] - seconds[0] < 60


@pytest.mark.skipif(os.geteuid() != 0, reason="to mount a small disk takes a superuser")
def test_a_database_whose_disk_is_full_means_503_until_there_is_room(tmp_path):
    with small_disk() as disk, temporary_postgres(folder=disk / "postgres", durable=True) as postgres:
        url = postgres.create_database("full")
        with Cluster(tmp_path, url, None, 1) as gateway:
            agent = gateway.register(budget=UNLIMITED)

            def ask(number):
                # Not to be compressed: it needs the room it takes.
                digits = random.Random(number).choices("0123456789abcdef", k=36_000)
                notes = ["".join(digits[start : start + 4000]) for start in range(0, 36_000, 4000)]
                request = verify_request(agent, "1+1", 1, f"f{number}")
                request["json"]["action"]["parameters"] = {"notes": notes}
                return gateway.together([request])[0]

            assert ask(0).status_code == 200
            ballast = disk / "ballast"
            fill(ballast)
            answers = [ask(1)]
            while len(answers) < 400 and answers[-1].status_code == 200:
                answers.append(ask(len(answers) + 1))
            refused = [answers[-1], ask(900)]
            ready = gateway.call("GET", "/ready")
            ballast.unlink()
            gateway.await_ready()
            again = ask(902)
            path = f"/agents/{agent['agent_id']}/activity"
            approved = gateway.call("GET", path).json()["summary"]["approved"]

    assert {answer.status_code for answer in refused} == {503}
    assert ready.status_code == 503 and "is full" in ready.json()["reason"]
    assert "decision" not in refused[0].json() and int(refused[0].headers["Retry-After"]) >= 1
    assert again.status_code == 200
    assert approved == 1 + (len(answers) - 1) + 1


@contextmanager
def small_disk():
    """A disk of its own; to mount one takes a superuser."""
    folder = Path(tempfile.mkdtemp(prefix="qwed-disk-"))
    folder.chmod(0o755)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160m,mode=755", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
        folder.rmdir()


def fill(ballast):
    # Closing it may find the disk full too: what is left in the buffer has no room.
    with contextlib.suppress(OSError), ballast.open("wb") as file:
        while True:
            file.write(b"x" * 65536)
            file.flush()
