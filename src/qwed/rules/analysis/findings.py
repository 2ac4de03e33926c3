"""What may be wrong with the rules of a policy: each finding has its line, and often an example."""

import itertools
from collections.abc import Iterator
from typing import Any, Final

from qwed.domain.nearest import nearest_name
from qwed.domain.policy import Policy
from qwed.domain.rules import Limit, Measure, Mode, Per, PolicyRule, Then
from qwed.rules.analysis.looks import look_at
from qwed.rules.analysis.questions import SolverAnswer, SolverQuestions, Want
from qwed.rules.analysis.read_rules import ReadRule, read_rules
from qwed.rules.analysis.reports import PolicyAnalysis, PolicyFinding, Unanalysed
from qwed.rules.expressions import Expression, find_pinned_types
from qwed.rules.tree import CelCall, CelLiteral, CelNode

MAX_PAIRS: Final = 4_000
STRICTNESS: Final = {Then.NOTE: 0, Then.ASK: 1, Then.DENY: 2}
#: From the narrowest to the widest: what is counted for one is counted for all that follow.
WIDTH: Final = {Per.CONVERSATION: 0, Per.AGENT: 1, Per.TEAM: 2, Per.PRINCIPAL: 2, Per.EVERYTHING: 3}


def analyse_rules(policy: Policy) -> PolicyAnalysis:
    """Everything that can be said about the rules of a policy, in the order of its file."""
    work = _Work(policy)
    work.run()
    found = sorted(work.findings, key=lambda finding: finding.line)
    return PolicyAnalysis(tuple(found), tuple(sorted(work.unanalysed, key=lambda each: each.line)))


class _Work:
    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._questions = SolverQuestions(policy)
        self.findings: list[PolicyFinding] = []
        self.unanalysed: list[Unanalysed] = []
        self._dead: set[str] = set()

    def run(self) -> None:
        read = read_rules(self._policy)
        for each in read:
            self._look_at_names(each)
            for code, message in look_at(each.rule, each.when, each.trigger):
                self._say(code, each.rule, message)
        for each in read:
            if each.rule.id not in self._dead:
                self._look_alone(each)
        live = [each for each in read if each.rule.id not in self._dead]
        pairs = list(itertools.permutations(live, 2))
        for one, other in pairs[:MAX_PAIRS]:
            self._look_at_pair(one, other)
        if len(pairs) > MAX_PAIRS:
            self._pass("every pair of rules", live[-1].rule, f"more than {MAX_PAIRS} pairs of rules")
        for each in live:
            self._look_at_order(each, live)
            self._look_at_thresholds(each, live)

    def _say(self, code: str, rule: PolicyRule, message: str, example: Any = None) -> None:
        self.findings.append(PolicyFinding(code, rule.id, rule.line, message, example))

    def _pass(self, question: str, rule: PolicyRule, why: str) -> None:
        self.unanalysed.append(Unanalysed(rule.id, rule.line, question, why))

    def _ask(self, question: str, rule: PolicyRule, answer: SolverAnswer) -> bool:
        """Whether it was proven that there is none; what nobody can tell is said."""
        if answer.why is not None:
            self._pass(question, rule, answer.why)
        return answer.is_impossible

    # --- one rule ----------------------------------------------------------------------------------------

    def _look_at_names(self, each: ReadRule) -> None:
        for expression in filter(None, (each.when, each.trigger)):
            for name in sorted(expression.types or ()):
                if not self._policy.is_registered(name):
                    near = nearest_name(name, self._policy.actions)
                    hint = f"; did you mean {near}?" if near else "; name it under tools or actions"
                    self._say("unknown-name", each.rule, f'no action or tool is called "{name}"{hint}')
                    self._dead.add(each.rule.id)

    def _look_alone(self, each: ReadRule) -> None:
        rule = each.rule
        if self._ask("can it match?", rule, self._questions.find((each.when, Want.TRUE))):
            self._dead.add(rule.id)
            free = self._questions.find((each.when, Want.TRUE), with_tables=False)
            why = (
                "whatever the action is"
                if free.is_impossible
                else "no action that reaches the rules is like this"
            )
            self._say(
                "never-matches", rule, f"can never match: {why}", None if free.is_impossible else _wire(free)
            )
            return
        if not self._is_on_purpose(rule, each.when.tree):
            silent = self._questions.find((each.when, Want.SILENT))
            if self._ask("does it always match?", rule, silent):
                example = _wire(self._questions.find((each.when, Want.TRUE)))
                self._say("always-matches", rule, "matches every action", example)
                return
        self._look_at_parts(each, each.when)
        self._look_at_trigger(each)
        limit, steps = rule.limit, self._policy.loops.max_steps
        if limit is None or limit.per is not Per.CONVERSATION or limit.measure is Measure.SUM:
            return
        if limit.at_most >= steps:
            message = f"can never be reached: a conversation has at most {steps} steps (loops.max_steps)"
            self._say("unreachable-limit", rule, message)

    def _is_on_purpose(self, rule: PolicyRule, tree: CelNode) -> bool:
        """`when: "true"` says plainly that a limit or a note is meant for everything."""
        return tree == CelLiteral(True, tree.position) and (rule.is_timed or rule.then is Then.NOTE)

    def _look_at_parts(self, each: ReadRule, expression: Expression) -> None:
        """Of `a && b`, a part that is always true; of `a || b`, one that never is."""
        for part in _parts(expression.tree, "_&&_"):
            if _is_constant(part):
                continue
            inner = _expression_of(expression, part)
            if self._questions.find((inner, Want.SILENT), with_tables=False).is_impossible:
                self._say("vacuous-part", each.rule, f"{_quote(expression, part)} is never false")
            for option in _parts(part, "_||_"):
                if option is part:
                    continue
                chosen = _expression_of(expression, option)
                if self._questions.find((chosen, Want.TRUE), with_tables=False).is_impossible:
                    self._say("vacuous-part", each.rule, f"{_quote(expression, option)} is never true")

    def _look_at_trigger(self, each: ReadRule) -> None:
        rule, trigger = each.rule, each.trigger
        if trigger is None:
            return
        if self._ask("can the earlier action happen?", rule, self._questions.find((trigger, Want.TRUE))):
            what = "so it always refuses" if rule.requires is not None else "so it never refuses"
            self._say("impossible-trigger", rule, f"the earlier action can never happen, {what}")

    # --- two rules ---------------------------------------------------------------------------------------

    def _look_at_pair(self, one: ReadRule, other: ReadRule) -> None:
        """Whether `one` is pointless beside `other`."""
        if (
            _is_disjoint(one.when, other.when)
            or other.rule.mode is Mode.OBSERVE
            or one.rule.mode is Mode.OBSERVE
        ):
            return
        if not other.rule.is_timed and self._is_stricter(one, other) and self._covers(one.when, other.when):
            example = _wire(self._questions.find((one.when, Want.TRUE)))
            self._say(
                "shadowed",
                one.rule,
                f"has no effect: {_name(other.rule)} {_effect(other.rule)} all of it",
                example,
            )
            self._dead.add(one.rule.id)
        elif one.rule.limit is not None and self._is_unreachable(one, other):
            self._say(
                "unreachable-limit", one.rule, f"can never be reached: {_name(other.rule)} stops it before"
            )

    def _is_stricter(self, one: ReadRule, other: ReadRule) -> bool:
        mine, theirs = one.rule, other.rule
        if mine.then is Then.NOTE or theirs.then is Then.NOTE or {mine.id, theirs.id} & self._dead:
            return False
        if STRICTNESS[theirs.then] > STRICTNESS[mine.then]:
            return True
        if (
            theirs.then is not mine.then
            or (mine.role or theirs.role) != theirs.role
            or mine.approvers > theirs.approvers
        ):
            return False
        # Of two that say the same, the later is too much.
        return mine.is_timed or not self._covers(other.when, one.when) or mine.line > theirs.line

    def _covers(self, inner: Expression, outer: Expression) -> bool:
        return self._questions.find((inner, Want.MATCHES), (outer, Want.SILENT)).is_impossible

    def _is_unreachable(self, one: ReadRule, other: ReadRule) -> bool:
        mine, theirs = one.rule.limit, other.rule.limit
        assert mine is not None
        if other.rule.then is not Then.DENY:
            return False
        if other.rule.cooldown is not None and mine.measure is Measure.COUNT:
            wide = WIDTH[other.rule.cooldown.per] >= WIDTH[mine.per]
            most = (mine.within_ms - 1) // other.rule.cooldown.within_ms + 1
            return wide and most <= mine.at_most and self._covers(one.when, other.when)
        if theirs is None or not is_tighter(theirs, mine):
            return False
        if is_tighter(mine, theirs) and one.rule.line < other.rule.line:
            return False
        return self._covers(one.when, other.when)

    def _look_at_order(self, each: ReadRule, live: list[ReadRule]) -> None:
        """Whether what must come before, or must not, can happen at all."""
        if each.trigger is None:
            return
        for other in live:
            if other.rule.mode is Mode.OBSERVE or other.rule.then is not Then.DENY:
                continue
            if not other.rule.is_timed and self._implies(each.trigger, other.when):
                example = _wire(self._questions.find((each.trigger, Want.TRUE)))
                message = f"the earlier action is always denied, by {_name(other.rule)}"
                self._say("denied-trigger", each.rule, message, example)
            elif self._waits_for(each, other):
                itself = "itself" if other is each else _name(other.rule)
                message = f"waits for what waits for {itself}: neither can ever happen"
                self._say("deadlock", each.rule, message)
            elif self._contradicts(each, other):
                self._say("contradiction", each.rule, f"requires what {_name(other.rule)} forbids before it")

    def _waits_for(self, each: ReadRule, other: ReadRule) -> bool:
        if each.rule.requires is None or other.rule.requires is None:
            return False
        if each.trigger is None or other.trigger is None:
            return False
        return self._implies(each.trigger, other.when) and self._implies(other.trigger, each.when)

    def _contradicts(self, each: ReadRule, other: ReadRule) -> bool:
        needs, never = each.rule.requires, other.rule.never_after
        if needs is None or never is None or each.trigger is None or other.trigger is None:
            return False
        if never.within_ms < needs.within_ms or WIDTH[never.same] < WIDTH[needs.same]:
            return False
        return self._implies(each.when, other.when) and self._implies(each.trigger, other.trigger)

    def _implies(self, inner: Expression, outer: Expression) -> bool:
        if _is_disjoint(inner, outer):
            return False
        return self._questions.find((inner, Want.TRUE), (outer, Want.SILENT)).is_impossible

    # --- thresholds --------------------------------------------------------------------------------------

    def _look_at_thresholds(self, each: ReadRule, live: list[ReadRule]) -> None:
        """A rule that stops less risk, or more trust, and lets the opposite pass."""
        rule = each.rule
        if (
            rule.then is Then.NOTE
            or rule.mode is Mode.OBSERVE
            or not {("risk",), ("agent", "trust")} & each.when.paths
        ):
            return
        stricter = [
            other.when
            for other in live
            if STRICTNESS[other.rule.then] >= STRICTNESS[rule.then] and not other.rule.is_timed
        ]
        for what, words in (
            ("risk", "the same action at higher risk"),
            ("trust", "the same agent with less trust"),
        ):
            found = self._questions.find_reversal(each.when, [each.when, *stricter], what)
            if found is not None:
                self._say("swapped-threshold", rule, f"{_effect(rule)} this, and not {words}", found)


def _wire(answer: SolverAnswer) -> dict[str, Any] | None:
    return None if answer.example is None else answer.example.to_wire()


def _name(rule: PolicyRule) -> str:
    return f"{rule.id} (line {rule.line})"


def _effect(rule: PolicyRule) -> str:
    return {Then.DENY: "denies", Then.ASK: "asks about", Then.NOTE: "notes"}[rule.then]


def _is_disjoint(one: Expression, other: Expression) -> bool:
    return one.types is not None and other.types is not None and not one.types & other.types


def is_tighter(one: Limit, other: Limit) -> bool:
    """Whether `one` is reached no later than `other`, where both look at the same actions."""
    return (
        one.measure is other.measure
        and one.path == other.path
        and one.by in (None, other.by)
        and WIDTH[one.per] >= WIDTH[other.per]
        and one.at_most <= other.at_most
        and one.within_ms >= other.within_ms
    )


def _parts(node: CelNode, operator: str) -> list[CelNode]:
    if isinstance(node, CelCall) and node.function == operator:
        return [part for argument in node.arguments for part in _parts(argument, operator)]
    return [node]


def _is_constant(node: CelNode) -> bool:
    return isinstance(node, CelLiteral)


def _expression_of(whole: Expression, part: CelNode) -> Expression:
    return Expression(whole.text, part, whole.paths, whole.calls, find_pinned_types(part))


def _quote(whole: Expression, part: CelNode) -> str:
    """Roughly where the part stands: from its first sign to the end of its line."""
    starts = [node.position for node in _leaves(part)]
    begin = min(starts)
    return f"the part at column {begin - whole.text.rfind(chr(10), 0, begin)}"


def _leaves(node: CelNode) -> Iterator[CelNode]:
    yield node
    if isinstance(node, CelCall):
        for argument in node.arguments:
            yield from _leaves(argument)
