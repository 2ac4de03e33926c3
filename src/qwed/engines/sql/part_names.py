"""Members whose name says that a part of a statement stands in them."""

import functools
import re
from typing import Final

from qwed.engines.words import words

_CACHE_SIZE: Final = 1_024
_MEMBER_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_PARTS: Final = words(
    """
    select column filter where having order orderby sort sortby group groupby join on condition
    criteria predicate expression expr projection aggregate aggregation qualify partition distinct limit
    offset from table with cte union window hint lock suffix append returning computed formula
    """
)
_CONDITIONS: Final = words("where having filter condition criteria predicate qualify on")
_LAST_WORDS: Final = words("clause expression expr sql by list string raw text")
# What stands beside a part and is none itself.
_VALUES: Final = words("value val label alias title description name type comment note id")
_FUNCTION_MEMBERS: Final = words("fn func function agg aggregate aggregation procedure routine udf")


def is_part(slot: str) -> bool:
    """Whether the member's name says that a part of a statement stands in it."""
    members = slot.split(".")
    if _is_named_part(members[-1]):
        return True
    leaf = _words_of(members[-1])
    return bool(leaf) and leaf[-1] not in _VALUES and any(map(_is_named_part, members[:-1]))


def is_condition(slot: str) -> bool:
    return _part_of(slot.rpartition(".")[2]) in _CONDITIONS


def _is_named_part(name: str) -> bool:
    return _part_of(name) in _PARTS


@functools.lru_cache(_CACHE_SIZE)
def _part_of(name: str) -> str:
    """The word that says what stands there: `filter` of `raw_filters_sql`."""
    named = _words_of(name)
    while len(named) > 1 and named[-1] in _LAST_WORDS:
        named.pop()
    last = named[-1] if named else ""
    return last if last in _PARTS else last.removesuffix("s")


def _words_of(name: str) -> list[str]:
    return [word.lower() for word in _MEMBER_WORDS.findall(name[:200])]


@functools.lru_cache(_CACHE_SIZE)
def names_a_function(slot: str) -> bool:
    leaf = _words_of(slot.rpartition(".")[2])
    return bool(leaf) and leaf[-1] in _FUNCTION_MEMBERS
