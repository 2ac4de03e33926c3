"""The real engines: what they prove of ordinary and of bad actions, at both doors."""

import random
from collections.abc import Callable
from typing import Any

from tests.oracle.actors import Actor, look_around, person, vote
from tests.oracle.world import World

ACTIONS: tuple[dict[str, Any], ...] = (
    {"type": "calculate", "query": "2+2"},
    {"type": "calculate", "query": "2+2=4"},
    {"type": "verify_math", "query": "2+2=5"},
    {"type": "verify_math", "query": "1/3 = 0.333"},
    {"type": "verify_math", "query": "frobnicate the sum"},
    {"type": "verify", "query": "sqrt(16) = 4"},
    {"type": "verify_logic", "query": "(and (> x 3) (< x 5))"},
    {"type": "prove", "query": "(=> (> x 3) (> x 2))"},
    {"type": "verify_logic", "query": "(and (> x 3) (< x 2))"},
    {"type": "verify_logic", "query": "perhaps"},
    {
        "type": "verify_fact",
        "query": "the parcel left on Monday",
        "parameters": {"context": "The parcel left on Monday."},
    },
    {
        "type": "verify_fact",
        "query": "the parcel left on Friday",
        "parameters": {"context": "The parcel left on Monday."},
    },
    {"type": "execute_sql", "query": "SELECT sku, sum(stock) FROM stock WHERE site = 3 GROUP BY sku"},
    {"type": "execute_sql", "query": "UPDATE stock SET reserved = 1 WHERE sku = 'A-1'"},
    {"type": "execute_sql", "query": "DELETE FROM orders"},
    {"type": "execute_sql", "query": "SELEC x FRM y"},
    {"type": "execute_sql", "query": "SELECT * FROM users WHERE name = '' OR 1=1"},
    {"type": "execute_code", "code": "print(sum([1, 2, 3]))", "parameters": {"language": "python"}},
    {"type": "execute_code", "code": "import os\nos.remove('a.txt')", "parameters": {"language": "python"}},
    {"type": "execute_code", "code": "ls -l", "parameters": {"language": "shell"}},
    {"type": "execute_code", "code": "def (", "parameters": {"language": "python"}},
    {"type": "file_read", "target": "invoices/2026-0001.pdf"},
    {"type": "file_read", "target": "/etc/shadow"},
    {"type": "file_write", "target": "reports/a.txt", "parameters": {"content": "hello"}},
    {"type": "api_call", "target": "https://erp.example.com/bookings", "parameters": {"amount": 5}},
    {"type": "api_call", "target": "http://169.254.169.254/latest"},
    {
        "type": "send_email",
        "parameters": {"to": "ada@customer.example", "subject": "Parcel", "body": "Dear Ada"},
    },
    {"type": "send_money", "parameters": {"to": "DE00", "amount": 5}},
    {"type": "database_write", "parameters": {"query": "DROP TABLE users"}},
)


def play(open_world: Callable[..., World], chance: random.Random) -> World:
    world = open_world("{}", is_real=True)
    person(world, "ada")
    actor = Actor(world, "agent", type="trusted", trust_level=chance.choice((1, 2, 3)))
    for number, action in enumerate(chance.sample(ACTIONS, 20)):
        parameters = action.get("parameters")
        if "query" not in action and "code" not in action and chance.random() < 0.5:
            given = {**(parameters or {}), **({"target": action["target"]} if "target" in action else {})}
            actor.use_tool(action["type"], given, chance.choice((None, actor.context())))
        else:
            actor.verify(action, actor.context(f"c{number % 2}"))
        if actor.asked and chance.random() < 0.3:
            approval_id, wanted = actor.asked.pop()
            vote(world, approval_id, "ada")
            actor.redeem(approval_id, wanted)
        if chance.random() < 0.3:
            world.call(
                "POST", f"{actor.path}/trust", {"to_level": chance.choice((1, 2, 3)), "reason": "again"}
            )
    look_around(world, actor)
    return world
