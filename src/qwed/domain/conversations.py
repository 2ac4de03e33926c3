"""One conversation of one agent: which steps are used, which is in flight, and whether it runs in circles.

`Conversation` is changed by a store under its lock; the rules here only read it. Only committed
steps are remembered: a denied action between two repeats does not make them less of a repeat.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from qwed.domain.codes import Code, Refusal
from qwed.domain.policy import LoopLimits

#: The member of a refusal's details that names a step of which the end is not known yet.
IN_FLIGHT: Final = "in_flight"


class Step(msgspec.Struct, frozen=True):
    """A committed step. `approved` is false for PENDING, which LOOP-004 does not count."""

    number: int
    fingerprint: bytes
    state: bytes | None = None
    approved: bool = True
    #: The node it is in the graph of tokens, and the workflow that the agent's own tokens named.
    activity_id: str = ""
    wid: str | None = None
    #: It was reported as failed: trying it again is no repeat.
    failed: bool = False


class Reservation(msgspec.Struct, frozen=True):
    """The right to commit one step. The fence rises with every reservation, so a late holder is known."""

    step: int
    fence: int
    expires_ms: int


class Conversation:
    __slots__ = ("committing", "fence", "history", "reservation")

    def __init__(self, history: Sequence[Step] = ()) -> None:
        self.history = list(history)
        self.reservation: Reservation | None = None
        #: The holder's commit is on its way to the disk: no lease may end it now.
        self.committing = False
        self.fence = 0

    @property
    def last_step(self) -> int:
        return self.history[-1].number if self.history else 0

    def is_in_flight(self, now_ms: int) -> bool:
        held = self.reservation
        return held is not None and (self.committing or now_ms < held.expires_ms)

    def reserve(self, step: int, now_ms: int, lease_ms: int) -> Reservation:
        self.fence += 1
        self.reservation = Reservation(step, self.fence, now_ms + lease_ms)
        return self.reservation

    def holds(self, reservation: Reservation) -> bool:
        return self.reservation is not None and self.reservation.fence == reservation.fence

    def release(self, reservation: Reservation) -> None:
        if self.holds(reservation):
            self.reservation = None
            self.committing = False

    def note_failures(self, recorded: Iterable[Step]) -> None:
        """Which steps failed, as the record has it by now."""
        failed = {step.number for step in recorded if step.failed}
        self.history = [
            msgspec.structs.replace(step, failed=True) if step.number in failed else step
            for step in self.history
        ]

    def commit(self, reservation: Reservation, step: Step) -> None:
        self.history.append(step)
        if self.reservation is not None and self.reservation.fence == reservation.fence:
            self.reservation, self.committing = None, False


def length_refusal(conversation: Conversation, step: int, limits: LoopLimits) -> Refusal | None:
    """Check 6."""
    if step > limits.max_steps or len(conversation.history) >= limits.max_steps:
        return Refusal(
            Code.LOOP_LENGTH,
            f"a conversation has at most {limits.max_steps} steps",
            {"step_number": min(step, 2**53 - 1), "committed": len(conversation.history)},
        )
    return None


def may_rest_on_failures(refusal: Refusal) -> bool:
    """Whether it would not stand if the steps that it counts had failed."""
    return refusal.code is Code.LOOP_NO_PROGRESS or (refusal.details or {}).get("pattern") == "repeat"


def order_refusal(conversation: Conversation, step: int, now_ms: int) -> Refusal | None:
    """Check 8."""
    last = conversation.history[-1].number if conversation.history else 0
    if step <= last:
        return Refusal(
            Code.LOOP_REPLAY, f"step {step} is not after the last committed step {last}", {"last_step": last}
        )
    if conversation.reservation is not None and conversation.is_in_flight(now_ms):
        held = conversation.reservation
        assert held is not None
        return Refusal(
            Code.LOOP_REPLAY,
            f"step {held.step} of this conversation is still in flight",
            {"last_step": last, IN_FLIGHT: held.step},
        )
    return None


def repeat_refusal(
    conversation: Conversation, fingerprint: bytes, state: bytes | None, limits: LoopLimits
) -> Refusal | None:
    """Check 9, the part that looks at one conversation: repeats and cycles."""
    history = conversation.history
    if not history:
        return None
    lately = history[-max(limits.max_repeats, limits.cycle_max_period) :]
    # What was not done lately neither repeats nor goes on with a cycle.
    if fingerprint not in [step.fingerprint for step in lately]:
        return None
    repeats = _run_refusal(history, fingerprint, state, limits)
    if repeats is not None:
        return repeats
    for period in range(2, limits.cycle_max_period + 1):
        if _continues_cycle(history, fingerprint, state, period, limits):
            return Refusal(
                Code.LOOP_REPEAT,
                f"the last actions repeat in a cycle of {period} without progress",
                {"pattern": "cycle", "period": period},
            )
    return None


def _run_refusal(
    history: Sequence[Step], fingerprint: bytes, state: bytes | None, limits: LoopLimits
) -> Refusal | None:
    """The same action at the end of the history, over and over. One that failed may be tried again, for a
    while."""
    done = failed = 0
    for step in reversed(history):
        if not _is_repeat(step, fingerprint, state, limits):
            return None
        done, failed = done + (not step.failed), failed + step.failed
        if done >= limits.max_repeats:
            what = f"the same action was taken {done} times in a row"
        elif failed >= limits.max_failed_repeats:
            what = f"the same action failed {failed} times in a row"
        else:
            continue
        return Refusal(Code.LOOP_REPEAT, f"{what}; another one is refused", {"pattern": "repeat"})
    return None


def _is_repeat(step: Step, fingerprint: bytes, state: bytes | None, limits: LoopLimits) -> bool:
    is_changed = limits.same_state_only and state is not None and step.state != state
    return step.fingerprint == fingerprint and not is_changed


def _continues_cycle(
    history: list[Step], fingerprint: bytes, state: bytes | None, period: int, limits: LoopLimits
) -> bool:
    """Whether enough full periods have run and this action would go on with them."""
    if len(history) < period * limits.cycle_rounds or history[-period].fingerprint != fingerprint:
        return False
    unchanged = state is not None and _same_state(history, state, period * limits.cycle_rounds)
    rounds = limits.cycle_rounds if unchanged else limits.cycle_rounds_without_hashes
    length = period * rounds
    if len(history) < length:
        return False
    recent = history[-length:]
    if any(step.fingerprint != recent[index % period].fingerprint for index, step in enumerate(recent)):
        return False
    # One call that is tried again after it failed is a run, which has a limit of its own.
    if len({step.fingerprint for step in recent}) == 1 and any(step.failed for step in recent):
        return False
    # Where two different states were seen, something moved: that is work, not a cycle.
    return unchanged or len({step.state for step in recent if step.state} | ({state} - {None})) <= 1


def _same_state(history: list[Step], state: bytes, length: int) -> bool:
    return all(step.state == state for step in history[-length:])


def progress_refusal(
    conversation: Conversation, fingerprint: bytes, state: bytes | None, limits: LoopLimits
) -> Refusal | None:
    """Check 13: the same action on the same state, again and again, among other actions."""
    if state is None:
        return None
    seen = [
        step for step in conversation.history if step.approved and not step.failed and step.state is not None
    ]
    same = sum(step.fingerprint == fingerprint and step.state == state for step in seen[-limits.window :])
    if same + 1 >= limits.no_progress:
        return Refusal(
            Code.LOOP_NO_PROGRESS,
            f"this action met the same state {same} times among the last {limits.window}",
            {"seen": same, "window": limits.window},
        )
    return None
