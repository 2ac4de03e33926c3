"""Who asks: agents with conversations and keys of their own, and people with API keys."""

import uuid
from typing import Any

from tests.oracle.world import Answer, World

from qwed.ect import KeyRing, generate, issue

ENGINES = ["math", "logic", "fact", "sql", "code"]
PLENTY = {"max_requests_per_hour": None, "max_daily_cost_usd": None, "max_requests_per_day": None}
STATE_SOURCES = ("file_tree", "db_snapshot", "conversation_digest", "git_tree", "custom")


class Actor:
    """A registered agent. It remembers its steps, what it was granted and what waits for a person."""

    def __init__(self, world: World, name: str, by: str = "operator", **registration: Any) -> None:
        self.world, self.name = world, name
        body = {"name": name, "type": "autonomous", "principal_id": "acme", **registration}
        body["permissions"] = {"allowed_engines": ENGINES, **registration.get("permissions", {})}
        answer = world.call("POST", "/agents/register", body, by=by)
        self.is_registered = answer.status == 201
        self.agent_id = answer.get("agent_id") or "agent_0000000000000000"
        self.did = answer.get("did") or "did:qwed:agent:agent_0000000000000000"
        world.credentials[name] = answer.get("agent_token")
        self.steps: dict[str, int] = {}
        self.approved: list[str] = []
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.ring: KeyRing | None = None

    @property
    def path(self) -> str:
        return f"/agents/{self.agent_id}"

    def context(self, conversation: str = "c", step: Any = None, **more: Any) -> dict[str, Any]:
        number = self.steps.get(conversation, 0) + 1 if step is None else step
        return {"conversation_id": conversation, "step_number": number, **more}

    def verify(
        self,
        action: Any,
        context: Any = None,
        *,
        by: str | None = None,
        headers: dict[str, str] | None = None,
        ects: tuple[str, ...] = (),
        note: str | None = None,
        **body: Any,
    ) -> Answer:
        context = self.context() if context is None else context
        sent = {"action": action, "context": context, **body}
        return self._ask(f"{self.path}/verify", sent, action, context, by, headers, ects, note)

    def use_tool(
        self,
        tool: str,
        parameters: Any = None,
        context: Any = None,
        *,
        by: str | None = None,
        headers: dict[str, str] | None = None,
        ects: tuple[str, ...] = (),
        note: str | None = None,
        **body: Any,
    ) -> Answer:
        sent = {"parameters": parameters, "context": context, **body}
        sent = {name: value for name, value in sent.items() if value is not None}
        action = {"type": tool, "parameters": parameters or {}}
        return self._ask(f"{self.path}/tools/{tool}", sent, action, context, by, headers, ects, note)

    def _ask(
        self,
        target: str,
        sent: Any,
        action: Any,
        context: Any,
        by: str | None,
        headers: Any,
        ects: Any,
        note: Any,
    ) -> Answer:
        headers = dict(headers or {})
        if ects:
            headers["Execution-Context"] = ", ".join(ects)
        answer = self.world.call("POST", target, sent, by=by or self.name, headers=headers, note=note)
        self.remember(answer, action, context)
        return answer

    def remember(self, answer: Answer, action: Any, context: Any) -> None:
        if answer.decision in ("APPROVED", "CORRECTED", "PENDING") and isinstance(context, dict):
            self.steps[context["conversation_id"]] = context["step_number"]
        if answer.decision in ("APPROVED", "CORRECTED"):
            self.approved.append(answer.body["activity_id"])
        if answer.decision == "PENDING":
            wanted = answer.get("corrected_action") or action
            self.asked.append((answer.body["approval"]["id"], wanted))

    # --- after a decision ----------------------------------------------------------------------

    def redeem(self, approval_id: str, action: Any, by: str | None = None, note: str | None = None) -> Answer:
        target = f"/approvals/{approval_id}/redeem"
        answer = self.world.call("POST", target, {"action": action}, by=by or self.name, note=note)
        if answer.decision == "APPROVED":
            self.approved.append(answer.body["activity_id"])
        return answer

    def report(
        self, activity_id: str, outcome: Any = "success", by: str | None = None, **more: Any
    ) -> Answer:
        target = f"{self.path}/activity/{activity_id}/outcome"
        return self.world.call("POST", target, {"outcome": outcome, **more}, by=by or self.name)

    def settle(self, activity_id: str, outcome: str = "success", by: str = "operator", **more: Any) -> Answer:
        target = f"{self.path}/activity/{activity_id}/outcome/settle"
        return self.world.call("POST", target, {"outcome": outcome, **more}, by=by)

    # --- tokens --------------------------------------------------------------------------------

    def publish_keys(self) -> None:
        self.ring = KeyRing(self.did, generate())
        self.world.call("PUT", f"{self.path}/ect-keys", {"keys": self.ring.jwks()["keys"]})

    def token(self, act: str = "research", **claims: Any) -> str:
        """Signed by the agent, for this gateway."""
        if self.ring is None:
            self.publish_keys()
        now = claims.pop("now", self.world.clock.now // 1000)
        claims.setdefault("jti", new_id(self.world))
        ring = claims.pop("ring", self.ring)
        return issue(ring, act, claims.pop("aud", self.world.gateway.issuer), now, **claims)

    def submit(self, *tokens: str, by: str | None = None) -> Answer:
        return self.world.call("POST", "/ect", {"ects": list(tokens)}, by=by or self.name)


def new_id(world: World) -> str:
    return str(uuid.UUID(int=world.chance.getrandbits(128), version=4))


def person(world: World, name: str, principal: str | None = "acme", **key: Any) -> str:
    """A key under a name; `scopes` are those of somebody who answers, unless they are given."""
    body = {"scopes": ["approve", "read"], **key}
    if principal is not None:
        body["principal_id"] = principal
    answer = world.call("POST", "/keys", body)
    world.credentials[name] = answer.get("api_key")
    return name


def vote(world: World, approval_id: str, by: str, how: str = "approve", **body: Any) -> Answer:
    return world.call("POST", f"/approvals/{approval_id}/{how}", body, by=by)


def look_around(world: World, *actors: Actor) -> None:
    """The state that is left, as everybody can read it."""
    for actor in actors:
        if actor.is_registered:
            for part in ("", "/budget", "/activity?limit=200", "/trust", "/conversations"):
                world.call("GET", actor.path + part)
    for target in ("/agents", "/approvals?limit=200", "/keys", "/webhooks", "/overview", "/ready"):
        world.call("GET", target)
