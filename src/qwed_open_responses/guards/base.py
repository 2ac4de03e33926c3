"""What every guard is: a name and one question about an output."""

from collections.abc import Mapping
from typing import Any

from qwed.domain.json_types import Json
from qwed_open_responses.outputs import Output, normalise
from qwed_open_responses.results import GuardResult

Context = Mapping[str, Json]


class BaseGuard:
    """Subclass it, give it a `name`, and answer `check`.

    `response` is the verifier's normalised view (`Output`), which can also be read like the mapping it was
    made from. A guard that raises blocks. Guards are shared between threads and tasks.
    """

    name: str = ""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "name" not in cls.__dict__:
            cls.name = cls.__name__

    def check(self, response: Any, context: Context | None = None) -> GuardResult:
        raise NotImplementedError(f"{type(self).__name__} does not define check")

    def pass_result(self, message: str = "", details: Mapping[str, Json] | None = None) -> GuardResult:
        return GuardResult(self.name, True, message, details or {}, "info")

    def fail_result(self, message: str, details: Mapping[str, Json] | None = None) -> GuardResult:
        return GuardResult(self.name, False, message, details or {}, "error")

    def warn_result(self, message: str, details: Mapping[str, Json] | None = None) -> GuardResult:
        """Failed, but blocking only where the verifier is strict."""
        return GuardResult(self.name, False, message, details or {}, "warning")


def viewed(response: Any) -> Output:
    """The view of an output, made here when a guard is called without a verifier."""
    return response if isinstance(response, Output) else normalise(response)
