"""A real gateway with one agent behind it, and a person who answers what waits."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.server import OPERATOR_KEY, Server

from qwed_sdk import Approval, AsyncQWEDClient, QWEDClient, ToolGate

#: At trust 2: lookup_order and calculate run, publish_page waits for a person, wipe_disk is denied.
POLICY = """
tools:
  lookup_order: {group: safe}
  publish_page: {risk: high}
  wipe_disk: {risk: critical}
  transfer_to_writer: {group: safe}
sql:
  correct_missing_limit: 100
principals:
  max_agents: null
"""


class Protected:
    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        policy = folder / "qwed.yaml"
        policy.write_text(POLICY, encoding="utf-8")
        self.server = Server(folder, "--config", str(policy))

    def start(self) -> None:
        self.server.start()
        self.key = self.server.principal_key("acme")
        self.client = QWEDClient(self.key, self.server.base_url, max_tries=1)
        self.person = QWEDClient(OPERATOR_KEY, self.server.base_url)
        self.agent_id = self.new_agent()

    def new_agent(self) -> str:
        agent = self.client.register_agent(
            "tester",
            "autonomous",
            "acme",
            permissions={"allowed_engines": ["math", "logic", "sql"], "allowed_tools": ["own_tool"]},
        )
        self.agent_id = agent.agent_id
        return agent.agent_id

    def stop(self) -> None:
        self.client.close()
        self.person.close()
        if self.server.process is not None and self.server.process.poll() is None:
            self.server.stop()

    def async_client(self) -> AsyncQWEDClient:
        """With the agent's token, as a process of the agent's own would have it."""
        made = AsyncQWEDClient(base_url=self.server.base_url, max_tries=1)
        made.use_agent_token(self.agent_id, self.client._connection.tokens[self.agent_id])
        return made

    def gate(self, **options: Any) -> ToolGate:
        return ToolGate(self.agent_id, **{"client": self.client, "wait_seconds": 60, **options})

    def record(self) -> list[tuple[str, str, str | None]]:
        """What was decided and what became of it, oldest first."""
        entries = self.client.iterate_agent_activity(self.agent_id)
        return [
            (entry["action_type"], entry["decision"], (entry.get("execution") or {}).get("outcome"))
            for entry in reversed(list(entries))
            if entry["decision"] != "NOTED"
        ]

    def open_approval(self, within: float = 60) -> Approval:
        end = time.monotonic() + within
        while time.monotonic() < end:
            found = self.person.approvals(agent_id=self.agent_id, status="open")
            if found:
                return found[0]
            time.sleep(0.02)
        raise AssertionError("nothing waits for a person")

    @contextmanager
    def person_answers(self, verb: str = "approve", **answer: Any) -> Iterator[list[Approval]]:
        """While the block runs, a person answers the first thing that waits. Yields what was waiting."""
        seen: list[Approval] = []

        def answer_one() -> None:
            approval = self.open_approval()
            seen.append(approval)
            getattr(self.person, verb)(approval["id"], **answer)

        thread = threading.Thread(target=answer_one)
        thread.start()
        try:
            yield seen
        finally:
            thread.join(60)
