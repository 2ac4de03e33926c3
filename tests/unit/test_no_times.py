"""No test asserts a time: what a busy machine makes of one says nothing about the code.

Read from the syntax of every test. A clock's reading is followed through names, attributes, loops and the
functions that return it, also from `tests.support`. The difference of two readings, or their order, is a
measured time, and so is all that is made of one; an `assert` may hold none. To wait for something with an
upper bound is no measurement: `tests.support.receivers.wait_for` does that.
"""

import ast
import functools
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
CLOCKS = {
    f"{name}{suffix}"
    for name in ("perf_counter", "process_time", "thread_time", "monotonic", "time", "clock_gettime")
    for suffix in ("", "_ns")
}
MEASUREMENTS = {"getrusage", "timeit", "times"}
MENTIONS_A_CLOCK = re.compile(rf"\b(?:{'|'.join(sorted(CLOCKS | MEASUREMENTS))})\(")
IMPORTS_SUPPORT = re.compile(r"^ *from tests\.support\.(\w+) import", re.M)
ARITHMETIC = {"int", "float", "min", "max", "abs", "round", "sum", "sorted", "list", "tuple"}
ORDER = ast.Lt | ast.LtE | ast.Gt | ast.GtE
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


class Times:
    """What holds a clock's reading in one file, and what holds a measured time.

    A name belongs to the outermost function it stands in (`scope`), a function and an attribute to the file.
    """

    def __init__(self, tree: ast.Module, imported: frozenset[str] = frozenset()) -> None:
        self._imports = _names_from_time(tree)
        self._functions = {node.name for node in ast.walk(tree) if isinstance(node, FUNCTIONS)} | imported
        self._nodes = [(scope, node) for scope, top in _scopes(tree) for node in ast.walk(top)]
        self._readings: set[str] = set()
        self._measured: set[str] = set(imported)
        sizes = None
        while sizes != (sizes := (len(self._readings), len(self._measured))):
            for scope, node in self._nodes:
                self._follow(scope, node)

    def asserted(self) -> list[int]:
        """The lines of the asserts that hold a measured time."""
        asserts = [(scope, node) for scope, node in self._nodes if isinstance(node, ast.Assert)]
        return sorted(node.lineno for scope, node in asserts if self._is_measured(scope, node.test))

    def exported(self) -> frozenset[str]:
        """The functions and attributes that carry a measured time into the files that import this one."""
        return frozenset(name for name in self._measured if name.startswith(".") or name in self._functions)

    def _follow(self, scope: str, node: ast.AST) -> None:
        for value, targets in _bindings(node):
            names = {self._key(scope, part) for target in targets for part in _parts(target)}
            if self._is_measured(scope, value):
                self._measured |= names
            elif self._is_reading(scope, value):
                self._readings |= names

    def _is_measured(self, scope: str, node: ast.AST) -> bool:
        return any(self._measures(scope, inner) for inner in ast.walk(node))

    def _measures(self, scope: str, node: ast.AST) -> bool:
        if isinstance(node, ast.Call) and _last_name(node.func) in MEASUREMENTS:
            return True
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            return self._is_reading(scope, node.left) and self._is_reading(scope, node.right)
        if isinstance(node, ast.Compare) and any(isinstance(sign, ORDER) for sign in node.ops):
            others = (self._is_reading(scope, other) for other in node.comparators)
            return self._is_reading(scope, node.left) and any(others)
        return self._key(scope, node) in self._measured

    def _is_reading(self, scope: str, node: ast.AST) -> bool:
        if self._reads(scope, node):
            return True
        parts = ast.iter_child_nodes(node)
        if isinstance(node, ast.Call):
            # What a function makes of a reading is none; what these make of one is.
            parts = iter([node.func, *(node.args if _last_name(node.func) in ARITHMETIC else ())])
        return any(self._is_reading(scope, part) for part in parts)

    def _reads(self, scope: str, node: ast.AST) -> bool:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CLOCKS:
            return _last_name(node.func.value) in {"time", "loop", "get_running_loop", "get_event_loop"}
        is_clock = isinstance(node, ast.Name) and node.id in self._imports
        return is_clock or self._key(scope, node) in self._readings

    def _key(self, scope: str, node: ast.AST | str) -> str:
        if isinstance(node, ast.Attribute):
            return f".{node.attr}"
        name = node if isinstance(node, str) else node.id if isinstance(node, ast.Name) else ""
        return name if name in self._functions else f"{scope}: {name}"


def _scopes(tree: ast.Module) -> list[tuple[str, ast.AST]]:
    """Each function of the file and each method as one scope; all the rest is the file's own."""
    found: list[tuple[str, ast.AST]] = []
    for node in tree.body:
        members = node.body if isinstance(node, ast.ClassDef) else [node]
        for member in members:
            found.append((f"line {member.lineno}" if isinstance(member, FUNCTIONS) else "", member))
    return found


def _names_from_time(tree: ast.Module) -> set[str]:
    imports = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module == "time"]
    return {alias.asname or alias.name for node in imports for alias in node.names if alias.name in CLOCKS}


def _bindings(node: ast.AST) -> list[tuple[ast.expr, list[ast.expr | str]]]:
    """Which value gets which names: assignments, loops, `with`, what is appended, what a function gives."""
    if isinstance(node, ast.Assign):
        return _unpacked(node.value, node.targets)
    if isinstance(node, ast.AugAssign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
        return [(node.value, [node.target])]
    if isinstance(node, ast.For | ast.comprehension):
        return [(node.iter, [node.target])]
    if isinstance(node, ast.withitem) and node.optional_vars is not None:
        return [(node.context_expr, [node.optional_vars])]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
        return [(value, [node.func.value]) for value in node.args]
    if isinstance(node, FUNCTIONS):
        given = [inner for inner in ast.walk(node) if isinstance(inner, ast.Return | ast.Yield)]
        return [(inner.value, [node.name]) for inner in given if inner.value is not None]
    return []


def _unpacked(value: ast.expr, targets: list[ast.expr]) -> list[tuple[ast.expr, list[ast.expr | str]]]:
    target = targets[0]
    if isinstance(value, ast.Tuple) and isinstance(target, ast.Tuple) and len(value.elts) == len(target.elts):
        return [(part, [name]) for part, name in zip(value.elts, target.elts, strict=True)]
    return [(value, list(targets))]


def _parts(target: ast.expr | str) -> list[ast.expr | str]:
    """What gets a value: each of several, and the list whose item does."""
    if isinstance(target, ast.Tuple | ast.List):
        return [part for inner in target.elts for part in _parts(inner)]
    return _parts(target.value) if isinstance(target, ast.Subscript | ast.Starred) else [target]


def _last_name(node: ast.AST) -> str:
    node = node.func if isinstance(node, ast.Call) else node
    return getattr(node, "attr", None) or getattr(node, "id", "")


def asserted_times(text: str) -> list[int]:
    imported = frozenset[str]().union(*map(times_of, IMPORTS_SUPPORT.findall(text)))
    if not imported and not MENTIONS_A_CLOCK.search(text):
        return []
    return Times(ast.parse(text), imported).asserted()


@functools.cache
def times_of(support: str) -> frozenset[str]:
    text = (TESTS / "support" / f"{support}.py").read_text(encoding="utf-8")
    return Times(ast.parse(text)).exported() if MENTIONS_A_CLOCK.search(text) else frozenset()


def test_no_test_asserts_a_time():
    found = [
        f"{path.relative_to(TESTS.parent)}:{line}"
        for path in sorted(TESTS.rglob("*.py"))
        for line in asserted_times(path.read_text(encoding="utf-8"))
    ]

    assert not found, (
        f"{', '.join(found)}: these asserts measure time, and fail on a busy machine. Count what the code"
        " does instead (tests/support/calls.py), wait for what is expected (`wait_for` in"
        " tests/support/receivers.py), or put the figure into bench/."
    )


@pytest.mark.parametrize(
    "lines",
    [
        "started = time.monotonic()\nwork()\nassert time.monotonic() - started < 2",
        "started = perf_counter()\nspent = perf_counter() - started\nassert spent < 2",
        "a, b = time.process_time(), 0\nc = time.process_time() - a\nassert min(c, 3) * 2 < 5, 'slow'",
        "end = time.monotonic() + 5\nassert time.monotonic() < end",
        "def cost():\n    a = time.time()\n    return time.time() - a\nassert cost() < 6 * cost()",
        "times = []\nfor n in (1, 2):\n    a = time.time_ns()\n    times.append(time.time_ns() - a)\n"
        "assert times[1] < 9 * times[0]",
        "a = time.monotonic()\ns.seconds = time.monotonic() - a\nassert s.seconds < 1",
        "def spent():\n    a = time.time()\n    yield time.time() - a\nwith spent() as s:\n"
        "    work()\nassert s < 1",
        "a = asyncio.get_running_loop().time()\nassert asyncio.get_running_loop().time() - a < 1",
        "assert resource.getrusage(resource.RUSAGE_SELF).ru_utime < 5",
        "assert timeit.timeit(work) < 5",
    ],
)
def test_an_assert_on_a_measured_time_is_found(lines):
    assert asserted_times(f"import time\nfrom time import perf_counter\n{lines}")


def test_a_time_that_a_support_module_measures_is_followed(tmp_path, monkeypatch):
    (tmp_path / "support").mkdir()
    (tmp_path / "support" / "stopwatch.py").write_text(
        "import time\ndef watched():\n    spent, a = Spent(), time.monotonic()\n    yield spent\n"
        "    spent.seconds = time.monotonic() - a\n"
    )
    monkeypatch.setitem(globals(), "TESTS", tmp_path)
    monkeypatch.setitem(globals(), "times_of", times_of.__wrapped__)
    lines = "from tests.support.stopwatch import watched\nwith watched() as spent:\n    work()\n"

    assert asserted_times(f"{lines}assert spent.seconds < 1")
    assert asserted_times(f"{lines}assert spent.answer == 1") == []


@pytest.mark.parametrize(
    "lines",
    [
        "end = time.monotonic() + 5\nwhile time.monotonic() < end:\n    work()\nassert done",
        "signed = sign(int(time.time()), 'x')\nassert is_right(signed)",
        "old = int(time.time()) - 1000\nassert not is_right(old)",
        "with counted_calls() as work:\n    act()\nassert work.calls < 100",
        "history.append((time.monotonic(), answer))\nassert is_linear(history)",
        "assert row.at_ms - other.at_ms == 5",
    ],
)
def test_waiting_with_a_bound_and_telling_the_time_are_no_measurements(lines):
    assert asserted_times(f"import time\n{lines}") == []
