"""Proofs that another policy would have asked for: made now, of what the record shows of an action."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from qwed.domain.policy import Policy
from qwed.domain.risk import Risk
from qwed.engines.fair_queue import Client
from qwed.gateway.decide.account import MASKED
from qwed.gateway.decide.case import Case, Door, Examined
from qwed.gateway.kernel.ports import Prover
from qwed.gateway.kernel.services import Services
from qwed.gateway.policy.recorded_entries import RecordedDecision, door_of


class ProvesAgain(msgspec.Struct, frozen=True):
    """The engines as the other policy sets them."""

    prover: Prover

    async def prove(self, case: Case) -> Examined:
        assert case.rule is not None
        client = Client(case.agent.principal_id, case.agent.agent_id)
        finding = await self.prover.prove(case.rule.engine, case.action, client)
        return Examined(finding, max(case.rule.risk or Risk.LOW, finding.risk), 0.0)


def shows_whole_action(entry: RecordedDecision) -> bool:
    """What is masked is not what was proven; a grant is a person's word, and no engine's."""
    assert entry.account is not None
    return MASKED not in entry.account.get("facts", ()) and door_of(entry) != Door.GRANT


@contextmanager
def engines_of(services: Services, policy: Policy) -> Iterator[ProvesAgain]:
    """The engines under another policy, as long as somebody asks them. Raises `UnreadablePolicy`."""
    texts = services.live.texts
    built = services if texts is None else texts.rebuild(services, policy)
    try:
        yield ProvesAgain(built.prover)
    finally:
        if built.prover is not services.prover:
            built.prover.close()
