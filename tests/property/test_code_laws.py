"""Laws of the code engine: what it calls pure is run, under guard, and must touch nothing and end."""

import json
import shutil
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.corpora import code_python, code_shell
from tests.unit.engines.test_code_purity import run_in_node

from qwed.domain.actions import Action
from qwed.domain.findings import Status
from qwed.engines.code import CodeEngine, inspect_code, inspect_javascript, inspect_python, inspect_shell

# Runs each program with every door closed: an attempt to open one is reported, and ends the program.
GUARDED = """
import json, resource, sys
programs = json.load(sys.stdin)
resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
import abc, bisect, cmath, collections, copy, dataclasses, decimal, enum, fractions, functools, heapq
import io, itertools, math, operator, statistics, string, textwrap, traceback, typing
armed = False
def watch(event, args):
    if armed and event not in ("compile", "exec", "import", "object.__getattr__", "sys._getframe"):
        raise PermissionError(event)
sys.addaudithook(watch)
answers = []
for text in programs:
    out, sys.stdout = sys.stdout, io.StringIO()
    try:
        code = compile(text, "<program>", "exec")
        armed = True
        exec(code, {"__name__": "__main__"})
        answers.append("ended")
    except PermissionError as error:
        answers.append(f"touched {error}")
    except Exception as error:
        answers.append("ended")
    finally:
        armed = False
        sys.stdout = out
print(json.dumps(answers))
"""


def run_guarded(programs):
    done = subprocess.run(
        [sys.executable, "-I", "-c", GUARDED],
        input=json.dumps(programs),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr[-500:]
    return json.loads(done.stdout)


def test_generated_programs_that_only_compute_are_proven_pure_and_are():
    programs = list(code_python.pure_programs(400))
    proven = [text for text in programs if inspect_python(text).pure]

    assert len(proven) >= 0.97 * len(programs)
    assert set(run_guarded(proven)) == {"ended"}


NAMES = st.sampled_from(["a", "b", "c"])
NUMBERS = st.integers(0, 12).map(str)
ATOMS = st.one_of(NAMES, NUMBERS, st.sampled_from(["'xy'", "[1, 2]", "len('abc')", "(1, 2)[0]", "{}"]))
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "%", "//", "**", "<<"]), inner).map(
            lambda each: f"({each[0]} {each[1]} {each[2]})"
        ),
        inner.map(lambda each: f"f({each})"),
        inner.map(lambda each: f"[{each} for z in range(3)]"),
        inner.map(lambda each: f"str({each})"),
        inner.map(lambda each: f"f'{{{each}}}'" if "'" not in each and "{" not in each else f"repr({each})"),
    ),
    max_leaves=5,
)
# Some of these reach outside or need not end: the engine must not call a program pure that holds one.
STATEMENTS = st.one_of(
    st.tuples(NAMES, EXPRESSIONS).map(lambda each: f"{each[0]} = {each[1]}"),
    st.tuples(NAMES, EXPRESSIONS).map(lambda each: f"{each[0]} += {each[1]}"),
    st.tuples(NUMBERS, NAMES, EXPRESSIONS).map(lambda e: f"for i in range({e[0]}):\n    {e[1]} = {e[2]}"),
    st.tuples(NAMES, NAMES, EXPRESSIONS).map(lambda e: f"for i in [{e[0]}] * 9:\n    {e[1]} += {e[2]}"),
    st.tuples(EXPRESSIONS, NAMES, EXPRESSIONS).map(lambda e: f"if {e[0]}:\n    {e[1]} = {e[2]}"),
    st.sampled_from(
        [
            "def f(x):\n    return x",
            "def f(x):\n    return f(x)",
            "open('nothing-here')",
            "import socket\nsocket.socket()",
            "for i in range(40):\n    a = a * a",
            "for i in range(60):\n    b = b + b",
            "d = [1]\nfor y in d:\n    d.append(y)",
            "__import__('os').listdir('.')",
            "c = '%9999999999d'",
        ]
    ),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(STATEMENTS, min_size=1, max_size=5), min_size=20, max_size=40))
def test_whatever_is_called_pure_touches_nothing_and_ends(drafts):
    programs = ["a, b, c = 1, 2, 3\ndef f(x):\n    return x\n" + "\n".join(draft) for draft in drafts]
    proven = [text for text in programs if inspect_python(text).pure]

    assert set(run_guarded(proven)) <= {"ended"}


JS_NAMES = st.sampled_from(["a", "b", "c", "s", "xs"])
JS_ATOMS = st.one_of(
    JS_NAMES, NUMBERS, st.sampled_from(["'xy'", "[1, 2]", "xs.length", "s.length", "({k: a})"])
)
JS_EXPRESSIONS = st.recursive(
    JS_ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "%", "**", "||", "<<"]), inner).map(
            lambda each: f"({each[0]} {each[1]} {each[2]})"
        ),
        inner.map(lambda each: f"f({each})"),
        inner.map(lambda each: f"[{each}, ...xs]"),
        inner.map(lambda each: f"String({each})"),
        inner.map(lambda each: f"'x'.repeat({each})"),
        inner.map(lambda each: f"new Array({each})"),
        inner.map(lambda each: f"xs.map(x => {each})"),
        inner.map(lambda each: f"xs.reduce((t, x) => t + x, {each})"),
        inner.map(lambda each: f"`${{{each}}}${{s}}`"),
    ),
    max_leaves=5,
)
# Some of these need not end, or grow without bound: a program that holds one must not be called pure.
JS_STATEMENTS = st.one_of(
    st.tuples(JS_NAMES, JS_EXPRESSIONS).map(lambda each: f"{each[0]} = {each[1]};"),
    st.tuples(JS_NAMES, JS_EXPRESSIONS).map(lambda each: f"{each[0]} += {each[1]};"),
    st.tuples(NUMBERS, JS_NAMES, JS_EXPRESSIONS).map(
        lambda e: f"for (let i = 0; i < {e[0]}; i++) {{ {e[1]} = {e[2]}; xs.push({e[1]}); }}"
    ),
    st.tuples(JS_EXPRESSIONS, JS_EXPRESSIONS).map(
        lambda e: f"for (const y of xs) {{ s += {e[0]}; a = {e[1]}; }}"
    ),
    st.tuples(JS_NAMES, JS_EXPRESSIONS).map(lambda e: f"for (let i = 0; i < {e[0]}; i++) {{ b = {e[1]}; }}"),
    st.tuples(JS_EXPRESSIONS, JS_EXPRESSIONS).map(lambda e: f"xs[{e[0]}] = {e[1]};"),
    st.sampled_from(
        [
            "while (a) {}",
            "for (let i = 0; i < 30; i++) s += s;",
            "for (let i = 0; i < 30; i++) xs = xs.concat(xs);",
            "for (const y of xs) xs.push(y);",
            "f = x => f(x);",
            "for (let i = 0; i < 9; i++) { i -= 1; }",
            "xs.length = 4000000000;",
            "for (let i = 0; i < 40; i++) a = a * 99; s = 'x'.repeat(a);",
            "xs.fill(s); s = xs.join(s);",
        ]
    ),
)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node on the path")
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(st.lists(st.lists(JS_STATEMENTS, min_size=1, max_size=5), min_size=15, max_size=30))
def test_whatever_javascript_is_called_pure_ends_within_time_and_memory(drafts):
    begin = "let a = 1, b = 2, c = 3, s = 'ab', xs = [1, 2, 3]; let f = x => x;\n"
    programs = [begin + "\n".join(draft) for draft in drafts]
    proven = [text for text in programs if inspect_javascript(text).pure]

    assert set(run_in_node(proven)) <= {"ended"}


TOKENS = [*"$()`'\"{};|&\n=[]*?~@\0\ue000", "rm", "-rf", "/", "<<", "EOF", "x", "eval", "exec", "import os"]
TOKENS += ["def f", "(x):", "lambda", "for", "in", "function", "=>", "${", "if", "then", "fi", "do", "done"]
TEXTS = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(TOKENS), max_size=25).map(" ".join),
)


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.sampled_from(["python", "shell", "javascript"]))
def test_any_text_gets_an_answer_and_the_same_one_twice(text, language):
    action = Action("execute_code", code=text, parameters={"language": language})

    first = CodeEngine().verify(action)

    assert isinstance(first.status, Status)
    assert first == CodeEngine().verify(action)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(code_shell.HARMFUL), st.sampled_from(code_shell.HARMLESS))
def test_a_harmful_script_stays_harmful_beside_a_harmless_one(harmful, harmless):
    assert inspect_shell(harmless + "\n" + harmful).harms


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(code_python.EVASIONS), st.sampled_from(code_python.ORDINARY))
def test_a_harmful_program_stays_harmful_behind_an_ordinary_one(harmful, ordinary):
    assert inspect_code("python", ordinary + "\n" + harmful).status is not Status.VERIFIED


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="abcdefgh /-._", min_size=1, max_size=20))
def test_quoting_every_character_of_a_word_changes_nothing(word):
    plain = f"printf '%s' '{word}' > out.txt; rm -rf {word.strip() or 'x'}"
    quoted = plain.replace("rm -rf", r"\r\m '-r'\f")

    assert bool(inspect_shell(plain).harms) == bool(inspect_shell(quoted).harms)
