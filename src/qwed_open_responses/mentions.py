"""When words that order a model about are meant: no mention, no warning, no instructions of a shelf."""

from typing import Final

from qwed.domain.lazy_pattern import lazy_pattern

_QUOTES: Final = "\"'`“”‘’«»"
_SPEAKS_ABOUT = lazy_pattern(
    r"(?i)\b(?:phrases?|attacks?|attackers?|injections?|examples?|such as|e\.g\.|detect(?:s|ed|ing)?"
    r"|filters?|called|"
    r"says?|said|wrote|writes?|tests?|article|paper|blog|docs?|documentation|training|slides?|report(?:s"
    r"|ed)?|"
    r"blocked|flagged|explain(?:s|ed)?|review|students?|users? (?:try|type)|jailbreaks?|payloads?|warns?"
    r"|regex|pattern)\b"
)
_ABOUT_SOMETHING_ELSE = lazy_pattern(
    r"(?i)^\W{0,2}(?:for|about|regarding|concerning|on how|on the|in the (?:manual|guide|booklet|email"
    r"|ticket)|"
    r"to (?:your|the|my|our|his|her|their|a|each) (?:colleague|team|customer|class|patient|client|staff"
    r"|crew)|"
    r"(?:that |which )?(?:i|we) (?:sent|gave|posted)|from (?:my|our) (?:last|previous))\b"
)
_WHICH = lazy_pattern(
    r"(?i)\b(?:your|my|all|any|every|each|system|developer|safety|security|previous|prior|above|earlier|preceding"
    r"|foregoing|former|original|initial|past)\b"
)
_OF_THE_MODEL = lazy_pattern(r"(?i)\b(?:your|all|any|every|system|developer|safety)\b")


def is_mention(line: str, start: int, end: int) -> bool:
    """Whether the match is quoted within a sentence that speaks about such texts."""
    before, after = line[max(0, start - 160) : start], line[end : end + 160]
    quoted = any(quote in before[-80:] for quote in _QUOTES) and any(quote in after[:80] for quote in _QUOTES)
    return quoted and _SPEAKS_ABOUT.search(f"{before} {after}") is not None


def is_order(line: str, start: int, end: int) -> bool:
    return not is_mention(line, start, end)


def is_about_the_model(line: str, start: int, end: int) -> bool:
    """ "Ignore the previous instructions for the shelf" is about a shelf, "the default rules" a program's."""
    if not is_no_warning(line, start, end) or not _WHICH.search(line[start:end]):
        return False
    return _OF_THE_MODEL.search(line[start:end]) is not None or not _ABOUT_SOMETHING_ELSE.match(
        line[end : end + 48]
    )


_WARNED_OF = lazy_pattern(
    r"(?i)\b(?:not|never|n't|cannot|without|should|who|that|anyone|to avoid)(?: \w+)? $"
)


def is_no_warning(line: str, start: int, end: int) -> bool:
    """ "Never ignore safety filters" is the opposite of an order to do so."""
    return is_order(line, start, end) and not _WARNED_OF.search(line[max(0, start - 24) : start])


_PROMPT_AS_QUICK = lazy_pattern(
    r"(?i)^ (?:response|reply|attention|payment|action|delivery|service|answer|return)"
)


def is_of_a_model(line: str, start: int, end: int) -> bool:
    """ "Your prompt reply" is a quick one."""
    return is_order(line, start, end) and not _PROMPT_AS_QUICK.match(line[end : end + 16])


def is_for_a_model(line: str, start: int, end: int) -> bool:
    """ "Repeat the instructions above to your colleague" is said to a person."""
    return is_order(line, start, end) and not _ABOUT_SOMETHING_ELSE.match(line[end : end + 48])
