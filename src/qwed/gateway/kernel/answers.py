"""What a use case answers: a body, and the HTTP status it travels with."""

from collections.abc import Mapping
from typing import Any

import msgspec

from qwed.domain.codes import CODES, Code, Refusal


class Answer(msgspec.Struct, frozen=True):
    body: Mapping[str, Any]
    status: int = 200
    retry_after_seconds: int | None = None
    #: For the log alone: nobody is answered with it.
    log: Mapping[str, str] | None = None


class RequestError(Exception):
    """The request cannot be answered as it stands; `refusal` says why. The edges map it to a response."""

    def __init__(
        self,
        refusal: Refusal,
        status: int | None = None,
        retry_after: int | None = None,
        log: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal
        self.status = CODES[refusal.code].status if status is None else status
        self.retry_after = retry_after
        self.log = log


def refuse(code: Code, message: str, **details: object) -> RequestError:
    return RequestError(Refusal(code, message, details or None))


def malformed(field: str, message: str) -> RequestError:
    """A body that is JSON and has the wrong shape; the field is named."""
    return RequestError(Refusal(Code.REQUEST_MALFORMED, f"{field}: {message}", {"field": field}))
