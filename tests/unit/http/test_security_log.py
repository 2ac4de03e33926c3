"""Failed authentications are kept apart, for as many days as the policy says."""

import json
import stat

import pytest
from tests.support.receivers import wait_for
from tests.support.world import World

from qwed.domain.times import DAY_MS
from qwed.http.app import create_app
from qwed.http.logs import EventLog
from qwed.http.security_log import DailyFiles, SecurityLog

FIRST = 1_790_000_000_000  # 2026-09-21


class Time:
    def __init__(self):
        self.now = FIRST

    def __call__(self):
        return self.now


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "data" / "security-log"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_each_day_has_a_file_that_only_its_owner_reads(folder, time):
    files = DailyFiles(folder, time)
    files.write(b"one\n")
    files.write(b"two\n")
    time.now += DAY_MS
    files.write(b"three\n")

    assert names(folder) == ["2026-09-21.jsonl", "2026-09-22.jsonl"]
    assert (folder / "2026-09-21.jsonl").read_bytes() == b"one\ntwo\n"
    assert stat.S_IMODE((folder / "2026-09-21.jsonl").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("days", "kept"), [(None, 5), (1, 2), (3, 4), (4, 5), (30, 5)], ids=["for ever", "1", "3", "4", "30"]
)
def test_a_file_goes_when_its_last_line_is_older_than_the_policy_allows(folder, time, days, kept):
    files = DailyFiles(folder, time)
    for _ in range(5):
        files.write(b"line\n")
        time.now += DAY_MS
    time.now -= DAY_MS
    files.remove_older(days)

    assert names(folder) == [f"2026-09-{21 + day}.jsonl" for day in range(5 - kept, 5)]


def test_nothing_else_in_the_folder_is_removed(folder, time):
    folder.mkdir(parents=True)
    others = ["2020-01-01.jsonl.bak", "notes", "2020-01-01.json"]
    for name in others:
        (folder / name).touch()
    (folder / "2020-01-01.jsonl").touch()
    DailyFiles(folder, time).remove_older(30)

    assert names(folder) == sorted(others)


def test_without_a_folder_there_is_nothing_to_remove(folder, time):
    DailyFiles(folder, time).remove_older(30)

    assert not folder.exists()


def test_a_day_has_a_bound_and_what_is_lost_is_counted(folder, time):
    files = DailyFiles(folder, time, max_bytes=300)
    log = EventLog(stream=files)
    log.write("error", "a" * 200)
    log.write("error", "b" * 200)
    time.now += DAY_MS
    log.write("error", "c")
    log.write("error", "d")
    log.close()

    events = [json.loads(line) for path in sorted(folder.iterdir()) for line in path.read_text().splitlines()]
    assert [event["event"] for event in events] == ["a" * 200, "c", "log_lines_lost", "d"]
    assert events[2]["count"] == 1


def test_a_link_in_the_place_of_the_file_is_not_followed(folder, time, tmp_path):
    folder.mkdir(parents=True)
    (folder / "2026-09-21.jsonl").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OSError, match="symbolic"):
        DailyFiles(folder, time).write(b"line\n")


def test_a_folder_that_cannot_be_written_costs_lines_and_no_answer(time, tmp_path):
    (tmp_path / "file").touch()
    log = SecurityLog(tmp_path / "file" / "security-log", time, lambda: 30)
    log.write("192.0.2.1", "/agents")
    log.close()


def test_what_is_too_old_goes_also_where_nobody_fails(folder, time):
    DailyFiles(folder, time).write(b"line\n")
    time.now += 40 * DAY_MS
    days = [None]
    log = SecurityLog(folder, time, lambda: days[0])
    days[0] = 30
    log.start()
    wait_for(lambda: not names(folder), "the old file goes")
    log.close()


def test_a_wrong_credential_is_kept_with_its_address_and_a_right_one_is_not(folder, time):
    world = World()
    log = SecurityLog(folder, time, lambda: world.services.newest.policy.retention.security_log_days)
    world._app = create_app(world.services, log=EventLog(stream=None), security_log=log)
    world.call("GET", "/agents", key="qwed_live_of_nobody")
    world.call("GET", "/agents")
    log.close()

    (line,) = (folder / "2026-09-21.jsonl").read_text().splitlines()
    event = json.loads(line)
    assert (event["event"], event["path"]) == ("failed_authentication", "/agents")
    assert event["address"]
    assert "nobody" not in line
