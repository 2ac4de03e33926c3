"""A whole gateway in this process, with its HTTP door, on fakes where a test wants to decide."""

import asyncio
import io
import weakref
from pathlib import Path
from typing import Any

import httpx2
import msgspec
from tests.support.fakes import FakeClock, ToldProver

from qwed import Gateway, bootstrap
from qwed.domain.agents import Agent, AgentId
from qwed.domain.policy import DEFAULT_POLICY, Policy
from qwed.ect.keys import NodeSigner, generate
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.issuers import Issuers
from qwed.gateway.kernel.shared_state import LocalCommons
from qwed.http.app import create_app
from qwed.http.logs import EventLog
from qwed.stores import open_memory

SIGNER = NodeSigner(generate(), "test")
OPERATOR_KEY = "qwed_live_operator-of-the-test-gateway"
ENGINES = ["math", "logic", "fact", "sql", "code"]


class World:
    """One gateway. `call` speaks HTTP to it; without a key it speaks as the operator."""

    def __init__(
        self,
        *,
        policy: Policy = DEFAULT_POLICY,
        store: Any = None,
        clock: FakeClock | None = None,
        prover: Any = None,
        signer: Any = SIGNER,
        state_required: bool = False,
        address: str = "127.0.0.1",
        issuers: Issuers | None = None,
        database: Path | None = None,
        public_log: bool = False,
    ) -> None:
        self.clock = clock or FakeClock()
        self.prover = prover or ToldProver()
        self._built = bootstrap.build(database, policy=policy, state_required=state_required, issuers=issuers)
        if database is not None:
            store, signer = self._built.store, self._built.signer
        self.services = msgspec.structs.replace(
            self._built,
            store=store or open_memory(policy, self.clock, SIGNER),
            clock=self.clock,
            commons=LocalCommons(self.clock.counter),
            signer=signer,
            prover=self.prover,
            issuers=issuers or Issuers(),
            public_log=public_log,
            address_problems=lambda url: [] if url.startswith("https://") else ["needs https"],
        )
        bootstrap.first_operator_key(self.services, OPERATOR_KEY)
        self.gateway = Gateway(self.services)
        self.log = io.BytesIO()
        self._events = EventLog(stream=self.log)
        self._app = create_app(self.services, log=self._events)
        self._address = address
        self._runner = asyncio.Runner()
        # A world that a test forgets must not leave its sockets to the next test.
        weakref.finalize(self, self._runner.close)

    def close(self) -> None:
        self._runner.close()
        self._events.close()
        self.services.store.close()
        bootstrap.close(self._built)

    def run(self, coroutine: Any) -> Any:
        return self._runner.run(coroutine)

    def client(self, address: str | None = None) -> httpx2.AsyncClient:
        transport = httpx2.ASGITransport(
            self._app, raise_app_exceptions=False, client=(address or self._address, 1)
        )
        return httpx2.AsyncClient(transport=transport, base_url="http://gateway")

    def call(
        self, method: str, path: str, *, key: str | None = OPERATOR_KEY, address: str | None = None, **request
    ) -> httpx2.Response:
        headers = dict(request.pop("headers", {}))
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"

        async def send() -> httpx2.Response:
            async with self.client(address) as client:
                return await client.request(method, path, headers=headers, **request)

        return self.run(send())

    def register(self, *, key: str | None = OPERATOR_KEY, **registration: Any) -> dict[str, Any]:
        permissions = {"allowed_engines": ENGINES, **registration.pop("permissions", {})}
        body = {
            "name": "tester",
            "type": "autonomous",
            "principal_id": "acme",
            "permissions": permissions,
            **registration,
        }
        response = self.call("POST", "/agents/register", key=key, json=body)
        assert response.status_code == 201, response.text
        return response.json()

    def principal_key(self, principal_id: str = "acme", **more: Any) -> str:
        response = self.call("POST", "/keys", json={"principal_id": principal_id, **more})
        assert response.status_code == 201, response.text
        return response.json()["api_key"]

    def stored(self, agent: dict[str, Any]) -> Agent:
        found = run(self.services.store.agent(AgentId(agent["agent_id"])))
        assert found is not None
        return found

    def verify_response(
        self,
        agent: dict[str, Any],
        action: dict[str, Any] | None = None,
        step: Any = 1,
        conversation: str = "c",
        *,
        key: str | None = OPERATOR_KEY,
        headers: dict[str, str] | None = None,
        context: Any = None,
        **body: Any,
    ) -> httpx2.Response:
        if context is None:
            context = {"conversation_id": conversation, "step_number": step}
        return self.call(
            "POST",
            f"/agents/{agent['agent_id']}/verify",
            key=key,
            headers=headers or {},
            json={"action": action or calculate(), "context": context, **body},
        )

    def verify(self, *arguments: Any, **named: Any) -> dict[str, Any]:
        return self.verify_response(*arguments, **named).json()

    def activity(self, agent: dict[str, Any], **query: Any) -> dict[str, Any]:
        return self.call("GET", f"/agents/{agent['agent_id']}/activity", params=query).json()

    def decisions(self, agent: dict[str, Any]) -> list[dict[str, Any]]:
        """Everything decided about this agent, newest first; changes by people left out."""
        return [e for e in self.activity(agent, limit=1000)["activities"] if e["decision"] != "NOTED"]

    def budget(self, agent: dict[str, Any]) -> dict[str, Any]:
        return self.call("GET", f"/agents/{agent['agent_id']}/budget").json()


def calculate(query: str = "2+2", **more: Any) -> dict[str, Any]:
    return {"type": "calculate", "query": query, **more}


def code_of(answer: dict[str, Any]) -> str | None:
    return answer.get("error", {}).get("code")
