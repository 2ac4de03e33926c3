"""A text decides by what it does, wherever it stands: texts in random fields of random actions."""

import random
from pathlib import Path
from typing import Any

from tests.corpora import hostile_texts, ordinary_actions
from tests.support.tiers import scale

from qwed.domain.actions import Action
from qwed.domain.findings import Finding, Status
from qwed.domain.risk import Risk
from qwed.engines.candidates import _find_program, _find_sql, _find_windows, find_in
from qwed.engines.code import CodeEngine
from qwed.engines.may_act import may_act
from qwed.engines.sql import SqlEngine
from qwed.engines.tools import ToolControlEngine

SQL = SqlEngine()
CODE = CodeEngine()
TOOLS = ToolControlEngine()
_LETTERS = "abcdefghijklmnopqrstuvwxyz_ABC"


def _name(draw: random.Random) -> str:
    return "".join(draw.choice(_LETTERS) for _ in range(draw.randint(1, 10)))


def _hide(text: str, draw: random.Random, depth: int = 0) -> Any:
    """The text somewhere inside a JSON value, among ordinary ones."""
    ordinary = draw.choice(ordinary_actions.POOLS["id"])
    choice = draw.randrange(4 if depth < 4 else 1)
    if choice == 0:
        return text
    if choice == 1:
        return {_name(draw): ordinary, _name(draw): _hide(text, draw, depth + 1)}
    if choice == 2:
        return [_hide(text, draw, depth + 1)]
    return {text: ordinary} if draw.random() < 0.3 else {_name(draw): [_hide(text, draw, depth + 1)]}


def _action(text: str, draw: random.Random) -> tuple[Action, Any]:
    parameters = {_name(draw): _hide(text, draw)} if draw.random() < 0.9 else {}
    target = text if not parameters else None
    kind = draw.randrange(3)
    if kind == 0:
        return Action("execute_sql", "SELECT 1", target=target, parameters=parameters), SQL
    if kind == 1:
        return Action("execute_code", code="1+1", target=target, parameters=parameters), CODE
    return Action("custom_tool", target=target, parameters=parameters), TOOLS


def _is_alarm(finding: Finding) -> bool:
    return finding.status is not Status.VERIFIED or finding.risk >= Risk.HIGH


def test_the_worst_text_decides_wherever_it_stands() -> None:
    draw = random.Random(11)
    missed = []
    for _ in range(scale(ci=1_500, nightly=5_000, long=10_000)):
        text = draw.choice(hostile_texts.ALL)
        action, engine = _action(text, draw)
        if not _is_alarm(engine.verify(action)):
            missed.append(action)

    assert missed == []


def test_adding_a_text_never_makes_an_answer_better() -> None:
    draw = random.Random(12)
    for _ in range(scale(ci=300, nightly=3_000)):
        action, engine = _action(draw.choice(hostile_texts.ALL), draw)
        more = {**action.parameters, _name(draw) * 2: draw.choice(ordinary_actions.POOLS["sentence"])}
        before = engine.verify(action)
        after = engine.verify(Action(action.type, action.query, action.code, action.target, more))

        assert after.status.gravity >= before.status.gravity
        assert after.risk >= before.risk


def test_ordinary_actions_raise_hardly_any_alarm() -> None:
    count = scale(ci=3_000, nightly=20_000)
    calls = list(ordinary_actions.ordinary_tool_calls(count))
    alarms = [action for action in calls if _is_alarm(TOOLS.verify(action))]

    assert len(alarms) <= count * 0.005, alarms[:20]


def test_ordinary_members_beside_a_program_raise_hardly_any_alarm() -> None:
    count = scale(ci=1_000, nightly=10_000)
    alarms = []
    for action in ordinary_actions.ordinary_program_calls(count):
        engine: Any = SQL if action.type == "execute_sql" else CODE
        alone = engine.verify(Action(action.type, action.query, action.code))
        finding = engine.verify(action)
        if (finding.status, finding.risk) != (alone.status, alone.risk):
            alarms.append(action)

    assert len(alarms) <= count * 0.005, alarms[:20]


VALUES = (
    (Path(ordinary_actions.__file__).parent / "ordinary_values.txt").read_text(encoding="utf-8").splitlines()
)
_CALLS: Any = (
    ("execute_sql", {"query": "SELECT id, name FROM users WHERE id = 7"}, SQL),
    ("execute_code", {"code": "print(sum([1, 2, 3]))"}, CODE),
    ("create_ticket", {}, TOOLS),
    ("web_search", {}, TOOLS),
    ("add_calendar_entry", {}, TOOLS),
)
_MEMBERS = ("title", "purpose", "summary", "label", "topic", "description", "reason", "keywords")


def test_what_people_write_in_unregistered_members_raises_hardly_any_alarm() -> None:
    draw = random.Random(15)
    count, alarms = 0, []
    for value in VALUES:
        for kind, program, engine in _CALLS:
            member = draw.choice(_MEMBERS)
            value_or_list = [value, draw.choice(VALUES)] if draw.random() < 0.2 else value
            alone = engine.verify(Action(kind, **program, parameters={"n": 1}))
            finding = engine.verify(Action(kind, **program, parameters={"n": 1, member: value_or_list}))
            count += 1
            if (finding.status, finding.risk) != (alone.status, alone.risk):
                alarms.append((kind, member, value_or_list))

    assert count >= 500
    assert len(alarms) <= count * 0.005, (count, len(alarms), alarms)


def test_the_pre_test_never_says_no_where_the_inspection_finds_something() -> None:
    draw = random.Random(13)
    pieces = [
        *(word for text in hostile_texts.ALL for word in text.split()),
        *(word for text in ordinary_actions.POOLS["sentence"] for word in text.split()),
        *[";", "&", "|", "\n", "'", '"', "-", "/", ".", "!", "#", "?", ",", ":", "@", "%", "+"],
    ]
    for _ in range(scale(ci=1_500, nightly=30_000)):
        text = " ".join(draw.choice(pieces) for _ in range(draw.randint(1, 6)))
        if draw.random() < 0.3:
            text = text.replace(" ", "", 1)
        if not may_act(text):
            assert _find_sql(text) is None, text
            assert _find_program(text) is None, text
            assert _find_windows(text) is None, text


def test_every_hostile_text_is_found_alone() -> None:
    assert [text for text in hostile_texts.ALL if find_in(text) is None] == []
