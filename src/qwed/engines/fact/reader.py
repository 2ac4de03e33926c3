"""Sentences into frames.

Claim and source go through the same reading, so a construction that is not understood matches only itself.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from qwed.engines.fact import language
from qwed.engines.fact.dates import Span
from qwed.engines.fact.frames import TIME, Frame, in_attribute_form
from qwed.engines.fact.language import VERBS
from qwed.engines.fact.phrases import Phrase, PhraseKind, is_possessed, kind_of, names_in, phrase_of
from qwed.engines.fact.quantities import OpenQuantity
from qwed.engines.fact.text import WordItem
from qwed.engines.fact.verb_groups import (
    VerbGroup,
    find_verb,
    group_at,
    is_adverb,
    is_subordinate,
    verb_follows,
)

MAX_ITEMS: Final = 120


class SentenceReading(msgspec.Struct, frozen=True):
    """What a sentence asserts, each assertion in one or more equivalent frames.

    `is_complete` when nothing of the sentence was left out.
    """

    assertions: tuple[tuple[Frame, ...], ...]
    is_complete: bool


def read_assertions(items: list[WordItem], aliases: dict[Phrase, Phrase]) -> SentenceReading:
    """The assertions of one sentence, as far as they are understood."""
    if not 2 <= len(items) <= MAX_ITEMS:
        return SentenceReading((), False)
    return _Reader(aliases).read(items)


class _Reader:
    """Reads one sentence; notes whether it had to leave something out."""

    def __init__(self, aliases: dict[Phrase, Phrase]) -> None:
        self._aliases = aliases
        self._is_complete = True

    def read(self, items: list[WordItem]) -> SentenceReading:
        items = self._without_parentheses(items)
        if items and items[0].lower in language.OPENERS:
            items = items[2:] if len(items) > 1 and items[1].text == "," else items[1:]
        pair = _read_label(items)
        if pair is not None:
            subject, value = self._phrase(pair[0]), self._phrase(pair[1])
            frame = Frame(subject, "be", "present", value, is_definite=True, names=names_in(pair[1]))
            return SentenceReading(((frame,),), self._is_complete)
        assertions = tuple(self._clauses(self._without_relative(items)))
        return SentenceReading(assertions, self._is_complete and bool(assertions))

    def _phrase(self, items: Sequence[WordItem]) -> Phrase:
        return phrase_of(items, self._aliases)

    def _without_parentheses(self, items: list[WordItem]) -> list[WordItem]:
        depth, kept = 0, []
        for item in items:
            depth += (item.text in "([") - (item.text in ")]" and depth > 0) if len(item.text) == 1 else 0
            if depth == 0 and item.text not in (")", "]"):
                kept.append(item)
        if len(kept) != len(items):
            self._is_complete = False
        return kept

    def _without_relative(self, items: list[WordItem]) -> list[WordItem]:
        """`X, which …, did`: what a relative clause adds is left out."""
        for index in range(1, len(items) - 1):
            if items[index].text == "," and items[index + 1].lower in ("which", "who", "whose", "where"):
                self._is_complete = False
                after = next((more for more in range(index + 2, len(items)) if items[more].text == ","), None)
                return items[:index] if after is None else items[:index] + items[after + 1 :]
        return items

    def _clauses(self, items: list[WordItem]) -> Iterator[tuple[Frame, ...]]:
        opening, items = self._opening(items)
        group = find_verb(items)
        if group is None:
            self._is_complete = False
            return
        subject_items, extra = self._subject(items[: group.start])
        rest = items[group.end :]
        cut = self._clause_end(rest)
        is_clear = subject_items and not any(is_subordinate(item) for item in subject_items)
        # "Paris, Texas, has": the name goes on after the comma.
        is_clear = is_clear and not (extra and all(item.is_capitalised for item in extra))
        if not is_clear or _continues_a_name(rest, cut) or not _may_cut(group, rest, cut):
            self._is_complete = False
            return
        yield from self._frames(subject_items, group, rest[:cut], opening)
        yield from self._appositions(subject_items, extra)
        if cut < len(rest):
            yield from self._following(subject_items, rest[cut:], group)

    def _opening(self, items: list[WordItem]) -> tuple[list[WordItem], list[WordItem]]:
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

    def _subject(self, items: list[WordItem]) -> tuple[list[WordItem], list[WordItem]]:
        """The subject, and what stands between commas after it."""
        commas = [index for index, item in enumerate(items) if item.text == ","]
        if len(commas) == 2 and commas[1] == len(items) - 1 and commas[0] > 0:
            return items[: commas[0]], items[commas[0] + 1 : commas[1]]
        if commas and items[-1].text == ",":
            self._is_complete = False
        return items, []

    def _appositions(self, subject: list[WordItem], extra: list[WordItem]) -> Iterator[tuple[Frame, ...]]:
        if not extra:
            return
        if extra[0].lower in language.ARTICLES and find_verb(extra) is None:
            yield (self._copula(subject, extra),)
        elif extra[0].lower == "with":
            yield from self._with_attribute(subject, extra)
        else:
            self._is_complete = False

    def _copula(self, subject: list[WordItem], complement: list[WordItem]) -> Frame:
        return Frame(
            self._phrase(subject),
            "be",
            "present",
            self._phrase(complement),
            is_definite=complement[0].lower == "the",
            names=names_in(subject),
        )

    def _with_attribute(self, subject: list[WordItem], extra: list[WordItem]) -> Iterator[tuple[Frame, ...]]:
        """`with a population of 5`: an attribute in passing."""
        attribute = self._phrase(extra[1:])
        if len(attribute) >= 3 and attribute[-2] == "of" and not isinstance(attribute[-1], str):
            owner = (*attribute[:-2], "of", *self._phrase(subject))
            yield (Frame(owner, "be", "present", (attribute[-1],)),)
        else:
            self._is_complete = False

    def _clause_end(self, rest: list[WordItem]) -> int:
        """Where the first clause ends: at a comma that no list needs, or at an `and` before another verb."""
        for index, item in enumerate(rest):
            if item.text in (";", ":", "-"):
                return index
            if item.lower in ("and", "but") and index and verb_follows(rest, index + 1):
                return index
            if item.text == "," and not self._is_list(rest, index):
                return index
            if is_subordinate(item) and item.lower != "than":
                return index
        return len(rest)

    @staticmethod
    def _is_list(rest: list[WordItem], comma: int) -> bool:
        tail = rest[comma + 1 :]
        conjunction = next((index for index, item in enumerate(tail) if item.lower in ("and", "or")), -1)
        return (
            conjunction > 0 and conjunction < 8 and find_verb(tail, -1) is None and tail[0].lower != "which"
        )

    def _following(
        self, subject: list[WordItem], rest: list[WordItem], before: VerbGroup
    ) -> Iterator[tuple[Frame, ...]]:
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
        probe = [WordItem("X", "x"), *tail]
        adverbs = next((index for index, item in enumerate(tail) if not is_adverb(item)), 0)
        group = group_at(probe, adverbs + 1, 0)
        if group is not None and rest[0].lower in ("and", ",", "but") and not is_subordinate(tail[0]):
            if rest[0].text == "," and rest[1].lower not in ("and", "but"):
                self._is_complete = False
                return
            group = _sharing_auxiliary(group, before, probe)
            body = probe[group.end :]
            cut = self._clause_end(body)
            yield from self._frames(subject, group, body[:cut], [])
            if cut < len(body):
                yield from self._following(subject, body[cut:], group)
            return
        second = find_verb(tail)
        joined = rest[0].text == ";" or any(item.lower in ("and", "but") for item in rest[:2])
        if second is not None and joined and not is_subordinate(tail[0]):
            yield from self._clauses(tail)
            return
        self._is_complete = False

    def _frames(
        self, subject: list[WordItem], group: VerbGroup, rest: list[WordItem], opening: list[WordItem]
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
        is_copula = group.verb == "be" and not group.is_passive
        complement, more = self._copula_parts(rest) if is_copula else self._object_parts(rest)
        if _are_entangled(more):
            self._is_complete = False
            return
        frame = self._frame(subject, group, complement, [*circumstances, *more])
        if not group.is_passive:
            yield tuple(in_attribute_form(frame))
            return
        # "is closed" is a state as much as something done: it is comparable with "is open".
        state = () if frame.circumstances or frame.complement else (self._state(frame, group.participle),)
        yield (self._active(frame), *state)

    def _frame(
        self,
        subject: list[WordItem],
        group: VerbGroup,
        complement: list[WordItem],
        circumstances: list[tuple[str, Phrase]],
    ) -> Frame:
        return Frame(
            self._phrase(subject),
            group.verb,
            group.tense,
            self._phrase(complement),
            _sort(circumstances),
            group.is_negated,
            group.never,
            group.modal,
            group.adverbs,
            is_definite=(bool(complement) and complement[0].lower == "the") or is_possessed(complement),
            names=names_in(complement) | names_in(subject),
            subject_kind=kind_of(subject, is_plural=group.is_plural),
            complement_kind=kind_of(complement),
        )

    @staticmethod
    def _state(frame: Frame, participle: str) -> Frame:
        return msgspec.structs.replace(frame, verb="be", complement=(participle,), is_definite=False)

    def _copula_parts(self, rest: list[WordItem]) -> tuple[list[WordItem], list[tuple[str, Phrase]]]:
        """The complement of `be` keeps its prepositions; only a date at its end is a circumstance."""
        if len(rest) >= 2 and isinstance(rest[-1].value, Span) and rest[-2].lower in ("in", "on", "during"):
            when: Phrase = (rest[-1].value,)
            return rest[:-2], [(TIME, when)]
        return rest, []

    def _object_parts(self, rest: list[WordItem]) -> tuple[list[WordItem], list[tuple[str, Phrase]]]:
        first = _next_preposition(rest, 0)
        complement, position = rest[:first], first
        circumstances = []
        while position < len(rest):
            end = _next_preposition(rest, position + 1)
            circumstances.append(self._circumstance(rest[position:end]))
            position = end
        return complement, circumstances

    def _circumstance(self, items: list[WordItem]) -> tuple[str, Phrase]:
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
            circumstances=_sort(rest),
            is_definite=False,
            subject_kind=PhraseKind.DEFINITE,
            complement_kind=frame.subject_kind,
        )


def _sharing_auxiliary(group: VerbGroup, before: VerbGroup, items: Sequence[WordItem]) -> VerbGroup:
    """`was built in 1990 and sold in 1995`: a second participle without an object is passive too."""
    participle = items[group.end - 1].lower
    follows = items[group.end].lower if group.end < len(items) else "in"
    is_shared = before.is_passive and not group.is_passive and participle in VERBS.participles
    if not is_shared or follows not in language.PREPOSITIONS or group.verb in language.INTRANSITIVE:
        return group
    return msgspec.structs.replace(group, is_passive=True, tense=before.tense, participle=participle)


def _are_entangled(circumstances: list[tuple[str, Phrase]]) -> bool:
    """`in 1990 and in French in 1995`: which belongs to which can't be told."""
    with_values = [phrase for _, phrase in circumstances if any(not isinstance(word, str) for word in phrase)]
    dates = [kind for kind, _ in circumstances if kind == TIME]
    return len(dates) > 1 or any("and" in phrase or "or" in phrase or "," in phrase for phrase in with_values)


def _measures(group: VerbGroup, rest: list[WordItem]) -> list[list[WordItem]]:
    """`2 km long and 20 m wide`: two measures, each with its own number."""
    parts: list[list[WordItem]] = [[]]
    for item in rest:
        if item.lower == "and" or item.text == ",":
            parts.append([])
        else:
            parts[-1].append(item)
    each_has_one = all(
        sum(item.value is not None for item in part) == 1
        and any(isinstance(item.value, OpenQuantity) for item in part)
        for part in parts
    )
    is_state = group.verb in ("be", "have") and not group.is_passive and not group.is_negated
    return parts if is_state and each_has_one else [rest]


def _sort(circumstances: list[tuple[str, Phrase]]) -> tuple[tuple[str, Phrase], ...]:
    return tuple(sorted(circumstances, key=repr))


def _read_label(items: list[WordItem]) -> tuple[list[WordItem], list[WordItem]] | None:
    """`Height: 330 m`."""
    colon = next((index for index, item in enumerate(items[:7]) if item.text == ":"), 0)
    if not colon or colon + 1 >= len(items) or len(items) - colon > 9:
        return None
    if any(item.lower in language.BE or item.lower in language.HAVE for item in items[:colon]):
        return None
    return (items[:colon], items[colon + 1 :]) if find_verb(items[colon + 1 :]) is None else None


def _continues_a_name(rest: Sequence[WordItem], comma: int) -> bool:
    """`Rome, Georgia`: what stands after the comma says which Rome."""
    tail = rest[comma + 1 :]
    return (
        0 < comma < len(rest) - 1
        and rest[comma].text == ","
        and rest[comma - 1].is_capitalised
        and len(tail) <= 3
        and all(item.is_capitalised for item in tail)
    )


def _may_cut(group: VerbGroup, rest: Sequence[WordItem], cut: int) -> bool:
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
    return describes or verb_follows(rest, cut + 1)


def _next_preposition(items: Sequence[WordItem], start: int) -> int:
    for index in range(start, len(items)):
        if (
            items[index].lower in language.PREPOSITIONS
            and items[index].value is None
            and index + 1 < len(items)
        ):
            return index
    return len(items)
