"""Rules at run time: which of them match this action, and which cannot be evaluated.

A rule matched only where the library answers true, and did not match only where it answers false. Anything
else (an error, an exception, a value that is too long) is "cannot be evaluated", with the reason.
"""

import datetime
import math
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from decimal import Decimal
from typing import Any, Final

import msgspec
from cel_expr_python import cel

from qwed.domain.actions import Action
from qwed.domain.rules import PolicyRule
from qwed.engines.tools.slot_values import SLOT_FUNCTIONS
from qwed.rules.answers import ABSENT, KnownAnswers
from qwed.rules.expressions import Expression, read_expression
from qwed.rules.schema import RULE_SCHEMA, make_environment

#: What one path may be, written as text.
MAX_VALUE: Final = 16 * 1024
_MAX_DEPTH: Final = 16
#: So many rules are asked about at once, before each by itself.
_TOGETHER: Final = 50
_ASKED: Final = "$asked"
_MAX_REASON: Final = 200


class RuleView(msgspec.Struct, frozen=True, kw_only=True):
    """What rules can name, of one action."""

    action: Action
    asked: Action
    agent: Mapping[str, Any]
    context: Any
    risk: int
    finding: Mapping[str, Any]
    charge: float
    now_ms: int
    #: Which inspection the policy gives to parameters of this action, beside those that names tell.
    marks: Mapping[str, str] = {}
    #: Where a value comes from, by its path.
    origin: Callable[[str], str] | None = None


class Answered(msgspec.Struct, frozen=True):
    """The rules whose condition holds, each with why it could not be evaluated (None: it is true); and those
    whose earlier action this one is."""

    matched: tuple[tuple[PolicyRule, str | None], ...] = ()
    triggered: tuple[PolicyRule, ...] = ()


NOTHING_MATCHED: Final = Answered()
_VIEW: ContextVar[RuleView] = ContextVar("rule_view")


class NotHandedOver(ValueError):
    """A value that no expression gets to see."""


def _call(name: str) -> Callable[[Mapping[str, Any]], list[Any]]:
    function = SLOT_FUNCTIONS[name]

    def answer(given: Mapping[str, Any]) -> list[Any]:
        view = _VIEW.get()
        return function(view.asked if _ASKED in given else view.action, view.marks)

    return answer


def _origin(path: str) -> str:
    find = _VIEW.get().origin
    if find is None:
        raise NotHandedOver("origins are not known here")
    return find(path)


_ENVIRONMENT: Final = make_environment(
    RULE_SCHEMA, {**{name: _call(name) for name in SLOT_FUNCTIONS}, "origin": _origin}
)
_CONSTANTS: Final = dict(RULE_SCHEMA.constants)


class RuleReads(msgspec.Struct, frozen=True):
    """`paths` are what expressions, sums and distinct values read; `calls` the functions with what they are
    asked about; `is_timed` says whether one of the rules has a form of time. False where there is no rule."""

    paths: frozenset[tuple[str, ...]] = frozenset()
    calls: frozenset[tuple[str, str]] = frozenset()
    is_timed: bool = False
    is_any: bool = False

    def __bool__(self) -> bool:
        return self.is_any


def _reads_of(questions: "tuple[_Question, ...]") -> RuleReads:
    limits = [each.rule.limit for each in questions if each.rule.limit is not None]
    counted = {tuple(path.split(".")) for limit in limits for path in (limit.path, limit.by) if path}
    return RuleReads(
        frozenset(path for each in questions for path in each.expression.paths) | counted,
        frozenset(call for each in questions for call in each.expression.calls),
        any(each.rule.is_timed for each in questions),
        bool(questions),
    )


class _Question(msgspec.Struct, frozen=True):
    """One expression of one rule: its condition, or the earlier action that it is about."""

    rule: PolicyRule
    expression: Expression
    program: Any
    is_trigger: bool


class _Bucket:
    """The questions that an action of one type has to answer."""

    def __init__(self, questions: tuple[_Question, ...]) -> None:
        self.questions = questions
        self.reads: RuleReads | None = None
        self.needs = _Needs(each.expression for each in questions)
        self.known: KnownAnswers[Answered] = KnownAnswers(
            [(root, path) for root, paths in self.needs.members.items() for path in paths],
            is_on=not self.needs.calls_any and "now" not in self.needs.members,
        )
        self.disjunctions = [
            _compile(" || ".join(f"({each.expression.text}\n)" for each in group))
            for group in _groups(questions, _TOGETHER)
        ]


class RuleBook:
    """The rules of one policy, compiled. Raises `NotAnExpression` for one that is none."""

    def __init__(self, rules: Iterable[PolicyRule]) -> None:
        self._questions = tuple(question for rule in rules for question in _questions_of(rule))
        pinned = {name for each in self._questions for name in each.expression.types or ()}
        self._other = self._bucket(None)
        self._by_type = {name: self._bucket(name) for name in pinned}
        self.reads_score = any(("agent", "score") in each.expression.paths for each in self._questions)

    def _bucket(self, action_type: str | None) -> _Bucket:
        return _Bucket(
            tuple(
                each
                for each in self._questions
                if each.expression.types is None or action_type in each.expression.types
            )
        )

    def reads_of(self, action_type: str) -> "RuleReads":
        """What the rules for an action of this type look at."""
        bucket = self._by_type.get(action_type, self._other)
        if bucket.reads is None:
            bucket.reads = _reads_of(bucket.questions)
        return bucket.reads

    def ask(self, view: RuleView) -> Answered:
        bucket = self._by_type.get(view.action.type, self._other)
        if not bucket.questions:
            return NOTHING_MATCHED
        key = bucket.known.key_of(view)
        found = None if key is None else bucket.known.get(key)
        if found is not None:
            return found
        token = _VIEW.set(view)
        try:
            found = _ask(bucket, view)
        finally:
            _VIEW.reset(token)
        # What could not be evaluated is asked again: the next time it may be.
        if key is not None and all(problem is None for _, problem in found.matched):
            bucket.known.put(key, found)
        return found


def _questions_of(rule: PolicyRule) -> Iterable[_Question]:
    for text, is_trigger in ((rule.when, False), (rule.trigger, True)):
        if text is not None:
            yield _Question(rule, read_expression(text), _compile(text), is_trigger)


def _compile(text: str) -> Any:
    return _ENVIRONMENT.compile(text)


def _groups(questions: tuple[_Question, ...], size: int) -> Iterable[tuple[_Question, ...]]:
    return (questions[start : start + size] for start in range(0, len(questions), size))


def _ask(bucket: _Bucket, view: RuleView) -> Answered:
    try:
        activation = _ENVIRONMENT.Activation(bucket.needs.hand_over(view))
    except NotHandedOver:
        # One of them reads a value that is too long: who reads what is looked at one by one.
        return _ask_each(bucket.questions, view, None)
    undecided = [
        each
        for program, group in zip(bucket.disjunctions, _groups(bucket.questions, _TOGETHER), strict=True)
        if _truth(program, activation) is not False
        for each in group
    ]
    return _ask_each(undecided, view, activation) if undecided else NOTHING_MATCHED


def _ask_each(questions: Iterable[_Question], view: RuleView, activation: Any) -> Answered:
    matched, triggered = [], []
    for each in questions:
        answer = _answer(each, view, activation)
        if answer is False:
            continue
        problem = None if answer is True else answer
        if not each.is_trigger:
            matched.append((each.rule, problem))
        # What must have come before did not, unless that is certain; what must not have come did.
        elif problem is None or each.rule.requires is None:
            triggered.append(each.rule)
    return Answered(tuple(matched), tuple(triggered))


def _answer(question: _Question, view: RuleView, activation: Any) -> bool | str:
    if activation is None:
        try:
            activation = _ENVIRONMENT.Activation(_Needs((question.expression,)).hand_over(view))
        except NotHandedOver as error:
            return str(error)
    return _truth(question.program, activation)


def _truth(program: Any, activation: Any) -> bool | str:
    """True, false, or why neither."""
    try:
        answer = program.eval(activation)
        kind = answer.type()
        if kind == cel.Type.BOOL:
            return answer.value() is True
        return (
            str(answer.value())[:_MAX_REASON] if kind == cel.Type.ERROR else "the answer is not true or false"
        )
    # Whatever goes wrong in the library or in a function of ours: this is no "no".
    except Exception as error:  # noqa: BLE001
        return f"{error or type(error).__name__}"[:_MAX_REASON]


# --- what expressions get to see ----------------------------------------------------------------------


class _Needs:
    """What a set of expressions names, sorted by where it is found."""

    def __init__(self, expressions: Iterable[Expression]) -> None:
        given = tuple(expressions)
        #: Functions take these as a whole; what is in them they read for themselves.
        self.asks = frozenset(name for each in given for _, name in each.calls)
        self.calls_any = any(each.calls for each in given)
        self.constants = {
            name: value for name, value in _CONSTANTS.items() if any(name in each.text for each in given)
        }
        self.members: dict[str, list[tuple[str, ...]]] = {}
        for path in sorted(path for each in given for path in each.paths):
            if path[1:] not in self.members.setdefault(path[0], []):
                self.members[path[0]].append(path[1:])

    def hand_over(self, view: RuleView) -> dict[str, Any]:
        """Only what is named. Raises `NotHandedOver`."""
        data: dict[str, Any] = self.constants.copy()
        for name in self.asks:
            data[name] = {_ASKED: True} if name == "asked" else {}
        for root, paths in self.members.items():
            if root in ("risk", "charge"):
                data[root] = getattr(view, root)
            elif root == "now":
                data[root] = datetime.datetime.fromtimestamp(view.now_ms / 1000, datetime.UTC)
            else:
                value = getattr(view, root)
                if isinstance(value, Action):
                    value = value.to_wire()
                    value.setdefault("parameters", {})
                data[root] = _pick(value, root, paths, data.get(root, {}))
        return data


def _pick(whole: Any, root: str, paths: list[tuple[str, ...]], picked: dict[str, Any]) -> Any:
    """The parts that are named, with the maps that lead to them. What is not there is left out."""
    if () in paths or not isinstance(whole, Mapping):
        return _plain(whole, root)
    for path in paths:
        source, target = whole, picked
        for key in path[:-1]:
            inner = source.get(key, ABSENT)
            if not isinstance(inner, Mapping):
                if inner is not ABSENT:
                    target[key] = _plain(inner, root, path)
                break
            source, target = inner, target.setdefault(key, {})
        else:
            if path[-1] in source:
                target[path[-1]] = _plain(source[path[-1]], root, path)
    return picked


def _plain(value: Any, root: str, path: tuple[str, ...] = ()) -> Any:
    # Most are short texts.
    if type(value) is str and len(value) <= MAX_VALUE:
        return value
    return _copy(value, ".".join((root, *path)), [MAX_VALUE], 0)


def _copy(value: Any, where: str, left: list[int], depth: int) -> Any:
    """As the library takes it: whole numbers of 64 bits, other numbers as doubles."""
    left[0] -= len(value) if isinstance(value, str) else 8
    if left[0] < 0 or depth > _MAX_DEPTH:
        raise NotHandedOver(f"{where} is longer than {MAX_VALUE} characters or nested too deeply")
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if -(2**63) <= value < 2**63 else float(value)
        case float() | Decimal():
            number = float(value)
            if math.isfinite(number):
                return number
        case Mapping():
            for key in value:
                left[0] -= len(str(key))
            return {str(key): _copy(item, where, left, depth + 1) for key, item in value.items()}
        case list() | tuple():
            return [_copy(item, where, left, depth + 1) for item in value]
    raise NotHandedOver(f"{where} is no value that a rule can read")
