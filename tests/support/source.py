"""The source as text and as trees, for tests that hold rules and budgets of the source itself."""

import ast
import functools
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Final

SOURCE: Final = Path(__file__).parents[2] / "src"
MODULES: Final = sorted(SOURCE.rglob("*.py"))
#: What the rules look at; walking everything else for each rule cost half a minute.
_LOOKED_AT: Final = (
    ast.Call,
    ast.keyword,
    ast.Import,
    ast.ImportFrom,
    ast.Attribute,
    ast.Name,
    ast.ExceptHandler,
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


def name_of(path: Path) -> str:
    """`qwed/domain/actions.py`."""
    return path.relative_to(SOURCE).as_posix()


@functools.cache
def texts() -> dict[str, str]:
    return {name_of(path): path.read_text(encoding="utf-8") for path in MODULES}


@functools.cache
def trees() -> dict[Path, ast.Module]:
    # Millions of nodes without a cycle: the collector would visit them again and again.
    gc.disable()
    try:
        found = {path: ast.parse(texts()[name_of(path)]) for path in MODULES}
        gc.freeze()
    finally:
        gc.enable()
    return found


@functools.cache
def nodes() -> list[tuple[str, ast.AST]]:
    return [
        (name_of(path), node)
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, _LOOKED_AT)
    ]


@functools.cache
def functions() -> list[tuple[str, str, Function]]:
    """Module, dotted name inside it, and the function; also methods and functions within functions."""
    return [(name_of(path), *found) for path, tree in trees().items() for found in _functions_in(tree, "")]


def _functions_in(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            yield prefix + child.name, child
        inner = f"{prefix}{child.name}." if isinstance(child, (Function, ast.ClassDef)) else prefix
        if not isinstance(child, ast.expr):
            yield from _functions_in(child, inner)


def dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return ""


def imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []
