"""Branches and loops: every way is taken, and what they leave behind is joined."""

import ast
from collections.abc import Callable, Iterable
from typing import Any, Final

from qwed.engines.code.python import conditions, guards, loops
from qwed.engines.code.python.calls import PythonCalls
from qwed.engines.code.python.machine import (
    LEAVES,
    MAX_UNROLLED,
    RUNS_ON,
    is_plain,
)
from qwed.engines.code.python.names import (
    SOURCES,
)
from qwed.engines.code.python.values import (
    PythonUnknown,
    PythonValue,
    Ref,
    join,
)


def find_assigned_names(body: Iterable[ast.AST]) -> set[str]:
    return {
        node.id
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


# A whole request or argument list is not vouched for by a check of one thing in it.
_OBJECT_SOURCES: Final = frozenset(path for path in SOURCES if not path.endswith(")"))


def _dead(answers: list[bool | None]) -> frozenset[int]:
    """The alternatives that are never taken: refuted themselves, or behind one that always is."""
    taken = answers.index(True) if True in answers else len(answers)
    return frozenset(index for index, answer in enumerate(answers) if answer is False or index > taken)


class Branches(PythonCalls):
    """Runs statements that choose or repeat."""

    def _assert(self, node: ast.Assert) -> None:
        self.eval(node.test)
        if node.msg is not None:
            self.eval(node.msg)
        self.believe(guards.when_true(node.test, self.is_validator))

    def is_validator(self, name: str) -> bool:
        return guards.sounds_like_validation(name)

    def _branches(
        self, runs: list[Callable[[], int]], *, may_skip: bool, dead: frozenset[int] = frozenset()
    ) -> int:
        """Runs each alternative from the same state, and joins the states of those that run on. Those that
        are `dead` are looked at as well, and leave nothing behind."""
        scope = self.scope
        before = scope.names
        self.spend(1 + len(before) // 8)
        states: list[dict[str, PythonValue]] = [before] if may_skip else []
        ends = []
        self.branching += 1
        for index, run in enumerate(runs):
            scope.names = dict(before)
            end = run()
            if index in dead:
                continue
            ends.append(end)
            if end == RUNS_ON:
                states.append(scope.names)
        self.branching -= 1
        scope.names = self._join(states) if states else dict(before)
        if may_skip or not all(ends):
            return RUNS_ON
        return min(ends)

    def _join(self, states: list[dict[str, PythonValue]]) -> dict[str, PythonValue]:
        merged = dict(states[0])
        for state in states[1:]:
            self.spend(len(state) // 8)
            # Values compare by identity: what is left is what the branches changed.
            for name, value in state.items() - merged.items():
                known = merged.get(name)
                merged[name] = value if known is None else join(known, value)
        return merged

    def _if(self, node: ast.If) -> int:
        arms: list[tuple[list[set[str]], ast.If | None, list[ast.stmt]]] = []
        refuted: list[set[str]] = []
        current: ast.If | None = node
        while current is not None:
            arms.append(
                ([*refuted, guards.when_true(current.test, self.is_validator)], current, current.body)
            )
            refuted = [*refuted, guards.when_false(current.test, self.is_validator)]
            rest = current.orelse
            if len(rest) == 1 and isinstance(rest[0], ast.If):
                current = rest[0]
                continue
            arms.append((refuted, None, rest))
            current = None
        for _, test, _ in arms:
            if test is not None:
                self.spend()
                self.eval(test.test)
        runs = [self._arm(believed, body) for believed, _, body in arms]
        answers = [None if test is None else self.decided(test.test) for _, test, _ in arms]
        return self._branches(runs, may_skip=False, dead=_dead(answers))

    def decided(self, test: ast.expr) -> bool | None:
        return conditions.decide(test, self.scope.names) if self._has_own_names() else None

    def _has_own_names(self) -> bool:
        """Whether the names here are a function's, which only its own statements change."""
        return self.scope is not self.module and not self.is_changed_from_outside

    def _arm(self, believed: list[set[str]], body: list[ast.stmt]) -> Callable[[], int]:
        def run() -> int:
            for names in believed:
                self.believe(names)
            self.choosing += 1
            try:
                return self.block(body)
            finally:
                self.choosing -= 1

        return run

    def believe(self, names: set[str]) -> None:
        """These names passed a check: what they hold, and what it came from, counts as vouched for."""
        for name in names:
            value = self.scope.find(name)
            if value is None or not value.taint or (isinstance(value, Ref) and value.path in _OBJECT_SOURCES):
                continue
            vouched = {origin[:3] for origin in value.taint}
            for other, held in list(self.scope.names.items()):
                if held.taint and {origin[:3] for origin in held.taint} <= vouched and is_plain(held):
                    self.scope.names[other] = PythonUnknown(shape="validated")
            if name not in self.scope.names and is_plain(value):
                self.scope.names[name] = PythonUnknown(shape="validated")

    def _for(self, node: ast.For | ast.AsyncFor) -> int:
        iterable = self.eval(node.iter)
        members = self.members(iterable)
        if members is not None and self.may_unroll(members):
            self._unroll(node, members)
        else:
            self._once(node.body, lambda: self.bind(node.target, self.element(iterable)))
        return self.block(node.orelse)

    def may_unroll(self, members: list[PythonValue]) -> bool:
        if not members or self.unrolled + len(members) > MAX_UNROLLED:
            return False
        self.unrolled += len(members)
        return True

    def _unroll(self, node: ast.For | ast.AsyncFor, members: list[PythonValue]) -> None:
        for member in members:
            self.pending.append([])
            self.bind(node.target, member)
            end = self._branches([lambda: self.block(node.body)], may_skip=False)
            states = self.pending.pop()
            if states:
                kept = [self.scope.names] if end == RUNS_ON else []
                self.scope.names = self._join([*kept, *states])
            if end == LEAVES:
                return

    def _once(self, body: list[ast.stmt], start: Callable[[], None]) -> None:
        """A loop's body on values of which nothing is assumed, since earlier rounds made them."""
        self.branching += 1
        try:
            self._run_once(body, start)
        finally:
            self.branching -= 1

    def _run_once(self, body: list[ast.stmt], start: Callable[[], None]) -> None:
        before = self.scope.names
        havocked = dict(before)
        names = self.assigned.get(id(body))
        if names is None:
            names = self.assigned[id(body)] = find_assigned_names(body)
        for name in names:
            if name in havocked:
                havocked[name] = PythonUnknown(havocked[name].taint)
        self.scope.names = havocked
        self.pending.append([])
        start()
        end = self.block(body)
        states = self.pending.pop()
        if end == RUNS_ON:
            states.append(self.scope.names)
        self.scope.names = self._join([before, *states])

    def _while(self, node: ast.While) -> int:
        self.eval(node.test)
        bare = int(loops.is_bare(node))
        self.unbounded_loops += 1
        self.bare_loops += bare
        self._once(node.body, lambda: None)
        self.bare_loops -= bare
        self.unbounded_loops -= 1
        return self.block(node.orelse)

    def _try(self, node: Any) -> int:
        before = self.scope.names
        self.scope.names = dict(before)
        self.branching += 1
        end = self.block(node.body)
        if end == RUNS_ON:
            end = self.block(node.orelse)
        self.branching -= 1
        after = self.scope.names
        self.scope.names = self._join([after, before]) if node.handlers else after
        handled = self.scope.names
        states = [after] if end == RUNS_ON else []
        ends = [end]
        for handler in node.handlers:
            self.scope.names = dict(handled)
            if handler.name:
                self.scope.set(handler.name, PythonUnknown(shape="exception"))
            if handler.type is not None:
                self.eval(handler.type)
            ended = self.block(handler.body)
            ends.append(ended)
            if ended == RUNS_ON:
                states.append(self.scope.names)
        self.scope.names = self._join(states) if states else handled
        final = self.block(node.finalbody)
        return final or (min(ends) if all(ends) else RUNS_ON)

    def _with(self, node: ast.With | ast.AsyncWith) -> int:
        for item in node.items:
            value = self.eval(item.context_expr)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, value)
        return self.block(node.body)

    def _match(self, node: ast.Match) -> int:
        subject = self.eval(node.subject)
        runs = [self._case(case, subject) for case in node.cases]
        answers = self._match_answers(node)
        return self._branches(runs, may_skip=True not in answers, dead=_dead(answers))

    def _match_answers(self, node: ast.Match) -> list[bool | None]:
        if not self._has_own_names():
            return []
        try:
            subject = conditions.compute(node.subject, self.scope.names)
        except (conditions.UndecidedCondition, ArithmeticError, TypeError, ValueError, IndexError):
            return []
        return [None if case.guard else conditions.matches(case.pattern, subject) for case in node.cases]

    def _case(self, case: ast.match_case, subject: PythonValue) -> Callable[[], int]:
        def run() -> int:
            for pattern in ast.walk(case.pattern):
                name = getattr(pattern, "name", None) or getattr(pattern, "rest", None)
                if isinstance(name, str):
                    self.scope.set(name, PythonUnknown(subject.taint))
            if case.guard is not None:
                self.eval(case.guard)
            return self.block(case.body)

        return run
