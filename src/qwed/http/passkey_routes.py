"""A person's passkeys: look, add, lose; and what is signed with one to approve."""

from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from qwed.domain.codes import Code
from qwed.domain.credentials import Caller, Scope
from qwed.domain.passkeys import Passkey, PasskeyProof
from qwed.domain.times import iso
from qwed.gateway.approvals.answer_approval import VoteBody
from qwed.gateway.approvals.read_approvals import visible_approval
from qwed.gateway.kernel.answers import Answer, refuse
from qwed.gateway.kernel.requests import PasskeyAnswer, convert
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import require_scope
from qwed.http.gatekeeper import Gatekeeper
from qwed.http.request_reader import BodyReader
from qwed.http.responses import response_of
from qwed.http.sessions import Session

if TYPE_CHECKING:
    from qwed.http.signin.passkeys import Passkeys


class NewPasskeyBody(msgspec.Struct, forbid_unknown_fields=True):
    """`proof` is an answer of a passkey that the person has already, where they have one."""

    flow: str
    credential: dict[str, Any]
    label: str = ""
    proof: PasskeyAnswer | None = None


class ToSignBody(msgspec.Struct, forbid_unknown_fields=True):
    """`action` is what shall be granted in the place of what was asked for."""

    action: Any = None


class PasskeyRoutes:
    _gatekeeper: Gatekeeper
    _bodies: BodyReader

    @property
    def _services(self) -> Services:
        raise NotImplementedError

    async def passkeys(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        found = await self._require_passkeys().of(caller.name)
        return response_of(Answer({"owner": caller.name, "passkeys": [_describe(one) for one in found]}))

    async def begin_passkey(self, request: Request) -> Response:
        caller, session = await self._in_browser(request)
        return response_of(Answer(await self._require_passkeys().ask_to_add(caller, session)))

    async def add_passkey(self, request: Request) -> Response:
        caller, session = await self._in_browser(request)
        body = convert(await self._bodies.json(request), NewPasskeyBody)
        added = await self._require_passkeys().add(caller, session, body)
        return response_of(Answer(_describe(added), status=201))

    async def drop_passkeys(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        owner = request.path_params["owner"]
        count = await self._require_passkeys().forget(caller, owner)
        return response_of(Answer({"owner": owner, "removed": count}))

    async def ask_for_passkey(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        require_scope(caller, Scope.APPROVE)
        raw = await self._bodies.json(request)
        body = convert({} if raw is None else raw, ToSignBody)
        approval = await visible_approval(self._services, caller, request.path_params["approval_id"])
        return response_of(Answer(await self._require_passkeys().ask_to_sign(caller, approval, body)))

    async def _passkey_proof(self, caller: Caller, raw: Any) -> PasskeyProof | None:
        """What a vote carries of a passkey, checked; None where it carries nothing."""
        if not isinstance(raw, dict) or raw.get("passkey") is None:
            return None
        answer = convert(raw, VoteBody).passkey
        return None if answer is None else await self._require_passkeys().prove(caller, answer)

    async def _in_browser(self, request: Request) -> tuple[Caller, Session]:
        """Who is signed in: a key that is sent along adds no passkey."""
        signed_in = await self._gatekeeper.signed_in(request)
        caller = await self._gatekeeper.caller(request)
        if signed_in is None or signed_in[0].name != caller.name:
            raise refuse(Code.AUTH_FORBIDDEN, "people add passkeys in the dashboard, after they sign in")
        return caller, signed_in[1]

    def _require_passkeys(self) -> "Passkeys":
        found = self._gatekeeper.passkeys
        if found is None:
            message = "passkeys need QWED_PUBLIC_URL and pip install 'qwed-gateway[passkeys]'"
            raise refuse(Code.NOT_FOUND, message)
        return found


def _describe(passkey: Passkey) -> dict[str, Any]:
    return {
        "credential_id": passkey.credential_id,
        "label": passkey.label,
        "created_at": iso(passkey.created_ms),
    }
