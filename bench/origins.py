"""Who said a value: what it costs to hear a result, to ask about an action, and to have many of them."""

import time
import tracemalloc
from collections.abc import Callable, Iterator

Figure = tuple[str, float, str, float | None]

ROUNDS = 7
KEY = b"k" * 32
CONVERSATIONS = 10_000


def figures() -> Iterator[Figure]:
    yield "a result of 4 kB with 60 atoms", _hear(_rows()), "µs CPU", 150
    yield "a result of 4 kB with 100 atoms", _hear(_short_rows()), "µs CPU", None
    yield "a result of 4 kB with 87 atoms of rarer kinds", _hear(_rare_rows()), "µs CPU", None
    yield "a result of 4 kB of prose", _hear(_prose()), "µs CPU", 1_000
    yield "an action of three values among 1 000 that were said", _ask(), "µs CPU", 60
    yield "the same through the gateway, beside one that reports nothing", _added(), "µs CPU", None
    yield f"{CONVERSATIONS:,} conversations of 60 values each".replace(",", " "), _memory(), "MB", 200


def _cheapest(work: Callable[[], object], times: int) -> float:
    """Microseconds of CPU, the best of some rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.process_time()
        for _ in range(times):
            work()
        best = min(best, (time.process_time() - started) / times * 1e6)
    return best


def _rows() -> list[dict[str, str]]:
    """Twelve records of five atoms: an address, its host, an amount, and the first two as whole fields. Words
    make it 4 kB, in every record others."""
    rest = "the customer asked for a call back and was told that somebody will ring up on some other day"
    more = f"{rest} and then nobody did so because of all the holidays"
    return [
        {"mail": f"user{n}@host.example", "due": f"{n}1.50", "text": more[: 148 - n], "more": more[n:]}
        for n in range(12)
    ]


def _short_rows() -> list[dict[str, str]]:
    """Twenty of them, and fewer words."""
    return [
        {"mail": f"user{n}@host.example", "due": f"{n}1.50", "text": _rows()[n % 12]["text"]}
        for n in range(20)
    ]


def _rare_rows() -> list[dict[str, str]]:
    """Accounts in groups, links, dates, paths and amounts with a currency: no short way leads to them."""
    return [
        {
            "account": f"DE{n + 10} 3704 0044 0532 0130 {n + 10}",
            "link": f"https://Pay.Host.example/bills/{n}?ref={n + 40}",
            "due": f"2026-11-{n + 10}",
            "file": f"/srv/bills/{n}.pdf",
            "sum": f"1,{n + 200}.50 EUR",
            "text": ("The customer asked for a call back (twice) and was told: somebody will ring up. " * 5)[
                :395
            ],
        }
        for n in range(7)
    ]


def _prose() -> str:
    sentence = (
        "Prices fell in the third quarter, and nobody could say why the market of the north had not moved. "
    )
    return (sentence * 50)[:4_096]


def _hear(result: object) -> float:
    from qwed.domain.provenance_rules import SourceRule
    from qwed.origins.index import hear_result

    return _cheapest(lambda: hear_result(KEY, "read", 1, SourceRule(), result), 50)


def _index():
    from qwed.domain.provenance_rules import SourceRule
    from qwed.origins.index import Index, hear_result, hear_user

    index = Index(KEY, [hear_user(KEY, "write to anna@us.example about 12.50", 0)])
    step = 0
    while index.size < 1_000:
        step += 1
        rows = [{"mail": f"user{step}x{n}@host.example", "due": n + 0.5} for n in range(20)]
        index.add(hear_result(KEY, "read", step, SourceRule(), rows))
    return index


PARAMETERS = {"to": "user3x7@host.example", "amount": 12.5, "body": "please call me back about the offer"}


def _ask() -> float:
    from qwed.domain.actions import Action
    from qwed.domain.provenance_rules import NO_PROVENANCE_RULES
    from qwed.domain.risk import Risk
    from qwed.origins.judge import judge

    index, action = _index(), Action("write_mail", parameters=PARAMETERS)
    return _cheapest(lambda: judge(index, action, NO_PROVENANCE_RULES, Risk.MEDIUM), 500)


def _added() -> float:
    """Of a decision in memory: one agent reported a thousand values, the other nothing."""
    reported = [
        {"tool": "read", "result": [{"mail": f"u{n}@host.example", "due": n + 0.5} for n in range(250)]}
    ]
    said = [{"role": "user", "content": "write to anna@us.example"}]
    plain, covered = _gateway({}), _gateway({"results": reported, "messages": said})
    rounds = [(_decide(plain), _decide(covered)) for _ in range(ROUNDS)]
    for opened in (plain, covered):
        opened[0].close()
    return min(new for _, new in rounds) - min(old for old, _ in rounds)


def _gateway(context: dict[str, object]):
    from qwed import Gateway
    from qwed.policy import load_policy

    policy = load_policy("tools: {write_mail: {group: safe, risk: medium}}\n", "bench")
    gateway = Gateway.open(":memory:", policy=policy)
    budget = {"max_requests_per_hour": None, "max_requests_per_day": None, "max_daily_cost_usd": None}
    agent = gateway.register_agent(name="bench", type="autonomous", principal_id="p", budget=budget)
    steps = iter(range(1, 10**9))
    opened = gateway, agent["agent_id"], steps
    _call(opened, context)
    return opened


def _call(opened, context: dict[str, object]) -> None:
    gateway, agent_id, steps = opened
    step = next(steps)
    place = {"conversation_id": "c", "step_number": step}
    parameters = {"to": "anna@us.example", "body": f"the {step}th letter about the offer"}
    gateway.verify_tool(agent_id, "write_mail", parameters, context={**place, **context})


def _decide(opened, times: int = 5) -> float:
    started = time.thread_time()
    for _ in range(times):
        _call(opened, {})
    return (time.thread_time() - started) / times * 1e6


def _memory() -> float:
    """What a process has at hand after so many conversations were heard, and the store in memory of them."""
    from qwed import Gateway
    from qwed.domain.provenance_rules import NO_PROVENANCE_RULES
    from qwed.gateway.kernel.coroutines import run
    from qwed.gateway.kernel.reports import ReportedResult, Reports

    rows = [{"mail": f"u{n}@host.example", "due": n + 0.5} for n in range(15)]
    reports = Reports(("write to anna",), (ReportedResult("read", rows, {}, 1),))
    with Gateway.open(":memory:") as gateway:
        services = gateway.services
        tracemalloc.start()
        for number in range(CONVERSATIONS):
            place = ("agent", f"c{number}")
            run(
                services.hearing.hear(services.store, services.signer, place, NO_PROVENANCE_RULES, reports, 1)
            )
        found = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
    return found / 1e6
