"""What is asked for, drawn at random: actions, contexts, usage, options."""

import random
from typing import Any

from tests.oracle.actors import STATE_SOURCES

STATUSES = ("VERIFIED",) * 6 + ("FAILED", "UNCERTAIN", "CORRECTED")
RISKS = ("LOW",) * 4 + ("MEDIUM", "MEDIUM", "HIGH", "CRITICAL")
TYPES = (
    "calculate",
    "verify_math",
    "verify",
    "verify_logic",
    "prove",
    "verify_fact",
    "execute_sql",
    "execute_code",
)
TOOLS = (
    "read_database",
    "query_data",
    "search_web",
    "send_email",
    "log_message",
    "get_weather",
    "file_read",
    "api_call",
    "network_request",
    "file_write",
    "database_write",
    "file_delete",
)
DANGEROUS = (
    "delete_database",
    "drop_table",
    "send_money",
    "delete_files",
    "shutdown_server",
    "revoke_access",
)
#: Known to nobody, some of which look like a dangerous one.
ODD = (
    "teleport",
    "Drop-Table",
    "droptable",
    "drop_tаble",
    "send.money",
    "SENDMONEY",
    "de1ete_files",
    "",
    " ",
    "x" * 100,
    "read_database ",
    "AKIA" + "IOSFODNN7EXAMPLF",
)
#: In an agent's own lists.
OWN = ("post_booking", "open_ticket", "shutdown-server")
BLOCKED = ("format_disk", "send_email", "verify_fact")


def say(chance: random.Random, status: str | None = None, risk: str | None = None) -> str:
    words = [status or chance.choice(STATUSES), risk or chance.choice(RISKS)]
    if words[0] == "FAILED":
        words.append(chance.choice(("incorrect", "malformed", "forbidden")))
    return " ".join([*words, str(chance.randrange(40))])


def action_type(chance: random.Random) -> str:
    kinds = (TYPES, TOOLS, DANGEROUS, ODD, OWN, BLOCKED)
    return chance.choice(chance.choices(kinds, (60, 20, 5, 6, 5, 4))[0])


def action(chance: random.Random, **fixed: Any) -> dict[str, Any]:
    """With a body that tells the scripted engines what to find."""
    made: dict[str, Any] = {"type": fixed.get("type") or action_type(chance)}
    if chance.random() < 0.7:
        made["query"] = say(chance)
    else:
        made["parameters"] = {"say": say(chance), "amount": chance.choice((1, 50, 500, 1.5, "50", None))}
    if chance.random() < 0.1:
        made["target"] = chance.choice(("https://example.com/x", "reports/a.txt", "somebody@example.com"))
    if chance.random() < 0.05:
        made["parameters"] = chance.choice(
            ([], "text", 0, {"a": {"b": [1, 2.0, "x" * 400]}}, {"password": "hunter2!"})
        )
    if chance.random() < 0.03:
        made["action_type"] = made.pop("type")
    return {**made, **fixed}


def usage(chance: random.Random) -> dict[str, Any]:
    if chance.random() < 0.8:
        return {}
    cost = chance.choice((0, 0.25, 0.5, 1, 2.5, -1, "1", 10**9))
    tokens = chance.choice((0, 10, 400, 5_000, -1))
    return {
        "usage": chance.choice(({"cost_usd": cost}, {"tokens": tokens}, {"cost_usd": cost, "tokens": tokens}))
    }


def options(chance: random.Random) -> dict[str, Any]:
    if chance.random() < 0.75:
        return {}
    threshold = chance.choice(("low", "medium", "high", "critical", "none"))
    required = {"require_attestation": True}
    return {
        "options": chance.choice(
            (required, {"risk_threshold": threshold}, {**required, "risk_threshold": threshold})
        )
    }


def state(chance: random.Random) -> dict[str, Any]:
    """Mostly nothing; else a state, sometimes malformed."""
    if chance.random() < 0.75:
        return {}
    digest = chance.choice(("ab" * 32, "cd" * 32, "ab" * 32, "AB" * 32, "ab", "", 5))
    source = chance.choice((*STATE_SOURCES, *STATE_SOURCES, "hearsay", None))
    given = {"pre_action_state_hash": digest, "state_source": source}
    return {name: value for name, value in given.items() if chance.random() < 0.93}


def odd_context(chance: random.Random) -> Any:
    return chance.choice(
        (
            None,
            [],
            "c",
            {},
            {"conversation_id": "c"},
            {"step_number": 1},
            {"conversation_id": "", "step_number": 1},
            {"conversation_id": 7, "step_number": 1},
            {"conversation_id": "c", "step_number": "1"},
            {"conversation_id": "c", "step_number": 0},
            {"conversation_id": "c", "step_number": 1.0},
            {"conversation_id": "c", "step_number": True},
            {"conversation_id": "c", "step_number": 10**30},
            {"conversation_id": "c" * 300, "step_number": 1},
            {"conversation_id": "c", "step_number": 51},
            {"conversation_id": "c", "step_number": 1, "user_intent": 5},
            {"conversation_id": "AKIA" + "IOSFODNN7EXAMPLF", "step_number": 1},
        )
    )
