"""The fact engine: a claim against given sources, by rule alone.

VERIFIED: every assertion of the claim is entailed by a source, and none is contradicted. FAILED: one is
contradicted, and no source entails it. Everything else is UNCERTAIN, disagreeing sources included.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from qwed.domain.actions import Action
from qwed.domain.findings import Failure, Finding, Status, uncertain
from qwed.domain.registry import FACT
from qwed.domain.risk import Risk
from qwed.engines.fact import language
from qwed.engines.fact.aggregates import judge_grid
from qwed.engines.fact.aliases import find_aliases
from qwed.engines.fact.comparisons import judge_comparison, read_comparison
from qwed.engines.fact.distribution import distribute
from qwed.engines.fact.entailment import judge
from qwed.engines.fact.frames import Frame
from qwed.engines.fact.phrases import Phrase
from qwed.engines.fact.quotations import judge_quotation
from qwed.engines.fact.reader import MAX_ITEMS, read_assertions
from qwed.engines.fact.records import Grid, Record, grid_of, records_of_object, records_of_table
from qwed.engines.fact.sentences import Sentence, plain_signs, split_sentences
from qwed.engines.fact.sources import (
    BadSources,
    ObjectSource,
    Source,
    TableSource,
    TextSource,
    read_sources,
    size_of,
)
from qwed.engines.fact.structured import judge_records
from qwed.engines.fact.text import Item, read_items
from qwed.engines.fact.verdicts import Stance, Witness

MAX_CLAIM: Final = 4_096
MAX_ASSERTIONS: Final = 24
MAX_SENTENCES: Final = 6_000
# What goes on for longer is no sentence, and can't be a witness.
MAX_SENTENCE: Final = 2_000
_MAX_WITNESSES: Final = 6
_QUICK_SIZE: Final = 2_048


class FactEngine:
    """Answers for any action; what it can't read proves nothing."""

    name: Final = FACT

    def is_quick(self, action: Action) -> bool:
        try:
            return size_of(action.parameters.get("sources")) <= _QUICK_SIZE
        except BadSources:
            return False

    def verify(self, action: Action) -> Finding:
        claim = action.query if action.query is not None else action.parameters.get("claim")
        if not isinstance(claim, str) or not claim.strip():
            return uncertain(FACT, Risk.LOW, "no claim is given")
        if len(claim) > MAX_CLAIM:
            return uncertain(
                FACT, Risk.LOW, f"the claim is longer than {MAX_CLAIM} characters", limit="claim"
            )
        try:
            sources = read_sources(action.parameters.get("sources"))
            return _finding(claim, _Evidence(sources, claim))
        except BadSources as error:
            return uncertain(FACT, Risk.LOW, str(error), limit="sources")
        # The engine promises an answer for every action; what it trips over proves nothing.
        except Exception as error:  # noqa: BLE001
            return uncertain(
                FACT, Risk.LOW, f"{type(error).__name__} while reading the sources", limit="internal"
            )


class _SourceSentence(msgspec.Struct, frozen=True):
    source: str
    text: str
    words: Phrase
    is_asserted: bool


class _Evidence:
    """The sources, read once, as far as they can have to do with the claim."""

    def __init__(self, sources: list[Source], claim: str) -> None:
        texts = [source for source in sources if isinstance(source, TextSource)]
        self.texts = texts
        self.aliases = find_aliases(source.text for source in texts)
        self.records: list[Record] = []
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
        self.sentences: list[_SourceSentence] = []
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

    def _add(self, source: str, sentence: Sentence) -> None:
        items = read_items(sentence.text)
        is_asserted = _is_asserted(sentence, items)
        self.sentences.append(_SourceSentence(source, sentence.text, _words(items), is_asserted))
        if is_asserted:
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


def _is_asserted(sentence: Sentence, items: list[Item]) -> bool:
    """Whether the source itself says so: no question, quotation, hearsay, condition or guess."""
    if sentence.is_quoted or sentence.follows_colon or sentence.text.rstrip('"').endswith("?") or not items:
        return False
    hedged = any(item.lower in language.HEDGES and not item.is_capitalised for item in items)
    return not hedged and items[0].lower not in language.HEDGES and '"' not in sentence.text


def _finding(claim: str, evidence: _Evidence) -> Finding:
    parts = []
    for sentence in split_sentences(claim):
        parts += _judge_sentence(sentence.text, evidence)
        if len(parts) > MAX_ASSERTIONS:
            return uncertain(
                FACT, Risk.LOW, "the claim makes more assertions than are checked", limit="claim"
            )
    shown = [
        {"assertion": text, "witnesses": [witness.to_evidence() for witness in witnesses[:_MAX_WITNESSES]]}
        for text, witnesses in parts
    ]
    return _decide(parts, {"claim": claim, "assertions": shown})


_Part = tuple[str, list[Witness]]


def _decide(parts: list[_Part], evidence: dict[str, Any]) -> Finding:
    stances = [{witness.stance for witness in witnesses} for _, witnesses in parts]
    disputed = [text for (text, _), found in zip(parts, stances, strict=True) if len(found) > 1]
    if disputed:
        return uncertain(
            FACT, Risk.LOW, f"the sources contradict each other about {disputed[0]!r}", **evidence
        )
    contradicted = [
        witnesses[0] for _, witnesses in parts if witnesses and witnesses[0].stance is Stance.CONTRADICTS
    ]
    if contradicted:
        reason = f"contradicted by {contradicted[0].source}: {contradicted[0].quote}"
        return Finding(
            Status.FAILED,
            Risk.LOW,
            FACT,
            reason,
            evidence,
            failure=Failure.INCORRECT,
            checks_failed=("entailed",),
        )
    if parts and all(witnesses for _, witnesses in parts):
        first = parts[0][1][0]
        reason = f"entailed by {first.source}: {first.quote}"
        return Finding(Status.VERIFIED, Risk.LOW, FACT, reason, evidence, checks_passed=("entailed",))
    return uncertain(FACT, Risk.LOW, "no source entails or contradicts the claim", **evidence)


def _judge_sentence(text: str, evidence: _Evidence) -> list[_Part]:
    """The assertions of one sentence of the claim, each with what speaks for or against it."""
    quoted = judge_quotation(text, evidence.texts)
    if quoted is not None:
        return [(text, quoted)]
    items = read_items(text)
    whole = list(_same_sentence(items, evidence))
    parts = _judge_frames(text, items, evidence)
    if whole:
        against = [one for _, found in parts for one in found if one.stance is Stance.CONTRADICTS]
        return [(text, whole + against)]
    return parts


def _judge_frames(text: str, items: list[Item], evidence: _Evidence) -> list[_Part]:
    if len(items) > MAX_ITEMS or not _is_asserted(Sentence(text), items):
        return [(text, [])]
    comparison = read_comparison(items, evidence.aliases)
    if comparison is not None:
        return [(text, list(judge_comparison(comparison, evidence.records, evidence.frames)))]
    reading = read_assertions(items, evidence.aliases)
    if not reading.is_complete:
        return [(text, [])]
    return [(text, _judge_assertion(group, evidence)) for group in reading.assertions]


def _same_sentence(items: list[Item], evidence: _Evidence) -> Iterator[Witness]:
    """A source says exactly this, or exactly this with a "not"."""
    said = _words(items)
    without = tuple(word for word in said if word != "not")
    is_some = bool(items) and items[0].lower in language.INDEFINITE_STARTS
    for sentence in evidence.sentences:
        if not sentence.is_asserted:
            continue
        if sentence.words == said:
            yield Witness(Stance.ENTAILS, "quotation", sentence.source, sentence.text)
        elif (
            len(without) > 2
            and not is_some
            and without == tuple(word for word in sentence.words if word != "not")
        ):
            yield Witness(Stance.CONTRADICTS, "negation", sentence.source, sentence.text)


def _words(items: list[Item]) -> Phrase:
    """The sentence as written, but for case, articles, plurals and the spelling of numbers."""
    return tuple(
        language.singular(item.lower) if item.value is None else item.value
        for item in items
        if item.lower not in language.ARTICLES
    )


def _judge_assertion(group: tuple[Frame, ...], evidence: _Evidence) -> list[Witness]:
    witnesses: dict[tuple[str, str, Stance], Witness] = {}
    for claim in group:
        for witness in _witnesses(claim, evidence):
            witnesses.setdefault((witness.source, witness.quote, witness.stance), witness)
    return list(witnesses.values())


def _witnesses(claim: Frame, evidence: _Evidence) -> Iterator[Witness]:
    for source, quote, frame in evidence.frames:
        found = judge(claim, frame)
        if found is not None:
            yield Witness(found[0], found[1], source, quote)
    yield from judge_records(claim, evidence.records)
    for grid in evidence.grids:
        yield from judge_grid(claim, grid)
