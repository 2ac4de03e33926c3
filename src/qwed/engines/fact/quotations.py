"""`The report says "…"`: verified when the words stand in a source, letter for letter."""

import re
from collections.abc import Sequence
from typing import Final

from qwed.engines.fact.sentences import plain_signs
from qwed.engines.fact.sources import TextSource
from qwed.engines.fact.verdicts import Stance, Witness

_QUOTING: Final = re.compile(
    r"\A\s*(?:according to )?the (?:source|text|report|article|document|passage|page|statement|paper|letter)"
    r"(?:,|\s+(?:says|said|states|stated|reads|contains|includes|mentions))"
    r"(?: that| the (?:words|phrase|sentence))?"
    r"[\s,:]*\"([^\"]{3,2000})\"\s*[.!]?\s*\Z",
    re.I,
)
_BLANKS: Final = re.compile(r"\s+")


def judge_quotation(claim: str, sources: Sequence[TextSource]) -> list[Witness] | None:
    """None when the claim is no quotation; else the sources that hold the quoted words."""
    match = _QUOTING.match(plain_signs(claim))
    if match is None:
        return None
    quoted = _BLANKS.sub(" ", match[1]).strip()
    return [
        Witness(Stance.ENTAILS, "verbatim", source.id, quoted)
        for source in sources
        if quoted in _BLANKS.sub(" ", plain_signs(source.text))
    ]
