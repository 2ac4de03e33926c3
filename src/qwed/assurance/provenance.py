"""Where data came from: questions to the graph of tokens, answered by walking it to its roots.

A ledger that fails verification answers nothing: whoever asks passes nodes of one that was found whole.
"""

import enum
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from qwed.domain.json_types import Json
from qwed.ect.claims import Claims
from qwed.ect.dag import MAX_ANCESTORS, Ancestors, TokenNode, ancestors
from qwed.ect.tokens import Level, hash_bytes

SOURCE: Final = "apae.data_source"
CLASSIFICATION: Final = "apae.data_classification"
RETENTION: Final = "apae.retention_days"
TRANSFORMATIONS: Final = "apae.transformations"


class UnknownToken(LookupError):
    """Nothing is known under this id."""


class Lineage(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a token says about its data; `unreadable` are claims of the wrong type, which say nothing."""

    data_source: str | None = None
    data_classification: str | None = None
    retention_days: int | None = None
    transformations: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


class Work(TokenNode, frozen=True, gc=False, kw_only=True):
    """A node of the graph, with who did what. `outcome` is None where nobody reported one."""

    iss: str
    exec_act: str
    inp_hash: str | None = None
    out_hash: str | None = None
    lineage: Lineage = Lineage()
    outcome: str | None = None


FindWork = Callable[[str], Work | None]


def work_of(claims: Claims, level: Level, outcome: str | None = None) -> Work:
    return Work(
        claims.jti,
        claims.iat,
        claims.par,
        claims.wid,
        level,
        iss=claims.iss,
        exec_act=claims.exec_act,
        inp_hash=claims.inp_hash,
        out_hash=claims.out_hash,
        lineage=read_lineage(claims.ext),
        outcome=outcome,
    )


_NO_LINEAGE: Final = Lineage()


def read_lineage(ext: Mapping[str, Json]) -> Lineage:
    if not any(name in ext for name in _READERS):
        return _NO_LINEAGE
    read = {name: reader(ext[name]) for name, reader in _READERS.items() if name in ext}
    said = {name.removeprefix("apae."): value for name, value in read.items() if value is not None}
    return Lineage(**said, unreadable=tuple(name for name, value in read.items() if value is None))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _days(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _texts(value: Any) -> tuple[str, ...] | None:
    is_list = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return tuple(value) if is_list else None


_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    SOURCE: _text,
    CLASSIFICATION: _text,
    RETENTION: _days,
    TRANSFORMATIONS: _texts,
}


class Toucher(msgspec.Struct, frozen=True):
    agent: str
    tokens: int
    first: int
    last: int
    actions: tuple[str, ...]


class ProvenanceStep(msgspec.Struct, frozen=True):
    jti: str
    agent: str
    action: str
    at: int
    lineage: Lineage


class Completeness(enum.StrEnum):
    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    #: There is more than may be walked: nothing is said about it.
    UNKNOWN = "unknown"


class Complete(msgspec.Struct, frozen=True):
    status: Completeness
    visited: int
    missing: tuple[str, ...]


class Match(msgspec.Struct, frozen=True):
    """Whether the bytes are those that went in, or came out; None where the token states no hash."""

    input: bool | None
    output: bool | None


class Graph(msgspec.Struct, frozen=True):
    """Parents before children; edges lead from parent to child; `missing` are named and not there."""

    nodes: tuple[Work, ...]
    edges: tuple[tuple[str, str], ...]
    missing: tuple[str, ...]
    is_bounded: bool


def chain(jti: str, find: FindWork, bound: int = MAX_ANCESTORS) -> tuple[tuple[Work, ...], Ancestors]:
    """The token and everything before it, parents first; a diamond is visited once. Raises `UnknownToken`."""
    last = find(jti)
    if last is None:
        raise UnknownToken(jti)
    before = ancestors(last.par, find, bound)
    works = tuple(node for node in before.nodes if isinstance(node, Work))
    return (*works, last), before


def who(jti: str, find: FindWork, bound: int = MAX_ANCESTORS) -> tuple[Toucher, ...]:
    """The agents that touched it, whoever came first first."""
    by_agent: dict[str, list[Work]] = {}
    for work in chain(jti, find, bound)[0]:
        by_agent.setdefault(work.iss, []).append(work)
    touchers = [
        Toucher(
            agent,
            len(works),
            min(work.iat for work in works),
            max(work.iat for work in works),
            tuple(dict.fromkeys(work.exec_act for work in works)),
        )
        for agent, works in by_agent.items()
    ]
    return tuple(sorted(touchers, key=lambda toucher: toucher.first))


def transformed(jti: str, find: FindWork, bound: int = MAX_ANCESTORS) -> tuple[ProvenanceStep, ...]:
    """Every step that says something about its data, in the order of the graph."""
    return tuple(
        ProvenanceStep(work.jti, work.iss, work.exec_act, work.iat, work.lineage)
        for work in chain(jti, find, bound)[0]
        if work.lineage != _NO_LINEAGE
    )


def complete(jti: str, find: FindWork, bound: int = MAX_ANCESTORS) -> Complete:
    works, before = chain(jti, find, bound)
    if before.is_bounded or not before.is_acyclic:
        status = Completeness.UNKNOWN
    else:
        status = Completeness.INCOMPLETE if before.missing else Completeness.COMPLETE
    return Complete(status, len(works), before.missing)


def matches(jti: str, find: FindWork, data: bytes) -> Match:
    """Raises `UnknownToken`."""
    work = find(jti)
    if work is None:
        raise UnknownToken(jti)
    given = hash_bytes(data)
    return Match(
        None if work.inp_hash is None else work.inp_hash == given,
        None if work.out_hash is None else work.out_hash == given,
    )


def graph(jti: str, find: FindWork, bound: int = MAX_ANCESTORS) -> Graph:
    works, before = chain(jti, find, bound)
    return graph_of(works, before.missing, is_bounded=before.is_bounded)


def graph_of(works: Iterable[Work], missing: tuple[str, ...] = (), *, is_bounded: bool = False) -> Graph:
    nodes = tuple(works)
    edges = tuple((parent, work.jti) for work in nodes for parent in work.par)
    return Graph(nodes, edges, missing, is_bounded)


def to_wire(drawn: Graph) -> dict[str, Json]:
    return {
        "nodes": [
            {
                "jti": work.jti,
                "agent": work.iss,
                "action": work.exec_act,
                "at": work.iat,
                "wid": work.wid,
                "level": work.level.name,
                "outcome": work.outcome,
                **msgspec.to_builtins(work.lineage),
            }
            for work in drawn.nodes
        ],
        "edges": [list(edge) for edge in drawn.edges],
        "missing": list(drawn.missing),
        "bounded": drawn.is_bounded,
    }


_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"
_COLOURS: Final = ("#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#9c755f", "#76b7b2", "#edc948", "#ff9da7")


def to_dot(drawn: Graph) -> str:
    """One colour per agent; unsigned tokens dashed; what went wrong or is missing in red."""
    agents = {agent: number for number, agent in enumerate(dict.fromkeys(work.iss for work in drawn.nodes))}
    lines = ["digraph provenance {", "  rankdir=LR;", '  node [shape=box, fontname="sans-serif"];']
    for work in drawn.nodes:
        colour = "#d62728" if work.outcome == "failure" else _COLOURS[agents[work.iss] % len(_COLOURS)]
        style = "dashed" if work.level is Level.L1 else "solid"
        label = _quote(f"{work.exec_act}\n{work.iss}\n{work.level.name}")
        lines.append(f"  {_quote(work.jti)} [label={label}, color={_quote(colour)}, style={style}];")
    lines += [f'  {_quote(jti)} [label="missing", color="#d62728", style=dotted];' for jti in drawn.missing]
    lines += [f"  {_quote(parent)} -> {_quote(child)};" for parent, child in drawn.edges]
    return "\n".join([*lines, "}", ""])


def _quote(text: str) -> str:
    """A string of the language DOT: whatever an agent calls itself, it stays a string."""
    shown = "".join(
        letter if letter.isprintable() or letter == "\n" else "\N{REPLACEMENT CHARACTER}" for letter in text
    )
    escaped = shown.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
