"""Shell text as a tree, with help where the grammar and the shell read differently."""

import functools
import re
from typing import Any, Final

from qwed.engines.code.shell.grammar_repairs import mend
from qwed.engines.code.syntax_trees import parse_all

# The grammar loses the second of two bare expansions in one word, unless they wear braces.
_BARE_TWICE: Final = re.compile(r"\$\w[^\s;|&'\"]{0,400}\$[\w@*]")
# A line that begins with a backslash and a letter is taken for the end of the line before.
_ESCAPED_START: Final = re.compile(r"(\n[ \t]*)\\(?=[A-Za-z0-9_./~-])")
_BARE: Final = re.compile(r"'[^']*'|\\.|\$([A-Za-z_]\w*|[0-9@*])", re.S)


def _with_braces(found: re.Match[str]) -> str:
    return "${" + found[1] + "}" if found[1] else found[0]


def parsed(text: str) -> tuple[bytes, Any]:
    """The source that was parsed, and its tree."""
    text = _ESCAPED_START.sub(r"\1", text)
    if _BARE_TWICE.search(text):
        text = _BARE.sub(_with_braces, text)
    source = text.encode("utf-8", "replace")
    tree = _parse(source)
    if not tree.root_node.has_error:
        return source, tree
    mended = mend(text)
    if mended == text:
        return source, tree
    source = mended.encode("utf-8", "replace")
    return source, _parse(source)


def _parse(source: bytes) -> Any:
    """The grammar's scanner reads outside its tables on letters beyond ASCII, and the process dies. To the
    shell every such letter is a plain one, so it is given plain ones, byte for byte."""
    return parse_all(_parser(), source if source.isascii() else source.translate(_PLAIN_LETTERS))


_PLAIN_LETTERS: Final = bytes(range(128)) + b"x" * 128


_SPACE: Final = re.compile(rb"\\?\n|[ \t]")


def is_test(node: Any, source: bytes) -> bool:
    """Whether what the grammar takes for a test is one: `[abc]` is a pattern, and runs what it matches."""
    opening = node.children[0]
    is_bracket = opening.type in ("[", "[[")
    return not is_bracket or _SPACE.match(source, opening.end_byte) is not None


def function_names(source: bytes, root: Any) -> set[str]:
    """A function may be called above the place that defines it."""
    if b"()" not in source and b"function" not in source:
        return set()
    names: set[str] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type == "function_definition" and (name := node.child_by_field_name("name")) is not None:
            names.add(source[name.start_byte : name.end_byte].decode("utf-8", "replace"))
        waiting.extend(node.named_children)
    return names


@functools.cache
def _parser() -> Any:
    # Loaded on first use: most processes never look at shell text.
    import tree_sitter  # noqa: PLC0415
    import tree_sitter_bash  # noqa: PLC0415

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
