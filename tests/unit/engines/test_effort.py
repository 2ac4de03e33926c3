"""What is quick: by how much there is to read and as what, counted and not timed.

`bench/quick_work.py` has the texts that were made to be slow, and times them."""

import itertools
from collections.abc import Mapping

import pytest
from bench.quick_work import BULKS, KINDS, SIZES
from tests.support.calls import counted_calls

from qwed.domain.actions import Action
from qwed.engines.catalogue import CATALOGUE, EngineRules, build_engine
from qwed.engines.effort import count_tokens, is_short, is_small
from qwed.engines.facade import Engines
from qwed.engines.fair_queue import Client

ENGINES = {name: build_engine(name, EngineRules()) for name in CATALOGUE}
#: About what Python calls within 2 ms.
MAX_CALLS = 12_000
KIND_NAMES = [f"{engine}: {kind}" for engine, kind, _, _ in KINDS]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("x", 1), ("1+1", 3), ("print(a_b)", 4), ("hello  world\n", 2), ("ab" * 40, 1), ("é ü", 2)],
)
def test_words_and_signs_are_what_counts(text, tokens):
    assert count_tokens(text, 100) == tokens


def test_what_begins_a_statement_anew_counts_for_more():
    assert count_tokens("a;b;c", 100) > count_tokens("a+b+c", 100)


def test_a_text_that_is_too_long_is_not_looked_at():
    with counted_calls() as work:
        assert not is_short("a " * 10**6, 50)

    assert work.calls < 10


class Endless(Mapping):
    """Parameters without end; how many were asked for is counted."""

    def __init__(self):
        self.asked = 0

    def __iter__(self):
        while True:
            self.asked += 1
            yield f"p{self.asked}"

    def __getitem__(self, key):
        return 1

    def __len__(self):
        return 10**9


@pytest.mark.parametrize("wrap", [lambda endless: endless, lambda endless: {"a": [{"b": endless}]}])
def test_counting_stops_where_the_answer_is_known(wrap):
    endless = Endless()

    assert not is_small(Action("x", query="1", parameters=wrap(endless)), 50)
    assert endless.asked <= 50


def test_what_is_nested_deeply_is_not_small():
    nested = "x"
    for _ in range(20):
        nested = [nested]

    assert not is_small(Action("x", parameters={"a": nested}), 1_000)


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("bulk", BULKS)
def test_to_ask_whether_a_large_action_is_quick_is_little_work(name, bulk):
    # Tables that are made on first use are no part of it.
    ENGINES[name].is_quick(Action("x", parameters={"a": "ls " * 50}))
    with counted_calls() as work:
        ENGINES[name].is_quick(BULKS[bulk])

    assert work.calls < 2_000


def largest_quick(engine, action_of, text):
    """The largest of a text's sizes that the engine calls quick."""
    actions = (action_of(text(size, 7)) for size in SIZES)
    return max(itertools.takewhile(engine.is_quick, actions), key=size_of, default=None)


def size_of(action):
    return len(repr(action))


@pytest.mark.parametrize("kind", KINDS, ids=KIND_NAMES)
def test_whatever_is_quick_is_little_work(kind):
    name, _, action_of, texts = kind
    engine = ENGINES[name]
    slow = {}
    for shape, text in texts.items():
        action = largest_quick(engine, action_of, text)
        if action is None:
            continue
        engine.verify(action_of(text(max(SIZES) // 10, 8)))
        with counted_calls() as work:
            engine.verify(action)
        if work.calls > MAX_CALLS:
            slow[shape] = work.calls

    assert slow == {}


class NotedPool:
    """Takes every job, and keeps which."""

    def __init__(self):
        self.jobs = []

    def submit(self, engine, action, **options):
        self.jobs.append((engine, action, options["client"]))
        return "later"

    def close(self):
        pass


@pytest.mark.parametrize(
    "action",
    [
        Action("execute_code", code="x = 1\n" + "x += 1\n" * 500, parameters={"language": "python"}),
        Action("execute_code", code="x=" + "1+" * 1_000 + "1"),
        Action("execute_code", code="[x for x in " * 40 + "[]" + "]" * 40),
        Action("execute_sql", query="SELECT 1;" * 100),
        Action("execute_sql", query="SELECT 1", parameters={"note": "SELECT 1 FROM t " * 50}),
        Action("verify_fact", query="Anna bought 3 apples. " * 40, parameters={"sources": ["Anna did."]}),
        Action("calculate", query="and 5% of 3 is 7 " * 30),
        Action("calculate", query="1<2" + "<3" * 200),
        Action("frobnicate", parameters={"thing": "$(a)" * 200}),
    ],
    ids=lambda action: f"{action.type} {str(action.query or action.code)[:20]}",
)
def test_hard_work_goes_to_the_workers_with_the_name_of_who_asks(action):
    pool = NotedPool()
    engines = Engines(EngineRules(tool_risks={"frobnicate": EngineRules().tool_risks["send_email"]}), pool)
    client = Client("acme", "agent_1")

    engines.start(action, engine=EngineRules().actions.get(action.type, "tool_control"), client=client)

    assert [(job[1], job[2]) for job in pool.jobs] == [(action, client)]


@pytest.mark.parametrize(
    "action",
    [
        Action("execute_code", code="import math\nprint(math.sqrt(2))", parameters={"language": "python"}),
        Action("execute_code", code="1+1"),
        Action(
            "execute_sql", query="SELECT u.id, u.name FROM users u JOIN t ON t.id = u.id WHERE u.age > 21"
        ),
        Action("calculate", query="15% of 200 is 30"),
        Action("calculate", query="(17.5 * 3 + 2) / 4 - 1 >= 12"),
        Action("verify_fact", query="Anna bought 3 apples.", parameters={"sources": ["Anna bought apples."]}),
        Action("send_email", parameters={"to": "a@b.example", "body": "Dear Anna (and Bob); see you. " * 40}),
        Action("read_file", parameters={"path": "/srv/data/reports/2025/q3.csv"}),
        Action("http_request", parameters={"url": "https://api.example.com/v1/items?limit=10&after=abc"}),
        Action(
            "frobnicate", parameters={"thing": "a few ordinary words about nothing, as people write " * 8}
        ),
    ],
    ids=lambda action: f"{action.type} {str(action.query or action.code)[:20]}",
)
def test_ordinary_work_is_done_at_once(action):
    pool = NotedPool()

    engines = Engines(EngineRules(), pool)
    engines.start(action, engine=EngineRules().actions.get(action.type, "tool_control"), client=None)

    assert pool.jobs == []
