"""What rules add to a decision: those that do not match, those of one action type, and one with a window."""

import tempfile
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

Figure = tuple[str, float, str, float | None]

ROUNDS = 7
TIMES = 2_000


def figures() -> Iterator[Figure]:
    yield "ten rules that do not match", _ask(_plain(10)), "µs CPU", 20
    yield "ten rules that do not match, on values that never came before", _ask_anew(_plain(10)), "µs CPU", 20
    yield "500 rules of other action types", _ask(_by_type(500)), "µs CPU", 40
    yield "500 rules, one of the action's own type", _ask(_by_type(500), "type_7"), "µs CPU", 40
    yield "one team of 100 rules, one of the action's own type", _ask_team(1), "µs CPU", 40
    yield "the same beside 49 teams, 5 000 rules in all", _ask_team(50), "µs CPU", 40
    yield "a policy of 50 teams and 5 000 rules, read", _load_teams(), "s CPU", None
    yield "a window in memory, checked and counted", _window(), "µs CPU", None
    yield "a window's row in SQLite", _row(), "µs CPU", None
    yield (
        "a matching rule with a window, of a decision on SQLite (without the row)",
        _added(_LIMIT),
        "µs CPU",
        60,
    )
    yield "a shadow policy with ten rules that do not match", _look(), "µs CPU", 30


def _cheapest(work: Callable[[], object], times: int = TIMES) -> float:
    """Microseconds of CPU, the best of some rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.process_time()
        for _ in range(times):
            work()
        best = min(best, (time.process_time() - started) / times * 1e6)
    return best


def _plain(count: int):
    from qwed.domain.rules import PolicyRule, Then

    when = 'action.type in ["calculate", "refund"] && risk >= CRITICAL && agent.trust < {}'
    return [PolicyRule(id=f"r{n}", when=when.format(n), then=Then.DENY) for n in range(count)]


def _by_type(count: int):
    from qwed.domain.rules import PolicyRule, Then

    return [
        PolicyRule(id=f"r{n}", when=f'action.type == "type_{n}" && risk >= CRITICAL', then=Then.DENY)
        for n in range(count)
    ]


_LIMIT = "rules: [{id: r, when: 'risk < CRITICAL', limit: {at_most: 10000, within: 1s}, then: deny}]\n"
DECISIONS = 100


def _shadow_text() -> str:
    rules = (f"  - {{id: {rule.id}, when: '{rule.when}', then: deny}}\n" for rule in _plain(10))
    return "rules:\n" + "".join(rules)


def _added(text: str) -> float:
    """What a policy adds to a decision on SQLite, in the thread that decides: the best of rounds, one beside
    the other. The row is written on another thread, and is a figure of its own."""
    with tempfile.TemporaryDirectory() as folder:
        plain, other = _gateway(Path(folder) / "plain", "", ""), _gateway(Path(folder) / "other", text, "")
        rounds = [(_decide(plain, number), _decide(other, number)) for number in range(2 * ROUNDS)]
        for gateway in (plain, other):
            gateway[0].close()
    return min(with_rule for _, with_rule in rounds) - min(without for without, _ in rounds)


def _look() -> float:
    """What a shadow does for one decision, on a case as the gateway hands it over."""
    from qwed.gateway.decide.shadow import Shadow
    from qwed.gateway.kernel.coroutines import run

    seen = []
    look = Shadow.look

    async def watch(self, case, facts):
        seen.append((self, case, facts))
        return await look(self, case, facts)

    with tempfile.TemporaryDirectory() as folder:
        gateway = _gateway(Path(folder) / "store", "", _shadow_text())
        Shadow.look = watch
        try:
            _decide(gateway, 0, 3)
        finally:
            Shadow.look = look
        found = _cheapest(lambda: run(look(*seen[-1])), 500)
        gateway[0].close()
    return found


def _gateway(folder: Path, text: str, shadow: str):
    import msgspec

    from qwed import Gateway
    from qwed.gateway.decide.shadow import Shadow
    from qwed.policy import load_policy

    folder.mkdir()
    gateway = Gateway.open(folder / "store.db", policy=load_policy(text, "bench"))
    if shadow:
        watcher = Shadow(load_policy(shadow, "bench"), lambda *said: None)
        gateway.services = msgspec.structs.replace(gateway.services, shadow=watcher)
    budget = {"max_requests_per_hour": None, "max_requests_per_day": None, "max_daily_cost_usd": None}
    agent = gateway.register_agent(name="bench", type="autonomous", principal_id="p", budget=budget)
    return gateway, agent["agent_id"]


def _decide(opened, number: int, times: int = DECISIONS) -> float:
    gateway, agent_id = opened
    started = time.thread_time()
    for n in range(times):
        context = {"conversation_id": f"c{number}-{n}", "step_number": 1}
        gateway.verify_action(agent_id, {"type": "calculate", "query": "2+2=4"}, context)
    return (time.thread_time() - started) / times * 1e6


def _team_text(teams: int) -> str:
    when = 'action.type == "type_{}" && risk >= CRITICAL'
    lines = ["teams:"]
    for team in range(teams):
        lines += [f"  team_{team}:", f"    principals: [p{team}]", "    rules:"]
        lines += [f"      - {{id: t{team}r{n}, when: '{when.format(n)}', then: deny}}" for n in range(100)]
    return "\n".join(lines)


def _ask_team(teams: int) -> float:
    """Finding the rules of the principal, and asking them."""
    from qwed.gateway.decide.rule_row import book_of
    from qwed.policy import load_policy

    policy, view = load_policy(_team_text(teams), "bench"), _view("type_7")
    for team in range(teams):
        book_of(policy, f"p{team}")
    return _cheapest(lambda: book_of(policy, "p0").ask(view))


def _load_teams() -> float:
    from qwed.policy import load_policy

    text, started = _team_text(50), time.process_time()
    load_policy(text, "bench")
    return time.process_time() - started


def _ask_anew(rules) -> float:
    """Nothing is remembered of what was asked before."""
    from qwed.rules.answers import KnownAnswers

    remembers = KnownAnswers.key_of
    KnownAnswers.key_of = lambda self, view: None
    try:
        return _ask(rules)
    finally:
        KnownAnswers.key_of = remembers


def _ask(rules, action_type: str = "calculate") -> float:
    from qwed.rules.evaluate import RuleBook

    book, view = RuleBook(rules), _view(action_type)
    return _cheapest(lambda: book.ask(view))


def _view(action_type: str):
    from qwed.domain.actions import Action
    from qwed.rules.evaluate import RuleView

    action = Action(action_type, query="1234 * 17")
    return RuleView(
        action=action,
        asked=action,
        agent={"id": "a", "trust": 2},
        context={"conversation_id": "c", "step_number": 1},
        risk=0,
        finding={"status": "VERIFIED"},
        charge=0.01,
        now_ms=1_700_000_000_000,
    )


def _window() -> float:
    from qwed.domain.rule_windows import TimeForm, Window, WindowCheck
    from qwed.domain.rules import Measure

    window = Window(Measure.SUM)
    check = WindowCheck("r", b"k" * 16, TimeForm.LIMIT, 3_600_000, Decimal(10**9), Measure.SUM, "12.50")

    def count() -> None:
        window.reach(check, 1)
        window.add(check, 1)

    return _cheapest(count, 1_000)


def _row() -> float:
    import sqlite3

    from qwed.domain.rule_windows import CountedEntry
    from qwed.domain.rules import Measure
    from qwed.stores.sqlite.file import connect_writer, migrate
    from qwed.stores.sqlite.rule_windows import write_entry

    with tempfile.TemporaryDirectory() as folder:
        writer: sqlite3.Connection = connect_writer(Path(folder) / "store.db")
        migrate(writer, Path(folder) / "store.db")
        numbers = iter(range(1, 10**9))
        writer.execute("BEGIN IMMEDIATE")

        def put() -> None:
            number = next(numbers)
            write_entry(
                writer.execute, CountedEntry(b"k" * 16, Measure.COUNT, number, number, "", number + 1)
            )

        found = _cheapest(put, 500)
        writer.execute("COMMIT")
        writer.close()
        return found
