"""Orders whose letters are set apart or disguised."""

from typing import Final

from qwed.domain.lazy_pattern import lazy_pattern
from qwed.domain.skeleton import with_look_alikes


def _spelled(word: str) -> str:
    """The word with digits for letters and up to two signs between them."""
    return r"[\W_]{0,2}".join(_LETTERS.get(letter, letter) for letter in word)


_LETTERS: Final = {
    "i": "[i1!|l]",
    "o": "[o0]",
    "e": "[e3]",
    "a": "[a4@]",
    "s": "[s5$]",
    "t": "[t7]",
    "l": "[l1|]",
}
_VERBS: Final = ("ignore", "disregard", "forget", "override", "bypass", "reveal", "systemprompt", "youarenow")
_MIXED_SCRIPTS = r"\p{Greek}\p{Cyrillic}\p{Armenian}\p{Cherokee}"
SPELLED: Final = "spelled:"
SIGNALS: Final = {
    # Letters of other scripts are drawn like Latin ones: a word that mixes them is always looked at.
    SPELLED: f"(?i){'|'.join(map(_spelled, _VERBS))}|[A-Za-z][{_MIXED_SCRIPTS}]|[{_MIXED_SCRIPTS}][A-Za-z]"
    r"|\p{So}\p{So}",
}

_LEET: Final = {ord(sign): letter for sign, letter in zip("013457@$!|", "oieastasil", strict=True)}
_AS_LETTERS: Final = with_look_alikes(_LEET)
# In a text without spaces these occur only where somebody wrote them apart or disguised.
_STRIPPED_ORDERS = lazy_pattern(
    r"(?:ignore|disregard|forget|override|bypass)(?:all|any|the|your|of|every|my){0,3}"
    r"(?:previous|prior|above|earlier|preceding|system|safety)(?:system|safety|your)?"
    r"(?:instructions?|prompts?|rules|directives?|guidelines|commands|orders|guardrails)"
    r"|(?:reveal|print|show|repeat|output|leak|dump)(?:me|the|your|full|entire|hidden|all"
    r"|of){0,4}systemprompt"
    r"|youarenow(?:dan|jailbroken|unrestricted|indevelopermode)|doanythingnow|enabledevelopermode"
)


def hides_an_order(value: str) -> bool:
    """Whether the letters alone spell an order that the text as written does not."""
    letters = _NOT_LETTERS.sub("", value.translate(_AS_LETTERS).lower())
    return _STRIPPED_ORDERS.search(letters) is not None


_NOT_LETTERS = lazy_pattern("[^a-z]+")
