"""Python of a newer grammar than the interpreter's own, rewritten into one that every version parses.

What is rewritten means the same to an inspection: `type X = int` is an assignment, type parameters are left
out, an f-string that nests its own quotes is a sum of its parts. Lines keep their numbers. Whether the rest
is valid is still for Python's own parser to say.
"""

import functools
import re
from typing import Any, Final

import msgspec

from qwed.engines.code.syntax_trees import TooSlow, parse_all

# Texts without any of these hold nothing that is rewritten; most texts are no Python at all.
_MAYBE_NEWER: Final = re.compile(
    r"\btype[ \t]+\w+|\b(?:def|class)[ \t]+\w+[ \t]*\[|\bexcept\b[^\n:]*,|\b[rR]?[fFtT][rR]?['\"]"
)
_DEFINITIONS: Final = frozenset({"function_definition", "class_definition"})
_MAX_DEPTH: Final = 200


class Rewritten(msgspec.Struct, frozen=True):
    """`is_whole`: nothing that may run was left out."""

    text: str
    is_whole: bool


def rewrite(text: str) -> Rewritten | None:
    """The same program in the oldest grammar that is supported; None where nothing needs it."""
    if not _MAYBE_NEWER.search(text):
        return None
    source = text.encode("utf-8", "surrogatepass")
    try:
        tree = parse_all(_parser(), source)
        rewriter = _Rewriter(source)
        made = rewriter.rewrite(tree.root_node)
    except (TooSlow, RecursionError):
        return None
    return None if made == source else Rewritten(made.decode("utf-8", "surrogatepass"), rewriter.is_whole)


class _Rewriter:
    def __init__(self, source: bytes) -> None:
        self._source = source
        self._depth = 0
        self.is_whole = True

    def rewrite(self, node: Any) -> bytes:
        """The text of a node, with everything newer in it replaced."""
        handler = _HANDLERS.get(node.type)
        made = handler(self, node) if handler is not None else None
        return made if made is not None else self._with_children(node)

    def _with_children(self, node: Any) -> bytes:
        if not node.children:
            return self._text(node)
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise RecursionError
        made = []
        position = node.start_byte
        for child in node.children:
            made.append(self._source[position : child.start_byte])
            made.append(self.rewrite(child))
            position = child.end_byte
        made.append(self._source[position : node.end_byte])
        self._depth -= 1
        return b"".join(made)

    def _text(self, node: Any) -> bytes:
        return self._source[node.start_byte : node.end_byte]

    def parameters(self, node: Any) -> bytes | None:
        """`def f[T](x)`: what a type parameter says is nothing that runs."""
        if node.parent is None or node.parent.type not in _DEFINITIONS:
            return None
        text = self._text(node)
        # A bound or a default is evaluated once somebody asks for it.
        self.is_whole &= not (b"(" in text or b"." in text or b"=" in text)
        return b"\\\n" * text.count(b"\n")

    def alias(self, node: Any) -> bytes | None:
        """`type X[T] = int`: an assignment."""
        sign = next((child for child in node.children if child.type == "="), None)
        name = node.children[1] if len(node.children) > 1 else None
        if sign is None or name is None:
            return None
        value = b"".join(self.rewrite(child) for child in node.children if child.start_byte >= sign.end_byte)
        title = self._text(name).partition(b"[")[0].strip()
        return title + b" = (" + value + b")"

    def handler(self, node: Any) -> bytes | None:
        """`except A, B:`: a tuple without its brackets."""
        named = [child for child in node.named_children if child.type not in ("block", "comment")]
        body = next((child for child in node.named_children if child.type == "block"), None)
        if len(named) < 2 or body is None or any(child.type == "as_pattern" for child in named):
            return None
        before = self._source[node.start_byte : named[0].start_byte]
        between = self._source[named[-1].end_byte : body.start_byte]
        if b" as " in between:
            return None
        names = self._source[named[0].start_byte : named[-1].end_byte]
        return before + b"(" + names + b")" + between + self.rewrite(body)

    def string(self, node: Any) -> bytes | None:
        """An f-string that nests its own quotes, a backslash or a comment: the sum of its parts."""
        parts = self._parts(node)
        if parts is None or (node.parent is not None and node.parent.type == "concatenated_string"):
            return None
        return b"(" + b" + ".join(parts) + b")"

    def strings(self, node: Any) -> bytes | None:
        """Strings side by side, one of which is rewritten."""
        each = [(child, self._parts(child)) for child in node.named_children if child.type == "string"]
        if all(parts is None for _, parts in each):
            return None
        lines = self._text(node).count(b"\n")
        joined = b" + ".join(
            self._text(child) if parts is None else b" + ".join(parts) for child, parts in each
        )
        return b"(" + joined + b"\n" * max(lines - joined.count(b"\n"), 0) + b")"

    def _parts(self, node: Any) -> list[bytes] | None:
        start = node.children[0]
        opening = self._text(start)
        quote = opening.lstrip(b"fFtTrRbBuU")
        prefix = opening[: len(opening) - len(quote)].lower()
        holes = [child for child in node.children if child.type == "interpolation"]
        is_template = b"t" in prefix
        if not is_template and not any(_needs_rewriting(self._text(hole), quote) for hole in holes):
            return None
        self.is_whole &= not is_template
        plain = (b"r" if b"r" in prefix else b"") + quote
        parts = [plain + quote] if not is_template else []
        position = start.end_byte
        for child in [*holes, node.children[-1]]:
            literal = self._source[position : child.start_byte]
            if literal:
                parts.append(plain + literal.replace(b"{{", b"{").replace(b"}}", b"}") + quote)
            if child.type == "interpolation":
                parts.extend(self._values(child))
            position = child.end_byte
        return [b"(" + b", ".join(parts) + b",)"] if is_template and parts else parts or [plain + quote]

    def _values(self, hole: Any) -> list[bytes]:
        """The expression of `{x:>{width}}`, and those in its format."""
        made: list[bytes] = []
        for child in hole.named_children:
            if child.type == "format_specifier":
                made.extend(value for inner in child.named_children for value in self._values(inner))
            elif child.type not in ("type_conversion", "comment"):
                made.append(b"str((" + self.rewrite(child) + b"))")
        lines = self._text(hole).count(b"\n") - sum(value.count(b"\n") for value in made)
        return [*made[:-1], made[-1][:-1] + b"\n" * max(lines, 0) + b")"] if made else []


def _needs_rewriting(hole: bytes, quote: bytes) -> bool:
    has_new_line = b"\n" in hole and len(quote) == 1
    return has_new_line or quote[:1] in hole or b"\\" in hole or b"#" in hole


_HANDLERS: Final = {
    "type_parameter": _Rewriter.parameters,
    "type_alias_statement": _Rewriter.alias,
    "except_clause": _Rewriter.handler,
    "string": _Rewriter.string,
    "concatenated_string": _Rewriter.strings,
}


@functools.cache
def _parser() -> Any:
    # Loaded on first use: most texts parse as they are, or are no Python.
    import tree_sitter  # noqa: PLC0415
    import tree_sitter_python  # noqa: PLC0415

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_python.language()))
