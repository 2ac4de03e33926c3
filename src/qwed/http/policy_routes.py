"""The policy in force over HTTP: read it, change it, stop what it allows."""

from starlette.requests import Request
from starlette.responses import Response

from qwed.domain.credentials import Caller
from qwed.gateway.kernel.answers import malformed
from qwed.gateway.kernel.services import Services
from qwed.gateway.policy import change_policy, run_backtest
from qwed.gateway.policy.read_shadow import read_shadow
from qwed.http.gatekeeper import Gatekeeper
from qwed.http.request_reader import BodyReader
from qwed.http.responses import response_of

PAGE = 50


class PolicyRoutes:
    _gatekeeper: Gatekeeper
    _bodies: BodyReader

    @property
    def _services(self) -> Services:
        raise NotImplementedError

    async def policy(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        return response_of(await change_policy.show_policy(self._services, caller))

    async def policy_history(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        before, limit = (request.query_params.get(name) for name in ("before", "limit"))
        found = await change_policy.list_changes(
            self._services,
            caller,
            None if before is None else _whole("before", before),
            PAGE if limit is None else _whole("limit", limit),
        )
        return response_of(found)

    async def policy_version(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        number = _whole("version", request.path_params["version"])
        return response_of(await change_policy.show_version(self._services, caller, number))

    async def apply_policy(self, request: Request) -> Response:
        caller, raw = await self._read_question(request)
        return response_of(await change_policy.apply_policy(self._services, caller, raw))

    async def check_policy(self, request: Request) -> Response:
        caller, raw = await self._read_question(request)
        return response_of(await change_policy.check_policy(self._services, caller, raw))

    async def reload_policy(self, request: Request) -> Response:
        caller, raw = await self._read_question(request)
        return response_of(await change_policy.reload_file(self._services, caller, raw))

    async def roll_back_policy(self, request: Request) -> Response:
        caller, raw = await self._read_question(request)
        return response_of(await change_policy.roll_back(self._services, caller, raw))

    async def stop_acting(self, request: Request) -> Response:
        caller, raw = await self._read_question(request)
        return response_of(await change_policy.stop(self._services, caller, raw))

    async def resume_acting(self, request: Request) -> Response:
        caller, raw = await self._read_question(request)
        return response_of(await change_policy.resume(self._services, caller, raw))

    async def shadow(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        return response_of(await read_shadow(self._services, caller))

    async def backtest_policy(self, request: Request) -> Response:
        caller, raw = await self._read_question(request)
        return response_of(await run_backtest.backtest_policy(self._services, caller, raw))

    async def _read_question(self, request: Request) -> tuple[Caller, object]:
        caller = await self._gatekeeper.caller(request)
        return caller, await self._bodies.json(request)


def _whole(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise malformed(name, "is a number from 0 on")
    return int(text)
