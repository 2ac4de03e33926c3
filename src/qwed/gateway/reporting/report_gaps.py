"""What a report does not know, said as plainly as what it does. Nothing is taken for granted."""

from collections.abc import Iterable
from typing import Final

from qwed.domain.json_types import Json
from qwed.domain.times import DAY_MS, day_of, iso
from qwed.gateway.kernel.records import LedgerState, ReportScope, SignedCheckpoint
from qwed.gateway.reporting.report_sums import MAX_LISTED, Approvals, Count

MAX_LISTED_DAYS: Final = 31


def not_measured(
    scope: ReportScope,
    count: Count,
    approvals: Approvals,
    ledger: LedgerState,
    checkpoint: SignedCheckpoint | None,
    now_ms: int,
) -> Iterable[dict[str, Json]]:
    yield _describe_unmeasured(
        "actions that were not proposed", None, "an agent that does not ask the gateway leaves no entry here"
    )
    yield _describe_unmeasured(
        "the people behind the keys", None, "an answer names the key that gave it, not who held the key"
    )
    yield _describe_unmeasured(
        "failed attempts to authenticate",
        None,
        "they are in the security log, since nobody may harm a record without its agent's credential",
    )
    yield from _gaps_in_time(scope, count, ledger, now_ms)
    yield from _gaps_in_facts(scope, count)
    yield from _gaps_in_lists(count, approvals)
    yield _describe_unmeasured(
        "the ledger's integrity",
        None,
        "the chain was not followed while this report was made; the section on the ledger says how to do it",
    )
    if ledger.adopted_ms is not None:
        yield _describe_unmeasured(
            "agents, keys, approvals and trust before they were committed to the ledger",
            ledger.adopted,
            f"these rows were taken over on {iso(ledger.adopted_ms)[:10]}, and are not provable before",
        )
    if checkpoint is None:
        yield _describe_unmeasured(
            "a signed checkpoint",
            None,
            "there is none: that the whole ledger was replaced shows only against a head kept elsewhere",
        )
    elif not checkpoint.cosignatures:
        yield _describe_unmeasured(
            "a witness's signature",
            None,
            "only the gateway signed its checkpoint: whoever has its key could replace the whole ledger",
        )


def _describe_unmeasured(what: str, count: int | None, why: str) -> dict[str, Json]:
    return {"what": what, "count": count, "why": why}


def _gaps_in_time(
    scope: ReportScope, count: Count, ledger: LedgerState, now_ms: int
) -> Iterable[dict[str, Json]]:
    if count.first_ms is None or count.last_ms is None:
        yield _describe_unmeasured("the whole period", None, "there is no entry in it for this scope")
        return
    if ledger.first_ms is not None and scope.from_ms < ledger.first_ms:
        yield _describe_unmeasured(
            "time before the first record", None, f"the ledger begins at {iso(ledger.first_ms)}"
        )
    if scope.to_ms > now_ms + 1:
        yield _describe_unmeasured(
            "time after this report was made", None, "the period ends later than the report was made"
        )
    silent = _silent_days(count)
    if silent:
        listed = ", ".join(iso(day * DAY_MS)[:10] for day in silent[:MAX_LISTED_DAYS])
        more = "" if len(silent) <= MAX_LISTED_DAYS else ", …"
        yield _describe_unmeasured(
            "days without any entry",
            len(silent),
            f"nothing was asked, or nothing was recorded, on {listed}{more}; the record cannot tell which",
        )


def _silent_days(count: Count) -> list[int]:
    """Between the first and the last entry; a long silence is not spelled out without end."""
    assert count.first_ms is not None and count.last_ms is not None
    days = range(day_of(count.first_ms), min(day_of(count.last_ms), day_of(count.first_ms) + 36_600))
    return [day for day in days if day not in count.days]


def _gaps_in_facts(scope: ReportScope, count: Count) -> Iterable[dict[str, Json]]:
    missing = count.outcomes[None]
    facts = (
        (
            "outcomes that were never reported",
            missing,
            "what became of these allowed actions is not known; their cost is the estimate",
        ),
        (
            "outcomes that only the agent itself reported",
            count.self_reported,
            "they are the agent's word; a success among them never raised its trust",
        ),
        (
            "outcomes nobody could tell",
            count.outcomes["unknown"],
            "they were reported as unknown, and no person has settled them",
        ),
        (
            "actions no engine could decide",
            count.uncertain,
            "verification ended as uncertain, so a person had to decide",
        ),
        (
            "requests no engine looked at",
            count.unexamined,
            "an earlier check refused them: credentials, context, loops, budget, registration or permissions",
        ),
        (
            "entries whose text was erased",
            count.redacted,
            "they are counted, and what they said cannot be examined any more",
        ),
        (
            "entries under a policy version beyond the first thousand",
            count.uncounted_versions,
            "they are counted in every figure but that of the policy versions",
        ),
    )
    for what, number, why in facts:
        if number:
            yield _describe_unmeasured(what, number, why)
    # The ledger does not say whose entries these were: the figure is for those who see them all.
    if count.removed and scope.principal_id is None and scope.agent_id is None:
        yield _describe_unmeasured(
            "entries that are gone",
            count.removed,
            "the ledger holds their commitments, and the records were removed: no other figure has them",
        )
    elif count.removed:
        yield _describe_unmeasured(
            "entries that are gone",
            None,
            "records of this period were removed, by retention or otherwise; whose they were cannot be told",
        )


def _gaps_in_lists(count: Count, approvals: Approvals) -> Iterable[dict[str, Json]]:
    lists = {figure.value: changes.total - len(changes.listed) for figure, changes in count.changes.items()}
    lists["approvals"] = approvals.total - len(approvals.listed)
    lists["agents"] = len(count.by_agent) - len(count.busiest())
    cut = sum(lists.values())
    if cut:
        names = ", ".join(name for name, number in lists.items() if number)
        yield _describe_unmeasured(
            "rows that are counted and not listed",
            cut,
            f"a list shows at most {MAX_LISTED}; cut: {names}",
        )
