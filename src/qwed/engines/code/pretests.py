"""Tests of letters that spare a reading: each can only say that it has no effect and is not at home."""

import functools
import importlib
import json
import re
from collections.abc import Callable
from typing import Final, cast

from qwed.engines.code import places

# What a shell reads on over: words, quoted words without expansions, comments, separators.
_BORING: Final = re.compile(
    r"""(?:
        [\s;&|] | (?<![^\s;&|])\#[^\n]* | '[^']*' | "[^"\\$`]*" | \\. | \$[A-Za-z_]\w*(?!\()
      | <(?![<(]) | >(?!\() | \[(?!\[) | (?:[\w.,:/@%+=!~^*?\]{}-])++(?!\()
    )*+""",
    re.VERBOSE | re.DOTALL,
)
# `name(x`: no shell reads on after it. `name()` may begin a function, `if(` a subshell.
_CALL: Final = re.compile(r"[\w.,:/@%+=!~^*?\]{}-]*?(?<![$@?*+!=<>{}\w])([A-Za-z_][\w.]*)\((?![ \t]*\))")
_RESERVED: Final = frozenset(
    [
        *("if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "in"),
        *("time", "function", "select", "coproc"),
    ]
)
_PLAIN_LINE: Final = re.compile(r"""[ \t]*([A-Za-z_]\w*|[-+]?\d[\d.+*/%-]*)(?:[ \t]+[\w.,:/@%+=^"' -]*)?""")

_BETWEEN: Final = re.compile(r"[\s'\"=,@]+")

# `word (x`, with the parenthesis where an argument would stand.
_OPENED: Final = re.compile(r"\((?![ \t]*\))")
_IN_THE_MIDDLE: Final = re.compile(r"(?:.*[\s;&|])?([\w.,:/%+=\]*'\"-]+)[ \t]+", re.DOTALL)

# Two names side by side, at the beginning of a text: no JavaScript begins so, nor with `if x` or `for x`.
_TWO_NAMES: Final = re.compile(
    r"""\s*([A-Za-z_]\w*)((?:[ \t]+-{1,2}[A-Za-z][\w-]*)*)[ \t]+(?:([A-Za-z_$][\w$]*)|["'\d])"""
)
_WITHOUT_PARENTHESES: Final = re.compile(r"\s*(?:if|while|for|switch)[ \t]+(?!\(|await\b)[\w\[!\"'$/.-]")
_JAVASCRIPT_WORDS: Final = frozenset(
    """
    abstract as async await case class const debugger default delete do else enum export extends finally for
    from function get if import in instanceof interface let namespace new of package private protected public
    return set static super switch throw try type typeof using var void while with yield accessor declare
    """.split()  # noqa: SIM905 - a table reads better as one
)
_SPANS_LINES: Final = re.compile(r"`|/\*|\\\n|<[A-Za-z>]|\bfrom[ \t]*['\"]")
_PYTHON_LINE: Final = re.compile(
    r"^[ \t]*(?:def \w+\(|from [\w.]+ import |elif \w|except \w|import \w+(?:\.\w+)*[ \t]*(?:$|as ))", re.M
)


def find_runnable(text: str) -> str | None:
    """The lines that a shell runs before the first that it can't read; None where that is the whole text."""
    stopped = _BORING.match(text)
    position = stopped.end() if stopped is not None else 0
    begins = text.rfind("\n", 0, position) + 1
    call = _CALL.match(text, position)
    if call is not None:
        return None if call[1] in _RESERVED else text[:begins]
    middle = _IN_THE_MIDDLE.fullmatch(text, begins, position) if _OPENED.match(text, position) else None
    is_error = middle is not None and not _RESERVED & set(text[begins:position].split())
    return text[:begins] if is_error else None


_COMMAND_LINE: Final = re.compile(r"""[ \t]*["'\\]?[\w./]{1,80}["']?[ \t]+(?:-{1,2}\w|/|~)""")
# One that is not closed goes to the end, so that no text is searched twice.
_MANY_LINES: Final = re.compile(
    r"\"{3}.*?(?:\"{3}|\Z)|'{3}.*?(?:'{3}|\Z)|`[^`]*(?:`|\Z)|/\*.*?(?:\*/|\Z)", re.DOTALL
)


def find_command_lines(text: str) -> str:
    """Lines that look like commands, outside of texts of several lines. A shell that is typed into reads on
    after a line that it can't read."""
    lines = _MANY_LINES.sub("''", text).split("\n")
    return "".join(f"{line}\n" for line in lines if _COMMAND_LINE.match(line))


def is_no_command(text: str) -> bool:
    """Whether every line is, to a shell, a command that no table knows with plain arguments."""
    for line in text.split("\n"):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _PLAIN_LINE.fullmatch(line)
        if found is None or line.count("'") % 2 or line.count('"') % 2:
            return False
        if found[1] in _RESERVED or _is_known()(found[1]) or _names_secret(line):
            return False
    return True


def _names_secret(line: str) -> bool:
    """A file of credentials in the hands of any command is harm."""
    return any(places.is_sensitive(word) for word in _BETWEEN.split(line) if not word.isalnum())


def is_no_javascript(text: str) -> bool:
    """Whether the text can't be parsed as JavaScript, by two names side by side or a line of Python."""
    names = _TWO_NAMES.match(text)
    if names is not None:
        between = names[2].replace("-", " ").split()
        if not {names[1], names[3], *between} & _JAVASCRIPT_WORDS:
            return True
    if _WITHOUT_PARENTHESES.match(text) or re.match(r"\s*#(?!!)\s", text):
        return True
    return _PYTHON_LINE.search(text) is not None and _SPANS_LINES.search(text) is None


# Two names side by side, of which the first is no keyword of Python: no program of Python begins so.
_NO_PYTHON: Final = re.compile(
    r"\s*(?:(?:const|let|var|function|export|throw|do|new|typeof|void)[ \t]+[A-Za-z_${\"'\d]|//|/\*)"
)


def is_no_python(text: str) -> bool:
    """Whether the text can't be parsed as Python, by its first words or a comment of JavaScript."""
    return _NO_PYTHON.match(text) is not None


def is_plain_data(text: str) -> bool:
    """Whether the text is JSON in which no shell expands anything: its commands would be `[`, `{` and single
    quoted words."""
    if text.lstrip()[:1] not in ("[", "{") or "$" in text or "`" in text:
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def sets_nothing(text: str) -> bool:
    """Whether the text, as Python or JavaScript, calls, imports, makes and sets nothing at all."""
    return not any(sign in text for sign in ("(", "import", "@", "=", "[", "`", "new", "{"))


@functools.cache
def _is_known() -> Callable[[str], bool]:
    # Loaded on first use, like the inspectors: their tables take a while to build.
    module = importlib.import_module("qwed.engines.code.shell.commands")
    return cast(Callable[[str], bool], module.is_known)
