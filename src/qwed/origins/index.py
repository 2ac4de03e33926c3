"""What a conversation has heard: atoms as keyed hashes, each with its sources.

One `Heard` is what one source said at one step, as it is kept. `Index` puts them together. It is bounded:
what tools said first is forgotten first, and from then on nothing counts as unheard.
"""

import enum
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

import msgspec

from qwed.domain.provenance_rules import SourceLabel, SourceRule
from qwed.origins.atoms import Atom, AtomKind, atoms_in, find_quoted_names, word_runs
from qwed.origins.results import ResultReader, SeenResult

MAX_INDEX_ATOMS: Final = 20_000
#: Of one message of the user, so many words are kept as names.
MAX_USER_WORDS: Final = 400
MAX_AMOUNTS: Final = 200
_HASH: Final = 12
_WHOLE: Final = 1 << 31
#: Long enough that a field which equals it is meant.
_KEY: Final = 1 << 30
_MIN_KEY: Final = 3
_NUMBER: Final = _KEY - 1
#: Members of an enumeration are slow to find.
_HOST: Final = AtomKind.HOST


class Speaker(enum.StrEnum):
    USER = "user"
    OPERATOR = "operator"
    TOOL = "tool"
    ENGINE = "engine"
    #: A person who approved an action that showed the value.
    APPROVAL = "approval"


class OriginLevel(enum.IntEnum):
    """How good a value's best source is."""

    UNTRUSTED = 0
    ENDORSED = 1
    APPROVED = 2
    TRUSTED = 3
    USER = 4


class Heard(msgspec.Struct, frozen=True, array_like=True):
    """What one source said. `places` holds, for each hash, its record and whether it was whole."""

    speaker: Speaker
    tool: str
    step: int
    label: SourceLabel
    #: The user pointed at this very source.
    is_named: bool
    hashes: bytes
    places: tuple[int, ...]
    amounts: tuple[str, ...] = ()
    is_cut: bool = False
    #: What only it says must not reach where others read it.
    is_private: bool = False

    @property
    def size(self) -> int:
        return len(self.places)


class Sighting(NamedTuple):
    heard: Heard
    record: int
    is_whole: bool


def hash_atom(key: bytes, atom: Atom) -> bytes:
    """Keyed, so that it says nothing to somebody who does not have the conversation's key."""
    return hashlib.blake2b(_plain(atom), digest_size=_HASH, key=key[:64]).digest()


def _hash_all(key: bytes, atoms: Iterable[Atom]) -> dict[Atom, bytes]:
    """Each atom once."""
    keyed = hashlib.blake2b(digest_size=_HASH, key=key[:64])
    hashes: dict[Atom, bytes] = {}
    for atom in atoms:
        if atom not in hashes:
            digest = keyed.copy()
            digest.update(_plain(atom))
            hashes[atom] = digest.digest()
    return hashes


def _plain(atom: Atom) -> bytes:
    return (atom.kind + "\0" + atom.value).encode("utf-8", "surrogatepass")


def hear_user(key: bytes, text: str, step: int) -> Heard:
    """A message that the caller marks as the user's."""
    seen = dict.fromkeys((*atoms_in(text), *find_quoted_names(text), *word_runs(text, MAX_USER_WORDS)))
    return _heard(key, Speaker.USER, "", step, SourceLabel.TRUSTED, [(atom, 0, True) for atom in seen])


def hear_nothing() -> Heard:
    """Something was said that is not known."""
    return Heard(Speaker.TOOL, "", 0, SourceLabel.UNTRUSTED, False, b"", (), is_cut=True)


def hear_atoms(key: bytes, speaker: Speaker, atoms: Iterable[Atom], step: int) -> Heard:
    """What a person saw and let through."""
    seen = [(atom, 0, True) for atom in dict.fromkeys(atoms)]
    return _heard(key, speaker, "", step, SourceLabel.TRUSTED, seen)


def hear_result(
    key: bytes,
    tool: str,
    step: int,
    rule: SourceRule,
    result: Any,
    *,
    is_named: bool = False,
    is_cut: bool = False,
) -> Heard:
    reader = ResultReader(frozenset(rule.fields), is_directory=rule.label is SourceLabel.DIRECTORY)
    seen = reader.read(result)
    is_cut = is_cut or reader.is_cut
    heard = _heard(key, Speaker.TOOL, tool, step, rule.label, seen, is_named=is_named, is_cut=is_cut)
    return msgspec.structs.replace(heard, is_private=True) if rule.private else heard


def _heard(
    key: bytes,
    speaker: Speaker,
    tool: str,
    step: int,
    label: SourceLabel,
    seen: Sequence[SeenResult],
    *,
    is_named: bool = False,
    is_cut: bool = False,
) -> Heard:
    found = list(dict.fromkeys(seen))
    distinct = found[:MAX_INDEX_ATOMS]
    hashes = _hash_all(key, [atom for atom, _, _ in distinct])
    amounts = [value for kind, value in hashes if kind is AtomKind.AMOUNT][:MAX_AMOUNTS]
    return Heard(
        speaker,
        tool,
        step,
        label,
        is_named,
        b"".join([hashes[atom] for atom, _, _ in distinct]),
        tuple([_place(*each) for each in distinct]),
        tuple(amounts),
        is_cut or len(distinct) < len(found),
    )


def _place(atom: Atom, record: int, is_whole: bool) -> int:
    if not is_whole:
        return record
    kind, value = atom
    return record | (_WHOLE | _KEY if kind is not _HOST and len(value) >= _MIN_KEY else _WHOLE)


class Index:
    """All that was heard in one conversation."""

    def __init__(self, key: bytes, heard: Iterable[Heard] = ()) -> None:
        self.key = key
        self._heard: list[Heard] = []
        self._by_hash: dict[bytes, list[Sighting]] = {}
        #: By source and record, until something else is heard.
        self._looked_up: dict[tuple[int, int], bool] = {}
        self._size = 0
        #: Also what was forgotten since.
        self.ever_heard = 0
        #: Something was forgotten, or cut off before it came: who said a value may not be known any more.
        self.is_forgetful = False
        for each in heard:
            self.add(each)

    @property
    def size(self) -> int:
        return self._size

    @property
    def heard(self) -> tuple[Heard, ...]:
        return tuple(self._heard)

    @property
    def is_covered(self) -> bool:
        speakers = {each.speaker for each in self._heard}
        return {Speaker.USER, Speaker.TOOL} <= speakers

    def add(self, heard: Heard) -> None:
        self._heard.append(heard)
        self._looked_up.clear()
        self._size += heard.size
        self.ever_heard += heard.size
        self.is_forgetful = self.is_forgetful or heard.is_cut
        for digest, sighting in _sightings(heard):
            self._by_hash.setdefault(digest, []).append(sighting)
        while self._size > MAX_INDEX_ATOMS and self._forget():
            pass

    def _forget(self) -> bool:
        """What a tool said longest ago; where only others spoke, what was said longest ago."""
        if len(self._heard) <= 1:
            return False
        tools = [each for each in self._heard[:-1] if each.speaker is Speaker.TOOL]
        oldest = tools[0] if tools else self._heard[0]
        self._heard = [each for each in self._heard if each is not oldest]
        self._size -= oldest.size
        self.is_forgetful = True
        for digest, _ in _sightings(oldest):
            left = [sighting for sighting in self._by_hash.get(digest, ()) if sighting.heard is not oldest]
            if left:
                self._by_hash[digest] = left
            else:
                self._by_hash.pop(digest, None)
        return True

    def sightings(self, atom: Atom) -> list[Sighting]:
        return self._by_hash.get(hash_atom(self.key, atom), [])

    def level_of(self, sighting: Sighting) -> OriginLevel:
        heard = sighting.heard
        match heard.speaker:
            case Speaker.USER:
                return OriginLevel.USER
            case Speaker.OPERATOR | Speaker.ENGINE:
                return OriginLevel.TRUSTED
            case Speaker.APPROVAL:
                return OriginLevel.APPROVED
        if heard.label is SourceLabel.TRUSTED or (heard.label is SourceLabel.DIRECTORY and sighting.is_whole):
            return OriginLevel.TRUSTED
        return (
            OriginLevel.ENDORSED if heard.is_named or self._is_looked_up(sighting) else OriginLevel.UNTRUSTED
        )

    def _is_looked_up(self, sighting: Sighting) -> bool:
        """Another whole field of its record is the user's word, and of no other record of this tool."""
        heard, record = sighting.heard, sighting.record
        if not record or not sighting.is_whole or self.is_forgetful:
            return False
        place = (id(heard), record)
        if place not in self._looked_up:
            self._looked_up[place] = self._has_users_key(heard, record)
        return self._looked_up[place]

    def _has_users_key(self, heard: Heard, record: int) -> bool:
        return any(self._is_key(digest, heard, record) for digest in _keys_of(heard, record))

    def _is_key(self, digest: bytes, heard: Heard, record: int) -> bool:
        found = self._by_hash.get(digest, ())
        if not any(each.heard.speaker is Speaker.USER for each in found):
            return False
        own = [each for each in found if each.heard.speaker is Speaker.TOOL and each.heard.tool == heard.tool]
        return all(each.heard is heard and each.record == record for each in own)

    def amounts_by(self, level: OriginLevel) -> set[Decimal]:
        """Amounts that sources of one class said; the newest first, and not too many."""
        found: set[Decimal] = set()
        for heard in reversed(self._heard):
            if _class_of(heard) is level and len(found) < MAX_AMOUNTS:
                found.update(map(Decimal, heard.amounts))
        return found


def _class_of(heard: Heard) -> OriginLevel:
    if heard.speaker is Speaker.TOOL:
        return OriginLevel.UNTRUSTED if heard.label is SourceLabel.UNTRUSTED else OriginLevel.TRUSTED
    return OriginLevel.USER if heard.speaker is Speaker.USER else OriginLevel.TRUSTED


def _sightings(heard: Heard) -> Iterator[tuple[bytes, Sighting]]:
    for position, place in enumerate(heard.places):
        digest = heard.hashes[position * _HASH : (position + 1) * _HASH]
        yield digest, Sighting(heard, place & _NUMBER, bool(place & _WHOLE))


def _keys_of(heard: Heard, record: int) -> Iterator[bytes]:
    wanted = record | _WHOLE | _KEY
    for position, place in enumerate(heard.places):
        if place == wanted:
            yield heard.hashes[position * _HASH : (position + 1) * _HASH]
