"""Callers who race for the same steps while something goes wrong, and what they were answered."""

import itertools
import json
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import httpx2
from tests.support.cluster import Cluster
from tests.support.ledgers import verified_head
from tests.support.server import OPERATOR_KEY, verify_request

from qwed.ect.key_files import read_ring
from qwed.ect.keys import node_issuer
from qwed.stores.postgres import snapshot

UNLIMITED = {"max_requests_per_hour": None, "max_daily_cost_usd": None, "max_requests_per_day": None}


class Traffic:
    """`with Traffic(cluster) as traffic:` sends until it is left. In each round all callers want one step.

    With another host `beside` it, every other caller asks there; who loses its host goes to the other one.
    """

    def __init__(self, cluster: Cluster, callers: int = 6, beside: Cluster | None = None) -> None:
        self._cluster = cluster
        self._hosts = [cluster] if beside is None else [cluster, beside]
        self._callers = callers
        self.agent = cluster.register(budget=UNLIMITED)
        #: What was answered under a key; a retry has to end the same way.
        self._keyed: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        #: (when it began, when it ended, conversation, status or None, body or None)
        self.answers: list[tuple[float, float, str, int | None, dict[str, Any] | None]] = []
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._call, args=(n,)) for n in range(callers)]

    def __enter__(self) -> "Traffic":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(60)

    def _call(self, caller: int) -> None:
        turn = caller
        client = self._client(turn)
        for number in itertools.count():
            if self._over.is_set():
                break
            conversation = f"round{number}"
            began = time.monotonic()
            status, body = None, None
            try:
                request = verify_request(self.agent, f"{number} + {caller}", 1, conversation)
                key = f"{caller}-{number}"
                response = client.request(**request, headers={"Idempotency-Key": key})
                status, body = response.status_code, response.json()
                # That somebody else is at work on the step is no answer to keep.
                if status == 200 and "in_flight" not in (body.get("error", {}).get("details") or {}):
                    self._keyed[key] = (request, body)
            except (httpx2.HTTPError, json.JSONDecodeError):
                client.close()
                turn += 1
                client = self._client(turn)
                time.sleep(0.05)
            self.answers.append((began, time.monotonic(), conversation, status, body))
            if status == 503:
                time.sleep(0.05)
        client.close()

    def _client(self, turn: int = 0) -> httpx2.Client:
        host = self._hosts[turn % len(self._hosts)]
        headers = {"Authorization": f"Bearer {OPERATOR_KEY}"}
        return httpx2.Client(base_url=host.base_url, headers=headers, timeout=60)

    # --- what must hold ------------------------------------------------------------------------

    @property
    def approved(self) -> dict[str, list[str]]:
        """By conversation, the activities of its approvals."""
        found = defaultdict(list)
        for _, _, conversation, status, body in self.answers:
            if status == 200 and body is not None and body["decision"] == "APPROVED":
                found[conversation].append(body["activity_id"])
        return found

    @property
    def statuses(self) -> set[int | None]:
        return {status for _, _, _, status, _ in self.answers}

    def approved_after(self, moment: float) -> int:
        return sum(
            began > moment and status == 200 and body is not None and body["decision"] == "APPROVED"
            for began, _, _, status, body in self.answers
        )

    def check_retries(self, count: int = 60) -> None:
        """Who asks again under its key gets its first answer; approvals first."""
        newest = sorted(self._keyed.items(), key=lambda kept: kept[1][1]["decision"] != "APPROVED")[:count]
        with self._client() as client:
            for key, (request, body) in newest:
                again = client.request(**request, headers={"Idempotency-Key": key})
                assert (again.status_code, again.json()) == (200, body), (key, body, again.json())

    def check(self, database: str, psql: Any, folder: Path) -> None:
        """Nothing approved twice, nothing answered and lost, no retry that ends otherwise, no defect, and the
        ledger holds."""
        self.check_retries()
        approved = self.approved
        assert approved, self.statuses
        assert all(len(activities) == 1 for activities in approved.values())
        crashes = [line for line in self._cluster.log().splitlines() if '"crash"' in line]
        assert self.statuses <= {200, 503, None}, crashes[-3:]
        name = database.rsplit("/", 1)[1]
        recorded = set(psql("SELECT activity_id FROM activities WHERE decision = 'APPROVED'", name).split())
        assert {activities[0] for activities in approved.values()} <= recorded
        doubled = "SELECT count(*) FROM (SELECT 1 FROM activities WHERE decision = 'APPROVED'"
        doubled += " GROUP BY agent_id, conversation_id HAVING count(*) > 1) AS twice"
        assert psql(doubled, name) == "0"
        # What has no place in the ledger yet gets it from whoever leads next.
        end = time.monotonic() + 20
        while psql("SELECT count(*) FROM pending", name) != "0" and time.monotonic() < end:
            time.sleep(0.2)
        copy = folder / f"ledger-{time.monotonic_ns()}.db"
        waiting = snapshot(database, copy)
        ring = read_ring(self._cluster.folder / "qwed.key", node_issuer("local"))
        head = verified_head(copy, ring, waiting)
        about_rows = int(psql("SELECT count(*) FROM ledger WHERE subject LIKE 'state:%'", name))
        assert head.seq == int(psql("SELECT count(*) FROM activities", name)) + about_rows
