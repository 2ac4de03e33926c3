"""Conduct against a small model: random deeds, days and restarts through a whole gateway on SQLite.

The model keeps every deed and works the level out afresh from the first, by the sentences of section 8.
"""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.support.fakes import DAY, SECOND, FakeClock
from tests.support.world import SIGNER, World, calculate

from qwed.domain.findings import Failure, Finding, Status
from qwed.domain.policy import ApprovalRules, Policy
from qwed.domain.risk import Risk
from qwed.stores import open_sqlite

POLICY = Policy(approvals=ApprovalRules(max_open=100_000))


def level_after(start: int, deeds: list[tuple[str, int]]) -> tuple[int, list[str]]:
    """The level, and every rule that was applied, in its order. Each deed comes with its time."""
    level, causes = start, []
    window: list[bool] = []
    blocked: dict[int, int] = {}
    refused: dict[int, int] = {}
    #: When the agent was first told on that day that its daily limit is reached.
    told_at: dict[int, int] = {}

    def lose(levels: int, cause: str) -> None:
        nonlocal level
        level = max(0, level - levels)
        causes.append(cause)

    for deed, at_ms in deeds:
        day = at_ms // DAY
        if deed in ("forbidden", "foreign", "forged"):
            lose(2, "security_violation")
        if deed == "blocked":
            blocked[day] = blocked.get(day, 0) + 1
            if blocked[day] % 2 == 0:
                lose(2, "security_violation")
        # What arrived before the agent was told, or at that moment, is no abuse.
        if deed == "exhausted" and at_ms > told_at.setdefault(day, at_ms):
            refused[day] = refused.get(day, 0) + 1
            if refused[day] == 3:
                lose(1, "budget_abuse")
        if deed in ("allowed", "denied", "blocked", "forbidden"):
            window.append(deed != "allowed")
            if len(window) >= 50 and sum(window[-50:]) * 10 > 50:
                lose(1, "repeated_denials")
                window = []
    return level, causes


def told(engine, action) -> Finding:
    if action.query and action.query.startswith("wrong"):
        return Finding(Status.FAILED, Risk.LOW, engine, failure=Failure.INCORRECT)
    if action.type == "execute_code":
        return Finding(Status.FAILED, Risk.CRITICAL, engine, failure=Failure.FORBIDDEN)
    return Finding(Status.VERIFIED, Risk.LOW, engine)


class ConductMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = FakeClock()
        self.deeds: list[tuple[str, int]] = []
        self.steps = 0
        self.world = self.open()

    def open(self) -> World:
        store = open_sqlite(Path(self.folder.name) / "qwed.db", POLICY, self.clock, SIGNER)
        world = World(store=store, clock=self.clock, policy=POLICY)
        world.prover.find = told
        return world

    def teardown(self) -> None:
        self.world.close()
        self.folder.cleanup()

    @initialize(level=st.integers(0, 3))
    def register(self, level) -> None:
        self.start = level
        budget = {"max_daily_cost_usd": 1000, "max_per_request_cost_usd": None, "max_requests_per_hour": None}
        permissions = {"blocked_tools": ["send_money"]}
        self.agent = self.world.register(
            type="trusted", trust_level=level, budget=budget, permissions=permissions
        )

    def act(self, action, **more):
        self.steps += 1
        conversation, step = divmod(self.steps, 40)
        return self.world.verify(self.agent, action, step + 1, f"c{conversation}", **more)

    def note(self, deed: str, times: int = 1) -> None:
        self.deeds += [(deed, self.clock.now)] * times

    @rule(times=st.integers(1, 30))
    def allowed(self, times) -> None:
        for _ in range(times):
            assert self.act(calculate(f"{self.steps}"))["decision"] in ("APPROVED", "PENDING")
            self.note("allowed")

    @rule(times=st.integers(1, 9))
    def denied(self, times) -> None:
        for _ in range(times):
            self.act(calculate(f"wrong {self.steps}"))
            self.note("denied")

    @rule()
    def forbidden(self) -> None:
        self.act({"type": "execute_code", "code": f"{self.steps}"})
        self.note("forbidden")

    @rule()
    def blocked(self) -> None:
        path = f"/agents/{self.agent['agent_id']}/tools/send_money"
        self.world.call("POST", path, json={"parameters": {}})
        self.note("blocked")

    @rule(times=st.integers(1, 3), pause=st.sampled_from([0, 1, SECOND]))
    def exhausted(self, times, pause) -> None:
        for _ in range(times):
            answer = self.act(calculate(f"{self.steps}"), usage={"cost_usd": 5000})
            assert answer["decision"] == "BUDGET_EXCEEDED"
            self.note("exhausted")
            self.clock.advance(pause)

    @rule()
    def foreign_token(self) -> None:
        self.world.call("GET", "/agents/agent_0000000000000000", key=self.agent["agent_token"])
        self.note("foreign")

    @rule()
    def forged_grant(self) -> None:
        path = f"/approvals/apr_{'0' * 32}/redeem"
        self.world.call("POST", path, key=self.agent["agent_token"], json={"action": calculate()})
        self.note("forged")

    @rule()
    def without_a_verdict(self) -> None:
        self.world.verify(self.agent, context={})
        self.act({"type": "no_such_type"})
        self.world.verify(self.agent, key="qwed_agent_wrong")

    @rule()
    def by_people(self) -> None:
        self.world.call("PATCH", f"/agents/{self.agent['agent_id']}", json={"description": f"{self.steps}"})

    @rule(hours=st.sampled_from([1, 12, 24]))
    def time_passes(self, hours) -> None:
        self.clock.advance(hours * DAY // 24)

    @rule()
    def restart(self) -> None:
        self.world.close()
        # When the agent was told, the record knows to the second.
        self.clock.advance(SECOND + 1)
        self.world = self.open()

    @invariant()
    def the_level_is_what_the_deeds_make_it(self) -> None:
        if not hasattr(self, "agent"):
            return
        path = f"/agents/{self.agent['agent_id']}/trust"
        found = self.world.call("GET", path, params={"limit": 1000}).json()
        level, causes = level_after(self.start, self.deeds)

        assert found["trust_level"] == level
        assert [c["cause"] for c in reversed(found["changes"]) if c["cause"] != "registered"] == causes


ConductMachine.TestCase.settings = settings(
    max_examples=12,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestConduct = ConductMachine.TestCase
