"""One text, read in every language it may be run as, and the worst of the readings that count.

A reading is *at home* when it parses and every name in it is resolved. What is forbidden, and what a known
command does, counts in every reading; anything else only in those at home, or, if none is, in all that parse.
"""

import functools
from collections.abc import Iterable
from typing import Final

import msgspec

from qwed.engines.code.dialects import looks_like_typescript, read_cell
from qwed.engines.code.inspect import JAVASCRIPT, PYTHON, SHELL, guess_shell, inspect_code
from qwed.engines.code.pretests import (
    find_command_lines,
    find_runnable,
    is_no_command,
    is_no_javascript,
    is_no_python,
    is_plain_data,
    sets_nothing,
)
from qwed.engines.code.shell.grammar_repairs import is_surely_broken
from qwed.engines.code.verdict import MAX_BYTES, CodeProblem, CodeVerdict

LANGUAGES: Final = (PYTHON, SHELL, JAVASCRIPT)
# All readings of one text together read at most this many characters.
MAX_READ: Final = 2 * MAX_BYTES
_CACHED_LENGTH: Final = 4_096
_CACHE_SIZE: Final = 1_024
UNKNOWN_COMMAND: Final = "unknown-command"
# A reading with one of these was given up before the end, and the rest may hold anything.
_GIVEN_UP: Final = frozenset({"too-much-to-follow", "nested-too-deeply", "too-slow-to-parse", "too-large"})


def judge_program(text: str, language: str | None) -> CodeVerdict:
    """A text that will be run. `language` is the one declared or the slot's; None where nobody says."""
    if len(text) > _CACHED_LENGTH:
        return _judge(text, language)
    verdict = _judge_again(text, language)
    # The clock's answer is not the text's: another time there may be time enough.
    is_late = any(problem.rule == "too-slow-to-parse" for problem in verdict.problems)
    return _judge(text, language) if is_late else verdict


def _judge(text: str, language: str | None) -> CodeVerdict:
    return _judge_undeclared(text) if language is None else _judge_declared(text, language)


# Agents run the same program again and again, and what it does is in its text alone.
_judge_again = functools.lru_cache(_CACHE_SIZE)(_judge)


def find_in_program(text: str) -> CodeVerdict | None:
    """A text that might be run: the reading with the worst found in it, None where nothing is found. One that
    was given up has only the doubts that say so."""
    readings = _Readings(text, budget=len(LANGUAGES) * MAX_BYTES)
    others = [readings.read(language, is_guess=True) for language in LANGUAGES]
    harmful = next((reading for reading in others if _certain_harms(reading)), None)
    acting = next((reading for reading in others if reading.acts and reading.malformed is None), None)
    found = harmful or acting
    if found is None and any(map(_say_undecided, others)) and not is_plain_data(text):
        return next(filter(None, map(_keep_given_up, others)))
    return found


def _keep_given_up(reading: CodeVerdict) -> CodeVerdict | None:
    doubts = _say_undecided(reading)
    return CodeVerdict(reading.language, doubts, purity="not inspected") if doubts else None


def _judge_declared(text: str, language: str) -> CodeVerdict:
    """The declared language is the only one at home; in the others only what is forbidden counts."""
    readings = _Readings(text)
    declared = readings.inspect(language, text)
    if language == SHELL and declared.malformed is not None:
        declared = doubt_grammar(declared, text)
    others = [
        readings.read(other, is_guess=True)
        for other in LANGUAGES
        if other != language and not (other != SHELL and sets_nothing(text))
    ]
    if declared.malformed is not None:
        declared = _read_dialect(text, declared, readings) or declared
    return _add_found(declared, others, with_acts=False)


def _read_dialect(text: str, broken: CodeVerdict, readings: "_Readings") -> CodeVerdict | None:
    """What does not parse, read as what people call by the same name; None where it is no such thing."""
    if broken.language == JAVASCRIPT and looks_like_typescript(text):
        doubt = CodeProblem("typescript", 1, "this is TypeScript, which is not read", certain=False)
        return CodeVerdict(JAVASCRIPT, (*broken.harms, doubt), purity="not inspected")
    cell = read_cell(text) if broken.language == PYTHON else None
    if cell is None:
        return None
    program = readings.inspect(PYTHON, cell.python)
    if program.malformed is not None:
        return None
    read = [program]
    if cell.shell.strip():
        read.append(readings.inspect(SHELL, cell.shell))
    doubts = tuple(CodeProblem("magic", 1, each, certain=False) for each in cell.unknown)
    joined = _join(read)
    malformed = next((each.malformed for each in read if each.malformed is not None), None)
    return msgspec.structs.replace(
        joined, problems=(*joined.problems, *doubts), pure=joined.pure and not doubts, malformed=malformed
    )


def _judge_undeclared(text: str) -> CodeVerdict:
    readings = _Readings(text)
    made = [readings.read(PYTHON), readings.read(JAVASCRIPT)]
    # A program of another language may begin its lines with what are commands elsewhere.
    made.insert(1, readings.read(SHELL, is_guess=any(map(_is_home, made))))
    counted = [reading for reading in made if _is_home(reading)]
    counted = counted or [reading for reading in made if reading.malformed is None]
    if not counted:
        return _add_found(made[0], made[1:], with_acts=False)
    return _add_found(_join(counted), [each for each in made if each not in counted], with_acts=True)


def doubt_grammar(verdict: CodeVerdict, text: str) -> CodeVerdict:
    """Shell that our grammar does not read, and a shell might: nobody knows."""
    if verdict.malformed is None or is_surely_broken(text):
        return verdict
    problem = CodeProblem("construct-not-understood", 1, verdict.malformed, certain=False)
    return msgspec.structs.replace(verdict, problems=(*verdict.problems, problem), malformed=None)


class _Readings:
    """Reads one text several times, within one budget."""

    def __init__(self, text: str, budget: int = MAX_READ) -> None:
        self._text = text
        self._left = budget

    def read(self, language: str, *, is_guess: bool = False) -> CodeVerdict:
        match language:
            case "shell":
                return self._read_shell(is_guess=is_guess)
            case "javascript" if is_no_javascript(self._text):
                return _does_not_parse(JAVASCRIPT, "line 1: unexpected text")
            case "python" if is_no_python(self._text):
                return _does_not_parse(PYTHON, "line 1: invalid syntax")
        return self.inspect(language, self._text)

    def _read_shell(self, *, is_guess: bool) -> CodeVerdict:
        """A shell runs line by line, so the lines before one that it can't read count."""
        runnable = find_runnable(self._text)
        begun = self._text if runnable is None else runnable
        later = "" if runnable is None or is_guess else find_command_lines(self._text[len(runnable) :])
        if later:
            return self._read_lines(begun, later)
        if is_no_command(begun):
            return _runs_nothing() if runnable is None else _does_not_parse(SHELL, _stops_at(begun))
        verdict = self.inspect(SHELL, begun, is_guess=is_guess)
        if runnable is None:
            return verdict
        kept = (*verdict.harms, *_say_undecided(verdict))
        return msgspec.structs.replace(
            verdict, problems=kept, pure=False, malformed=_stops_at(begun), home=False
        )

    def _read_lines(self, begun: str, later: str) -> CodeVerdict:
        """No language is at home: the lines after one that a shell can't read may be meant for it too."""
        verdict = self.inspect(SHELL, begun + later, is_guess=True)
        return msgspec.structs.replace(
            verdict,
            problems=(*verdict.harms, *_say_undecided(verdict)),
            pure=False,
            malformed=_stops_at(begun),
            home=False,
        )

    def inspect(self, language: str, text: str, *, is_guess: bool = False) -> CodeVerdict:
        self._left -= len(text)
        if self._left < 0:
            problem = CodeProblem(
                "too-much-to-follow", 1, "too long to be read in every language", certain=False
            )
            return CodeVerdict(language, (problem,), purity="not inspected")
        return guess_shell(text) if is_guess else inspect_code(language, text)


def _does_not_parse(language: str, malformed: str) -> CodeVerdict:
    return CodeVerdict(language, malformed=malformed, purity="does not parse")


def _runs_nothing() -> CodeVerdict:
    return CodeVerdict(SHELL, purity="names a command that is not known")


def _stops_at(begun: str) -> str:
    line = begun.count("\n") + 1
    return f"line {line}: unexpected text"


def _is_home(reading: CodeVerdict) -> bool:
    return reading.malformed is None and (reading.home or reading.pure)


def _join(readings: list[CodeVerdict]) -> CodeVerdict:
    """The worst of several readings: their problems and effects together, pure only if each is."""
    kept = [_without_unknown(reading) for reading in readings]
    if len(kept) == 1:
        return kept[0]
    worst = max(kept, key=lambda reading: (reading.status.gravity, not reading.pure))
    return CodeVerdict(
        ", ".join(reading.language for reading in kept),
        tuple(dict.fromkeys(problem for reading in kept for problem in reading.problems)),
        _union(reading.effects for reading in kept),
        all(reading.pure for reading in kept),
        worst.purity,
        home=any(reading.home for reading in kept),
        acts=_union(reading.acts for reading in kept),
    )


def _without_unknown(reading: CodeVerdict) -> CodeVerdict:
    """That a command is unknown says something only where the text is at home as shell."""
    if reading.home or not reading.problems:
        return reading
    kept = tuple(problem for problem in reading.problems if problem.rule != UNKNOWN_COMMAND)
    return msgspec.structs.replace(reading, problems=kept)


def _add_found(base: CodeVerdict, others: Iterable[CodeVerdict], *, with_acts: bool) -> CodeVerdict:
    """What is forbidden counts in whatever language it is found, as does what a known command does."""
    for other in others:
        harms = _certain_harms(other)
        doubts = _say_undecided(other) if with_acts else ()
        acts = _find_acts(other) if with_acts and other.malformed is None else ()
        if not harms and not acts and not doubts:
            continue
        base = msgspec.structs.replace(
            base,
            language=f"{base.language}, {other.language}",
            problems=(*base.problems, *harms, *doubts),
            effects=_union((base.effects, acts)),
            acts=_union((base.acts, acts)),
            pure=False,
            purity=f"read as {other.language}: {', '.join(acts) or 'has problems'}",
        )
    return base


def _find_acts(reading: CodeVerdict) -> tuple[str, ...]:
    """A command that nobody knows counts in a substitution, which no other language reads as one."""
    return _union((reading.acts, ("process",) if reading.substitutes_unknown else ()))


def _say_undecided(reading: CodeVerdict) -> tuple[CodeProblem, ...]:
    """A reading that was given up may hold anything, unless its language runs nothing of such a text."""
    if reading.malformed is not None and reading.language != SHELL:
        return ()
    return tuple(problem for problem in reading.doubts if problem.rule in _GIVEN_UP)


def _certain_harms(reading: CodeVerdict) -> tuple[CodeProblem, ...]:
    """A shell runs the lines before the one that does not parse; the others run nothing of such a text. Marks
    that show text in another order are ordinary in text that is no program."""
    if reading.malformed is not None and reading.language != SHELL:
        return ()
    return () if all(problem.rule == "hidden-text" for problem in reading.harms) else reading.harms


def _union(groups: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(sorted({each for group in groups for each in group}))
