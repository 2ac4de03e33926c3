"""SMT-LIB 2 scripts: which commands are followed, and what each `check-sat` asks.

The script is interpreted here; a solver is only ever given declarations and assertions. Commands
that only print are skipped. Commands that could reach a file are refused.
"""

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from qwed.engines.logic.problem import LogicProblem
from qwed.engines.logic.refusals import Forbidden, NotLogic, UndecidedLogic
from qwed.engines.logic.sexpr import Sexpr, rename, write
from qwed.engines.logic.sorts import TAKEN_SORTS

MAX_CHECKS: Final = 32
MAX_LEVELS: Final = 1_000

_DECLARATIONS: Final = frozenset(
    {
        *("declare-const", "declare-fun", "declare-sort", "declare-datatype", "declare-datatypes"),
        *("define-fun", "define-fun-rec", "define-funs-rec", "define-const", "define-sort"),
    }
)
_SILENT: Final = frozenset(
    {
        *("get-model", "get-value", "get-unsat-core", "get-unsat-assumptions", "get-assertions"),
        *("get-assignment", "get-info", "get-option", "get-proof", "echo", "eval", "simplify", "display"),
    }
)
_FORBIDDEN_COMMANDS: Final = frozenset({"include", "load", "dump", "system", "open"})
_FORBIDDEN_OPTIONS: Final = ("output-channel", "_log", "dump", "file", "trace", "dimacs")
_COMMANDS: Final = (
    _DECLARATIONS
    | _SILENT
    | {
        *("assert", "check-sat", "check-sat-assuming", "push", "pop", "reset", "reset-assertions", "exit"),
        *("set-logic", "set-info", "set-option"),
    }
)


class SatCheck(msgspec.Struct, frozen=True):
    """One `check-sat`: what is asserted at that point, and what the file says it should be."""

    problem: LogicProblem
    assertions: tuple[Sexpr, ...]
    declared_status: str | None


def looks_smtlib(expressions: list[Sexpr]) -> bool:
    return any(isinstance(each, tuple) and each and each[0] in _COMMANDS for each in expressions)


def interpret(commands: list[Sexpr]) -> list[SatCheck]:
    """The checks a script asks for; one, at its end, when it names none. Raises `Refusal`."""
    script = _Script()
    for command in _without_clashes(commands):
        if script.has_ended:
            break
        script.follow(command)
    if not script.checks:
        script.check(("check-sat",))
    return script.checks


def _without_clashes(commands: list[Sexpr]) -> list[Sexpr]:
    """A script may call its sorts as it likes; the solver has taken some names itself."""
    clashes = {name for command in commands for name in _find_declared_sorts(command)} & TAKEN_SORTS
    return rename(commands, {name: f"{name}.own" for name in clashes}) if clashes else commands


def _find_declared_sorts(command: Sexpr) -> Iterable[str]:
    match command:
        case ("declare-sort" | "define-sort" | "declare-datatype", str(name), *_):
            yield name
        case ("declare-datatypes", tuple(sorts), _):
            yield from (sort[0] for sort in sorts if isinstance(sort, tuple) and isinstance(sort[0], str))


class _Level(msgspec.Struct):
    declarations: list[Sexpr]
    assertions: list[Sexpr]


class _Script:
    def __init__(self) -> None:
        self.checks: list[SatCheck] = []
        self.has_ended = False
        self._levels = [_Level([], [])]
        self._logic: str | None = None
        self._status: str | None = None

    def follow(self, command: Sexpr) -> None:
        if isinstance(command, str) or not command or not isinstance(command[0], str):
            raise NotLogic(f"{write(command)[:60]} is no SMT-LIB command")
        name = command[0]
        if name in _DECLARATIONS:
            self._levels[-1].declarations.append(command)
        elif name in _FORBIDDEN_COMMANDS:
            raise Forbidden(f"the command {name!r} reaches beyond the formula")
        elif name not in _SILENT:
            step = _STEPS.get(name)
            if step is None:
                raise UndecidedLogic("unsupported", f"the command {name[:40]!r} is not followed here")
            step(self, command)

    def assert_(self, command: tuple[Sexpr, ...]) -> None:
        if len(command) != 2:
            raise NotLogic("(assert formula) has one part")
        self._levels[-1].assertions.append(command[1])

    def check(self, command: tuple[Sexpr, ...]) -> None:
        if len(self.checks) >= MAX_CHECKS:
            raise UndecidedLogic("size", f"more than {MAX_CHECKS} checks")
        extra: Sexpr = command[1] if len(command) > 1 else ()
        if isinstance(extra, str):
            raise NotLogic("(check-sat-assuming (literals)) has a list")
        declarations = tuple(each for level in self._levels for each in level.declarations)
        problem = LogicProblem(declarations, sorts=_constants(declarations), logic=self._logic)
        assertions = tuple(each for level in self._levels for each in level.assertions)
        self.checks.append(SatCheck(problem, (*assertions, *extra), self._status))

    def push(self, command: tuple[Sexpr, ...]) -> None:
        for _ in range(_count(command)):
            self._levels.append(_Level([], []))
        if len(self._levels) > MAX_LEVELS:
            raise UndecidedLogic("size", f"more than {MAX_LEVELS} levels")

    def pop(self, command: tuple[Sexpr, ...]) -> None:
        for _ in range(_count(command)):
            if len(self._levels) == 1:
                raise NotLogic("a pop without its push")
            self._levels.pop()

    def reset(self, command: tuple[Sexpr, ...]) -> None:
        self._levels, self._logic = [_Level([], [])], None

    def reset_assertions(self, command: tuple[Sexpr, ...]) -> None:
        self._levels = [_Level(self._levels[0].declarations, [])]

    def set_logic(self, command: tuple[Sexpr, ...]) -> None:
        if len(command) != 2 or not isinstance(command[1], str):
            raise NotLogic("(set-logic name) has a name")
        self._logic = command[1]

    def set_info(self, command: tuple[Sexpr, ...]) -> None:
        if len(command) == 3 and command[1] == ":status" and isinstance(command[2], str):
            self._status = command[2]

    def set_option(self, command: tuple[Sexpr, ...]) -> None:
        name = command[1] if len(command) > 1 else ""
        if not isinstance(name, str) or any(word in name for word in _FORBIDDEN_OPTIONS):
            raise Forbidden(f"the option {write(name)[:60]} reaches beyond the formula")

    def exit(self, command: tuple[Sexpr, ...]) -> None:
        self.has_ended = True


_STEPS: Final[dict[str, Callable[[_Script, tuple[Sexpr, ...]], None]]] = {
    "assert": _Script.assert_,
    "check-sat": _Script.check,
    "check-sat-assuming": _Script.check,
    "push": _Script.push,
    "pop": _Script.pop,
    "reset": _Script.reset,
    "reset-assertions": _Script.reset_assertions,
    "set-logic": _Script.set_logic,
    "set-info": _Script.set_info,
    "set-option": _Script.set_option,
    "exit": _Script.exit,
}


def _count(command: tuple[Sexpr, ...]) -> int:
    if len(command) == 1:
        return 1
    if len(command) != 2 or not isinstance(command[1], str) or not command[1].isdigit():
        raise NotLogic(f"({command[0]} n) has a number")
    if len(command[1]) > 6:
        raise UndecidedLogic("size", f"more than {MAX_LEVELS} levels")
    return int(command[1])


def _constants(declarations: tuple[Sexpr, ...]) -> dict[str, Sexpr]:
    sorts: dict[str, Sexpr] = {}
    for declaration in declarations:
        match declaration:
            case ("declare-const", str(name), sort) | ("declare-fun", str(name), (), sort):
                sorts[name.strip("|")] = sort
    return sorts
