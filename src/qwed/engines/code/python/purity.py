"""Whether a program does nothing but compute, and ends: a proof, or the first thing in its way.

Printing counts as computing: what is printed goes to the caller alone. A function that is only defined is
bounded by its arguments; one that the program itself calls is bounded by what it is called with.
"""

import ast
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from qwed.engines.code.python.interpreter import Interpreter

MAX_ROUNDS: Final = 1_000_000
MAX_COMBINATIONS: Final = 12
MAX_WIDTH: Final = 10_000

PURE_MODULES: Final = frozenset(
    [
        "__future__",
        "abc",
        "bisect",
        "cmath",
        "collections",
        "copy",
        "dataclasses",
        "decimal",
        "enum",
        "fractions",
        "functools",
        "heapq",
        "itertools",
        "json",
        "math",
        "numbers",
        "operator",
        "statistics",
        "string",
        "textwrap",
        "typing",
    ]
)
_IMPURE_MEMBERS: Final = frozenset(
    [
        "itertools.count",
        "itertools.cycle",
        "itertools.repeat",
        "itertools.product",
        "itertools.permutations",
        "itertools.combinations",
        "itertools.combinations_with_replacement",
        "math.factorial",
        "math.comb",
        "math.perm",
        "math.pow",
        "json.load",
        "json.dump",
        "functools.reduce",
        "functools.partial",
        "operator.attrgetter",
        "operator.methodcaller",
        "operator.pow",
        "operator.lshift",
        "operator.mul",
        "operator.repeat",
        "statistics.NormalDist.samples",
    ]
)
_PURE_BUILTINS: Final = frozenset(
    [
        "abs",
        "all",
        "any",
        "ascii",
        "bin",
        "bool",
        "bytes",
        "callable",
        "chr",
        "classmethod",
        "complex",
        "dict",
        "divmod",
        "enumerate",
        "filter",
        "float",
        "frozenset",
        "hash",
        "hex",
        "int",
        "isinstance",
        "issubclass",
        "len",
        "list",
        "map",
        "max",
        "min",
        "oct",
        "ord",
        "print",
        "property",
        "range",
        "repr",
        "reversed",
        "round",
        "set",
        "slice",
        "sorted",
        "staticmethod",
        "str",
        "sum",
        "super",
        "tuple",
        "type",
        "zip",
        "object",
        "ArithmeticError",
        "AssertionError",
        "AttributeError",
        "Exception",
        "IndexError",
        "KeyError",
        "LookupError",
        "NotImplementedError",
        "OverflowError",
        "RuntimeError",
        "StopIteration",
        "TypeError",
        "ValueError",
        "ZeroDivisionError",
    ]
)
_PURE_METHODS: Final = frozenset(
    [
        "append",
        "add",
        "appendleft",
        "bit_length",
        "capitalize",
        "casefold",
        "clear",
        "copy",
        "count",
        "decode",
        "difference",
        "discard",
        "encode",
        "endswith",
        "extend",
        "find",
        "format",
        "get",
        "index",
        "insert",
        "intersection",
        "isalnum",
        "isalpha",
        "isascii",
        "isdecimal",
        "isdigit",
        "isdisjoint",
        "isidentifier",
        "islower",
        "isnumeric",
        "isspace",
        "issubset",
        "issuperset",
        "istitle",
        "isupper",
        "items",
        "join",
        "keys",
        "lower",
        "lstrip",
        "most_common",
        "partition",
        "pop",
        "popitem",
        "popleft",
        "remove",
        "removeprefix",
        "removesuffix",
        "replace",
        "reverse",
        "rfind",
        "rindex",
        "rotate",
        "rpartition",
        "rsplit",
        "rstrip",
        "setdefault",
        "sort",
        "split",
        "splitlines",
        "startswith",
        "strip",
        "swapcase",
        "symmetric_difference",
        "title",
        "total",
        "translate",
        "union",
        "update",
        "upper",
        "values",
        "as_integer_ratio",
        "is_integer",
    ]
)
_PADDING: Final = frozenset({"ljust", "rjust", "center", "zfill", "expandtabs"})
_GROWING: Final = frozenset({"append", "extend", "add", "insert", "update", "appendleft", "setdefault"})
_PURE_DECORATORS: Final = frozenset(
    [
        "dataclass",
        "dataclasses.dataclass",
        "property",
        "staticmethod",
        "classmethod",
        "cache",
        "lru_cache",
        "functools.cache",
        "functools.lru_cache",
        "functools.wraps",
        "total_ordering",
        "functools.total_ordering",
        "abstractmethod",
        "abc.abstractmethod",
    ]
)
_HARMLESS_DUNDERS: Final = frozenset(
    {"__init__", "__post_init__", "__name__", "__main__", "__slots__", "__doc__"}
)
_WIDE: Final = re.compile(r"\d{5,}|\*")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_DISPLAYS = (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.JoinedStr)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class NotPure(Exception):
    """What stands in the proof's way."""


def judge_purity(tree: ast.Module, run: Interpreter) -> tuple[bool, str]:
    try:
        _no_effects(run)
        for step in (_known_calls, _plain_shape, _no_recursion, _bounded_loops, _few_combinations):
            step(tree, run)
    except NotPure as obstacle:
        return False, str(obstacle)
    return True, "no input or output but printing, no dynamic execution, every loop bounded, no recursion"


def _no_effects(run: Interpreter) -> None:
    if run.report.problems:
        raise NotPure("has problems")
    if run.report.effects:
        raise NotPure("effects: " + ", ".join(sorted(run.report.effects)))
    if run.growth:
        raise NotPure(run.growth)


def _at(node: Any, what: str) -> NotPure:
    return NotPure(f"line {getattr(node, 'lineno', 1)}: {what}")


def _known_calls(tree: ast.Module, run: Interpreter) -> None:
    """Everything that was called is known to compute and nothing else."""
    for path in sorted(run.calls_made):
        if path.startswith("."):
            known = path[1:] in _PURE_METHODS or path[1:] in _PADDING
        elif path.startswith("builtins."):
            known = path.removeprefix("builtins.").partition(".")[0].removesuffix("()") in _PURE_BUILTINS
        else:
            known = path.partition(".")[0] in PURE_MODULES and path not in _IMPURE_MEMBERS
        if not known:
            raise NotPure("calls " + ("a value that is not known" if path == "?" else path.lstrip(".")))


def _plain_shape(tree: ast.Module, run: Interpreter) -> None:
    """No construct whose work can't be read off the tree."""
    callable_names = _callable_names(tree)
    for node in ast.walk(tree):
        check = _SHAPES.get(type(node))
        if check is not None:
            check(node, callable_names)


def _callable_names(tree: ast.Module) -> set[str]:
    names: set[str] = set(_PURE_BUILTINS)
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda()):
                names.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names.update(alias.asname or alias.name for alias in aliases)
    return names


def _check_while(node: ast.AST, names: set[str]) -> None:
    raise _at(node, "a while loop, whose end is not proven")


def _check_suspension(node: ast.AST, names: set[str]) -> None:
    raise _at(node, "asynchronous code")


def _check_import(node: Any, names: set[str]) -> None:
    modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or "."]
    for module in modules:
        if module.partition(".")[0] not in PURE_MODULES:
            raise _at(node, f"imports {module}")


def _check_call(node: Any, names: set[str]) -> None:
    match node.func:
        case ast.Name(id=name) if name not in names:
            raise _at(node, f"calls {name}, which may be anything")
        case ast.Name(id="iter"):
            raise _at(node, "calls iter")
        case ast.Attribute(attr=name) if name in _PADDING:
            if not all(isinstance(a, ast.Constant) and _small(a.value) for a in node.args):
                raise _at(node, f"{name} to a width that is not known")
        case ast.Name() | ast.Attribute():
            pass
        case _:
            raise _at(node, "calls the result of an expression")


def _small(value: Any) -> bool:
    return not isinstance(value, int) or value <= MAX_WIDTH


def _check_format(node: Any, names: set[str]) -> None:
    if node.format_spec is not None:
        text = "".join(str(part.value) for part in node.format_spec.values if isinstance(part, ast.Constant))
        if _WIDE.search(text) or any(not isinstance(part, ast.Constant) for part in node.format_spec.values):
            raise _at(node, "formats to a width that is not known to be small")


def _check_constant(node: Any, names: set[str]) -> None:
    if isinstance(node.value, str) and ("%" in node.value or "{" in node.value) and _WIDE.search(node.value):
        raise _at(node, "a format with a width that is not known to be small")


def _check_function(node: Any, names: set[str]) -> None:
    if _is_dunder(node.name) and node.name not in _HARMLESS_DUNDERS:
        raise _at(node, f"defines {node.name}, which operators call")
    for decorator in node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if ast.unparse(called) not in _PURE_DECORATORS:
            raise _at(node, "a decorator that is not known")


def _check_class(node: Any, names: set[str]) -> None:
    if node.keywords:
        raise _at(node, "a class made by other means than its body")
    for base in node.bases:
        if not (isinstance(base, ast.Name) and base.id in names) and not isinstance(base, ast.Attribute):
            raise _at(node, "a base class that is not known")


def _check_assignment(node: Any, names: set[str]) -> None:
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
        if _is_dunder(name) and name not in _HARMLESS_DUNDERS:
            raise _at(node, f"sets {name}")


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


_SHAPES: Final[dict[type, Callable[[Any, set[str]], None]]] = {
    ast.While: _check_while,
    ast.Await: _check_suspension,
    ast.AsyncFor: _check_suspension,
    ast.AsyncWith: _check_suspension,
    ast.Import: _check_import,
    ast.ImportFrom: _check_import,
    ast.Call: _check_call,
    ast.FormattedValue: _check_format,
    ast.Constant: _check_constant,
    ast.FunctionDef: _check_function,
    ast.AsyncFunctionDef: _check_function,
    ast.ClassDef: _check_class,
    ast.Assign: _check_assignment,
    ast.AugAssign: _check_assignment,
}


# -- recursion -----------------------------------------------------------------------------------------


def _no_recursion(tree: ast.Module, run: Interpreter) -> None:
    """No function mentions itself, directly or through others; a mention is enough, called or not."""
    mentions: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                mentions.setdefault(name, set()).update(_mentioned(node.body))
            case ast.ClassDef(name=name):
                mentions.setdefault(name, set()).update(_mentioned(node.body))
            case ast.Assign(targets=targets, value=value) if any(
                isinstance(n, ast.Lambda) for n in ast.walk(value)
            ):
                for target in targets:
                    mentions.setdefault(_root_name(target), set()).update(_mentioned([value]))
    for start in mentions:
        if _reaches(mentions, start):
            raise NotPure(f"{start} may call itself, and how often is not proven")


def _mentioned(body: list[Any]) -> set[str]:
    names: set[str] = set()
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                names.add(node.id)
            elif isinstance(node, ast.Attribute):
                names.add(node.attr)
    return names


def _root_name(target: ast.expr) -> str:
    while isinstance(target, (ast.Subscript, ast.Attribute)):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""


def _reaches(mentions: dict[str, set[str]], start: str) -> bool:
    seen: set[str] = set()
    waiting = list(mentions[start])
    while waiting:
        name = waiting.pop()
        if name == start:
            return True
        if name not in seen:
            seen.add(name)
            waiting.extend(mentions.get(name, ()))
    return False


# -- containers ----------------------------------------------------------------------------------------


def _few_combinations(tree: ast.Module, run: Interpreter) -> None:
    """Containers put into containers, again and again, grow or print exponentially: few are let pass."""
    combined = [node for node in ast.walk(tree) if _combines(node)]
    if len(combined) > MAX_COMBINATIONS:
        raise _at(combined[-1], "containers are put into one another too often to bound them")


def _combines(node: ast.AST) -> bool:
    match node:
        case ast.Assign(targets=[ast.Tuple()], value=ast.Tuple()):
            return False
        case ast.Assign(value=value) | ast.AugAssign(value=value):
            displays = [each for each in ast.walk(value) if isinstance(each, _DISPLAYS)]
            return any(len(_names_in(display)) > 1 for display in displays)
        case ast.Call(func=ast.Attribute(attr="extend" | "update", value=owner), args=args):
            return any(name.id == _root_name(owner) for arg in args for name in _names_in(arg))
    return False


# -- loops ---------------------------------------------------------------------------------------------


def _bounded_loops(tree: ast.Module, run: Interpreter) -> None:
    sizes = [len(node.elts) for node in ast.walk(tree) if isinstance(node, (ast.List, ast.Tuple, ast.Set))]
    texts = [
        len(n.value)
        for n in ast.walk(tree)
        if isinstance(n, ast.Constant) and isinstance(n.value, (str, bytes))
    ]
    largest = max([10, *sizes, *texts, *run.ranges.values()])
    nests = list(_nests(tree, []))
    for nest in nests:
        _no_runaway_growth(nest)
    # What one nest builds, a later one may walk: the bound is taken again, once for each nest that builds.
    builders = [nest for nest in nests if _builds(nest[-1])]
    for _ in range(len(builders) + 1):
        work = sum(_rounds(nest, largest, run) for nest in nests)
        if work > MAX_ROUNDS:
            raise NotPure(f"line {nests[0][0].lineno}: loops of more than {MAX_ROUNDS} rounds in all")
        built = max([_rounds(nest, largest, run) for nest in builders], default=0)
        if built <= largest:
            return
        largest = built


def _nests(node: ast.AST, outer: list[Any]) -> Iterator[list[Any]]:
    """Every loop with the loops around it, outermost first."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.For, *_COMPREHENSIONS)):
            nest = [*outer, child]
            yield nest
            yield from _nests(child, nest)
        else:
            yield from _nests(child, outer)


def _rounds(nest: list[Any], largest: int, run: Interpreter) -> int:
    product = 1
    for loop in nest:
        iterables = [loop.iter] if isinstance(loop, ast.For) else [each.iter for each in loop.generators]
        for iterable in iterables:
            product *= max(_trip_count(iterable, largest, run), 1)
    return product


def _trip_count(iterable: ast.expr, largest: int, run: Interpreter) -> int:
    match iterable:
        case ast.Call(func=ast.Name(id="range")):
            return run.ranges.get(iterable.lineno, 1)
        case ast.List(elts=elts) | ast.Tuple(elts=elts):
            return len(elts)
        case ast.Constant(value=str() as text):
            return len(text)
    return largest


def _builds(loop: Any) -> bool:
    if isinstance(loop, _COMPREHENSIONS):
        return True
    for node in ast.walk(loop):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _GROWING:
            return True
        if isinstance(node, ast.AugAssign) or (
            isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
        ):
            return True
    return False


def _no_runaway_growth(nest: list[Any]) -> None:
    loop = nest[-1]
    if not isinstance(loop, ast.For):
        return
    targets = {node.id for each in nest if isinstance(each, ast.For) for node in _names_in(each.target)}
    carried = _carried(loop) - targets
    walked = {node.id for each in nest if isinstance(each, ast.For) for node in _names_in(each.iter)}
    for node in ast.walk(loop):
        match node:
            case ast.Assign(targets=[ast.Name()], value=value) | ast.AnnAssign(value=ast.expr() as value):
                _check_growth(value, carried, node)
            case ast.Assign(targets=[ast.Tuple(elts=elts)], value=ast.Tuple(elts=values)) if len(elts) == len(
                values
            ):
                for value in values:
                    _check_growth(value, carried, node)
            case ast.Assign(value=value):
                _check_growth(value, carried, node)
            case ast.AugAssign(target=target, op=op, value=value):
                _check_augmented(target, op, value, carried, walked, node)
            case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name in _GROWING:
                _check_growing_call(node, owner, name, carried, walked)


def _carried(loop: Any) -> set[str]:
    names = {node.id for node in _names_in(loop) if isinstance(node.ctx, ast.Store)}
    grown = {
        _root_name(node.func.value)
        for node in ast.walk(loop)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _GROWING
    }
    stored = {
        _root_name(n) for n in ast.walk(loop) if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store)
    }
    return (names | grown | stored) - {""}


def _names_in(node: ast.AST) -> list[ast.Name]:
    return [each for each in ast.walk(node) if isinstance(each, ast.Name)]


def _check_growth(value: ast.expr, carried: set[str], node: Any) -> None:
    """Sums of one carried name grow by a step a round; products or sums of several may double."""
    if isinstance(value, ast.Compare) or _is_reduced(value):
        return
    mentioned = [name.id for name in _names_in(value) if name.id in carried]
    multiplies = any(isinstance(each, (ast.Mult, ast.Pow, ast.LShift)) for each in ast.walk(value))
    combines = any(
        isinstance(each, (ast.BinOp, ast.Call, ast.List, ast.Tuple, ast.JoinedStr))
        for each in ast.walk(value)
    )
    if (len(mentioned) > 1 and combines) or (mentioned and multiplies):
        raise _at(node, f"{mentioned[0]} may grow without bound from round to round")


def _is_reduced(value: ast.expr) -> bool:
    """`… % constant` and `min(…, constant)` can't grow."""
    match value:
        case ast.BinOp(op=ast.Mod(), right=ast.Constant(value=int())):
            return True
        case ast.Call(func=ast.Name(id="len" | "min" | "bool" | "int" | "ord" | "abs" | "round")):
            return not any(isinstance(each, (ast.Mult, ast.Pow, ast.LShift)) for each in ast.walk(value))
    return False


def _check_augmented(
    target: ast.expr, op: ast.operator, value: ast.expr, carried: set[str], walked: set[str], node: Any
) -> None:
    if _root_name(target) in walked and not isinstance(target, ast.Subscript):
        raise _at(node, "a loop changes what it walks over")
    if isinstance(op, (ast.Pow, ast.LShift)):
        raise _at(node, "a power or shift from round to round")
    mentioned = {name.id for name in _names_in(value)} & carried
    if mentioned and not _is_reduced(value):
        raise _at(node, f"{_root_name(target)} may grow without bound from round to round")


def _check_growing_call(node: Any, owner: ast.expr, name: str, carried: set[str], walked: set[str]) -> None:
    if _root_name(owner) in walked:
        raise _at(node, "a loop changes what it walks over")
    given = {each.id for arg in node.args for each in _names_in(arg)}
    if _root_name(owner) in given or (name in ("extend", "update") and given & carried):
        raise _at(node, f"{_root_name(owner)} may grow without bound from round to round")
