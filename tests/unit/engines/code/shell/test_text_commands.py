"""Valid bash is never called malformed; what no shell reads still is."""

import shutil
import subprocess

import pytest
from tests.support.commands import read_commands, split
from tests.support.tiers import scale

from qwed.domain.findings import Status
from qwed.engines.code import inspect_shell
from qwed.engines.code.readings import judge_program

VALID = read_commands("bash_grammar")


def test_bash_reads_every_text_of_the_collection():
    bash = shutil.which("bash")
    assert bash is not None

    refused = [text for text in VALID[:: scale(ci=8, nightly=1, long=1)] if _refuses(bash, text)]

    assert refused == []


def _refuses(bash, text):
    # `-n` reads and runs nothing.
    answer = subprocess.run(
        [bash, "-O", "extglob", "-n"], input=f"{text}\n", text=True, capture_output=True, check=False
    )
    return answer.returncode != 0 or "warning" in answer.stderr


def test_no_valid_text_is_malformed():
    unread = [text for text in VALID if inspect_shell(text).malformed is not None]

    assert [text for text in unread if judge_program(text, "shell").malformed] == []


def test_at_most_one_valid_text_in_50_needs_more_than_our_grammar_on_the_half_that_nothing_was_mended_from():
    _, held_out = split(VALID)

    assert sum(inspect_shell(text).malformed is not None for text in held_out) <= 0.02 * len(held_out)


@pytest.mark.parametrize(
    "text",
    [
        "if true; then echo",
        "echo 'a",
        'echo "a',
        "(ls",
        "ls)",
        "for i in a; do echo",
        "ls |",
        "&& ls",
        "ls && || x",
        "ls | | wc",
        "while true; do x; fi",
    ],
)
def test_what_no_shell_reads_is_malformed(text):
    assert judge_program(text, "shell").malformed is not None


@pytest.mark.parametrize(
    "text",
    [
        "shopt -s extglob\nrm -rf /!(x)",
        "x=1 > out && rm -rf /",
        "for i do rm -rf /; done",
        "cat <<E'O'F; rm -rf /\na\nEOF",
        "cmd <<EOF &\na\nEOF\nrm -rf /",
        "v=$((rm -rf /) | cat)",
        "exec 4<> /dev/tcp/203.0.113.9/80",
    ],
)
def test_harm_in_a_text_that_had_to_be_mended_is_found(text):
    assert inspect_shell(text).harms


def test_a_construct_that_nobody_reads_is_a_doubt():
    verdict = judge_program("cat <<A <<B\na\nA\nb\nB", "shell")

    assert verdict.status is Status.UNCERTAIN
