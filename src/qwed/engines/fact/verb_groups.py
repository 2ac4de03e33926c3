"""The verb of a clause: where it stands, its lemma, tense, voice and polarity."""

from collections.abc import Sequence

import msgspec

from qwed.engines.fact import language
from qwed.engines.fact.language import VERBS
from qwed.engines.fact.text import WordItem


class VerbGroup(msgspec.Struct, frozen=True):
    start: int
    end: int
    verb: str
    tense: str
    is_passive: bool = False
    is_negated: bool = False
    never: bool = False
    modal: str = ""
    adverbs: frozenset[str] = frozenset()
    participle: str = ""
    is_plural: bool = False


def find_verb(items: Sequence[WordItem], start: int = 0) -> VerbGroup | None:
    """The first verb group at or after `start` that has something before it."""
    for index in range(max(start, 0), len(items)):
        group = group_at(items, index, start)
        if group is not None:
            return group
    return None


def group_at(items: Sequence[WordItem], index: int, start: int) -> VerbGroup | None:
    word = items[index].lower
    if items[index].value is not None or index == start:
        return None
    if (
        word in language.BE
        or word in language.HAVE
        or word in language.DO
        or word in ("will", *language.MODALS)
    ):
        # May the month, will the testament, can the tin.
        return None if items[index].is_capitalised else _auxiliary_group(items, index)
    if _is_lexical_verb(items, index, start) and not _is_reduced_relative(items, index):
        tense = "past" if word in VERBS.past or word not in VERBS.lemma else _present_tense(word)
        group = VerbGroup(index, index + 1, _lemma(word), tense)
        return None if tense == "" else _with_adverb_before(items, group)
    return None


def verb_follows(items: Sequence[WordItem], index: int) -> bool:
    """Whether a predicate or a whole clause begins here."""
    if index >= len(items):
        return False
    probe = [WordItem("X", "x"), *items[index:]]
    return group_at(probe, 1, 0) is not None or find_verb(probe[1:]) is not None


def is_subordinate(item: WordItem) -> bool:
    # WHO is an organisation, "who" begins a clause.
    return item.lower in language.SUBORDINATORS and not item.is_capitalised


def _is_reduced_relative(items: Sequence[WordItem], index: int) -> bool:
    """`The units sold in May are 5`: a participle before the verb of the sentence."""
    if items[index].lower not in VERBS.participles and not items[index].lower.endswith("ed"):
        return False
    for item in items[index + 1 :]:
        if item.lower in ("and", "but", ",", ";") or is_subordinate(item):
            return False
        if item.lower in language.BE and not item.is_capitalised:
            return True
    return False


def _present_tense(word: str) -> str:
    return "" if word.endswith("ing") else "present"


def _with_adverb_before(items: Sequence[WordItem], group: VerbGroup) -> VerbGroup:
    """`X never visited Y`, `X recently opened Y`: the adverb belongs to the verb, not to the subject."""
    start, adverbs = group.start, set()
    while start > 1 and is_adverb(items[start - 1]):
        start -= 1
        adverbs.add(items[start].lower)
    never = "never" in adverbs
    return msgspec.structs.replace(
        group, start=start, adverbs=frozenset(adverbs - {"never"}), never=never, is_negated=never
    )


def is_adverb(item: WordItem) -> bool:
    return (
        item.lower in language.ADVERBS
        or item.lower == "never"
        or (item.is_word and _ends_like_adverb(item.lower))
    )


def _ends_like_adverb(word: str) -> bool:
    return (
        word.endswith("ly")
        and len(word) > 4
        and word not in ("family", "italy", "only", "july", "supply", "assembly")
    )


def _lemma(word: str) -> str:
    lemma = VERBS.lemma.get(word)
    if lemma is None:
        lemma = word
    return language.VERB_SYNONYMS.get(lemma, lemma)


def _is_lexical_verb(items: Sequence[WordItem], index: int, start: int) -> bool:
    word, before = items[index].lower, items[index - 1]
    if (
        items[index].is_capitalised
        or before.lower in language.DETERMINERS
        or before.lower in language.PREPOSITIONS
    ):
        return False
    if before.lower in ("'s", "of", "to", "and", "or", "-"):
        return False
    # After a comma only where it closes an apposition.
    if before.text == "," and sum(item.text == "," for item in items[start:index]) != 2:
        return False
    following = items[index + 1].lower if index + 1 < len(items) else ""
    if following in language.BE or following in language.HAVE or following in VERBS.past or following == "of":
        return False
    return word in VERBS.lemma or (word.endswith("ed") and len(word) > 4 and items[index].is_word)


def _auxiliary_group(items: Sequence[WordItem], index: int) -> VerbGroup | None:
    negated = never = False
    adverbs: set[str] = set()
    auxiliaries: list[str] = []
    position = index
    while position < len(items) and items[position].value is None:
        word = items[position].lower
        if word in language.NEGATIONS:
            negated, never = True, never or word == "never"
        elif (
            word in language.BE
            or word in language.HAVE
            or word in language.DO
            or word in ("will", "been", "being")
        ) or word in language.MODALS:
            auxiliaries.append(word)
        elif is_adverb(items[position]) and word not in VERBS.lemma:
            adverbs.add(word)
        else:
            break
        position += 1
    main = items[position].lower if position < len(items) and items[position].value is None else ""
    is_plural = items[index].lower in ("are", "were", "have", "do")
    group = VerbGroup(
        index, position, "", "", False, negated, never, "", frozenset(adverbs), is_plural=is_plural
    )
    return _resolve(group, auxiliaries, main)


def _resolve(group: VerbGroup, auxiliaries: list[str], main: str) -> VerbGroup:
    first, last = auxiliaries[0], auxiliaries[-1]
    modal = first if first in language.MODALS else ""
    tense = _tense(first, last, len(auxiliaries), main)
    is_be = last in language.BE or last in ("been", "being")
    is_participle = main in VERBS.participles or (main.endswith("ed") and len(main) > 4)
    if is_be and is_participle:
        return msgspec.structs.replace(
            _finish(group, _lemma(main), tense, modal, is_passive=True), participle=main
        )
    if is_be and main.endswith("ing") and main in VERBS.lemma:
        return _finish(group, f"{_lemma(main)}-ing", tense, modal)
    if is_be:
        return msgspec.structs.replace(group, verb="be", tense=tense, modal=modal)
    if last in language.HAVE and is_participle:
        return _finish(group, _lemma(main), "past", modal)
    if (last in language.DO or last in ("will", *language.MODALS)) and main in VERBS.base:
        return _finish(group, _lemma(main), tense, modal)
    verb = "have" if last in language.HAVE else "do" if last in language.DO else last
    return msgspec.structs.replace(group, verb=verb, tense=tense, modal=modal)


def _tense(first: str, last: str, count: int, main: str) -> str:
    if first == "will":
        return "future"
    if first in language.HAVE and (count > 1 or main in VERBS.participles or main.endswith("ed")):
        return "past"
    for table in (language.BE, language.HAVE, language.DO):
        if first in table:
            return table[first]
    return "present"


def _finish(group: VerbGroup, verb: str, tense: str, modal: str, *, is_passive: bool = False) -> VerbGroup:
    return msgspec.structs.replace(
        group, end=group.end + 1, verb=verb, tense=tense, modal=modal, is_passive=is_passive
    )
