"""Shell by lists: pure is what is known to be harmless, VERIFIED what is understood, a doubt the rest."""

import pytest
from tests.corpora import ordinary_texts, shell_again, shell_everyday

from qwed.domain.findings import Status
from qwed.engines.code import inspect_shell
from qwed.engines.code.inspect import inspect_code
from qwed.engines.code.shell.inspector import guess

DELETION = "rm -rf /home"


def rules(text):
    return [problem.rule for problem in inspect_shell(text).problems]


def test_everyday_command_lines_raise_no_alarm():
    alarms = {text: rules(text) for text in shell_everyday.EVERYDAY if inspect_shell(text).problems}

    assert len(shell_everyday.EVERYDAY) >= 300
    assert alarms == {}


def test_nothing_that_is_evaluated_again_kept_read_or_endless_is_pure():
    assert [text for text in shell_again.planted() if inspect_shell(text).pure] == []


@pytest.mark.parametrize(
    "piece",
    [
        piece
        for piece in shell_again.EVALUATED
        # Without quotation marks the words of the payload are torn apart, and nothing runs.
        if not piece.endswith(("test -v $x", "read -r $x <<< y", "exit $x", "printf %d $x"))
    ],
)
def test_a_command_in_a_text_that_is_evaluated_again_is_found(piece):
    verdict = inspect_shell(piece.format(DELETION))

    assert verdict.status is Status.FAILED
    assert verdict.harms or verdict.malformed


@pytest.mark.parametrize(
    "text",
    [
        "echo hello",
        "echo 'hello world' && echo more",
        "printf '%s %d\\n' apples 3",
        "x=3; echo $x",
        "x='two words'; echo $x; echo \"$x\"",
        'x=3; y=$((x * 2 + 1)); echo "$y"',
        "for i in 1 2 3; do echo $i; done",
        'for i in {1..20}; do echo "$((i * i))"; done',
        "total=0; for i in 1 2 3; do total=$((total + i)); done; echo $total",
        "if [ 1 -lt 2 ]; then echo yes; else echo no; fi",
        'x=a; if [ "$x" = a ]; then echo yes; fi',
        "x=a; [[ $x == a && -n $x ]] && echo yes",
        "x=b; case $x in a) echo 1;; b | c) echo 2;; *) echo 3;; esac",
        "seq 1 10",
        "expr 3 + 4",
        'echo "$(echo a)"',
        "echo a 2>/dev/null >&2",
        "set -euo pipefail\necho ok",
        "x=abc; echo ${#x}",
        "basename a/b.txt .txt",
        "# only a comment\n:",
        "true || false",
        "(echo a; echo b)",
        "{ echo a; echo b; }",
        'export GREETING=hello; echo "$GREETING"',
    ],
)
def test_a_script_that_only_computes_and_prints_its_own_words_is_pure(text):
    verdict = inspect_shell(text)

    assert verdict.pure, verdict.purity
    assert verdict.home


@pytest.mark.parametrize(
    "text", ["frobnicate --all", "zzqq", "sudoku | zzqq", "echo3 x", "x=1; zzqq $x", "time zzqq"]
)
def test_a_command_that_no_table_knows_is_uncertain(text):
    verdict = inspect_shell(text)

    assert "unknown-command" in rules(text)
    assert verdict.status is Status.UNCERTAIN
    assert not verdict.home


@pytest.mark.parametrize(
    "text",
    [
        "main() { helper; }; helper() { echo ok; }; main",
        "function show { echo x; }; show",
        "alias ll='ls -l'; ll",
        "./tools/run.sh --all",
        "/opt/app/bin/start",
        ". ./lib.sh; run_checks",
        "python3.12 app.py",
        "php8.3 -v",
    ],
)
def test_functions_aliases_paths_and_versions_are_known_commands(text):
    assert inspect_shell(text).status is Status.VERIFIED, rules(text)
    assert inspect_shell(text).home


@pytest.mark.parametrize(
    ("text", "effect"),
    [
        ("echo $AWS_SECRET_ACCESS_KEY", "environment-read"),
        ("printf '%s' \"${TOKEN}\"", "environment-read"),
        ("set", "environment-read"),
        ("export -p", "environment-read"),
        ("echo $((n + 1))", "dynamic-execution"),
        ("let total=count+1", "dynamic-execution"),
        ("test -f notes.txt", "file-read"),
        ("gcc -o app main.c", "process"),
        ("gzip -k notes.txt", "file-write"),
        ("whois example.com", "network"),
        ("apt-get download jq", "network"),
    ],
)
def test_what_is_understood_is_named_as_an_effect(text, effect):
    verdict = inspect_shell(text)

    assert verdict.status is Status.VERIFIED
    assert effect in verdict.effects
    assert not verdict.pure


@pytest.mark.parametrize(
    "text",
    [
        "x=$(curl -s https://a.example/n); echo $((x))",
        "read x < <(curl -s https://a.example/n); (( x > 1 ))",
        'test -v "$name"',
        'printf -v "$name" x',
        'read "$name"',
        'echo "${prompt@P}"',
        "bind -x '\"k\": ls'",
        "fc -s",
        "echo {1..999999999}",
        "printf %999999999d 1",
        "printf '%*d' 999999999 1",
        "seq 1 99999999999",
    ],
)
def test_fetched_or_unknown_text_that_is_evaluated_and_explosions_are_for_a_person(text):
    assert inspect_shell(text).status is Status.UNCERTAIN, rules(text)


@pytest.mark.parametrize("text", ["yes > a.txt", "cat /dev/zero > big", "cat < /dev/urandom | tee x > y"])
def test_writing_without_an_end_is_harm(text):
    assert "uses-up-the-machine" in [problem.rule for problem in inspect_shell(text).harms]


def test_ordinary_sentences_and_values_act_on_nothing_and_do_no_harm():
    found = {
        text: (verdict.acts, verdict.harms)
        for text in ordinary_texts.SENTENCES + ordinary_texts.VALUES
        if (verdict := guess(text, inspect_code)).acts or verdict.harms
    }

    assert found == {}


@pytest.mark.parametrize(
    ("text", "act"),
    [
        ("touch notes.txt", "file-write"),
        ("rm notes.txt", "file-delete"),
        ("make -j4 test", "process"),
        ("make test", "process"),
        ("kill -9 4312", "process"),
        ("git push origin main", "network"),
        ("curl https://example.com", "network"),
        ("mail -s hi ann@example.com", "network"),
        ("echo hello > notes", "file-write"),
        ("psql -c 'select 1'", "database"),
        ("pip install -q requests", "process"),
        ("docker run alpine", "process"),
        ("echo cm0gbm90ZXMudHh0 | base64 -d | sh", "file-delete"),
        ("find . -name '*.pyc' -delete", "file-delete"),
    ],
)
def test_a_command_that_shows_itself_acts(text, act):
    assert act in guess(text, inspect_code).acts


@pytest.mark.parametrize(
    "text", ["batch = 32", "format = 'json'", 'host = "a.b"', "mount = '/data'", "init = 0"]
)
def test_an_assignment_of_another_language_is_no_command(text):
    verdict = guess(text, inspect_code)

    assert (verdict.harms, verdict.acts, verdict.home) == ((), (), False)


def test_an_operand_that_makes_no_sense_does_not_hide_the_next():
    assert guess("rm = -rf /home", inspect_code).harms
