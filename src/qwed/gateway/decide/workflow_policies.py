"""The rules of a workflow, read from the policy token that carries them, and what tokens complete in it."""

import functools
from typing import Final, TypeGuard

from qwed.domain.nodes import AGENT_DID
from qwed.domain.workflows import Completion, Workflow
from qwed.ect import jws
from qwed.ect.policy_tokens import MAX_TOKEN_BYTES, TokenPolicy, read_policy
from qwed.ect.verifier import Accepted
from qwed.gateway.kernel.services import Services

#: The claim in `ext` with which a token says which node it completes.
NODE_CLAIM: Final = "acp.node"
MAX_ID: Final = 256


def policy_of(workflow: Workflow) -> TokenPolicy:
    """The rules of a token that was verified when it was registered."""
    return _policy(workflow.token)


@functools.lru_cache(maxsize=256)
def _policy(token: str) -> TokenPolicy:
    claims = jws.claims_of(jws.parse(token, MAX_TOKEN_BYTES).payload)
    return read_policy(claims.get("dag"), claims.get("hitl"))


def is_id(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and 0 < len(value) <= MAX_ID


async def completions_of(services: Services, accepted: tuple[Accepted, ...]) -> tuple[Completion, ...]:
    """Nodes that tokens complete: each named by its own agent, in the workflow it belongs to."""
    found: list[Completion] = []
    for item in accepted:
        claims = item.ect.claims
        node_id = claims.ext.get(NODE_CLAIM)
        if claims.wid is None or not is_id(node_id) or item.ect.kid is None:
            continue
        workflow = await services.store.workflow(claims.wid)
        node = policy_of(workflow).nodes.get(node_id) if workflow is not None else None
        # A policy may name an agent by its DID or by its id.
        if node is not None and node.agent in (claims.iss, claims.iss.removeprefix(AGENT_DID)):
            found.append(Completion(claims.wid, node.id, claims.jti))
    return tuple(found)
