"""Where a request comes from: what its sender writes about that is not believed."""

import asyncio
import ipaddress

import pytest
from starlette.requests import Request
from tests.support.world import World

from qwed.domain.bounds import Proxies
from qwed.http.request_reader import address_of


def request_with(*forwarded):
    headers = [(b"x-forwarded-for", value) for value in forwarded]
    return Request({"type": "http", "headers": headers, "client": ("10.0.0.1", 1)})


@pytest.mark.parametrize(
    ("forwarded", "address"),
    [
        ((), "10.0.0.1"),
        ((b"203.0.113.7",), "203.0.113.7"),
        ((b"1.1.1.1, 203.0.113.7",), "203.0.113.7"),
        ((b"1.1.1.1", b"2.2.2.2,203.0.113.7 "), "203.0.113.7"),
        ((b"1.1.1.1, [2001:DB8::1]",), "2001:db8::1"),
        ((b"1.1.1.1, unknown",), "10.0.0.1"),
        ((b"1.1.1.1,",), "10.0.0.1"),
        ((b"\xff" * 100_000,), "10.0.0.1"),
    ],
)
def test_behind_a_proxy_the_address_is_the_one_the_proxy_added(forwarded, address):
    assert address_of(request_with(*forwarded), Proxies(is_used=True)) == address


def test_without_a_proxy_the_address_is_the_peers():
    assert address_of(request_with(b"203.0.113.7"), Proxies()) == "10.0.0.1"


@pytest.mark.parametrize(("network", "address"), [("10.0.0.0/8", "203.0.113.7"), ("10.9.0.0/16", "10.0.0.1")])
def test_only_a_proxy_that_is_named_says_who_asks(network, address):
    proxies = Proxies(is_used=True, networks=(ipaddress.ip_network(network),))

    assert address_of(request_with(b"203.0.113.7"), proxies) == address


def test_an_offer_to_speak_websocket_is_declined():
    world = World()
    sent = []

    async def receive():
        return {"type": "websocket.connect"}

    async def send(message):
        sent.append(message)

    asyncio.run(world._app({"type": "websocket", "path": "/events", "headers": []}, receive, send))
    world.close()

    assert [message["type"] for message in sent] == ["websocket.close"]
