"""The log is for people: one that cannot be written costs its lines, never an answer."""

import io
import json

import pytest
from tests.support.receivers import wait_for
from tests.support.world import World

from qwed.http.app import create_app
from qwed.http.logs import LEVELS, EventLog, LineAllowance
from qwed.settings import LOG_LEVELS


class Pipe(io.BytesIO):
    """A stream whose other end may be gone."""

    def __init__(self):
        super().__init__()
        self.error = None

    def write(self, data):
        if self.error is not None:
            raise self.error
        return super().write(data)

    @property
    def events(self):
        return [json.loads(line) for line in self.getvalue().splitlines()]


@pytest.mark.parametrize("error", [BrokenPipeError(), OSError(28, "no space"), ValueError("closed")])
def test_a_stream_that_is_gone_breaks_nothing_and_what_was_lost_is_counted(error):
    pipe = Pipe()
    log = EventLog(stream=pipe)
    pipe.error = error
    for _ in range(3):
        log.write("error", "nobody reads this")
    pipe.error = None
    log.write("error", "somebody reads this")
    log.write("error", "and this")
    log.close()

    assert [event["event"] for event in pipe.events] == ["somebody reads this", "log_lines_lost", "and this"]
    assert pipe.events[1]["count"] == 3


def test_the_flusher_survives_a_stream_that_is_gone_for_a_while():
    pipe = Pipe()
    log = EventLog(stream=pipe)
    pipe.error = BrokenPipeError()
    log.write("info", "lost")
    wait_for(lambda: not log._lines, "change")
    pipe.error = None
    log.write("info", "kept")
    wait_for(lambda: pipe.getvalue(), "change")
    log.close()

    assert pipe.events[0]["event"] == "kept"


def test_a_process_without_a_standard_error_has_no_log(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    log = EventLog()
    log.write("error", "nobody reads this")
    log.close()

    assert not log._lines


def test_every_level_that_can_be_set_can_be_logged_at():
    assert set(LOG_LEVELS) <= set(LEVELS)


@pytest.fixture
def world():
    world = World()
    yield world
    world.close()


def test_a_broken_log_does_not_break_the_answer_to_a_crash(world):
    agent = world.register()
    pipe = Pipe()
    pipe.error = BrokenPipeError()
    log = EventLog(stream=pipe)
    world._app = create_app(world.services, log=log)
    world.prover.find = lambda engine, action: 1 / 0

    answer = world.verify_response(agent)
    log.close()

    assert answer.status_code == 500


def test_a_crash_is_logged_with_its_places_and_without_its_values(world):
    agent = world.register()
    world.prover.find = lambda engine, action: {}["a value nobody should read"]
    world.verify_response(agent)

    crash = next(e for e in map(json.loads, world.log.getvalue().splitlines()) if e["event"] == "crash")
    assert crash["kind"] == "KeyError"
    assert crash["where"][-1].startswith("http/test_logs.py:")
    assert any(place.startswith("decide/") for place in crash["where"])
    assert isinstance(crash["at"], float)
    assert "nobody should read" not in world.log.getvalue().decode()


class OneSecond(LineAllowance):
    """The second that never ends."""

    def ask(self, now_seconds):
        return super().ask(1.0)


def test_strangers_fill_no_log_and_those_who_are_recognised_are_logged_each(world):
    world._app._strangers = OneSecond(2)
    for _ in range(5):
        world.call("GET", "/agents", key="qwed_live_nobody")
        world.call("GET", "/nowhere", key=None)
        world.call("GET", "/agents")
    world._events.flush()
    lines = [e for e in map(json.loads, world.log.getvalue().splitlines()) if e["event"] == "request"]

    assert [line["status"] for line in lines if line["status"] != 200] == [401, 404]
    assert len([line for line in lines if line["status"] == 200]) == 5


def test_an_allowance_counts_by_the_second_and_says_what_was_left_out():
    allowance = LineAllowance(2)
    asked = [allowance.ask(now) for now in (5.0, 5.1, 5.2, 5.9, 6.0, 6.1, 6.2)]

    assert asked == [0, 0, None, None, 2, 0, None]
