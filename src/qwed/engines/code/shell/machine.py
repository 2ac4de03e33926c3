"""The state of one run over a shell script, and what every part of it needs."""

from collections.abc import Callable
from typing import Any, Final, Protocol

from qwed.engines.code.shell.project import Project
from qwed.engines.code.verdict import CodeReport, CodeVerdict

Nested = Callable[[str, str, int], CodeVerdict]

MAX_STEPS: Final = 12_000
MAX_STREAM: Final = 64 * 1024


#: Names of files below the working tree: what `find` and its like print.
BELOW: Final = "names-below"


class ShellTooLong(Exception):
    """The script is larger than what one inspection follows."""


class Stream:
    """What a command writes: its text where known, and what kinds of data are in it."""

    __slots__ = ("marks", "text")

    def __init__(self, text: str | None = None, marks: frozenset[str] = frozenset()) -> None:
        self.text = text
        self.marks = marks


EMPTY: Final = Stream("")
UNREAD: Final = Stream()


def join_streams(first: Stream, second: Stream) -> Stream:
    """The output of one command after another's."""
    if first is EMPTY:
        return second
    text = None if first.text is None or second.text is None else first.text + second.text
    if text is not None and len(text) > MAX_STREAM:
        text = None
    marks = first.marks | second.marks
    if second is not EMPTY and BELOW in first.marks ^ second.marks:
        # Names of one kind and names of another: nobody knows where all of them lie.
        marks -= {BELOW}
    return Stream(text, marks)


class Judge(Protocol):
    """What commands and files do is decided by tables elsewhere."""

    def command(self, run: Any, argv: list[str], stdin: Stream, line: int) -> Stream: ...

    def read(self, run: Any, path: str, line: int) -> None: ...

    def write(self, run: Any, path: str, line: int, made: Stream) -> None: ...

    def evaluate(self, run: Any, text: str, line: int) -> None: ...

    def evaluate_node(self, run: Any, node: Any) -> None: ...

    def name_variable(self, run: Any, text: str, line: int) -> None: ...

    def knows(self, name: str) -> bool: ...

    def set_variable(self, run: Any, name: str, value: str, line: int) -> None: ...


class ShellMachine:
    """What is known at one point of a script."""

    def __init__(self, source: bytes, report: CodeReport, depth: int, nested: Nested, judge: Judge) -> None:
        self.source = source
        self.lines = source.split(b"\n")
        self.report = report
        self.depth = depth
        self.nested = nested
        self.judge = judge
        self.steps = 0
        self.level = 0
        self.fixed_line: int | None = None
        self.variables: dict[str, str] = {}
        # Variables that hold a name below the working tree, and how it is written here.
        self.found: dict[str, str] = {}
        self.arrays: dict[str, list[str]] = {}
        self.marked: dict[str, frozenset[str]] = {}
        self.functions: dict[str, tuple[Any, bytes]] = {}
        self.aliases: dict[str, str] = {}
        self.positional: list[str] | None = None
        self.calling: list[str] = []
        self.written: dict[str, Stream] = {}
        self.word_marks: frozenset[str] = frozenset()
        # Variables that a shell computes before it sets them, and those that hold what was computed.
        self.integers: set[str] = set()
        self.computed: set[str] = set()
        self.unresolved: list[str] = []
        self.acts: set[str] = set()
        self.is_guess = False
        # A command that does not show itself says nothing; what it hands on is followed all the same.
        self.is_muted = False
        # Whether the command that ran last is known, so that what it prints is written where it is sent.
        self.is_known = False
        # A file that was read into this shell may have defined any command.
        self.has_sourced = False
        self.own_functions: set[str] = set()
        # Effects of the commands that are done; the report's are those of the one that runs.
        self.settled: set[str] = set()
        self.directory = ""
        # Symbolic links that the script makes, and where they lead.
        self.links: dict[str, str] = {}
        # Where the commands run, if that is known.
        self.project: Project | None = None
        self.has_moved = False
        # How many names in scratch space the script has asked for.
        self.scratch = 0
        # How many commands deep this command is: one that another one starts is at least the second.
        self.started_by = 0
        self.wrappers = 0
        # How many substitutions deep this command is, and whether one of them runs a command nobody knows.
        # Those in backquotes count where they are the whole text.
        self.substitutions = 0
        self.substitutes_unknown = False
        # Whether the whole text is known commands with separators between them.
        self.is_list = False

    def enter(self, project: Project) -> None:
        self.project = project
        if project.below:
            self.variables["PWD"] = project.here

    def reach(self, how_far: str, line: int) -> None:
        if not self.is_muted:
            self.report.reaches.setdefault(how_far, self.line_text(line)[:120])

    def harm(self, rule: str, line: int, *flow: str) -> None:
        if not self.is_muted:
            self.report.harm(rule, line, self.line_text(line), flow)

    def doubt(self, rule: str, line: int, *flow: str) -> None:
        if not self.is_muted:
            self.report.doubt(rule, line, self.line_text(line), flow)

    def line_text(self, line: int) -> str:
        return self.lines[line - 1].decode("utf-8", "replace").strip() if 0 < line <= len(self.lines) else ""

    def text(self, node: Any) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def line(self, node: Any) -> int:
        """Text found in a string stands at the line that runs it."""
        return self.fixed_line if self.fixed_line is not None else int(node.start_point[0]) + 1

    def spend(self) -> None:
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise ShellTooLong

    # The other parts of a run, by name.

    def run(self, node: Any, stdin: Stream = EMPTY) -> Stream:
        raise NotImplementedError

    def run_children(self, node: Any, stdin: Stream) -> Stream:
        raise NotImplementedError

    def run_text(self, text: str, stdin: Stream, line: int) -> Stream:
        raise NotImplementedError

    def file_input(self, redirect: Any) -> Stream:
        raise NotImplementedError

    def simple_command(self, children: list[Any], stdin: Stream, line: int) -> Stream:
        raise NotImplementedError
