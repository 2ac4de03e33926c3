"""Refuses moves that a transition table does not have."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from qwed_open_responses.guards.base import BaseGuard, Context, viewed
from qwed_open_responses.outputs import Output
from qwed_open_responses.results import GuardResult


class StateGuard(BaseGuard):
    """`transitions` maps each state to the states that may follow; a state without followers is terminal.

    What the caller knows of the present (`current_state`, or `context["current_state"]`) outweighs what
    the output claims in `state_field`. Where nobody knows it, only a state of `initial` may be entered.
    """

    def __init__(
        self,
        transitions: Mapping[str, Iterable[str]],
        current_state: str | None = None,
        state_field: str = "state",
        new_state_field: str = "new_state",
        initial: str | Iterable[str] | None = None,
    ) -> None:
        self._followers = _table(transitions)
        self._states = frozenset(self._followers).union(*self._followers.values())
        self._initial = _states_of("initial", initial) if initial is not None else None
        self._fields = (state_field, new_state_field)
        self.current_state = current_state
        for state in (*(self._initial or ()), *((current_state,) if current_state is not None else ())):
            if state not in self._states:
                raise ValueError(f"{state!r} is not a state of the transition table")

    def check(self, response: Any, context: Context | None = None) -> GuardResult:
        known = (context or {}).get("current_state", self.current_state)
        moves = list(self._moves(viewed(response), known))
        for path, current, new in moves:
            problem = self._problem(current, new, known)
            if problem is not None:
                details = {"path": path, "current_state": current, "new_state": new}
                return self.fail_result(problem, details)
        if not moves:
            return self.pass_result("the output changes no state")
        return self.pass_result(", ".join(f"{current or 'new'} → {new}" for _, current, new in moves))

    def _moves(self, view: Output, known: Any) -> Iterator[tuple[str, Any, Any]]:
        state_field, new_state_field = self._fields
        roots = {call.path + ".arguments" if call.path else "arguments" for call in view.tool_calls} | {""}
        for path, value in view.objects:
            if new_state_field in value:
                yield path, value.get(state_field, known), value[new_state_field]
            elif state_field in value and path in roots:
                # Deeper inside, a field of that name belongs to something else, such as an address.
                yield path, known, value[state_field]

    def _problem(self, current: Any, new: Any, known: Any) -> str | None:
        if not self._is_state(new):
            return f"unknown state {_show(new)}, expected one of {', '.join(sorted(self._states))}"
        if known is not None and current != known:
            return f"the output claims the state {_show(current)}, but the current state is {_show(known)}"
        if current is None:
            return self._entry_problem(new)
        if not self._is_state(current):
            return f"unknown current state {_show(current)}"
        followers = self._followers.get(current, frozenset())
        if new in followers:
            return None
        if not followers:
            return f"{current} is a terminal state: the move {current} → {new} is not possible"
        return f"the move {current} → {new} is not in the table, which allows {', '.join(sorted(followers))}"

    def _entry_problem(self, new: str) -> str | None:
        if self._initial is None:
            return f"the current state is not known, so the move to {new} can't be checked"
        if new in self._initial:
            return None
        return f"{new} is not an initial state: {', '.join(sorted(self._initial))}"

    def _is_state(self, value: Any) -> bool:
        return isinstance(value, str) and value in self._states


def _table(transitions: Mapping[str, Iterable[str]]) -> dict[str, frozenset[str]]:
    if not isinstance(transitions, Mapping) or not transitions:
        raise ValueError("transitions is a table {state: [states that may follow]} with at least one state")
    return {
        state: _states_of(f"transitions[{state!r}]", followers) for state, followers in transitions.items()
    }


def _states_of(name: str, states: str | Iterable[str]) -> frozenset[str]:
    if isinstance(states, str) and name != "initial":
        raise ValueError(f"{name} is a list of states, not the string {states!r}")
    found = frozenset([states] if isinstance(states, str) else states)
    if not all(isinstance(state, str) for state in found):
        raise ValueError(f"{name} holds a state that is not a string")
    return found


def _show(value: Any) -> str:
    return repr(value)[:60]
