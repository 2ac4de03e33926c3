"""What an abstract run keeps: scopes, steps, what was reported; and the rules it is judged by."""

import ast
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Final, NamedTuple

from qwed.engines.code.python import constant_folds
from qwed.engines.code.python.names import (
    ALIASES,
    BUILTINS,
    DANGEROUS_CALLS,
    SOURCES,
)
from qwed.engines.code.python.newer import Rewritten, rewrite
from qwed.engines.code.python.values import (
    CLEAN,
    UNKNOWN,
    Choice,
    Const,
    DataOrigin,
    Instance,
    PythonClass,
    PythonFunction,
    PythonText,
    PythonUnknown,
    PythonValue,
    Ref,
    Taint,
    both,
    join,
)
from qwed.engines.code.verdict import CodeReport, CodeVerdict, excerpt

Nested = Callable[[str, str, int], CodeVerdict]
MIN_STEPS: Final = 4_000
STEPS_PER_CHARACTER: Final = 8
MAX_STEPS: Final = 60_000
MAX_UNROLLED: Final = 600
MAX_CALL_DEPTH: Final = 5
MAX_INLINED: Final = 4
MAX_PARTS: Final = 64
MAX_PATH: Final = 160
# How a block of statements ends: it runs on, leaves the loop's body, or leaves the function.
RUNS_ON, LEAVES_BODY, LEAVES = 0, 1, 2


class Parsed(NamedTuple):
    """A tree, and what was rewritten to get it: a newer grammar than this interpreter's."""

    tree: ast.Module
    rewritten: Rewritten | None = None


def parse(text: str) -> Parsed:
    """Like `ast.parse`, of every grammar, without the warnings that the text's author should see, not we."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return Parsed(ast.parse(text))
        except SyntaxError as error:
            return _parse_newer(text, error)


def _parse_newer(text: str, error: SyntaxError) -> Parsed:
    rewritten = rewrite(text)
    if rewritten is None:
        raise error
    try:
        return Parsed(ast.parse(rewritten.text), rewritten)
    except (SyntaxError, ValueError):
        # What was said of the text as it is written is what its author understands.
        raise error from None


class PythonTooLong(Exception):
    """The program is larger than what one inspection follows."""


class CallFrame:
    __slots__ = ("global_names", "names", "parent")

    def __init__(self, parent: "CallFrame | None" = None) -> None:
        self.names: dict[str, PythonValue] = {}
        self.parent = parent
        self.global_names: set[str] = set()

    def find(self, name: str) -> PythonValue | None:
        scope: CallFrame | None = self
        while scope is not None:
            found = scope.names.get(name)
            if found is not None:
                return found
            scope = scope.parent
        return None

    def set(self, name: str, value: PythonValue) -> None:
        if name in self.global_names:
            outer = self.outermost()
            known = outer.names.get(name)
            outer.names[name] = value if known is None else join(known, value)
        self.names[name] = value

    def outermost(self) -> "CallFrame":
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope


class PythonCall:
    """One call, its callee resolved and its arguments evaluated."""

    __slots__ = ("args", "kwargs", "line", "open", "path", "receiver")

    def __init__(
        self,
        path: str,
        args: list[PythonValue],
        kwargs: dict[str, PythonValue],
        line: int,
        receiver: PythonValue | None = None,
        *,
        open: bool = False,
    ) -> None:
        self.path = path
        self.args = args
        self.kwargs = kwargs
        self.line = line
        self.receiver = receiver
        self.open = open

    def argument(self, position: int, name: str = "") -> PythonValue | None:
        if position < len(self.args):
            return self.args[position]
        return self.kwargs.get(name) if name else None

    @property
    def everything(self) -> Iterable[PythonValue]:
        return (*self.args, *self.kwargs.values())


# Rules and watches are given the whole interpreter, which is built on top of this module.
Rule = Callable[[Any, PythonCall], PythonValue | None]
Watch = Callable[[Any, str, PythonValue, int], None]


class PythonRules:
    """What is judged while a program runs: by path of the call, by method name, and at other moments."""

    def __init__(
        self,
        calls: dict[str, Rule],
        methods: dict[str, Rule],
        mentions: dict[str, Callable[[Any, str, int], None]],
        assignments: list[Watch],
        returned: list[Watch],
        attribute_set: Watch,
        imported: Callable[[Any, str, int], None],
        compared: Callable[[Any, ast.Compare, list[PythonValue]], None],
        element: Callable[[Any, Ref], PythonValue | None],
        binary: Callable[[Any, ast.operator, PythonValue, PythonValue, int], PythonValue | None],
    ) -> None:
        self.calls = calls
        self.methods = methods
        self.mentions = mentions
        self.assignments = assignments
        self.returned = returned
        self.attribute_set = attribute_set
        self.imported = imported
        self.compared = compared
        self.element = element
        self.binary = binary


def parts_of(value: PythonValue) -> tuple[str | PythonValue, ...]:
    match value:
        case Const(data=str()):
            return (value.data,)
        case Const(data=int() | float() | bool() | None):
            return (str(value.data),)
        case PythonText():
            return value.parts
    return (value,)


def is_text(value: PythonValue) -> bool:
    return isinstance(value, PythonText) or (isinstance(value, Const) and isinstance(value.data, str))


def is_number(value: PythonValue) -> bool:
    if isinstance(value, Const):
        return isinstance(value.data, (int, float))
    return isinstance(value, PythonUnknown) and value.shape == "number"


def is_plain(value: PythonValue) -> bool:
    return not isinstance(value, (PythonFunction, PythonClass, Instance))


def is_hashable(data: Any) -> bool:
    return isinstance(data, (str, bytes, int, float, bool, type(None), tuple))


def is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


_CHANGES_NAMES: Final = re.compile(r"nonlocal|locals|vars|_getframe|settrace|setprofile|f_back")


class PythonMachine:
    """The state of one run, and the lookups that every part of it needs."""

    expressions: ClassVar[dict[type, Any]] = {}
    statements: ClassVar[dict[type, Any]] = {}

    def __init__(
        self,
        source: str,
        report: CodeReport,
        depth: int,
        nested: Nested,
        rules: "PythonRules",
    ) -> None:
        self.lines = source.split("\n")
        self.report = report
        self.depth = depth
        self.nested = nested
        self.rules = rules
        self.module = CallFrame()
        self.scope = self.module
        self.steps = 0
        self.max_steps = min(MAX_STEPS, MIN_STEPS + STEPS_PER_CHARACTER * len(source))
        self.unrolled = 0
        self.pending: list[list[dict[str, PythonValue]]] = [[]]
        self.returns: list[list[PythonValue]] = []
        self.stack: list[ast.AST] = []
        self.functions: list[PythonFunction] = []
        self.classes: list[PythonClass] = []
        self.star_modules: list[str] = []
        self.function_names: list[str] = []
        self.has_walrus = ":=" in source
        # Whether something else than its own statements may change a function's names.
        self.is_changed_from_outside = _CHANGES_NAMES.search(source) is not None
        # How many branches and loops are around the statement that runs.
        self.branching = 0
        # Of these, how many conditions.
        self.choosing = 0
        self.assigned: dict[int, set[str]] = {}
        self.unbounded_loops = 0
        # Of these, how many neither end nor wait.
        self.bare_loops = 0
        # The first names of imported modules that are on no list.
        self.unknown_modules: set[str] = set()

    def spend(self, steps: int = 1) -> None:
        self.steps += steps
        if self.steps > self.max_steps:
            raise PythonTooLong

    def text(self, line: int) -> str:
        return self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""

    def harm(self, rule: str, line: int, taint: Taint = CLEAN) -> None:
        self.report.harm(rule, line, self.text(line), self.flow(line, taint))

    def doubt(self, rule: str, line: int, taint: Taint = CLEAN) -> None:
        self.report.doubt(rule, line, self.text(line), self.flow(line, taint))

    def flow(self, line: int, taint: Taint) -> tuple[str, ...]:
        if not taint:
            return ()
        origin = taint[0]
        start = f"line {origin.line}: {origin.kind} data from {origin.text}"
        return (start, *origin.steps, f"line {line}: {excerpt(self.text(line))}")

    def lookup(self, name: str, line: int) -> PythonValue:
        found = self.scope.find(name)
        if found is not None:
            # Each use of a request or of the argument list is an origin of its own.
            if found.taint and type(found) is Ref and found.path in SOURCES and found.path[-1] != ")":
                return Ref(found.path, (DataOrigin(SOURCES[found.path], line, found.path),))
            return found
        if name in BUILTINS:
            return self.reference("builtins" if name == "__builtins__" else f"builtins.{name}", line)
        for module in self.star_modules:
            path = f"{module}.{name}"
            if path in self.rules.calls or path in SOURCES or path in DANGEROUS_CALLS:
                return self.reference(path, line)
        if name == "__name__":
            return Const("__main__")
        if self.star_modules:
            return Ref(f"{self.star_modules[-1]}.{name}")
        return UNKNOWN

    def reference(self, path: str, line: int, taint: Taint = CLEAN) -> PythonValue:
        """The value a dotted path stands for, with what the tables know of it."""
        path = ALIASES.get(path, path)
        head, _, rest = path.partition(".")
        if rest and head in ALIASES:
            path = f"{ALIASES[head]}.{rest}"
            path = ALIASES.get(path, path)
        if len(path) > MAX_PATH:
            return PythonUnknown(taint)
        if path in constant_folds.CONSTANTS:
            return Const(constant_folds.CONSTANTS[path])
        mention = self.rules.mentions.get(path)
        if mention is not None:
            mention(self, path, line)
        kind = SOURCES.get(path)
        if kind is not None:
            taint = both(taint, (DataOrigin(kind, line, path),))
        return Ref(path, taint)

    def escaping(self, value: PythonValue, line: int, *, hidden: bool = False) -> None:
        """A reference to something that runs code, put where its later calls can't be seen."""
        for option in value.options if isinstance(value, Choice) else (value,):
            if isinstance(option, Ref) and option.path in DANGEROUS_CALLS:
                if hidden:
                    self.harm("hidden-call", line)
                else:
                    self.doubt("dangerous-reference-escapes", line)

    # What the layers above provide, and the ones below need.

    def eval(self, node: ast.expr) -> PythonValue:
        raise NotImplementedError

    def attribute(self, owner: PythonValue, name: str, line: int) -> PythonValue:
        raise NotImplementedError

    def bind(self, target: ast.expr, value: PythonValue) -> None:
        raise NotImplementedError

    def block(self, statements: Sequence[ast.stmt]) -> int:
        raise NotImplementedError

    def believe(self, names: set[str]) -> None:
        raise NotImplementedError

    def may_unroll(self, members: list[PythonValue]) -> bool:
        raise NotImplementedError

    def is_validator(self, name: str) -> bool:
        raise NotImplementedError

    def decided(self, test: ast.expr) -> bool | None:
        raise NotImplementedError

    def make_function(self, node: Any) -> PythonFunction:
        raise NotImplementedError
