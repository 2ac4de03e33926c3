"""What a statement about several says about each: `A and B visited C` of A and of B."""

from collections.abc import Iterator
from typing import Final

import msgspec

from qwed.engines.fact import language
from qwed.engines.fact.frames import Frame
from qwed.engines.fact.phrases import Phrase

_JOINING: Final = language.words(
    "combine mix compare connect merge introduce marry separate link be have split"
)


def distribute(frame: Frame) -> Iterator[Frame]:
    """The frame, and one for each member of a list in its subject or object, where that follows.

    Numbers are shared out in ways that the words do not tell, so a frame with one is left alone.
    """
    yield frame
    if frame.is_negated or _has_value(frame):
        return
    subjects = _members(frame.subject) if frame.subject and frame.verb not in language.COLLECTIVE else []
    for member in subjects:
        yield msgspec.structs.replace(frame, subject=member)
    if frame.verb in _JOINING:
        return
    for member in _members(frame.complement):
        yield msgspec.structs.replace(frame, complement=member)
        for subject in subjects:
            yield msgspec.structs.replace(frame, subject=subject, complement=member)


def _has_value(frame: Frame) -> bool:
    phrases = [frame.subject or (), frame.complement]
    return any(not isinstance(word, str) for phrase in phrases for word in phrase)


def _members(phrase: Phrase) -> list[Phrase]:
    """The members of `x, y and z`; nothing for a phrase that is no plain list."""
    if (
        phrase.count("and") != 1
        or "or" in phrase
        or "of" in phrase
        or "both" in phrase
        or "between" in phrase
    ):
        return []
    members: list[list[str]] = [[]]
    for word in phrase:
        assert isinstance(word, str)
        if word in (",", "and"):
            members.append([])
        else:
            members[-1].append(word)
    plain = [tuple(member) for member in members if member]
    return list(plain) if len(plain) > 1 and all(len(member) <= 3 for member in plain) else []
