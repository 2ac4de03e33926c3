"""`A is taller than B`, decided by the two numbers that the sources give."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from qwed.engines.fact import language
from qwed.engines.fact.frames import Frame
from qwed.engines.fact.phrases import Phrase, phrase_of
from qwed.engines.fact.quantities import OpenQuantity, in_base
from qwed.engines.fact.records import FactRecord
from qwed.engines.fact.structured import same_attribute
from qwed.engines.fact.text import WordItem
from qwed.engines.fact.verb_groups import find_verb
from qwed.engines.fact.verdicts import Stance, Witness

_VERB_MEASURES: Final = {"cost": "price", "weigh": "weight"}
_ADJECTIVES: Final = {"expensive": "price", "populous": "population"}


class Comparison(msgspec.Struct, frozen=True):
    """`sign` is 1 when the claim says that the first has more."""

    attribute: Phrase
    first: Phrase
    second: Phrase
    sign: int
    is_negated: bool = False


class Measured(msgspec.Struct, frozen=True):
    source: str
    quote: str
    value: OpenQuantity


def read_comparison(items: Sequence[WordItem], aliases: dict[Phrase, Phrase]) -> Comparison | None:
    """The comparison that a claim makes, if it is one and nothing else."""
    than = next((index for index, item in enumerate(items) if item.lower == "than"), None)
    group = find_verb(items)
    if than is None or group is None or group.end >= than or group.modal or group.adverbs or group.is_passive:
        return None
    first = phrase_of(items[: group.start], aliases)
    second = _second(items[than + 1 :], aliases)
    said = [item.lower for item in items[group.end : than] if item.lower not in language.ARTICLES]
    measures = [item for item in items[group.end : than] if item.value is not None]
    is_named = bool(first) and any(isinstance(word, str) for word in second)
    if not is_named or measures or not said:
        return None
    found = _measure(group.verb, said, first, second)
    return None if found is None else msgspec.structs.replace(found, is_negated=group.is_negated)


def _second(items: Sequence[WordItem], aliases: dict[Phrase, Phrase]) -> Phrase:
    rest = list(items)
    if [item.lower for item in rest[:2]] == ["that", "of"]:
        rest = rest[2:]
    if rest and rest[-1].lower in ("is", "does", "has", "was", "did", "'s", "'"):
        rest = rest[:-1]
    return phrase_of(rest, aliases)


def _measure(verb: str, said: list[str], first: Phrase, second: Phrase) -> Comparison | None:
    sign = 1 if said[0] in language.MORE else -1 if said[0] in language.LESS else 0
    if verb == "be" and len(said) == 1 and "of" in first and sign:
        cut = first.index("of")
        attribute, owner = first[:cut], first[cut + 1 :]
        other = second[cut + 1 :] if second[: cut + 1] == first[: cut + 1] else second
        return Comparison(attribute, owner, other, sign)
    if verb == "be" and len(said) == 1 and said[0] in language.COMPARATIVES:
        name, direction = language.COMPARATIVES[said[0]]
        return Comparison((name,), first, second, direction)
    if verb == "be" and len(said) == 2 and said[0] in ("more", "less") and said[1] in _ADJECTIVES:
        return Comparison((_ADJECTIVES[said[1]],), first, second, 1 if said[0] == "more" else -1)
    if verb == "have" and len(said) >= 2 and sign:
        attribute = tuple(language.singular(word) for word in said[1:])
        prefix: Phrase = ("number", "of") if said[0] in ("more", "fewer") else ()
        return Comparison((*prefix, *attribute), first, second, sign)
    if verb in _VERB_MEASURES and len(said) == 1 and said[0] in ("more", "less"):
        return Comparison((_VERB_MEASURES[verb],), first, second, sign)
    return None


def judge_comparison(
    comparison: Comparison, records: Sequence[FactRecord], frames: Sequence[tuple[str, str, Frame]]
) -> Iterator[Witness]:
    """The comparison decided by the numbers found, where there is one for each side."""
    left = _single(_find_measured(comparison.attribute, comparison.first, records, frames))
    right = _single(_find_measured(comparison.attribute, comparison.second, records, frames))
    if left is None or right is None or left.value.unit.dimension != right.value.unit.dimension:
        return
    ours, theirs = in_base(left.value.low, left.value.unit), in_base(right.value.low, right.value.unit)
    assert ours is not None
    assert theirs is not None
    holds = ours > theirs if comparison.sign > 0 else ours < theirs
    stance = Stance.ENTAILS if holds != comparison.is_negated else Stance.CONTRADICTS
    detail = f"{ours} {'>' if ours > theirs else '<' if ours < theirs else '='} {theirs}"
    yield Witness(stance, "comparison", left.source, left.quote, detail)
    yield Witness(stance, "comparison", right.source, right.quote, detail)


def _single(found: list[Measured]) -> Measured | None:
    """The one value that everything found agrees on."""
    return found[0] if found and len({measured.value.key for measured in found}) == 1 else None


def _find_measured(
    attribute: Phrase, owner: Phrase, records: Sequence[FactRecord], frames: Sequence[tuple[str, str, Frame]]
) -> list[Measured]:
    found = [
        Measured(record.source, record.place, record.value)
        for record in records
        if owner in record.owners
        and same_attribute(attribute, record.attribute)
        and isinstance(record.value, OpenQuantity)
        and record.value.is_exact
    ]
    for source, quote, frame in frames:
        value = frame.complement[0] if len(frame.complement) == 1 else None
        is_plain = frame.verb == "be" and not frame.is_negated and not frame.modal and not frame.circumstances
        if (
            is_plain
            and isinstance(value, OpenQuantity)
            and value.is_exact
            and _is_of(frame.subject, attribute, owner)
        ):
            found.append(Measured(source, quote, value))
    return found


def _is_of(subject: Phrase | None, attribute: Phrase, owner: Phrase) -> bool:
    if subject is None or len(subject) <= len(owner) + 1 or subject[-len(owner) :] != owner:
        return False
    return subject[-len(owner) - 1] == "of" and same_attribute(attribute, subject[: -len(owner) - 1])
