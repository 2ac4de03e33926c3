"""What changed on disk is compared with what was decided."""

import os
import time
from datetime import UTC, datetime

import pytest

from qwed.coding.reconcile import find_undecided, read_calls

CONVERSATION = {"conversation_id": "claude-code:one"}


def say_when(seconds):
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def entry(number, when, kind="shell", decision="APPROVED", **more):
    return {
        "activity_id": f"act_{number}",
        "timestamp": say_when(when),
        "action_type": kind,
        "action": {"type": kind, "parameters": more.pop("parameters", {})},
        "context": CONVERSATION,
        "decision": decision,
        "verification": {"evidence": {"effects": more.pop("effects", ["process"])}},
    }


def report(number, when):
    told = {"type": "report_outcome", "parameters": {"activity_id": f"act_{number}"}}
    return {
        "activity_id": f"act_r{number}", "timestamp": say_when(when), "action_type": "report_outcome",
        "action": told, "context": None, "decision": "NOTED",
    }  # fmt: skip


@pytest.fixture
def project(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    return tmp_path


def undecided(project, entries, changed=("a.txt",)):
    return find_undecided(project, changed, read_calls(entries, time.time() + 60))


def test_a_change_without_any_decision_is_named(project):
    assert undecided(project, []) == ["a.txt"]


def test_a_change_while_an_allowed_command_ran_is_decided(project):
    now = time.time()

    assert undecided(project, [entry(1, now - 1), report(1, now + 1)]) == []


@pytest.mark.parametrize("start, end", [(-9, -5), (5, 9)])
def test_a_change_before_or_after_the_command_is_named(project, start, end):
    now = time.time()

    assert undecided(project, [entry(1, now + start), report(1, now + end)]) == ["a.txt"]


@pytest.mark.parametrize("decision", ["DENIED", "PENDING", "BUDGET_EXCEEDED"])
def test_a_change_after_a_no_is_named(project, decision):
    assert undecided(project, [entry(1, time.time() - 1, decision=decision)]) == ["a.txt"]


def test_a_command_that_only_reads_explains_no_change(project):
    assert undecided(project, [entry(1, time.time() - 1, effects=["file-read"])]) == ["a.txt"]


def test_a_call_that_nobody_reports_ends_with_the_next_decision(project):
    now = time.time()

    assert undecided(project, [entry(1, now - 9), entry(2, now - 5, decision="DENIED")]) == ["a.txt"]
    assert undecided(project, [entry(1, now - 9)]) == []


def test_an_edit_explains_the_files_that_it_names_and_no_other(project):
    (project / "b.txt").write_text("x")
    place = {"path": "a.txt", "cwd": str(project), "root": str(project)}
    edit = entry(1, time.time() - 1, "file_edit", parameters=place)

    assert undecided(project, [edit], ("a.txt", "b.txt")) == ["b.txt"]


def test_a_file_that_is_gone_was_changed_with_its_folder(project):
    now = time.time()
    (project / "a.txt").unlink()

    assert undecided(project, [entry(1, now - 1), report(1, now + 1)]) == []
    assert undecided(project, [entry(1, now - 9), report(1, now - 5)]) == ["a.txt"]


def test_a_time_that_a_program_sets_does_not_help(project):
    long_ago = time.time() - 1000
    os.utime(project / "a.txt", (long_ago, long_ago))

    assert undecided(project, [entry(1, long_ago - 1), report(1, long_ago + 1)]) == ["a.txt"]
