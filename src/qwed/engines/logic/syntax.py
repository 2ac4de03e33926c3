"""A formula as written, before its sorts are known.

Both notations, infix and prefix, are read into this one form.
"""

from collections.abc import Iterator
from fractions import Fraction

import msgspec


class Name(msgspec.Struct, frozen=True):
    text: str


class NumberTerm(msgspec.Struct, frozen=True):
    value: Fraction
    is_decimal: bool = False


class TextTerm(msgspec.Struct, frozen=True):
    value: str


class OperatorTerm(msgspec.Struct, frozen=True):
    """`operator` is one that `inference` has a rule for."""

    operator: str
    operands: tuple["Node", ...]


class FunctionTerm(msgspec.Struct, frozen=True):
    """A function or predicate that the text does not define."""

    function: str
    arguments: tuple["Node", ...]


class VariableTerm(msgspec.Struct, frozen=True):
    name: str
    sort: str | None = None


class Quantified(msgspec.Struct, frozen=True):
    """`quantifier` is `forall`, `exists` or `unique`; `members` bounds the variables to a set."""

    quantifier: str
    variables: tuple[VariableTerm, ...]
    body: "Node"
    members: tuple["Node", ...] | None = None


Node = Name | NumberTerm | TextTerm | OperatorTerm | FunctionTerm | Quantified


class Formulas(msgspec.Struct, frozen=True):
    """What one text holds. With a turnstile, `goals` are what follows it, else everything."""

    premises: tuple[Node, ...] = ()
    goals: tuple[Node, ...] = ()
    declared: tuple[VariableTerm, ...] = ()
    has_turnstile: bool = False


def children(node: Node) -> tuple[Node, ...]:
    match node:
        case OperatorTerm(operands=operands):
            return operands
        case FunctionTerm(arguments=arguments):
            return arguments
        case Quantified(body=body, members=members):
            return (body, *(members or ()))
    return ()


def walk(node: Node) -> Iterator[Node]:
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(children(current))
