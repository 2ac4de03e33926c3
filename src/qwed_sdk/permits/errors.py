"""Why a call did not run."""

from typing import Final

from qwed.domain.codes import CODES, Code
from qwed_sdk.errors import QWEDError, RequestRefused

#: Codes that are the gateway's answer about a permit or its agent. Any other says that it gave none.
_ANSWERS: Final = ("QWED-PERMIT-", "QWED-AGENT-")


class PermitRefused(QWEDError):
    """The tool did not run. `code` is QWED's; `status` is what an HTTP answer has for it."""

    def __init__(self, code: Code, reason: str) -> None:
        self.code = code
        self.reason = reason
        super().__init__(f"the call was refused: {reason} ({code.value})")

    def __reduce__(self) -> tuple[type, tuple[Code, str]]:
        return type(self), (self.code, self.reason)

    @property
    def status(self) -> int:
        return CODES[self.code].status

    def to_wire(self) -> dict[str, object]:
        return {"error": {"code": self.code.value, "message": self.reason}}


def code_said(error: RequestRefused) -> Code:
    known = error.code in tuple(Code) and error.code.startswith(_ANSWERS)
    return Code(error.code) if known else Code.PERMIT_UNVERIFIABLE
