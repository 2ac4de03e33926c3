"""What the rows of the table ask of the world."""

from collections.abc import Coroutine
from typing import Any, Final, Protocol

from qwed.assurance.in_force import InForce, level_borne_out
from qwed.domain.admission import Attempt
from qwed.domain.codes import Refusal
from qwed.domain.policy import Profile
from qwed.domain.risk import Risk
from qwed.domain.trust import TrustLevel
from qwed.domain.verdicts import Verdict
from qwed.engines.fair_queue import Client
from qwed.gateway.decide import scores, workflow_rules
from qwed.gateway.decide.case import Case, Examined, Place
from qwed.gateway.decide.execution_context import ExecutionContext, NotAccepted, accept
from qwed.gateway.decide.value_origins import trace_origins
from qwed.gateway.kernel.coroutines import pause
from qwed.gateway.kernel.ports import Admission, StoreUnavailable
from qwed.gateway.kernel.services import Services

#: How long a step waits for the one before it; less than a lease.
TURN_SECONDS: Final = 10.0
_LOOK_AGAIN_SECONDS: Final = 0.003


class Facts(Protocol):
    """Every answer is a value that a record can hold, so that a decision can be made again from it.

    `Live` asks the ports, `Recorded` the record. Raises `StoreUnavailable` only.
    """

    @property
    def state_required(self) -> bool: ...

    @property
    def deployment_profile(self) -> Profile | None: ...

    def give(self, profile: Profile) -> InForce:
        """The profile as this deployment gives it."""
        ...

    async def accept_tokens(self, case: Case) -> ExecutionContext | NotAccepted: ...
    async def find_place(self, case: Case) -> Place | Refusal: ...
    async def admit(self, case: Case) -> Admission | Refusal:
        """Checks 6 to 14, or 14 alone where the case has no step, in one atomic step."""
        ...

    async def prove(self, case: Case) -> Examined: ...
    async def trace_origins(self, case: Case) -> Case:
        """The case with where its values come from, as far as anybody reports."""
        ...

    async def borne_out(self, case: Case) -> TrustLevel:
        """The trust level that the agent's score bears out: its own, or a lower one."""
        ...

    async def find_gated_actions(self, case: Case) -> tuple[str, ...]:
        """The actions that the agent's own specification calls consequential, whatever their risk."""
        ...

    async def is_revoked(self, case: Case) -> bool: ...
    async def use_checkpoint(self, case: Case) -> bool:
        """Whether a checkpoint came along that no action used; from now on, one has."""
        ...

    async def apply_workflow_rules(self, case: Case) -> Verdict: ...
    async def meets_thresholds(self, case: Case) -> bool: ...
    async def rule_score(self, case: Case) -> float:
        """The agent's trust score, for rules that read it."""
        ...

    async def is_unsettled(self, case: Case) -> bool:
        """Whether nobody knows if this very action has happened already."""
        ...

    async def release(self, admission: Admission) -> None:
        """Give back what was held; harmless where it was committed or lost."""
        ...


class Live:
    """The facts of now."""

    __slots__ = ("services",)

    def __init__(self, services: Services) -> None:
        self.services = services

    @property
    def state_required(self) -> bool:
        return self.services.state_required

    @property
    def deployment_profile(self) -> Profile | None:
        return self.services.assurance.profile

    def give(self, profile: Profile) -> InForce:
        return self.services.assurance.by_profile[profile]

    async def accept_tokens(self, case: Case) -> ExecutionContext | NotAccepted:
        return await accept(self.services, case.presented, case.agent.principal_id, case.now_ms)

    async def find_place(self, case: Case) -> Place | Refusal:
        return await workflow_rules.find_place(self.services, case)

    def admit(self, case: Case) -> Coroutine[Any, Any, Admission | Refusal]:
        store, step = self.services.store, case.step
        if step is None:
            return store.hold(case.agent, case.charge, case.now_ms, case.claim)
        attempt = Attempt(
            step.conversation_id,
            step.step,
            case.fingerprints.current,
            case.charge,
            step.state,
            case.parameters_problem,
            step.state_problem,
            case.fingerprints.older,
        )
        if not case.takes_next_step:
            return store.admit(case.agent, attempt, case.now_ms, case.claim)
        return self._admit_in_turn(case, attempt)

    async def _admit_in_turn(self, case: Case, attempt: Attempt) -> Admission | Refusal:
        """After the decision before it, however long that takes within bounds."""
        store, clock = self.services.store, self.services.clock
        give_up = clock.counter() + TURN_SECONDS
        while True:
            admission = await store.admit(case.agent, attempt, case.now_ms, case.claim)
            if not isinstance(admission, Refusal) or "in_flight" not in (admission.details or {}):
                return admission
            if clock.counter() > give_up:
                raise StoreUnavailable("the decision before this one in its conversation is not made yet")
            await pause(_LOOK_AGAIN_SECONDS)

    async def prove(self, case: Case) -> Examined:
        """The risk is the higher of what the type and what the content say."""
        assert case.rule is not None
        services, agent = self.services, case.agent
        counter = services.clock.counter
        started = counter()
        client = Client(agent.principal_id, agent.agent_id)
        finding = await services.prover.prove(case.rule.engine, case.action, client)
        latency_ms = round((counter() - started) * 1000, 3)
        return Examined(finding, max(case.rule.risk or Risk.LOW, finding.risk), latency_ms)

    async def trace_origins(self, case: Case) -> Case:
        return await trace_origins(self.services, case)

    async def borne_out(self, case: Case) -> TrustLevel:
        score = await scores.score_of(self.services, case)
        return level_borne_out(case.agent.trust_level, score, case.policy.assurance.level_scores)

    async def find_gated_actions(self, case: Case) -> tuple[str, ...]:
        return await scores.find_gated_actions(self.services, case)

    async def is_revoked(self, case: Case) -> bool:
        return await scores.is_revoked(self.services, case)

    async def use_checkpoint(self, case: Case) -> bool:
        return await scores.use_checkpoint(self.services, case)

    async def apply_workflow_rules(self, case: Case) -> Verdict:
        return await workflow_rules.apply_workflow_rules(self.services, case)

    async def meets_thresholds(self, case: Case) -> bool:
        return await scores.meets_thresholds(self.services, case)

    async def rule_score(self, case: Case) -> float:
        return float(await scores.score_of(self.services, case))

    async def is_unsettled(self, case: Case) -> bool:
        store, agent_id = self.services.store, case.agent.agent_id
        for fingerprint in (case.fingerprints.current, case.fingerprints.older):
            if await store.is_unsettled(agent_id, fingerprint):
                return True
        return False

    async def release(self, admission: Admission) -> None:
        await self.services.store.release(admission)
