"""Python programs: weak ones fail, their repaired twins pass, and no disguise helps."""

import pytest
from tests.corpora import code_python as corpus

from qwed.domain.findings import Status
from qwed.engines.code import inspect_python


def rules(text):
    return [problem.rule for problem in inspect_python(text).problems]


@pytest.mark.parametrize(("name", "weak", "repaired"), corpus.PAIRS, ids=[pair[0] for pair in corpus.PAIRS])
def test_a_weak_program_fails_and_its_repaired_twin_is_verified(name, weak, repaired):
    assert inspect_python(weak).harms, weak
    assert inspect_python(repaired).status is Status.VERIFIED, rules(repaired)


@pytest.mark.parametrize("text", corpus.EVASIONS)
def test_no_disguise_hides_what_a_program_does(text):
    assert inspect_python(text).status is Status.FAILED


@pytest.mark.parametrize("text", corpus.ORDINARY)
def test_ordinary_code_raises_no_alarm(text):
    assert inspect_python(text).status is Status.VERIFIED, rules(text)


@pytest.mark.parametrize("text", corpus.UNDECIDABLE)
def test_what_depends_on_a_value_nobody_knows_is_uncertain(text):
    assert inspect_python(text).status is Status.UNCERTAIN


@pytest.mark.parametrize(
    "program",
    [
        "import os\nos.system(input())",
        "__import__('os').system('rm -rf /')",
        "import shutil\nshutil.rmtree('/')",
        "print(open('/etc/shadow').read())",
        "import pickle\npickle.loads(input())",
    ],
)
def test_every_encoding_of_a_harmful_program_is_read_through(program):
    for text in corpus.encoded(program):
        assert inspect_python(text).harms, text


@pytest.mark.parametrize("program", ["print('hello')", "x = 1 + 2", "import math\nmath.sqrt(2)"])
def test_an_encoded_harmless_program_is_verified(program):
    for text in corpus.encoded(program):
        assert inspect_python(text).status is Status.VERIFIED, text


@pytest.mark.parametrize("text", corpus.PURE)
def test_a_program_that_only_computes_is_pure(text):
    verdict = inspect_python(text)

    assert verdict.pure, verdict.purity
    assert verdict.status is Status.VERIFIED


@pytest.mark.parametrize("text", corpus.IMPURE)
def test_what_may_not_end_or_reaches_outside_is_not_pure_and_says_why(text):
    verdict = inspect_python(text)

    assert not verdict.pure
    assert verdict.purity


def test_a_problem_names_its_line_rule_and_flow():
    text = "import os\n\nname = input()\ncommand = 'ls ' + name\nos.system(command)\n"

    (problem,) = inspect_python(text).problems

    assert (problem.rule, problem.line, problem.text) == ("command-injection", 5, "os.system(command)")
    assert problem.flow[0] == "line 3: local data from builtins.input()"
    assert problem.flow[-1] == "line 5: os.system(command)"
    assert "line 4: command" in problem.flow


def test_a_checked_value_is_trusted_only_where_the_check_held():
    inside = "import os\nx = input()\nif x in ('a', 'b'):\n    os.system('ls ' + x)\n"
    outside = "import os\nx = input()\nif x in ('a', 'b'):\n    pass\nos.system('ls ' + x)\n"

    assert inspect_python(inside).status is Status.VERIFIED
    assert inspect_python(outside).status is Status.FAILED


def test_asking_for_the_method_of_a_request_does_not_vouch_for_the_request():
    text = corpus.FLASK + (
        "@app.route('/x')\ndef view():\n    if request.method == 'POST':\n"
        "        import os\n        os.system(request.form['c'])\n    return 'ok'\n"
    )

    assert "command-injection" in rules(text)


def test_both_sides_of_a_branch_are_followed():
    text = "import os\nc = 'ls'\nif len('x'):\n    c = 'rm -rf /'\nos.system(c)\n"

    assert "destructive-command" in rules(text)


def test_effects_are_named():
    text = "import requests\nopen('x')\nopen('y', 'w')\nrequests.get('https://example.com/')\n"

    assert inspect_python(text).effects == ("file-read", "file-write", "network")


def test_a_callable_among_many_is_not_lost():
    names = "len, abs, min, max, sum, any, all, repr, str, int, eval"
    text = f"fs = [print] * 3 + [{names}]\nfor f in fs:\n    f(input())\n"

    assert "code-injection" in rules(text)


def test_a_declared_encoding_that_would_change_the_program_is_a_doubt():
    assert inspect_python("# coding: utf-7\nx = 1\n").status is Status.UNCERTAIN
    assert inspect_python("# coding: utf-8\nx = 1\n").status is Status.VERIFIED


def test_a_syntax_error_is_malformed_and_says_where():
    verdict = inspect_python("x = 1\ny = (\n")

    assert verdict.status is Status.FAILED
    assert verdict.malformed.startswith("line 2")
