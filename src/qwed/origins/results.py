"""What a tool's result says, value by value: JSON, text, HTML and tables, also one inside the other.

A *record* is an object with its plain members, or a row of a table; 0 is none. A value is *whole* when it is
all that its field says. Only whole values of records can be looked up, and a record with a long text in it (a
message, a file) is none.
"""

import html
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from qwed.domain import json_text
from qwed.domain.json_text import JsonError
from qwed.domain.lazy_pattern import lazy_pattern
from qwed.engines.words import words
from qwed.origins.atoms import (
    MAX_ATOMS,
    MAX_NAME,
    Atom,
    AtomKind,
    atoms_in,
    atoms_of_number,
    find_quoted_names,
    name_of,
    number_of,
)
from qwed.origins.tables import read_members

MAX_DEPTH: Final = 32
#: Text of this length in one field is prose.
PROSE: Final = 200
_COUNTERS: Final = words("id ids index page count number no nr position rank year month day hour minute")
_KEY_WORDS = lazy_pattern(r"[^\W_]+")
_JSON_STARTS: Final = ("{", "[", '"')
_TAG = lazy_pattern(r"<[A-Za-z/!][^<>]{0,2000}>")
_CELLS = lazy_pattern(r"\s*\|\s*")
_RULER = lazy_pattern(r"[\s|:+-]+")
_APART = lazy_pattern(r"[\s-]")
_NAMED_ADDRESS = lazy_pattern(r"[^@<>]{0,80}<[^<>@\s]{1,64}@[^<>@\s]{3,200}>\s{0,9}")
_LISTED = lazy_pattern(r"\s*[,;]\s*")


#: A value, its record, and whether it is whole. A plain tuple: a result has thousands.
SeenResult = tuple[Atom, int, bool]


class ResultReader:
    """One bounded walk over a result. Where `fields` are given, only those of a record are whole. Of a
    directory, a text that is a table or a list of members is read as that."""

    def __init__(self, fields: frozenset[str] = frozenset(), *, is_directory: bool = False) -> None:
        self._fields = fields
        self._is_directory = is_directory
        self._records = 0
        self._seen: list[SeenResult] = []
        #: More was said than was read.
        self.is_cut = False

    def read(self, result: Any) -> list[SeenResult]:
        self._value(result, 0, 0)
        if len(self._seen) > MAX_ATOMS:
            self.is_cut = True
        return self._seen[:MAX_ATOMS]

    def _see(self, atoms: Iterable[Atom | None], record: int, *, is_whole: bool) -> None:
        left = MAX_ATOMS + 1 - len(self._seen)
        self._seen += [(atom, record, is_whole) for atom in itertools.islice(atoms, left) if atom is not None]

    def _value(self, value: Any, record: int, depth: int) -> None:
        if depth > MAX_DEPTH:
            self.is_cut = True
        elif len(self._seen) > MAX_ATOMS:
            return
        elif isinstance(value, str):
            self._text(value, record, depth)
        elif isinstance(value, Mapping):
            self._object(value, None, depth)
        elif isinstance(value, list | tuple):
            for item in value:
                self._value(item, record, depth + 1)
        else:
            self._see(atoms_of_number(value), record, is_whole=True)

    def _object(self, members: Mapping[Any, Any], name: str | None, depth: int) -> None:
        record = self._next_record(members)
        if name is not None:
            self._see((name_of(name),), record, is_whole=True)
        for key, value in members.items():
            if isinstance(value, str) and not self._fields:
                self._text(value, record, depth + 1)
            elif isinstance(value, Mapping):
                self._object(value, str(key), depth + 1)
            elif isinstance(value, int) and not _COUNTERS.isdisjoint(_KEY_WORDS.findall(str(key).casefold())):
                # A number that counts or identifies is no amount.
                self._see((name_of(str(value)), number_of(value)), record, is_whole=True)
            else:
                self._member(key, value, record, depth)
            if isinstance(key, str) and not key.isidentifier():
                self._whole_text(key, record)

    def _member(self, key: Any, value: Any, record: int, depth: int) -> None:
        before = len(self._seen)
        self._value(value, record, depth + 1)
        if self._fields and key not in self._fields:
            self._seen[before:] = [(atom, place, False) for atom, place, _ in self._seen[before:]]

    def _next_record(self, members: Mapping[Any, Any]) -> int:
        for value in members.values():
            if isinstance(value, str) and _is_prose(value):
                return 0
        self._records += 1
        return self._records

    def _text(self, text: str, record: int, depth: int) -> None:
        inner = None if text[:1].isalnum() else _read_embedded(text)
        if inner is not None:
            self._value(inner, record, depth + 1)
        elif "\n" in text and (rows := _table_rows(text)):
            for row in rows:
                self._records += 1
                for cell in row:
                    self._whole_text(cell, self._records)
        elif self._is_directory and (records := read_members(text)):
            self._value(records, record, depth + 1)
        elif _is_prose(text):
            self._prose(text)
        else:
            self._whole_text(text, record)

    def _whole_text(self, text: str, record: int) -> None:
        """A short field is a name, and so is each part of a list in it; an atom is whole where it is all of
        it."""
        if len(self._seen) > MAX_ATOMS:
            return
        parts: Iterable[str] = (text,)
        if "," in text or ";" in text:
            parts = dict.fromkeys((text, *_LISTED.split(text)))
        for part in parts:
            if len(part) <= MAX_NAME and (name := name_of(part)) is not None:
                self._seen.append((name, record, True))
        atoms = list(atoms_in(text))
        if not atoms:
            return
        for part in parts:
            is_alone = " " not in part.strip() or not any(map(str.isalpha, part))
            for atom in atoms if part is text else atoms_in(part):
                # The host of an address is no value of its own.
                is_part = atom.kind is AtomKind.HOST and "@" in part
                self._seen.append((atom, record, not is_part and (is_alone or _fills(part, atom))))

    def _prose(self, text: str) -> None:
        self._see(atoms_in(text), 0, is_whole=False)
        self._see(find_quoted_names(text), 0, is_whole=False)
        if "<" in text and _TAG.search(text) is not None:
            self._see(atoms_in(html.unescape(_TAG.sub("", text))), 0, is_whole=False)


def _fills(text: str, atom: Atom) -> bool:
    """Also an address with a name before it."""
    if atom.kind is AtomKind.EMAIL and "<" in text and _NAMED_ADDRESS.fullmatch(text):
        return True
    return len(_APART.sub("", text)) <= len(atom.value) + 1


def _is_prose(text: str) -> bool:
    if len(text) > PROSE or ("\n" in text and "\n" in text.strip()):
        return True
    return "<" in text and _TAG.search(text) is not None and not _NAMED_ADDRESS.fullmatch(text)


def _read_embedded(text: str) -> Any:
    """What a text holds that is JSON."""
    bare = text.strip()
    if bare[:1] not in _JSON_STARTS:
        return None
    try:
        value = json_text.loads(bare.encode("utf-8", "surrogatepass"), max_depth=MAX_DEPTH)
    except JsonError:
        return None
    return value if isinstance(value, dict | list) else None


def _table_rows(text: str) -> list[Sequence[str]]:
    """The rows of a text that is a table and nothing else: cells between bars or tabs, as many in each."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    if len(lines) < 2:
        return []
    if all("|" in line for line in lines):
        rows: list[Sequence[str]] = [
            _CELLS.split(line.strip("|").strip()) for line in lines if not _RULER.fullmatch(line)
        ]
    elif all("\t" in line for line in lines):
        rows = [line.split("\t") for line in lines]
    else:
        return []
    is_even = len({len(row) for row in rows}) == 1 and all(
        len(cell) <= MAX_NAME for row in rows for cell in row
    )
    return rows if is_even else []
