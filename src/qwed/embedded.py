"""The gateway in the caller's own process: the same decisions, without HTTP."""

import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from qwed import __version__, bootstrap
from qwed.domain.agents import AgentId
from qwed.domain.credentials import OPERATOR_ROLE, ApiKey, Caller
from qwed.domain.json_types import Json
from qwed.domain.policy import DEFAULT_POLICY, Policy
from qwed.gateway.agents.manage_agents import (
    change_agent,
    complain,
    deregister_agent,
    list_agents,
    reactivate_agent,
    rotate_token,
    show_agent,
    show_budget,
    suspend_agent,
)
from qwed.gateway.agents.manage_keys import create_key, list_keys, revoke_key
from qwed.gateway.agents.register_agent import register_agent
from qwed.gateway.approvals.answer_approval import approve, deny, redeem
from qwed.gateway.approvals.read_approvals import list_approvals, show_approval
from qwed.gateway.decide.doors import verify_action, verify_tool
from qwed.gateway.evidence.redact_activity import redact_activity, redact_matching
from qwed.gateway.evidence.redact_token import redact_token
from qwed.gateway.evidence.report_outcome import report_outcome, settle_outcome
from qwed.gateway.kernel.answers import Answer
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.records import Remembered
from qwed.gateway.kernel.requests import check_identifier, read_tool, read_verify
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.wire import encode_json
from qwed.gateway.notices.manage_webhooks import (
    create_webhook,
    drop_webhook,
    list_deliveries,
    list_webhooks,
    retry_delivery,
    test_webhook,
)
from qwed.gateway.policy import change_policy, run_backtest
from qwed.gateway.reporting import read_provenance
from qwed.gateway.reporting.compliance import compliance_report
from qwed.gateway.reporting.read_activity import read_activity, read_limit
from qwed.gateway.reporting.read_origins import read_origins
from qwed.gateway.reporting.read_trust import read_trust
from qwed.gateway.trust import trust_scores
from qwed.gateway.trust.change_trust import ELEVATION, change_trust
from qwed.reports import ReportFormat, render
from qwed.settings import MEMORY, parse_database

#: Whoever holds the process holds the store: in-process calls are an operator's.
OPERATOR = Caller(key=ApiKey("in-process", b"", None, (), (OPERATOR_ROLE,), 0))


class Gateway:
    """Thread-safe. What HTTP answers with a status of 400 or more, other than a decision, is raised
    here as `RequestError`; a store that cannot record raises `StoreUnavailable`."""

    def __init__(self, services: Services) -> None:
        self._first = services

    @property
    def services(self) -> Services:
        return self._first.newest

    @services.setter
    def services(self, services: Services) -> None:
        self._first = services

    @classmethod
    def open(cls, database: str | Path = "qwed.db", *, policy: Policy | str | Path = DEFAULT_POLICY) -> Self:
        """A file, or `postgresql://…`; `":memory:"` forgets everything when it is closed. `policy` is a value
        or a file's path."""
        place = parse_database(str(database)) if isinstance(database, str) else database
        path = None if place == MEMORY else place
        in_force = policy if isinstance(policy, Policy) else bootstrap.read_policy(Path(policy))
        return cls(bootstrap.build(path, policy=in_force))

    def close(self) -> None:
        bootstrap.close(self.services)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def register_agent(self, **registration: Any) -> dict[str, Json]:
        return _plain(run(register_agent(self.services, OPERATOR, registration)))

    def verify_action(
        self,
        agent_id: str,
        action: Mapping[str, Json],
        context: Mapping[str, Json] | None = None,
        *,
        options: Mapping[str, Json] | None = None,
        usage: Mapping[str, Json] | None = None,
    ) -> dict[str, Json]:
        request = read_verify({"action": action, "context": context, "options": options, "usage": usage})
        return _plain(run(verify_action(self.services, OPERATOR, _agent(agent_id), request)))

    def verify_tool(
        self,
        agent_id: str,
        tool_name: str,
        parameters: Mapping[str, Json] | None = None,
        *,
        justification: str | None = None,
        context: Mapping[str, Json] | None = None,
        usage: Mapping[str, Json] | None = None,
    ) -> dict[str, Json]:
        body = {
            "parameters": parameters,
            "justification": justification,
            "context": context,
            "usage": usage,
        }
        request = read_tool(tool_name, body)
        return _plain(run(verify_tool(self.services, OPERATOR, _agent(agent_id), request)))

    def report_outcome(
        self, agent_id: str, activity_id: str, outcome: str, **details: Json
    ) -> dict[str, Json]:
        raw = {"outcome": outcome, **details}
        return _plain(
            run(
                report_outcome(
                    self.services, OPERATOR, _agent(agent_id), _name("activity_id", activity_id), raw
                )
            )
        )

    def settle_outcome(
        self, agent_id: str, activity_id: str, outcome: str, **details: Json
    ) -> dict[str, Json]:
        raw = {"outcome": outcome, **details}
        return _plain(
            run(
                settle_outcome(
                    self.services, OPERATOR, _agent(agent_id), _name("activity_id", activity_id), raw
                )
            )
        )

    def agents(self, after: str | None = None, limit: int = 50) -> dict[str, Json]:
        found = list_agents(self.services, OPERATOR, _optional("after", after), read_limit(limit))
        return _plain(run(found))

    def get_agent(self, agent_id: str) -> dict[str, Json]:
        return _plain(run(show_agent(self.services, OPERATOR, _agent(agent_id))))

    def get_agent_budget(self, agent_id: str) -> dict[str, Json]:
        return _plain(run(show_budget(self.services, OPERATOR, _agent(agent_id))))

    def get_agent_activity(self, agent_id: str, **query: str | int) -> dict[str, Json]:
        """`from` is a Python keyword: pass it as `**{"from": …}`."""
        given = {name: _text_of(name, value) for name, value in query.items()}
        return _plain(run(read_activity(self.services, OPERATOR, _agent(agent_id), given)))

    def redact(self, agent_id: str, activity_id: str, reason: str) -> dict[str, Json]:
        """Erase what an entry says, and its copies; the entry stays, and the ledger verifies."""
        raw, name = {"reason": reason}, _name("activity_id", activity_id)
        return _plain(run(redact_activity(self.services, OPERATOR, _agent(agent_id), name, raw)))

    def redact_matching(self, agent_id: str, **selection: Any) -> dict[str, Json]:
        return _plain(run(redact_matching(self.services, OPERATOR, _agent(agent_id), selection)))

    def redact_token(self, jti: str, reason: str) -> dict[str, Json]:
        return _plain(run(redact_token(self.services, OPERATOR, jti, {"reason": reason})))

    def compliance_report(
        self,
        form: str = "json",
        *,
        agent_id: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> bytes:
        """As `json`, `csv` or `pdf`. `progress` is told how many of how many entries are counted."""
        period = {"from": _optional("from", from_), "to": _optional("to", to)}
        report = compliance_report(
            self.services,
            OPERATOR,
            None if agent_id is None else _agent(agent_id),
            {name: value for name, value in period.items() if value is not None},
            software=f"qwed {__version__}",
            progress=progress,
        )
        return render(run(report), ReportFormat(form)).content

    def policy(self) -> dict[str, Json]:
        """What is in force, and what is stopped."""
        return _plain(run(change_policy.show_policy(self.services, OPERATOR)))

    def apply_policy(self, text: str, reason: str) -> dict[str, Json]:
        raw = {"text": text, "reason": reason}
        return _plain(run(change_policy.apply_policy(self.services, OPERATOR, raw)))

    def reload_policy(self, reason: str) -> dict[str, Json]:
        return _plain(run(change_policy.reload_file(self.services, OPERATOR, {"reason": reason})))

    def roll_back_policy(self, version: int, reason: str) -> dict[str, Json]:
        raw = {"version": version, "reason": reason}
        return _plain(run(change_policy.roll_back(self.services, OPERATOR, raw)))

    def policy_history(self, before: int | None = None, limit: int = 50) -> dict[str, Json]:
        return _plain(run(change_policy.list_changes(self.services, OPERATOR, before, limit)))

    def policy_version(self, version: int) -> dict[str, Json]:
        return _plain(run(change_policy.show_version(self.services, OPERATOR, version)))

    def backtest_policy(
        self,
        text: str,
        *,
        since: str | None = None,
        agent_id: str | None = None,
        reprove: bool = False,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> dict[str, Json]:
        """What another policy would have decided; nothing is recorded."""
        work = run_backtest.backtest_all(self.services, text, since, agent_id, progress, reprove=reprove)
        return run(work)

    def stop_acting(self, scope: str, name: str | None, reason: str) -> dict[str, Json]:
        raw = {"scope": scope, "name": name, "reason": reason}
        return _plain(run(change_policy.stop(self.services, OPERATOR, raw)))

    def resume_acting(self, scope: str, name: str | None, reason: str) -> dict[str, Json]:
        raw = {"scope": scope, "name": name, "reason": reason}
        return _plain(run(change_policy.resume(self.services, OPERATOR, raw)))

    def change_agent(self, agent_id: str, **changes: Any) -> dict[str, Json]:
        return _plain(run(change_agent(self.services, OPERATOR, _agent(agent_id), changes)))

    def suspend(self, agent_id: str, reason: str | None = None) -> dict[str, Json]:
        return _plain(run(suspend_agent(self.services, OPERATOR, _agent(agent_id), {"reason": reason})))

    def reactivate(self, agent_id: str) -> dict[str, Json]:
        return _plain(run(reactivate_agent(self.services, OPERATOR, _agent(agent_id))))

    def complain(self, agent_id: str, reason: str | None = None) -> dict[str, Json]:
        return _plain(run(complain(self.services, OPERATOR, _agent(agent_id), {"reason": reason})))

    def trust_score(self, peer: str) -> dict[str, Json]:
        """The gateway's trust in one peer, named as its tokens do."""
        return _plain(run(trust_scores.show_score(self.services, OPERATOR, _name("peer", peer))))

    def seed_trust(self, peer: str, score: str, reason: str) -> dict[str, Json]:
        """Say where the trust in a peer begins: a number from 0 to 1."""
        body = {"peer": peer, "score": score, "reason": reason}
        return _plain(run(trust_scores.seed_score(self.services, OPERATOR, body)))

    def reinstate_trust(self, peer: str, reason: str) -> dict[str, Json]:
        """Lift a revocation; the score stays what conduct made it."""
        body = {"peer": peer, "reason": reason}
        return _plain(run(trust_scores.reinstate(self.services, OPERATOR, body)))

    def replay_trust(self) -> dict[str, Json]:
        """Every score computed again from the ledger, compared with what is stored."""
        return _plain(run(trust_scores.prove_scores(self.services, OPERATOR)))

    def provenance(self, jti: str, question: str) -> dict[str, Json]:
        """`question` is who, transformed, complete or graph."""
        asked = read_provenance.ask(self.services, OPERATOR, _name("jti", jti), _name("question", question))
        return _plain(run(asked))

    def origins(self, conversation_id: str, value: str) -> dict[str, Json]:
        """Who said the value in a conversation: the user, a tool's result, or nobody."""
        body = {"conversation_id": conversation_id, "value": value}
        return _plain(run(read_origins(self.services, OPERATOR, body)))

    def trust_history(self, agent_id: str, cursor: str | None = None, limit: int = 50) -> dict[str, Json]:
        """Level, conduct, and every change with its reasons, newest first."""
        found = read_trust(
            self.services, OPERATOR, _agent(agent_id), _optional("cursor", cursor), read_limit(limit)
        )
        return _plain(run(found))

    def set_trust(self, agent_id: str, to_level: int | str, reason: str) -> dict[str, Json]:
        raw = {"to_level": to_level, "reason": reason}
        return _plain(run(change_trust(self.services, OPERATOR, _agent(agent_id), raw)))

    def request_trust(
        self,
        agent_id: str,
        from_level: int,
        to_level: int | str,
        justification: str,
        evidence: Any = None,
    ) -> dict[str, Json]:
        raw = {
            "request": ELEVATION,
            "from_level": from_level,
            "to_level": to_level,
            "justification": justification,
            "evidence": evidence,
        }
        return _plain(run(change_trust(self.services, OPERATOR, _agent(agent_id), raw)))

    def rotate_token(self, agent_id: str) -> dict[str, Json]:
        return _plain(run(rotate_token(self.services, OPERATOR, _agent(agent_id))))

    def deregister(self, agent_id: str) -> dict[str, Json]:
        return _plain(run(deregister_agent(self.services, OPERATOR, _agent(agent_id))))

    def approvals(
        self,
        *,
        agent_id: str | None = None,
        status: str | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> dict[str, Json]:
        found = list_approvals(
            self.services,
            OPERATOR,
            agent_id=_optional("agent_id", agent_id),
            status=_optional("status", status),
            after=_optional("after", after),
            limit=read_limit(limit),
        )
        return _plain(run(found))

    def keys(self) -> dict[str, Json]:
        return _plain(run(list_keys(self.services, OPERATOR)))

    def create_key(self, **key: Any) -> dict[str, Json]:
        return _plain(run(create_key(self.services, OPERATOR, key)))

    def revoke_key(self, key_id: str) -> dict[str, Json]:
        return _plain(run(revoke_key(self.services, OPERATOR, _name("key_id", key_id))))

    def webhooks(self) -> dict[str, Json]:
        return _plain(run(list_webhooks(self.services, OPERATOR)))

    def create_webhook(self, **webhook: Any) -> dict[str, Json]:
        """What it hears of is kept here and delivered by `qwed serve` on the same store."""
        return _plain(run(create_webhook(self.services, OPERATOR, webhook)))

    def drop_webhook(self, webhook_id: str) -> dict[str, Json]:
        return _plain(run(drop_webhook(self.services, OPERATOR, _name("webhook_id", webhook_id))))

    def test_webhook(self, webhook_id: str) -> dict[str, Json]:
        return _plain(run(test_webhook(self.services, OPERATOR, _name("webhook_id", webhook_id))))

    def deliveries(self, webhook_id: str, after: str | None = None, limit: int = 50) -> dict[str, Json]:
        found = list_deliveries(
            self.services,
            OPERATOR,
            _name("webhook_id", webhook_id),
            after=_optional("after", after),
            limit=read_limit(limit),
        )
        return _plain(run(found))

    def retry_delivery(self, webhook_id: str, delivery_id: str) -> dict[str, Json]:
        hook, delivery = _name("webhook_id", webhook_id), _name("delivery_id", delivery_id)
        return _plain(run(retry_delivery(self.services, OPERATOR, hook, delivery)))

    def approve(self, approval_id: str, note: str | None = None, **edited: Any) -> dict[str, Json]:
        """`action=…` approves an edited action, which is verified again first."""
        return _plain(run(approve(self.services, OPERATOR, _approval(approval_id), {"note": note, **edited})))

    def deny(self, approval_id: str, note: str | None = None) -> dict[str, Json]:
        return _plain(run(deny(self.services, OPERATOR, _approval(approval_id), {"note": note})))

    def redeem(self, approval_id: str, action: Mapping[str, Json]) -> dict[str, Json]:
        return _plain(run(redeem(self.services, OPERATOR, _approval(approval_id), {"action": action})))

    def get_approval(self, approval_id: str) -> dict[str, Json]:
        return _plain(run(show_approval(self.services, OPERATOR, _approval(approval_id))))


def _agent(agent_id: Any) -> AgentId:
    return AgentId(_name("agent_id", agent_id))


def _approval(approval_id: Any) -> str:
    return _name("approval_id", approval_id)


def _name(field: str, value: Any) -> str:
    """A name that a store can look for. HTTP has none of the others."""
    check_identifier(field, value)
    return str(value)


def _optional(field: str, value: Any) -> str | None:
    return None if value is None else _name(field, value)


def _text_of(field: str, value: Any) -> str:
    """A query's value as it would stand in an address."""
    is_number = type(value) is int and value.bit_length() < 64
    return str(value) if is_number else _name(field, value)


def _plain(answer: Answer | Remembered) -> dict[str, Json]:
    """What a client would have read from the wire: a number that no float can hold is a `Decimal`."""
    body = answer.body if isinstance(answer, Remembered) else encode_json(answer.body)
    return _decoder.decode(body)


def _number(literal: str) -> float | Decimal:
    number = float(literal)
    return number if math.isfinite(number) else Decimal(literal)


_decoder: Final = msgspec.json.Decoder(dict[str, Json], float_hook=_number)
