"""The permit for a call that can't carry one: the gateway is asked which it has."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from qwed.domain.codes import Code
from qwed_sdk.client import QWEDClient
from qwed_sdk.errors import QWEDError, RequestRefused
from qwed_sdk.permits import calls
from qwed_sdk.permits.errors import PermitRefused, code_said
from qwed_sdk.permits.tokens import VerifiedPermit
from qwed_sdk.results import Json


def find_only(client: QWEDClient, agent_id: str, audience: str, hashes: Sequence[str]) -> VerifiedPermit:
    """The agent's only permit that fits one of these actions. None, or two: `PermitRefused`."""
    found: dict[str, VerifiedPermit] = {}
    try:
        for action_hash in hashes:
            for said in client.send(calls.find_unused(agent_id, audience, action_hash))["permits"]:
                permit = _permit(said)
                if (permit.agent_id, permit.audience, permit.action_hash) == (
                    agent_id,
                    audience,
                    action_hash,
                ):
                    found[permit.jti] = permit
    except RequestRefused as error:
        raise PermitRefused(code_said(error), f"the gateway has no permit for it: {error}") from error
    except (QWEDError, KeyError, TypeError, ValueError) as error:
        raise PermitRefused(
            Code.PERMIT_UNVERIFIABLE, f"the gateway could not be asked for a permit: {error}"
        ) from error
    if not found:
        raise PermitRefused(Code.PERMIT_MISSING, "the call carries no permit, and the gateway has none")
    if len(found) > 1:
        raise PermitRefused(
            Code.PERMIT_MISMATCH, "two permits fit this call: send the one that is meant in QWED-Permit"
        )
    return next(iter(found.values()))


def _permit(said: Mapping[str, Json]) -> VerifiedPermit:
    return VerifiedPermit(
        said["jti"],
        "",
        said["audience"],
        said["agent_id"],
        said["action_hash"],
        said["activity_id"],
        _seconds(said["issued_at"]),
        _seconds(said["expires_at"]),
    )


def _seconds(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())
