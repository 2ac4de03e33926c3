"""Names that a source itself declares to be the same: `World Health Organization (WHO)`."""

import re
from collections.abc import Iterable
from typing import Final

from qwed.engines.fact.phrases import Phrase, phrase_of
from qwed.engines.fact.sentences import plain_signs
from qwed.engines.fact.text import read_items

_ACRONYM: Final = re.compile(r"\(([A-Z][A-Z&.]{1,9})\)")
_ALSO_KNOWN: Final = re.compile(
    r"([A-Z][\w-]*(?: [A-Z][\w-]*){0,4}),? \(?also known as ([A-Z][\w-]*(?: [A-Z][\w-]*){0,4})"
)
_SMALL: Final = frozenset({"of", "the", "and", "for", "de", "in"})
MAX_ALIASES: Final = 500


def find_aliases(texts: Iterable[str]) -> dict[Phrase, Phrase]:
    """alias -> the name it stands for. An alias given to two names stands for neither."""
    found: dict[Phrase, Phrase] = {}
    ambiguous: set[Phrase] = set()
    for text in texts:
        for alias, name in _find_declared(plain_signs(text)):
            if found.setdefault(alias, name) != name:
                ambiguous.add(alias)
            if len(found) > MAX_ALIASES:
                return {}
    return {alias: name for alias, name in found.items() if alias not in ambiguous and alias != name}


def _find_declared(text: str) -> Iterable[tuple[Phrase, Phrase]]:
    for match in _ACRONYM.finditer(text):
        name = _name_before(text[max(0, match.start() - 120) : match.start()], match[1].replace(".", ""))
        if name:
            yield _phrase(match[1]), _phrase(name)
    for match in _ALSO_KNOWN.finditer(text):
        yield _phrase(match[2]), _phrase(match[1])


def _phrase(name: str) -> Phrase:
    return phrase_of(read_items(name), {})


def _name_before(text: str, acronym: str) -> str | None:
    """The words before the bracket whose initials are the acronym."""
    words = text.split()
    for count in range(len(acronym), len(acronym) + 4):
        name = words[-count:]
        initials = "".join(word[0] for word in name if word.lower() not in _SMALL)
        if len(name) == count and initials.upper() == acronym and name[0][0].isupper():
            return " ".join(name)
    return None
