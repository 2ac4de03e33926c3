"""Parsing by tree-sitter, in growing pieces: its recovery from errors takes quadratic time on garbage."""

import time
from typing import Any, Final

_PIECES: Final = (1_024, 4_096, 16_384)
_MAX_SECONDS: Final = 0.05


class TooSlow(Exception):
    """The text is such garbage that parsing all of it would take seconds."""


def parse_all(parser: Any, source: bytes) -> Any:
    """The tree of the whole text. Honest text takes a few milliseconds, and so do its beginnings."""
    for size in _PIECES:
        if size >= len(source):
            break
        started = time.thread_time()
        parser.parse(source[:size])
        if time.thread_time() - started > _MAX_SECONDS:
            raise TooSlow
    return parser.parse(source)


def error_in(root: Any) -> str:
    """Where a tree with errors first stops making sense."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type == "ERROR" or node.is_missing:
            return f"line {node.start_point[0] + 1}: unexpected text"
        waiting.extend(child for child in reversed(node.children) if child.has_error or child.is_missing)
    return "line 1: unexpected text"
