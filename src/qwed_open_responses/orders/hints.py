"""A cheap first look: may a sentence hold a cue that decides? Only those that may are read word by word."""

import functools
from collections.abc import Iterator
from typing import Any, Final

from qwed_open_responses.libraries import library
from qwed_open_responses.orders.cues import DATA_ENDS
from qwed_open_responses.orders.meanings import LANGUAGES, UNSPACED, entries, fold

# Concepts that are rare enough in ordinary sentences to be a hint on their own.
_RARE: Final = frozenset(
    {"forget", "ai", "prompt", "hide", "freed", "own_task", "boss", "ai_if", "reads_this"}
)
_RARE_ELSEWHERE: Final = _RARE | {"refuse", "gone", "follow", "limit"}
# Two concepts that are a hint together: the first, so many characters, the second.
_PAIRS: Final = (
    ("not", 30, "limit"),
    ("not", 24, "refuse"),
    ("not", 24, "tell"),
    ("before", 60, "task"),
    ("rules", 60, "gone"),
    ("gone", 60, "rules"),
    ("new", 16, "rules"),
    ("new", 16, "task"),
    ("system", 16, "message"),
    ("maybe_ai", 24, "reading"),
    ("important", 24, "rules"),
    ("strong_loot", 200, "place"),
)
_PLACE: Final = r"(?:https?:|www\.|[\w.+-]@)"
_ENGLISH_HEADLINES: Final = (
    r"(?:system|admin|developer|override|emergency|privileged)\b[^:\]\n]{0,30}[:\]]"
    r"|(?:agent|model|robot)s?\s?[:,!]"
)
# What an order may take, and "do not mention this".
_TAKINGS: Final = (
    r"(?:conversation|system prompt|the user (?:has |have )?(?:said|wrote|typed)|\.ssh/|id_(?:rsa|ed25519)"
    r"|_(?:model|assistant|agent|llm|ai)s?\b|(?:assistant|model)_[dios]|\.aws/|\.netrc|\.env\b|mcp\.json|/etc/(?:shadow|passwd))"
    r"|\b(?:not|never|don't|without) (?:ever )?(?:mention|disclos|reveal|report)[a-z]* (?:this|it|that|any)\b"
    r"|(?:keep|hid|conceal)[a-z]* (?:this|it|that|all)[a-z ]{0,20} from (?:the|your)"
)


def is_hinted(sentence: str) -> bool:
    return _hints().search(fold(sentence.lower())) is not None or (
        not sentence.isascii() and _hints().search(sentence.lower()) is not None
    )


SIGNAL: Final = "orders:"


@functools.cache
def signals() -> dict[str, str]:
    """For the common scan, which leaves accents where they are: any letter beyond ASCII is reason to look."""
    return {SIGNAL: rf"(?i){hints()}|{DATA_ENDS}|[^\x00-\x7f]"}


@functools.cache
def hints() -> str:
    """What hints at an order, as an RE2 expression over small letters without accents."""
    words: dict[tuple[str, str], list[str]] = {}
    for entry, meaning in entries():
        words.setdefault(meaning, []).append(_expression(entry))
    single = [
        word
        for (language, concept), found in words.items()
        if concept in (_RARE if language == "en" else _RARE_ELSEWHERE)
        for word in found
    ]
    pairs = _pairs({concept: found for (language, concept), found in words.items() if language == "en"})
    later = [_pairs_elsewhere(language, words) for language in LANGUAGES if language != "en"]
    ways = (*dict.fromkeys(single), *pairs, *later, _ENGLISH_HEADLINES, _TAKINGS)
    return f"(?:{'|'.join(ways)})"


def _pairs_elsewhere(language: str, words: dict[tuple[str, str], list[str]]) -> str:
    """Before the task, first; tell the user: in the languages without blanks the other way round."""
    pairs = [("before", "task"), ("tell", "user")]
    if language in UNSPACED:
        pairs = [(second, first) for first, second in pairs]
    return "|".join(
        rf"(?:{'|'.join(words[language, some])})[^\n]{{0,40}}?(?:{'|'.join(words[language, other])})"
        for some, other in pairs
        if (language, some) in words and (language, other) in words
    )


def _expression(entry: str) -> str:
    word = entry.strip("*").replace("_", r"\W{1,3}")
    begin = r"\b" if word[:1].isascii() and not entry.startswith("*") else ""
    end = r"\b" if word[-1:].isascii() and not entry.endswith("*") else ""
    return begin + word + end


def _pairs(words: dict[str, list[str]]) -> Iterator[str]:
    for first, distance, second in _PAIRS:
        behind = _PLACE if second == "place" else f"(?:{'|'.join(words[second])})"
        yield rf"(?:{'|'.join(words[first])})[^\n]{{0,{distance}}}?{behind}"


@functools.cache
def _hints() -> Any:
    re2: Any = library("re2")
    options = re2.Options()
    options.max_mem = 64 << 20
    return re2.compile(hints(), options)
