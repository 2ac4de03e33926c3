"""Cedar policies on a real server: they deny at every door, a grant included, and the record says why."""

import json
import subprocess
import sys
from pathlib import Path

from tests.support.server import Server, clean_environment

POLICY = """
tools:
  refund: {group: safe}
  delete_report: {group: dangerous}
cedar: |
  permit (principal, action, resource);

  @id("no-big-refunds")
  forbid (principal, action == Action::"refund", resource)
  when { context.action.parameters has amount && context.action.parameters.amount > 500 };

  @id("keep-ledgers")
  forbid (principal, action == Action::"delete_report", resource)
  when { context.action.parameters.name == "ledger" };
"""


def test_cedar_denies_at_the_tool_door_and_the_record_replays(tmp_path: Path):
    (tmp_path / "policy.yaml").write_text(POLICY)
    with Server(tmp_path, "--config", str(tmp_path / "policy.yaml")) as server:
        agent = server.register(permissions={})["agent_id"]

        def call(tool: str, step: int, **arguments: object) -> dict:
            context = {"conversation_id": "c", "step_number": step}
            body = {"parameters": arguments, "context": context}
            return server.call("POST", f"/agents/{agent}/tools/{tool}", json=body).json()

        small, big, text = (
            call("refund", at, amount=amount) for at, amount in ((1, 5), (2, 900), (2, "900"))
        )
        assert small["decision"] != "DENIED", small
        assert big["decision"] == text["decision"] == "DENIED"
        assert big["error"]["code"] == text["error"]["code"] == "QWED-AGENT-RULE-004"
        assert (
            "no-big-refunds" in big["error"]["message"] and "can't be evaluated" in text["error"]["message"]
        )

    done = subprocess.run(
        [sys.executable, "-m", "qwed", "ledger", "replay", "--database", "qwed.db", "--json"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=clean_environment(QWED_CONFIG=str(tmp_path / "policy.yaml")),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    replayed = json.loads(done.stdout)
    assert replayed["differences"] == [] and sum(n for n in replayed.values() if isinstance(n, int)) >= 3
