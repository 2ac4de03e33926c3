"""Redis that is away is told by its name: to whoever asks, to /ready, and in the log."""

import asyncio
import io
import json
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest
from tests.support.redis import RedisServer
from tests.support.world import OPERATOR_KEY, World

from qwed.domain.policy import RateLimit
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.ports import LimiterUnavailable, StoreUnavailable
from qwed.http.app import create_app
from qwed.http.logs import EventLog
from qwed.stores.redis import RedisCommons


class Gateway:
    """A gateway that counts with Redis. `call` speaks HTTP to it."""

    def __init__(self, url: str) -> None:
        self.world, self.commons, self.log = World(), RedisCommons(url), io.BytesIO()
        services = msgspec.structs.replace(self.world.services, commons=self.commons)
        self.services, self.events = services, EventLog(stream=self.log)
        self.app = create_app(services, log=self.events)

    def call(self, path: str) -> httpx2.Response:
        async def send() -> httpx2.Response:
            transport = httpx2.ASGITransport(self.app, client=("127.0.0.1", 1))
            async with httpx2.AsyncClient(transport=transport, base_url="http://gateway") as client:
                return await client.get(path, headers={"Authorization": f"Bearer {OPERATOR_KEY}"})

        return asyncio.run(send())

    def close(self) -> None:
        self.commons.close()
        self.events.close()
        self.world.close()


@pytest.fixture
def away(tmp_path: Path):
    """Its Redis was never started."""
    gateway = Gateway(RedisServer(tmp_path).url)
    yield gateway
    gateway.close()


def error(response: httpx2.Response) -> dict[str, Any]:
    found: dict[str, Any] = response.json()["error"]
    return found


def test_whoever_asks_is_told_that_it_is_redis(away: Gateway):
    answer = away.call("/agents")
    assert answer.status_code == 503
    assert error(answer)["code"] == "QWED-STORE-001"
    assert error(answer)["message"].startswith("Redis does not answer")
    assert error(answer)["details"] == {"component": "redis"}
    assert "store" not in error(answer)["message"]
    away.events.close()
    told = [json.loads(line) for line in away.log.getvalue().splitlines()]
    assert [line["component"] for line in told if line.get("event") == "store_unavailable"] == ["redis"]


def test_readiness_names_redis_and_says_that_the_store_is_well(away: Gateway):
    answer = away.call("/ready")
    body = answer.json()
    assert (answer.status_code, body["ready"], body["store"]) == (503, False, "ok")
    assert body["components"] == ["redis"]
    assert "Redis" in body["reason"]


def test_readiness_names_both_where_both_are_away(away: Gateway):
    async def ping() -> None:
        raise StoreUnavailable("the disk is gone")

    away.services.store.ping = ping
    body = away.call("/ready").json()
    assert body["components"] == ["store", "redis"]
    assert "the disk is gone" in body["reason"] and "Redis" in body["reason"]


def test_a_store_that_is_away_is_called_the_store(away: Gateway, tmp_path: Path):
    server = RedisServer(tmp_path / "here").start()
    gateway = Gateway(server.url)

    async def fails(*_: object) -> None:
        raise StoreUnavailable("the disk is gone")

    gateway.services.store.agents = fails
    answer = gateway.call("/agents")
    gateway.close()
    server.stop()
    assert answer.status_code == 503
    assert error(answer)["details"] == {"component": "store"}
    assert "the store" in error(answer)["message"]


def test_what_can_no_longer_be_counted_is_not_let_through(tmp_path: Path):
    server = RedisServer(tmp_path).start()
    commons = RedisCommons(server.url)
    limiter = commons.limiter("x", RateLimit(5, 1.0))
    run(limiter.hit("a"))
    server.kill()
    with pytest.raises(LimiterUnavailable, match="Redis") as raised:
        run(limiter.hit("a"))
    assert raised.value.component == "redis"
    commons.close()
