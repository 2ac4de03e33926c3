"""What is known of the rows that decide: whether they were compared with the ledger, and which differ."""

import threading
from collections.abc import Callable

from qwed.ledger.states import StateDifference

Listener = Callable[[StateDifference], None]


class Integrity:
    """Filled by the store as it compares rows; asked by whoever decides, and by those who tell people."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], StateDifference] = {}
        self._listeners: tuple[Listener, ...] = ()
        self._lock = threading.Lock()
        #: Whether credentials are still being looked at since the start; and why they could not be.
        self.is_checking = False
        self.failure: str | None = None
        #: What is wrong with the storage itself.
        self.damage: str | None = None

    @property
    def differences(self) -> tuple[StateDifference, ...]:
        return tuple(self._found.values())

    def add(self, difference: StateDifference) -> None:
        """A row that differs stays refused until the next start."""
        name = (difference.table, difference.key)
        with self._lock:
            if name in self._found:
                return
            self._found[name] = difference
            listeners = self._listeners
        for listener in listeners:
            listener(difference)

    def listen(self, listener: Listener) -> None:
        """Told of what is found from now on, and of what was found before."""
        with self._lock:
            self._listeners = (*self._listeners, listener)
            before = self.differences
        for difference in before:
            listener(difference)

    def refuses(self, table: str, key: str) -> bool:
        return bool(self._found) and (table, key) in self._found

    def refuses_agent(self, agent_id: str) -> bool:
        """Also where what it did before was changed: that is why it may do less."""
        return bool(self._found) and (self.refuses("agents", agent_id) or self.refuses("conduct", agent_id))

    def problem(self) -> str | None:
        """Why the gateway is not to be relied on, in a sentence that names nobody: anybody may ask."""
        if not self._found:
            return self.damage or self.failure
        are = "row is" if len(self._found) == 1 else "rows are"
        return f"{len(self._found)} {are} not as the ledger says: see the log, and run `qwed ledger verify`"
