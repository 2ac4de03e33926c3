"""A gateway that stays in the middle of one decision, to be killed there.

Its arguments: URL, key file, agent, idempotency key.
"""

import sys
import threading
from pathlib import Path
from typing import Any

import msgspec

from qwed import bootstrap
from qwed.domain.agents import Agent, AgentId
from qwed.domain.credentials import Caller
from qwed.gateway.decide.doors import verify_action
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.requests import read_verify
from qwed.gateway.kernel.services import Services
from qwed.settings import PostgresUrl

ASKED = {
    "action": {"type": "calculate", "query": "2+2=4"},
    "context": {"conversation_id": "c", "step_number": 1},
}


class HangingProver:
    async def prove(self, *_: Any) -> Any:
        print("at work", flush=True)
        threading.Event().wait()

    def warm(self) -> None:
        pass

    def close(self) -> None:
        pass


def build(url: str, key: Path) -> Services:
    return bootstrap.build(PostgresUrl(url), signing_key=key)


def ask(services: Services, agent: Agent, key: bytes) -> Any:
    caller = Caller(agent_id=agent.agent_id, principal_id=agent.principal_id)
    return run(verify_action(services, caller, agent.agent_id, read_verify(ASKED, key)))


def main(url: str, key: str, agent_id: str, idempotency: str) -> None:
    services = msgspec.structs.replace(build(url, Path(key)), prover=HangingProver())
    agent = run(services.store.agent(AgentId(agent_id)))
    assert agent is not None
    ask(services, agent, idempotency.encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
