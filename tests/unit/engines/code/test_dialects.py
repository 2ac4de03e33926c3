"""Notebook cells and TypeScript, as people hand them over by the names of Python and JavaScript."""

import pytest

from qwed.domain.actions import Action
from qwed.domain.findings import Failure, Finding, Status
from qwed.domain.risk import Risk
from qwed.engines.code import CodeEngine
from qwed.engines.code.inspect import inspect_shell

ENGINE = CodeEngine()


def verify(code: str, language: str = "python") -> Finding:
    return ENGINE.verify(Action("execute_code", code=code, parameters={"language": language}))


@pytest.mark.parametrize(
    "code",
    [
        "%matplotlib inline\nimport math\nprint(math.pi)",
        "%load_ext autoreload\n%autoreload 2\nprint(1)",
        "%%time\nprint(sum([1, 2]))",
        "%timeit -n 10 sum([1, 2])",
        "total = 1\ntotal?",
        "!echo hello\nprint(1)",
    ],
)
def test_a_cell_that_only_computes_is_pure(code: str) -> None:
    finding = verify(code)

    assert (finding.status, finding.risk) == (Status.VERIFIED, Risk.MEDIUM), finding


@pytest.mark.parametrize(
    "code",
    [
        "!rm -rf /home",
        "x = 1\n%%bash\nrm -rf /home",
        "files = !rm -rf /home",
        "%rm -rf /home",
        "%time __import__('os').system('rm -rf /home')",
        "%matplotlib inline\nimport shutil\nshutil.rmtree('/home')",
    ],
)
def test_harm_in_a_cell_is_found(code: str) -> None:
    finding = verify(code)

    assert (finding.status, finding.failure) == (Status.FAILED, Failure.FORBIDDEN), finding


@pytest.mark.parametrize(
    "code",
    [
        "%run other.py",
        "%load_ext sql\n%sql DROP TABLE users",
        "%%writefile /etc/cron.d/job\n* * * * * root id",
        "%%script perl\nunlink 'a'",
        "path = 'x'\n!cat {path}",
        "x = %env SECRET",
        # A magic inside a text of several lines is none, and its line ends that text.
        '!echo a\nx = """\n%matplotlib inline"""; import os; os.remove("a"); y = """\n"""',
        '!echo """; import os; os.remove("a"); y = """',
        "!echo a\nx = 1 \\\n%matplotlib inline",
    ],
)
def test_a_magic_that_nobody_knows_is_undecided(code: str) -> None:
    finding = verify(code)

    assert (finding.status, finding.risk) == (Status.UNCERTAIN, Risk.CRITICAL), finding


def test_what_is_no_cell_stays_malformed() -> None:
    assert verify("print(1").failure is Failure.MALFORMED
    assert verify("%time print(1").failure is Failure.MALFORMED


@pytest.mark.parametrize(
    "code",
    [
        "const x: number = 1;\nconsole.log(x)",
        "interface Person { name: string }\nconst p: Person = {name: 'a'};",
        "function add(a: number, b: number): number { return a + b }",
        "enum Color { Red }",
        "type Id = string | number;",
        "const a = b as unknown as string;",
        "class A { private x = 1; }",
        "import type { A } from './a';",
    ],
)
def test_typescript_is_not_called_broken(code: str) -> None:
    finding = verify(code, "javascript")

    assert (finding.status, finding.risk) == (Status.UNCERTAIN, Risk.CRITICAL), finding
    assert "TypeScript" in finding.reason


@pytest.mark.parametrize("code", ["const x = ;", "function (", "let 1a = 2", "} else {", "const a = b c;"])
def test_broken_javascript_stays_malformed(code: str) -> None:
    assert verify(code, "javascript").failure is Failure.MALFORMED


@pytest.mark.parametrize("text", ["a|" * 2000 + "a", "a |\n" * 2000 + "a", "x 'a' |" * 301])
def test_a_pipe_without_end_is_not_parsed(text: str) -> None:
    assert [problem.rule for problem in inspect_shell(text).problems] == ["too-large"]


def test_many_short_pipes_are_read() -> None:
    verdict = inspect_shell("cat a | wc -l\n" * 400)

    assert "too-large" not in [problem.rule for problem in verdict.problems]
