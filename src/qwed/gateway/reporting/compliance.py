"""What was measured in a period, and what was not (section 9).

The record is counted stretch by stretch, so memory stays bounded and others are served in between. A
figure is complete even where the list beside it is cut; what could not be measured is said, not guessed.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from qwed.domain.agents import AgentId
from qwed.domain.codes import CODES, Code
from qwed.domain.compliance import CONTROLS, Figure
from qwed.domain.credentials import Caller, Scope
from qwed.domain.decisions import Decision
from qwed.domain.json_types import Json
from qwed.domain.money import usd_of
from qwed.domain.times import LAST_MS, iso
from qwed.gateway.kernel.answers import malformed, refuse
from qwed.gateway.kernel.changes import GATEWAY
from qwed.gateway.kernel.coroutines import breathe
from qwed.gateway.kernel.records import LedgerState, ReportScope, SignedCheckpoint
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import require_scope
from qwed.gateway.reporting.read_activity import read_instant, require_history
from qwed.gateway.reporting.report_gaps import not_measured
from qwed.gateway.reporting.report_sums import CHANGES, Approvals, Count

_PAGE: Final = 500

_LOOPS: Final = (Code.LOOP_LENGTH, Code.LOOP_REPLAY, Code.LOOP_REPEAT, Code.LOOP_NO_PROGRESS)

Progress = Callable[[int, int], None]


class Report(msgspec.Struct, frozen=True):
    """Everything a renderer needs; `figures` has one member for each `Figure`."""

    scope: Mapping[str, Json]
    period: Mapping[str, Json]
    generated_at: str
    generated_by: str
    software: str
    policy_version: str
    figures: Mapping[str, Json]
    not_measured: tuple[Mapping[str, Json], ...]

    def to_wire(self) -> dict[str, Json]:
        return {
            "report": "qwed-compliance",
            "scope": self.scope,
            "period": self.period,
            "generated_at": self.generated_at,
            "generated_by": self.generated_by,
            "software": self.software,
            "policy_version": self.policy_version,
            "figures": self.figures,
            "not_measured": self.not_measured,
            "controls": [
                {
                    "figure": row.figure,
                    "framework": row.framework,
                    "control": row.control,
                    "supports": row.supports,
                    "does_not_show": row.does_not_show,
                }
                for row in CONTROLS
            ],
        }


async def compliance_report(
    services: Services,
    caller: Caller,
    agent_id: AgentId | None,
    parameters: Mapping[str, str],
    *,
    software: str,
    within_seconds: float | None = None,
    progress: Progress | None = None,
) -> Report:
    """For one agent, or for all that the caller may see: an operator everything, a principal its own."""
    require_scope(caller, Scope.READ)
    if agent_id is not None:
        await require_history(services, caller, agent_id, sees_all=caller.reads_all)
    scope = _scope(services, caller, agent_id, parameters)
    # One at a time for each principal: counting a long record twice at once serves nobody sooner.
    async with services.turns.turn(("report", caller.principal_id)):
        deadline = None if within_seconds is None else services.clock.counter() + within_seconds
        count = await _count(services, scope, deadline, progress)
        approvals = await _approvals(services, scope)
        ledger = await services.store.ledger_state()
        checkpoint = await services.store.evidence.checkpoint()
        findings = await services.store.count_findings(
            scope.principal_id, scope.agent_id, scope.from_ms, scope.to_ms
        )
    names = {agent: await _name(services, agent) for agent in count.busiest()}
    now_ms = services.clock.now_ms()
    return Report(
        scope=await _describe_scope(services, scope),
        period={"from": iso(scope.from_ms) if scope.from_ms else None, "to": iso(min(scope.to_ms, LAST_MS))},
        generated_at=iso(now_ms),
        generated_by=caller.name,
        software=software,
        policy_version=services.policy.version,
        figures=_figures(services, count, approvals, _ledger(ledger, checkpoint), names, findings),
        not_measured=tuple(not_measured(scope, count, approvals, ledger, checkpoint, now_ms)),
    )


def _scope(
    services: Services, caller: Caller, agent_id: AgentId | None, given: Mapping[str, str]
) -> ReportScope:
    for name in given:
        if name not in ("from", "to"):
            raise malformed(name[:80], "is no parameter of this report; there are from, to and format")
    from_ms = read_instant("from", given.get("from")) or 0
    to_ms = read_instant("to", given.get("to"))
    if to_ms is None:
        # The end of a period is not in it; what happened this very millisecond is.
        to_ms = services.clock.now_ms() + 1
    if to_ms <= from_ms:
        raise malformed("to", "is later than from")
    principal = caller.reads_of if agent_id is None else None
    return ReportScope(from_ms, to_ms, principal, agent_id, tuple(CHANGES))


async def _describe_scope(services: Services, scope: ReportScope) -> dict[str, Json]:
    if scope.agent_id is not None:
        return {
            "kind": "agent",
            "agent_id": scope.agent_id,
            "name": await _name(services, scope.agent_id),
        }
    if scope.principal_id is not None:
        return {"kind": "principal", "principal_id": scope.principal_id}
    return {"kind": "deployment"}


async def _name(services: Services, agent_id: str) -> str | None:
    if agent_id == GATEWAY:
        return None
    agent = await services.store.agent(AgentId(agent_id))
    return None if agent is None else agent.name


async def _count(
    services: Services, scope: ReportScope, deadline: float | None, progress: Progress | None
) -> Count:
    count = Count()
    after: int | None = 0
    while after is not None:
        survey = await services.store.survey(scope, after)
        for tally in survey.tallies:
            count.add(tally)
        for payload in survey.changes:
            count.note(payload)
        count.removed += survey.removed
        after = survey.next_seq
        if progress is not None:
            progress(survey.last_seq if after is None else after, survey.last_seq)
        if deadline is not None and services.clock.counter() > deadline:
            raise refuse(
                Code.REQUEST_TOO_LARGE,
                "the record is too long to be counted in one request: use 'qwed report' beside the store",
            )
        await breathe()
    return count


async def _approvals(services: Services, scope: ReportScope) -> Approvals:
    """Those asked for in the period, newest first. Their ids begin with their time."""
    now_ms = services.clock.now_ms()
    found = Approvals(now_ms)
    after: str | None = f"apr_{scope.to_ms:012x}"
    oldest = f"apr_{scope.from_ms:012x}"
    while after is not None:
        page = await services.store.approvals(scope.principal_id, scope.agent_id, None, now_ms, after, _PAGE)
        for approval in page:
            if scope.from_ms <= approval.created_ms < scope.to_ms:
                found.add(approval)
        is_last = len(page) < _PAGE or page[-1].approval_id < oldest
        after = None if is_last else page[-1].approval_id
        await breathe()
    return found


def _figures(
    services: Services,
    count: Count,
    approvals: Approvals,
    ledger: Mapping[str, Json],
    names: Mapping[str, str | None],
    findings: Mapping[str, int],
) -> dict[str, Json]:
    refusals = _refusals(count)
    figures: dict[Figure, Any] = {
        Figure.DECISIONS: _decisions(count, names),
        Figure.VERIFICATION: _verification(count),
        Figure.REFUSALS: refusals,
        Figure.OUTCOMES: {**_outcomes(count), "permit_findings": findings},
        Figure.COSTS: _costs(count, [row for row in refusals if "-BUDGET-" in row["code"]]),
        Figure.LOOPS: [row for row in refusals if row["code"] in _LOOPS],
        Figure.APPROVALS: approvals.to_wire(),
        **{figure: changes.to_wire() for figure, changes in count.changes.items()},
        Figure.POLICY: _policies(services, count),
        Figure.LEDGER: ledger,
    }
    figures[Figure.ERASURES] = {"redacted_entries": count.redacted, **figures[Figure.ERASURES]}
    return {figure.value: figures[figure] for figure in Figure}


def _decisions(count: Count, names: Mapping[str, str | None]) -> dict[str, Json]:
    return {
        "total": count.decisions.total(),
        **_by_decision(count.decisions),
        "agents": len(count.by_agent),
        "not_listed": len(count.by_agent) - len(names),
        "by_agent": [
            {
                "agent_id": agent_id,
                "name": name,
                "total": count.by_agent[agent_id].total(),
                **_by_decision(count.by_agent[agent_id]),
            }
            for agent_id, name in names.items()
        ],
    }


def _by_decision(counts: Counter[str]) -> dict[str, int]:
    return {decision.value.lower(): counts[decision] for decision in Decision}


def _verification(count: Count) -> dict[str, Json]:
    return {
        "examined": count.verified.total(),
        "refused_before_examination": count.unexamined,
        "uncertain": count.uncertain,
        "list": [
            {"engine": engine, "risk_level": risk, "status": status, "decision": decision, "count": number}
            for (engine, risk, status, decision), number in sorted(count.verified.items())
        ],
    }


def _refusals(count: Count) -> list[dict[str, Json]]:
    return [
        {"code": code, "meaning": _meaning(code), "decision": decision, "count": number}
        for (code, decision), number in sorted(count.refusals.items())
    ]


def _meaning(code: str) -> str:
    row = CODES.get(Code(code)) if code in tuple(Code) else None
    return "a code that this version does not know" if row is None else row.meaning


def _outcomes(count: Count) -> dict[str, Json]:
    return {
        "allowed": count.allowed,
        "reported": count.allowed - count.outcomes[None],
        "missing": count.outcomes[None],
        "reported_by_the_agent_itself": count.self_reported,
        "by_outcome": {name: count.outcomes[name] for name in ("success", "partial", "failure", "unknown")},
    }


def _costs(count: Count, refusals: list[dict[str, Json]]) -> dict[str, Json]:
    return {
        "charged_usd": usd_of(count.cost_nano),
        "settled_difference_usd": usd_of(count.settled_nano),
        "total_usd": usd_of(count.cost_nano + count.settled_nano),
        "tokens": count.tokens,
        "budget_refusals": refusals,
    }


def _policies(services: Services, count: Count) -> dict[str, Json]:
    versions = sorted(count.versions.items(), key=lambda item: (item[1][1], item[0]))
    return {
        "current": services.policy.version,
        "versions": [
            {"version": version, "entries": number, "first_seen": iso(first), "last_seen": iso(last)}
            for version, (number, first, last) in versions
        ],
    }


def _ledger(ledger: LedgerState, checkpoint: SignedCheckpoint | None) -> dict[str, Json]:
    return {
        "entries": ledger.entries,
        "head": ledger.head.hex(),
        "first_entry_at": None if ledger.first_ms is None else iso(ledger.first_ms),
        "last_entry_at": None if ledger.last_ms is None else iso(ledger.last_ms),
        "checkpoint": None
        if checkpoint is None
        else {"size": checkpoint.size, "token": checkpoint.token, "cosignatures": checkpoint.cosignatures},
        "how_to_verify": list(_HOW_TO_VERIFY),
    }


_HOW_TO_VERIFY: Final = (
    "beside the store: qwed ledger verify --database PATH follows every entry, signature and text",
    "elsewhere: qwed ledger export writes the ledger to a file, and qwed ledger verify --export FILE --jwks"
    " KEYS needs nothing but that file and the gateway's public keys (/.well-known/jwks.json)",
    "add --known TOKEN with the checkpoint of this report: the ledger of a later day has to begin with it",
)
