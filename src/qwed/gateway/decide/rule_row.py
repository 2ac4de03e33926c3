"""The policy's rules, as one row of the table; and what they want the store to check and count.

Rules only tighten. A grant satisfies every rule that asked for it; those that deny, those that did not ask
then, and every limit are asked again when it is used.
"""

import functools
import hashlib
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import msgspec

from qwed.domain.actions import Action
from qwed.domain.codes import Code, Refusal
from qwed.domain.decisions import BINDING, Decision
from qwed.domain.money import usd_of
from qwed.domain.policy import Policy
from qwed.domain.registry import TOOL_CONTROL
from qwed.domain.rule_windows import (
    DISTINCT_PREFIX,
    Proof,
    Reached,
    TimeForm,
    WindowCheck,
    WindowMark,
)
from qwed.domain.rules import Measure, Mode, Per, PolicyRule, Then, show_duration
from qwed.domain.verdicts import APPROVED, Asked, Verdict
from qwed.gateway.decide.case import Case, Door, MatchedRule, RowAnswer, Ruled, Ruling
from qwed.gateway.decide.facts import Facts
from qwed.gateway.decide.value_origins import origin_of
from qwed.rules.evaluate import Answered, RuleBook, RuleView

_BOOKS: Final = "_rule_books"
#: Amounts beyond these are no amounts that a sum can hold exactly.
_MAX_AMOUNT: Final = Decimal(10) ** 24
_MIN_EXPONENT: Final = -24
#: Before the names of rules that only watch; no rule has a blank in its name.
_WATCHED: Final = "shadow: "
_NOT_ASKED: Final = "nobody was asked about this when the grant was given: propose the action again"


def book_of(policy: Policy, principal_id: str) -> RuleBook:
    """The rules for agents of a principal, compiled once; kept with what else follows from a policy."""
    books: dict[str | None, RuleBook] = policy.__dict__.setdefault(_BOOKS, {})
    team = policy.team_of.get(principal_id)
    book = books.get(team)
    if book is None:
        book = books[team] = RuleBook(policy.rules_of(team))
    return book


async def follows_rules(case: Case, facts: Facts) -> RowAnswer:
    book = book_of(case.policy, case.agent.principal_id)
    score = await facts.rule_score(case) if book.reads_score else None
    ruled = _rule_on(case, book.ask(_view_of(case, score)))
    if ruled is None:
        return case
    case = case.add(ruled=ruled)
    verdict = join_rules(case, [match for match in ruled.matched if _speaks_at_once(match)])
    if verdict.decision is Decision.DENIED:
        # What is refused uses no grant up.
        case = case.add(redeemed=None)
    return Ruling(case, verdict)


def _speaks_at_once(match: MatchedRule) -> bool:
    return match.is_full or not match.rule.is_timed


# --- what rules look at -------------------------------------------------------------------------------


def _view_of(case: Case, score: float | None) -> RuleView:
    examined, agent = case.examined, case.agent
    assert examined is not None
    known = {
        "id": agent.agent_id,
        "name": agent.name,
        "type": agent.type.value,
        "trust": int(agent.trust_level),
        "principal": agent.principal_id,
    }
    finding = examined.finding
    return RuleView(
        action=finding.corrected or case.action,
        asked=case.action,
        agent=known if score is None else {**known, "score": score},
        context=case.context if isinstance(case.context, Mapping) else {},
        risk=int(examined.risk),
        finding={
            "status": finding.status.value,
            "engine": finding.engine,
            "evidence": finding.evidence,
        },
        charge=float(usd_of(case.charge.cost)),
        now_ms=case.now_ms,
        marks=_marks_of(case),
        # Where nothing was traced no origin is known, and a rule that asks for one can't be evaluated.
        origin=None if case.origins is None else functools.partial(origin_of, case),
    )


def _marks_of(case: Case) -> Mapping[str, str]:
    if case.rule is None or case.rule.engine != TOOL_CONTROL:
        return {}
    return {check.parameter: check.kind for check in case.rule.checks}


def _rule_on(case: Case, answered: Answered) -> Ruled | None:
    """None where no rule has anything to say or to remember."""
    if not answered.matched and not answered.triggered:
        return None
    matched, windows, marks = [], [], [_mark_of(case, rule) for rule in answered.triggered]
    for rule, problem in answered.matched:
        check = _check_of(case, rule) if rule.is_timed else None
        # What it would count can't be read: it counts as reached.
        matched.append(MatchedRule(rule, problem, is_full=rule.is_timed and check is None))
        if check is not None:
            windows.append(check)
        if check is not None and rule.cooldown is not None:
            marks.append(WindowMark(check.key, rule.cooldown.within_ms))
    return Ruled(tuple(matched), tuple(windows), tuple(mark for mark in marks if mark is not None))


def _check_of(case: Case, rule: PolicyRule) -> WindowCheck | None:
    if (limit := rule.limit) is not None:
        value, by = _value_of(case, limit.measure, limit.path), _by_of(case, limit.by)
        key = None if by is None else _key_of(case, rule, limit.per, "limit", by)
        if key is None or value is None:
            return None
        return WindowCheck(rule.id, key, TimeForm.LIMIT, limit.within_ms, limit.at_most, limit.measure, value)
    form, per, within_ms = TimeForm.ABSENT, Per.AGENT, 0
    if rule.requires is not None:
        form, per, within_ms = TimeForm.PRESENT, rule.requires.same, rule.requires.within_ms
    elif rule.never_after is not None:
        per, within_ms = rule.never_after.same, rule.never_after.within_ms
    elif rule.cooldown is not None:
        per, within_ms = rule.cooldown.per, rule.cooldown.within_ms
    key = _key_of(case, rule, per, "time")
    return None if key is None else WindowCheck(rule.id, key, form, within_ms, is_counted=False)


def _mark_of(case: Case, rule: PolicyRule) -> WindowMark | None:
    """The action is one that the rule asks about later."""
    if (required := rule.requires) is not None:
        key = _key_of(case, rule, required.same, "time")
        proof = Proof.CONFIRMED if required.confirmed else Proof(int(required.succeeded))
        return None if key is None else WindowMark(key, required.within_ms, proof)
    assert rule.never_after is not None
    key = _key_of(case, rule, rule.never_after.same, "time")
    return None if key is None else WindowMark(key, rule.never_after.within_ms)


def _key_of(case: Case, rule: PolicyRule, per: Per, form: str, by: str = "") -> bytes | None:
    """Whose actions are looked at together; None where that is not known (no conversation)."""
    whose = _whose(case, per)
    if whose is None:
        return None
    measure = (rule.limit.measure, rule.limit.path, rule.limit.by) if rule.limit else ()
    named = (rule.id, rule.mode, form, measure, per, whose, by)
    return hashlib.blake2b(msgspec.json.encode(named), digest_size=16).digest()


def _whose(case: Case, per: Per) -> tuple[str, ...] | None:
    match per:
        case Per.AGENT:
            return (case.agent.agent_id,)
        case Per.CONVERSATION:
            return None if case.step is None else (case.agent.agent_id, case.step.conversation_id)
        case Per.EVERYTHING:
            return ()
        case Per.TEAM:
            # Those without a team are looked at together.
            return (case.policy.team_of.get(case.agent.principal_id, ""),)
    return (case.agent.principal_id,)


def _value_of(case: Case, measure: Measure, path: str | None) -> str | None:
    """What is counted, as the store keeps it; None where it can't be read."""
    if measure is Measure.COUNT or path is None:
        return ""
    found = _find(case, path)
    if measure is Measure.SUM:
        amount = _amount_of(found)
        return None if amount is None else format(amount, "f")
    text = _text_of(found)
    return None if text is None else DISTINCT_PREFIX + hashlib.blake2b(text, digest_size=16).hexdigest()


def _by_of(case: Case, path: str | None) -> str | None:
    if path is None:
        return ""
    text = _text_of(_find(case, path))
    return None if text is None else text.decode()


def _text_of(value: Any) -> bytes | None:
    if not isinstance(value, str | int | float | bool | Decimal):
        return None
    return msgspec.json.encode(value)


def _amount_of(value: Any) -> Decimal | None:
    """An exact decimal that is not negative; anything else is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    try:
        amount = Decimal(repr(value) if isinstance(value, float) else value)
    except InvalidOperation:
        return None
    if not amount.is_finite() or not 0 <= amount <= _MAX_AMOUNT:
        return None
    exponent = amount.as_tuple().exponent
    return amount if isinstance(exponent, int) and exponent >= _MIN_EXPONENT else None


def _find(case: Case, path: str) -> Any:
    root, *keys = path.split(".")
    assert case.examined is not None
    action = case.examined.finding.corrected or case.action
    value: Any = {
        "action": action,
        "asked": case.action,
        "context": case.context,
        "agent": {"id": case.agent.agent_id, "name": case.agent.name, "principal": case.agent.principal_id},
        "charge": {"usd": usd_of(case.charge.cost), "tokens": case.charge.tokens},
    }[root]
    for key in keys:
        if isinstance(value, Action):
            value = value.to_wire()
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


# --- what they come to --------------------------------------------------------------------------------


def join_rules(case: Case, matches: Sequence[MatchedRule]) -> Verdict:
    """All that are in force, joined by `tighten`."""
    verdict = APPROVED
    for match in matches:
        if match.rule.mode is Mode.ENFORCE and match.rule.then is not Then.NOTE:
            verdict = verdict.tighten(_verdict_of(case, match))
    return verdict


def _verdict_of(case: Case, match: MatchedRule) -> Verdict:
    rule = match.rule
    is_granted = case.door is Door.GRANT and case.approval is not None and rule.id in case.approval.rules
    if rule.then is Then.ASK and is_granted:
        return APPROVED
    code = (
        Code.RULE_LIMIT if rule.is_timed else Code.RULE_DENIED if rule.then is Then.DENY else Code.RULE_ASKS
    )
    message = explain_rule(match)
    if rule.then is Then.DENY:
        return Verdict(Decision.DENIED, Refusal(code, message))
    if case.door is Door.GRANT:
        return Verdict(Decision.DENIED, Refusal(code, f"{message}; {_NOT_ASKED}"))
    roles = frozenset() if rule.role is None else frozenset({rule.role})
    asked = Asked(also_roles=roles, approvers=rule.approvers, policy_rules=frozenset({rule.id}))
    return Verdict(Decision.PENDING, Refusal(code, message), asked=asked)


def explain_rule(match: MatchedRule) -> str:
    rule = match.rule
    said = rule.message or _say(rule)
    why = "" if match.problem is None else f" (it cannot be evaluated: {match.problem})"
    if match.is_full:
        why += " (what it counts can't be read from the action)"
    return f"rule {rule.id}: {said}{why}"


def _say(rule: PolicyRule) -> str:
    if (limit := rule.limit) is not None:
        return f"at most {limit.at_most:f} in {show_duration(limit.within_ms)}"
    if rule.requires is not None:
        return f"what must come before is missing in the last {show_duration(rule.requires.within_ms)}"
    if rule.never_after is not None:
        return f"not within {show_duration(rule.never_after.within_ms)} after what it names"
    if rule.cooldown is not None:
        return f"not twice within {show_duration(rule.cooldown.within_ms)}"
    return {Then.DENY: "denies this", Then.ASK: "asks a person", Then.NOTE: "notes this"}[rule.then]


# --- what the store checks and counts -----------------------------------------------------------------


def windows_of(case: Case) -> tuple[tuple[WindowCheck, ...], tuple[WindowMark, ...]]:
    """Of what acts, everything counts. What waits is checked and not counted; what is refused, neither. What
    a policy that only watches counts comes along, under keys of its own."""
    checks, marks = _own_windows(case)
    for other in (case.uncounted, case.watched):
        if other is not None:
            checks, marks = (*checks, *other.windows), (*marks, *other.marks)
    return checks, marks


def _own_windows(case: Case) -> tuple[tuple[WindowCheck, ...], tuple[WindowMark, ...]]:
    decision = case.verdict.decision
    is_open = decision in BINDING
    if case.ruled is None or not (is_open or case.acts):
        return (), ()
    is_over = {reached.rule for reached in case.reached} | _find_granted(case)
    checks = tuple(
        msgspec.structs.replace(
            check,
            is_checked=is_open and check.rule not in is_over,
            is_counted=check.is_counted and case.acts,
        )
        for check in case.ruled.windows
    )
    return checks, case.ruled.marks if case.acts else ()


def _find_granted(case: Case) -> frozenset[str]:
    return frozenset(case.approval.rules) if case.door is Door.GRANT and case.approval else frozenset()


def take_reached(case: Case, reached: Sequence[Reached]) -> tuple[Case, Verdict]:
    """What follows from windows that the store found full."""
    full = {each.rule for each in reached}
    matched = () if case.ruled is None else case.ruled.matched
    verdict = join_rules(case, [match for match in matched if match.rule.id in full])
    return case.add(reached=tuple(reached)), verdict


# --- what a policy that only watches counts -----------------------------------------------------------


def watch_windows(other: Case, verdict: Verdict) -> Ruled:
    """What the rules of the other policy check and count where it says this, apart from those in force."""
    checks, marks = _own_windows(other.add(verdict=verdict, watched=None, uncounted=None))
    return Ruled(
        windows=tuple(
            msgspec.structs.replace(check, rule=_WATCHED + check.rule, key=_apart(check.key))
            for check in checks
        ),
        marks=tuple(msgspec.structs.replace(mark, key=_apart(mark.key)) for mark in marks),
    )


def watched_reached(case: Case) -> tuple[Reached, ...]:
    """The windows of the other policy that the store found full."""
    return tuple(
        msgspec.structs.replace(each, rule=each.rule.removeprefix(_WATCHED))
        for each in case.reached
        if each.rule.startswith(_WATCHED)
    )


def _apart(key: bytes) -> bytes:
    return hashlib.blake2b(key, digest_size=16, person=b"qwed-shadow").digest()


def rules_to_wire(case: Case, *, with_observed: bool) -> list[dict[str, Any]]:
    """Every rule that matched and had something to say, with its message."""
    if case.ruled is None:
        return []
    full = {each.rule: each for each in case.reached}
    told = []
    for match in case.ruled.matched:
        rule, reached = match.rule, full.get(match.rule.id)
        is_said = not rule.is_timed or match.is_full or reached is not None
        if is_said and (with_observed or rule.mode is Mode.ENFORCE):
            told.append(_tell(match, reached))
    return told


def _tell(match: MatchedRule, reached: Reached | None) -> dict[str, Any]:
    rule = match.rule
    told: dict[str, Any] = {"id": rule.id, "then": rule.then.value, "message": rule.message or _say(rule)}
    if rule.mode is Mode.OBSERVE:
        told["observed"] = True
    if match.problem is not None:
        told["problem"] = match.problem
    if reached is not None and reached.used is not None:
        told["used"] = reached.used
    if reached is not None and reached.is_merged:
        told["merged"] = True
    return told
