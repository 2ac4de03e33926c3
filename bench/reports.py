"""What a compliance report over a long record costs: time, and how much memory it takes on top."""

import itertools
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from bench.large_record import ROWS
from qwed import Gateway
from qwed.domain.agents import AgentId, PrincipalId
from qwed.domain.outcomes import Outcome, OutcomeResult
from qwed.domain.times import DAY_MS
from qwed.ect.key_files import read_ring
from qwed.ect.keys import node_issuer
from qwed.gateway.kernel.records import Activity, Record
from qwed.reports import ReportFormat
from qwed.stores.sqlite import SqliteTables

Figure = tuple[str, float, str, float | None]

ACTIVITIES = ROWS
_AGENTS = 50
_START = 1_775_000_000_000
_GROUP = 2_000


def figures() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reports.db"
        Gateway.open(path).close()
        _fill(path)
        with Gateway.open(path) as gateway:
            return _measured(gateway)


def _measured(gateway: Gateway) -> list[Figure]:
    found: list[Figure] = []
    before = _peak_mb()
    for form in ReportFormat:
        started = time.process_time()
        gateway.compliance_report(form)
        seconds = time.process_time() - started
        target = 30.0 if form is ReportFormat.JSON else None
        found.append((f"reports: {form} of {ACTIVITIES:,} activities", seconds, "s of CPU", target))
    agent = f"agent_{1:016x}"
    started = time.process_time()
    gateway.compliance_report(agent_id=agent)
    seconds = time.process_time() - started
    found.append(("reports: json of one agent of 50 among them", seconds, "s of CPU", None))
    return [*found, ("reports: memory on top", _peak_mb() - before, "MB", 200.0)]


def _fill(path: Path) -> None:
    ring = read_ring(path.with_name(f"{path.name}.key"), node_issuer("local"))
    tables = SqliteTables(path, ring)
    try:
        records = _records()
        while group := list(itertools.islice(records, _GROUP)):
            tables.write(group)
    finally:
        tables.close()


def _records() -> Iterator[Record]:
    for number in range(ACTIVITIES):
        activity = _activity(number)
        outcome = None
        if number % 5 == 0 and activity.decision == "APPROVED":
            outcome = Outcome(
                activity.activity_id,
                activity.agent_id,
                OutcomeResult.SUCCESS,
                f"agent:{activity.agent_id}",
                activity.at_ms,
                b"",
            )
        yield Record(activity, outcome=outcome)


def _activity(number: int) -> Activity:
    agent = f"agent_{number % _AGENTS:016x}"
    at_ms = _START + number * (30 * DAY_MS // ACTIVITIES)
    name = f"act_{at_ms:012x}{number:016x}"
    decision, code = (("APPROVED", None), ("DENIED", "QWED-AGENT-005"), ("APPROVED", None))[number % 3]
    payload = {
        "activity_id": name,
        "agent_id": agent,
        "timestamp": "2026-04-01T00:00:00.000Z",
        "action_type": "execute_sql",
        "action": {"type": "execute_sql", "query": "SELECT name FROM customers WHERE id = 7"},
        "context": {"conversation_id": f"c{number // 40}", "step_number": number % 40 + 1},
        "decision": decision,
        "cost": {"usd": 0.01, "tokens": 12},
        "policy_version": "sha256:" + "0" * 64,
        "requested_by": f"agent:{agent}",
        "verification": {
            "status": "VERIFIED" if code is None else "FAILED",
            "engine": ("math", "sql", "logic")[number % 3],
            "risk_level": ("low", "high")[number % 2],
            "checks_passed": ["parsed", "read_only"],
            "checks_failed": [],
            "latency_ms": 0.4,
        },
    }
    return Activity(
        name,
        AgentId(agent),
        PrincipalId(f"principal-{number % 7}"),
        at_ms,
        "execute_sql",
        decision,
        code,
        f"c{number // 40}",
        10_000_000 if code is None else 0,
        12,
        b"",
        msgspec.json.encode(payload),
    )


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
