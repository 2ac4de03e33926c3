"""Does one frame of a source entail or contradict one frame of a claim?

The rules, each of which leaves the question open unless it is sure:

1. Same subject, verb, tense and complement, and every circumstance of the claim in the source: entailed.
   An event may have further circumstances in the source; a state may not.
2. The same, but one side negated: contradicted.
3. The same, but a number or date for what has only one at a time: contradicted.
4. The same, but another holder of a role that has one, or another maker of what was made once: contradicted.
5. The same, but an opposite: contradicted.
"""

import msgspec

from qwed.engines.fact import language
from qwed.engines.fact.dates import Span
from qwed.engines.fact.frames import TIME, Frame
from qwed.engines.fact.phrases import Phrase, PhraseKind
from qwed.engines.fact.quantities import OpenQuantity, Relation
from qwed.engines.fact.text import compare_values
from qwed.engines.fact.verdicts import Stance


def judge(claim: Frame, source: Frame) -> tuple[Stance, str] | None:
    """What the source's frame says about the claim's, and by which rule."""
    if source.modal or claim.modal or claim.tense != source.tense or not _adverbs_allow(claim, source):
        return _identical(claim, source)
    if claim.is_negated and source.is_negated:
        return (Stance.ENTAILS, "statement") if _both_negated(claim, source) else None
    if source.is_negated:
        is_denied = _denies(claim, source) and _are_certain(claim, source)
        return (Stance.CONTRADICTS, "negation") if is_denied else None
    if claim.is_negated:
        positive = msgspec.structs.replace(claim, is_negated=False, never=False)
        return _turn(judge(positive, source), claim) if _are_certain(claim, source) else None
    found = _judge_positive(claim, source)
    if found is None or found[0] is Stance.ENTAILS:
        return found if _introduces_nothing(claim, source) else None
    return found if _are_certain(claim, source) else None


def _are_certain(claim: Frame, source: Frame) -> bool:
    """Only of a certain thing can two statements contradict each other: one door is open, another is not."""
    kinds = [frame.subject_kind if frame.subject is not None else frame.theme for frame in (claim, source)]
    return PhraseKind.INDEFINITE not in kinds


def _introduces_nothing(claim: Frame, source: Frame) -> bool:
    """That some door is open does not show that the door is."""
    subject_is_given = (
        source.subject_kind is not PhraseKind.INDEFINITE or claim.subject_kind is PhraseKind.INDEFINITE
    )
    complement_is_given = source.complement_kind is not PhraseKind.INDEFINITE or (
        claim.complement_kind is PhraseKind.INDEFINITE or claim.verb == "be"
    )
    return (subject_is_given or claim.subject is None) and complement_is_given


def _turn(found: tuple[Stance, str] | None, claim: Frame) -> tuple[Stance, str] | None:
    if found is None:
        return None
    stance, rule = found
    if stance is Stance.ENTAILS:
        return Stance.CONTRADICTS, "negation"
    # That something was otherwise once does not show that it never was so.
    return None if claim.never else (Stance.ENTAILS, rule)


def _identical(claim: Frame, source: Frame) -> tuple[Stance, str] | None:
    if claim == source:
        return Stance.ENTAILS, "statement"
    return None


def _adverbs_allow(claim: Frame, source: Frame) -> bool:
    return claim.adverbs <= source.adverbs and source.adverbs - claim.adverbs <= language.HARMLESS_ADVERBS


def _both_negated(claim: Frame, source: Frame) -> bool:
    """Not at all implies not in 2020; the other way round it does not hold."""
    same = (claim.subject, claim.verb, claim.complement) == (source.subject, source.verb, source.complement)
    weaker = set(source.circumstances) <= set(claim.circumstances)
    return same and weaker and (source.never or not claim.never)


def _denies(claim: Frame, source: Frame) -> bool:
    """What was not done at all was not done by anybody; what one did not do another may have done."""
    if claim.verb != source.verb or source.subject not in (None, claim.subject):
        return False
    same = compare_phrases(claim.complement, source.complement) is Relation.SAME
    return same and set(source.circumstances) <= set(claim.circumstances)


def _same_agent(claim: Frame, source: Frame) -> bool:
    if claim.subject is None:
        return not language.NOBODY.intersection(source.subject or ())
    if claim.subject == source.subject:
        return True
    if source.subject is None:
        return False
    # More than 300 came: so more than 200 came.
    return compare_phrases(claim.subject, source.subject) in (Relation.SAME, Relation.WITHIN)


def _judge_positive(claim: Frame, source: Frame) -> tuple[Stance, str] | None:
    if claim.verb == "be" == source.verb:
        return _judge_copula(claim, source)
    if claim.verb != source.verb:
        return _judge_opposite(claim, source)
    complement = compare_phrases(claim.complement, source.complement)
    if not _same_agent(claim, source):
        return _judge_maker(claim, source, complement)
    circumstances = _compare_circumstances(claim, source)
    if complement in (Relation.SAME, Relation.WITHIN) and circumstances in (Relation.SAME, Relation.WITHIN):
        return (Stance.ENTAILS, "statement") if _may_drop(claim, source) else None
    is_same_case = circumstances is Relation.SAME or _adds_only_amounts(claim, source)
    if complement is Relation.DISJOINT and is_same_case and _has_one_number(claim):
        return Stance.CONTRADICTS, "number"
    if complement is Relation.SAME and circumstances is Relation.DISJOINT:
        return _judge_clash(claim, source)
    return None


def _may_drop(claim: Frame, source: Frame) -> bool:
    """Whether the circumstances that only the source has may be left out."""
    if len(claim.circumstances) == len(source.circumstances):
        return True
    words = {word for word in source.complement if isinstance(word, str)}
    # What is so on Mondays need not be so; what happened on a Monday did happen.
    is_event = source.tense == "past" and source.verb not in language.NOT_MONOTONE
    return is_event and not words & language.RESTRICTIONS


def _adds_only_amounts(claim: Frame, source: Frame) -> bool:
    """`grew 12% to $5 million`: where it led is no circumstance that limits by how much it grew."""
    theirs = set(source.circumstances)
    extra = theirs - set(claim.circumstances)
    return set(claim.circumstances) <= theirs and all(
        kind in _AMOUNTS and _is_amount(phrase) for kind, phrase in extra
    )


_AMOUNTS = ("by", "to", "from")


def _is_amount(phrase: Phrase) -> bool:
    return all(not isinstance(word, str) for word in phrase)


def _has_one_number(claim: Frame) -> bool:
    """A measure, or how many of something there were in a stated time."""
    counts = len(claim.complement) > 1 and isinstance(claim.complement[0], OpenQuantity)
    return claim.verb in language.MEASURED or (counts and TIME in dict(claim.circumstances))


def _judge_clash(claim: Frame, source: Frame) -> tuple[Stance, str] | None:
    """One circumstance differs: decisive for what happens once, and for changes of a measure."""
    is_unique = claim.verb in language.UNIQUE_EVENTS or "first" in claim.complement
    is_certain = claim.theme is PhraseKind.DEFINITE is source.theme
    if is_unique and is_certain and _only_clash_is(claim, source, TIME) and not _is_elsewhere(claim, source):
        return Stance.CONTRADICTS, "date"
    if claim.verb in language.MEASURED and _only_clash_is(claim, source, "by", "to", "from", "at"):
        return Stance.CONTRADICTS, "number"
    if claim.verb in ("acquire", "buy") and _only_clash_is(claim, source, "for"):
        return Stance.CONTRADICTS, "number"
    return None


def _is_elsewhere(claim: Frame, source: Frame) -> bool:
    """Released in France on one day, elsewhere on another: the place limits what the date says."""
    if claim.verb in language.ONCE_EVERYWHERE:
        return False
    limits = {(kind, phrase) for kind, phrase in source.circumstances if kind in ("in", "at", "on", "to")}
    return not limits <= set(claim.circumstances)


def _only_clash_is(claim: Frame, source: Frame, *kinds: str) -> bool:
    theirs = dict(source.circumstances)
    if len(theirs) != len(source.circumstances) or len(dict(claim.circumstances)) != len(claim.circumstances):
        return False
    clashing = [
        kind
        for kind, phrase in claim.circumstances
        if kind in theirs and compare_phrases(phrase, theirs[kind]) is Relation.DISJOINT
    ]
    rest_is_there = all(
        kind in theirs and compare_phrases(phrase, theirs[kind]) is not Relation.UNKNOWN
        for kind, phrase in claim.circumstances
    )
    is_dated = TIME in dict(claim.circumstances) or TIME not in theirs
    is_dated = is_dated or claim.verb in language.UNIQUE_EVENTS
    return bool(clashing) and rest_is_there and set(clashing) <= set(kinds) and is_dated


def _compare_circumstances(claim: Frame, source: Frame) -> Relation:
    """SAME: as many and equal; WITHIN: the claim's are among the source's; DISJOINT: one value clashes."""
    relation = Relation.SAME if len(claim.circumstances) == len(source.circumstances) else Relation.WITHIN
    for kind, phrase in claim.circumstances:
        found = [compare_phrases(phrase, theirs) for other, theirs in source.circumstances if other == kind]
        if Relation.SAME in found:
            continue
        if Relation.WITHIN in found:
            relation = Relation.WITHIN
        elif Relation.DISJOINT in found:
            return Relation.DISJOINT
        else:
            return Relation.UNKNOWN
    return relation


def _judge_maker(claim: Frame, source: Frame, complement: Relation) -> tuple[Stance, str] | None:
    """Rule 4: another author of the same work."""
    if claim.verb not in language.UNIQUE_MAKERS or complement is not Relation.SAME:
        return None
    if claim.subject is None or source.subject is None or claim.circumstances or source.circumstances:
        return None
    return (Stance.CONTRADICTS, "role") if are_other_names(claim.subject, source.subject) else None


def _judge_opposite(claim: Frame, source: Frame) -> tuple[Stance, str] | None:
    same_thing = claim.complement == source.complement or (
        _is_amount(claim.complement) and _is_amount(source.complement)
    )
    if claim.subject != source.subject or not same_thing:
        return None
    rises = language.OPPOSITES.get(source.verb)
    is_opposite = rises is not None and language.OPPOSITES.get(claim.verb) not in (None, rises)
    frames = [
        {(kind, phrase) for kind, phrase in frame.circumstances if kind not in _AMOUNTS}
        for frame in (claim, source)
    ]
    return (Stance.CONTRADICTS, "opposite") if is_opposite and frames[0] == frames[1] else None


def _judge_copula(claim: Frame, source: Frame) -> tuple[Stance, str] | None:
    claim, source = orient(claim), orient(source)
    if not claim.complement and not source.complement and claim.subject == source.subject:
        return _judge_appointment(claim, source)
    if claim.circumstances != source.circumstances:
        if _compare_circumstances(claim, source) not in (Relation.SAME, Relation.WITHIN):
            return None
        if len(claim.circumstances) != len(source.circumstances):
            return None
    if claim.subject != source.subject or claim.subject is None:
        return None
    relation = compare_phrases(claim.complement, source.complement)
    if relation in (Relation.SAME, Relation.WITHIN):
        # What the source calls "a player" the claim may not call "the player".
        return None if claim.is_definite and not source.is_definite else (Stance.ENTAILS, "statement")
    if relation is Relation.DISJOINT:
        return Stance.CONTRADICTS, "number"
    is_now = claim.tense == "present" and claim.subject_kind is PhraseKind.DEFINITE is source.subject_kind
    if is_now and _are_opposite(claim.complement, source.complement):
        return Stance.CONTRADICTS, "opposite"
    if _is_functional(claim.subject) and _is_name(claim) and _is_name(source):
        return (Stance.CONTRADICTS, "role") if are_other_names(claim.complement, source.complement) else None
    return None


def _judge_appointment(claim: Frame, source: Frame) -> tuple[Stance, str] | None:
    """`The meeting is on 5 May 2024`: it has one date."""
    when = [dict(frame.circumstances) for frame in (claim, source)]
    if any(set(found) != {TIME} for found in when):
        return None
    relation = compare_phrases(when[0][TIME], when[1][TIME])
    if relation is Relation.UNKNOWN:
        return None
    return (Stance.CONTRADICTS, "date") if relation is Relation.DISJOINT else (Stance.ENTAILS, "statement")


def orient(frame: Frame) -> Frame:
    """`Paris is the capital of France` as `the capital of France is Paris`."""
    subject = frame.subject or ()
    if frame.is_definite and _is_functional(frame.complement) and not _is_functional(subject):
        return msgspec.structs.replace(frame, subject=frame.complement, complement=subject, is_definite=False)
    if _is_functional(subject) or any(not isinstance(word, str) for word in frame.complement):
        return msgspec.structs.replace(frame, is_definite=False)
    if frame.is_definite and "of" in frame.complement and "of" not in subject:
        return msgspec.structs.replace(frame, subject=frame.complement, complement=subject, is_definite=False)
    return frame


def _is_functional(phrase: Phrase) -> bool:
    """A role or superlative that one thing has: its head, the word before "of" or "in", says so."""
    if not phrase:
        return False
    head_end = next(
        (index for index, word in enumerate(phrase) if word in ("of", "in", "at", "for", "to")), len(phrase)
    )
    if head_end in (0, len(phrase)):
        return False
    head = phrase[:head_end]
    words = {word for word in head if isinstance(word, str)}
    return head[-1] in language.FUNCTIONAL_HEADS or bool(words & language.SUPERLATIVES)


def _is_name(frame: Frame) -> bool:
    return bool(frame.complement) and all(
        isinstance(word, str) and (word in frame.names or word in ("of", "the", "de", "van", "von"))
        for word in frame.complement
    )


def are_other_names(first: Phrase, second: Phrase) -> bool:
    """Names with nothing in common: no shared word, and neither the initials of the other."""
    ours = {word for word in first if isinstance(word, str)}
    theirs = {word for word in second if isinstance(word, str)}
    if not ours or not theirs or ours & theirs or "and" in ours | theirs:
        return False
    return not (_initials(first) & theirs or _initials(second) & ours)


def _initials(phrase: Phrase) -> set[str]:
    words = [word for word in phrase if isinstance(word, str)]
    return {"".join(word[0] for word in words), "".join(word[0] for word in words if word != "of")}


def _are_opposite(first: Phrase, second: Phrase) -> bool:
    if len(first) != len(second):
        return False
    differing = [{ours, theirs} for ours, theirs in zip(first, second, strict=True) if ours != theirs]
    return len(differing) == 1 and frozenset(differing[0]) in language.OPPOSITE_WORDS


def compare_phrases(claim: Phrase, source: Phrase) -> Relation:
    """Words must be equal; one value may differ, and then how it differs is the answer."""
    if len(claim) != len(source):
        return Relation.UNKNOWN
    relations = set()
    for ours, theirs in zip(claim, source, strict=True):
        if isinstance(ours, OpenQuantity | Span) and isinstance(theirs, OpenQuantity | Span):
            relations.add(compare_values(ours, theirs))
        elif ours != theirs:
            return Relation.UNKNOWN
    for relation in (Relation.UNKNOWN, Relation.DISJOINT, Relation.WITHIN):
        if relation in relations:
            return relation
    return Relation.SAME
