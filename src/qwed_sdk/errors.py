"""What goes wrong between a client and its gateway.

QWEDError
├── GatewayUnavailable   down, slow, or answering nonsense: nothing was approved
│   └── AnswerMismatch   an answer that does not name this question (`calls.py`)
├── RequestRefused       the gateway answered, with an error instead of a decision
│   └── RateLimited      asked too often, or refused too often: `retry_after` says how long
├── ActionDenied         the decision was no, or not yet (`conversations.py`)
└── ToolRefused          a tool did not run, for whatever reason (`tool_gate.py`)

All of them can be pickled, as a process pool does with what its workers raise.
"""

from collections.abc import Mapping

from qwed_sdk.results import Json


class QWEDError(Exception):
    pass


class GatewayUnavailable(QWEDError):
    """No usable answer. Whatever was asked for is not approved. `__cause__` is what went wrong below.

    `may_pass`: it may work when it is tried again. `retry_after`: how many seconds the gateway asked to wait.
    """

    def __init__(self, message: str, *, may_pass: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.may_pass = may_pass
        self.retry_after = retry_after


class RequestRefused(QWEDError):
    def __init__(self, status: int, error: Mapping[str, Json], retry_after: float | None = None) -> None:
        self.status = status
        self.code = str(error.get("code", ""))
        self.details = error.get("details")
        self.retry_after = retry_after
        self._error = dict(error)
        super().__init__(f"{error.get('message', 'refused')} ({self.code or status})")

    def __reduce__(self) -> tuple[type, tuple[int, dict[str, Json], float | None]]:
        return type(self), (self.status, self._error, self.retry_after)


class RateLimited(RequestRefused):
    """Too many requests, or too many that were refused: nothing was decided.

    `retry_after` is how many seconds to wait, where the gateway said so; the client has waited as long as its
    own time allows. A request that was refused too often may also be corrected: then it passes at once.
    """
