"""The policy for coding, measured: ordinary work is left alone, and what is misused is not.

Rules are written from one half of each collection; the other half is only counted.
"""

from pathlib import Path

from tests.support.commands import expand, read_commands, split

from qwed.domain.actions import Action
from qwed.domain.findings import Status
from qwed.domain.risk import Risk
from qwed.engines.workspace import WorkspaceEngine

ROOT = "/home/dev/shop"
ENGINE = WorkspaceEngine()
ORDINARY = Path(__file__).parents[2] / "corpora" / "commands" / "ordinary.txt"
#: To reach other machines is not what these count.
ELSEWHERE = ("containers and clusters", "network")


def judge(command):
    finding = ENGINE.verify(Action("shell", code=command, parameters={"cwd": ROOT, "root": ROOT}))
    if finding.status is Status.FAILED:
        return "refused"
    return "asked" if finding.status is Status.UNCERTAIN or finding.risk >= Risk.HIGH else "free"


def read_development():
    """Build, test, version control, package managers, search, editing."""
    found, section = [], ""
    for line in ORDINARY.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            section = line[2:]
        elif line.strip() and section not in ELSEWHERE:
            found += expand(line)
    return list(dict.fromkeys(found))


def share(answers, *kinds):
    return sum(answer in kinds for answer in answers) / len(answers)


def test_at_most_two_in_a_hundred_ordinary_commands_are_asked_about():
    commands = read_development()
    for half in split(commands):
        answers = [judge(command) for command in half]

        assert share(answers, "asked") <= 0.02
        # Three in the half that is only counted: an earlier rule of the engine takes them for a leak.
        assert answers.count("refused") <= 3
    assert len(commands) >= 2_000


def test_misused_programs_are_refused_or_asked_about():
    written_from, held_out = split(read_commands("misused"))

    assert share([judge(command) for command in written_from], "refused", "asked") >= 0.97
    assert share([judge(command) for command in held_out], "refused", "asked") >= 0.94
