"""What an inspection of program text found, in one shape for every language."""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from qwed.domain.findings import Status

MAX_BYTES: Final = 64 * 1024
MAX_NESTING: Final = 4
MAX_PIPED: Final = 300
MAX_PROBLEMS: Final = 40
_EXCERPT: Final = 120


class CodeProblem(msgspec.Struct, frozen=True):
    """One place that does harm (`certain`), or whose harmlessness could not be shown."""

    rule: str
    line: int
    text: str
    flow: tuple[str, ...] = ()
    certain: bool = True


class CodeVerdict(msgspec.Struct, frozen=True):
    """`pure` is proven, and `purity` is the proof's summary or what stands in its way.

    `home`: the text parses and every name in it is resolved, so this may well be its language. `acts`:
    effects of commands and APIs that are known, reading excluded; ordinary words and values have none.
    """

    language: str
    problems: tuple[CodeProblem, ...] = ()
    effects: tuple[str, ...] = ()
    pure: bool = False
    purity: str = ""
    malformed: str | None = None
    home: bool = False
    acts: tuple[str, ...] = ()
    #: Read as shell, a substitution runs a command that nobody knows.
    substitutes_unknown: bool = False
    #: How far its commands reach beyond the project (`shell/reach.py`), each with the first that does.
    reaches: tuple[tuple[str, str], ...] = ()

    @property
    def harms(self) -> tuple[CodeProblem, ...]:
        return tuple(problem for problem in self.problems if problem.certain)

    @property
    def doubts(self) -> tuple[CodeProblem, ...]:
        return tuple(problem for problem in self.problems if not problem.certain)

    @property
    def status(self) -> Status:
        """Harm outweighs doubt; text that does not parse can't be verified whatever was found in it."""
        if self.harms or self.malformed is not None:
            return Status.FAILED
        return Status.UNCERTAIN if self.problems else Status.VERIFIED


class CodeReport:
    """Collects problems and effects while one text, and the texts nested in it, are inspected."""

    def __init__(self) -> None:
        self._problems: dict[tuple[str, int], CodeProblem] = {}
        self.effects: set[str] = set()
        self.reaches: dict[str, str] = {}
        #: The first line that reads what must not leave.
        self.private_read: int | None = None

    def reads_private(self, line: int) -> None:
        self.private_read = line if self.private_read is None else self.private_read

    def doubt_unfollowed(self, text: str) -> None:
        """Private files are read and the network is spoken to: that no flow was found does not prove that
        there is none."""
        line = self.private_read
        if line is None or "network" not in self.effects or self._is_said_to_leak():
            return
        lines = text.splitlines()
        self.doubt("may-send-a-file", line, lines[line - 1] if 0 < line <= len(lines) else text)

    def _is_said_to_leak(self) -> bool:
        return any(rule in ("exfiltration", "reads-sensitive-file") for rule, _ in self._problems)

    def harm(self, rule: str, line: int, text: str, flow: Iterable[str] = ()) -> None:
        self._add(CodeProblem(rule, line, excerpt(text), tuple(flow)))

    def doubt(self, rule: str, line: int, text: str, flow: Iterable[str] = ()) -> None:
        self._add(CodeProblem(rule, line, excerpt(text), tuple(flow), certain=False))

    def _add(self, problem: CodeProblem) -> None:
        key = (problem.rule, problem.line)
        known = self._problems.get(key)
        if known is None and len(self._problems) >= MAX_PROBLEMS and not problem.certain:
            return
        if known is None or (problem.certain and not known.certain):
            self._problems[key] = problem

    def include(self, nested: CodeVerdict, line: int, where: str) -> None:
        """A text found inside another: its problems are this one's, at the line that runs it."""
        self.effects.update(nested.effects)
        self.reaches = {**dict(nested.reaches), **self.reaches}
        if nested.malformed is not None:
            self.doubt("nested-code-does-not-parse", line, where, (nested.malformed,))
        for problem in nested.problems:
            step = f"line {line}: {excerpt(where)}"
            self._add(msgspec.structs.replace(problem, line=line, flow=(step, *problem.flow)))

    @property
    def problems(self) -> tuple[CodeProblem, ...]:
        return tuple(sorted(self._problems.values(), key=lambda problem: (problem.line, problem.rule)))


def excerpt(text: str) -> str:
    """One printable line of at most a few words of the source, for a person to recognise."""
    folded = " ".join(text[: _EXCERPT * 4].split())
    shown = folded if len(folded) <= _EXCERPT else folded[: _EXCERPT - 1] + "…"
    return shown.encode("utf-8", "backslashreplace").decode("utf-8")


def too_large(language: str, text: str) -> CodeVerdict | None:
    """Texts beyond the bounds are not read at all: half a program proves nothing."""
    if language == "shell" and too_long_a_pipe(text):
        message = f"a pipe of more than {MAX_PIPED} commands"
        return CodeVerdict(
            language, (CodeProblem("too-large", 1, message, certain=False),), purity="not inspected"
        )
    size = len(text) if len(text) > MAX_BYTES else len(text.encode("utf-8", "replace"))
    if size <= MAX_BYTES:
        return None
    message = f"{size} bytes, of which at most {MAX_BYTES} are inspected"
    problem = CodeProblem("too-large", 1, message, certain=False)
    return CodeVerdict(language, (problem,), purity="not inspected")


def too_long_a_pipe(text: str) -> bool:
    """The time that the parser of shell text takes grows with the square of a pipe's length."""
    if text.count("|") <= MAX_PIPED:
        return False
    return any(line.count("|") > MAX_PIPED for line in _LINE_ENDS.split(_PIPE_ENDS.sub("|", text)))


_PIPE_ENDS: Final = re.compile(r"\|\s*\n\s*")
_LINE_ENDS: Final = re.compile(r"[\n;&]")


def too_slow(language: str) -> CodeVerdict:
    """The one answer that a clock causes, and says so."""
    problem = CodeProblem("too-slow-to-parse", 1, "stopped by the time limit of the parser", certain=False)
    return CodeVerdict(language, (problem,), purity="not inspected")
