"""For whoever runs a tool: run it only with a permit of the gateway, for exactly this call, once."""

from qwed_sdk.carried_permits import carrying, current_permit
from qwed_sdk.permits.errors import PermitRefused
from qwed_sdk.permits.verifier import PermitVerifier, VerifiedPermit
from qwed_sdk.request_actions import RequestAction
from qwed_sdk.tool_map import action_of_call

__all__ = [
    "PermitRefused",
    "PermitVerifier",
    "RequestAction",
    "VerifiedPermit",
    "action_of_call",
    "carrying",
    "current_permit",
]
