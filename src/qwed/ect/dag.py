"""The graph that tokens form by naming their predecessors: what may join it, and how it is walked.

An ancestor is any token reached through `par`. Walks are bounded, and what lies beyond the bound is
never assumed to be in order.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from qwed.ect.tokens import Level

MAX_ANCESTORS: Final = 10_000
CLOCK_SKEW_SECONDS: Final = 30


class TokenNode(msgspec.Struct, frozen=True, gc=False):
    """What the graph needs to know of an accepted token."""

    jti: str
    iat: int
    par: tuple[str, ...]
    wid: str | None = None
    level: Level = Level.L2


Find = Callable[[str], TokenNode | None]


class Ancestors(msgspec.Struct, frozen=True):
    """Those found, parents before children where `is_acyclic`; those named and not found; and whether
    the bound stopped the walk (then neither list is complete)."""

    nodes: tuple[TokenNode, ...]
    missing: tuple[str, ...]
    is_acyclic: bool
    is_bounded: bool

    @property
    def is_complete(self) -> bool:
        return self.is_acyclic and not self.missing and not self.is_bounded


class BrokenDag(ValueError):
    """The token does not fit the graph; `rule` names what it breaks."""

    def __init__(self, rule: str, says: str) -> None:
        super().__init__(says)
        self.rule = rule


def ancestors(par: Iterable[str], find: Find, bound: int = MAX_ANCESTORS) -> Ancestors:
    """Everything before a token, each visited once."""
    found: dict[str, TokenNode] = {}
    missing: dict[str, None] = {}
    waiting = list(dict.fromkeys(par))
    while waiting:
        jti = waiting.pop()
        if jti in found or jti in missing:
            continue
        if len(found) + len(missing) == bound:
            return Ancestors(tuple(found.values()), tuple(missing), is_acyclic=True, is_bounded=True)
        node = find(jti)
        if node is None:
            missing[jti] = None
        else:
            found[jti] = node
            waiting.extend(node.par)
    order = _in_order(found)
    return Ancestors(
        tuple(found.values()) if order is None else order,
        tuple(missing),
        is_acyclic=order is not None,
        is_bounded=False,
    )


def _in_order(nodes: Mapping[str, TokenNode]) -> tuple[TokenNode, ...] | None:
    """Parents before children; None where there is a cycle."""
    open_parents: dict[str, int] = {}
    children: dict[str, list[str]] = {}
    for jti, node in nodes.items():
        parents = [parent for parent in node.par if parent in nodes]
        open_parents[jti] = len(parents)
        for parent in parents:
            children.setdefault(parent, []).append(jti)
    ready = [jti for jti, count in open_parents.items() if not count]
    for jti in ready:
        for child in children.get(jti, ()):
            open_parents[child] -= 1
            if not open_parents[child]:
                ready.append(child)
    return tuple(nodes[jti] for jti in ready) if len(ready) == len(nodes) else None


def join(node: TokenNode, find: Find, bound: int = MAX_ANCESTORS) -> Level:
    """The level of the weakest ancestor; L3 where there is none. Raises `BrokenDag`."""
    if not node.par:
        return Level.L3
    for jti in node.par:
        _check_parent(node, jti, find(jti))
    before = ancestors(node.par, find, bound)
    if before.is_bounded:
        raise BrokenDag("too_many_ancestors", f"more than {bound} ancestors")
    if before.missing:
        raise BrokenDag("parent_unknown", f"ancestor {before.missing[0]} is not known")
    if not before.is_acyclic or any(ancestor.jti == node.jti for ancestor in before.nodes):
        raise BrokenDag("cycle", f"{node.jti} is among its own ancestors")
    return min((ancestor.level for ancestor in before.nodes), default=Level.L3)


def _check_parent(node: TokenNode, jti: str, parent: TokenNode | None) -> None:
    if parent is None:
        raise BrokenDag("parent_unknown", f"parent {jti} is not known")
    if parent.iat > node.iat + CLOCK_SKEW_SECONDS:
        raise BrokenDag("parent_later", f"parent {jti} is later than its child")
    if parent.wid is not None and node.wid is not None and parent.wid != node.wid:
        raise BrokenDag("other_workflow", f"parent {jti} belongs to another workflow")


def in_order(nodes: Iterable[TokenNode]) -> tuple[TokenNode, ...] | None:
    """Presented together: each after its parents among them; None where there is a cycle."""
    by_jti = {node.jti: node for node in nodes}
    # A token is not its own parent: its claims were refused for that.
    return tuple(by_jti.values()) if len(by_jti) == 1 else _in_order(by_jti)
