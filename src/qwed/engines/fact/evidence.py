"""The sources of one claim, read once: sentences and their frames, records, tables."""

import re
from typing import Any, Final

import msgspec

from qwed.engines.fact import language
from qwed.engines.fact.aliases import find_aliases
from qwed.engines.fact.distribution import distribute
from qwed.engines.fact.frames import Frame
from qwed.engines.fact.phrases import Phrase
from qwed.engines.fact.reader import read_assertions
from qwed.engines.fact.records import FactRecord, Grid, grid_of, records_of_object, records_of_table
from qwed.engines.fact.sentences import FactSentence, plain_signs, split_sentences
from qwed.engines.fact.sources import BadSources, ObjectSource, Source, TableSource, TextSource, texts_in
from qwed.engines.fact.text import WordItem, read_items

MAX_SENTENCES: Final = 6_000
# What goes on for longer is no sentence, and can't be a witness.
MAX_SENTENCE: Final = 2_000


class SourceSentence(msgspec.Struct, frozen=True):
    source: str
    text: str
    words: Phrase
    is_asserted: bool


class FactEvidence:
    """The sources, read once, as far as they can have to do with the claim."""

    def __init__(self, sources: list[Source], claim: str) -> None:
        texts = [source for source in sources if isinstance(source, TextSource)]
        for source in sources:
            if isinstance(source, ObjectSource):
                texts += texts_in(source)
        self.texts = texts
        self.aliases = find_aliases(source.text for source in texts)
        self.records: list[FactRecord] = []
        self.grids: list[Grid] = []
        for source in sources:
            if isinstance(source, TableSource):
                grid = grid_of(source)
                self.grids.append(grid)
                self.records += records_of_table(source, grid)
            elif isinstance(source, ObjectSource):
                self.records += records_of_object(source)
                self._tables_in(source.value, source.id, 0)
        stems = _stems(claim, self.aliases)
        self.sentences: list[SourceSentence] = []
        self.frames: list[tuple[str, str, Frame]] = []
        for source in texts:
            for sentence in split_sentences(source.text):
                if len(self.sentences) >= MAX_SENTENCES:
                    raise BadSources(f"the sources hold more than {MAX_SENTENCES} sentences")
                if len(sentence.text) <= MAX_SENTENCE and any(
                    stem in sentence.text.lower() for stem in stems
                ):
                    self._add(source.id, sentence)

    def _tables_in(self, value: Any, name: str, depth: int) -> None:
        """Lists of objects inside an object are tables too."""
        if depth > 6:
            return
        for key, item in value.items():
            if isinstance(item, dict):
                self._tables_in(item, f"{name}.{key}", depth + 1)
            elif (
                isinstance(item, list)
                and len(item) > 1
                and all(isinstance(row, dict) and row for row in item)
            ):
                header = tuple(dict.fromkeys(str(column) for row in item for column in row))
                rows = tuple(tuple(row.get(column) for column in header) for row in item)
                self.grids.append(grid_of(TableSource(f"{name}.{key}", header, rows)))

    def _add(self, source: str, sentence: FactSentence) -> None:
        items = read_items(sentence.text)
        asserted = is_asserted(sentence, items)
        self.sentences.append(SourceSentence(source, sentence.text, words_of(items), asserted))
        if asserted:
            reading = read_assertions(items, self.aliases)
            self.frames += [
                (source, sentence.text, consequence)
                for group in reading.assertions
                for frame in group
                for consequence in distribute(frame)
            ]


def _stems(claim: str, aliases: dict[Phrase, Phrase]) -> set[str]:
    """Beginnings of the claim's words. A sentence that speaks of the same thing shares one of them."""
    words = set(re.findall(r"\w+", plain_signs(claim).lower()))
    for alias, name in aliases.items():
        if words & set(alias) or words & set(name):
            words |= {str(word) for word in (*alias, *name)}
    words |= {plural for plural, one in language.IRREGULAR_PLURALS.items() if one in words}
    words |= {one for plural, one in language.IRREGULAR_PLURALS.items() if plural in words}
    telling = words - language.SMALL_WORDS
    return {word[:4] for word in telling or words}


def is_asserted(sentence: FactSentence, items: list[WordItem]) -> bool:
    """Whether the source itself says so: no question, quotation, hearsay, condition or guess."""
    if sentence.is_quoted or sentence.follows_colon or sentence.text.rstrip('"').endswith("?") or not items:
        return False
    hedged = any(item.lower in language.HEDGES and not item.is_capitalised for item in items)
    return not hedged and items[0].lower not in language.HEDGES and '"' not in sentence.text


def words_of(items: list[WordItem]) -> Phrase:
    """The sentence as written, but for case, articles, plurals and the spelling of numbers."""
    return tuple(
        language.singular(item.lower) if item.value is None else item.value
        for item in items
        if item.lower not in language.ARTICLES
    )
