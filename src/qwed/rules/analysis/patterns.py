"""Regular expressions as z3 has them. What RE2 and Python read differently, or z3 lacks, is refused."""

import re
import re._constants as constants
import re._parser as parser
from typing import Any, Final

import z3

MAX_REPEATS: Final = 64
_SORT: Final = z3.ReSort(z3.StringSort())
_ANY: Final = z3.Union(z3.Range("\x00", "\x09"), z3.Range("\x0b", "\U0002ffff"))
_SETS: Final = {
    constants.CATEGORY_DIGIT: z3.Range("0", "9"),
    constants.CATEGORY_WORD: z3.Union(
        z3.Range("0", "9"), z3.Range("A", "Z"), z3.Range("a", "z"), z3.Re(z3.StringVal("_"))
    ),
    constants.CATEGORY_SPACE: z3.Union(*(z3.Re(z3.StringVal(sign)) for sign in " \t\n\r\f")),
}


class Untranslatable(ValueError):
    """A part of a pattern that is not translated."""


def pattern_formula(pattern: str) -> Any:
    """The texts in which the pattern is found somewhere, as `matches` asks."""
    if "(?" in pattern or "\\p" in pattern or "[[:" in pattern:
        raise Untranslatable("flags and classes of characters by name are not translated")
    try:
        parts = list(parser.parse(pattern))
    except (re.error, RecursionError, OverflowError):
        raise Untranslatable("it is not a pattern that Python reads too") from None
    anywhere = z3.Full(_SORT)
    starts = bool(parts) and parts[0] == (constants.AT, constants.AT_BEGINNING)
    ends = bool(parts) and parts[-1] == (constants.AT, constants.AT_END)
    inner = parts[int(starts) : len(parts) - int(ends)]
    whole = _sequence(inner)
    return _join([] if starts else [anywhere], [whole], [] if ends else [anywhere])


def _join(*groups: list[Any]) -> Any:
    parts = [part for group in groups for part in group]
    return parts[0] if len(parts) == 1 else z3.Concat(*parts)


def _sequence(parts: Any) -> Any:
    made = [_part(op, value) for op, value in parts]
    return z3.Re(z3.StringVal("")) if not made else _join(made)


def _part(op: Any, value: Any) -> Any:
    if op is constants.LITERAL:
        return z3.Re(z3.StringVal(chr(value)))
    if op is constants.ANY:
        return _ANY
    if op is constants.NOT_LITERAL:
        return _set([(constants.NEGATE, None), (constants.LITERAL, value)])
    if op is constants.IN:
        return _set(value)
    if op is constants.BRANCH:
        return z3.Union(*map(_sequence, value[1])) if len(value[1]) > 1 else _sequence(value[1][0])
    if op is constants.SUBPATTERN:
        return _sequence(value[3])
    if op in (constants.MAX_REPEAT, constants.MIN_REPEAT):
        return _repeat(*value)
    raise Untranslatable(f"{str(op).lower()} is not translated")


def _set(items: Any) -> Any:
    parts = []
    is_negated = items[0][0] is constants.NEGATE
    for op, value in items[is_negated:]:
        if op is constants.LITERAL:
            parts.append(z3.Re(z3.StringVal(chr(value))))
        elif op is constants.RANGE:
            parts.append(z3.Range(chr(value[0]), chr(value[1])))
        elif op is constants.CATEGORY and value in _SETS:
            parts.append(_SETS[value])
        else:
            raise Untranslatable("a set that is not translated")
    one = parts[0] if len(parts) == 1 else z3.Union(*parts)
    return z3.Intersect(z3.AllChar(_SORT), z3.Complement(one)) if is_negated else one


def _repeat(least: int, most: Any, inner: Any) -> Any:
    part = _sequence(inner)
    if most is constants.MAXREPEAT:
        if least > MAX_REPEATS:
            raise Untranslatable("it repeats too often")
        return z3.Concat(z3.Loop(part, least, least), z3.Star(part)) if least else z3.Star(part)
    if most > MAX_REPEATS:
        raise Untranslatable("it repeats too often")
    return z3.Loop(part, least, int(most))
