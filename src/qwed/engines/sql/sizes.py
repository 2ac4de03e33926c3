"""Texts, series and arrays that are as long as a number in the statement says."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from sqlglot import exp

from qwed.domain.risk import Risk
from qwed.engines.sql.nodes import descendants
from qwed.engines.sql.notes import Notes
from qwed.engines.words import words

_MAX_ALLOCATION: Final = 100_000
MAX_GENERATED: Final = 10_000_000
_MAX_SECONDS: Final = 10
_ALLOCATORS: Final = words("randomblob zeroblob")
# Any number in one of these may be the number of what it makes.
SIZED: Final = words(
    """
    array_fill array_repeat arrayrepeat arraywithconstant array_generate_range numbers numbers_mt zeros
    zeros_mt generate_series generate_array generate_subscripts range sequence replicate repeat space lpad
    rpad randstr random_bytes randomstring randomfixedstring randomprintableascii uniform
    """
)
_SIZES: Final[dict[type[exp.Expr], str]] = {
    exp.Repeat: "times",
    exp.Space: "this",
    exp.Pad: "expression",
    exp.GenerateSeries: "end",
    exp.ExplodingGenerateSeries: "end",
    exp.Randstr: "this",
}


def check_named(node: exp.Expr, name: str, notes: Notes) -> bool:
    """A function by its name; whether its size is what there is to say of it."""
    if name in _ALLOCATORS:
        _check_allocation(node, name, notes)
        return True
    if name in SIZED:
        _check_size(node, [max(_numbers_in(node), key=size_of, default=None)], notes)
        return True
    return False


def _check_allocation(node: exp.Expr, name: str, notes: Notes) -> None:
    size = node.expressions[0] if node.expressions else None
    if not (isinstance(size, exp.Literal) and 0 <= size_of(size) <= _MAX_ALLOCATION):
        notes.forbidden("time_probe", f"{name}() fills the memory", node)


def _visit_sized(node: exp.Expr, notes: Notes) -> None:
    sizes = [node.args.get(_SIZES[type(node)])]
    inner = node.this
    while type(node) is exp.Repeat and type(inner) is exp.Repeat:
        sizes.append(inner.args.get("times"))
        inner = inner.this
    _check_size(node, sizes, notes)


def _visit_generator(node: exp.Expr, notes: Notes) -> None:
    """Snowflake: `GENERATOR(ROWCOUNT => …, TIMELIMIT => …)`; without a count it runs as long as it may."""
    rows, seconds = node.args.get("rowcount"), node.args.get("timelimit")
    if isinstance(rows, exp.Literal):
        _check_size(node, [rows], notes)
    elif not (isinstance(seconds, exp.Literal) and 0 <= size_of(seconds) <= _MAX_SECONDS):
        notes.undecided("bounds", "generator() makes rows without a number that bounds them", node, Risk.HIGH)


def _check_size(node: exp.Expr, sizes: Sequence[exp.Expr | None], notes: Notes) -> None:
    """Repetitions within one another multiply."""
    literals = [size for size in sizes if isinstance(size, exp.Literal)]
    if literals and math.prod(map(size_of, literals)) > MAX_GENERATED:
        name = node.name if isinstance(node, exp.Anonymous) else type(node).__name__
        message = f"{name[:40].lower()}() makes more than {MAX_GENERATED} of something"
        notes.undecided("bounds", message, node, Risk.HIGH)


def _numbers_in(node: exp.Expr) -> Iterable[exp.Expr]:
    return (item for item in descendants(node) if isinstance(item, exp.Literal) and not item.is_string)


def size_of(literal: exp.Expr) -> float:
    try:
        return float(str(literal.this)[:20])
    except ValueError:
        return 0.0


VISITS: Final[dict[type[exp.Expr], Callable[[exp.Expr, Notes], None]]] = {
    **dict.fromkeys(_SIZES, _visit_sized),
    exp.Generator: _visit_generator,
}
