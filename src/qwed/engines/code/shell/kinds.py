"""What a text can be taken for when a shell evaluates it again, and which variables are a text's own."""

import enum
import re
from typing import Final

MAX_SIZE: Final = 64 * 1024


class TextKind(enum.IntEnum):
    """What a text can be taken for, from the least to the most."""

    NUMBER = 0
    #: One word without a sign, an operator or a pattern.
    PLAIN = 1
    #: Several of them.
    WORDS = 2
    ANY = 3


class NotHarmless(Exception):
    """The first construct that is on no list."""


Value = tuple[TextKind, int]

NUMBER: Final = re.compile(r"-?\d{1,9}")
_PLAIN: Final = re.compile(r"(?:[\w./:,%+@][\w./:,%+@-]*)?", re.ASCII)
_WORDS: Final = re.compile(r"(?:[\w./:,%+@!'][\w./:,%+@!' -]*)?", re.ASCII)
_VARIABLE: Final = re.compile(r"[a-z][a-z0-9_]{0,60}|[A-Z][A-Z0-9_]{0,60}")
# Names that a shell or the programs it starts give a meaning of their own.
_SPECIAL: Final = re.compile(
    r"""
    (?:BASH|ZSH|KSH|LD|DYLD|LC|HIST|PROMPT|COMP|READLINE|OPT|GLOB|MAIL|FUNC|TRAP|SHELL|TZ|MALLOC|GIT|PERL
      |PYTHON|RUBY|NODE|NPM|JAVA|JDK|GCONV|LANG|POSIX|TERM|LESS|MAN|SSH|SUDO|GLIBC|LIBC|NLS|RES|LOCPATH
      |DIRSTACK|CHILD|COPROC|EPOCH|MAPFILE|PIPE|RANDOM|REPLY|SECONDS|SRANDOM|KEY|WATCH|WORD|DISPLAY|XDG
      |FIGNORE|FCEDIT|CDPATH)\w*
    | PS\d? | \w*PATH | ENV | IFS | HOME | PWD | OLDPWD | USER | LOGNAME | UID | EUID | PPID | GROUPS |
    COLUMNS | LINES | LINENO | TMPDIR | TMOUT | EDITOR | VISUAL | PAGER | BROWSER | EXECIGNORE | IGNOREEOF |
    INPUTRC | EMACS | INSIDE_EMACS | AUTO_RESUME | HOSTFILE | HOSTNAME | HOSTTYPE | MACHTYPE | OSTYPE |
    TIMEFORMAT | VERBOSE | NULLCMD | READNULLCMD | SAVEHIST | STTY | ZDOTDIR | ZLS_COLORS | RPS\d? | SPROMPT
    | ERRNO | path | fpath | cdpath | manpath | mailpath | module_path | argv | status | prompt\d? | psvar |
    histchars | precmd | preexec | chpwd | periodic | watch | fignore | signals | pipestatus | aliases |
    functions | commands | options | parameters | history | builtins | modules | dirstack | keymap | term |
    home | shell | cwd | user
    """,
    re.VERBOSE,
)


def may_be_set(name: str) -> bool:
    """A variable that means something to the text alone."""
    return _VARIABLE.fullmatch(name) is not None and _SPECIAL.fullmatch(name) is None


def kind_of(text: str) -> TextKind:
    if NUMBER.fullmatch(text):
        return TextKind.NUMBER
    if _PLAIN.fullmatch(text):
        return TextKind.PLAIN
    return TextKind.WORDS if _WORDS.fullmatch(text) else TextKind.ANY


def join(parts: list[Value]) -> Value:
    if len(parts) == 1:
        return parts[0]
    kind = max((TextKind.PLAIN, *(kind for kind, _ in parts)))
    size = sum(size for _, size in parts)
    if size > MAX_SIZE:
        raise NotHarmless(f"has a text of more than {MAX_SIZE} characters")
    return kind, size


_BRACES: Final = re.compile(r"[\w.-]*\{[\w.,-]{1,200}\}[\w.-]*", re.ASCII)
_SPAN: Final = re.compile(r"\{(-?\d{1,5})\.\.(-?\d{1,5})\}")
_PATTERN: Final = re.compile(r"[\w.,:@%+/ |?*\"'-]{1,200}", re.ASCII)
_MAX_STARS: Final = 3


def expand_braces(text: str) -> tuple[TextKind, int, int] | None:
    """`{1..9}` and `{a,b}`: kind and size of each word, and how many; None for any other text."""
    span = _SPAN.fullmatch(text)
    if span is not None:
        return TextKind.NUMBER, 6, abs(int(span[2]) - int(span[1])) + 1
    if "{" in text and _BRACES.fullmatch(text) and ".." not in text:
        return TextKind.ANY, len(text), text.count(",") + 1
    return None


def is_plain_pattern(text: str) -> bool:
    """Many stars take a shell a long time to match."""
    return _PATTERN.fullmatch(text) is not None and text.count("*") <= _MAX_STARS
