"""A person's browser: sign in with a key or with an identity provider, ask who is signed in, sign out."""

from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from qwed.domain.codes import Code
from qwed.domain.credentials import Caller, Scope
from qwed.domain.json_types import Json
from qwed.domain.times import iso
from qwed.gateway.agents.authenticate import PresentedCredentials
from qwed.gateway.decide.observe import observes_until
from qwed.gateway.kernel.answers import Answer, RequestError, refuse
from qwed.gateway.kernel.requests import convert
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import require_scope
from qwed.http.gatekeeper import Gatekeeper
from qwed.http.request_reader import BodyReader
from qwed.http.responses import error_response, response_of
from qwed.http.sessions import Session, SignInBody, is_cross_site

_FLOW_SECONDS: Final = 600
_DASHBOARD: Final = "/dashboard"
_SIGN_IN: Final = "/sign-in"


class SessionRoutes:
    _gatekeeper: Gatekeeper
    _bodies: BodyReader

    @property
    def _services(self) -> Services:
        raise NotImplementedError

    async def session(self, request: Request) -> Response:
        """Nobody is no error, so that a page can ask."""
        signed_in = await self._gatekeeper.signed_in(request)
        if signed_in is not None:
            return response_of(Answer(self._describe(*signed_in)))
        return response_of(Answer(self._nobody()))

    async def sign_in(self, request: Request) -> Response:
        raw = await self._bodies.strangers_json(request)
        given = convert(raw, SignInBody).api_key.strip()
        if is_cross_site(request):
            raise refuse(Code.AUTH_FORBIDDEN, "another site's page can't sign anybody in")
        caller = await self._gatekeeper.caller(request, PresentedCredentials((given,)))
        if caller.key is None:
            raise refuse(Code.AUTH_FORBIDDEN, "the dashboard is for people: sign in with an API key")
        require_scope(caller, Scope.READ)
        session = self._gatekeeper.sessions.opened(caller.key.key_hash)
        response = response_of(Answer(self._describe(caller, session)))
        self._gatekeeper.sessions.grant(request, response, session)
        return response

    async def sign_out(self, request: Request) -> Response:
        await self._gatekeeper.identified(request)
        elsewhere = await self._gatekeeper.sign_out_url(request)
        told = self._nobody() if elsewhere is None else {**self._nobody(), "sign_out_url": elsewhere}
        response = response_of(Answer(told))
        await self._gatekeeper.sign_out(request, response)
        return response

    async def begin_sign_in(self, request: Request) -> Response:
        """Off to the identity provider."""
        # The library of the extra is loaded where a provider was named.
        from qwed.http.signin.people import read_target  # noqa: PLC0415
        from qwed.http.signin.refused import ProviderUnavailable, SignInRefused  # noqa: PLC0415

        people = self._gatekeeper.people
        if people is None:
            raise _no_provider()
        try:
            url, sealed = await people.begin(read_target(request.query_params.get("to")))
        except (ProviderUnavailable, SignInRefused) as error:
            message = f"the identity provider can't be used: {error}"
            return _send_back(request, refuse(Code.AUTH_PROVIDER, message), "unavailable")
        response = RedirectResponse(url, status_code=303)
        self._gatekeeper.sessions.begin(request, response, sealed, _FLOW_SECONDS)
        return response

    async def complete_sign_in(self, request: Request) -> Response:
        """Back from the identity provider. A refusal counts like a wrong key."""
        from qwed.http.signin.refused import ProviderUnavailable, SignInRefused  # noqa: PLC0415

        people, sessions = self._gatekeeper.people, self._gatekeeper.sessions
        if people is None:
            raise _no_provider()
        query = dict(request.query_params)
        try:
            _, session, to = await people.complete(sessions.begun(request), query)
        except SignInRefused as error:
            failed = await self._gatekeeper.failure(request)
            if failed.refusal.code is Code.RATE_LIMITED:
                raise failed from None
            refused = refuse(Code.AUTH_SIGN_IN, str(error))
            response = _send_back(request, refused, error.problem.value)
        except ProviderUnavailable as error:
            message = f"the identity provider can't be used: {error}"
            response = _send_back(request, refuse(Code.AUTH_PROVIDER, message), "unavailable")
        else:
            response = RedirectResponse(to, status_code=303)
            sessions.grant(request, response, session)
        sessions.begin(request, response, "", 0)
        return response

    def _nobody(self) -> dict[str, Json]:
        if self._gatekeeper.people is None:
            return {"signed_in": False}
        return {"signed_in": False, "sign_in_url": _SIGN_IN}

    def _describe(self, caller: Caller, session: Session) -> dict[str, Json]:
        key, person = caller.key, caller.person
        return {
            "signed_in": True,
            "key_id": None if key is None else key.key_id,
            "person": None if person is None else person.to_wire(),
            "label": key.label if key is not None else person and person.name,
            "principal_id": caller.principal_id,
            "is_operator": caller.is_operator,
            "observes_until": observes_until(self._services),
            "sees_scores": caller.is_operator and self._services.assurance.keeper is not None,
            "scopes": caller.scopes,
            "roles": caller.roles,
            "expires_at": iso(session.expires_ms),
            "csrf_token": self._gatekeeper.sessions.csrf_token(session),
        }


def _no_provider() -> RequestError:
    return refuse(Code.NOT_FOUND, "no identity provider is set up here (QWED_OIDC_ISSUER)")


def _send_back(request: Request, error: RequestError, problem: str) -> Response:
    """A browser goes back to the dashboard, which has a sentence for each problem; others get the refusal."""
    if "text/html" in request.headers.get("accept", ""):
        return RedirectResponse(f"{_DASHBOARD}?sign-in={problem}", status_code=303)
    return error_response(error)
