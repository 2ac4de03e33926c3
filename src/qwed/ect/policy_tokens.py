"""Policy tokens (ACP-DAG-HITL, local layout): which agent may act where in a workflow, and after what.

{"dag": {"nodes": [{"id", "agent", "action"?, "constraints"?, "critical"?}], "edges": [{"from", "to"}]},
 "hitl": {"rules": […], "default_action": "abort", "timeout_s": 300, "on_timeout": "abort"}}
"""

import enum
from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any, Final

import msgspec

from qwed.domain.json_types import Json
from qwed.ect import claims as rules
from qwed.ect import dag as graph
from qwed.ect import hitl, jws
from qwed.ect.claims import InvalidClaims
from qwed.ect.dag import CLOCK_SKEW_SECONDS
from qwed.ect.hitl import Hitl, InvalidRules
from qwed.ect.jws import InvalidToken
from qwed.ect.keys import KeyRing
from qwed.ect.tokens import new_id
from qwed.ect.verifier import DEFAULT_ALGORITHMS, Keys

POLICY_TYPE: Final = "acp-dag-hitl+jwt"
MAX_NODES: Final = 1_000
MAX_EDGES: Final = 10_000
#: A thousand nodes do not fit the 8 KiB of an execution context token.
MAX_TOKEN_BYTES: Final = 524_288


class InvalidPolicy(ValueError):
    """The policy can't be followed; the message says where."""


class PolicyNode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    agent: str
    action: str | None = None
    constraints: dict[str, Json] = {}
    critical: bool = False


class PolicyEdge(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"source": "from", "target": "to"}
):
    source: str
    target: str


class _Dag(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    nodes: list[PolicyNode]
    edges: list[PolicyEdge] = []


class TokenPolicy(msgspec.Struct, frozen=True):
    nodes: Mapping[str, PolicyNode]
    parents: Mapping[str, tuple[str, ...]]
    hitl: Hitl

    def before(self, node_id: str) -> set[str]:
        """All nodes that have to be completed first. Raises `KeyError` for a node that is not there."""
        found: set[str] = set()
        waiting = list(self.parents[node_id])
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting.extend(self.parents[name])
        return found


class PolicyToken(msgspec.Struct, frozen=True):
    iss: str
    jti: str
    exp: int
    policy: TokenPolicy
    raw: str


def read_policy(dag: Any, human: Any = None) -> TokenPolicy:
    """Raises `InvalidPolicy`."""
    try:
        given = msgspec.convert(dag, _Dag)
        human_rules = hitl.read_rules({} if human is None else human)
    except (msgspec.ValidationError, InvalidRules) as error:
        raise InvalidPolicy(str(error)) from None
    if not 0 < len(given.nodes) <= MAX_NODES or len(given.edges) > MAX_EDGES:
        raise InvalidPolicy(f"a policy has 1 to {MAX_NODES} nodes and at most {MAX_EDGES} edges")
    nodes = {node.id: node for node in given.nodes}
    if len(nodes) != len(given.nodes) or not all(node.id and node.agent for node in given.nodes):
        raise InvalidPolicy("each node has an id of its own, and an agent")
    return TokenPolicy(nodes, _parents(nodes, given.edges), human_rules)


def _parents(nodes: Mapping[str, PolicyNode], edges: Collection[PolicyEdge]) -> dict[str, tuple[str, ...]]:
    parents: dict[str, list[str]] = {name: [] for name in nodes}
    for edge in edges:
        if edge.source not in nodes or edge.target not in nodes:
            raise InvalidPolicy("an edge leads to a node that does not exist")
        parents[edge.target].append(edge.source)
    found = {name: tuple(dict.fromkeys(above)) for name, above in parents.items()}
    order = graph.in_order(graph.TokenNode(name, 0, above) for name, above in found.items())
    # A single node is in order by itself, whatever its edges say.
    if order is None or any(name in above for name, above in found.items()):
        raise InvalidPolicy("the nodes wait for each other in a circle")
    return found


class ActRefusal(enum.StrEnum):
    NO_SUCH_NODE = "no_such_node"
    OTHER_AGENT = "other_agent"
    OTHER_ACTION = "other_action"
    TOO_EARLY = "too_early"


def refusal_to_act(
    policy: TokenPolicy, node_id: str, agent: str, action: str, completed: Collection[str]
) -> ActRefusal | None:
    """Why the agent may not act at the node, or None. `completed` are nodes with an accepted token."""
    node = policy.nodes.get(node_id)
    if node is None:
        return ActRefusal.NO_SUCH_NODE
    if node.agent != agent:
        return ActRefusal.OTHER_AGENT
    if node.action is not None and node.action != action:
        return ActRefusal.OTHER_ACTION
    if not policy.before(node_id).issubset(completed):
        return ActRefusal.TOO_EARLY
    return None


#: What can be asked for, weakest first.
CONFIDENCES: Final = ("low", "medium", "high")
PROFILES: Final = ("relaxed", "standard", "regulated")


class NodeConstraints(msgspec.Struct, frozen=True):
    """The strictest of a node and everything before it; `unknown` are those that nobody can check."""

    min_trust: Decimal | None = None
    min_confidence: str | None = None
    assurance_profile: str | None = None
    unknown: frozenset[str] = frozenset()


def constraints_at(policy: TokenPolicy, node_id: str) -> NodeConstraints:
    """Constraints are inherited, and can only tighten. Raises `KeyError` for a node that is not there."""
    result = NodeConstraints()
    for name in (node_id, *policy.before(node_id)):
        for constraint, value in policy.nodes[name].constraints.items():
            result = _tighten(result, constraint, value)
    return result


def _tighten(before: NodeConstraints, name: str, value: Any) -> NodeConstraints:
    change: dict[str, Json] = {}
    if name == "apae.min_trust" and _is_score(value):
        change["min_trust"] = max(before.min_trust or Decimal(0), _as_written(value))
    elif name == "apae.min_confidence" and value in CONFIDENCES:
        change["min_confidence"] = _later(CONFIDENCES, before.min_confidence, value)
    elif name == "apae.assurance_profile" and value in PROFILES:
        change["assurance_profile"] = _later(PROFILES, before.assurance_profile, value)
    else:
        change["unknown"] = before.unknown | {name}
    return msgspec.structs.replace(before, **change)


def _is_score(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool) and 0 <= value <= 1


def _as_written(value: int | float | Decimal) -> Decimal:
    """A float is read as it is written: 0.7, not what binary makes of it."""
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def _later(order: tuple[str, ...], one: str | None, other: str) -> str:
    return other if one is None else max(one, other, key=order.index)


def issue_policy(
    ring: KeyRing,
    aud: str,
    dag: Mapping[str, Json],
    human: Mapping[str, Json],
    now: int,
    lifetime_seconds: int = 86_400,
) -> str:
    """Raises `InvalidPolicy` for one that could not be followed."""
    read_policy(dag, human)
    token = ring.sign(
        POLICY_TYPE,
        {
            "iss": ring.issuer,
            "aud": aud,
            "iat": now,
            "exp": now + lifetime_seconds,
            "jti": new_id(),
            "dag": dag,
            "hitl": human,
        },
    )
    if len(token) > MAX_TOKEN_BYTES:
        raise InvalidPolicy(f"the token takes more than {MAX_TOKEN_BYTES} bytes")
    return token


def verify_policy(
    token: str,
    keys: Keys,
    audiences: Collection[str],
    now: int,
    algorithms: Collection[str] = DEFAULT_ALGORITHMS,
) -> PolicyToken:
    """Signature, issuer, audience, times, then the policy itself. Raises `InvalidToken`."""
    unverified = jws.parse(token, MAX_TOKEN_BYTES)
    if unverified.header.typ != POLICY_TYPE:
        raise InvalidToken(f"typ is {unverified.header.typ!r}")
    content = jws.claims_of(unverified.payload)
    iss = content.get("iss")
    key = keys.find(iss, unverified.header.kid) if isinstance(iss, str) else None
    if key is None:
        raise InvalidToken("no key of that issuer")
    jws.verify_signature(unverified, key.public, algorithms, low_s_only=key.low_s_only)
    if key.is_revoked or key.issuer != iss:
        raise InvalidToken("the key is revoked, or of another identity")
    try:
        aud = rules.audience(content.get("aud"))
        iat, exp = rules.times(content.get("iat"), content.get("exp"))
        jti = rules.identifier(content.get("jti"), "jti")
        policy = read_policy(content.get("dag"), content.get("hitl"))
    except (InvalidClaims, InvalidPolicy) as error:
        raise InvalidToken(str(error)) from None
    if not set(aud) & set(audiences) or iat > now + CLOCK_SKEW_SECONDS or exp <= now:
        raise InvalidToken("meant for others, or for another time")
    return PolicyToken(key.issuer, jti, exp, policy, token)
