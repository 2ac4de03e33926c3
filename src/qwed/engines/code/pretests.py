"""Tests of letters that spare a reading: each can only say that it has no effect and is not at home."""

import functools
import importlib
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

# Two names side by side, at the beginning of a text: no JavaScript begins so.
_TWO_NAMES: Final = re.compile(r"\s*([A-Za-z_]\w*)[ \t]+([A-Za-z_]\w*)")
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
    call = _CALL.match(text, position)
    if call is None or call[1] in _RESERVED:
        return None
    return text[: text.rfind("\n", 0, position) + 1]


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
    if names is not None and not {names[1], names[2]} & _JAVASCRIPT_WORDS:
        return True
    if re.match(r"\s*#(?!!)\s", text):
        return True
    return _PYTHON_LINE.search(text) is not None and _SPANS_LINES.search(text) is None


@functools.cache
def _is_known() -> Callable[[str], bool]:
    # Loaded on first use, like the inspectors: their tables take a while to build.
    module = importlib.import_module("qwed.engines.code.shell.commands")
    return cast(Callable[[str], bool], module.is_known)
