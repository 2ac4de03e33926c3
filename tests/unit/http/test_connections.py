"""Who may connect, and who gives way: counted, with no connection behind it."""

import ipaddress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qwed.domain.bounds import Bounds, Proxies, neighbourhood
from qwed.http import connections
from qwed.http.connections import Connections


class Loop:
    """Time, and calls that are never made: the test makes them."""

    def __init__(self):
        self.now = 0.0

    def time(self):
        return self.now

    def call_later(self, seconds, call, *arguments):
        return None


class Peer:
    def __init__(self, name="", *, has_asked=False, idle_since=None):
        self.name, self.has_asked, self.idle_since = name, has_asked, idle_since
        self.gave_way = False
        self.checked_at = []

    def give_way(self):
        self.gave_way = True

    def check_deadlines(self, now):
        self.checked_at.append(now)


def room(**bounds):
    return Connections(Bounds(**bounds)), Loop()


def test_the_oldest_that_never_asked_gives_way_to_who_comes_next():
    everyone, loop = room(max_connections=3)
    working, first, second = Peer(has_asked=True), Peer(), Peer()
    for number, peer in enumerate((working, first, second)):
        assert everyone.admit(peer, f"10.0.0.{number}", loop)

    assert everyone.admit(Peer(), "10.0.0.9", loop)

    assert (working.gave_way, first.gave_way, second.gave_way) == (False, True, False)
    assert len(everyone) == 3


def test_who_is_idle_for_longest_gives_way_when_everybody_has_asked():
    everyone, loop = room(max_connections=3)
    loop.now = 100.0
    idle, longer, working = Peer(has_asked=True, idle_since=90), Peer(has_asked=True, idle_since=80), Peer()
    working.has_asked = True
    for peer in (idle, longer, working):
        everyone.admit(peer, "10.0.0.1", loop)

    assert everyone.admit(Peer(has_asked=True), "10.0.0.1", loop)

    assert (idle.gave_way, longer.gave_way, working.gave_way) == (False, True, False)


def test_nobody_who_is_being_answered_gives_way():
    everyone, loop = room(max_connections=1)
    loop.now = 100.0
    # Idle since this moment: its next request may be on its way.
    for busy in (Peer(has_asked=True), Peer(has_asked=True, idle_since=99.9)):
        everyone.admit(busy, "10.0.0.1", loop)
        assert not everyone.admit(Peer(), "10.0.0.2", loop)
        assert not busy.gave_way
        everyone.leave(busy)

    assert everyone.admit(Peer(), "10.0.0.2", loop)


def test_an_address_uses_up_its_own_places_only():
    everyone, loop = room(max_connections=10, max_connections_per_address=2)
    honest = Peer()
    everyone.admit(honest, "10.0.0.1", loop)
    attackers = [Peer() for _ in range(50)]

    assert all(everyone.admit(peer, "10.0.0.2", loop) for peer in attackers)

    assert not honest.gave_way
    assert [peer.gave_way for peer in attackers] == [True] * 48 + [False] * 2
    assert len(everyone) == 3


def test_a_proxy_may_have_all_connections_and_no_more():
    proxies = Proxies(is_used=True, networks=(ipaddress.ip_network("10.0.0.0/24"),))
    everyone, loop = Connections(Bounds(max_connections=5, max_connections_per_address=2), proxies), Loop()
    through = [Peer(has_asked=True) for _ in range(6)]
    beside = [Peer(has_asked=True) for _ in range(3)]

    assert [everyone.admit(peer, "10.0.1.7", loop) for peer in beside] == [True, True, False]
    assert [everyone.admit(peer, "10.0.0.7", loop) for peer in through] == [True] * 3 + [False] * 3


def test_behind_a_proxy_without_an_address_every_peer_is_the_proxy():
    everyone, loop = Connections(Bounds(max_connections_per_address=1), Proxies(is_used=True)), Loop()

    assert all(everyone.admit(Peer(has_asked=True), "10.0.0.1", loop) for _ in range(9))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("::ffff:10.0.0.1", "10.0.0.1", True),
        ("fe80::1%eth0", "fe80::2%eth1", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("", "10.0.0.2", False),
    ],
)
def test_a_network_that_one_peer_has_alone_is_one_address(one, other, same):
    assert (neighbourhood(one) == neighbourhood(other)) is same


def test_those_who_are_refused_are_bounded_too():
    everyone, loop = room()

    stay = [everyone.turn_away(Peer(), loop) for _ in range(connections.MAX_REFUSED + 5)]

    assert stay.count(True) == connections.MAX_REFUSED


def test_everybody_is_looked_at_also_those_who_were_refused():
    everyone, loop = room(max_connections=1)
    inside, refused = Peer(has_asked=True), Peer()
    everyone.admit(inside, "10.0.0.1", loop)
    everyone.turn_away(refused, loop)

    everyone.look(7.0)

    assert inside.checked_at == refused.checked_at == [7.0]


steps = st.lists(
    st.tuples(
        st.sampled_from(["come", "come", "ask", "rest", "leave"]), st.integers(0, 9), st.integers(0, 2)
    ),
    max_size=60,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps)
def test_the_bounds_hold_and_nobody_at_work_is_sent_away(script):
    everyone, loop = room(max_connections=6, max_connections_per_address=3)
    inside: list[tuple[Peer, int]] = []
    for step, number, address in script:
        loop.now += 2.0
        if step == "come":
            peer = Peer()
            at_work = [one for one, _ in inside if one.has_asked and one.idle_since is None]
            if everyone.admit(peer, f"10.0.0.{address}", loop):
                inside.append((peer, address))
            assert not any(one.gave_way for one in at_work)
            inside = [(one, where) for one, where in inside if not one.gave_way]
        elif number < len(inside):
            peer = inside[number][0]
            if step == "leave":
                everyone.leave(peer)
                del inside[number]
            else:
                peer.has_asked, peer.idle_since = True, loop.now if step == "rest" else None
        assert len(everyone) == len(inside) <= 6
        assert all(sum(where == at for _, where in inside) <= 3 for at in range(3))
