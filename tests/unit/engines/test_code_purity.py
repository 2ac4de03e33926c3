"""Pure is an answer about everything in a program: what is on no list of harmless things is not pure."""

import json
import shutil
import subprocess
import sys

import pytest
from tests.corpora import code_javascript, code_javascript_purity, code_python, code_python_purity

from qwed.domain.findings import Status
from qwed.engines.code import inspect_javascript, inspect_python

# Runs each program in a context that has nothing but the language and a console: no text becomes code there.
IN_NODE = """
const vm = require('vm');
const programs = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const quiet = () => {};
const answers = programs.map(text => {
  const console = {log: quiet, info: quiet, warn: quiet, error: quiet, debug: quiet};
  const context = vm.createContext({console}, {codeGeneration: {strings: false, wasm: false}});
  try {
    vm.runInContext(text.replace(/^export (default )?/gm, ''), context, {timeout: 4000});
  } catch (error) {
    if (error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT' || error.name === 'EvalError') return String(error);
    if (error.name === 'ReferenceError') return String(error);
  }
  return 'ended';
});
console.log(JSON.stringify(answers));
"""


def run_in_node(programs):
    done = subprocess.run(
        ["node", "--max-old-space-size=256", "-e", IN_NODE],
        input=json.dumps(programs),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr[-500:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("text", code_javascript_purity.COMPUTING)
def test_a_javascript_program_that_only_computes_is_pure(text):
    verdict = inspect_javascript(text)

    assert verdict.pure, verdict.purity
    assert verdict.home
    assert verdict.acts == ()


@pytest.mark.parametrize("text", code_javascript_purity.NOT_HARMLESS)
def test_a_javascript_program_with_anything_that_is_not_harmless_is_not_pure(text):
    verdict = inspect_javascript(text)

    assert not verdict.pure
    assert verdict.purity


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node on the path")
def test_javascript_that_is_called_pure_ends_within_time_and_memory_and_makes_no_code():
    programs = [
        text
        for text in (
            *code_javascript_purity.COMPUTING,
            *code_javascript_purity.NOT_HARMLESS,
            *code_javascript.PURE,
        )
        if inspect_javascript(text).pure
    ]

    assert len(programs) >= 50
    assert set(run_in_node(programs)) == {"ended"}


@pytest.mark.parametrize("text", code_python_purity.COMPUTING)
def test_a_python_program_that_only_computes_is_pure(text):
    verdict = inspect_python(text)

    assert verdict.pure, verdict.purity
    assert verdict.home
    assert verdict.acts == ()


@pytest.mark.parametrize("text", code_python_purity.NOT_HARMLESS)
def test_a_python_program_with_anything_that_is_not_harmless_is_not_pure(text):
    verdict = inspect_python(text)

    assert not verdict.pure
    assert verdict.purity


# A process of its own for all of them: half a gigabyte and ten seconds of CPU time in all.
LIMITED = """
import io, json, resource, sys
programs = json.load(sys.stdin)
resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))
resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
for text in programs:
    out, sys.stdout = sys.stdout, io.StringIO()
    try:
        exec(compile(text, "<program>", "exec"), {"__name__": "__main__"})
    except MemoryError:
        print(text, file=sys.stderr)
        raise SystemExit(3)
    except Exception:
        pass
    finally:
        sys.stdout = out
"""


def test_python_that_is_called_pure_stays_within_memory_and_time():
    known = (*code_python_purity.COMPUTING, *code_python_purity.NOT_HARMLESS, *code_python.PURE)
    programs = [text for text in known if inspect_python(text).pure]

    done = subprocess.run(
        [sys.executable, "-I", "-c", LIMITED],
        input=json.dumps(programs),
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert len(programs) >= 60
    assert done.returncode == 0, done.stderr[-500:]


@pytest.mark.parametrize(
    "text",
    [
        "'{:{}}'.format(1, 10 ** 9)",
        "round(5, -10 ** 9)",
        "sum([[0] * 30000] * 30000, [])",
        "str([[0] * 30000] * 30000)",
        "('x' * 60000).translate({120: 'y' * 60000})",
        "('{0}' * 20000).format('x' * 60000)",
        "('%s' * 30000) % (('x' * 60000,) * 30000)",
        "a = 'x'\nfor i in range(60):\n    a = f'{a}{a}'",
        "a = []\nfor i in range(60):\n    a = [a, a]\nstr(a)",
        "('\\t' * 60000).expandtabs(4096)",
    ],
)
def test_reading_a_program_never_does_the_work_that_the_program_would(text):
    # An answer at all, within the memory of the machine, is what is tested: each of these once took minutes.
    assert not inspect_python(text).pure


@pytest.mark.parametrize("text", ["rm -rf /home", "users", "x + y", "touch / base", "get_user(3)", "a and b"])
def test_a_text_whose_names_nobody_binds_is_not_at_home_in_python(text):
    assert not inspect_python(text).home
    assert not inspect_python(text).pure


@pytest.mark.parametrize(
    "text",
    [
        "1 + 1",
        "import math\nmath.sqrt(2)",
        "x = 1\nprint(x)",
        "def f(a):\n    global g\n    g = a\n    return [b for b in a]\nf([])\nprint(g)",
        "class A:\n    x = 1\n    def m(self):\n        return __class__ if False else self.x",
        "try:\n    pass\nexcept ValueError as e:\n    print(e)",
        "from os import *\nlistdir()",
    ],
)
def test_a_text_whose_names_are_bound_imported_or_builtin_is_at_home_in_python(text):
    assert inspect_python(text).home or "__class__" in text


@pytest.mark.parametrize("text", ["rm - rf / home", "users", "x + y", "getUser(3)", "a && b", "name", "open"])
def test_a_text_whose_names_nobody_declares_is_not_at_home_in_javascript(text):
    assert not inspect_javascript(text).home
    assert not inspect_javascript(text).pure


@pytest.mark.parametrize(
    "text",
    [
        "1 + 1",
        "console.log(Math.PI)",
        "const f = ({a, b: [c]}, ...d) => { try { return a + c } catch (e) { return e } }",
        "for (const k in window) { var z = k } label: for (;;) { break label }",
        "import x, {y as w} from './x'; export default function App() { return <div>{x(w)}</div> }",
        "function f() { return arguments.length + g() } function g() { return h } var h = 1",
        "class A { static n = 1; m() { return A.n } }",
    ],
)
def test_a_text_whose_names_are_declared_or_of_the_platform_is_at_home_in_javascript(text):
    assert inspect_javascript(text).home


@pytest.mark.parametrize(
    ("inspect", "text", "acts"),
    [
        (inspect_python, "import os\nos.remove('build/x')", ("file-delete",)),
        (inspect_python, "open('x').read()", ()),
        (inspect_python, "import requests\nrequests.get('https://a.example/')", ("network",)),
        (inspect_javascript, "require('fs').unlinkSync('build/x')", ("file-delete",)),
        (inspect_javascript, "require('fs').readFileSync('x')", ()),
        (inspect_javascript, "fetch('https://a.example/')", ("network",)),
    ],
)
def test_a_verdict_names_the_acts_of_known_calls_reading_excluded(inspect, text, acts):
    assert inspect(text).acts == acts


WORDS = """
touch base with the client
make dinner
kill the stuck process
at noon
split the bill
sort by date
install python for Bob
find the cheapest flight
watch the game
mail Ann
cut costs
git is a tool
set up a call
import duties rose
print the report
return the keys
for sale: bike
class of 2024
users
EU-West
2024-05-01
a@b.example
get_user(3)
{"a": 1}
[1, 2]
Baker Street 221b
x-1
delete
open
write
remove(3)
fetch me a coffee
exec
system
import os
location
document
process
""".strip().splitlines()


@pytest.mark.parametrize("text", WORDS)
@pytest.mark.parametrize("inspect", [inspect_python, inspect_javascript])
def test_ordinary_words_and_values_do_nothing(inspect, text):
    assert inspect(text).acts == ()
    assert not inspect(text).harms


def test_a_pure_program_is_verified():
    assert inspect_javascript("const x = 1").status is Status.VERIFIED
