"""A connection is an open file: the system's limit is raised, or fewer connections are taken."""

import resource

import pytest

from qwed.domain.bounds import Bounds
from qwed.http.descriptors import RESERVED, within_descriptors


@pytest.fixture
def system(monkeypatch):
    limits = {"now": (1024, 4096)}
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits["now"])
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: limits.update(now=pair))
    return limits


@pytest.mark.parametrize(
    ("soft", "hard", "wanted", "connections", "raised"),
    [
        (20_000, 20_000, 1_024, 1_024, 20_000),
        (1_024, 524_288, 1_024, 1_024, 1_024 + RESERVED),
        (1_024, resource.RLIM_INFINITY, 9_000, 9_000, 9_000 + RESERVED),
        (256, 1_024, 1_024, 1_024 - RESERVED, 1_024),
        (64, 64, 1_024, 1, 64),
    ],
)
def test_as_many_connections_are_taken_as_the_system_allows(system, soft, hard, wanted, connections, raised):
    system["now"] = (soft, hard)
    said = []

    bounds = within_descriptors(Bounds(max_connections=wanted), said.append)

    assert bounds.max_connections == connections
    assert system["now"][0] == raised
    assert bool(said) is (connections < wanted)


def test_listeners_leave_half_of_the_connections_however_many_there_are():
    assert Bounds(max_connections=100).listeners == 50
    assert Bounds().listeners == Bounds().max_listeners
