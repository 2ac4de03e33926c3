"""How each table of a SQLite file goes over to a database server: what is read, and what becomes of a row."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

import msgspec

from qwed.domain.agents import Agent
from qwed.domain.approvals import Approval
from qwed.domain.rule_windows import DISTINCT_PREFIX
from qwed.stores.bodies import decode
from qwed.stores.postgres.texts import store_text, store_text_or_none

Row = tuple[Any, ...]
Columns = dict[str, Any]


def _agent(row: Columns) -> Columns:
    trust = int(decode(Agent, row["body"]).trust_level)
    return {**row, "violation": bool(row["violation"]), "trust": trust}


def _approval(row: Columns) -> Columns:
    return {**row, "version": decode(Approval, row["body"]).version}


def _workflow(row: Columns) -> Columns:
    return {**row, "principal_id": store_text(row["principal_id"])}


def _node(row: Columns) -> Columns:
    return {**row, "node_id": store_text(row["node_id"])}


def _as_it_is(row: Columns) -> Columns:
    return row


def _activity(row: Row) -> Row:
    columns = list(row)
    columns[5], columns[8] = store_text(columns[5]), store_text_or_none(columns[8])
    return tuple(columns)


def _step(row: Row) -> Row:
    agent_id, conversation_id, step, fingerprint, state, approved, activity_id, wid = row
    return agent_id, store_text(conversation_id), step, fingerprint, state, bool(approved), activity_id, wid


def _crossing(row: Row) -> Row:
    return row[0], row[1], store_text(row[2]), row[3]


def _heard(row: Row) -> Row:
    return row[0], store_text(row[1]), *row[2:]


def _score_change(row: Row) -> Row:
    return (*row[:7], bool(row[7]), row[8])


def _refused_minute(row: Row) -> Row:
    return row[0], row[1], bool(row[2]), row[3]


def _window_entry(row: Row) -> Row:
    key, number, at_ms, value, is_merged, until_ms = row
    # Values that are told apart are no numbers.
    amount = None if value == "" or value.startswith(DISTINCT_PREFIX) else Decimal(value)
    return key, number, at_ms, value, amount, bool(is_merged), until_ms


class MovedTable(msgspec.Struct, frozen=True):
    """How one table goes over: what is read, where it is put, and what becomes of a row on the way."""

    name: str
    select: str
    change: Callable[[Row], Row] = tuple


#: Tables that go over as they are, column by column.
PLAIN: Final = (
    "ledger",
    "tiles",
    "checkpoints",
    "remembered",
    "ended_sessions",
    "sign_ins",
    "deliveries",
    "shared_facts",
    "permits",
    "permit_findings",
    "rule_times",
    "rule_waits",
)
#: Rows that decide, and what becomes of their columns: they are committed anew, as they stand there.
COMMITTED: Final[Mapping[str, Callable[[Columns], Columns]]] = {
    "agents": _agent,
    "keys": _as_it_is,
    "approvals": _approval,
    "trust_changes": _as_it_is,
    "outcomes": _as_it_is,
    "webhooks": _as_it_is,
    "workflows": _workflow,
    "workflow_nodes": _node,
    "policy_changes": _as_it_is,
}
CHANGED: Final = (
    MovedTable(
        "activities",
        "SELECT seq, activity_id, agent_id, principal_id, at_ms, action_type, decision, error_code,"
        " conversation_id, cost_nano, tokens, fingerprint, par, wid, salt, payload"
        " FROM activities ORDER BY seq",
        change=_activity,
    ),
    MovedTable("ects", "SELECT jti, salt, token, principal_id FROM ects"),
    MovedTable("steps", "SELECT * FROM steps", change=_step),
    MovedTable("days", "SELECT kind, subject, day, requests, cost_nano, tokens FROM days"),
    MovedTable("crossings", "SELECT * FROM crossings", change=_crossing),
    MovedTable("score_changes", "SELECT * FROM score_changes", change=_score_change),
    # Before everything that is kept from then on.
    MovedTable(
        "heard",
        "SELECT agent_id, conversation_id, report_id, number - 1000000000000, body FROM heard",
        change=_heard,
    ),
    MovedTable("heard_keys", "SELECT agent_id, conversation_id, salt, at_ms FROM heard_keys", change=_heard),
    MovedTable("refused_minutes", "SELECT * FROM refused_minutes", change=_refused_minute),
    MovedTable(
        "rule_entries",
        "SELECT key, number, at_ms, value, is_merged, until_ms FROM rule_entries",
        change=_window_entry,
    ),
    # Everybody's are summed up when they are read.
    MovedTable("hours", "SELECT * FROM hours WHERE principal_id != ''"),
)
#: Those with a way of their own.
OTHER: Final = ("seconds", "ledger_name", "conduct")
STANDINGS: Final = (
    "SELECT agent_id, sum(actions) AS actions, max(body) AS conduct"
    " FROM (SELECT subject AS agent_id, actions, NULL AS body FROM days WHERE kind = 'agent'"
    " UNION ALL SELECT agent_id, 0, body FROM conduct) GROUP BY agent_id"
)
