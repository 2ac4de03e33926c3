"""What assurance costs: a million trust events from scratch, behaviour checks per token, provenance walks."""

import random
import time
import uuid
from collections.abc import Iterator

from qwed.assurance import TrustTable
from qwed.assurance.behaviour import Monitor
from qwed.assurance.provenance import Work, complete, graph, to_dot, transformed, who
from qwed.assurance.specs import read_spec
from qwed.ect.claims import Claims

Figure = tuple[str, float, str, float | None]

_NOW = 1_800_000_000
_OBSERVER = "spiffe://example.com/observer"
_AGENTS = [f"spiffe://example.com/agent/{number}" for number in range(10_000)]
_EVENTS = 1_000_000


def figures() -> list[Figure]:
    return [*_behaviour(), *_provenance(), *_scores()]


def _behaviour() -> list[Figure]:
    """All four checks on; the second stream comes out of order, which is the slowest path."""
    return [
        ("assurance: continuous behaviour check of a token", _checked(ages=(0,)), "µs", 40.0),
        ("assurance: the same, with the agent's clock in disorder", _checked(ages=(0, 7, 31, 3)), "µs", 40.0),
    ]


def _checked(ages: tuple[int, ...], count: int = 20_000) -> float:
    agent = _AGENTS[0]
    spec = read_spec(
        {
            "spec_version": "1.0",
            "agent_id": agent,
            "allowed_actions": ["update_rules", "read_config", "report"],
            "constraints": {
                "max_actions_per_minute": 6_000,
                "forbidden_targets": ["core-router-*", "*-secret"],
                "require_checkpoint_before": ["update_rules"],
            },
        }
    )
    actions = ("atd:checkpoint", "update_rules", "read_config", "report")
    stream = []
    for number in range(count):
        iat = _NOW + number // 10 - ages[number % len(ages)]
        ext = {"net.target": f"edge-router-{number % 50}", "plan": {"targets": ["a", "b"]}}
        jti, act = str(uuid.UUID(int=number)), actions[number % 4]
        stream.append(Claims(agent, (_OBSERVER,), iat, iat + 600, jti, act, (), wid=jti[:8], ext=ext))
    monitor, best = Monitor(spec), float("inf")
    for start in range(0, count, 4_000):
        started = time.process_time()
        for number in range(start, start + 4_000):
            monitor.check(stream[number], (_NOW + number // 10) * 1_000)
        best = min(best, (time.process_time() - started) / 4_000)
    return best * 1e6


def _provenance() -> list[Figure]:
    names = [str(uuid.UUID(int=number)) for number in range(10_000)]
    works = {
        name: Work(
            name,
            _NOW + number,
            tuple(names[max(0, number - 3) : number]),
            iss=_AGENTS[number % 50],
            exec_act="transform",
        )
        for number, name in enumerate(names)
    }
    questions = {
        "who": lambda: who(names[-1], works.get),
        "transformed": lambda: transformed(names[-1], works.get),
        "complete": lambda: complete(names[-1], works.get),
        "graph as DOT": lambda: to_dot(graph(names[-1], works.get)),
    }
    figures: list[Figure] = []
    for question, ask in questions.items():
        best = float("inf")
        for _ in range(5):
            started = time.process_time()
            ask()
            best = min(best, time.process_time() - started)
        target = None if "DOT" in question else 150.0
        figures.append((f"assurance: provenance, {question}, 10 000 ancestors", best * 1e3, "ms", target))
    return figures


def _scores() -> list[Figure]:
    """Each event is two tokens: what was asked, and the answer or an error about it."""
    table, spent, events = TrustTable(_OBSERVER), 0.0, 0
    for batch in _exchanges():
        started = time.process_time()
        for claims, at in batch:
            table.observe(claims, at=at)
        spent += time.process_time() - started
        events += len(batch) // 2
    started = time.process_time()
    table.settle(_NOW + 10 * _EVENTS)
    spent += time.process_time() - started
    return [
        (f"assurance: {events:,} trust events over 10 000 agents", spent, "s", 60.0),
        ("assurance: one trust event (two tokens)", spent / events * 1e6, "µs", None),
    ]


def _exchanges() -> Iterator[list[tuple[Claims, int]]]:
    chance = random.Random(7)
    for start in range(0, _EVENTS, 10_000):
        batch = []
        for number in range(start, start + 10_000):
            peer, at = chance.choice(_AGENTS), _NOW + number // 100
            asked, given = str(uuid.UUID(int=2 * number)), str(uuid.UUID(int=2 * number + 1))
            batch.append((Claims(_OBSERVER, (peer,), at, at + 600, asked, "request", ()), at))
            if chance.random() < 0.9:
                batch.append((Claims(peer, (_OBSERVER,), at, at + 600, given, "answer", (asked,)), at))
            else:
                batch.append((Claims(_OBSERVER, (peer,), at, at + 600, given, "atd:error", (asked,)), at))
        yield batch
