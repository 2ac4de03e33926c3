"""A backtest over a long record: seconds of CPU, and how much memory its process needs at most.

Real decisions of many kinds are made once; the record is those, again and again under other ids and times, in
a SQLite file, and the command that people use decides it again.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from tests.support.tiers import scale

Figure = tuple[str, float, str, float | None]

#: Entries of the record; the targets are those of a million.
ROWS = scale(ci=20_000, nightly=100_000, long=1_000_000)
SEEDS = 400
GROUP = 5_000
STEP_MS = 250
RULES = """rules:
  - {id: large, when: 'has(action.parameters.amount) && action.parameters.amount > 90', then: ask}
  - {id: pace, when: 'action.type == "calculate"', limit: {at_most: 50, within: 1h}, then: deny}
"""


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "qwed.db"
        count = _write(database)
        shown = f"{count:,}".replace(",", " ")
        for name, text in (("the same policy", ""), ("rules, one with a window", RULES)):
            policy = Path(folder) / "next.yaml"
            policy.write_text(text, encoding="utf-8")
            report, seconds, megabytes = _backtest(database, policy)
            per_million = seconds * 1e6 / count
            yield f"{shown} entries, {name}", seconds, "s CPU", None
            target = 120 if not text else None
            yield f"the same for a million, {name}", per_million, "s CPU", target
            yield f"memory at most, {name}", megabytes, "MB", 300
            if not text:
                yield "entries that are not decided again as they were", count - report["same"], "", 0


def _write(database: Path) -> int:
    """Decide `SEEDS` times, and copy what was recorded."""
    from qwed import Gateway
    from qwed.bootstrap import signing_key_path
    from qwed.ect.key_files import open_ring
    from qwed.gateway.kernel.records import Record
    from qwed.stores.sqlite import SqliteTables

    with Gateway.open(database) as gateway:
        _decide(gateway)
    tables = SqliteTables(database, open_ring(signing_key_path(database), "did:qwed:node:local"))
    items = tables.ledger.stretch(0, 4 * SEEDS)
    seeds = [item.activity for item in items if item.activity is not None and _is_decision(item.activity)]
    group: list[Record] = []
    for number in range(ROWS - len(seeds)):
        group.append(Record(_copy(seeds[number % len(seeds)], number)))
        if len(group) == GROUP:
            tables.write(group)
            group = []
    if group:
        tables.write(group)
    tables.close()
    return ROWS


def _decide(gateway: Any) -> None:
    limits = {"max_requests_per_hour": None, "max_requests_per_day": None, "max_daily_cost_usd": None}
    agents = [
        gateway.register_agent(name=f"a{n}", type="autonomous", principal_id="p", budget=limits)["agent_id"]
        for n in range(4)
    ]
    for number in range(SEEDS):
        action = [
            {"type": "calculate", "query": f"{number}+1", "parameters": {"amount": number % 100}},
            {"type": "execute_sql", "query": f"SELECT name FROM t WHERE id = {number}"},
            {"type": "execute_sql", "query": "DROP TABLE t"},
            {"type": "calculate", "query": "2+2=5"},
            {"type": "no_such_thing", "query": "x"},
        ][number % 5]
        context = {"conversation_id": f"c{number}", "step_number": 1}
        gateway.verify_action(agents[number % 4], action, context)


def _is_decision(activity: Any) -> bool:
    return activity.decision in {"APPROVED", "CORRECTED", "PENDING", "DENIED", "BUDGET_EXCEEDED"}


def _copy(activity: Any, number: int) -> Any:
    name, at_ms = f"act_{number:026x}", activity.at_ms + number * STEP_MS
    payload = activity.payload.replace(activity.activity_id.encode(), name.encode())
    return msgspec.structs.replace(activity, activity_id=name, at_ms=at_ms, payload=payload)


def _backtest(database: Path, policy: Path) -> tuple[dict[str, Any], float, float]:
    run = "from qwed.cli import main; main()"
    command = [sys.executable, "-c", run, "policy", "backtest", str(policy), "--json"]
    environment = {**os.environ, "QWED_DATABASE": str(database)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env=environment, capture_output=True, check=True, cwd=database.parent)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    # The largest of all that ever ended.
    return json.loads(done.stdout), seconds, after.ru_maxrss / 1024
