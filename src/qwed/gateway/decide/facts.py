"""What the rows of the table ask of the world."""

from typing import Protocol

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
from qwed.gateway.kernel.ports import Admission
from qwed.gateway.kernel.services import Services


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
    async def borne_out(self, case: Case) -> TrustLevel:
        """The trust level that the agent's score bears out: its own, or a lower one."""
        ...

    async def gated_actions(self, case: Case) -> tuple[str, ...]:
        """The actions that the agent's own specification calls consequential, whatever their risk."""
        ...

    async def is_revoked(self, case: Case) -> bool: ...
    async def use_checkpoint(self, case: Case) -> bool:
        """Whether a checkpoint came along that no action used; from now on, one has."""
        ...

    async def apply_workflow_rules(self, case: Case) -> Verdict: ...
    async def meets_thresholds(self, case: Case) -> bool: ...
    async def is_unsettled(self, case: Case) -> bool:
        """Whether nobody knows if this very action has happened already."""
        ...

    async def release(self, admission: Admission) -> None:
        """Give back what was held; harmless where it was committed or lost."""
        ...


class Live:
    """The facts of now."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self.state_required = services.state_required
        self.deployment_profile = services.assurance.profile

    def give(self, profile: Profile) -> InForce:
        return self._services.assurance.by_profile[profile]

    async def accept_tokens(self, case: Case) -> ExecutionContext | NotAccepted:
        return await accept(self._services, case.presented, case.agent.principal_id, case.now_ms)

    async def find_place(self, case: Case) -> Place | Refusal:
        return await workflow_rules.find_place(self._services, case)

    async def admit(self, case: Case) -> Admission | Refusal:
        store, step = self._services.store, case.step
        if step is None:
            return await store.hold(case.agent, case.charge, case.now_ms)
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
        return await store.admit(case.agent, attempt, case.now_ms)

    async def prove(self, case: Case) -> Examined:
        """The risk is the higher of what the type and what the content say."""
        assert case.rule is not None
        clock, agent = self._services.clock, case.agent
        started = clock.counter()
        client = Client(agent.principal_id, agent.agent_id)
        finding = await self._services.prover.prove(case.rule.engine, case.action, client)
        latency_ms = round((clock.counter() - started) * 1000, 3)
        return Examined(finding, max(case.rule.risk or Risk.LOW, finding.risk), latency_ms)

    async def borne_out(self, case: Case) -> TrustLevel:
        score = await scores.score_of(self._services, case)
        return level_borne_out(case.agent.trust_level, score, case.policy.assurance.level_scores)

    async def gated_actions(self, case: Case) -> tuple[str, ...]:
        return await scores.gated_actions(self._services, case)

    async def is_revoked(self, case: Case) -> bool:
        return await scores.is_revoked(self._services, case)

    async def use_checkpoint(self, case: Case) -> bool:
        return await scores.use_checkpoint(self._services, case)

    async def apply_workflow_rules(self, case: Case) -> Verdict:
        return await workflow_rules.apply_workflow_rules(self._services, case)

    async def meets_thresholds(self, case: Case) -> bool:
        return await scores.meets_thresholds(self._services, case)

    async def is_unsettled(self, case: Case) -> bool:
        store, agent_id = self._services.store, case.agent.agent_id
        for fingerprint in (case.fingerprints.current, case.fingerprints.older):
            if await store.is_unsettled(agent_id, fingerprint):
                return True
        return False

    async def release(self, admission: Admission) -> None:
        await self._services.store.release(admission)
