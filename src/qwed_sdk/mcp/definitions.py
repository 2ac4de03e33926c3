"""What a server says about its tools: words that a model obeys, so they are looked at before it reads them.

Two questions, both answered from the definition alone: is it the one that was seen before (its hash),
and does it carry something that its reader is not meant to see or that speaks to the model instead of
describing the tool. The second can only recognise known manners; the first needs no luck.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, Final

from qwed.domain.canonical import NotCanonical, encode_exact, sha256_hex
from qwed.domain.skeleton import look_alikes, without_invisible

MAX_DEFINITION_CHARACTERS: Final = 256 * 1024
MAX_DEPTH: Final = 64
#: What a model reads or a client acts on. Left out: `_meta`, icons and what differs between revisions.
PINNED_FIELDS: Final = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")

_JOINERS: Final = "\u200c\u200d"
_DIRECTION_MARKS: Final = "\u200e\u200f\u061c"
_BLANKS: Final = frozenset("\u2800\u3164\u115f\u1160\uffa0\u2028\u2029")
_PLAIN_CONTROLS: Final = frozenset("\t\n\r")
_SMUGGLING: Final = range(0xE0000, 0xE1000)
_LONG_GAP: Final = re.compile(r"[ \t\u00a0\u2000-\u200a\u3000]{80,}|(?:[ \t]*\r?\n){16,}")
_PSEUDO_TAG: Final = re.compile(
    r"<!--|<\||\[/?inst\]"
    r"|<\s*/?\s*(?:important|system|instructions?|secret|hidden|admin|assistant|prompt)\b[^>]{0,40}>",
    re.IGNORECASE,
)
_NOT_A_WORD: Final = re.compile(r"[\W_]+")
_READERS: Final = r"(?:user|human|person|operator|anyone|anybody)\b"
#: On folded text: words, lower case, one blank between them.
_PHRASES: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"\b(?:ignore|disregard|forget|override|bypass) (?:(?:all|any|the|your|these|every|of) ){0,4}"
        r"(?:previous|prior|earlier|above|preceding|former|existing|system|safety)\b",
        r"\b(?:do not|don t|dont|never|must not|should not)"
        r" (?:tell|mention|inform|reveal|show|notify|alert|disclose)"
        r" (?:(?:this|it|that|anything|about|to|the|any) ){0,5}" + _READERS,
        r"\bwithout (?:telling|informing|mentioning|asking|notifying|alerting|the knowledge of)"
        r" (?:(?:this|it|that|to|the) ){0,4}" + _READERS,
        r"\b(?:hide|conceal|keep)(?: this| it| that| these)?(?: secret| hidden)? from (?:the )?" + _READERS,
        r"\b(?:reveal|send|include|pass|print|output|leak|append|forward|copy)"
        r" (?:(?:me|us|your|the|all|of|full|entire|whole) ){0,4}(?:system prompt|conversation history"
        r"|chat history|previous messages|hidden instructions|context window)\b",
        r"\bbefore (?:using|calling|invoking|running) (?:this|any|another|other|every|each)(?: other)?"
        r" (?:tool|function)s?\b.{0,200}\b(?:read|send|open|fetch|upload|access|cat)\b",
        r"\b(?:id rsa|id ed25519|ssh config|authorized keys|aws credentials|mcp json|etc passwd|etc shadow"
        r"|netrc)\b",
        r"\b(?:this|the) (?:tool|function|description|instruction)s? (?:takes? precedence|supersedes?)\b",
        r"\byou are (?:now|no longer)\b",
        r"\bnew (?:system )?instructions?\b.{0,40}\b(?:follow|obey|below)\b",
    )
)


def definition_hash(tool: Mapping[str, Any]) -> str:
    """Of what a reader of the definition sees, in whatever order it was written."""
    seen = {name: tool[name] for name in PINNED_FIELDS if tool.get(name) is not None}
    try:
        return sha256_hex(encode_exact(seen))
    except NotCanonical:
        return ""


def suspicion(value: Any) -> str | None:
    """Why this should not reach a model, or None. Every text in it is looked at, keys too."""
    left = MAX_DEFINITION_CHARACTERS
    for text in _texts(value, MAX_DEPTH):
        if text is None:
            return "it is nested too deeply"
        left -= len(text) + 1
        if left < 0:
            return f"it is longer than {MAX_DEFINITION_CHARACTERS} characters"
        why = _text_suspicion(text)
        if why is not None:
            return why
    return None


def _texts(value: Any, depth: int) -> Iterator[str | None]:
    """None where it is deeper than anybody would look."""
    if isinstance(value, str):
        yield value
    elif depth == 0:
        yield None
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield name
            yield from _texts(item, depth - 1)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, depth - 1)


def _text_suspicion(text: str) -> str | None:
    if not text.isascii() or not text.isprintable():
        hidden = next((c for i, c in enumerate(text) if _is_hidden(text, i, c)), None)
        if hidden is not None:
            return f"it holds the hidden character U+{ord(hidden):04X}"
    if _LONG_GAP.search(text.strip()):
        return "it hides text behind a long gap"
    if _PSEUDO_TAG.search(text):
        return "it holds a tag that speaks to the model"
    words = fold(text)
    if any(phrase.search(words) for phrase in _PHRASES):
        return "it holds an instruction to the model"
    return None


def fold(text: str) -> str:
    """The words as a reader sees them: no disguise by script, width, case or invisible characters."""
    seen = text
    if not seen.isascii():
        seen = look_alikes(without_invisible(unicodedata.normalize("NFKC", seen)))
    return _NOT_A_WORD.sub(" ", seen).casefold().strip()


def _is_hidden(text: str, index: int, character: str) -> bool:
    if character < "\x7f":
        return character < " " and character not in _PLAIN_CONTROLS
    if character in _BLANKS or ord(character) in _SMUGGLING:
        return True
    if unicodedata.category(character) not in ("Cc", "Cf"):
        return False
    if character in _JOINERS:
        return not (_joins(text, index - 1) and _joins(text, index + 1))
    if character in _DIRECTION_MARKS:
        return not any(unicodedata.bidirectional(c) in ("R", "AL") for c in text)
    return True


def _joins(text: str, index: int) -> bool:
    """A letter of a script, or an emoji, that is written with joiners."""
    if not 0 <= index < len(text) or text[index].isascii():
        return False
    return unicodedata.category(text[index]) in ("Lo", "Mn", "Mc", "So", "Sk")
