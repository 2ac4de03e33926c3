"""When this process told an agent that a limit is reached: exactly; the record knows it to the second."""

from typing import Final

import msgspec

from qwed.domain.agents import AgentId
from qwed.domain.conduct import Exhausted, Standing

MAX_KNOWN: Final = 10_000
#: How long the first answer about a limit may be on its way, for a process that did not send it.
SENDING_MS: Final = 1_000


class LimitsTold:
    """What is forgotten here is taken from the record, which is never too early."""

    def __init__(self) -> None:
        #: When the first answer left, and until when the limit lasts.
        self._sent: dict[tuple[AgentId, str], tuple[int, int]] = {}

    def note(self, agent_id: AgentId, exhausted: Exhausted, now_ms: int) -> None:
        """The answer is durable, and leaves now."""
        name = (agent_id, exhausted.limit)
        known = self._sent.get(name)
        if known is not None and known[1] > now_ms:
            return
        if len(self._sent) >= MAX_KNOWN:
            self._sent.clear()
        self._sent[name] = (now_ms, exhausted.until_ms)

    def correct(self, agent_id: AgentId, standing: Standing) -> Standing:
        conduct = standing.conduct
        told = tuple(self._exact(agent_id, one) for one in conduct.told)
        if told == conduct.told:
            return standing
        return msgspec.structs.replace(standing, conduct=msgspec.structs.replace(conduct, told=told))

    def _exact(self, agent_id: AgentId, told: Exhausted) -> Exhausted:
        sent_ms, _ = self._sent.get((agent_id, told.limit), (0, 0))
        # One from before that was about an earlier time of the same limit.
        if not told.told_ms - SENDING_MS <= sent_ms < told.told_ms:
            return told
        return msgspec.structs.replace(told, told_ms=sent_ms)
