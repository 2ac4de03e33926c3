"""Where commands get their answers: a running gateway over HTTP, else the store itself."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

import httpx2

from qwed.cli.errors import CannotReach
from qwed.cli.serve import policy_path
from qwed.domain.json_types import Json
from qwed.settings import Settings

#: Counting a long record and drawing it takes longer than any other answer.
REPORT_SECONDS = 180.0


class Backend(Protocol):
    def agents(self, after: str | None, limit: int) -> dict[str, Json]: ...
    def get_agent(self, agent_id: str) -> dict[str, Json]: ...
    def get_agent_budget(self, agent_id: str) -> dict[str, Json]: ...
    def register_agent(self, **registration: Any) -> dict[str, Json]: ...
    def suspend(self, agent_id: str, reason: str | None = None) -> dict[str, Json]: ...
    def complain(self, agent_id: str, reason: str | None = None) -> dict[str, Json]: ...
    def reactivate(self, agent_id: str) -> dict[str, Json]: ...
    def get_agent_activity(self, agent_id: str, **query: str | int) -> dict[str, Json]: ...
    def redact(self, agent_id: str, activity_id: str, reason: str) -> dict[str, Json]: ...
    def redact_matching(self, agent_id: str, **selection: Any) -> dict[str, Json]: ...
    def redact_token(self, jti: str, reason: str) -> dict[str, Json]: ...
    def compliance_report(
        self,
        form: str,
        *,
        agent_id: str | None,
        from_: str | None,
        to: str | None,
        progress: Callable[[int, int], None] | None,
    ) -> bytes: ...
    def trust_history(self, agent_id: str, cursor: str | None = None, limit: int = 50) -> dict[str, Json]: ...
    def set_trust(self, agent_id: str, to_level: int | str, reason: str) -> dict[str, Json]: ...
    def request_trust(
        self, agent_id: str, from_level: int, to_level: int | str, justification: str
    ) -> dict[str, Json]: ...
    def trust_score(self, peer: str) -> dict[str, Json]: ...
    def seed_trust(self, peer: str, score: str, reason: str) -> dict[str, Json]: ...
    def reinstate_trust(self, peer: str, reason: str) -> dict[str, Json]: ...
    def replay_trust(self) -> dict[str, Json]: ...
    def provenance(self, jti: str, question: str) -> dict[str, Json]: ...
    def origins(self, conversation_id: str, value: str) -> dict[str, Json]: ...
    def keys(self) -> dict[str, Json]: ...
    def create_key(self, **key: Any) -> dict[str, Json]: ...
    def revoke_key(self, key_id: str) -> dict[str, Json]: ...
    def webhooks(self) -> dict[str, Json]: ...
    def create_webhook(self, **webhook: Any) -> dict[str, Json]: ...
    def drop_webhook(self, webhook_id: str) -> dict[str, Json]: ...
    def test_webhook(self, webhook_id: str) -> dict[str, Json]: ...
    def deliveries(self, webhook_id: str) -> dict[str, Json]: ...
    def retry_delivery(self, webhook_id: str, delivery_id: str) -> dict[str, Json]: ...
    def approvals(self, *, agent_id: str | None = None, status: str | None = None) -> dict[str, Json]: ...
    def get_approval(self, approval_id: str) -> dict[str, Json]: ...
    def approve(self, approval_id: str, note: str | None = None) -> dict[str, Json]: ...
    def deny(self, approval_id: str, note: str | None = None) -> dict[str, Json]: ...
    def policy(self) -> dict[str, Json]: ...
    def apply_policy(self, text: str, reason: str) -> dict[str, Json]: ...
    def reload_policy(self, reason: str) -> dict[str, Json]: ...
    def roll_back_policy(self, version: int, reason: str) -> dict[str, Json]: ...
    def policy_history(self, before: int | None = None, limit: int = 50) -> dict[str, Json]: ...
    def policy_version(self, version: int) -> dict[str, Json]: ...
    def backtest_policy(
        self,
        text: str,
        *,
        since: str | None,
        agent_id: str | None,
        reprove: bool,
        progress: Callable[[int, int], None],
    ) -> dict[str, Json]: ...
    def stop_acting(self, scope: str, name: str | None, reason: str) -> dict[str, Json]: ...
    def resume_acting(self, scope: str, name: str | None, reason: str) -> dict[str, Json]: ...
    def verify_action(
        self, agent_id: str, action: Mapping[str, Json], context: Mapping[str, Json] | None = None
    ) -> dict[str, Json]: ...


class HttpBackend:
    def __init__(self, base_url: str, api_key: str) -> None:
        self._base_url = base_url
        self._client = httpx2.Client(
            base_url=base_url, headers={"Authorization": f"Bearer {api_key}"}, timeout=30.0
        )

    def agents(self, after: str | None, limit: int) -> dict[str, Json]:
        query = {"limit": limit} | ({"after": after} if after else {})
        return self._call("GET", "/agents", params=query)

    def get_agent(self, agent_id: str) -> dict[str, Json]:
        return self._call("GET", f"/agents/{agent_id}")

    def get_agent_budget(self, agent_id: str) -> dict[str, Json]:
        return self._call("GET", f"/agents/{agent_id}/budget")

    def register_agent(self, **registration: Any) -> dict[str, Json]:
        return self._call("POST", "/agents/register", json=registration)

    def suspend(self, agent_id: str, reason: str | None = None) -> dict[str, Json]:
        return self._call("POST", f"/agents/{agent_id}/suspend", json={"reason": reason})

    def complain(self, agent_id: str, reason: str | None = None) -> dict[str, Json]:
        return self._call("POST", f"/agents/{agent_id}/complaint", json={"reason": reason})

    def reactivate(self, agent_id: str) -> dict[str, Json]:
        return self._call("POST", f"/agents/{agent_id}/reactivate")

    def get_agent_activity(self, agent_id: str, **query: str | int) -> dict[str, Json]:
        return self._call("GET", f"/agents/{agent_id}/activity", params=query)

    def approvals(self, *, agent_id: str | None = None, status: str | None = None) -> dict[str, Json]:
        given = {"agent_id": agent_id, "status": status}
        query = {name: value for name, value in given.items() if value is not None}
        return self._call("GET", "/approvals", params=query)

    def get_approval(self, approval_id: str) -> dict[str, Json]:
        return self._call("GET", f"/approvals/{approval_id}")

    def approve(self, approval_id: str, note: str | None = None) -> dict[str, Json]:
        return self._call("POST", f"/approvals/{approval_id}/approve", json={"note": note})

    def deny(self, approval_id: str, note: str | None = None) -> dict[str, Json]:
        return self._call("POST", f"/approvals/{approval_id}/deny", json={"note": note})

    def redact(self, agent_id: str, activity_id: str, reason: str) -> dict[str, Json]:
        return self._call(
            "POST", f"/agents/{agent_id}/activity/{activity_id}/redact", json={"reason": reason}
        )

    def redact_matching(self, agent_id: str, **selection: Any) -> dict[str, Json]:
        return self._call("POST", f"/agents/{agent_id}/redact", json=selection)

    def redact_token(self, jti: str, reason: str) -> dict[str, Json]:
        return self._call("POST", f"/ect/{quote(jti, safe='')}/redact", json={"reason": reason})

    def compliance_report(
        self,
        form: str,
        *,
        agent_id: str | None,
        from_: str | None,
        to: str | None,
        progress: Callable[[int, int], None] | None,
    ) -> bytes:
        given = {"format": form, "from": from_, "to": to}
        query = {name: value for name, value in given.items() if value is not None}
        path = "/compliance-report" if agent_id is None else f"/agents/{agent_id}/compliance-report"
        return self._fetch(path, params=query)

    def trust_history(self, agent_id: str, cursor: str | None = None, limit: int = 50) -> dict[str, Json]:
        query = {"limit": limit} | ({"cursor": cursor} if cursor else {})
        return self._call("GET", f"/agents/{agent_id}/trust", params=query)

    def trust_score(self, peer: str) -> dict[str, Json]:
        return self._call("GET", "/trust-score", params={"peer": peer})

    def seed_trust(self, peer: str, score: str, reason: str) -> dict[str, Json]:
        return self._call("POST", "/trust-score", json={"peer": peer, "score": score, "reason": reason})

    def reinstate_trust(self, peer: str, reason: str) -> dict[str, Json]:
        return self._call("POST", "/trust-score/reinstate", json={"peer": peer, "reason": reason})

    def replay_trust(self) -> dict[str, Json]:
        return self._call("GET", "/trust-score/replay", timeout=REPORT_SECONDS)

    def provenance(self, jti: str, question: str) -> dict[str, Json]:
        return self._call("GET", f"/provenance/{quote(jti, safe='')}/{question}")

    def origins(self, conversation_id: str, value: str) -> dict[str, Json]:
        return self._call("POST", "/origins", json={"conversation_id": conversation_id, "value": value})

    def set_trust(self, agent_id: str, to_level: int | str, reason: str) -> dict[str, Json]:
        body = {"to_level": to_level, "reason": reason}
        return self._call("POST", f"/agents/{agent_id}/trust", json=body)

    def request_trust(
        self, agent_id: str, from_level: int, to_level: int | str, justification: str
    ) -> dict[str, Json]:
        body = {"request": "trust_elevation", "from_level": from_level, "to_level": to_level}
        return self._call("POST", f"/agents/{agent_id}/trust", json={**body, "justification": justification})

    def keys(self) -> dict[str, Json]:
        return self._call("GET", "/keys")

    def create_key(self, **key: Any) -> dict[str, Json]:
        return self._call("POST", "/keys", json=key)

    def revoke_key(self, key_id: str) -> dict[str, Json]:
        return self._call("DELETE", f"/keys/{key_id}")

    def webhooks(self) -> dict[str, Json]:
        return self._call("GET", "/webhooks")

    def create_webhook(self, **webhook: Any) -> dict[str, Json]:
        return self._call("POST", "/webhooks", json=webhook)

    def drop_webhook(self, webhook_id: str) -> dict[str, Json]:
        return self._call("DELETE", f"/webhooks/{webhook_id}")

    def test_webhook(self, webhook_id: str) -> dict[str, Json]:
        return self._call("POST", f"/webhooks/{webhook_id}/test")

    def deliveries(self, webhook_id: str) -> dict[str, Json]:
        return self._call("GET", f"/webhooks/{webhook_id}/deliveries")

    def retry_delivery(self, webhook_id: str, delivery_id: str) -> dict[str, Json]:
        return self._call("POST", f"/webhooks/{webhook_id}/deliveries/{delivery_id}/retry")

    def policy(self) -> dict[str, Json]:
        return self._call("GET", "/policy")

    def apply_policy(self, text: str, reason: str) -> dict[str, Json]:
        return self._call("PUT", "/policy", json={"text": text, "reason": reason})

    def reload_policy(self, reason: str) -> dict[str, Json]:
        return self._call("POST", "/policy/reload", json={"reason": reason})

    def roll_back_policy(self, version: int, reason: str) -> dict[str, Json]:
        return self._call("POST", "/policy/rollback", json={"version": version, "reason": reason})

    def policy_history(self, before: int | None = None, limit: int = 50) -> dict[str, Json]:
        query = {"limit": limit} | ({"before": before} if before else {})
        return self._call("GET", "/policy/history", params=query)

    def policy_version(self, version: int) -> dict[str, Json]:
        return self._call("GET", f"/policy/versions/{version}")

    def backtest_policy(
        self,
        text: str,
        *,
        since: str | None,
        agent_id: str | None,
        reprove: bool,
        progress: Callable[[int, int], None],
    ) -> dict[str, Json]:
        body: dict[str, Json] = {"text": text, "since": since, "agent_id": agent_id, "reprove": reprove}
        report, after = {}, 0
        while after is not None:
            report = self._call(
                "POST", "/policy/backtest", json={**body, "after": after}, timeout=REPORT_SECONDS
            )
            after, total = report.pop("next"), report.pop("total")
            progress(total if after is None else after, total)
        report.pop("policy_version")
        return report

    def stop_acting(self, scope: str, name: str | None, reason: str) -> dict[str, Json]:
        return self._call("POST", "/stop", json={"scope": scope, "name": name, "reason": reason})

    def resume_acting(self, scope: str, name: str | None, reason: str) -> dict[str, Json]:
        return self._call("POST", "/resume", json={"scope": scope, "name": name, "reason": reason})

    def verify_action(
        self, agent_id: str, action: Mapping[str, Json], context: Mapping[str, Json] | None = None
    ) -> dict[str, Json]:
        body = {"action": action, "context": context}
        return self._call("POST", f"/agents/{agent_id}/verify", json=body)

    def _fetch(self, path: str, **request: Any) -> bytes:
        """A file as it is; what is not one is read as the refusal it must be."""
        try:
            response = self._client.request("GET", path, timeout=REPORT_SECONDS, **request)
        except httpx2.HTTPError as error:
            raise CannotReach(_explain_no_answer(self._base_url, error)) from None
        if response.status_code == 200:
            return response.content
        _read(response, self._base_url)
        raise CannotReach(f"the gateway at {self._base_url} answered {response.status_code}")

    def _call(self, method: str, path: str, **request: Any) -> dict[str, Json]:
        try:
            response = self._client.request(method, path, **request)
        except httpx2.HTTPError as error:
            raise CannotReach(_explain_no_answer(self._base_url, error)) from None
        return _read(response, self._base_url)

    def close(self) -> None:
        self._client.close()


def _explain_no_answer(base_url: str, error: httpx2.HTTPError) -> str:
    if isinstance(error, httpx2.ConnectError):
        return f"no gateway answers at {base_url}: start one with qwed serve, or correct QWED_BASE_URL"
    return f"no gateway answers at {base_url} ({type(error).__name__})"


def _read(response: httpx2.Response, base_url: str) -> dict[str, Json]:
    try:
        body: dict[str, Json] = response.json()
    except ValueError:
        raise CannotReach(f"what answers at {base_url} is not a QWED gateway") from None
    if "decision" not in body and "error" in body:
        raise CannotReach(f"{body['error']['message']} ({body['error']['code']})")
    return body


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

    if isinstance(settings.database, Path) and not settings.database.exists():
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
