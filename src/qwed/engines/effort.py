"""How much work an action is, before anything reads it.

What a parser does grows with the words and signs of a text far more evenly than with its characters: `1+1+1`
costs as much as a line ten times as long. Counting stops where the answer is known.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from qwed.domain.actions import Action

#: Longer words than this on average are no reason to read on.
_CHARACTERS_PER_TOKEN: Final = 16
#: What a value costs beside what it says: it is looked at, and its name is.
_TOKENS_PER_VALUE: Final = 4
_TOKENS_PER_STATEMENT: Final = 4
#: So many characters cost as much as a word where nothing parses them.
_SCANNED_PER_TOKEN: Final = 12
_COPIED_PER_TOKEN: Final = 100
_MAX_DEPTH: Final = 8
_TOKENS: Final = re.compile(r"\w+|[^\w\s]")
_FIELDS: Final = ("query", "code", "target")


def weigh_slot(slot: str) -> int:
    """What a text outside the action's own fields may be is found out by reading it in several languages."""
    return 1 if slot in _FIELDS else 2


def is_short(text: str, most: int) -> bool:
    """Whether the text has at most so many words and signs."""
    return count_tokens(text, most) <= most


def is_small(
    action: Action,
    most: int,
    weigh: Callable[[str], int] = weigh_slot,
    is_inert: Callable[[str], bool] | None = None,
) -> bool:
    """Whether all texts of the action together have at most so many words and signs.

    `weigh` says how often those of a slot count, 0 where nobody reads them; `is_inert` which of those that
    count more than once are only scanned.
    """
    left = most
    for slot, text in _texts(action):
        left -= _TOKENS_PER_VALUE + _cost_of(text, weigh(slot), left, is_inert)
        if left < 0:
            return False
    return True


def count_tokens(text: str, most: int) -> int:
    """The number of words and signs, more for each that ends a statement: the next one is read and judged
    anew. Some number above `most` where there are more."""
    if len(text) > most * _CHARACTERS_PER_TOKEN:
        return most + 1
    return len(_TOKENS.findall(text)) + _TOKENS_PER_STATEMENT * text.count(";")


def _cost_of(text: str, weight: int, left: int, is_inert: Callable[[str], bool] | None) -> int:
    if weight == 0:
        return len(text) // _COPIED_PER_TOKEN
    if is_inert is not None and weight > 1 and len(text) <= left * _SCANNED_PER_TOKEN and is_inert(text):
        return len(text) // _SCANNED_PER_TOKEN
    return weight * count_tokens(text, left)


def _texts(action: Action) -> Iterator[tuple[str, str]]:
    """Each text and the member of the action it stands in; whoever counts stops asking when it has enough."""
    for field in _FIELDS:
        text = getattr(action, field)
        if text is not None:
            yield field, text
    for key, value in action.parameters.items():
        name = str(key)
        if len(name) > _SCANNED_PER_TOKEN:
            yield "", name
        for text in _texts_in(value, 0):
            yield name, text


def _texts_in(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth > _MAX_DEPTH:
        yield "." * 10**6
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _texts_in(item, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts_in(item, depth + 1)
    else:
        yield ""
