"""`kill -9` under load, again and again: what was answered is recorded, what was used stays used."""

import threading
import time

import httpx2
import pytest
from tests.support.ledgers import verified_head
from tests.support.server import Server, verify_request
from tests.support.tiers import scale

pytestmark = pytest.mark.xdist_group("crash")

ROUNDS = scale(ci=3, nightly=20, long=100)
WORKERS = 6


class Load:
    """Workers that take steps as fast as they can until the server is gone."""

    def __init__(self, server: Server, agent: dict, round_number: int) -> None:
        self.approved: list[tuple[str, int, str]] = []
        self._threads = [
            threading.Thread(target=self._work, args=(server, agent, f"r{round_number}-w{number}"))
            for number in range(WORKERS)
        ]
        for thread in self._threads:
            thread.start()

    def _work(self, server: Server, agent: dict, name: str) -> None:
        with server.client() as client:
            for number in range(100_000):
                conversation, step = f"{name}-{number // 50}", number % 50 + 1
                try:
                    response = client.request(**verify_request(agent, f"{number}*2", step, conversation))
                    answer = response.json()
                except (httpx2.HTTPError, ValueError):
                    return
                assert answer["decision"] == "APPROVED", answer
                self.approved.append((conversation, step, answer["activity_id"]))

    def join(self) -> None:
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()


def recorded(server: Server, agent: dict) -> set[str]:
    found: set[str] = set()
    with server.client() as client:
        cursor = None
        while True:
            query = {"limit": 1000, "decision": "APPROVED", **({"cursor": cursor} if cursor else {})}
            page = client.get(f"/agents/{agent['agent_id']}/activity", params=query).json()
            found |= {entry["activity_id"] for entry in page["activities"]}
            cursor = page.get("next")
            if cursor is None:
                return found


def test_killed_under_load_nothing_answered_is_lost_and_nothing_approved_can_be_replayed(tmp_path):
    server = Server(tmp_path).start()
    agent = server.register(budget={"max_requests_per_hour": None, "max_requests_per_day": None})
    approved: list[tuple[str, int, str]] = []
    for number in range(ROUNDS):
        load = Load(server, agent, number)
        while len(load.approved) < 60:
            time.sleep(0.005)
        time.sleep(0.013 * number)
        server.kill()
        load.join()
        approved += load.approved
        verified_head(server.database)
        server.start()

        entries = recorded(server, agent)
        assert {activity_id for _, _, activity_id in approved} <= entries
        # At most one request of each worker was at work; its step may be used, never twice.
        assert len(entries) <= len(approved) + WORKERS * (number + 1)
        replays = [
            verify_request(agent, "0+1", step, conversation) for conversation, step, _ in load.approved[-40:]
        ]
        codes = [response.json()["error"]["code"] for response in server.together(replays)]
        assert codes == ["QWED-AGENT-LOOP-002"] * len(replays)

    budget = server.call("GET", f"/agents/{agent['agent_id']}/budget").json()
    assert budget["cost"]["current_daily_usd"] == pytest.approx(len(recorded(server, agent)) * 0.01)
    assert server.stop() == 0
    verified_head(server.database)


def test_what_was_in_flight_when_the_process_died_is_free_after_the_restart(tmp_path):
    server = Server(tmp_path).start()
    agent = server.register()
    # Requests for one step in each of many conversations, cut off in the middle.
    requests = [verify_request(agent, f"{n}+1", conversation=f"c{n}") for n in range(64)]
    thread = threading.Thread(target=lambda: _ignore_errors(lambda: server.together(requests)))
    thread.start()
    time.sleep(0.15)
    server.kill()
    thread.join(60)
    server.start()
    used = len(recorded(server, agent))
    answers = [response.json() for response in server.together(requests)]
    decisions = [answer["decision"] for answer in answers]

    # Every step is either used (and recorded) or free: none is stuck.
    assert decisions.count("APPROVED") == 64 - used
    assert {a["error"]["code"] for a in answers if a["decision"] != "APPROVED"} <= {"QWED-AGENT-LOOP-002"}
    assert server.stop() == 0


def _ignore_errors(work) -> None:
    try:
        work()
    except (httpx2.HTTPError, ValueError):
        return
