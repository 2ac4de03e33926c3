"""Whether a Python program does nothing but compute, and ends: every node of its tree is on the list.

Printing counts as computing: what is printed goes to the caller alone. A function that is only defined is
bounded by its arguments; one that the program itself calls is bounded by what it is called with.
"""

import ast
from collections.abc import Callable
from typing import Any, Final

from qwed.engines.code.bounds import (
    ANYTHING,
    EMPTY,
    FLAG,
    INFINITE,
    NOTHING,
    Bound,
    BoundedValue,
    BoundedVariable,
    NotPure,
    callables,
    held,
    number,
    real,
    string,
)
from qwed.engines.code.python import harmless
from qwed.engines.code.python.proof_calls import _SCALARS, ProofCalls
from qwed.engines.code.python.proof_targets import _CHANGING
from qwed.engines.code.python.proof_values import ProofCall
from qwed.engines.code.python.readers import find_walked_places
from qwed.engines.code.python.scopes import PythonNames

_PROOF: Final = "no input or output but printing, no dynamic execution, every loop bounded, no recursion"


def judge_purity(tree: ast.Module, names: PythonNames) -> tuple[bool, str]:
    try:
        PythonPurity(names).prove(tree)
    except NotPure as obstacle:
        return False, str(obstacle)
    except OverflowError:
        return False, "a number that is not known to be small"
    except RecursionError:
        return False, "nested too deeply to be proven"
    return True, _PROOF


class PythonPurity(ProofCalls):
    """Runs a program over bounds."""

    def prove(self, tree: ast.Module) -> None:
        self.block(tree.body)
        done = 0
        while done < len(self.functions):
            function = list(self.functions.values())[done]
            done += 1
            if not function.called:
                arguments = function.node.args
                count = len(arguments.posonlyargs) + len(arguments.args)
                named = {each.arg: ANYTHING for each in arguments.kwonlyargs}
                self.call_function(function, ProofCall(function.node, [ANYTHING] * count, named, count))

    def block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self.run(statement)

    def run(self, node: Any) -> BoundedValue:
        self.step()
        self.line = getattr(node, "lineno", self.line)
        handler = _NODES.get(type(node))
        if handler is None:
            raise self.refuse(f"{type(node).__name__} is on no list of harmless things")
        return handler(self, node)

    def _expression(self, node: ast.Expr) -> BoundedValue:
        return self.run(node.value)

    def _nothing(self, node: ast.AST) -> BoundedValue:
        return NOTHING

    def _assign(self, node: ast.Assign) -> BoundedValue:
        added = _find_self_addition(node)
        if added is not None:
            return self._sum(node, added[0], ast.Add(), self.run(added[1]))
        value = self.run(node.value)
        for target in node.targets:
            self.bind(target, value)
        return NOTHING

    def _annotated(self, node: ast.AnnAssign) -> BoundedValue:
        self._annotation(node.annotation)
        if node.value is not None:
            self.bind(node.target, self.run(node.value))
        return NOTHING

    def _annotation(self, node: ast.expr | None) -> None:
        """Annotations are run too: only names, their members and brackets are harmless there."""
        for each in ast.walk(node) if node is not None else ():
            if not isinstance(each, harmless.ANNOTATIONS):
                raise self.refuse("an annotation that is more than a type")
            if isinstance(each, ast.Name) and self.scope.find(each.id) is None:
                self.lookup(each.id)

    def _augmented(self, node: ast.AugAssign) -> BoundedValue:
        right = self.run(node.value)
        if not right.kinds <= _SCALARS or isinstance(node.op, ast.Mult):
            self._refuse_unknown_growth(node.target, self._load(node.target), [node.value])
        if isinstance(node.target, ast.Name) and isinstance(node.op, (ast.Add, ast.Sub)):
            return self._sum(node, node.target, node.op, right)
        loaded = self._load(node.target)
        made = self.operate(node.op, loaded, right, node)
        self._change_in_place(loaded, right, made, node)
        self.bind(node.target, made)
        return NOTHING

    def _change_in_place(
        self, known: BoundedValue, right: BoundedValue, made: BoundedValue, node: ast.AST
    ) -> None:
        """`x *= 2`, `x |= y`: the container that `x` names, under all of its other names too."""
        longest, member = self.members(made) if made.cells else (0, EMPTY)
        for cell in known.cells:
            if cell.kind in _CHANGING:
                self.refuse_own_reader(cell, right)
                self.grow(cell, max(longest - cell.length, 0), id(node))
                self.put_member(cell, member)

    def _sum(self, node: ast.stmt, target: ast.Name, op: ast.operator, right: BoundedValue) -> BoundedValue:
        """`total += n`, `line += "x"`: what all rounds of the loops around it add, added once."""
        known = self.lookup(target.id)
        made = self.operate(op, known, right, node)
        if isinstance(node, ast.AugAssign):
            self._add_in_place(known, right, node)
        if self.rounds:
            more = self.accumulate((id(node), "size"), right.size) if made.has("number") else 0
            longer = self.accumulate((id(node), "length"), right.length) if made.has("text") else 0
            size = made.size if made.has("float", "any", "decimal", "fraction") else known.size + more
            made = BoundedValue(
                made.kinds, size, known.length + longer, None, made.cells | known.cells, made.calls
            )
            for cell in known.cells:
                self.lengthen(cell, self.members(right)[0], id(node))
                self.put_member(cell, self.members(right)[1])
        self.bind(target, made)
        return NOTHING

    def _add_in_place(self, known: BoundedValue, right: BoundedValue, node: ast.AugAssign) -> None:
        for cell in known.cells:
            if cell.kind in _CHANGING:
                self.refuse_own_reader(cell, right)
                rounds, member = self.members(right)
                self.grow(cell, rounds, id(node))
                self.put_member(cell, member)

    def _if(self, node: ast.If) -> BoundedValue:
        self.run(node.test)
        self.block(node.body)
        self.block(node.orelse)
        return NOTHING

    def _for(self, node: ast.For) -> BoundedValue:
        walked = self.run(node.iter)
        rounds, member = self.members(walked)
        self.bind(node.target, member)

        def once() -> None:
            self.bind(node.target, self.members(walked)[1])
            self.block(node.body)

        reading = self.sources(walked) | self._places(find_walked_places(node.iter))
        self.walk_over(reading, lambda: self.repeat(rounds, once))
        if self.members(walked)[0] > rounds:
            raise self.refuse("a loop changes what it walks over")
        self.block(node.orelse)
        return NOTHING

    def _try(self, node: ast.Try) -> BoundedValue:
        self.block(node.body)
        for handler in node.handlers:
            if handler.type is not None:
                self.run(handler.type)
            if handler.name is not None:
                self.put_name(handler.name, held(self.error(handler)))
            self.block(handler.body)
        self.block([*node.orelse, *node.finalbody])
        return NOTHING

    def _return(self, node: ast.Return) -> BoundedValue:
        if self.current:
            self.put(self.current[-1].returned, self.optional(node.value))
        return NOTHING

    def _several(self, node: Any) -> BoundedValue:
        """`raise`, `assert`: their parts are expressions."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.run(child)
        return NOTHING

    def _delete(self, node: ast.Delete) -> BoundedValue:
        for target in node.targets:
            self._unset(target)
        return NOTHING

    def _unset(self, target: ast.expr) -> None:
        match target:
            case ast.Name():
                return
            case ast.Tuple() | ast.List():
                for each in target.elts:
                    self._unset(each)
            case ast.Attribute():
                self._set_attribute(target, NOTHING)
            case ast.Subscript():
                self.run(target.slice)
                if self.run(target.value).calls:
                    raise self.refuse("changes something that is not the program's own")
            case _:
                raise self.refuse("deletes something that is not the program's own")

    def _import(self, node: ast.Import) -> BoundedValue:
        for alias in node.names:
            if alias.name not in harmless.MODULES:
                raise self.refuse(f"imports {alias.name}")
            self.put_name(alias.asname or alias.name, callables(alias.name))
        return NOTHING

    def _import_from(self, node: ast.ImportFrom) -> BoundedValue:
        module = node.module or "."
        if node.level or module not in harmless.MODULES:
            raise self.refuse(f"imports {module}")
        for alias in node.names:
            self.put_name(alias.asname or alias.name, self.module_member(module, alias.name))
        return NOTHING

    def _comprehension(self, node: Any) -> BoundedValue:
        kind = (
            "list" if isinstance(node, ast.ListComp) else "dict" if isinstance(node, ast.DictComp) else "set"
        )
        rounds, member = self._generate(node)
        return self.listed(node, kind, rounds, member)

    def _generator(self, node: ast.GeneratorExp) -> BoundedValue:
        scope = self.scope

        def again() -> tuple[Bound, BoundedValue]:
            outer, self.scope = self.scope, scope
            made = self._generate(node)
            self.scope = outer
            return made

        return self.lazy(node, again, frozenset())

    def _generate(self, node: Any) -> tuple[Bound, BoundedValue]:
        outer, self.scope = self.scope, self.names.scopes[id(node)]
        made = BoundedVariable()
        total = self._walk(node, list(node.generators), made)
        self.scope = outer
        return total, made.value

    def _walk(self, node: Any, generators: list[ast.comprehension], made: BoundedVariable) -> Bound:
        if not generators:
            parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            for part in parts:
                self.put(made, self.run(part))
            return 1
        first = generators[0]
        if first.is_async:
            raise self.refuse("asynchronous code")
        walked = self.run(first.iter)
        rounds, member = self.members(walked)
        self.note_walk(self.cell(id(node), "iterator"), self.sources(walked))
        inner: list[Bound] = [0]

        def once() -> None:
            self.bind(first.target, member)
            for condition in first.ifs:
                self.run(condition)
            inner[0] = max(inner[0], self._walk(node, generators[1:], made))

        reading = self.sources(walked) | self._places(find_walked_places(first.iter))
        self.walk_over(reading, lambda: self.repeat(rounds, once))
        return rounds * inner[0]


def _find_self_addition(node: ast.Assign) -> tuple[ast.Name, ast.expr] | None:
    """`x = x + more`."""
    match node.targets, node.value:
        case [ast.Name(id=name) as target], ast.BinOp(ast.Name(id=same), ast.Add(), more) if name == same:
            return target, more
    return None


def _constant(proof: PythonPurity, node: ast.Constant) -> BoundedValue:
    match node.value:
        case bool():
            return FLAG
        case int() as whole:
            return number(abs(whole))
        case float() as fraction:
            return real(abs(fraction) if fraction == fraction else INFINITE)
        case complex():
            return real()
        case str() as known:
            return string(len(known), known)
        case bytes() as raw:
            return string(len(raw))
    return NOTHING


_NODES: Final[dict[type, Callable[[PythonPurity, Any], BoundedValue]]] = {
    ast.Expr: PythonPurity._expression,
    **dict.fromkeys((ast.Pass, ast.Break, ast.Continue, ast.Global, ast.Nonlocal), PythonPurity._nothing),
    **dict.fromkeys((ast.Raise, ast.Assert), PythonPurity._several),
    ast.Delete: PythonPurity._delete,
    ast.Assign: PythonPurity._assign,
    ast.AnnAssign: PythonPurity._annotated,
    ast.AugAssign: PythonPurity._augmented,
    ast.If: PythonPurity._if,
    ast.For: PythonPurity._for,
    ast.Try: PythonPurity._try,
    ast.Return: PythonPurity._return,
    ast.Import: PythonPurity._import,
    ast.ImportFrom: PythonPurity._import_from,
    ast.FunctionDef: PythonPurity._function,
    ast.ClassDef: PythonPurity._class,
    ast.Lambda: PythonPurity._lambda,
    ast.Call: PythonPurity._call,
    ast.Attribute: PythonPurity._attribute,
    ast.Subscript: PythonPurity._subscript,
    ast.Slice: PythonPurity._slice,
    ast.Constant: _constant,
    ast.Name: lambda proof, node: proof.lookup(node.id),
    ast.ListComp: PythonPurity._comprehension,
    ast.SetComp: PythonPurity._comprehension,
    ast.DictComp: PythonPurity._comprehension,
    ast.GeneratorExp: PythonPurity._generator,
    ast.BinOp: PythonPurity._binary,
    ast.UnaryOp: PythonPurity._unary,
    ast.BoolOp: PythonPurity._boolean,
    ast.Compare: PythonPurity._compare,
    ast.IfExp: PythonPurity._conditional,
    ast.NamedExpr: PythonPurity._walrus,
    ast.JoinedStr: PythonPurity._formatted,
    **dict.fromkeys((ast.List, ast.Tuple, ast.Set), PythonPurity._display),
    ast.Dict: PythonPurity._dict,
}
