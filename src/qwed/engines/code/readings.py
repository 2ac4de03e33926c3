"""One text, read in every language it may be run as, and the worst of the readings that count."""

from collections.abc import Iterable
from typing import Final

import msgspec

from qwed.domain.findings import Status
from qwed.engines.code.inspect import JAVASCRIPT, PYTHON, SHELL, inspect_code
from qwed.engines.code.verdict import CodeVerdict, Problem

LANGUAGES: Final = (PYTHON, SHELL, JAVASCRIPT)
UNKNOWN_COMMAND: Final = "unknown-command"
_GRAVITY: Final = {Status.VERIFIED: 0, Status.CORRECTED: 1, Status.UNCERTAIN: 2, Status.FAILED: 3}


def judge_program(text: str, language: str | None) -> CodeVerdict:
    """A text that will be run. `language` is the one declared or the slot's; None where nobody says."""
    if language is not None:
        others = [inspect_code(other, text) for other in LANGUAGES if other != language]
        return _with_harms(inspect_code(language, text), others)
    readings = [inspect_code(each, text) for each in LANGUAGES]
    counted = [reading for reading in readings if _is_home(reading)]
    counted = counted or [reading for reading in readings if reading.malformed is None]
    if not counted:
        return _with_harms(readings[0], readings[1:])
    others = [reading for reading in readings if reading not in counted]
    return _with_harms(_join(counted), others, with_acts=True)


def find_in_program(text: str) -> CodeVerdict | None:
    """A text that might be run: the reading with the worst found in it, None where nothing is found."""
    readings = [inspect_code(language, text) for language in LANGUAGES]
    for reading in readings:
        if _running_harms(reading):
            return reading
    return next((reading for reading in readings if reading.acts and reading.malformed is None), None)


def _is_home(reading: CodeVerdict) -> bool:
    return reading.malformed is None and (reading.home or reading.pure)


def _join(readings: list[CodeVerdict]) -> CodeVerdict:
    """The worst of several readings: their problems and effects together, pure only if each is."""
    if len(readings) == 1:
        return _without_unknown(readings[0])
    worst = max(readings, key=lambda reading: (_GRAVITY[reading.status], not reading.pure))
    kept = [_without_unknown(reading) for reading in readings]
    return CodeVerdict(
        ", ".join(reading.language for reading in readings),
        tuple(dict.fromkeys(problem for reading in kept for problem in reading.problems)),
        _union(reading.effects for reading in readings),
        all(reading.pure for reading in readings),
        worst.purity,
        home=any(reading.home for reading in readings),
        acts=_union(reading.acts for reading in readings),
    )


def _without_unknown(reading: CodeVerdict) -> CodeVerdict:
    """That a command is unknown says something only where the text is at home as shell."""
    if reading.home:
        return reading
    kept = tuple(problem for problem in reading.problems if problem.rule != UNKNOWN_COMMAND)
    return msgspec.structs.replace(reading, problems=kept)


def _with_harms(base: CodeVerdict, others: Iterable[CodeVerdict], *, with_acts: bool = False) -> CodeVerdict:
    """What is forbidden counts in whatever language it is found, as does what a known command does."""
    for other in others:
        harms = _running_harms(other)
        acts = other.acts if with_acts and other.malformed is None else ()
        if not harms and not acts:
            continue
        base = msgspec.structs.replace(
            base,
            language=f"{base.language}, {other.language}",
            problems=(*base.problems, *harms),
            effects=_union((base.effects, acts)),
            acts=_union((base.acts, acts)),
            pure=False,
            purity=f"read as {other.language}: {harms[0].rule if harms else ', '.join(acts)}",
        )
    return base


def _running_harms(reading: CodeVerdict) -> tuple[Problem, ...]:
    """A shell runs the lines before the one that does not parse; the others run nothing of such a text."""
    if reading.malformed is None:
        return reading.harms
    if reading.language != SHELL:
        return ()
    first = _error_line(reading.malformed)
    return tuple(problem for problem in reading.harms if problem.line < first)


def _error_line(malformed: str) -> int:
    digits = malformed.removeprefix("line ").partition(":")[0]
    return int(digits) if digits.isdigit() else 1


def _union(groups: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(sorted({each for group in groups for each in group}))
