"""Python of a newer grammar than the interpreter's is read, and never called malformed."""

import ast

import pytest

from qwed.domain.findings import Status
from qwed.engines.code import inspect_python
from qwed.engines.code.python.newer import rewrite

READ = [
    "print(f'{d['a']}')",
    'print(f"{d["a"]}")',
    "print(f'{'\\n'.join(names)}')",
    "print(f'{f'{f'{1}'}'}')",
    "print(f'''{\n  d['a']  # the first\n}''')",
    "print(f'''{d['''a''']}''')",
    "print('a' f'{d['b']}' \"c\")",
    "print(f'{d['a']!r:>{w}} {{}}')",
    "print(f'{x:{'>'}{10}}')",
    "print(rf'\\d{d['a']}')",
    "type X = int",
    "type X[T] = list[T]",
    "if True:\n    type Y = dict[str, 'Y']",
    "def f[T](x: T) -> T:\n    return x",
    "async def f[T: int, *Ts, **P](x): pass",
    "class C[T](Base):\n    def m[U](self, x: U): pass",
    "def f[\n    T,\n](x):\n    return x",
    "try:\n    pass\nexcept ValueError, TypeError:\n    pass",
    "try:\n    pass\nexcept* A, b.C, d():\n    pass\nelse:\n    print(f'{d['x']}')",
    "match x:\n    case {'a': [1, *_]}: pass",
    "try:\n    pass\nexcept* ValueError:\n    pass",
]
IN_PART = [
    "q = t'hello {name}'",
    "q = rt'{a}'",
    "def f[T = int](): pass",
    "class C[T: (int, str)]: pass",
]


def parses_here(text):
    try:
        return bool(ast.parse(text))
    except SyntaxError:
        return False


@pytest.mark.parametrize("text", READ)
def test_newer_python_is_read(text):
    verdict = inspect_python(text)

    assert verdict.malformed is None
    assert verdict.status is Status.VERIFIED


@pytest.mark.parametrize("text", IN_PART)
def test_what_is_read_in_part_is_uncertain_for_that_reason(text):
    verdict = inspect_python(text)

    assert verdict.malformed is None
    assert verdict.status is Status.UNCERTAIN or parses_here(text)


@pytest.mark.parametrize("text", [*READ, *IN_PART])
def test_lines_keep_their_numbers(text):
    rewritten = rewrite(text)

    assert rewritten is None or rewritten.text.count("\n") == text.count("\n")


@pytest.mark.parametrize(
    ("text", "rule", "line"),
    [
        ("import os\ndef f(d):\n    os.system(f'ls {d['a']}')", "command-injection", 3),
        ("def f[T](x: T):\n    eval(x)", "code-injection", 2),
        ("import os\ntype X = int\nos.system('rm -rf /')", "destructive-command", 3),
        ("import os\ntry:\n    pass\nexcept A, B:\n    os.system('rm -rf /')", "destructive-command", 5),
        ("x = f'{__import__('os').system('rm -rf /')}'", "destructive-command", 1),
        ("type X = __import__('os').system('rm -rf /')", "destructive-command", 1),
    ],
)
def test_harm_in_newer_python_is_found_at_its_line(text, rule, line):
    assert (rule, line) in [(problem.rule, problem.line) for problem in inspect_python(text).harms]


def test_code_in_a_type_parameter_is_never_left_out_silently():
    text = "def f[T = __import__('os').system('id')](): pass\nf.__type_params__[0].__default__"

    assert inspect_python(text).status is not Status.VERIFIED


@pytest.mark.parametrize(
    "text",
    [
        "print 'x'",
        "type X",
        "def f[T(x): pass",
        "except A, B: pass",
        "f'{d['a'}'",
        "class C[T] pass",
        "x = = 1",
    ],
)
def test_what_no_python_reads_is_still_malformed(text):
    assert inspect_python(text).malformed is not None


def test_a_rewritten_program_is_never_called_pure():
    text = "print(f'{'x':{'>'}{10}}')"

    assert not inspect_python(text).pure or parses_here(text)
