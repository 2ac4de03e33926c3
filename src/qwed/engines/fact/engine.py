"""The fact engine: a claim against given sources, by rule alone.

VERIFIED: every assertion of the claim is entailed by a source, and none is contradicted. FAILED: one is
contradicted, and no source entails it. Everything else is UNCERTAIN, disagreeing sources included.
"""

from collections.abc import Iterator
from typing import Any, Final

from qwed.domain.actions import Action
from qwed.domain.findings import Failure, Finding, Status, uncertain
from qwed.domain.registry import FACT
from qwed.domain.risk import Risk
from qwed.engines.effort import is_small
from qwed.engines.fact import language
from qwed.engines.fact.aggregates import judge_grid
from qwed.engines.fact.comparisons import judge_comparison, read_comparison
from qwed.engines.fact.entailment import judge
from qwed.engines.fact.evidence import FactEvidence, is_asserted, words_of
from qwed.engines.fact.frames import Frame
from qwed.engines.fact.quotations import judge_quotation
from qwed.engines.fact.reader import MAX_ITEMS, read_assertions
from qwed.engines.fact.sentences import FactSentence, split_sentences
from qwed.engines.fact.sources import (
    BadSources,
    read_sources,
)
from qwed.engines.fact.structured import judge_records
from qwed.engines.fact.text import WordItem, read_items
from qwed.engines.fact.verdicts import Stance, Witness
from qwed.engines.unread import name_unread

MAX_CLAIM: Final = 4_096
MAX_ASSERTIONS: Final = 24
_MAX_WITNESSES: Final = 6
# Every sentence of the claim is compared with every one of the sources.
_QUICK_TOKENS: Final = 56


class FactEngine:
    """Answers for any action; what it can't read proves nothing."""

    name: Final = FACT

    def is_quick(self, action: Action) -> bool:
        return is_small(action, _QUICK_TOKENS)

    def verify(self, action: Action) -> Finding:
        read = frozenset({"sources", "claim" if action.query is None else "query"})
        return name_unread(self._verify(action), action, read)

    def _verify(self, action: Action) -> Finding:
        claim = action.query if action.query is not None else action.parameters.get("claim")
        if not isinstance(claim, str) or not claim.strip():
            return uncertain(FACT, Risk.LOW, "no claim is given")
        if len(claim) > MAX_CLAIM:
            return uncertain(
                FACT, Risk.LOW, f"the claim is longer than {MAX_CLAIM} characters", limit="claim"
            )
        try:
            sources = read_sources(action.parameters.get("sources"))
            return _finding(claim, FactEvidence(sources, claim))
        except BadSources as error:
            return uncertain(FACT, Risk.LOW, str(error), limit="sources")
        # The engine promises an answer for every action; what it trips over proves nothing.
        except Exception as error:  # noqa: BLE001
            return uncertain(
                FACT, Risk.LOW, f"{type(error).__name__} while reading the sources", limit="internal"
            )


def _finding(claim: str, evidence: FactEvidence) -> Finding:
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


def _judge_sentence(text: str, evidence: FactEvidence) -> list[_Part]:
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


def _judge_frames(text: str, items: list[WordItem], evidence: FactEvidence) -> list[_Part]:
    if len(items) > MAX_ITEMS or not is_asserted(FactSentence(text), items):
        return [(text, [])]
    comparison = read_comparison(items, evidence.aliases)
    if comparison is not None:
        return [(text, list(judge_comparison(comparison, evidence.records, evidence.frames)))]
    reading = read_assertions(items, evidence.aliases)
    if not reading.is_complete:
        return [(text, [])]
    return [(text, _judge_assertion(group, evidence)) for group in reading.assertions]


def _same_sentence(items: list[WordItem], evidence: FactEvidence) -> Iterator[Witness]:
    """A source says exactly this, or exactly this with a "not"."""
    said = words_of(items)
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


def _judge_assertion(group: tuple[Frame, ...], evidence: FactEvidence) -> list[Witness]:
    witnesses: dict[tuple[str, str, Stance], Witness] = {}
    for claim in group:
        for witness in _witnesses(claim, evidence):
            witnesses.setdefault((witness.source, witness.quote, witness.stance), witness)
    return list(witnesses.values())


def _witnesses(claim: Frame, evidence: FactEvidence) -> Iterator[Witness]:
    for source, quote, frame in evidence.frames:
        found = judge(claim, frame)
        if found is not None:
            yield Witness(found[0], found[1], source, quote)
    yield from judge_records(claim, evidence.records)
    for grid in evidence.grids:
        yield from judge_grid(claim, grid)
