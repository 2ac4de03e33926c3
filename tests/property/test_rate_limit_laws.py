"""The local limiter against a model that remembers every hit for ever."""

from hypothesis import given
from hypothesis import strategies as st

from qwed.gateway.kernel.rate_limits import ALLOWED, Limited, LocalLimiter

Hit = tuple[float, str]

pauses = st.one_of(st.just(0.0), st.integers(0, 12).map(float), st.floats(0, 15, allow_subnormal=False))
sequences = st.lists(st.tuples(pauses, st.sampled_from("abcd")), max_size=60)


class NaiveLimiter:
    def __init__(self, limit: int, window: float) -> None:
        self.limit = limit
        self.window = window
        self.counted: list[Hit] = []

    def hit(self, key: str, now: float) -> object:
        live = [time for time, who in self.counted if who == key and time + self.window > now]
        if len(live) >= self.limit:
            return Limited(min(live) + self.window - now)
        self.counted.append((now, key))
        return ALLOWED


@given(sequences, st.integers(1, 5), st.sampled_from([0.5, 3.0, 10.0]))
def test_every_answer_is_the_models(sequence: list[Hit], limit: int, window: float):
    now = 0.0
    limiter = LocalLimiter(limit, window, lambda: now)
    model = NaiveLimiter(limit, window)
    for pause, key in sequence:
        now += pause

        assert limiter.hit_now(key) == model.hit(key, now)


@given(sequences, st.integers(1, 3), st.integers(1, 3))
def test_with_little_room_a_key_gets_at_most_its_own_window_and_the_shared_one(
    sequence: list[Hit], limit: int, max_keys: int
):
    now = 0.0
    limiter = LocalLimiter(limit, 10.0, lambda: now, max_keys)
    allowed: list[Hit] = []
    for pause, key in sequence:
        now += pause
        if limiter.hit_now(key) is ALLOWED:
            allowed.append((now, key))

        assert len(limiter) <= max_keys
        for candidate in "abcd":
            live = [time for time, who in allowed if who == candidate and time + 10.0 > now]
            # A key may move once from the shared window to its own.
            assert len(live) <= 2 * limit


@given(st.lists(st.integers(0, 4), max_size=40), st.integers(1, 4))
def test_whoever_waits_as_told_gets_through(pauses: list[int], limit: int):
    now = 0.0
    limiter = LocalLimiter(limit, 10.0, lambda: now)
    for pause in pauses:
        now += pause
        answer = limiter.hit_now("a")
        if isinstance(answer, Limited):
            assert answer.retry_after_seconds > 0
            now += answer.retry_after_seconds
            assert limiter.hit_now("a") is ALLOWED
