from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from qwed.engines.fair_queue import FairQueue


def test_clients_take_turns_however_many_items_one_has():
    queue: FairQueue[str] = FairQueue(max_waiting=64, max_waiting_per_client=8)
    for index in range(6):
        assert queue.put(f"greedy{index}", "greedy")
    assert queue.put("modest", "modest")

    first = queue.take()
    second = queue.take()

    assert first == ("greedy", "greedy0")
    assert second == ("modest", "modest")


def test_a_client_in_flight_is_held_back_until_it_is_finished():
    queue: FairQueue[str] = FairQueue(max_waiting=64, max_waiting_per_client=8)
    queue.put("one", "a")
    queue.put("two", "a")
    assert queue.take() == ("a", "one")

    assert queue.take() is None
    queue.finish("a")
    assert queue.take() == ("a", "two")


def test_overflow_is_refused_per_client_and_overall():
    queue: FairQueue[int] = FairQueue(max_waiting=3, max_waiting_per_client=2)

    assert [queue.put(1, "a"), queue.put(2, "a"), queue.put(3, "a")] == [True, True, False]
    assert [queue.put(4, "b"), queue.put(5, "c")] == [True, False]
    assert len(queue) == 3


def test_items_of_no_client_do_not_hold_each_other_back():
    queue: FairQueue[int] = FairQueue(max_waiting=9, max_waiting_per_client=1)
    for item in range(3):
        assert queue.put(item)

    taken = [queue.take(), queue.take(), queue.take()]

    assert [pair and pair[1] for pair in taken] == [0, 1, 2]


def test_a_finished_client_leaves_nothing_behind():
    queue: FairQueue[int] = FairQueue(max_waiting=9, max_waiting_per_client=1)
    for client in range(1000):
        queue.put(0, client)
        queue.take()
        queue.finish(client)

    assert (len(queue._ready), len(queue._held_back), len(queue)) == (0, 0, 0)


class _Model:
    """The rule in the plainest form: a list of (client, item), turns by least recently served."""

    def __init__(self, overall: int, per_client: int) -> None:
        self.overall, self.per_client = overall, per_client
        self.waiting: deque[tuple[int, int]] = deque()
        self.turns: list[int] = []
        self.in_flight: set[int] = set()

    def put(self, item: int, client: int) -> bool:
        if len(self.waiting) >= self.overall:
            return False
        if sum(1 for owner, _ in self.waiting if owner == client) >= self.per_client:
            return False
        self.waiting.append((client, item))
        if client not in self.turns and client not in self.in_flight:
            self.turns.append(client)
        return True

    def take(self) -> tuple[int, int] | None:
        if not self.turns:
            return None
        client = self.turns.pop(0)
        self.in_flight.add(client)
        pair = next(pair for pair in self.waiting if pair[0] == client)
        self.waiting.remove(pair)
        return pair

    def finish(self, client: int) -> None:
        self.in_flight.remove(client)
        if any(owner == client for owner, _ in self.waiting):
            self.turns.append(client)


@given(st.lists(st.tuples(st.sampled_from(["put", "put", "take", "finish"]), st.integers(0, 4)), max_size=60))
def test_the_queue_behaves_like_its_model(steps):
    queue: FairQueue[int] = FairQueue(max_waiting=6, max_waiting_per_client=2)
    model = _Model(6, 2)
    for number, (step, client) in enumerate(steps):
        if step == "put":
            assert queue.put(number, client) == model.put(number, client)
        elif step == "take":
            assert queue.take() == model.take()
        elif client in model.in_flight:
            queue.finish(client)
            model.finish(client)
        assert len(queue) == len(model.waiting)
