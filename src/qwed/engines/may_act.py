"""A lexical test that spares most texts a parser: can any reading of this text have an effect?

It may only say no where no reading can. Without one of the signs below, a text calls nothing, assigns
nothing and expands nothing in any of the languages; what is left are statements and commands, and these
begin with a word from the tables.
"""

import functools
import importlib
import re
from typing import Final

from qwed.engines.windows import may_be_windows
from qwed.engines.words import words

_SIGNS: Final = re.compile(r"[`$(){}\[\]\\=<>|*~^]")
_PIECES: Final = re.compile(r"[;&\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+|:\s")
_QUOTES: Final = str.maketrans("", "", "'\"")
_LEADING_LETTERS: Final = re.compile(r"[A-Za-z_]+")
# Words after which a command or a statement may follow, and those that run something without a sign.
_KEYWORDS: Final = words(
    """
    if then else elif fi do done while until for case esac in select function time coproc ! - .
    import from new delete del throw raise with async await yield
    """
)
_READING_STATEMENTS: Final = words("select with values table explain describe show")


# An address, which a shell reads as a program that nobody knows and assignments, and JavaScript as a comment.
_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.]{1,20}://[\w.,:@%+/?#~!=&-]*")
_PARTS: Final = re.compile(r"[?&#]+")


def may_act(text: str) -> bool:
    if _SIGNS.search(text):
        return _ADDRESS.fullmatch(text) is None or any(_is_known_word(part) for part in _PARTS.split(text))
    return any(map(_begins_with_a_command, _PIECES.split(text.translate(_QUOTES))))


def _begins_with_a_command(piece: str) -> bool:
    parts = piece.split(None, 1)
    if not parts:
        return False
    word = parts[0]
    # A path runs whatever stands there, and a pattern whatever it matches.
    if "?" in word or ("/" in word and len(parts) > 1):
        return True
    return _is_known_word(word) or may_be_windows(word)


def _is_known_word(word: str) -> bool:
    """Whether a statement or a known command begins with it; `b=2` is an assignment."""
    name = word.rpartition("/")[2].lstrip("!")
    if word in _first_words() or name in _first_words() or name.lower() in _statement_words():
        return True
    letters = _LEADING_LETTERS.match(name)
    if letters is None or name[letters.end() :][:1] == "=":
        return False
    return letters.group() in _first_words() or letters.group().lower() in _statement_words()


@functools.cache
def _statement_words() -> frozenset[str]:
    words_of_statements: frozenset[str] = importlib.import_module("qwed.engines.sql.completeness").FIRST_WORDS
    return words_of_statements | _READING_STATEMENTS


@functools.cache
def _first_words() -> frozenset[str]:
    shell = "qwed.engines.code.shell"
    rules: frozenset[str] = frozenset(importlib.import_module(f"{shell}.commands").COMMANDS)
    programs = importlib.import_module(f"{shell}.programs")
    known: frozenset[str] = programs.BUILT_IN | programs.PROGRAMS.keys()
    return _KEYWORDS | rules | known
