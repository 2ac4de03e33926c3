"""Values that only a private source said, on their way to where others read them."""

from collections.abc import Iterator, Mapping
from typing import Final

from qwed.domain.actions import Action
from qwed.domain.provenance_rules import SinkRule
from qwed.domain.texts import Text, collect_texts
from qwed.origins.arguments import Argument
from qwed.origins.atoms import Atom, AtomKind, atoms_in, word_runs
from qwed.origins.index import Index, Sighting

#: Of one text, so many words are looked through; a longer one is not let through.
MAX_WORDS_READ: Final = 2_000
MAX_TOLD: Final = 8
#: Shorter names and numbers are everybody's.
_MIN_NAME: Final = 4
_MIN_AMOUNT: Final = 3
_UNREAD: Final = "the text is too long to look through for private values"


def find_private(
    index: Index, action: Action, arguments: tuple[Argument, ...], public: Mapping[str, SinkRule]
) -> Iterator[tuple[SinkRule, str]]:
    """What is said against the action, value by value; the first ones of each text."""
    if not public or not any(heard.is_private for heard in index.heard):
        return
    for text in collect_texts(action).values:
        rule = rule_at(public, text.where.removeprefix("parameters."), text.slot)
        if rule is not None:
            yield from ((rule, says) for says in _in_text(index, text))
    for argument in arguments:
        rule = rule_at(public, argument.where, argument.slot)
        if rule is not None and argument.atom.kind in (AtomKind.AMOUNT, AtomKind.NUMBER):
            yield from ((rule, says) for says in _tell(index, argument.slot, argument.atom))


def rule_at(named: Mapping[str, SinkRule], where: str, slot: str) -> SinkRule | None:
    return named.get(where) or named.get(slot) or named.get(slot.partition(".")[0])


def _in_text(index: Index, text: Text) -> Iterator[str]:
    if len(text.value.split()) > MAX_WORDS_READ:
        yield f"{text.slot}: {_UNREAD}"
        return
    told = 0
    for atom in dict.fromkeys((*atoms_in(text.value), *word_runs(text.value, MAX_WORDS_READ))):
        for says in _tell(index, text.slot, atom):
            yield says
            told += 1
        if told >= MAX_TOLD:
            return


def _tell(index: Index, slot: str, atom: Atom) -> Iterator[str]:
    if len(atom.value) < {AtomKind.NAME: _MIN_NAME, AtomKind.AMOUNT: _MIN_AMOUNT}.get(atom.kind, 1):
        return
    found = index.sightings(atom)
    if found and all(_is_private(each, atom) for each in found):
        source = f"the result of {found[0].heard.tool} at step {found[0].heard.step}"
        yield f"{slot}: {atom.value[:80]} stands in {source}, which is private"


def _is_private(sighting: Sighting, atom: Atom) -> bool:
    return sighting.heard.is_private and (sighting.is_whole or atom.kind is not AtomKind.NAME)
