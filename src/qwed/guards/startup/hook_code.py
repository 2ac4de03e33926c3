"""What a start-up line would do, read from its syntax.

Explained is code that loads modules of its own distribution, calls them, and asks the environment
whether to. Everything else (another import, `exec` of a made-up string, a process, a file) is named.
"""

import ast
from collections.abc import Callable, Iterable
from typing import Final

from qwed.guards.startup.genuine import parse

_HARMLESS_MODULES: Final = frozenset({"os", "sys"})
_HARMLESS_READS: Final = frozenset({"os.environ", "sys.version_info", "sys.platform", "sys.flags"})
_HARMLESS_CALLS: Final = frozenset({"os.environ.get", "os.getenv"})
_PLAIN: Final = (
    ast.BoolOp,
    ast.Compare,
    ast.UnaryOp,
    ast.IfExp,
    ast.Tuple,
    ast.List,
    ast.boolop,
    ast.cmpop,
    ast.unaryop,
    ast.expr_context,
)


class _Unexplained(Exception):
    """What the reading stops at."""


def unexplained_in(source: str, owns: Callable[[str], bool]) -> str | None:
    """The first thing this code does that nothing explains, or None.

    `owns(module)` says whether that module's file is vouched for.
    """
    tree = parse(source)
    if tree is None:
        return "is not readable as Python"
    try:
        _Reading(owns).statements(tree.body)
    except _Unexplained as found:
        return str(found)[:200]
    except RecursionError:
        return "is nested too deeply to be read"
    return None


class _Reading:
    def __init__(self, owns: Callable[[str], bool]) -> None:
        self._owns = owns
        self._owned: set[str] = set()
        self._plain: set[str] = set()

    def statements(self, body: Iterable[ast.stmt]) -> None:
        for node in body:
            self._statement(node)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Pass():
                pass
            case ast.Import(names=names):
                for alias in names:
                    self._bind_import(alias)
            case ast.ImportFrom(module=str(module), level=0, names=names) if self._owns(module):
                for alias in names:
                    self._bind(self._owned, alias.asname or alias.name)
            case ast.ImportFrom():
                raise _Unexplained(f"imports from {'.' * node.level}{node.module or ''}")
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._expression(value)
                self._bind(self._plain, name)
            case ast.Expr(value=value):
                self._expression(value)
            case ast.If():
                self._expression(node.test)
                self.statements((*node.body, *node.orelse))
            case ast.Try():
                self.statements((*node.body, *node.orelse, *node.finalbody))
                for handler in node.handlers:
                    self._handler(handler)
            case _:
                raise _Unexplained(
                    f"holds a statement that no known hook has ({type(node).__name__.lower()})"
                )

    def _bind_import(self, alias: ast.alias) -> None:
        if alias.name in _HARMLESS_MODULES and alias.asname is None:
            return
        if not self._owns(alias.name):
            raise _Unexplained(f"imports {alias.name}, for which nothing vouches")
        self._bind(self._owned, alias.asname or alias.name.partition(".")[0])

    def _bind(self, names: set[str], name: str) -> None:
        # Rebinding would let one name stand for another later on.
        if name in _HARMLESS_MODULES or name in (self._owned | self._plain) - names or name == "exec":
            raise _Unexplained(f"rebinds {name}")
        names.add(name)

    def _handler(self, handler: ast.ExceptHandler) -> None:
        if handler.type is not None and not isinstance(handler.type, ast.Name):
            raise _Unexplained("catches something unusual")
        if handler.name is not None:
            self._bind(self._plain, handler.name)
        self.statements(handler.body)

    def _expression(self, node: ast.AST) -> None:
        match node:
            case ast.Constant():
                pass
            case ast.Name(id=name):
                if name not in self._plain and name not in self._owned:
                    raise _Unexplained(f"uses {name}")
            case ast.Attribute():
                self._attribute(node)
            case ast.Call():
                self._call(node)
            case _ if isinstance(node, _PLAIN):
                for child in ast.iter_child_nodes(node):
                    self._expression(child)
            case _:
                raise _Unexplained(
                    f"holds an expression that no known hook has ({type(node).__name__.lower()})"
                )

    def _attribute(self, node: ast.Attribute) -> None:
        dotted = _spell_dotted(node)
        if dotted in _HARMLESS_READS or dotted.partition(".")[0] in self._owned:
            return
        raise _Unexplained(f"uses {dotted}")

    def _call(self, node: ast.Call) -> None:
        dotted = _spell_dotted(node.func)
        if dotted == "exec":
            return self._exec(node)
        if dotted not in _HARMLESS_CALLS and dotted.partition(".")[0] not in self._owned:
            self._read_import_by_call(node)
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            self._expression(argument)
        return None

    def _exec(self, node: ast.Call) -> None:
        match node:
            case ast.Call(args=[ast.Constant(value=str(source))], keywords=[]):
                tree = parse(source)
                if tree is None:
                    raise _Unexplained("runs text that is not readable as Python")
                self.statements(tree.body)
            case _:
                raise _Unexplained("runs text as code that is not written out in the line")

    def _read_import_by_call(self, node: ast.Call) -> None:
        """`__import__('own_module')` and what is called on it."""
        function: ast.AST = node.func
        while isinstance(function, ast.Attribute):
            function = function.value
        match function if isinstance(function, ast.Call) else node:
            case ast.Call(
                func=ast.Name(id="__import__"), args=[ast.Constant(value=str(module))], keywords=[]
            ):
                if not self._owns(module):
                    raise _Unexplained(f"imports {module}, for which nothing vouches")
            case _:
                raise _Unexplained(f"calls {_spell_dotted(node.func) or 'something made up on the way'}")


def _spell_dotted(node: ast.AST) -> str:
    """`a.b.c`, or nothing where it does not begin with a name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])
