"""Frames: who does what to whom, when and where, in one canonical order.

Active and passive, genitive and "of", "has a height of" and "is … tall" become the same frame.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from qwed.engines.fact import language
from qwed.engines.fact.phrases import Phrase, PhraseKind
from qwed.engines.fact.quantities import NUMBER, OpenQuantity, exactly
from qwed.engines.fact.text import Value

TIME: Final = "time"


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
    subject_kind: PhraseKind = PhraseKind.DEFINITE
    complement_kind: PhraseKind = PhraseKind.DEFINITE

    @property
    def theme(self) -> PhraseKind:
        """The kind of what the event happens to."""
        return self.complement_kind if self.complement else self.subject_kind


def in_attribute_form(frame: Frame) -> Iterator[Frame]:
    """The frame, in the one form in which attributes are compared, where it states an attribute."""
    subject, complement = frame.subject, frame.complement
    if subject is None or not complement:
        yield frame
        return
    first = complement[0]
    if frame.verb == "be" and subject == ("there",):
        yield _existence(frame)
    elif frame.verb == "be" and complement[1:2] == ("than",) and first in language.COMPARATIVES:
        yield _read_bound(frame)
    elif frame.verb == "be" and len(complement) == 2 and isinstance(first, OpenQuantity):
        attribute = language.ADJECTIVE_ATTRIBUTES.get(str(complement[1]))
        yield _attribute(frame, (attribute,), first) if attribute else frame
    elif (
        frame.verb == "have"
        and len(complement) >= 3
        and complement[-2] == "of"
        and isinstance(complement[-1], OpenQuantity)
    ):
        yield _attribute(frame, complement[:-2], complement[-1])
    elif (
        frame.verb == "have"
        and isinstance(first, OpenQuantity)
        and len(complement) > 1
        and first.unit == NUMBER
    ):
        yield _attribute(frame, ("number", "of", *complement[1:]), first)
    elif frame.verb == "have" and first == "no" and len(complement) > 1 and not frame.is_negated:
        yield _attribute(frame, ("number", "of", *complement[1:]), exactly(NUMBER.offset))
    elif frame.verb in language.VERB_ATTRIBUTES and len(complement) == 1 and isinstance(first, OpenQuantity):
        for attribute in language.VERB_ATTRIBUTES[frame.verb]:
            yield _attribute(frame, (attribute,), first)
        yield frame
    else:
        yield frame


def _attribute(frame: Frame, attribute: Phrase, value: Value) -> Frame:
    owner = (*attribute, "of", *(frame.subject or ()))
    return msgspec.structs.replace(frame, subject=owner, verb="be", complement=(value,), is_definite=False)


def _read_bound(frame: Frame) -> Frame:
    """`is taller than 300 m` states a bound of the height."""
    attribute, sign = language.COMPARATIVES[str(frame.complement[0])]
    value = frame.complement[2] if len(frame.complement) == 3 else None
    if not isinstance(value, OpenQuantity) or not value.is_exact:
        return frame
    if sign > 0:
        bound = msgspec.structs.replace(value, high=None, low_excluded=True)
    else:
        bound = msgspec.structs.replace(value, low=None, high_excluded=True)
    return _attribute(frame, (attribute,), bound)


def _existence(frame: Frame) -> Frame:
    """`There are 5 seats in the hall` states a number of seats of the hall."""
    complement = frame.complement
    if isinstance(complement[0], OpenQuantity) and complement[0].unit == NUMBER and len(complement) > 1:
        words = tuple("of" if word in ("in", "at", "on") else word for word in complement[1:])
        return msgspec.structs.replace(
            frame, subject=("number", "of", *words), complement=(complement[0],), is_definite=False
        )
    return frame
