"""A claim's frame against the records of JSON objects and tables."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from qwed.engines.fact.dates import Span
from qwed.engines.fact.entailment import are_other_names, orient
from qwed.engines.fact.frames import TIME, Frame
from qwed.engines.fact.language import words
from qwed.engines.fact.phrases import Phrase
from qwed.engines.fact.quantities import NUMBER, OpenQuantity, Relation
from qwed.engines.fact.records import YEARS, FactRecord
from qwed.engines.fact.text import Value, compare_values
from qwed.engines.fact.verdicts import Stance, Witness

# Keys under which the date of an event is stored.
_EVENT_KEYS: Final = {
    "found": words("founded founding foundation established found establish"),
    "establish": words("established founded establishment founding"),
    "bear": words("born birth birthdate birthday dob"),
    "die": words("died death"),
    "release": words("released release"),
    "publish": words("published publication publish"),
    "launch": words("launched launch"),
    "open": words("opened opening open"),
    "complete": words("completed completion"),
    "build": words("built construction"),
}
_DATE_WORDS: Final = words("date year on in of")
_PLACE_KEYS: Final = words("city location country headquarter headquarters address place state")
_CURRENCIES: Final = words("USD EUR GBP JPY INR CHF")
_SYNONYMS: Final = {"cost": "price", "mass": "weight"}


def judge_records(claim: Frame, records: Sequence[FactRecord]) -> Iterator[Witness]:
    """What the records say about the claim."""
    if claim.modal or claim.tense == "future" or claim.adverbs:
        return
    positive = orient(msgspec.structs.replace(claim, is_negated=False, never=False))
    ownerless = [record for record in records if record.attribute == positive.subject]
    for record in records:
        relation = _relate(positive, record, is_only=len(ownerless) == 1)
        if relation is None:
            continue
        entails = relation in (Relation.SAME, Relation.WITHIN)
        stance = Stance.ENTAILS if entails != claim.is_negated else Stance.CONTRADICTS
        yield Witness(stance, "record", record.source, record.place)


def _relate(claim: Frame, record: FactRecord, *, is_only: bool) -> Relation | None:
    if claim.verb != "be":
        return _relate_event(claim, record)
    if claim.circumstances or claim.subject is None:
        return None
    if isinstance(record.value, bool) and claim.subject in record.owners:
        is_said = claim.complement == record.attribute
        return (Relation.SAME if record.value else Relation.DISJOINT) if is_said else None
    if _names_record(claim.subject, record, is_only=is_only):
        return compare_with_record(claim.complement, record)
    return None


def _names_record(subject: Phrase, record: FactRecord, *, is_only: bool) -> bool:
    """Whether `attribute of owner`, or the attribute alone where there is only one, is this record."""
    if subject == record.attribute:
        return is_only or not record.owners
    return any(
        word == "of"
        and subject[index + 1 :] in record.owners
        and same_attribute(subject[:index], record.attribute)
        for index, word in enumerate(subject)
    )


def same_attribute(said: Phrase, stored: Phrase) -> bool:
    """`number of employees` is stored as `employees`, `employee_count` or `number_of_employees`."""
    ours, theirs = _plain(said), _plain(stored)
    if ours == theirs:
        return True
    if ours[:1] == ("number",):
        return theirs in (ours[1:], (*ours[1:], "count"), ("num", *ours[1:]), ("total", *ours[1:]))
    return False


def _plain(phrase: Phrase) -> Phrase:
    return tuple(
        _SYNONYMS.get(word, word) if isinstance(word, str) else word for word in phrase if word != "of"
    )


def compare_with_record(complement: Phrase, record: FactRecord) -> Relation | None:
    """How the record's value lies to what the claim says it is; None where they can't be compared."""
    stored = record.value
    if stored is None or isinstance(stored, bool):
        return None
    if isinstance(stored, tuple):
        return _compare_texts(complement, stored)
    if len(complement) != 1 or isinstance(complement[0], str):
        return None
    said = match_unit(complement[0], stored, unit_is_given=record.unit_is_given)
    if said is None:
        return None
    relation = compare_values(said, stored)
    return None if relation is Relation.UNKNOWN else relation


def match_unit(said: Value, stored: Value, *, unit_is_given: bool) -> Value | None:
    """The claim's value for a cell that leaves out the unit: money and percentages are often stored so."""
    if not isinstance(said, OpenQuantity) or not isinstance(stored, OpenQuantity):
        return said
    if said.unit == NUMBER and stored.unit == YEARS:
        return msgspec.structs.replace(said, unit=YEARS)
    if unit_is_given or stored.unit != NUMBER or said.unit == NUMBER:
        return said if said.unit.dimension == stored.unit.dimension else None
    if said.unit.dimension in _CURRENCIES or said.unit.dimension == "percent":
        return msgspec.structs.replace(said, unit=NUMBER)
    return None


def _compare_texts(complement: Phrase, stored: Phrase) -> Relation | None:
    if complement == stored:
        return Relation.SAME
    if any(not isinstance(word, str) for word in (*complement, *stored)):
        return None
    return Relation.DISJOINT if are_other_names(complement, stored) else None


def _relate_event(claim: Frame, record: FactRecord) -> Relation | None:
    """`X was founded in 1998` against `{"name": "X", "founded": 1998}`."""
    if claim.subject is not None or claim.complement not in record.owners or len(claim.circumstances) != 1:
        return None
    kind, phrase = claim.circumstances[0]
    attribute = {str(word) for word in record.attribute}
    if kind == "in" and claim.verb in ("base", "locate") and attribute <= _PLACE_KEYS:
        return Relation.SAME if phrase == record.value else None
    keys = _EVENT_KEYS.get(claim.verb, frozenset())
    is_stored = bool(attribute & keys) and attribute <= keys | _DATE_WORDS
    if kind != TIME or not is_stored or not isinstance(record.value, OpenQuantity | Span):
        return None
    assert not isinstance(phrase[0], str)
    relation = compare_values(phrase[0], record.value)
    return None if relation is Relation.UNKNOWN else relation
