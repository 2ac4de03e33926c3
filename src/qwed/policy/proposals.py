"""From what was refused as unknown to a fragment of a policy, for a person to read.

Agents choose the names and parameters that stand in the record, so neither is ever written into the fragment
unless it is made of harmless characters. What sounds dangerous is written as a comment: to allow it, a
person has to take the sign away.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from qwed.domain.policy import Policy
from qwed.domain.risk import Risk
from qwed.domain.skeleton import compact_skeleton
from qwed.domain.tools import RISK_WORDS, ToolApprovalSystem, name_words

UNKNOWN: Final = ("QWED-AGENT-ACTION-001", "QWED-AGENT-004")
MAX_PROPOSALS: Final = 200
MAX_PARAMETERS: Final = 12
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,127}")
_PLAIN_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")
_PARAMETER: Final = re.compile(r"[A-Za-z0-9_.-]{1,40}")
#: Words that mean something else where a tool's name is expected.
_RESERVED: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off"})
_READING: Final = frozenset(
    {"get", "list", "read", "search", "lookup", "look", "find", "query", "count", "describe", "show"}
)
_DANGEROUS_WEIGHT: Final = 0.4
_RISKY_WEIGHT: Final = 0.2


class Refusals(msgspec.Struct):
    """How often a name was refused, to whom, and with which parameters."""

    count: int = 0
    agents: set[str] = msgspec.field(default_factory=set)
    parameters: Counter[str] = msgspec.field(default_factory=Counter)


class Proposal(msgspec.Struct, frozen=True):
    """`is_offered` is false for what a person should look at twice: it is written as a comment."""

    name: str
    risk: Risk
    is_offered: bool
    why: str
    refused: int
    agents: int
    parameters: tuple[str, ...]


class Learned(msgspec.Struct, frozen=True):
    """`unusable` names can't stand in a policy, or are made to look like another; they are only counted."""

    proposals: tuple[Proposal, ...]
    unusable: int
    left_out: int


def learn(entries: Iterable[Mapping[str, Any]], policy: Policy) -> Learned:
    """What could be allowed, of what was refused as unknown and still is. Most often refused first."""
    seen: dict[str, Refusals] = {}
    for entry in entries:
        name = entry.get("action_type")
        if entry.get("error_code") in UNKNOWN and isinstance(name, str) and not policy.is_registered(name):
            _count(seen.setdefault(name, Refusals()), entry)
    known = {compact_skeleton(name) for name in policy.actions}
    usable = {name: refusals for name, refusals in seen.items() if _is_usable(name, known)}
    ordered = sorted(usable, key=lambda name: (-usable[name].count, name))
    proposals = tuple(_proposal(name, usable[name]) for name in ordered[:MAX_PROPOSALS])
    return Learned(proposals, len(seen) - len(usable), len(ordered) - len(proposals))


def _count(refusals: Refusals, entry: Mapping[str, Any]) -> None:
    refusals.count += 1
    refusals.agents.add(str(entry.get("agent_id")))
    action = entry.get("action")
    parameters = action.get("parameters") if isinstance(action, Mapping) else None
    if isinstance(parameters, Mapping):
        refusals.parameters.update(str(name) for name in list(parameters)[:MAX_PARAMETERS])


def _is_usable(name: str, known: set[str]) -> bool:
    is_name = _NAME.fullmatch(name) is not None and name != "require_context"
    return is_name and compact_skeleton(name) not in known


def _proposal(name: str, refusals: Refusals) -> Proposal:
    parameters = [found for found, _ in refusals.parameters.most_common(MAX_PARAMETERS)]
    risk, is_offered, why = _judge(name, parameters)
    return Proposal(
        name,
        risk,
        is_offered,
        why,
        refusals.count,
        len(refusals.agents),
        tuple(sorted(found for found in parameters if _PARAMETER.fullmatch(found))),
    )


def _judge(name: str, parameters: list[str]) -> tuple[Risk, bool, str]:
    """From the words of the name and of its parameters: the worst of them decides."""
    assessed = ToolApprovalSystem().assess(name, dict.fromkeys(parameters))
    words = {factor.factor.partition(":")[2]: factor.weight for factor in assessed.factors}
    worst = max(words, key=lambda word: words[word], default=None)
    if worst is not None and RISK_WORDS[worst] >= _DANGEROUS_WEIGHT:
        return Risk.CRITICAL, False, f"sounds dangerous: {worst}"
    if worst is not None and RISK_WORDS[worst] >= _RISKY_WEIGHT:
        return Risk.HIGH, True, f"changes or moves something: {worst}"
    if worst is None and name_words(name) & _READING:
        return Risk.LOW, True, "sounds like reading"
    return Risk.MEDIUM, True, "nothing known of it" if worst is None else f"reaches outside: {worst}"


def entry_lines(proposal: Proposal) -> list[str]:
    """The lines of one tool, two spaces in."""
    is_plain = _PLAIN_NAME.fullmatch(proposal.name) and proposal.name not in _RESERVED
    name = proposal.name if is_plain else f'"{proposal.name}"'
    with_what = ", ".join(proposal.parameters) or "none"
    comment = (
        f"# {proposal.why}; refused {proposal.refused} ×, {proposal.agents} agent(s); parameters: {with_what}"
    )
    lines = [f"{name}:  {comment}", f"  risk: {proposal.risk.wire}"]
    return [f"  {line}" if proposal.is_offered else f"  # {line}" for line in lines]


def fragment(learned: Learned) -> str:
    """A policy file with what was learned, complete in itself."""
    lines = [
        "# Proposed from what was refused as unknown. Read every line: what stands here can be approved."
    ]
    lines += [f"# {sentence}" for sentence in _remarks(learned)]
    body = [line for proposal in learned.proposals for line in entry_lines(proposal)]
    has_offers = any(proposal.is_offered for proposal in learned.proposals)
    return "\n".join([*lines, "tools:" if has_offers else "tools: {}", *body, ""])


def _remarks(learned: Learned) -> Iterable[str]:
    if learned.unusable:
        yield f"{learned.unusable} name(s) are left out: malformed, or made to look like a known one."
    if learned.left_out:
        yield f"{learned.left_out} name(s) are left out: only the {MAX_PROPOSALS} most frequent are here."


def merged(text: str, learned: Learned) -> str:
    """The text of a policy file with the proposals at the head of its `tools`. The rest stays as written.

    Raises `ValueError` where its `tools` are not written one per line.
    """
    body = [line for proposal in learned.proposals for line in entry_lines(proposal)]
    lines = text.splitlines()
    heads = [number for number, line in enumerate(lines) if re.match(r"tools\s*:", line)]
    if not heads:
        begin = ["tools:"] if any(proposal.is_offered for proposal in learned.proposals) else []
        return "\n".join([*lines, *([""] if lines else []), *begin, *body, ""])
    head = lines[heads[0]]
    if not re.fullmatch(r"tools\s*:\s*(?:#.*)?", head):
        raise ValueError(f"line {heads[0] + 1}: the tools stand on one line; write them one below the other")
    indent = _indent_below(lines[heads[0] + 1 :])
    body = [indent + line[2:] for line in body]
    return "\n".join([*lines[: heads[0] + 1], *body, *lines[heads[0] + 1 :], ""])


def _indent_below(lines: list[str]) -> str:
    for line in lines:
        if line.strip() and not line.lstrip().startswith("#"):
            found = line[: len(line) - len(line.lstrip(" "))]
            return found or "  "
    return "  "
