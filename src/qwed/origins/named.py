"""Whether the user pointed at a source: the file, the page, the mailbox or the channel that a call read."""

from collections.abc import Mapping
from typing import Any, Final

from qwed.engines.words import words
from qwed.origins.arguments import only_looks, words_of
from qwed.origins.atoms import Atom, AtomKind, atoms_in, name_of
from qwed.origins.index import Index, Speaker

#: What is searched for is no name of a source: anybody's text may answer.
_SEARCHES: Final = words(
    "query q search keyword keywords text term terms filter prompt question content body message subject"
)
#: What others say of a thing does not stand in it.
_ABOUT: Final = words("comment comments review reviews rating ratings feedback reply replies remark remarks")
_POINTING: Final = frozenset({AtomKind.URL, AtomKind.PATH, AtomKind.EMAIL})


def names_source(index: Index, tool: str, parameters: Mapping[str, Any]) -> bool:
    """The tool reads, and a parameter is an address, a path or a file name that the user said, or a name that
    the user set beside the parameter's own (`the general channel`, `channel general`). What an upload of the
    user's file answers is not in that file."""
    return only_looks(tool) and any(
        isinstance(value, str)
        and words_of(name).isdisjoint(_SEARCHES)
        and _points_at(index, tool, name, value)
        for name, value in parameters.items()
    )


def _points_at(index: Index, tool: str, parameter: str, value: str) -> bool:
    if any(atom.kind in _POINTING and _is_users(index, atom) for atom in atoms_in(value)):
        return True
    own, kind = name_of(value), name_of(parameter)
    if own is None or kind is None or not words_of(tool).isdisjoint(_ABOUT):
        return False
    beside = (Atom(AtomKind.NAME, own.value + kind.value), Atom(AtomKind.NAME, kind.value + own.value))
    return any(_is_users(index, atom) for atom in beside)


def _is_users(index: Index, atom: Atom) -> bool:
    return any(sighting.heard.speaker is Speaker.USER for sighting in index.sightings(atom))
