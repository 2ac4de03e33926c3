"""At a start: every credential against the ledger, before anybody is served where that is quick enough."""

import threading
from collections.abc import Callable, Sequence
from typing import Final, Protocol, TypeVar

from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.integrity import Integrity
from qwed.gateway.kernel.ports import GatewayError
from qwed.ledger.states import CREDENTIALS, StateDifference

#: What takes longer goes on beside the gateway; each row is compared as it is read in any case.
START_SECONDS: Final = 2.0


class Checked(Protocol):
    @property
    def integrity(self) -> Integrity: ...
    async def differences(self, tables: Sequence[str]) -> list[StateDifference]: ...


Store = TypeVar("Store", bound=Checked)


def check_at_start(
    store: Store, seconds: float = START_SECONDS, look: Callable[[], str | None] = lambda: None
) -> Store:
    """The store, with its credentials compared, or being compared. `look` says first what is wrong with the
    storage itself."""
    store.integrity.is_checking = True
    thread = threading.Thread(target=_check, args=(store, look), name="qwed-states", daemon=True)
    thread.start()
    thread.join(seconds)
    return store


def _check(store: Checked, look: Callable[[], str | None]) -> None:
    integrity = store.integrity
    try:
        integrity.damage = look()
        for difference in run(store.differences(CREDENTIALS)):
            integrity.add(difference)
    except GatewayError as error:
        integrity.failure = f"agents and keys could not be compared with the ledger: {error}"
    # Rows that make this crash are not right because of it: nobody is told that all is well.
    except Exception as defect:  # noqa: BLE001
        kind = type(defect).__name__
        integrity.failure = f"agents and keys could not be compared with the ledger: {kind}"
    finally:
        integrity.is_checking = False
