"""Which names a Python program binds where, and which it uses without binding them."""

import ast
import builtins
from typing import Any, Final

from qwed.engines.code.bounds import BoundedVariable

COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_BUILTINS: Final = frozenset(dir(builtins)) - {"copyright", "credits", "license", "exit", "quit", "help"}
_MODULE_NAMES: Final = frozenset({"__name__", "__file__", "__doc__", "__builtins__", "__annotations__"})


_LEAVES: Final = frozenset({ast.Constant, ast.Load, ast.Store, ast.Pass, ast.Break, ast.Continue, ast.alias})
_PLAIN: Final = frozenset(
    {
        *(ast.Expr, ast.Call, ast.Attribute, ast.Assign, ast.BinOp, ast.Compare, ast.If, ast.Return),
        *(ast.keyword, ast.Subscript, ast.List, ast.Tuple, ast.Dict, ast.JoinedStr, ast.FormattedValue),
        *(ast.Module, ast.For, ast.While, ast.With, ast.withitem, ast.BoolOp, ast.UnaryOp),
    }
)


class PythonScope:
    __slots__ = ("kind", "names", "outside", "parent")

    def __init__(self, kind: str, parent: "PythonScope | None" = None) -> None:
        self.kind = kind
        self.parent = parent
        self.names: dict[str, BoundedVariable] = {}
        self.outside: dict[str, bool] = {}

    def declare(self, name: str) -> None:
        if name not in self.outside:
            self.names.setdefault(name, BoundedVariable())
        elif self.outside[name]:
            self.module().names.setdefault(name, BoundedVariable())

    def find(self, name: str) -> BoundedVariable | None:
        if self.outside.get(name):
            return self.module().names.get(name)
        scope: PythonScope | None = self
        while scope is not None:
            if (scope is self or scope.kind != "class") and name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None

    def module(self) -> "PythonScope":
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope


class PythonNames:
    """`scopes`: the scope that each function, class or comprehension opens; `free`: names nobody binds."""

    def __init__(self, tree: ast.Module) -> None:
        self.module = PythonScope("module")
        self.scopes: dict[int, PythonScope] = {}
        self.star = False
        self._uses: list[tuple[str, PythonScope]] = []
        waiting: list[tuple[ast.AST, PythonScope]] = [(tree, self.module)]
        while waiting:
            node, scope = waiting.pop()
            waiting.extend(reversed(self._visit(node, scope)))
        self.free = {name for name, scope in self._uses if scope.find(name) is None} - _MODULE_NAMES

    def is_home(self) -> bool:
        return self.star or self.free <= _BUILTINS

    def _visit(self, node: ast.AST, scope: PythonScope) -> list[tuple[ast.AST, PythonScope]]:
        kind = type(node)
        if kind is ast.Name:
            self._mention(node, scope)  # type: ignore[arg-type]
            return []
        if kind in _LEAVES:
            return []
        if kind in _PLAIN:
            return [(child, scope) for child in ast.iter_child_nodes(node)]
        return self._bind_in(node, scope)

    def _mention(self, node: ast.Name, scope: PythonScope) -> None:
        if type(node.ctx) is ast.Load:
            self._uses.append((node.id, scope))
        else:
            scope.declare(node.id)

    def _bind_in(self, node: ast.AST, scope: PythonScope) -> list[tuple[ast.AST, PythonScope]]:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                return self._function(node, scope)
            case ast.ClassDef():
                return self._class(node, scope)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                inner = self.scopes[id(node)] = PythonScope("comprehension", scope)
                return [(child, inner) for child in ast.iter_child_nodes(node)]
            case ast.NamedExpr(target=target, value=value):
                self._outside_comprehensions(scope).declare(target.id)
                return [(value, scope)]
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                scope.outside.update(dict.fromkeys(names, isinstance(node, ast.Global)))
            case _:
                self._bind_others(node, scope)
                return [(child, scope) for child in ast.iter_child_nodes(node)]
        return []

    def _bind_others(self, node: ast.AST, scope: PythonScope) -> None:
        match node:
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                for alias in names:
                    self.star = self.star or alias.name == "*"
                    scope.declare((alias.asname or alias.name).partition(".")[0])
            case ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name):
                scope.declare(name)
            case ast.MatchStar(name=str() as name) | ast.MatchMapping(rest=str() as name):
                scope.declare(name)

    def _function(self, node: Any, scope: PythonScope) -> list[tuple[ast.AST, PythonScope]]:
        inner = self.scopes[id(node)] = PythonScope("function", scope)
        if not isinstance(node, ast.Lambda):
            scope.declare(node.name)
        for type_parameter in getattr(node, "type_params", ()):
            scope.declare(type_parameter.name)
        arguments = node.args
        given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        given += [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
        for argument in given:
            inner.declare(argument.arg)
        outer = [*arguments.defaults, *(each for each in arguments.kw_defaults if each is not None)]
        outer += [argument.annotation for argument in given if argument.annotation is not None]
        outer += [
            *getattr(node, "decorator_list", ()),
            *([node.returns] if getattr(node, "returns", None) else []),
        ]
        body = node.body if isinstance(node.body, list) else [node.body]
        return [(each, scope) for each in outer] + [(each, inner) for each in body]

    def _class(self, node: ast.ClassDef, scope: PythonScope) -> list[tuple[ast.AST, PythonScope]]:
        scope.declare(node.name)
        for type_parameter in getattr(node, "type_params", ()):
            scope.declare(type_parameter.name)
        inner = self.scopes[id(node)] = PythonScope("class", scope)
        outer: list[ast.AST] = [*node.decorator_list, *node.bases, *node.keywords]
        return [(each, scope) for each in outer] + [(each, inner) for each in node.body]

    @staticmethod
    def _outside_comprehensions(scope: PythonScope) -> PythonScope:
        while scope.kind == "comprehension" and scope.parent is not None:
            scope = scope.parent
        return scope
