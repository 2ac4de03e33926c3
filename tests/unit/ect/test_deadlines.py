"""Calls with a deadline: what they return, what they raise, and what those that hang do to the next."""

import threading

import pytest

from qwed.ect.deadlines import DeadlineCaller


def test_what_is_done_in_time_is_returned_or_raised():
    caller = DeadlineCaller(60, 1)

    assert caller.call(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        caller.call(lambda: 1 // 0)
    assert caller.call(lambda: 8) == 8


def test_calls_that_hang_are_left_alone_and_do_not_pile_up():
    caller, end, begun = DeadlineCaller(0.05, 1), threading.Event(), []

    def hang() -> None:
        begun.append(threading.current_thread())
        end.wait()

    for _ in range(3):
        with pytest.raises(TimeoutError):
            caller.call(hang)
    assert len(begun) == 1 and begun[0].daemon
    end.set()
    begun[0].join()
    assert DeadlineCaller(60, 1).call(lambda: 7) == 7
