"""What the broker adds to a request: by itself, and with the gateway that makes sure of one use."""

import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2

Figure = tuple[str, float, str, float | None]

TIMES = 200
STREAMED_BYTES = 1024**3

HOST = "api.payments.example"
TOOLS = """
permits: {seconds: 600}
tools: {settle_order: {risk: low, group: safe, permit: api.payments.example}}
"""
POLICY = """
broker:
  hosts:
    api.payments.example:
      inject: {header: Authorization, from: env:PAYMENTS_KEY, format: "Bearer {}"}
      routes: {"POST /v1/orders": settle_order, "GET /large": read_large}
      fields: {size: integer}
      address: ADDRESS
"""


def figures() -> list[Figure]:
    from tests.support.brokers import running, sign
    from tests.support.payments import KEY, PaymentServer
    from tests.support.server import Server

    orders = [{"to": "bob", "order": number} for number in range(TIMES + 1)]
    with ExitStack() as open_, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "qwed.yaml").write_text(TOOLS, encoding="utf-8")
        server = open_.enter_context(Server(folder, "--config", str(folder / "qwed.yaml")))
        payments = open_.enter_context(PaymentServer())
        policy, keys = POLICY.replace("ADDRESS", payments.address), {"PAYMENTS_KEY": KEY}
        alone = open_.enter_context(running(policy, _made(folder / "alone"), keys))
        gateway = {"base_url": server.base_url, "key": server.principal_key("acme", scopes=["permits"])}
        counted = open_.enter_context(
            running(policy, _made(folder / "counted"), keys, replay="gateway", jwks=None, **gateway)
        )
        direct = open_.enter_context(httpx2.Client(trust_env=False))
        client = open_.enter_context(alone.client())

        def straight() -> None:
            headers = {"Authorization": f"Bearer {KEY}"}
            direct.post(f"{payments.address}/v1/orders", json=orders[0], headers=headers)

        signed = [sign({"type": "settle_order", "parameters": order}) for order in orders]
        ways = [
            straight,
            _through(client, orders, signed),
            _through(open_.enter_context(counted.client()), orders, _permits(server, orders)),
        ]
        bare, brokered, with_gateway = _in_turns(*ways)
        grown = _grow_while_streaming(client, sign)
    return [
        ("broker: a request without it, p50", bare, "ms", None),
        ("broker: added to a request, p50", brokered - bare, "ms", 2.0),
        ("broker: added with the use at the gateway, on disk, p50", with_gateway - bare, "ms", 2.0),
        ("broker: 1 GB streamed, memory grown", grown, "MB", 32.0),
    ]


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _through(
    client: httpx2.Client, orders: Sequence[dict[str, Any]], permits: Sequence[str]
) -> Callable[[], None]:
    waiting = zip(orders, permits, strict=True)

    def send() -> None:
        order, permit = next(waiting)
        headers = {"QWED-Permit": permit}
        answer = client.post(f"https://{HOST}/v1/orders", json=order, headers=headers)
        assert answer.status_code < 300, answer.text

    return send


def _permits(server: Any, orders: Sequence[dict[str, Any]]) -> list[str]:
    free = dict.fromkeys(("max_requests_per_hour", "max_requests_per_day", "max_daily_cost_usd"))
    agent = server.register(budget=free)
    path, permits = f"/agents/{agent['agent_id']}/verify", []
    for number, order in enumerate(orders):
        place = {"conversation_id": f"c{number // 40}", "step_number": number % 40 + 1}
        body = {"action": {"type": "settle_order", "parameters": order}, "context": place}
        permits.append(server.call("POST", path, key=agent["agent_token"], json=body).json()["permit"])
    return permits


def _in_turns(*works: Callable[[], object]) -> list[float]:
    """Medians in milliseconds; all of them meet the same moments of the machine."""
    taken: list[list[float]] = [[] for _ in works]
    for work in works:
        work()
    for _ in range(TIMES):
        for times, work in zip(taken, works, strict=True):
            started = time.perf_counter()
            work()
            times.append((time.perf_counter() - started) * 1000)
    return [statistics.median(times) for times in taken]


def _grow_while_streaming(client: httpx2.Client, sign: Callable[..., str]) -> float:
    permit = sign({"type": "read_large", "parameters": {"size": STREAMED_BYTES}})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    url, count = f"https://{HOST}/large?size={STREAMED_BYTES}", 0
    with client.stream("GET", url, headers={"QWED-Permit": permit}) as answer:
        for piece in answer.iter_raw():
            count += len(piece)
    assert count == STREAMED_BYTES
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
