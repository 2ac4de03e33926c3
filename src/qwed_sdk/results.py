"""Answers: plain dictionaries, exactly as the gateway sent them, with names for what is used most."""

from typing import Any, Literal, TypeAlias, cast

#: Any value that JSON has a word for.
Json: TypeAlias = Any
DecisionWord: TypeAlias = Literal["APPROVED", "DENIED", "CORRECTED", "PENDING", "BUDGET_EXCEEDED"]
ApprovalStatus: TypeAlias = Literal["open", "approved", "denied", "expired", "redeemed"]


class Result(dict[str, Json]):
    """A JSON object. `result["field"]` always works."""


class Agent(Result):
    @property
    def agent_id(self) -> str:
        return str(self["agent_id"])

    @property
    def agent_token(self) -> str | None:
        """Only in the answer to a registration or a rotation."""
        return self.get("agent_token")

    def __repr__(self) -> str:
        shown = {name: "…" if name == "agent_token" else value for name, value in self.items()}
        return f"Agent({shown!r})"


class Decision(Result):
    @property
    def decision(self) -> DecisionWord:
        return cast(DecisionWord, self["decision"])

    @property
    def may_act(self) -> bool:
        """Whether the action may run now: as proposed, or as `corrected_action` where there is one."""
        return self.decision in ("APPROVED", "CORRECTED")

    @property
    def corrected_action(self) -> dict[str, Json] | None:
        """What runs in place of what was proposed; while it is PENDING, what a person is asked about."""
        return self.get("corrected_action")

    @property
    def is_pending(self) -> bool:
        return self.decision == "PENDING"

    @property
    def activity_id(self) -> str | None:
        return self.get("activity_id")

    @property
    def approval_id(self) -> str | None:
        approval = self.get("approval")
        return approval["id"] if approval else None

    @property
    def code(self) -> str | None:
        error = self.get("error")
        return error["code"] if error else None

    @property
    def message(self) -> str:
        error = self.get("error")
        return str(error["message"]) if error else ""


class ToolDecision(Decision):
    @property
    def approved(self) -> bool:
        return self.get("approved") is True and self.decision == "APPROVED"

    @property
    def blocked_reason(self) -> str | None:
        return self.get("blocked_reason")


class Approval(Result):
    @property
    def status(self) -> ApprovalStatus:
        return cast(ApprovalStatus, self["status"])

    @property
    def is_open(self) -> bool:
        return self.status == "open"


class Event(Result):
    @property
    def type(self) -> str:
        return str(self["type"])
