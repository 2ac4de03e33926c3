"""Loops that never end."""

import ast
from typing import Any, Final

# A loop that waits for something is a server; one that does not is a bomb.
_WAITING: Final = frozenset(
    [
        *("accept", "acquire", "get", "get_message", "input", "join", "next", "poll", "read", "readline"),
        *("recv", "recvfrom", "result", "select", "sleep", "wait"),
    ]
)


def is_bare(node: ast.While) -> bool:
    """`while True:` that neither ends nor waits."""
    if not (isinstance(node.test, ast.Constant) and node.test.value):
        return False
    for each in ast.walk(node):
        if isinstance(each, (ast.Break, ast.Return, ast.Raise, ast.Await, ast.Yield)):
            return False
        if isinstance(each, ast.Call) and _name_of_call(each) in _WAITING:
            return False
    return True


def _name_of_call(node: ast.Call) -> str:
    function: Any = node.func
    return getattr(function, "attr", getattr(function, "id", ""))
