"""Sentences into frames: who does what to whom, when and where, in one canonical order.

Active and passive, genitive and "of", "has a height of" and "is … tall" become the same frame. Both claim
and source go through the same reading, so a construction that is not understood matches only itself.
"""

import enum
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from qwed.engines.fact import language
from qwed.engines.fact.dates import Span
from qwed.engines.fact.language import VERBS, singular
from qwed.engines.fact.quantities import NUMBER, Quantity, exactly
from qwed.engines.fact.text import Item, Value

# A noun phrase: words in canonical form, and values.
Phrase = tuple[str | Value, ...]
MAX_ITEMS: Final = 120
TIME: Final = "time"


class Kind(enum.StrEnum):
    """Whether a phrase speaks of a certain thing (`the door`, `Rome`), of some thing (`a door`), or of a
    stuff or kind (`water`, `doors`)."""

    DEFINITE = "definite"
    INDEFINITE = "indefinite"
    BARE = "bare"


class Frame(msgspec.Struct, frozen=True):
    """One assertion. `subject` is None for a passive without its agent."""

    subject: Phrase | None
    verb: str
    tense: str
    complement: Phrase = ()
    circumstances: tuple[tuple[str, Phrase], ...] = ()
    is_negated: bool = False
    never: bool = False
    modal: str = ""
    adverbs: frozenset[str] = frozenset()
    is_definite: bool = False
    names: frozenset[str] = frozenset()
    subject_kind: Kind = Kind.DEFINITE
    complement_kind: Kind = Kind.DEFINITE

    @property
    def theme(self) -> Kind:
        """The kind of what the event happens to."""
        return self.complement_kind if self.complement else self.subject_kind


class Reading(msgspec.Struct, frozen=True):
    """What a sentence asserts, each assertion in one or more equivalent frames.

    `is_complete` when nothing of the sentence was left out.
    """

    assertions: tuple[tuple[Frame, ...], ...]
    is_complete: bool


def read_assertions(items: list[Item], aliases: dict[Phrase, Phrase]) -> Reading:
    """The assertions of one sentence, as far as they are understood."""
    if not 2 <= len(items) <= MAX_ITEMS:
        return Reading((), False)
    return _Reader(aliases).read(items)


def phrase_of(items: Sequence[Item], aliases: dict[Phrase, Phrase]) -> Phrase:
    """The canonical form of a noun phrase: no articles, singular, genitives turned into "of"."""
    for index in range(len(items) - 1, 0, -1):
        if items[index].lower in ("'s", "'") and index + 1 < len(items):
            owner, owned = items[:index], items[index + 1 :]
            return _aliased((*phrase_of(owned, aliases), "of", *phrase_of(owner, aliases)), aliases)
    words: list[str | Value] = []
    for item in items:
        if item.value is not None:
            words.append(item.value)
        elif item.lower not in language.ARTICLES and item.text not in ('"', "'s", "'"):
            words.append(singular(item.lower))
    return _aliased(tuple(words), aliases)


def _aliased(phrase: Phrase, aliases: dict[Phrase, Phrase]) -> Phrase:
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


class _VerbGroup(msgspec.Struct, frozen=True):
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


def find_verb(items: Sequence[Item], start: int = 0) -> _VerbGroup | None:
    """The first verb group at or after `start` that has something before it."""
    for index in range(max(start, 0), len(items)):
        group = _group_at(items, index, start)
        if group is not None:
            return group
    return None


def _group_at(items: Sequence[Item], index: int, start: int) -> _VerbGroup | None:
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
        group = _VerbGroup(index, index + 1, _lemma(word), tense)
        return None if tense == "" else _with_adverb_before(items, group)
    return None


def _is_reduced_relative(items: Sequence[Item], index: int) -> bool:
    """`The units sold in May are 5`: a participle before the verb of the sentence."""
    if items[index].lower not in VERBS.participles and not items[index].lower.endswith("ed"):
        return False
    for item in items[index + 1 :]:
        if item.lower in ("and", "but", ",", ";") or _is_subordinate(item):
            return False
        if item.lower in language.BE and not item.is_capitalised:
            return True
    return False


def _present_tense(word: str) -> str:
    return "" if word.endswith("ing") else "present"


def _with_adverb_before(items: Sequence[Item], group: _VerbGroup) -> _VerbGroup:
    """`X never visited Y`, `X recently opened Y`: the adverb belongs to the verb, not to the subject."""
    start, adverbs = group.start, set()
    while start > 1 and _is_adverb(items[start - 1]):
        start -= 1
        adverbs.add(items[start].lower)
    never = "never" in adverbs
    return msgspec.structs.replace(
        group, start=start, adverbs=frozenset(adverbs - {"never"}), never=never, is_negated=never
    )


def _is_adverb(item: Item) -> bool:
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


def _is_lexical_verb(items: Sequence[Item], index: int, start: int) -> bool:
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


def _auxiliary_group(items: Sequence[Item], index: int) -> _VerbGroup | None:
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
        elif _is_adverb(items[position]) and word not in VERBS.lemma:
            adverbs.add(word)
        else:
            break
        position += 1
    main = items[position].lower if position < len(items) and items[position].value is None else ""
    is_plural = items[index].lower in ("are", "were", "have", "do")
    group = _VerbGroup(
        index, position, "", "", False, negated, never, "", frozenset(adverbs), is_plural=is_plural
    )
    return _resolve(group, auxiliaries, main)


def _resolve(group: _VerbGroup, auxiliaries: list[str], main: str) -> _VerbGroup:
    first, last = auxiliaries[0], auxiliaries[-1]
    modal = first if first in language.MODALS else ""
    tense = _tense(first, last, len(auxiliaries), main)
    is_be = last in language.BE or last in ("been", "being")
    is_participle = main in VERBS.participles or (main.endswith("ed") and len(main) > 4)
    if is_be and is_participle:
        return msgspec.structs.replace(
            _finished(group, _lemma(main), tense, modal, is_passive=True), participle=main
        )
    if is_be and main.endswith("ing") and main in VERBS.lemma:
        return _finished(group, f"{_lemma(main)}-ing", tense, modal)
    if is_be:
        return msgspec.structs.replace(group, verb="be", tense=tense, modal=modal)
    if last in language.HAVE and is_participle:
        return _finished(group, _lemma(main), "past", modal)
    if (last in language.DO or last in ("will", *language.MODALS)) and main in VERBS.base:
        return _finished(group, _lemma(main), tense, modal)
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


def _finished(
    group: _VerbGroup, verb: str, tense: str, modal: str, *, is_passive: bool = False
) -> _VerbGroup:
    return msgspec.structs.replace(
        group, end=group.end + 1, verb=verb, tense=tense, modal=modal, is_passive=is_passive
    )


class _Reader:
    """Reads one sentence; notes whether it had to leave something out."""

    def __init__(self, aliases: dict[Phrase, Phrase]) -> None:
        self._aliases = aliases
        self._is_complete = True

    def read(self, items: list[Item]) -> Reading:
        items = self._without_parentheses(items)
        if items and items[0].lower in language.OPENERS:
            items = items[2:] if len(items) > 1 and items[1].text == "," else items[1:]
        pair = _labelled(items)
        if pair is not None:
            subject, value = self._phrase(pair[0]), self._phrase(pair[1])
            frame = Frame(subject, "be", "present", value, is_definite=True, names=_names(pair[1]))
            return Reading(((frame,),), self._is_complete)
        assertions = tuple(self._clauses(self._without_relative(items)))
        return Reading(assertions, self._is_complete and bool(assertions))

    def _phrase(self, items: Sequence[Item]) -> Phrase:
        return phrase_of(items, self._aliases)

    def _without_parentheses(self, items: list[Item]) -> list[Item]:
        depth, kept = 0, []
        for item in items:
            depth += (item.text in "([") - (item.text in ")]" and depth > 0) if len(item.text) == 1 else 0
            if depth == 0 and item.text not in (")", "]"):
                kept.append(item)
        if len(kept) != len(items):
            self._is_complete = False
        return kept

    def _without_relative(self, items: list[Item]) -> list[Item]:
        """`X, which …, did`: what a relative clause adds is left out."""
        for index in range(1, len(items) - 1):
            if items[index].text == "," and items[index + 1].lower in ("which", "who", "whose", "where"):
                self._is_complete = False
                after = next((more for more in range(index + 2, len(items)) if items[more].text == ","), None)
                return items[:index] if after is None else items[:index] + items[after + 1 :]
        return items

    def _clauses(self, items: list[Item]) -> Iterator[tuple[Frame, ...]]:
        opening, items = self._opening(items)
        group = find_verb(items)
        if group is None:
            self._is_complete = False
            return
        subject_items, extra = self._subject(items[: group.start])
        rest = items[group.end :]
        cut = self._clause_end(rest)
        is_clear = subject_items and not any(_is_subordinate(item) for item in subject_items)
        # "Paris, Texas, has": the name goes on after the comma.
        is_clear = is_clear and not (extra and all(item.is_capitalised for item in extra))
        if not is_clear or _continues_a_name(rest, cut) or not _may_cut(group, rest, cut):
            self._is_complete = False
            return
        yield from self._frames(subject_items, group, rest[:cut], opening)
        yield from self._appositions(subject_items, extra)
        if cut < len(rest):
            yield from self._following(subject_items, rest[cut:])

    def _opening(self, items: list[Item]) -> tuple[list[Item], list[Item]]:
        """`In 2020, X …`: a circumstance before the subject."""
        if items and items[0].lower in language.PREPOSITIONS:
            comma = next((index for index, item in enumerate(items) if item.text == ","), -1)
            group = find_verb(items)
            if 0 < comma < len(items) - 2 and (group is None or comma < group.start):
                return items[:comma], items[comma + 1 :]
            date = items[1].value if len(items) > 1 else None
            if items[0].lower in ("in", "on") and isinstance(date, Span) and comma == -1:
                return items[:2], items[2:]
        return [], items

    def _subject(self, items: list[Item]) -> tuple[list[Item], list[Item]]:
        """The subject, and what stands between commas after it."""
        commas = [index for index, item in enumerate(items) if item.text == ","]
        if len(commas) == 2 and commas[1] == len(items) - 1 and commas[0] > 0:
            return items[: commas[0]], items[commas[0] + 1 : commas[1]]
        if commas and items[-1].text == ",":
            self._is_complete = False
        return items, []

    def _appositions(self, subject: list[Item], extra: list[Item]) -> Iterator[tuple[Frame, ...]]:
        if not extra:
            return
        if extra[0].lower in language.ARTICLES and find_verb(extra) is None:
            yield (self._copula(subject, extra),)
        elif extra[0].lower == "with":
            yield from self._with_attribute(subject, extra)
        else:
            self._is_complete = False

    def _copula(self, subject: list[Item], complement: list[Item]) -> Frame:
        return Frame(
            self._phrase(subject),
            "be",
            "present",
            self._phrase(complement),
            is_definite=complement[0].lower == "the",
            names=_names(subject),
        )

    def _with_attribute(self, subject: list[Item], extra: list[Item]) -> Iterator[tuple[Frame, ...]]:
        """`with a population of 5`: an attribute in passing."""
        attribute = self._phrase(extra[1:])
        if len(attribute) >= 3 and attribute[-2] == "of" and not isinstance(attribute[-1], str):
            owner = (*attribute[:-2], "of", *self._phrase(subject))
            yield (Frame(owner, "be", "present", (attribute[-1],)),)
        else:
            self._is_complete = False

    def _clause_end(self, rest: list[Item]) -> int:
        """Where the first clause ends: at a comma that no list needs, or at an `and` before another verb."""
        for index, item in enumerate(rest):
            if item.text in (";", ":", "-"):
                return index
            if item.lower in ("and", "but") and index and _verb_follows(rest, index + 1):
                return index
            if item.text == "," and not self._is_list(rest, index):
                return index
            if _is_subordinate(item) and item.lower != "than":
                return index
        return len(rest)

    @staticmethod
    def _is_list(rest: list[Item], comma: int) -> bool:
        tail = rest[comma + 1 :]
        conjunction = next((index for index, item in enumerate(tail) if item.lower in ("and", "or")), -1)
        return (
            conjunction > 0 and conjunction < 8 and find_verb(tail, -1) is None and tail[0].lower != "which"
        )

    def _following(self, subject: list[Item], rest: list[Item]) -> Iterator[tuple[Frame, ...]]:
        """What comes after the first clause: another predicate or clause, or something left out."""
        tail = rest
        while tail and (tail[0].text in (",", ";") or tail[0].lower == "and"):
            tail = tail[1:]
        if not tail:
            self._is_complete = False
            return
        if tail[0].lower == "but":
            tail = tail[1:]
        if not tail:
            self._is_complete = False
            return
        probe = [Item("X", "x"), *tail]
        group = _group_at(probe, 1, 0)
        if group is not None and rest[0].lower in ("and", ",", "but") and not _is_subordinate(tail[0]):
            if rest[0].text == "," and rest[1].lower not in ("and", "but"):
                self._is_complete = False
                return
            body = probe[group.end :]
            cut = self._clause_end(body)
            yield from self._frames(subject, group, body[:cut], [])
            if cut < len(body):
                yield from self._following(subject, body[cut:])
            return
        second = find_verb(tail)
        joined = rest[0].text == ";" or any(item.lower in ("and", "but") for item in rest[:2])
        if second is not None and joined and not _is_subordinate(tail[0]):
            yield from self._clauses(tail)
            return
        self._is_complete = False

    def _frames(
        self, subject: list[Item], group: _VerbGroup, rest: list[Item], opening: list[Item]
    ) -> Iterator[tuple[Frame, ...]]:
        parts = _measures(group, rest)
        if len(parts) > 1:
            for part in parts:
                yield from self._frames(subject, group, part, opening)
            return
        circumstances: list[tuple[str, Phrase]] = []
        if opening and opening[0].lower == "with":
            yield from self._with_attribute(subject, opening)
        elif opening:
            circumstances.append(self._circumstance(opening))
        if len(subject) > 2 and isinstance(subject[-1].value, Span) and subject[-2].lower in ("in", "on"):
            circumstances.append(self._circumstance(subject[-2:]))
            subject = subject[:-2]
        if group.verb == "be" and not group.is_passive:
            complement, more = self._copula_parts(rest)
        else:
            complement, more = self._object_parts(rest)
        if _are_entangled(more):
            self._is_complete = False
            return
        frame = Frame(
            self._phrase(subject),
            group.verb,
            group.tense,
            self._phrase(complement),
            _ordered([*circumstances, *more]),
            group.is_negated,
            group.never,
            group.modal,
            group.adverbs,
            is_definite=(bool(complement) and complement[0].lower == "the") or _is_possessed(complement),
            names=_names(complement) | _names(subject),
            subject_kind=_kind(subject, is_plural=group.is_plural),
            complement_kind=_kind(complement),
        )
        if not group.is_passive:
            yield tuple(_variants(frame))
            return
        # "is closed" is a state as much as something done: it is comparable with "is open".
        state = () if frame.circumstances or frame.complement else (self._state(frame, group.participle),)
        yield (self._active(frame), *state)

    @staticmethod
    def _state(frame: Frame, participle: str) -> Frame:
        return msgspec.structs.replace(frame, verb="be", complement=(participle,), is_definite=False)

    def _copula_parts(self, rest: list[Item]) -> tuple[list[Item], list[tuple[str, Phrase]]]:
        """The complement of `be` keeps its prepositions; only a date at its end is a circumstance."""
        if len(rest) >= 2 and isinstance(rest[-1].value, Span) and rest[-2].lower in ("in", "on", "during"):
            when: Phrase = (rest[-1].value,)
            return rest[:-2], [(TIME, when)]
        return rest, []

    def _object_parts(self, rest: list[Item]) -> tuple[list[Item], list[tuple[str, Phrase]]]:
        first = _next_preposition(rest, 0)
        complement, position = rest[:first], first
        circumstances = []
        while position < len(rest):
            end = _next_preposition(rest, position + 1)
            circumstances.append(self._circumstance(rest[position:end]))
            position = end
        return complement, circumstances

    def _circumstance(self, items: list[Item]) -> tuple[str, Phrase]:
        preposition, phrase = items[0].lower, self._phrase(items[1:])
        is_time = len(phrase) == 1 and isinstance(phrase[0], Span) and preposition in ("in", "on", "during")
        return (TIME if is_time else preposition, phrase)

    def _active(self, frame: Frame) -> Frame:
        """`S was done by A` is `A did S`."""
        agent: Phrase | None = None
        rest = []
        for preposition, phrase in frame.circumstances:
            if (
                preposition == "by"
                and agent is None
                and not any(not isinstance(word, str) for word in phrase)
            ):
                agent = phrase
            else:
                rest.append((preposition, phrase))
        if frame.complement:
            rest.append(("as", frame.complement))
        return msgspec.structs.replace(
            frame,
            subject=agent,
            complement=frame.subject or (),
            circumstances=_ordered(rest),
            is_definite=False,
            subject_kind=Kind.DEFINITE,
            complement_kind=frame.subject_kind,
        )


def _are_entangled(circumstances: list[tuple[str, Phrase]]) -> bool:
    """`in 1990 and in French in 1995`: which belongs to which can't be told."""
    with_values = [phrase for _, phrase in circumstances if any(not isinstance(word, str) for word in phrase)]
    dates = [kind for kind, _ in circumstances if kind == TIME]
    return len(dates) > 1 or any("and" in phrase or "or" in phrase or "," in phrase for phrase in with_values)


def _measures(group: _VerbGroup, rest: list[Item]) -> list[list[Item]]:
    """`2 km long and 20 m wide`: two measures, each with its own number."""
    parts: list[list[Item]] = [[]]
    for item in rest:
        if item.lower == "and" or item.text == ",":
            parts.append([])
        else:
            parts[-1].append(item)
    each_has_one = all(
        sum(item.value is not None for item in part) == 1
        and any(isinstance(item.value, Quantity) for item in part)
        for part in parts
    )
    is_state = group.verb in ("be", "have") and not group.is_passive and not group.is_negated
    return parts if is_state and each_has_one else [rest]


def _ordered(circumstances: list[tuple[str, Phrase]]) -> tuple[tuple[str, Phrase], ...]:
    return tuple(sorted(circumstances, key=repr))


def _labelled(items: list[Item]) -> tuple[list[Item], list[Item]] | None:
    """`Height: 330 m`."""
    colon = next((index for index, item in enumerate(items[:7]) if item.text == ":"), 0)
    if not colon or colon + 1 >= len(items) or len(items) - colon > 9:
        return None
    if any(item.lower in language.BE or item.lower in language.HAVE for item in items[:colon]):
        return None
    return (items[:colon], items[colon + 1 :]) if find_verb(items[colon + 1 :]) is None else None


def _kind(items: Sequence[Item], *, is_plural: bool = False) -> Kind:
    if not items:
        return Kind.BARE
    first = items[0].lower
    if first in language.DEFINITE_STARTS or _is_possessed(items):
        return Kind.DEFINITE
    if first in language.INDEFINITE_STARTS or items[0].value is not None:
        return Kind.INDEFINITE
    capitals = [
        item.is_capitalised for item in items if item.is_word and item.lower not in ("of", "and", "the")
    ]
    # A single capital may only be the sentence's first; "Houses were" is no name, "Beats was" is one.
    is_name = all(capitals) and bool(capitals) and not (is_plural and len(capitals) == 1)
    return Kind.DEFINITE if is_name else Kind.BARE


def _is_possessed(items: Sequence[Item]) -> bool:
    return any(item.lower == "'s" for item in items)


def _continues_a_name(rest: Sequence[Item], comma: int) -> bool:
    """`Rome, Georgia`: what stands after the comma says which Rome."""
    tail = rest[comma + 1 :]
    return (
        0 < comma < len(rest) - 1
        and rest[comma].text == ","
        and rest[comma - 1].is_capitalised
        and len(tail) <= 3
        and all(item.is_capitalised for item in tail)
    )


def _may_cut(group: _VerbGroup, rest: Sequence[Item], cut: int) -> bool:
    """Whether the clause holds without what follows it.

    An event that happened did happen, whatever is added; a state may hold only as far as is added.
    """
    tail = [item.lower for item in rest[cut:] if item.text not in (",", ";", "-", ":")]
    if not tail:
        return True
    is_limited = tail[0] in language.LIMITERS or (
        tail[0] == "but" and tail[1:2] and tail[1] in language.LIMITERS
    )
    if is_limited:
        return False
    if group.tense == "past" and group.verb not in ("be", "have"):
        return True
    describes = tail[0] in language.DESCRIBERS or tail[0].endswith(("ing", "ed"))
    return describes or _verb_follows(rest, cut + 1)


def _is_subordinate(item: Item) -> bool:
    # WHO is an organisation, "who" begins a clause.
    return item.lower in language.SUBORDINATORS and not item.is_capitalised


def _verb_follows(items: Sequence[Item], index: int) -> bool:
    """Whether a predicate or a whole clause begins here."""
    if index >= len(items):
        return False
    probe = [Item("X", "x"), *items[index:]]
    return _group_at(probe, 1, 0) is not None or find_verb(probe[1:]) is not None


def _next_preposition(items: Sequence[Item], start: int) -> int:
    for index in range(start, len(items)):
        if (
            items[index].lower in language.PREPOSITIONS
            and items[index].value is None
            and index + 1 < len(items)
        ):
            return index
    return len(items)


def _names(items: Sequence[Item]) -> frozenset[str]:
    """The words written with a capital: names, for all we know."""
    return frozenset(singular(item.lower) for item in items if item.is_capitalised)


def _variants(frame: Frame) -> Iterator[Frame]:
    """The frame, in the one form in which attributes are compared, where it states an attribute."""
    subject, complement = frame.subject, frame.complement
    if subject is None or not complement:
        yield frame
        return
    first = complement[0]
    if frame.verb == "be" and subject == ("there",):
        yield _existence(frame)
    elif frame.verb == "be" and complement[1:2] == ("than",) and first in language.COMPARATIVES:
        yield _bound(frame)
    elif frame.verb == "be" and len(complement) == 2 and isinstance(first, Quantity):
        attribute = language.ADJECTIVE_ATTRIBUTES.get(str(complement[1]))
        yield _attribute(frame, (attribute,), first) if attribute else frame
    elif (
        frame.verb == "have"
        and len(complement) >= 3
        and complement[-2] == "of"
        and isinstance(complement[-1], Quantity)
    ):
        yield _attribute(frame, complement[:-2], complement[-1])
    elif (
        frame.verb == "have" and isinstance(first, Quantity) and len(complement) > 1 and first.unit == NUMBER
    ):
        yield _attribute(frame, ("number", "of", *complement[1:]), first)
    elif frame.verb == "have" and first == "no" and len(complement) > 1 and not frame.is_negated:
        yield _attribute(frame, ("number", "of", *complement[1:]), exactly(NUMBER.offset))
    elif frame.verb in language.VERB_ATTRIBUTES and len(complement) == 1 and isinstance(first, Quantity):
        for attribute in language.VERB_ATTRIBUTES[frame.verb]:
            yield _attribute(frame, (attribute,), first)
        yield frame
    else:
        yield frame


def _attribute(frame: Frame, attribute: Phrase, value: Value) -> Frame:
    owner = (*attribute, "of", *(frame.subject or ()))
    return msgspec.structs.replace(frame, subject=owner, verb="be", complement=(value,), is_definite=False)


def _bound(frame: Frame) -> Frame:
    """`is taller than 300 m` states a bound of the height."""
    attribute, sign = language.COMPARATIVES[str(frame.complement[0])]
    value = frame.complement[2] if len(frame.complement) == 3 else None
    if not isinstance(value, Quantity) or not value.is_exact:
        return frame
    if sign > 0:
        bound = msgspec.structs.replace(value, high=None, low_excluded=True)
    else:
        bound = msgspec.structs.replace(value, low=None, high_excluded=True)
    return _attribute(frame, (attribute,), bound)


def _existence(frame: Frame) -> Frame:
    """`There are 5 seats in the hall` states a number of seats of the hall."""
    complement = frame.complement
    if isinstance(complement[0], Quantity) and complement[0].unit == NUMBER and len(complement) > 1:
        words = tuple("of" if word in ("in", "at", "on") else word for word in complement[1:])
        return msgspec.structs.replace(
            frame, subject=("number", "of", *words), complement=(complement[0],), is_definite=False
        )
    return frame
