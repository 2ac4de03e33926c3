"""One way to fail each numbered check of the protocol, made so that several can be combined."""

from collections.abc import Callable
from typing import Any

import msgspec
from tests.support.world import OPERATOR_KEY, World

from qwed.domain.admission import Attempt
from qwed.domain.budgets import FREE
from qwed.domain.findings import Failure, Status
from qwed.domain.risk import Risk
from qwed.gateway.kernel.coroutines import run

STATE = {"pre_action_state_hash": "ab" * 32, "state_source": "git_tree"}


class Plan:
    """A request that would be approved, until faults are put into it or into the world around it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.type = "calculate"
        self.history: list[bool] = []  # True: the action itself; False: another one
        self.context: dict[str, Any] = {"conversation_id": "c", "step_number": 10}
        self.parameters = "{}"
        self.key: str | None = None
        self.agent_id: str | None = None
        self.after_history: list[Callable[[dict[str, Any]], Any]] = []

    def action(self, query: str = "2+2") -> str:
        return f'{{"type":"{self.type}","query":"{query}","parameters":{self.parameters}}}'

    def send(self) -> Any:
        world = self.world
        self.agent = world.register(permissions={"allowed_tools": ["mystery"]})
        parameters, self.parameters = self.parameters, "{}"
        for step, same in enumerate(self.history, start=1):
            context = {**STATE, "conversation_id": "c", "step_number": step}
            assert self._post(self.action("2+2" if same else "3+3"), context)["decision"] == "APPROVED"
        self.parameters = parameters
        for change in self.after_history:
            change(self.agent)
        return self.post()

    def post(self) -> Any:
        return self.world.call("POST", self._path(), content=self._body(), key=self.key or OPERATOR_KEY)

    def _post(self, action: str, context: dict[str, Any]) -> dict[str, Any]:
        body = f'{{"action":{action},"context":{msgspec.json.encode(context).decode()}}}'
        return self.world.call("POST", f"/agents/{self.agent['agent_id']}/verify", content=body).json()

    def _path(self) -> str:
        return f"/agents/{self.agent_id or self.agent['agent_id']}/verify"

    def _body(self) -> str:
        return f'{{"action":{self.action()},"context":{msgspec.json.encode(self.context).decode()}}}'

    def patch(self, **changes: Any) -> None:
        self.after_history.append(
            lambda agent: self.world.call("PATCH", f"/agents/{agent['agent_id']}", json=changes)
        )

    def after(self, change: Callable[[], Any]) -> None:
        self.after_history.append(lambda _: change())


def wrong_token(plan: Plan) -> None:
    plan.key = "qwed_agent_wrong"


def unknown_agent(plan: Plan) -> None:
    plan.agent_id = "agent_000000000000"


def suspended(plan: Plan) -> None:
    plan.after_history.append(
        lambda agent: plan.world.call("POST", f"/agents/{agent['agent_id']}/suspend", json={})
    )


def no_conversation(plan: Plan) -> None:
    plan.context.pop("conversation_id")


def step_is_text(plan: Plan) -> None:
    plan.context["step_number"] = "10"


def step_beyond_the_limit(plan: Plan) -> None:
    plan.context["step_number"] = 51


def nan_parameter(plan: Plan) -> None:
    plan.parameters = '{"x":NaN}'


def step_in_flight(plan: Plan) -> None:
    def hold(agent: dict[str, Any]) -> None:
        world = plan.world
        attempt = Attempt("c", 9, b"\0" * 32, FREE)
        plan.admission = run(world.services.store.admit(world.stored(agent), attempt, world.clock.now_ms()))

    # Before any other fault could refuse it.
    plan.after_history.insert(0, hold)


def third_in_a_row(plan: Plan) -> None:
    plan.history = [True, True]


def hash_without_source(plan: Plan) -> None:
    if plan.context.get("state_source") == "hearsay":
        plan.context.pop("pre_action_state_hash")
    else:
        plan.context.setdefault("pre_action_state_hash", STATE["pre_action_state_hash"])
        plan.context.pop("state_source", None)


def malformed_hash(plan: Plan) -> None:
    plan.context["pre_action_state_hash"] = "AB" * 32
    plan.context.setdefault("state_source", "git_tree")


def unknown_source(plan: Plan) -> None:
    plan.context.setdefault("pre_action_state_hash", STATE["pre_action_state_hash"])
    plan.context["state_source"] = "hearsay"


def third_on_one_state(plan: Plan) -> None:
    plan.history = plan.history or [True, False, True]
    plan.context.update(STATE)


def hour_used_up(plan: Plan) -> None:
    plan.patch(budget={"max_requests_per_hour": 0})


def unregistered_type(plan: Plan) -> None:
    plan.type = "mystery"
    plan.patch(permissions={"allowed_engines": ["math"], "allowed_tools": []})


def blocked_type(plan: Plan) -> None:
    plan.patch(permissions={"allowed_engines": ["math"], "blocked_tools": ["calculate", "mystery"]})


def disproved(plan: Plan) -> None:
    plan.after(lambda: _tell(plan, Status.FAILED, Risk.LOW))


def too_risky(plan: Plan) -> None:
    plan.after(lambda: _tell(plan, Status.VERIFIED, Risk.CRITICAL))


def disproved_and_too_risky(plan: Plan) -> None:
    plan.after(lambda: _tell(plan, Status.FAILED, Risk.CRITICAL))


def _tell(plan: Plan, status: Status, risk: Risk) -> None:
    failure = Failure.INCORRECT if status is Status.FAILED else None
    plan.world.prover.says(status, risk, failure=failure)


#: Row of the table → fault and the code it must get.
FAULTS: dict[int, tuple[Callable[[Plan], None], str]] = {
    1: (wrong_token, "QWED-AGENT-002"),
    2: (unknown_agent, "QWED-AGENT-001"),
    3: (suspended, "QWED-AGENT-003"),
    4: (no_conversation, "QWED-AGENT-CTX-001"),
    5: (step_is_text, "QWED-AGENT-CTX-002"),
    6: (step_beyond_the_limit, "QWED-AGENT-LOOP-001"),
    7: (nan_parameter, "QWED-AGENT-STATE-004"),
    8: (step_in_flight, "QWED-AGENT-LOOP-002"),
    9: (third_in_a_row, "QWED-AGENT-LOOP-003"),
    10: (hash_without_source, "QWED-AGENT-STATE-001"),
    11: (malformed_hash, "QWED-AGENT-STATE-002"),
    12: (unknown_source, "QWED-AGENT-STATE-003"),
    13: (third_on_one_state, "QWED-AGENT-LOOP-004"),
    14: (hour_used_up, "QWED-AGENT-BUDGET-002"),
    15: (unregistered_type, "QWED-AGENT-ACTION-001"),
    16: (blocked_type, "QWED-AGENT-004"),
    17: (disproved, "QWED-AGENT-005"),
    18: (too_risky, "QWED-AGENT-TRUST-001"),
}

#: Both faults want the same field to be two things at once.
EXCLUSIVE = {(5, 6), (10, 13), (11, 13), (12, 13)}
