"""Where commands get their answers: a running gateway over HTTP, else the store itself."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import httpx2

from qwed.cli.errors import CannotReach
from qwed.cli.serve import policy_path
from qwed.settings import Settings


class Backend(Protocol):
    def agents(self, after: str | None, limit: int) -> dict[str, Any]: ...
    def get_agent(self, agent_id: str) -> dict[str, Any]: ...
    def get_agent_budget(self, agent_id: str) -> dict[str, Any]: ...
    def register_agent(self, **registration: Any) -> dict[str, Any]: ...
    def suspend(self, agent_id: str, reason: str | None = None) -> dict[str, Any]: ...
    def reactivate(self, agent_id: str) -> dict[str, Any]: ...
    def get_agent_activity(self, agent_id: str, **query: str | int) -> dict[str, Any]: ...
    def keys(self) -> dict[str, Any]: ...
    def create_key(self, **key: Any) -> dict[str, Any]: ...
    def revoke_key(self, key_id: str) -> dict[str, Any]: ...
    def approvals(self, *, agent_id: str | None = None, status: str | None = None) -> dict[str, Any]: ...
    def get_approval(self, approval_id: str) -> dict[str, Any]: ...
    def approve(self, approval_id: str, note: str | None = None) -> dict[str, Any]: ...
    def deny(self, approval_id: str, note: str | None = None) -> dict[str, Any]: ...
    def verify_action(
        self, agent_id: str, action: Mapping[str, Any], context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]: ...


class HttpBackend:
    def __init__(self, base_url: str, api_key: str) -> None:
        self._base_url = base_url
        self._client = httpx2.Client(
            base_url=base_url, headers={"Authorization": f"Bearer {api_key}"}, timeout=30.0
        )

    def agents(self, after: str | None, limit: int) -> dict[str, Any]:
        query = {"limit": limit} | ({"after": after} if after else {})
        return self._call("GET", "/agents", params=query)

    def get_agent(self, agent_id: str) -> dict[str, Any]:
        return self._call("GET", f"/agents/{agent_id}")

    def get_agent_budget(self, agent_id: str) -> dict[str, Any]:
        return self._call("GET", f"/agents/{agent_id}/budget")

    def register_agent(self, **registration: Any) -> dict[str, Any]:
        return self._call("POST", "/agents/register", json=registration)

    def suspend(self, agent_id: str, reason: str | None = None) -> dict[str, Any]:
        return self._call("POST", f"/agents/{agent_id}/suspend", json={"reason": reason})

    def reactivate(self, agent_id: str) -> dict[str, Any]:
        return self._call("POST", f"/agents/{agent_id}/reactivate")

    def get_agent_activity(self, agent_id: str, **query: str | int) -> dict[str, Any]:
        return self._call("GET", f"/agents/{agent_id}/activity", params=query)

    def approvals(self, *, agent_id: str | None = None, status: str | None = None) -> dict[str, Any]:
        given = {"agent_id": agent_id, "status": status}
        query = {name: value for name, value in given.items() if value is not None}
        return self._call("GET", "/approvals", params=query)

    def get_approval(self, approval_id: str) -> dict[str, Any]:
        return self._call("GET", f"/approvals/{approval_id}")

    def approve(self, approval_id: str, note: str | None = None) -> dict[str, Any]:
        return self._call("POST", f"/approvals/{approval_id}/approve", json={"note": note})

    def deny(self, approval_id: str, note: str | None = None) -> dict[str, Any]:
        return self._call("POST", f"/approvals/{approval_id}/deny", json={"note": note})

    def keys(self) -> dict[str, Any]:
        return self._call("GET", "/keys")

    def create_key(self, **key: Any) -> dict[str, Any]:
        return self._call("POST", "/keys", json=key)

    def revoke_key(self, key_id: str) -> dict[str, Any]:
        return self._call("DELETE", f"/keys/{key_id}")

    def verify_action(
        self, agent_id: str, action: Mapping[str, Any], context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        body = {"action": action, "context": context}
        return self._call("POST", f"/agents/{agent_id}/verify", json=body)

    def _call(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        try:
            response = self._client.request(method, path, **request)
            body: dict[str, Any] = response.json()
        except httpx2.HTTPError as error:
            raise CannotReach(f"no gateway answers at {self._base_url} ({type(error).__name__})") from None
        except ValueError:
            raise CannotReach(f"what answers at {self._base_url} is not a QWED gateway") from None
        if "decision" not in body and "error" in body:
            raise CannotReach(f"{body['error']['message']} ({body['error']['code']})")
        return body

    def close(self) -> None:
        self._client.close()


@contextlib.contextmanager
def open_backend(settings: Settings) -> Iterator[Backend]:
    """`QWED_BASE_URL` names a gateway; without it the store is opened, unless a gateway owns it."""
    if settings.base_url is not None:
        yield from _http(settings, settings.base_url)
        return
    gateway = _local(settings)
    if gateway is None:
        scheme = "https" if settings.tls_cert else "http"
        yield from _http(settings, f"{scheme}://{settings.host}:{settings.port}")
        return
    try:
        yield gateway
    finally:
        gateway.close()


def _http(settings: Settings, base_url: str) -> Iterator[Backend]:
    if settings.api_key is None:
        raise CannotReach(f"the gateway at {base_url} needs a key: set QWED_API_KEY")
    backend = HttpBackend(base_url, settings.api_key.reveal())
    try:
        yield backend
    finally:
        backend.close()


def _local(settings: Settings) -> Any:
    """The gateway's own store and rules in this process, or None where a running gateway owns them."""
    from qwed import bootstrap  # noqa: PLC0415 - the engines are not needed to speak HTTP
    from qwed.embedded import Gateway  # noqa: PLC0415
    from qwed.stores import DatabaseInUse  # noqa: PLC0415

    if not isinstance(settings.database, str) and not settings.database.exists():
        raise CannotReach(
            f"there is no store at {settings.database}: start a gateway with 'qwed serve', or name one"
            " with QWED_BASE_URL or --database"
        )
    try:
        return Gateway(bootstrap.build_from_settings(settings, policy_path(settings)))
    except DatabaseInUse:
        return None
    except bootstrap.CannotStart as error:
        raise CannotReach(str(error)) from None
