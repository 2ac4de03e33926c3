"""Which of two sets of rules lets more through, and for which action.

A rule of one policy is *covered* where a rule of the other stops the same action at least as strictly. What
is covered everywhere got no looser.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import z3

from qwed.domain.policy import Policy
from qwed.domain.rules import Cooldown, Limit, Mode, NeverAfter, PolicyRule, Requires, Then
from qwed.rules.analysis.examples import Example, example_from
from qwed.rules.analysis.findings import STRICTNESS, WIDTH, is_tighter
from qwed.rules.analysis.questions import SolverQuestions, nice
from qwed.rules.analysis.read_rules import ReadRule, read_rules
from qwed.rules.analysis.reports import Difference, Direction
from qwed.rules.analysis.terms import MAX_ELEMENTS, count_loops
from qwed.rules.analysis.translation import Translator


class Gap(msgspec.Struct, frozen=True):
    """An action that only one side stops; or `why` nobody can tell. Neither: there is none."""

    example: Mapping[str, Any] | None = None
    why: str = ""


def compare_rules(old: Policy, new: Policy) -> list[Difference]:
    """Every rule, then every action type that is registered on either side."""
    before, after = ([each for each in read_rules(policy) if _decides(each.rule)] for policy in (old, new))
    comparison = _Comparison(new, before, after)
    ids = dict.fromkeys(rule.id for rule in (*old.rules, *new.rules))
    types = sorted({*old.actions, *new.actions})
    return [
        *(comparison.rule(name) for name in ids),
        *(comparison.action(name) for name in types),
    ]


def _decides(rule: PolicyRule) -> bool:
    return rule.mode is Mode.ENFORCE and rule.then is not Then.NOTE


class _Comparison:
    def __init__(self, policy: Policy, before: list[ReadRule], after: list[ReadRule]) -> None:
        self._questions = SolverQuestions(policy)
        self._before, self._after = before, after

    def rule(self, name: str) -> Difference:
        old, new = (self._find_named(side, name) for side in (self._before, self._after))
        if _meaning(old) == _meaning(new):
            return Difference(f"rule {name}", Direction.SAME)
        looser = self._gap(old, self._after, None)
        tighter = self._gap(new, self._before, None)
        return judge(f"rule {name}", tighter, looser)

    def action(self, name: str) -> Difference:
        old, new = (_about(side, name) for side in (self._before, self._after))
        if sorted(_meaning(old)) == sorted(_meaning(new)):
            return Difference(f"action {name}", Direction.SAME)
        return judge(f"action {name}", self._gap(new, old, name), self._gap(old, new, name))

    def _find_named(self, side: list[ReadRule], name: str) -> list[ReadRule]:
        return [each for each in side if each.rule.id == name]

    def _gap(self, stopping: Sequence[ReadRule], covering: Sequence[ReadRule], action: str | None) -> Gap:
        """An action that one of `stopping` stops, and none of `covering` at least as strictly."""
        unknown = ""
        for each in stopping:
            found = self._report_uncovered(each, covering, action)
            if found.example is not None:
                return found
            unknown = unknown or found.why
        return Gap(why=unknown)

    def _report_uncovered(self, each: ReadRule, covering: Sequence[ReadRule], action: str | None) -> Gap:
        others = [other for other in covering if _is_as_strict(other.rule, each.rule)]
        loops = sum(count_loops(one.when.tree) for one in (each, *others))
        translator = Translator(elements=max(1, loops))
        fires, plainly = _fire(translator, each), translator.claim(each.when.tree).true
        silent = [z3.Not(_fire(translator, other)) for other in others]
        forms = [*_implications([each, *others])]
        world = list(self._questions.world(translator, action))
        constraints = [fires, *silent, *forms, *world, *translator.facts]
        # An action on which the rule is true shows more than one on which it cannot be evaluated.
        model = self._questions.solve([*constraints, plainly, *nice(translator)])
        if model is None or isinstance(model, str):
            model = self._questions.solve(constraints)
        if isinstance(model, str):
            return Gap(why=model)
        if model is None:
            return Gap(why="more loops over lists than are looked at") if loops > MAX_ELEMENTS else Gap()
        example = example_from(model, translator)
        if not _is_confirmed(example, each, others, model):
            return Gap(
                why=next(iter(translator.holes.values()), "the example that was found is not confirmed")
            )
        return Gap(_show(example, each))


def _is_confirmed(example: Example, each: ReadRule, others: Sequence[ReadRule], model: Any) -> bool:
    """The library agrees; of rules with a form of time the model says whether their time has come."""
    if example.evaluate(each.when.text) is False:
        return False
    return all(
        example.evaluate(other.when.text) is False
        for other in others
        if not other.rule.is_timed or z3.is_true(model.eval(_time_of(other), model_completion=True))
    )


def _show(example: Example, each: ReadRule) -> dict[str, Any]:
    wire = example.to_wire()
    return (
        {**wire, "when": f"the {_form(each.rule)} of {each.rule.id} applies"} if each.rule.is_timed else wire
    )


def judge(subject: str, tighter: Gap, looser: Gap) -> Difference:
    if looser.why:
        return Difference(subject, Direction.NOT_ANALYSED, looser.why, tighter.example)
    if tighter.why:
        # That nothing got looser is proven, and so is what did.
        direction = Direction.TIGHTER if looser.example is None else Direction.LOOSER
        return Difference(subject, direction, f"no example of tighter: {tighter.why}", None, looser.example)
    found = (tighter.example is not None, looser.example is not None)
    direction = {
        (False, False): Direction.SAME,
        (True, False): Direction.TIGHTER,
        (False, True): Direction.LOOSER,
        (True, True): Direction.BOTH,
    }[found]
    return Difference(subject, direction, "", tighter.example, looser.example)


def _meaning(rules: Iterable[ReadRule]) -> list[str]:
    return [str(msgspec.structs.replace(each.rule, line=0, message="", id="")) for each in rules]


def _about(side: list[ReadRule], action: str) -> list[ReadRule]:
    return [each for each in side if each.when.types is None or action in each.when.types]


def _is_as_strict(one: PolicyRule, other: PolicyRule) -> bool:
    if STRICTNESS[one.then] != STRICTNESS[other.then]:
        return STRICTNESS[one.then] > STRICTNESS[other.then]
    return one.then is Then.DENY or (other.role in (None, one.role) and one.approvers >= other.approvers)


def _fire(translator: Translator, each: ReadRule) -> Any:
    matches = translator.claim(each.when.tree).matches
    return z3.And(matches, _time_of(each)) if each.rule.is_timed else matches


def _time_of(each: ReadRule) -> Any:
    """Whether the time of a rule has come: the same form about the same actions, the same answer."""
    rule = each.rule
    return z3.Bool(f"{rule.when} {rule.limit} {rule.requires} {rule.never_after} {rule.cooldown}")


def _form(rule: PolicyRule) -> str:
    names = ("limit", "requires", "never_after", "cooldown")
    return next((name for name in names if getattr(rule, name) is not None), "")


def _implications(rules: Sequence[ReadRule]) -> Iterable[Any]:
    """Of two forms of time about the same actions, the stricter one applies wherever the other does."""
    for one in rules:
        for other in rules:
            if (
                one is not other
                and one.rule.when == other.rule.when
                and _is_form_as_strict(one.rule, other.rule)
            ):
                yield z3.Implies(_time_of(other), _time_of(one))


def _is_form_as_strict(one: PolicyRule, other: PolicyRule) -> bool:
    match (
        one.limit or one.requires or one.never_after or one.cooldown,
        other.limit or other.requires or other.never_after or other.cooldown,
    ):
        case Limit() as mine, Limit() as theirs:
            return is_tighter(mine, theirs)
        case Requires() as mine, Requires() as theirs:
            return (
                mine.before == theirs.before
                and mine.within_ms <= theirs.within_ms
                and mine.succeeded >= theirs.succeeded
                and mine.confirmed >= theirs.confirmed
                and WIDTH[mine.same] <= WIDTH[theirs.same]
            )
        case NeverAfter() as mine, NeverAfter() as theirs:
            return mine.after == theirs.after and _is_wider(
                mine.within_ms, mine.same, theirs.within_ms, theirs.same
            )
        case Cooldown() as mine, Cooldown() as theirs:
            return _is_wider(mine.within_ms, mine.per, theirs.within_ms, theirs.per)
    return False


def _is_wider(within: int, scope: Any, other_within: int, other_scope: Any) -> bool:
    return within >= other_within and WIDTH[scope] >= WIDTH[other_scope]
