"""Who is served next, by the order of a script: nothing here waits or runs."""

import random
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qwed.engines.fair_queue import Client, FairQueue, Share


def queue_with(workers=9, waiting=64, of_principal=64, of_agent=8):
    return FairQueue(Share(workers, waiting, of_principal, of_agent))


def fill(queue, principal, agents, each=1):
    for agent in range(agents):
        for number in range(each):
            assert queue.put((principal, agent, number), Client(principal, f"{principal}{agent}"))


def take(queue):
    taken = queue.take()
    return None if taken is None else taken[1]


def test_principals_take_turns_however_many_agents_one_has():
    queue = queue_with()
    fill(queue, "greedy", agents=40)
    fill(queue, "modest", agents=1, each=2)

    served = []
    for _ in range(4):
        owner, item = queue.take()
        served.append(item[0])
        queue.finish(owner)

    assert served == ["greedy", "modest", "greedy", "modest"]


def test_agents_of_a_principal_take_turns():
    queue = queue_with()
    fill(queue, "p", agents=1, each=5)
    queue.put(("p", 1, 0), Client("p", "p1"))

    assert [take(queue), take(queue)] == [("p", 0, 0), ("p", 1, 0)]


def test_an_agent_in_flight_is_held_back_until_it_is_finished():
    queue = queue_with()
    fill(queue, "p", agents=1, each=2)
    owner, first = queue.take()

    assert first == ("p", 0, 0)
    assert queue.take() is None
    queue.finish(owner)
    assert take(queue) == ("p", 0, 1)


@pytest.mark.parametrize("workers", [1, 2, 3, 8])
def test_a_principal_leaves_one_worker_to_whoever_comes(workers):
    share = max(1, workers - 1)
    queue = queue_with(workers=share)
    fill(queue, "greedy", agents=40)

    held = [queue.take() for _ in range(workers)]

    assert [one is not None for one in held] == [True] * share + [False] * (workers - share)
    # Whoever comes now is served before any other of them, whether a worker is free or has to end its job.
    fill(queue, "modest", agents=1)
    if workers == 1:
        queue.finish(held[0][0])
    assert take(queue) == ("modest", 0, 0)


def test_overflow_is_refused_by_agent_by_principal_and_overall():
    queue = queue_with(waiting=6, of_principal=4, of_agent=2)

    def put(principal, agent):
        return queue.put(0, Client(principal, agent))

    assert [put("p", "a"), put("p", "a"), put("p", "a")] == [True, True, False]
    assert [put("p", "b"), put("p", "c"), put("p", "d")] == [True, True, False]
    assert [put("q", "e"), put("r", "f"), put("s", "g")] == [True, True, False]
    assert len(queue) == 6


def test_items_of_no_client_do_not_hold_each_other_back():
    queue = queue_with(workers=1, of_principal=1, of_agent=1)
    for item in range(3):
        assert queue.put(item)

    assert [take(queue), take(queue), take(queue)] == [0, 1, 2]


def test_what_was_served_leaves_nothing_behind():
    queue = queue_with(of_agent=1)
    for number in range(1000):
        queue.put(0, Client(f"p{number % 7}", f"a{number}"))
        owner, _ = queue.take()
        queue.finish(owner)
        assert not queue.put(0, None) or queue.finish(queue.take()[0]) is None

    assert (len(queue._lanes), len(queue._turns), len(queue)) == (0, 0, 0)


def test_what_is_drained_is_everything_that_waits():
    queue = queue_with(workers=1)
    fill(queue, "p", agents=2, each=2)
    fill(queue, "q", agents=1)
    owner, _ = queue.take()

    assert len(queue.drain()) == 4
    assert (len(queue), queue.take()) == (0, None)
    queue.finish(owner)
    assert not queue._lanes


class _Model:
    """The rule in the plainest form: one list of what waits, lists of turns, and a count of what is held."""

    def __init__(self, share):
        self.share = share
        self.waiting = []
        self.principals = []
        self.agents = {}
        self.in_flight = []

    def _refresh(self):
        """Whoever may be served and stands in no line goes to the end of it."""
        held = Counter(principal for principal, _ in self.in_flight)
        for (principal, agent), _ in self.waiting:
            line = self.agents.setdefault(principal, [])
            if agent not in line and (principal, agent) not in self.in_flight:
                line.append(agent)
        for principal, line in self.agents.items():
            may_be_served = line and held[principal] < self.share.in_flight_of_principal
            if may_be_served and principal not in self.principals:
                self.principals.append(principal)

    def put(self, item, client):
        of_principal = sum(owner[0] == client[0] for owner, _ in self.waiting)
        of_agent = sum(owner == client for owner, _ in self.waiting)
        share = self.share
        if len(self.waiting) >= share.waiting or of_principal >= share.waiting_of_principal:
            return False
        if of_agent >= share.waiting_of_agent:
            return False
        self.waiting.append((client, item))
        self._refresh()
        return True

    def take(self):
        if not self.principals:
            return None
        principal = self.principals.pop(0)
        client = (principal, self.agents[principal].pop(0))
        pair = next(pair for pair in self.waiting if pair[0] == client)
        self.waiting.remove(pair)
        self.in_flight.append(client)
        self._refresh()
        return pair

    def finish(self, client):
        self.in_flight.remove(client)
        self._refresh()


steps = st.lists(
    st.tuples(st.sampled_from(["put", "put", "take", "finish"]), st.integers(0, 2), st.integers(0, 3)),
    max_size=80,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps, st.integers(1, 3))
def test_the_queue_behaves_like_its_model(script, workers):
    share = Share(workers, 8, 5, 2)
    queue, model = FairQueue(share), _Model(share)
    for number, (step, principal, agent) in enumerate(script):
        client = Client(f"p{principal}", f"a{principal}{agent}")
        if step == "put":
            assert queue.put(number, client) == model.put(number, client)
        elif step == "take":
            assert queue.take() == model.take()
        elif client in model.in_flight:
            queue.finish(client)
            model.finish(client)
        assert len(queue) == len(model.waiting)


@pytest.mark.parametrize("seed", range(20))
def test_a_principal_waits_for_one_turn_of_each_other_at_most(seed):
    """With one hard question of its own, between principals that always have more of them."""
    chance = random.Random(seed)
    workers, others = chance.randint(2, 6), chance.randint(1, 5)
    queue = queue_with(workers=workers - 1, waiting=1_000, of_principal=200)
    for number in range(others):
        fill(queue, f"greedy{number}", agents=40, each=2)
    running = [taken for taken in (queue.take() for _ in range(workers)) if taken]
    fill(queue, "modest", agents=1)
    served_before = Counter()
    while True:
        # A worker that is free takes what comes; else whichever job happens to end makes room.
        if len(running) >= workers or not queue._turns:
            queue.finish(running.pop(chance.randrange(len(running)))[0])
        taken = queue.take()
        if taken[1][0] == "modest":
            break
        served_before[taken[1][0]] += 1
        running.append(taken)

    assert all(count <= 1 for count in served_before.values()), served_before
