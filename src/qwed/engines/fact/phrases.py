"""Noun phrases in canonical form, and whether they speak of one certain thing."""

import enum
from collections.abc import Sequence

from qwed.engines.fact import language
from qwed.engines.fact.language import singular
from qwed.engines.fact.text import Value, WordItem

# Words in canonical form, and values.
Phrase = tuple[str | Value, ...]


class PhraseKind(enum.StrEnum):
    """Whether a phrase speaks of a certain thing (`the door`, `Rome`), of some thing (`a door`), or of a
    stuff or kind (`water`, `doors`)."""

    DEFINITE = "definite"
    INDEFINITE = "indefinite"
    BARE = "bare"


def phrase_of(items: Sequence[WordItem], aliases: dict[Phrase, Phrase]) -> Phrase:
    """The canonical form of a noun phrase: no articles, singular, genitives turned into "of"."""
    for index in range(len(items) - 1, 0, -1):
        if items[index].lower in ("'s", "'") and index + 1 < len(items):
            owner, owned = items[:index], items[index + 1 :]
            return _use_alias((*phrase_of(owned, aliases), "of", *phrase_of(owner, aliases)), aliases)
    words: list[str | Value] = []
    for item in items:
        if item.value is not None:
            words.append(item.value)
        elif item.lower not in language.ARTICLES and item.text not in ('"', "'s", "'"):
            words.append(singular(item.lower))
    return _use_alias(tuple(words), aliases)


def _use_alias(phrase: Phrase, aliases: dict[Phrase, Phrase]) -> Phrase:
    if not aliases:
        return phrase
    parts: list[list[str | Value]] = [[]]
    for word in phrase:
        if word == "of":
            parts.append([])
        else:
            parts[-1].append(word)
    replaced = [aliases.get(tuple(part), tuple(part)) for part in parts]
    joined: list[str | Value] = list(replaced[0])
    for part in replaced[1:]:
        joined += ["of", *part]
    return tuple(joined)


def kind_of(items: Sequence[WordItem], *, is_plural: bool = False) -> PhraseKind:
    if not items:
        return PhraseKind.BARE
    first = items[0].lower
    if first in language.DEFINITE_STARTS or is_possessed(items):
        return PhraseKind.DEFINITE
    if first in language.INDEFINITE_STARTS or items[0].value is not None:
        return PhraseKind.INDEFINITE
    capitals = [
        item.is_capitalised for item in items if item.is_word and item.lower not in ("of", "and", "the")
    ]
    # A single capital may only be the sentence's first; "Houses were" is no name, "Beats was" is one.
    is_name = all(capitals) and bool(capitals) and not (is_plural and len(capitals) == 1)
    return PhraseKind.DEFINITE if is_name else PhraseKind.BARE


def is_possessed(items: Sequence[WordItem]) -> bool:
    return any(item.lower == "'s" for item in items)


def names_in(items: Sequence[WordItem]) -> frozenset[str]:
    """The words written with a capital: names, for all we know."""
    return frozenset(singular(item.lower) for item in items if item.is_capitalised)
