"""What the scope `audit` covers: with `read`, the record of every principal; and never a change."""

from collections.abc import Iterator

import pytest
from tests.support.world import World, calculate

from qwed.domain.nodes import jti_of

MAIL = {"type": "send_email", "parameters": {"to": "a@example.com", "subject": "s", "body": "hello"}}


class Audited(World):
    """A decision and an approval that waits, of the principal `umbrella`; auditors belong to `acme`."""

    def __init__(self) -> None:
        super().__init__()
        self.agent = self.register(type="supervised", principal_id="umbrella")["agent_id"]
        self.decided = self.verify({"agent_id": self.agent}, calculate())["activity_id"]
        self.waiting = self.verify({"agent_id": self.agent}, MAIL, step=2)["approval"]["id"]
        self.reads = (
            f"/activity/{self.decided}",
            f"/agents/{self.agent}/activity",
            f"/agents/{self.agent}/conversations",
            f"/ect/{jti_of(self.decided)}",
            f"/provenance/{jti_of(self.decided)}/graph",
        )

    def status(self, method: str, path: str, key: str, **request: object) -> int:
        return self.call(method, path, key=key, **request).status_code


@pytest.fixture
def world() -> Iterator[Audited]:
    world = Audited()
    yield world
    world.close()


def test_an_auditor_reads_the_record_of_every_principal(world: Audited):
    key = world.principal_key(scopes=["read", "audit"])

    assert {path: world.status("GET", path, key) for path in world.reads} == dict.fromkeys(world.reads, 200)
    found = world.call("GET", "/activity", key=key).json()
    assert {entry["activity_id"] for entry in found["activities"]} >= {world.decided}
    assert found == world.call("GET", "/activity").json()
    assert world.call("GET", "/overview", key=key).json()["waiting"] == 1
    report = world.call("GET", "/compliance-report", key=key)
    assert report.json()["scope"]["kind"] == "deployment"


@pytest.mark.parametrize("scopes", [["audit"], ["read"]])
def test_one_of_the_two_scopes_alone_reads_no_foreign_record(world: Audited, scopes: list[str]):
    key = world.principal_key(scopes=scopes)

    assert {world.status("GET", path, key) for path in world.reads} <= {403, 404}
    assert world.decided not in world.call("GET", "/activity", key=key).text


def test_an_auditor_changes_nothing_of_another_principal(world: Audited):
    every = ["read", "audit", "verify", "register", "approve", "trust", "permits"]
    key = world.principal_key(scopes=every)
    reason = {"reason": "because"}
    changes = (
        ("POST", f"/approvals/{world.waiting}/approve", {}),
        ("POST", f"/approvals/{world.waiting}/deny", {}),
        ("POST", f"/agents/{world.agent}/suspend", reason),
        ("POST", f"/agents/{world.agent}/rotate-token", {}),
        ("POST", f"/agents/{world.agent}/verify", {"action": calculate()}),
        ("POST", f"/agents/{world.agent}/activity/{world.decided}/redact", reason),
        ("POST", f"/agents/{world.agent}/redact", {**reason, "before": "2100-01-01T00:00:00Z"}),
        ("POST", f"/ect/{jti_of(world.decided)}/redact", reason),
    )

    statuses = {path: world.status(method, path, key, json=body) for method, path, body in changes}
    assert set(statuses.values()) <= {401, 403, 404}, statuses
    assert world.call("GET", f"/approvals/{world.waiting}").json()["status"] == "open"
