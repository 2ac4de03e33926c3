"""What changed on disk is compared with what was decided."""

import os
import time
from datetime import UTC, datetime

import msgspec
import pytest

from qwed.coding.contents import was_left
from qwed.coding.reconcile import find_undecided, read_calls
from qwed.domain.actions import Action, action_hash

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


def recorded(number, when, kind, **parameters):
    """As the gateway records an edit: with the hash of the whole action."""
    given = {"path": "a.txt", "cwd": "/p", "root": "/p", **parameters}
    made = entry(number, when, kind, parameters=given)
    return {**made, "action_hash": action_hash(Action(kind, parameters=given))}


def edit(number, when, *pairs, **more):
    edits = [{"old": old, "new": new} for old, new in pairs]
    return recorded(number, when, "file_edit", edits=edits, **more)


@pytest.fixture
def edited(tmp_path):
    """What became of a file, and whether the calls of the last seconds explain it."""

    def judge(content, *entries, before=b"one two one\n"):
        (tmp_path / "a.txt").write_bytes(content)
        now, names = time.time(), frozenset({str(tmp_path / "a.txt")})
        placed = [{**each, "timestamp": say_when(now - 5 + number)} for number, each in enumerate(entries)]
        calls = [
            msgspec.structs.replace(call, end=now + 60, paths=names) if call.paths else call
            for call in read_calls(placed, now + 60)
        ]
        return find_undecided(tmp_path, ["a.txt"], calls, lambda path: before) == []

    return judge


@pytest.mark.parametrize("content", [b"as written", b"as written\n"])
def test_a_written_file_is_compared_with_the_hash_of_what_was_approved(edited, content):
    write = recorded(1, 0, "file_write", content="as written")

    assert edited(content, write)
    assert not edited(content + b" and more", write)
    assert not edited(b"", write)


def test_a_secret_that_the_record_masks_is_compared_by_its_hash(edited):
    write = recorded(1, 0, "file_write", content="key = AKIAABCDEFGHIJKLMNOP")
    write["action"]["parameters"]["content"] = "key = [masked]"

    assert edited(b"key = AKIAABCDEFGHIJKLMNOP", write)
    assert not edited(b"key = [masked]", write)


@pytest.mark.parametrize("left", [b"1 two one\n", b"1 two 1\n"])
def test_an_edit_is_made_again_on_what_the_file_held(edited, left):
    change = edit(1, 0, ("one", "1"))

    assert edited(left, change)
    assert not edited(left + b"sneaked\n", change)


def test_edits_follow_one_another(edited):
    changes = (edit(1, 0, ("one", "1")), edit(2, 0, ("two", "2"), ("one", "x")))

    assert edited(b"1 2 x\n", *changes)
    assert not edited(b"1 2 x y\n", *changes)


def test_a_command_in_between_may_have_changed_the_rest_but_not_what_was_put_in(edited):
    calls = (entry(1, 0), edit(2, 0, ("one", "uno")))

    assert edited(b"uno and what the command wrote\n", *calls)
    assert not edited(b"something else\n", *calls)


def test_a_patch_and_a_notebook_are_compared_by_time_alone(edited):
    patch = recorded(1, 0, "file_edit", paths=["a.txt"], edits=[{"old": "", "new": "x"}])
    del patch["action"]["parameters"]["path"]

    assert edited(b"whatever", patch)
    assert was_left(edit(1, 0, ("one", "1")), "a.ipynb", b"{}", None, None)
    assert was_left(edit(1, 0, ("one", "1")), "a.bin", b"\xff\xfe", None, None)
