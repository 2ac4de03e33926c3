"""A week in the life of a few agents, decided by the real engines: something to look at."""

import random
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
from tests.support.fakes import DAY, MINUTE, SECOND, FakeClock
from tests.support.server import OPERATOR_KEY

from qwed import Gateway, bootstrap
from qwed.domain.policy import DEFAULT_POLICY
from qwed.ect.key_files import open_ring
from qwed.stores import open_sqlite

ENGINES = ["math", "logic", "fact", "sql", "code"]

AGENTS: dict[str, dict[str, Any]] = {
    "invoice-clerk": {
        "type": "autonomous",
        "description": "Reads supplier invoices, checks the sums, prepares payments",
        "framework": "langchain",
        "model": "claude-sonnet",
        "permissions": {
            "allowed_engines": ENGINES,
            "allowed_tools": ["post_booking"],
            "blocked_tools": ["send_money"],
        },
        "budget": {"max_daily_cost_usd": 1.5, "max_requests_per_hour": 200},
    },
    "support-writer": {
        "type": "supervised",
        "description": "Answers customers by e-mail",
        "framework": "openai-agents",
        "permissions": {"allowed_engines": ENGINES},
        "budget": {"max_daily_cost_usd": 5},
    },
    "warehouse-analyst": {
        "type": "autonomous",
        "description": "Asks the warehouse database and explains what it found",
        "permissions": {"allowed_engines": ENGINES},
        "budget": {"max_daily_cost_usd": 2},
    },
    "price-scout": {
        "type": "autonomous",
        "description": "Compares our prices with those of others",
        "permissions": {"allowed_engines": ENGINES},
        "budget": {"max_daily_cost_usd": 0.2},
    },
    "deploy-bot": {
        "type": "autonomous",
        "description": "Writes configuration for staging",
        "permissions": {"allowed_engines": ENGINES},
        "budget": {"max_daily_cost_usd": 10},
    },
}


def _actions(name: str, number: int, chance: random.Random) -> dict[str, Any]:
    amount = chance.randint(20, 480)
    table = {
        "invoice-clerk": [
            {"type": "calculate", "query": f"{amount} * 1.19 = {amount * 1.19:.2f}"},
            {"type": "verify_math", "query": f"{amount} + {number} = {amount + number + (number % 40 == 0)}"},
            {
                "type": "api_call",
                "target": "https://erp.example.com/bookings",
                "parameters": {"amount": amount, "supplier": "Nordwind GmbH"},
            },
            {"type": "file_read", "target": f"invoices/2026-{number:04d}.pdf"},
        ],
        "support-writer": [
            {
                "type": "verify_fact",
                "query": "the parcel left on Monday",
                "parameters": {"context": "The parcel left on Monday."},
            },
            {"type": "calculate", "query": f"{amount} / 4"},
            {"type": "read_file", "target": f"tickets/{1000 + number}.txt"},
        ],
        "warehouse-analyst": [
            {
                "type": "execute_sql",
                "query": f"SELECT sku, sum(stock) FROM stock WHERE site = {number % 7} GROUP BY sku",
            },
            {"type": "execute_sql", "query": f"SELECT count(*) FROM orders WHERE total > {amount}"},
            {"type": "calculate", "query": f"({amount} - 12) / 7"},
        ],
        "price-scout": [
            {"type": "api_call", "target": "https://prices.example.org/v1", "parameters": {"sku": number}},
            {"type": "calculate", "query": f"{amount} / 1.19"},
        ],
        "deploy-bot": [
            {"type": "file_read", "target": f"staging/service-{number % 5}.yaml"},
            {"type": "verify_logic", "query": f"(and (> x {number}) (< x {number + 5}))"},
            {"type": "calculate", "query": f"{number} * 3"},
        ],
    }
    if name == "price-scout" and number > 100:
        return {"type": "execute_sql", "query": f"DELETE FROM orders -- {number}"}
    if chance.random() < 0.03:
        return {"type": "teleport", "query": f"room {number}"}
    return chance.choice(table[name])


WAITING = [
    (
        "invoice-clerk",
        {
            "type": "file_write",
            "target": "payments/2026-11-16.csv",
            "parameters": {"rows": 48, "amount": 9120, "currency": "EUR"},
        },
        "Prepare Monday's payment run for Nordwind GmbH",
    ),
    (
        "support-writer",
        {
            "type": "send_email",
            "target": "ada@customer.example",
            "parameters": {
                "subject": "Your parcel",
                "body": "Dear Ada,\n\nyour parcel left on Monday and should be with you by Wednesday.",
            },
        },
        "Tell the customer where the parcel is",
    ),
    (
        "warehouse-analyst",
        {
            "type": "execute_sql",
            "query": "UPDATE stock SET reserved = reserved + 12 WHERE sku = 'A-1181' AND site = 3",
        },
        "Reserve twelve units for order 88121",
    ),
    (
        "deploy-bot",
        {"type": "file_write", "target": "staging/service-3.yaml", "parameters": {"replicas": 12}},
        "Scale service 3 for the load test tonight",
    ),
]


class _Clock(FakeClock):
    """Told the day; durations are real."""

    def counter(self) -> float:
        return time.perf_counter()


def seed(database: Path, now_ms: int, *, days: int = 7, each: int = 260) -> dict[str, dict[str, Any]]:
    """A store with agents, decisions over some days, and requests that wait; the agents by name."""
    clock, chance = _Clock(now_ms - days * DAY), random.Random(5)
    built = bootstrap.build(None)
    ring = open_ring(bootstrap.signing_key_path(database), built.signer.issuer)
    store = open_sqlite(database, DEFAULT_POLICY, clock, ring)
    services = msgspec.structs.replace(built, store=store, clock=clock)
    bootstrap.first_operator_key(services, OPERATOR_KEY)
    gateway = Gateway(services)
    agents = {
        name: dict(gateway.register_agent(name=name, principal_id="acme", **registration))
        for name, registration in AGENTS.items()
    }
    names = list(agents)
    for number in range(each):
        clock.now = now_ms - days * DAY + int((days * DAY - 10 * MINUTE) * (number + chance.random()) / each)
        name = chance.choice(names)
        for step in range(1, chance.randint(2, 6)):
            clock.advance(chance.randint(1, 20) * SECOND)
            context = {
                "conversation_id": f"{name}-{number:03d}",
                "step_number": step,
                "user_intent": "the daily run",
            }
            answer = gateway.verify_action(agents[name]["agent_id"], _actions(name, number, chance), context)
            if answer["decision"] in ("APPROVED", "CORRECTED") and chance.random() < 0.4:
                outcome = (
                    {"outcome": "success"}
                    if chance.random() < 0.9
                    else {"outcome": "failure", "error": "timed out"}
                )
                gateway.report_outcome(agents[name]["agent_id"], answer["activity_id"], **outcome)
    clock.now = now_ms - 4 * MINUTE
    for number, (name, action, intent) in enumerate(WAITING):
        clock.advance(40 * SECOND)
        context = {"conversation_id": f"{name}-today", "step_number": number + 1, "user_intent": intent}
        gateway.verify_action(agents[name]["agent_id"], action, context)
    clock.now = now_ms
    store.close()
    bootstrap.close(built)
    return agents


if __name__ == "__main__":
    seed(Path(sys.argv[1]), time.time_ns() // 1_000_000)
    print(f"operator key: {OPERATOR_KEY}")
