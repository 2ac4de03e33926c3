"""An answer belongs to its question: over forks, threads and tasks, and where a proxy mixes answers up."""

import asyncio
import gc
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from tests.support.fork_storm import question
from tests.support.mixing_proxy import MixingProxy, Swap
from tests.support.protected import Protected
from tests.support.tiers import scale

from qwed_sdk import AsyncQWEDClient, GatewayUnavailable, QWEDClient
from qwed_sdk.direct_transport import DirectTransport
from qwed_sdk.questions import BOUND, KEY, answer_name

pytestmark = pytest.mark.xdist_group("sdk")


@pytest.fixture(autouse=True)
def _busy_agent(world: Protected) -> None:
    limits = {"max_daily_cost_usd": 10_000, "max_requests_per_hour": 10**6, "max_requests_per_day": 10**6}
    agent = world.client.register_agent("busy", "autonomous", "acme", budget=limits)
    world.agent_id = agent.agent_id


def token_of(world: Protected) -> str:
    return world.client._connection.tokens[world.agent_id]


@pytest.fixture(params=["whole", "bodies"])
def proxy(world: Protected, request: pytest.FixtureRequest) -> Iterator[MixingProxy]:
    swap: Swap = request.param
    made = MixingProxy(world.server.base_url, swap)
    yield made
    made.stop()


def storm(base_url: str, world: Protected, children: int, rounds: int) -> list[int]:
    arguments = [base_url, world.agent_id, token_of(world), str(children), str(rounds)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.fork_storm", *arguments],
        capture_output=True, text=True, timeout=500, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return [int(part) for part in done.stdout.split()]


def test_forked_children_of_a_used_client_get_answers_to_their_own_questions(world: Protected) -> None:
    rounds = scale(ci=4, nightly=20, long=200)

    assert storm(world.server.base_url, world, 64, rounds) == [64, 64 * rounds, 0, 0]


def test_forked_children_behind_a_proxy_that_mixes_answers_up_take_none_for_another(
    world: Protected, proxy: MixingProxy
) -> None:
    children, rounds = scale(ci=16, nightly=64, long=64), scale(ci=4, nightly=20, long=100)
    heard, right, refused, wrong = storm(proxy.base_url, world, children, rounds)

    assert proxy.swapped > 0
    assert (heard, wrong) == (children, 0)
    assert right + refused == children * rounds


def test_threads_behind_a_proxy_that_mixes_answers_up_take_none_for_another(
    world: Protected, proxy: MixingProxy
) -> None:
    with QWEDClient(base_url=proxy.base_url, max_tries=3) as client:
        client.use_agent_token(world.agent_id, token_of(world))

        def ask(number: int) -> str:
            action, context, corrected = question(number)
            try:
                decision = client.verify_action(world.agent_id, action, context)
            except GatewayUnavailable:
                return "refused"
            return "right" if decision["corrected_action"]["query"] == corrected else "wrong"

        with ThreadPoolExecutor(32) as threads:
            found = list(threads.map(ask, range(scale(ci=160, nightly=2000, long=20000))))

    assert proxy.swapped > 0
    assert set(found) <= {"right", "refused"}
    assert "right" in found


def test_tasks_behind_a_proxy_that_mixes_answers_up_take_none_for_another(
    world: Protected, proxy: MixingProxy
) -> None:
    async def scenario() -> list[str]:
        # Each transport with one way of mixing.
        transport = DirectTransport() if proxy.swap == "bodies" else None
        async with AsyncQWEDClient(
            base_url=proxy.base_url, max_tries=3, timeout=60, transport=transport
        ) as client:
            client.use_agent_token(world.agent_id, token_of(world))

            async def ask(number: int) -> str:
                action, context, corrected = question(number)
                try:
                    decision = await client.verify_action(world.agent_id, action, context)
                except GatewayUnavailable:
                    return "refused"
                return "right" if decision["corrected_action"]["query"] == corrected else "wrong"

            return await asyncio.gather(*map(ask, range(500)))

    found = asyncio.run(scenario())

    assert proxy.swapped > 0
    assert set(found) <= {"right", "refused"}
    assert "right" in found


# A loop that has ended can't close its connections any more.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_one_client_serves_one_event_loop_after_the_other(world: Protected) -> None:
    assert _asked_in_loops(world, 3) == ["APPROVED"] * 3
    gc.collect()


def _asked_in_loops(world: Protected, loops: int) -> list[str]:
    client = world.async_client()

    async def ask(n: int) -> str:
        action = {"type": "lookup_order", "parameters": {"order": n}}
        context = {"conversation_id": f"loop-{n}", "step_number": 1}
        return (await client.verify_action(world.agent_id, action, context)).decision

    return [asyncio.run(ask(n)) for n in range(loops)]


@pytest.mark.parametrize("path", ["/health", "/approvals", "/agents/nobody", "/nowhere"])
def test_every_answer_of_the_gateway_names_its_question(world: Protected, path: str) -> None:
    headers = {KEY: "my-question", "Authorization": f"Bearer {world.key}"}
    answer = httpx2.get(world.server.base_url + path, headers=headers, trust_env=False)

    assert answer.headers[KEY] == "my-question"
    assert answer.headers[BOUND] == answer_name("my-question", answer.status_code, answer.content)


def test_a_question_without_a_name_gets_an_answer_without_one(world: Protected) -> None:
    answer = httpx2.get(world.server.base_url + "/health", trust_env=False)

    assert KEY not in answer.headers
    assert BOUND not in answer.headers
