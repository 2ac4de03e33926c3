"""Formulas in prefix form: `(AND (GT x 5) (LT y 10))`."""

import itertools
import re
from fractions import Fraction
from typing import Final

from qwed.engines.logic.refusals import NotLogic, UndecidedLogic
from qwed.engines.logic.sexpr import Sexpr, write
from qwed.engines.logic.syntax import (
    Formulas,
    FunctionTerm,
    Name,
    Node,
    NumberTerm,
    OperatorTerm,
    Quantified,
    TextTerm,
    VariableTerm,
)

MAX_NESTING: Final = 150

_SPELLINGS: Final = {
    "and": ("and", "&", "&&", "∧"),
    "or": ("or", "|", "||", "∨"),
    "not": ("not", "!", "~", "¬"),
    "xor": ("xor", "⊕"),
    "nand": ("nand",),
    "nor": ("nor",),
    "implies": ("implies", "imply", "=>", "->", "→", "⇒"),
    "iff": ("iff", "<=>", "<->", "↔", "equiv", "equivalent"),
    "=": ("=", "==", "eq", "equals", "equal"),
    "!=": ("!=", "<>", "neq", "ne", "≠"),
    "<": ("<", "lt", "less"),
    "<=": ("<=", "le", "lte", "leq", "≤"),
    ">": (">", "gt", "greater"),
    ">=": (">=", "ge", "gte", "geq", "≥"),
    "+": ("+", "add", "plus"),
    "-": ("-", "sub", "minus", "subtract"),
    "*": ("*", "mul", "times", "mult", "multiply"),
    "/": ("/", "divide"),
    "div": ("div", "idiv"),
    "mod": ("mod", "%"),
    "neg": ("neg", "negate"),
    "**": ("**", "^", "pow", "power"),
    "abs": ("abs",),
    "min": ("min",),
    "max": ("max",),
    "ite": ("ite", "if"),
    "distinct": ("distinct", "alldifferent"),
    "select": ("select",),
    "store": ("store",),
    "forall": ("forall", "∀", "all"),
    "exists": ("exists", "∃"),
}
_OPERATORS: Final = {spelling: name for name, spellings in _SPELLINGS.items() for spelling in spellings}
_QUANTIFIERS: Final = frozenset({"forall", "exists"})
_NUMBER: Final = re.compile(r"-?\d{1,400}(\.\d{1,400})?")
_NAME: Final = re.compile(r"\|[^|]*\||[^\W\d]\w*(?:[-.]\w+)*'*")
_CHAINED: Final = frozenset({"=", "<", "<=", ">", ">="})


def looks_prefix(expressions: list[Sexpr]) -> bool:
    """Whether expressions read from a text are formulas in this form rather than infix in brackets."""
    return bool(expressions) and all(map(_is_prefix_list, expressions))


def _is_prefix_list(expression: Sexpr) -> bool:
    if isinstance(expression, str) or not expression:
        return False
    head, *arguments = expression
    if not isinstance(head, str) or not arguments:
        return False
    infix = any(isinstance(item, str) and item.lower() in _OPERATORS for item in arguments)
    return not infix and (head.lower() in _OPERATORS or _is_name(head))


def parse(expressions: list[Sexpr]) -> Formulas:
    """Raises `Refusal`."""
    return Formulas(goals=tuple(_node(expression, 0) for expression in expressions))


def _node(expression: Sexpr, depth: int) -> Node:
    if depth > MAX_NESTING:
        raise UndecidedLogic("depth", f"nested deeper than {MAX_NESTING} levels")
    if isinstance(expression, str):
        return _atom(expression)
    head, *rest = expression or ((),)
    if not isinstance(head, str):
        raise NotLogic(f"a list begins with an operator: {write(expression)[:60]}")
    operator = _OPERATORS.get(head.lower())
    if operator in _QUANTIFIERS:
        return _read_quantified(operator, expression, depth)
    operands = tuple(_node(item, depth + 1) for item in rest)
    if operator is None:
        if not _is_name(head) or not operands:
            raise NotLogic(f"{head[:40]!r} is applied to nothing, or is no operator")
        return FunctionTerm(head.strip("|"), operands)
    return _operation(operator, operands)


def _operation(operator: str, operands: tuple[Node, ...]) -> Node:
    if operator == "-":
        if len(operands) == 1:
            return OperatorTerm("neg", operands)
        return OperatorTerm("+", (*operands[:1], *(OperatorTerm("neg", (each,)) for each in operands[1:])))
    if operator in _CHAINED and len(operands) > 2:
        pairs = itertools.pairwise(operands)
        return OperatorTerm("and", tuple(OperatorTerm(operator, pair) for pair in pairs))
    return OperatorTerm(operator, operands)


def _atom(token: str) -> Node:
    if _NUMBER.fullmatch(token):
        return NumberTerm(Fraction(token), is_decimal="." in token)
    if token[0] == '"':
        return TextTerm(token[1:-1].replace('""', '"'))
    if token.lower() in ("true", "false", "⊤", "⊥"):
        return OperatorTerm("true" if token.lower() in ("true", "⊤") else "false", ())
    if not _is_name(token):
        raise NotLogic(f"{token[:40]!r} is neither a name nor a number")
    return Name(token.strip("|"))


def _is_name(token: str) -> bool:
    return _NAME.fullmatch(token) is not None


def _read_quantified(operator: str, expression: tuple[Sexpr, ...], depth: int) -> Node:
    if len(expression) != 3:
        raise NotLogic(f"({operator} variables formula) has two parts")
    _, variables, body = expression
    bindings = (variables,) if isinstance(variables, str) else variables
    return Quantified(operator, tuple(map(_variable, bindings)), _node(body, depth + 1))


def _variable(binding: Sexpr) -> VariableTerm:
    match binding:
        case str() if _is_name(binding):
            return VariableTerm(binding)
        case (str(name), sort) if _is_name(name):
            return VariableTerm(name, write(sort))
    raise NotLogic(f"{write(binding)[:60]} binds no variable")
