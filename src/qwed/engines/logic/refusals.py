"""Why a text was not decided.

Refusal
  NotLogic     it does not parse, or makes no sense: FAILED, malformed
  Forbidden    it would reach beyond the question: FAILED, forbidden
  Undecided    it may make sense, but not within what is supported or allowed: UNCERTAIN
"""


class LogicRefusal(ValueError):
    """The message is one clause for a person."""


class NotLogic(LogicRefusal):
    pass


class Forbidden(LogicRefusal):
    pass


class UndecidedLogic(LogicRefusal):
    """`limit` names the bound or the gap."""

    def __init__(self, limit: str, reason: str) -> None:
        super().__init__(reason)
        self.limit = limit
