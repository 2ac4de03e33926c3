"""`AgentStateGuard`: the three phases, each ending in one result and never in an exception."""

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, NotRequired, TypedDict

from qwed.guards.agent_state import commit
from qwed.guards.agent_state.canonical_state import canonical_bytes
from qwed.guards.agent_state.configuration import frozen
from qwed.guards.agent_state.refusal import StateCode, StateRefused
from qwed.guards.agent_state.schema import compile_schema
from qwed.guards.agent_state.state_text import read_state
from qwed.guards.agent_state.transitions import Violated, compile_rules

MAX_BYTES: Final = 1024 * 1024


class StateResult(TypedDict):
    """A decision. The keys below `status` are there when their phase got that far."""

    verified: bool
    status: Literal["VERIFIED", "BLOCKED"]
    proof: NotRequired[str]
    proof_ref: NotRequired[str]
    normalized_state: NotRequired[Any]
    normalized_previous_state: NotRequired[Any]
    committed_path: NotRequired[str]
    committed_bytes: NotRequired[int]
    error_code: NotRequired[str]
    message: NotRequired[str]


class _Verified(NamedTuple):
    state: Any
    canonical: bytes


class AgentStateGuard:
    """Verifies what an agent wants to remember before anything is written.

    A mistake in the arguments raises `ValueError`, which names the key. After that no method
    raises, whatever it is given: a state that cannot be verified is a BLOCKED result.
    """

    __slots__ = ("_check", "_max_bytes", "_roots", "_rules", "_schema", "_transition_rules")

    def __init__(
        self,
        required_schema: Mapping[str, Any],
        transition_rules: Mapping[str, Any] | None = None,
        allowed_commit_roots: Sequence[str] | None = None,
        *,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        try:
            self._schema: Mapping[str, Any] = frozen(required_schema, "required_schema")
            self._check = compile_schema(self._schema, "required_schema")
            self._transition_rules: Mapping[str, Any] = frozen(
                {} if transition_rules is None else transition_rules, "transition_rules"
            )
            self._rules = compile_rules(self._transition_rules, "transition_rules")
        except RecursionError:
            raise ValueError("required_schema or transition_rules: nested too deeply") from None
        self._roots = _commit_roots(allowed_commit_roots)
        if type(max_bytes) is not int or max_bytes < 1:
            raise ValueError(f"max_bytes: expected a positive integer, not {max_bytes!r}")
        self._max_bytes = max_bytes

    @property
    def required_schema(self) -> Mapping[str, Any]:
        return self._schema

    @property
    def transition_rules(self) -> Mapping[str, Any]:
        return self._transition_rules

    @property
    def allowed_commit_roots(self) -> tuple[str, ...]:
        """Resolved when the guard was built: a root that becomes a link later leads nowhere."""
        return self._roots

    def verify_state_payload(self, proposed_state_json: str) -> StateResult:
        """Phase 1: strict JSON that the schema accepts (101 to 103)."""
        return _decide(StateCode.NOT_JSON, lambda: self._payload(proposed_state_json))

    def verify_state_transition(self, current_state_json: str, proposed_state_json: str) -> StateResult:
        """Phase 2: both states are sound, and the step between them obeys every rule (104 to 106)."""
        return _decide(
            StateCode.TRANSITION, lambda: self._transition(current_state_json, proposed_state_json)
        )

    def verify_transition_and_commit_state(
        self, current_state_json: str, proposed_state_json: str, target_path: str
    ) -> StateResult:
        """Phase 3: a verified step replaces the file at `target_path`, or nothing happens (107, 108)."""
        return _decide(
            StateCode.COMMIT_WRITE, lambda: self._commit(current_state_json, proposed_state_json, target_path)
        )

    def _payload(self, proposed_state_json: object) -> StateResult:
        proposed = self._verify(proposed_state_json)
        return _verified("the state is strict JSON and satisfies the required schema", proposed)

    def _transition(self, current_state_json: object, proposed_state_json: object) -> StateResult:
        current, proposed = self._verify_step(current_state_json, proposed_state_json)
        return _report_verified_step(
            "both states satisfy the schema and every transition rule holds", current, proposed
        )

    def _commit(
        self, current_state_json: object, proposed_state_json: object, target_path: object
    ) -> StateResult:
        with commit.open_target(target_path, self._roots) as target:
            current, proposed = self._verify_step(current_state_json, proposed_state_json)
            commit.replace(target, current.canonical, proposed.canonical)
            result = _report_verified_step(
                "every transition rule holds and the state was written atomically", current, proposed
            )
            result["committed_path"] = target.path
            result["committed_bytes"] = len(proposed.canonical)
            return result

    def _verify_step(
        self, current_state_json: object, proposed_state_json: object
    ) -> tuple[_Verified, _Verified]:
        if not self._rules:
            raise StateRefused(
                StateCode.NO_RULES, "no transition rules are configured, or all of them are empty"
            )
        try:
            current = self._verify(current_state_json)
        except StateRefused as refused:
            raise StateRefused(
                StateCode.CURRENT_STATE, f"the current state is not sound: {refused.message}"
            ) from None
        proposed = self._verify(proposed_state_json)
        try:
            for rule in self._rules:
                rule(current.state, proposed.state)
        except Violated as violated:
            raise StateRefused(StateCode.TRANSITION, f"transition refused: {violated}") from None
        return current, proposed

    def _verify(self, state_json: object) -> _Verified:
        state = read_state(state_json, self._max_bytes)
        problem = self._check(state)
        if problem is not None:
            raise StateRefused(StateCode.NOT_THE_SCHEMA, f"${problem.path}: {problem.what}")
        return _Verified(state, canonical_bytes(state))


def _decide(unforeseen: StateCode, verify: Callable[[], StateResult]) -> StateResult:
    try:
        return verify()
    except StateRefused as refused:
        return _block(refused.code, refused.message)
    # The promise of the class: no input and no machine makes a method raise, and what was not
    # verified is blocked.
    except Exception as error:  # noqa: BLE001
        return _block(unforeseen, f"verification could not be completed ({type(error).__name__})")


def _verified(proof: str, proposed: _Verified) -> StateResult:
    return {
        "verified": True,
        "status": "VERIFIED",
        "proof": proof,
        "proof_ref": f"sha256:{hashlib.sha256(proposed.canonical).hexdigest()}",
        "normalized_state": proposed.state,
    }


def _report_verified_step(proof: str, current: _Verified, proposed: _Verified) -> StateResult:
    result = _verified(proof, proposed)
    result["normalized_previous_state"] = current.state
    return result


def _block(code: StateCode, message: str) -> StateResult:
    return {"verified": False, "status": "BLOCKED", "error_code": code.value, "message": message}


def _commit_roots(roots: object) -> tuple[str, ...]:
    if roots is None:
        return ()
    if not isinstance(roots, list | tuple):
        raise ValueError(f"allowed_commit_roots: expected a list of paths, not {type(roots).__name__}")
    return tuple(_commit_root(root, f"allowed_commit_roots[{index}]") for index, root in enumerate(roots))


def _commit_root(root: object, at: str) -> str:
    if not isinstance(root, str) or not root.startswith("/") or "\0" in root:
        raise ValueError(f"{at}: expected an absolute path, not {root!r}")
    try:
        return os.path.realpath(root)
    except (OSError, ValueError) as error:
        raise ValueError(f"{at}: {root!r} cannot be resolved ({error})") from None
