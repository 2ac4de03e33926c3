"""S-expressions: the form in which every formula is kept, solved, checked and shown.

An atom is a string, its own SMT-LIB token: `x`, `5`, `|two words|`, `"text"`. A list is a tuple.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from qwed.engines.logic.refusals import NotLogic, UndecidedLogic

Sexpr = str | tuple["Sexpr", ...]

MAX_TOKENS: Final = 400_000
MAX_DEPTH: Final = 20_000

_TOKEN: Final = re.compile(r'[()]|\|[^|\\]*\||"(?:[^"]|"")*+"|[^\s()|";]+|;[^\n]*|\s+|.')
_SIMPLE: Final = re.compile(r"[A-Za-z~!@$%^&*_\-+=<>.?/][A-Za-z0-9~!@$%^&*_\-+=<>.?/]*")


def read(text: str) -> list[Sexpr]:
    """All expressions of a text. Raises `NotLogic` or `UndecidedLogic`."""
    finished: list[Sexpr] = []
    open_lists: list[list[Sexpr]] = []
    current = finished
    for count, match in enumerate(_TOKEN.finditer(text)):
        lexeme = match.group()
        if count > MAX_TOKENS:
            raise UndecidedLogic("size", f"more than {MAX_TOKENS} symbols")
        if lexeme == "(":
            open_lists.append(current)
            current = []
            if len(open_lists) > MAX_DEPTH:
                raise UndecidedLogic("depth", f"nested deeper than {MAX_DEPTH} levels")
        elif lexeme == ")":
            if not open_lists:
                raise NotLogic(f"a ')' too many at character {match.start()}")
            closed = tuple(current)
            current = open_lists.pop()
            current.append(closed)
        elif lexeme[0] == ";" or lexeme.isspace():
            continue
        elif lexeme in '|"':
            raise NotLogic(f"an unclosed {lexeme} at character {match.start()}")
        else:
            current.append(_plain(lexeme))
    if open_lists:
        raise NotLogic(f"{len(open_lists)} ')' missing at the end")
    return finished


def rename(expressions: Iterable[Sexpr], names: Mapping[str, str]) -> list[Sexpr]:
    """The expressions with some symbols called otherwise, however deep they are."""
    renamed: list[Sexpr] = []
    for expression in expressions:
        parts = [names.get(part, part) for part in _parts(expression)]
        renamed.extend(read(_join(parts)))
    return renamed


def _plain(token: str) -> str:
    """`|x|` and `x` are the same symbol."""
    if token[0] == "|" and _SIMPLE.fullmatch(token, 1, len(token) - 1):
        return token[1:-1]
    return token


def write(expression: Sexpr) -> str:
    """The text of an expression, however deep."""
    return _join(_parts(expression))


def _parts(expression: Sexpr) -> list[str]:
    parts: list[str] = []
    pending: list[Sexpr] = [expression]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            parts.append(item)
        else:
            parts.append("(")
            pending.append(")")
            pending.extend(reversed(item))
    return parts


def _join(parts: list[str]) -> str:
    pieces: list[str] = []
    previous = "("
    for part in parts:
        if previous != "(" and part != ")":
            pieces.append(" ")
        pieces.append(part)
        previous = part
    return "".join(pieces)


def symbol(name: str) -> str:
    """A name as an SMT-LIB symbol, quoted where it must be."""
    return name if _SIMPLE.fullmatch(name) else f"|{name}|"
