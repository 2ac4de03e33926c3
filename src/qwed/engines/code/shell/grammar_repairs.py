"""Valid shell text that the grammar can't read, written so that it can: same commands, same words.

Only texts that did not parse come here. Quoted text, comments and quoted here-documents stay as they are.
"""

import re
from typing import Final

MAX_MENDED: Final = 32_768
_HEREDOC: Final = re.compile(r"<<(-?)[ \t]*((?:'[^'\n]*'|\"[^\"\n]*\"|\\.|[^\s'\"\\;&|<>()])+)")
_WORD: Final = re.compile(r"[\w./:%,+@~^-]+")
_COMMAND_WORDS: Final = frozenset({"then", "do", "else", "elif", "if", "while", "until", "!", "time"})
_COMMAND_SIGNS: Final = frozenset(";|&({\n`")
_GLOB_SIGNS: Final = frozenset("!@+*?")
_ENDS: Final = {"(": ")", "{": "}"}
# A command that only sets variables, and then a redirection.
_ASSIGNED: Final = re.compile(
    r"((?:^|[;&|(\n]|\b(?:then|do|else)\b)[ \t]*"
    r"(?:\w+\+?=(?:'[^'\n]*'|\"[^\"\n]*\"|[^\s;|&<>'\"()])*[ \t]+)+)"
    r"(?=\d?[<>](?![(<]))"
)
# `for x` alone walks the arguments; the grammar wants them said.
_FOR_ARGUMENTS: Final = re.compile(r"\bfor[ \t]+(\w+)(?:[ \t]*[;\n]\s*|[ \t]+)do\b")
# `{rm,-rf,x}` as a command is three words; the grammar takes the brace for a block.
_LEADING_BRACES: Final = re.compile(r"(^|[;&|(\n`])([ \t]*)\{([^\s{};|&()]*,[^\s{};|&()]*)\}")
_LONE_DOLLAR: Final = re.compile(r"(?<!\\)\$(?![\w{(@*#?$!'\"-])")


def mend(text: str) -> str:
    if len(text) > MAX_MENDED:
        return text
    text = _LEADING_BRACES.sub(lambda found: found[1] + found[2] + found[3].replace(",", " "), text)
    text = _FOR_ARGUMENTS.sub(r'for \1 in "$@"; do', text)
    return _Mender(_ASSIGNED.sub(r"\1; : ", text)).mend()


class _Mender:
    """Goes through a text once, copying what is quoted."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._made: list[str] = []
        # Here-documents whose bodies begin on the next line: what ends each, is it quoted, is it indented.
        self._waiting: list[tuple[str, bool, bool]] = []
        # What follows `<<EOF;` on its line runs after the document.
        self._later = ""

    def mend(self) -> str:
        text = self._text
        while self._at < len(text):
            sign = text[self._at]
            if sign == "\n" and self._waiting:
                self._copy_bodies()
            elif sign == "#" and (self._at == 0 or text[self._at - 1] in " \t\n;"):
                self._copy_to(text.find("\n", self._at))
            elif sign in "\\'\"":
                self._copy_to(end_of_quote(text, self._at))
            elif text.startswith("<<<", self._at):
                self._copy_to(self._at + 3)
            elif (found := _HEREDOC.match(text, self._at)) is not None:
                self._begin_document(found)
            else:
                self._mend_sign(sign)
        return "".join(self._made)

    def _copy_to(self, end: int) -> None:
        stop = len(self._text) if end < 0 else min(end, len(self._text))
        self._made.append(self._text[self._at : max(stop, self._at + 1)])
        self._at = max(stop, self._at + 1)

    def _put(self, made: str, length: int) -> None:
        self._made.append(made)
        self._at += length

    def _mend_sign(self, sign: str) -> None:
        text, at = self._text, self._at
        if text.startswith("$'", at):
            self._copy_to(end_of_quote(text, at + 1))
        elif text.startswith("<>", at):
            self._put(">>", 2)
        elif text.startswith("$((", at) and not _is_arithmetic(text, at):
            self._put("$( (", 3)
        elif sign in _GLOB_SIGNS and text.startswith("(", at + 1) and not self._is_command(sign):
            self._put("*", end_of_brackets(text, at + 1) - at)
        elif sign == "&" and self._waiting and re.match(r"&[ \t]*\n", text[at : at + 80]):
            self._put("", 1)
        elif sign == ";" and self._waiting and not text.startswith(";;", at):
            end = text.find("\n", at)
            self._later = text[at + 1 : end if end >= 0 else len(text)]
            self._put("", len(self._later) + 1)
        else:
            self._copy_to(at + 1)

    def _is_command(self, sign: str) -> bool:
        """Whether a command begins here, so that `!(` denies a subshell."""
        before = self._text[max(self._at - 200, 0) : self._at]
        if sign != "!" or (before and before[-1] not in " \t" and before[-1] not in _COMMAND_SIGNS):
            return False
        before = before.rstrip(" \t")
        last = re.search(r"\S+$", before)
        return not before or before[-1] in _COMMAND_SIGNS or (last is not None and last[0] in _COMMAND_WORDS)

    def _begin_document(self, found: re.Match[str]) -> None:
        word = found[2]
        ending = re.sub(r"\\(.)", r"\1", word).replace("'", "").replace('"', "")
        is_quoted = word != ending
        self._waiting.append((ending, is_quoted, found[1] == "-"))
        if self._made and self._made[-1] == "0":
            self._made.pop()
        self._put(f"<<{found[1]}'{ending}'" if is_quoted else found[0], len(found[0]))

    def _copy_bodies(self) -> None:
        self._copy_to(self._at + 1)
        for ending, is_quoted, is_indented in self._waiting:
            self._copy_body(ending, is_quoted=is_quoted, is_indented=is_indented)
        self._waiting = []
        if self._later:
            self._made.append(f"\n{self._later}")
            self._later = ""

    def _copy_body(self, ending: str, *, is_quoted: bool, is_indented: bool) -> None:
        while self._at < len(self._text):
            end = self._text.find("\n", self._at)
            stop = len(self._text) if end < 0 else end
            line = self._text[self._at : stop]
            mended = line if is_quoted else _LONE_DOLLAR.sub(r"\\$", line)
            self._put(mended, stop - self._at)
            if (line.lstrip("\t") if is_indented else line) == ending:
                return
            if end >= 0:
                self._put("\n", 1)


def end_of_quote(text: str, at: int) -> int:
    """Behind the quoted text that begins here, or behind the escaped sign."""
    sign = text[at]
    if sign == "\\":
        return at + 2
    if sign == "'":
        end = text.find("'", at + 1)
        if at and text[at - 1] == "$":
            while end > 0 and _is_escaped(text, end):
                end = text.find("'", end + 1)
        return len(text) + 1 if end < 0 else end + 1
    position = at + 1
    while position < len(text) and text[position] != '"':
        if text[position] == "\\":
            position += 2
        elif text.startswith(("$(", "${"), position):
            position = end_of_brackets(text, position + 1)
        else:
            position += 1
    return position + 1


def _is_escaped(text: str, at: int) -> bool:
    before = at
    while before and text[before - 1] == "\\":
        before -= 1
    return (at - before) % 2 == 1


def end_of_brackets(text: str, at: int) -> int:
    """Behind the bracket that closes the one here; quoted brackets don't count."""
    waiting = [_ENDS[text[at]]]
    position = at + 1
    while position < len(text) and waiting:
        sign = text[position]
        if sign in "\\'" or (sign == '"' and len(waiting) < 40):
            position = end_of_quote(text, position)
            continue
        if sign == waiting[-1]:
            waiting.pop()
        elif sign == "(" or text.startswith("${", position - 1):
            waiting.append(_ENDS.get(sign, ")"))
        position += 1
    return position


def _is_arithmetic(text: str, at: int) -> bool:
    """`$((a) | b)` is a substitution: its two closing brackets don't stand together."""
    inner = end_of_brackets(text, at + 2)
    return text.startswith(")", inner)


_BROKEN_LINE: Final = re.compile(
    r"(?:^|\n)[ \t]*(?:\||&&|;|\)|&)|(?:\|\||&&|\|)[ \t]*(?:$|[|;)]|&&)|;[ \t]*(?:\||&&)|&[ \t]*(?:\||;)"
)
_OPENS: Final = {"if": "fi", "case": "esac", "do": "done"}


def is_surely_broken(text: str) -> bool:
    """Whether no shell reads a text that our grammar does not: quotes, brackets or keywords without their
    other half, or a list that lacks a command."""
    plain = _without_quotes(text)
    if plain is None or _BROKEN_LINE.search(plain):
        return True
    if plain.count("(") != plain.count(")") and "case" not in plain:
        return True
    words = re.findall(r"(?:^|[\s;|&(])(if|fi|case|esac|do|done)(?=$|[\s;|&)<>])", plain)
    return any(words.count(opening) != words.count(closing) for opening, closing in _OPENS.items())


def _without_quotes(text: str) -> str | None:
    """The text without what is quoted; None where a quotation does not end."""
    if len(text) > MAX_MENDED:
        return None
    kept: list[str] = []
    at = 0
    while at < len(text):
        if text[at] in "\\'\"":
            at = end_of_quote(text, at)
            if at > len(text):
                return None
            kept.append("x")
            continue
        kept.append(text[at])
        at += 1
    return "".join(kept)
