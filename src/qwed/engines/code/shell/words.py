"""Words of the shell, evaluated: quoting removed, what is known of expansions filled in.

An evaluated word is a string in which private characters mark what a plain string can't say: a hole of
unknown text, a glob character that was not quoted, a place where an unquoted expansion splits the word.
"""

import itertools
import re
from typing import Final

HOLE: Final = "\ue000"
STAR: Final = "\ue001"
QUESTION: Final = "\ue002"
BRACKET: Final = "\ue003"
OPEN: Final = "\ue004"
CLOSE: Final = "\ue005"
COMMA: Final = "\ue006"
SPLIT: Final = "\ue007"
QUOTED: Final = "\ue008"
MARKS: Final = re.compile("[\ue000-\ue00f]")
MAX_FIELDS: Final = 64
MAX_WORD: Final = 8 * 1024
MAX_BRACES: Final = 16
MAX_STARTED: Final = 5_000
MAX_MADE: Final = 1_000_000

_UNQUOTED: Final = {"*": STAR, "?": QUESTION, "[": BRACKET, "{": OPEN, "}": CLOSE, ",": COMMA}
_PLAIN: Final = str.maketrans(
    {STAR: "*", QUESTION: "?", BRACKET: "[", OPEN: "{", CLOSE: "}", COMMA: ",", SPLIT: " ", QUOTED: ""}
)
_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|([0-7]{1,3})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|c(.)|(.))", re.S
)
_SIMPLE_ESCAPES: Final = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}
_SPAN: Final = re.compile(r"(-?\d{1,4}|[A-Za-z])\.\.(-?\d{1,4}|[A-Za-z])")


def plain(field: str) -> str:
    """The field as a person would read it; holes stay."""
    # The marks are no ASCII, and most words are nothing else.
    return field if field.isascii() else field.translate(_PLAIN)


_MARKED: Final = str.maketrans(_UNQUOTED)


def unquote(text: str) -> str:
    """Literal text outside quotes: backslashes removed, active characters marked."""
    if "\\" not in text:
        return text.translate(_MARKED)
    made: list[str] = []
    escaped = False
    for character in text:
        if escaped:
            made.append("" if character == "\n" else character)
            escaped = False
        elif character == "\\":
            escaped = True
        else:
            made.append(_UNQUOTED.get(character, character))
    return "".join(made)


def double_quoted(text: str) -> str:
    """Literal text between double quotes: a backslash escapes only what is active there."""
    return re.sub(r"\\([$`\"\\\n])", lambda found: found.group(1).replace("\n", ""), text)


def ansi_c(text: str) -> str:
    r"""The inside of `$'…'`, or of `echo -e` and `printf`: `\x72` is `r`."""
    return _ESCAPE.sub(_unescape, text)


def _unescape(found: re.Match[str]) -> str:
    hexadecimal, octal, short, long, control, other = found.groups()
    code = hexadecimal or short or long
    if code is not None:
        number = int(code, 16)
        return chr(number) if number < 0xD800 or 0xE010 <= number < 0x110000 else "\ufffd"
    if octal is not None:
        return chr(int(octal, 8) & 0xFF)
    if control is not None:
        return chr(ord(control) & 0x1F)
    return _SIMPLE_ESCAPES.get(other, other if other in "\\'\"?" else "\\" + other)


def fields(word: str) -> list[str]:
    """Brace expansion, then splitting: the arguments one word becomes."""
    if word.isascii() and len(word) <= MAX_WORD:
        # No mark in it: nothing to expand, nothing to split.
        return [word] if word else []
    made: list[str] = []
    for braced in expand_braces(word if len(word) <= MAX_WORD else HOLE):
        for field in braced.split(SPLIT):
            # A word that came to nothing without quotes is no argument at all.
            if field:
                made.append(field.replace(QUOTED, ""))
            if len(made) >= MAX_FIELDS:
                return made
    return made


_COUNTS: Final = re.compile(r"\{(-?\d{1,30})\.\.(-?\d{1,30})|\{([^{}]*)")


def counts_far(text: str) -> bool:
    found = re.search(r"\{(-?\d{1,30})\.\.(-?\d{1,30})\}", text)
    return found is not None and abs(int(found[2]) - int(found[1])) > MAX_STARTED


def fills_memory(text: str) -> bool:
    """Whether the braces of a word make more words than a machine wants to hold."""
    made = 1
    for found in _COUNTS.finditer(text):
        first, last, choices = found.groups()
        made *= abs(int(last) - int(first)) + 1 if first is not None else choices.count(",") + 1
        if made > MAX_MADE:
            return True
    return False


def expand_braces(word: str) -> list[str]:
    """`{a,b}c` is `ac bc`; `{1..3}` is `1 2 3`. Only unquoted braces count."""
    results = [word]
    # Matching many braces is quadratic; no honest word holds that many.
    if not 0 < word.count(OPEN) <= MAX_BRACES:
        return results
    for _ in range(MAX_BRACES):
        expanded = [each for result in results for each in _expand_first(result)][:MAX_FIELDS]
        if expanded == results:
            break
        results = expanded
    return results


def _expand_first(word: str) -> list[str]:
    start = word.find(OPEN)
    while start != -1:
        end, commas = _matching(word, start)
        choices = _choices(word, start, end, commas) if end != -1 else []
        if choices:
            return [word[:start] + choice + word[end + 1 :] for choice in choices]
        start = word.find(OPEN, start + 1)
    return [word]


def _matching(word: str, start: int) -> tuple[int, list[int]]:
    depth = 0
    commas: list[int] = []
    for index in range(start, len(word)):
        character = word[index]
        if character == OPEN:
            depth += 1
        elif character == CLOSE:
            depth -= 1
            if depth == 0:
                return index, commas
        elif character == COMMA and depth == 1:
            commas.append(index)
    return -1, []


def _choices(word: str, start: int, end: int, commas: list[int]) -> list[str]:
    if commas:
        bounds = [start, *commas, end]
        return [word[left + 1 : right] for left, right in itertools.pairwise(bounds)]
    span = _SPAN.fullmatch(word[start + 1 : end])
    if span is None:
        return []
    first, last = span.groups()
    if first.lstrip("-").isdigit() and last.lstrip("-").isdigit():
        step = 1 if int(last) >= int(first) else -1
        return [str(number) for number in range(int(first), int(last) + step, step)][:MAX_FIELDS]
    if len(first) == 1 and len(last) == 1:
        step = 1 if last >= first else -1
        return [chr(code) for code in range(ord(first), ord(last) + step, step)]
    return []


def split_unquoted(value: str, separators: str = " \t\n") -> str:
    """What an unquoted expansion adds to its word: separators split it, glob characters are active."""
    for separator in set(separators):
        value = value.replace(separator, SPLIT)
    return value.replace("*", STAR).replace("?", QUESTION).replace("[", BRACKET)


def has_glob(field: str) -> bool:
    return STAR in field or QUESTION in field or BRACKET in field


def glob_pattern(field: str) -> re.Pattern[str]:
    """A pattern for the names the field can match; used on short names only."""
    made: list[str] = []
    index = 0
    while index < len(field):
        character = field[index]
        if character in (STAR, HOLE):
            if not made or made[-1] != "[^/]*":
                made.append("[^/]*")
        elif character == QUESTION:
            made.append("[^/]")
        elif character == BRACKET:
            end = field.find("]", index + 2)
            made.append(_bracket(field, index, end))
            index = end if end != -1 else index
        else:
            made.append(re.escape(character))
        index += 1
    return re.compile("".join(made))


def _bracket(field: str, index: int, end: int) -> str:
    if end == -1:
        return re.escape("[")
    inside = plain(field[index + 1 : end])
    members = "".join(re.escape(character) for character in inside.lstrip("!^") if character != "-")
    span = re.fullmatch(r"[!^]?([A-Za-z0-9])-([A-Za-z0-9])", inside)
    if span and span.group(1) <= span.group(2):
        members = f"{span.group(1)}-{span.group(2)}"
    return ("[^" if inside[:1] in ("!", "^") else "[") + (members or "a") + "]"
