"""The conversations that one gate counts steps in: its own, and one for each run of a framework."""

import hashlib
import threading
from collections import OrderedDict
from typing import Final

from qwed_sdk.conversations import Steps
from qwed_sdk.forks import PerProcess

_MAX_CONVERSATIONS: Final = 4096
#: What the gateway takes; a framework's own ids may be longer.
_MAX_CONVERSATION_ID: Final = 256


class Conversations:
    def __init__(self, agent_id: str, conversation_id: str | None) -> None:
        self._agent_id = agent_id
        self._own = Steps(agent_id, conversation_id)
        self._named: OrderedDict[str, Steps] = OrderedDict()
        self._lock = PerProcess(threading.Lock)

    def steps(self, name: str | None) -> Steps:
        if name is None:
            return self._own
        if len(name) > _MAX_CONVERSATION_ID:
            name = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        with self._lock.get():
            steps = self._named.pop(name, None) or Steps(self._agent_id, name)
            self._named[name] = steps
            # One that is forgotten and comes back finds its count in the record.
            while len(self._named) > _MAX_CONVERSATIONS:
                self._named.popitem(last=False)
            return steps
