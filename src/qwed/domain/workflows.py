"""Workflows: who may act where, and after what. The rules themselves are in the policy token."""

import msgspec

from qwed.domain.agents import PrincipalId


class Workflow(msgspec.Struct, frozen=True):
    """A policy token that was accepted, byte for byte; its id is the token's."""

    workflow_id: str
    principal_id: PrincipalId
    token: str
    registered_ms: int
    expires_ms: int


class Completion(msgspec.Struct, frozen=True):
    """A node of a workflow is done; `jti` is the evidence."""

    workflow_id: str
    node_id: str
    jti: str
