"""The local limiter: exact at its boundary, bounded in memory, one answer per hit under threads."""

import threading
import tracemalloc

import pytest

from qwed.gateway.kernel.rate_limits import ALLOWED, Limited, LocalLimiter


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_the_limit_is_reached_exactly(clock: Clock):
    limiter = LocalLimiter(20, 10, clock)

    assert [limiter.hit_now("a") for _ in range(20)] == [ALLOWED] * 20
    assert limiter.hit_now("a") == Limited(10.0)


def test_a_hit_counts_until_just_before_the_window_has_passed(clock: Clock):
    limiter = LocalLimiter(1, 10, clock)
    limiter.hit_now("a")

    clock.now = 1009.999
    assert isinstance(limiter.hit_now("a"), Limited)
    clock.now = 1010.0
    assert limiter.hit_now("a") is ALLOWED


def test_the_window_slides_instead_of_starting_afresh(clock: Clock):
    limiter = LocalLimiter(2, 10, clock)
    limiter.hit_now("a")
    clock.now = 1009.0
    limiter.hit_now("a")

    clock.now = 1010.0
    assert limiter.hit_now("a") is ALLOWED
    assert limiter.hit_now("a") == Limited(9.0)


def test_a_refused_hit_does_not_push_the_way_out_further_away(clock: Clock):
    limiter = LocalLimiter(1, 10, clock)
    limiter.hit_now("a")
    for second in range(1, 10):
        clock.now = 1000.0 + second
        assert limiter.hit_now("a") == Limited(10.0 - second)

    clock.now = 1010.0
    assert limiter.hit_now("a") is ALLOWED


def test_keys_are_counted_apart(clock: Clock):
    limiter = LocalLimiter(1, 10, clock)
    limiter.hit_now("a")

    assert limiter.hit_now("b") is ALLOWED
    assert isinstance(limiter.hit_now("a"), Limited)


def test_a_clock_set_back_frees_nothing_and_locks_nobody_out_for_longer(clock: Clock):
    limiter = LocalLimiter(1, 10, clock)
    limiter.hit_now("a")

    clock.now = 5.0
    assert limiter.hit_now("a") == Limited(10.0)
    clock.now = 1010.0
    assert limiter.hit_now("a") is ALLOWED


def test_keys_beyond_the_bound_share_one_window_and_known_ones_stay_exact(clock: Clock):
    limiter = LocalLimiter(2, 10, clock, max_keys=3)
    for key in "abc":
        limiter.hit_now(key)

    assert [limiter.hit_now(key) for key in ("d", "e")] == [ALLOWED, ALLOWED]
    assert limiter.hit_now("f") == Limited(10.0)
    assert limiter.hit_now("a") is ALLOWED
    assert isinstance(limiter.hit_now("a"), Limited)


def test_room_comes_back_when_keys_go_quiet(clock: Clock):
    limiter = LocalLimiter(1, 10, clock, max_keys=2)
    limiter.hit_now("a")
    limiter.hit_now("b")
    limiter.hit_now("c")

    clock.now = 1010.0
    assert [limiter.hit_now(key) for key in ("d", "e", "f")] == [ALLOWED] * 3
    assert len(limiter) == 2


def test_any_number_of_addresses_stays_within_the_memory_of_the_bound(clock: Clock):
    limiter = LocalLimiter(20, 10, clock, max_keys=1000)
    tracemalloc.start()
    for number in range(50_000):
        clock.now += 1e-6
        limiter.hit_now(f"2001:db8::{number:x}")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(limiter) == 1000
    assert peak < 2_000_000


def test_the_memory_of_quiet_keys_is_given_back(clock: Clock):
    limiter = LocalLimiter(20, 10, clock)
    for number in range(10_000):
        clock.now += 0.1
        limiter.hit_now(str(number))

    assert len(limiter) <= 101


def test_threads_together_pass_exactly_the_limit(clock: Clock):
    limiter = LocalLimiter(100, 10, clock)
    start = threading.Barrier(8)
    answers: list[object] = []

    def hammer() -> None:
        start.wait()
        answers.extend([limiter.hit_now("a") for _ in range(50)])

    threads = [threading.Thread(target=hammer) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(answers) == 400
    assert sum(answer is ALLOWED for answer in answers) == 100


@pytest.mark.parametrize(
    ("limit", "window", "max_keys"),
    [(0, 10, 1), (-1, 10, 1), (1, 0, 1), (1, -1, 1), (1, float("nan"), 1), (1, 1, 0)],
)
def test_a_limiter_that_could_not_limit_is_refused(clock: Clock, limit: int, window: float, max_keys: int):
    with pytest.raises(ValueError, match=r"a limiter needs|a window lasts"):
        LocalLimiter(limit, window, clock, max_keys)
