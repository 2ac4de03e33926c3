"""An abstract run of a shell script: words evaluated, commands judged, known text followed through pipes."""

import re
from collections.abc import Callable
from typing import Any, Final, Protocol

from qwed.engines.code.shell import words
from qwed.engines.code.shell.trees import function_names, is_test, parsed
from qwed.engines.code.shell.words import HOLE, QUOTED
from qwed.engines.code.verdict import MAX_NESTING, CodeVerdict, Report

Nested = Callable[[str, str, int], CodeVerdict]

MAX_STEPS: Final = 12_000
MAX_CALL_DEPTH: Final = 8
MAX_ROUNDS: Final = 24
MAX_DEPTH: Final = 120
# How many commands may start each other: `sudo env nice timeout 5 xargs …`.
MAX_WRAPPERS: Final = 10
_MAX_AROUND: Final = 64
MAX_STREAM: Final = 64 * 1024


class OutOfSteps(Exception):
    """The script is larger than what one inspection follows."""


class Stream:
    """What a command writes: its text where known, and what kinds of data are in it."""

    __slots__ = ("marks", "text")

    def __init__(self, text: str | None = None, marks: frozenset[str] = frozenset()) -> None:
        self.text = text
        self.marks = marks


_ENDLESS_FILES: Final = frozenset({"/dev/zero", "/dev/urandom", "/dev/random"})
_ENDLESS: Final = Stream(None, frozenset({"endless"}))
EMPTY: Final = Stream("")
UNREAD: Final = Stream()

# What these variables hold where nobody has set them; cut to pieces, they spell other things.
_WELL_KNOWN: Final = {
    "HOME": "/home/user",
    "PWD": "/home/user/work",
    "OLDPWD": "/home/user",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "SHELL": "/bin/bash",
    "BASH": "/bin/bash",
    "OSTYPE": "linux-gnu",
    "HOSTTYPE": "x86_64",
    "MACHTYPE": "x86_64-pc-linux-gnu",
    "TERM": "xterm",
    "LANG": "en_US.UTF-8",
    "IFS": " \t\n",
}
_WHOLE: Final = {"HOME": "~", "PWD": ".", "IFS": " \t\n", "SHELL": "/bin/bash", "BASH": "/bin/bash"}
# A shell substitutes in these before it shows them.
_PROMPT: Final = re.compile(r"PS\d?|RPS\d|RPROMPT|PROMPT\d?|SPROMPT")
_ENDLESS_CONDITIONS: Final = frozenset({"true", ":", "false", "((1))", "[1]"})
_WAITS: Final = frozenset({"wait", "sleep", "break", "read", "exit", "return"})
_HISTORY_VARIABLES: Final = frozenset({"HISTFILE", "HISTSIZE", "HISTFILESIZE"})
_REDIRECTS: Final = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect"})
_EXPANSIONS: Final = frozenset(
    {"simple_expansion", "expansion", "command_substitution", "arithmetic_expansion"}
)


class Judge(Protocol):
    """What commands and files do is decided by tables elsewhere."""

    def command(self, run: "Runner", argv: list[str], stdin: Stream, line: int) -> Stream: ...

    def read(self, run: "Runner", path: str, line: int) -> None: ...

    def write(self, run: "Runner", path: str, line: int, made: Stream) -> None: ...

    def evaluate(self, run: "Runner", text: str, line: int) -> None: ...

    def evaluate_node(self, run: "Runner", node: Any) -> None: ...

    def name_variable(self, run: "Runner", text: str, line: int) -> None: ...

    def knows(self, name: str) -> bool: ...

    def set_variable(self, run: "Runner", name: str, value: str, line: int) -> None: ...


class Runner:
    """Walks the tree of one script."""

    def __init__(self, source: bytes, report: Report, depth: int, nested: Nested, judge: Judge) -> None:
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

    # -- reporting -------------------------------------------------------------------------------------

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

    # -- statements ------------------------------------------------------------------------------------

    def run(self, node: Any, stdin: Stream = EMPTY) -> Stream:
        self.spend()
        self.level += 1
        if self.level > MAX_DEPTH:
            raise OutOfSteps
        try:
            handler = _STATEMENTS.get(node.type)
            if handler is None:
                self.doubt("construct-not-understood", self.line(node), node.type)
                return self.run_children(node, stdin)
            return handler(self, node, stdin)
        finally:
            self.level -= 1

    def spend(self) -> None:
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise OutOfSteps

    def run_children(self, node: Any, stdin: Stream) -> Stream:
        made = EMPTY
        for child in node.named_children:
            made = joined(made, self.run(child, stdin))
        return made

    def _nothing(self, node: Any, stdin: Stream) -> Stream:
        return EMPTY

    def _pipeline(self, node: Any, stdin: Stream) -> Stream:
        stages = [child for child in node.named_children if child.type != "comment"]
        names = {self.text(stage).strip() for stage in stages}
        if self.calling and len(stages) > 1 and names == {self.calling[-1]}:
            self.harm("fork-bomb", self.line(node))
        for stage in stages:
            stdin = self.run(stage, stdin)
        return stdin

    def _redirected(self, node: Any, stdin: Stream) -> Stream:
        body = node.child_by_field_name("body")
        redirects = [child for child in node.named_children if body is None or child.id != body.id]
        # The grammar hangs a redirection on a whole list; the shell gives it to the last command.
        while body is not None and body.type in ("list", "pipeline") and body.named_children:
            piped = body.type == "pipeline"
            for child in body.named_children[:-1]:
                made = self.run(child, stdin)
                stdin = made if piped else stdin
            body = body.named_children[-1]
        for redirect in redirects:
            stdin = self._input_of(redirect, stdin)
        made = self.run(body, stdin) if body is not None else EMPTY
        for redirect in redirects:
            made = self._output_to(redirect, made)
        return made

    def _input_of(self, redirect: Any, stdin: Stream) -> Stream:
        match redirect.type:
            case "heredoc_redirect":
                return self._heredoc(redirect)
            case "herestring_redirect":
                return self._herestring(redirect)
            case "file_redirect" if self._operator(redirect).startswith("<"):
                return self._file_input(redirect)
        return stdin

    def _operator(self, redirect: Any) -> str:
        return next((str(child.type) for child in redirect.children if not child.is_named), "")

    def _file_input(self, redirect: Any) -> Stream:
        made = UNREAD
        for target in self._destinations(redirect):
            if target in ("0", "1", "2") and self._operator(redirect) == "<&":
                return Stream(None, frozenset({"terminal"}))
            self._check_device(target, redirect)
            self.judge.read(self, target, self.line(redirect))
            made = self.contents(target)
        return made

    def _destinations(self, redirect: Any) -> list[str]:
        found = redirect.children_by_field_name("destination")
        return [words.plain(field) for child in found for field in self.fields(child)]

    def contents(self, path: str) -> Stream:
        return self.written.get(
            path, _ENDLESS if path in _ENDLESS_FILES else Stream(None, frozenset({"file"}))
        )

    def _check_device(self, target: str, redirect: Any) -> None:
        if target.startswith(("/dev/tcp/", "/dev/udp/")):
            self.harm("reverse-shell", self.line(redirect))

    def _herestring(self, redirect: Any) -> Stream:
        text = "".join(words.plain(self.word(child)) for child in redirect.named_children)
        return Stream(None if HOLE in text else text + "\n", self.word_marks)

    def _heredoc(self, redirect: Any) -> Stream:
        start = next((child for child in redirect.named_children if child.type == "heredoc_start"), None)
        body = next((child for child in redirect.named_children if child.type == "heredoc_body"), None)
        if body is None:
            return EMPTY
        if start is not None and self.text(start)[:1] in ("'", '"', "\\"):
            return Stream(self.text(body))
        text = self._pieces(body, body.start_byte, body.end_byte, words.double_quoted, quoted=True)
        return Stream(None if HOLE in text else words.plain(text), self.word_marks)

    def _output_to(self, redirect: Any, made: Stream) -> Stream:
        if redirect.type == "heredoc_redirect":
            return self._heredoc_tail(redirect, made)
        operator = self._operator(redirect) if redirect.type == "file_redirect" else ""
        if not operator.startswith((">", "&>")):
            return made
        for target in self._destinations(redirect):
            if operator.endswith("&") and (target.isdigit() or target == "-"):
                continue
            self._check_device(target, redirect)
            if target.startswith("/dev/tcp/") and made.marks & {"file", "secret", "environment", "archive"}:
                self.harm("exfiltration", self.line(redirect))
            self.judge.write(self, target, self.line(redirect), made)
            if self.is_known and not target.startswith("/dev/"):
                self.acts.add("file-write")
        descriptor = redirect.child_by_field_name("descriptor")
        return made if descriptor is not None and self.text(descriptor) == "2" else EMPTY

    def _heredoc_tail(self, redirect: Any, made: Stream) -> Stream:
        """What is written after `<<EOF` on its line belongs to the command before it."""
        for child in redirect.named_children:
            match child.type:
                case "file_redirect":
                    made = self._output_to(child, made)
                case "heredoc_start" | "heredoc_body" | "heredoc_end" | "file_descriptor":
                    continue
                case _:
                    made = self.run(child, made)
        return made

    def _subshell(self, node: Any, stdin: Stream) -> Stream:
        variables, directory = dict(self.variables), self.directory
        made = self.run_children(node, stdin)
        self.variables, self.directory = variables, directory
        return made

    def _if(self, node: Any, stdin: Stream) -> Stream:
        """Every branch may run, or not: a variable that one of them changes is known no longer."""
        made = EMPTY
        for child in node.named_children:
            before = dict(self.variables)
            made = joined(made, self.run(child, stdin))
            self._forget_changes(before)
        return made

    def _forget_changes(self, before: dict[str, str]) -> None:
        for name, value in self.variables.items():
            if before.get(name, value) != value:
                self.variables[name] = HOLE

    def _for(self, node: Any, stdin: Stream) -> Stream:
        variable = node.child_by_field_name("variable")
        values = [field for child in node.children_by_field_name("value") for field in self.fields(child)]
        body = node.child_by_field_name("body")
        if variable is None or body is None:
            return self.run_children(node, stdin)
        if not node.children_by_field_name("value"):
            values = self.positional if self.positional is not None else [HOLE]
        if any(words.counts_far(self.text(child)) for child in node.children_by_field_name("value")):
            self._check_background(body)
        rounds = values if len(values) <= MAX_ROUNDS else [*values[:MAX_ROUNDS], HOLE]
        made = EMPTY
        # What looks empty here may be filled by whoever runs the script: `for x in "$@"`.
        for value in rounds or [HOLE]:
            self.variables[self.text(variable)] = HOLE if words.has_glob(value) else words.plain(value)
            made = joined(made, self.run(body, stdin))
        return made

    def _check_background(self, body: Any) -> None:
        """Thousands of rounds, each of which starts something and does not wait for it."""
        if any(child.type == "&" for child in body.children):
            self.doubt("uses-up-the-machine", self.line(body))

    def _starts_without_end(self, node: Any) -> bool:
        """`while true; do x & done` neither ends nor waits."""
        condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
        if condition is None or body is None:
            return False
        is_endless = self.text(condition).replace(" ", "").rstrip(";\n") in _ENDLESS_CONDITIONS
        first_words = {self.text(child).partition(" ")[0] for child in body.named_children}
        return is_endless and not first_words & _WAITS and any(child.type == "&" for child in body.children)

    def _while(self, node: Any, stdin: Stream) -> Stream:
        if self._starts_without_end(node):
            self.harm("fork-bomb", self.line(node))
        for name in self._assigned(node):
            self.variables[name] = HOLE
        return self.run_children(node, stdin)

    def _assigned(self, node: Any) -> set[str]:
        names: set[str] = set()
        waiting = [node]
        while waiting:
            current = waiting.pop()
            if current.type == "variable_assignment":
                name = self.text(current.child_by_field_name("name"))
                names.add(name)
                if not _is_computed(current):
                    self.computed.discard(name)
            waiting.extend(current.named_children)
        return names

    def _case(self, node: Any, stdin: Stream) -> Stream:
        made = EMPTY
        for child in node.named_children:
            if child.type != "case_item":
                self.word(child)
                continue
            before = dict(self.variables)
            patterns = {value.id for value in child.children_by_field_name("value")}
            for pattern in child.children_by_field_name("value"):
                self._run_hidden(pattern)
            for statement in child.named_children:
                if statement.id not in patterns:
                    made = joined(made, self.run(statement, stdin))
            self._forget_changes(before)
        return made

    def _function(self, node: Any, stdin: Stream) -> Stream:
        name = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        if name is None or body is None:
            return EMPTY
        title = self.text(name)
        self.functions[title] = (body, self.source)
        # A function that is never called must not hide anything either.
        variables = dict(self.variables)
        self.call_function(title, [HOLE] * 9, EMPTY)
        self.variables = variables
        return EMPTY

    def call_function(self, name: str, args: list[str], stdin: Stream) -> Stream:
        if name in self.calling or len(self.calling) >= MAX_CALL_DEPTH:
            return UNREAD
        body, source = self.functions[name]
        positional, caller = self.positional, self.source
        self.positional, self.source = args, source
        self.calling.append(name)
        try:
            return self.run(body, stdin)
        finally:
            self.calling.pop()
            self.positional, self.source = positional, caller

    def _assignment(self, node: Any, stdin: Stream) -> Stream:
        name_node = node.child_by_field_name("name")
        value = node.child_by_field_name("value")
        name = self.text(name_node).partition("[")[0] if name_node is not None else ""
        if name_node is not None:
            self._run_hidden(name_node)
            if name_node.type == "subscript":
                self.judge.name_variable(self, self.text(name_node), self.line(node))
        marks, self.word_marks = self.word_marks, frozenset()
        if value is not None and value.type == "array":
            self.arrays[name] = [field for child in value.named_children for field in self.fields(child)]
            for field in self.arrays[name]:
                if words.plain(field).startswith("["):
                    self.judge.evaluate(self, words.plain(field)[1:].partition("]=")[0], self.line(node))
            self.variables[name] = words.plain(self.arrays[name][0]) if self.arrays[name] else ""
        else:
            text = words.plain(self.word(value)) if value is not None else ""
            appended = any(child.type == "+=" for child in node.children)
            self._assign(name, self.variables.get(name, HOLE) + text if appended else text, node)
        self.marked[name] = self.word_marks
        self.word_marks = marks
        (self.computed.add if _is_computed(node) else self.computed.discard)(name)
        return EMPTY

    def _assign(self, name: str, value: str, node: Any) -> None:
        self.variables[name] = value if len(value) <= words.MAX_WORD else HOLE
        self.steps += len(value) >> 7
        scratch_first = value.startswith((".:", "/tmp", "/dev/shm")) or value == "."  # noqa: S108 - not used
        if name == "PATH" and scratch_first:
            self.harm("injects-into-programs", self.line(node))
        elif name in _HISTORY_VARIABLES and value in ("", "0", "/dev/null"):
            self.harm("covers-tracks", self.line(node))
        elif name in self.integers or _PROMPT.fullmatch(name):
            self.judge.evaluate(self, value, self.line(node))
        elif value:
            self.judge.set_variable(self, name, value, self.line(node))

    def _lines(self, node: Any) -> list[list[Any]]:
        """The children of a node, apart where a line ends: the grammar at times reads on past the end."""
        groups: list[list[Any]] = [[]]
        end = node.start_byte
        for child in node.named_children:
            if b"\n" in self.source[end : child.start_byte].replace(b"\\\n", b""):
                groups.append([])
            groups[-1].append(child)
            end = child.end_byte
        return groups

    def _declaration(self, node: Any, stdin: Stream) -> Stream:
        first, *rest = self._lines(node)
        options = "".join(self.text(child) for child in first if self.text(child).startswith("-"))
        if not any(child.type == "variable_assignment" for child in first):
            self._look_at_variables(node, options, has_names=bool(first))
        for child in first:
            if child.type == "variable_assignment":
                self._declare(child, options)
                self._assignment(child, stdin)
            elif not self.text(child).startswith("-"):
                self._declare_word(words.plain(self.word(child)), options, self.line(child))
        return self._rest_of_lines(rest, stdin)

    def _look_at_variables(self, node: Any, options: str, *, has_names: bool) -> None:
        if not options:
            self.unresolved.append(self.text(node))
        if "p" in options or not has_names:
            self.report.effects.add("environment-read")

    def _declare(self, assignment: Any, options: str) -> None:
        """`declare -i` computes what is assigned, `declare -n` reads it as a name."""
        name = self.text(assignment.child_by_field_name("name"))
        value = assignment.child_by_field_name("value")
        if "i" in options:
            self.integers.add(name)
        if "n" in options and value is not None:
            self.judge.name_variable(self, words.plain(self.word(value)), self.line(assignment))

    def _declare_word(self, text: str, options: str, line: int) -> None:
        name, _, value = text.partition("=")
        if "i" in options:
            self.integers.add(name)
            self.judge.evaluate(self, value, line)
        if "[" in name:
            self.judge.name_variable(self, name, line)

    def _rest_of_lines(self, groups: list[list[Any]], stdin: Stream) -> Stream:
        """What follows such a node, a pipe or a redirection, belongs to its last line."""
        made = EMPTY
        for group in groups:
            made = self._simple_command(group, stdin, self.line(group[0]))
        return made

    def _unset(self, node: Any, stdin: Stream) -> Stream:
        first, *rest = self._lines(node)
        for child in first:
            name = self.text(child)
            self._run_hidden(child)
            if "[" in (title := words.plain(self.word(child))):
                self.judge.name_variable(self, title, self.line(child))
            self.variables.pop(name, None)
            if name in _HISTORY_VARIABLES:
                self.harm("covers-tracks", self.line(node))
        return self._rest_of_lines(rest, stdin)

    def _test_command(self, node: Any, stdin: Stream) -> Stream:
        if not is_test(node, self.source):
            self.unresolved.append(self.text(node))
            self.doubt("unknown-command", self.line(node), self.text(node)[:60])
        return self._test(node, stdin)

    def _test(self, node: Any, stdin: Stream) -> Stream:
        """A test only reads, yet substitutions in it run, and numbers and names in it are evaluated."""
        if node.children and node.children[0].type == "((":
            self.judge.evaluate_node(self, node)
            return EMPTY
        waiting = [node]
        while waiting:
            current = waiting.pop()
            self._check_comparison(current)
            if current.type in ("command_substitution", "process_substitution"):
                self.substituted(current)
            elif current.type in ("simple_expansion", "expansion", "string"):
                self.word(current)
            else:
                waiting.extend(current.named_children)
        return EMPTY

    def _check_comparison(self, node: Any) -> None:
        if node.type not in ("binary_expression", "unary_expression"):
            return
        operator = next((child for child in node.children if child.type == "test_operator"), None)
        kind = self.text(operator) if operator is not None else ""
        if node.type == "binary_expression" and kind in _COMPUTES:
            for side in ("left", "right"):
                self.judge.evaluate_node(self, node.child_by_field_name(side))
        elif kind in ("-v", "-R"):
            self.judge.name_variable(self, words.plain(self.word(node.named_children[-1])), self.line(node))

    def _compound(self, node: Any, stdin: Stream) -> Stream:
        if node.children and node.children[0].type == "((":
            self.judge.evaluate_node(self, node)
            return EMPTY
        return self.run_children(node, stdin)

    def _computation(self, node: Any, stdin: Stream) -> Stream:
        self.judge.evaluate_node(self, node)
        return EMPTY

    def _counting(self, node: Any, stdin: Stream) -> Stream:
        """`for ((i = 0; i < 3; i++))`."""
        body = node.child_by_field_name("body")
        for child in node.named_children:
            if body is None or child.id != body.id:
                if child.type == "variable_assignment":
                    self.variables[self.text(child).partition("=")[0].strip()] = HOLE
                self.judge.evaluate_node(self, child)
        return self._while(body, stdin) if body is not None else EMPTY

    # -- commands --------------------------------------------------------------------------------------

    def _command(self, node: Any, stdin: Stream) -> Stream:
        return self._rest_of_lines(self._lines(node), stdin) if node.named_children else EMPTY

    def _simple_command(self, children: list[Any], stdin: Stream, line: int) -> Stream:
        self.word_marks = frozenset()
        argv: list[str] = []
        redirects = []
        # The words are expanded before the assignments in front of them take effect.
        assignments = []
        end = -1
        for child in children:
            if child.start_byte == end and child.type not in _REDIRECTS:
                self.doubt("words-run-together", line)
            end = child.end_byte
            match child.type:
                case "variable_assignment":
                    assignments.append(child)
                case "file_redirect" | "herestring_redirect" | "heredoc_redirect":
                    redirects.append(child)
                    stdin = self._input_of(child, stdin)
                case "command_name":
                    for part in child.named_children or [child]:
                        argv.extend(self.fields(part))
                case "comment":
                    continue
                case _:
                    argv.extend(self.fields(child))
        before = dict(self.variables)
        for assignment in assignments:
            self._assignment(assignment, stdin)
        made = self.execute(argv, stdin, line)
        for redirect in redirects:
            made = self._output_to(redirect, made)
        if argv and assignments:
            self.variables = before
        return made

    def execute(self, argv: list[str], stdin: Stream, line: int) -> Stream:
        """One simple command: an alias or function of the script, or a program."""
        self.spend()
        if not argv:
            return EMPTY
        name = words.plain(argv[0])
        if name in self.aliases and name not in self.calling:
            self.calling.append(name)
            try:
                rest = " ".join(words.plain(arg) for arg in argv[1:])
                return self.run_text(f"{self.aliases[name]} {rest}", stdin, line)
            finally:
                self.calling.pop()
        if name in self.functions:
            return self.call_function(name, argv[1:], stdin)
        return self._start(argv, stdin, line)

    def _start(self, argv: list[str], stdin: Stream, line: int) -> Stream:
        if self.wrappers >= MAX_WRAPPERS:
            # Said even of a command that says nothing else: nobody has read the rest.
            self.report.doubt("nested-too-deeply", line, self.line_text(line))
            return UNREAD
        self.started_by += 1
        self.wrappers += 1
        try:
            return self.judge.command(self, argv, stdin, line)
        finally:
            self.started_by -= 1
            self.wrappers -= 1

    def run_text(self, text: str, stdin: Stream, line: int) -> Stream:
        """Shell text found in a string, run in place: what it sets and defines is set and defined here."""
        if self.depth >= MAX_NESTING:
            self.report.doubt("nested-too-deeply", line, self.line_text(line))
            return UNREAD
        source, tree = parsed(text.replace(HOLE, "${QWED_UNKNOWN}"))
        self.own_functions |= function_names(source, tree.root_node)
        if tree.root_node.has_error:
            self.doubt("nested-code-does-not-parse", line)
        outer, outer_line = self.source, self.fixed_line
        self.source, self.fixed_line = source, line
        self.depth += 1
        try:
            return self.run(tree.root_node, stdin)
        finally:
            self.source, self.fixed_line = outer, outer_line
            self.depth -= 1

    # -- words -----------------------------------------------------------------------------------------

    def fields(self, node: Any) -> list[str]:
        if node.type in ("concatenation", "brace_expression") and words.fills_memory(self.text(node)):
            self.doubt("uses-up-the-machine", self.line(node))
        if node.type == "string":
            members = self._array_members(self.text(node))
            if members is not None:
                return members
        if node.type == "process_substitution":
            return [self._process_path(node)]
        return words.fields(self.word(node))

    def _array_members(self, text: str) -> list[str] | None:
        if text in ('"$@"', '"${@}"'):
            return list(self.positional) if self.positional is not None else []
        found = _WHOLE_ARRAY.fullmatch(text)
        return list(self.arrays.get(found.group(1), [HOLE])) if found else None

    def _process_path(self, node: Any) -> str:
        made = self.substituted(node)
        name = f"/dev/fd/{len(self.written) + 63}"
        self.written[name] = Stream(made.text, made.marks | {"process"})
        return name

    def word(self, node: Any) -> str:
        self.spend()
        handler = _WORDS.get(node.type)
        if handler is not None:
            return handler(self, node)
        if node.named_child_count:
            return self._pieces(node, node.start_byte, node.end_byte, words.unquoted, quoted=False)
        return _with_home(words.unquoted(self.text(node)))

    def _pieces(self, node: Any, start: int, end: int, literal: Callable[[str], str], *, quoted: bool) -> str:
        """Literal text between the expansions of a node, which lie within it in order."""
        made: list[str] = []
        position = start
        for child in node.named_children:
            if child.type in ("string_content", "heredoc_content"):
                continue
            made.append(literal(self.source[position : child.start_byte].decode("utf-8", "replace")))
            made.append(self._value(child) if quoted and child.type in _EXPANSIONS else self.word(child))
            position = child.end_byte
        made.append(literal(self.source[position:end].decode("utf-8", "replace")))
        return "".join(made)

    def _value(self, node: Any) -> str:
        match node.type:
            case "simple_expansion":
                return self._variable(self.text(node)[1:])
            case "expansion":
                return self._expansion(node)
            case "command_substitution":
                made = self.substituted(node)
                return HOLE if made.text is None else made.text.rstrip("\n")
        return self._arithmetic(node)

    def _variable(self, name: str) -> str:
        self.word_marks |= self.marked.get(name, frozenset())
        if name in self.variables:
            return self.variables[name]
        if self.positional is not None and (name in ("@", "*") or name.isdigit()):
            if not name.isdigit():
                return " ".join(words.plain(each) for each in self.positional)
            index = int(name[:4]) - 1
            return words.plain(self.positional[index]) if 0 <= index < len(self.positional) else ""
        if name.isidentifier():
            self.report.effects.add("environment-read")
        return _WHOLE.get(name, HOLE)

    def _expansion(self, node: Any) -> str:
        self._run_hidden(node)
        text = self.text(node)[2:-1]
        indirect = re.fullmatch(r"!(\w+)", text)
        if indirect:
            return self._indirect(indirect.group(1), node)
        found = _PARAMETER.match(text)
        if found is None:
            return HOLE
        length, name, index = found.groups()
        if index is not None and index not in ("@", "*"):
            self.judge.evaluate(self, index, self.line(node))
        base = self._indexed(name, index)
        self._evaluate_operator(base, text[found.end() :], node)
        if length:
            return str(len(base)) if HOLE not in base else HOLE
        rest = text[found.end() :]
        if not rest:
            return base
        known = name in self.variables or name in _WELL_KNOWN
        if name not in self.variables:
            base = _WELL_KNOWN.get(name, base)
        return self._modified(name, base, rest, node, known=known)

    def _indirect(self, name: str, node: Any) -> str:
        """`${!x}`: what `x` holds is the name of the variable that is read."""
        named = self._variable(name)
        self.judge.name_variable(self, named, self.line(node))
        return self._variable(named) if named.isidentifier() else HOLE

    def _evaluate_operator(self, base: str, rest: str, node: Any) -> None:
        """`${x:a:b}` computes with `a` and `b`; `${x@P}` reads the value as a prompt."""
        if rest == "@P":
            self.judge.evaluate(self, base, self.line(node))
            if HOLE in base:
                self.doubt("evaluates-text-again", self.line(node))
        elif rest.startswith(":") and rest[1:2] not in ("-", "=", "+", "?") and not _SLICE.fullmatch(rest):
            self.judge.evaluate(self, rest[1:], self.line(node))

    def _run_hidden(self, node: Any) -> None:
        """Substitutions run wherever they stand: in an index, a pattern, a default that is not used."""
        text = self.text(node)
        if "$(" not in text and "`" not in text and "<(" not in text:
            return
        found = False
        waiting = [node]
        while waiting:
            current = waiting.pop()
            if current.type in ("command_substitution", "process_substitution"):
                found = True
                self.substituted(current)
            else:
                waiting.extend(current.named_children)
        if not found:
            # The grammar took it for plain text; between double quotes it is what it is.
            start = min(index for index in (text.find("$("), text.find("`"), text.find("<(")) if index != -1)
            inner = text[start:].rstrip("}]'\"")
            self.run_text(f': "{inner}"', EMPTY, self.line(node))

    def _indexed(self, name: str, index: str | None) -> str:
        if index is None:
            return self._variable(name)
        items = self.arrays.get(name)
        if items is None:
            return HOLE
        if index in ("@", "*"):
            return " ".join(words.plain(item) for item in items)
        return words.plain(items[int(index)]) if index.isdigit() and int(index[:4]) < len(items) else HOLE

    def _modified(self, name: str, base: str, rest: str, node: Any, *, known: bool) -> str:
        default = re.fullmatch(r":?([-=+?])(.*)", rest, re.S)
        if default:
            return self._default(name, base, default.group(1), default.group(2), node, known=known)
        if HOLE in base:
            return HOLE
        cut = re.fullmatch(r":\s*\(?(-?\d{1,4})\)?(?::\(?(-?\d{1,4})\)?)?", rest)
        if cut:
            tail = base[int(cut.group(1)) :]
            return tail if cut.group(2) is None else tail[: int(cut.group(2))]
        if rest in ("^^", "^", ",,", ","):
            change = str.upper if rest[0] == "^" else str.lower
            return change(base) if len(rest) == 2 else change(base[:1]) + base[1:]
        return _patterned(base, rest)

    def _default(self, name: str, base: str, kind: str, text: str, node: Any, *, known: bool) -> str:
        filling = self._filling(text, node)
        if kind == "+":
            return filling if known else HOLE
        if kind == "=" and not known:
            self.variables[name] = filling
        return base if (known and base and HOLE not in base) or kind == "?" else filling

    def _filling(self, text: str, node: Any) -> str:
        """The word after `:-`; what it substitutes has run already."""
        for child in node.named_children[1:]:
            if child.type not in ("variable_name", "special_variable_name"):
                return words.plain(self.word(child))
        return HOLE if "$" in text or "`" in text else words.plain(words.unquoted(text))

    def _arithmetic(self, node: Any) -> str:
        self.judge.evaluate_node(self, node)
        text = self.text(node)[3:-2].strip()
        return text if re.fullmatch(r"\d{1,9}", text) else HOLE

    def substituted(self, node: Any) -> Stream:
        marks, variables = self.word_marks, dict(self.variables)
        body = [child for child in node.named_children if child.type != "comment"]
        is_shown = not self.text(node).startswith("`") or self._is_whole(node)
        self.substitutions += is_shown
        try:
            is_file = body and all(child.type == "file_redirect" for child in body)
            made = self._file_input(body[0]) if is_file else self.run_children(node, EMPTY)
        finally:
            self.substitutions -= is_shown
        self.variables = variables
        self.word_marks = marks | made.marks
        return made

    def _is_whole(self, node: Any) -> bool:
        """Backquotes around a word are markup in a sentence, and a template in JavaScript."""
        if len(self.source) - (node.end_byte - node.start_byte) > _MAX_AROUND:
            return False
        around = self.source[: node.start_byte] + self.source[node.end_byte :]
        return not around.strip(b' \t\n"')

    def _string(self, node: Any) -> str:
        start = node.start_byte + (2 if self.source[node.start_byte : node.start_byte + 1] == b"$" else 1)
        return QUOTED + self._pieces(node, start, node.end_byte - 1, words.double_quoted, quoted=True)

    def _raw_string(self, node: Any) -> str:
        return QUOTED + self.text(node)[1:-1]

    def _ansi_c(self, node: Any) -> str:
        return QUOTED + words.ansi_c(self.text(node)[2:-1])

    def _concatenation(self, node: Any) -> str:
        made = [
            self.word(child) if child.is_named else words.unquoted(self.text(child))
            for child in node.children
        ]
        return _with_home("".join(made))

    def _brace_expression(self, node: Any) -> str:
        return words.unquoted(self.text(node))

    def _unquoted_value(self, node: Any) -> str:
        return words.split_unquoted(self._value(node), self.variables.get("IFS", " \t\n"))


_COMPUTES: Final = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_WHOLE_ARRAY: Final = re.compile(r'"\$\{(\w+)\[[@*]\]\}"')
_SLICE: Final = re.compile(r"[:\s\d()-]*")
_PARAMETER: Final = re.compile(r"(#?)(\w+|[@*#?$!-])(?:\[([^\]]*)\])?")


def _is_computed(assignment: Any) -> bool:
    """A number, or what arithmetic made."""
    value = assignment.child_by_field_name("value")
    return value is not None and value.type in ("number", "arithmetic_expansion")


def _with_home(word: str) -> str:
    """`~user` is a home as `~` is."""
    return re.sub(r"^~[a-z_][\w-]*", "~", word) if word.startswith("~") else word


def _patterned(base: str, rest: str) -> str:
    """`${x/a/b}`, `${x#a}`, `${x%a}` on known text."""
    found = re.fullmatch(r"(//?|##?|%%?)(.*)", rest, re.S)
    if found is None or "$" in rest or "`" in rest or len(base) > 512:
        return HOLE
    operator, argument = found.groups()
    if operator.startswith("/"):
        old, _, new = argument.partition("/")
        if not old or any(character in old for character in "*?["):
            return HOLE
        return base.replace(_literal(old), _literal(new), -1 if operator == "//" else 1)[: words.MAX_WORD]
    return _trimmed(base, operator, words.unquoted(argument))


def _literal(text: str) -> str:
    return words.plain(words.unquoted(text)).strip("'\"")


def _trimmed(base: str, operator: str, pattern: str) -> str:
    matcher = words.glob_pattern(pattern)
    cuts = range(len(base) + 1) if operator in ("#", "%%") else range(len(base), -1, -1)
    for cut in cuts:
        if operator[0] == "#" and matcher.fullmatch(base[:cut]):
            return base[cut:]
        if operator[0] == "%" and matcher.fullmatch(base[cut:]):
            return base[:cut]
    return base


def joined(first: Stream, second: Stream) -> Stream:
    """The output of one command after another's."""
    if first is EMPTY:
        return second
    text = None if first.text is None or second.text is None else first.text + second.text
    if text is not None and len(text) > MAX_STREAM:
        text = None
    return Stream(text, first.marks | second.marks)


_STATEMENTS: Final[dict[str, Callable[[Runner, Any, Stream], Stream]]] = {
    "command": Runner._command,
    "pipeline": Runner._pipeline,
    "redirected_statement": Runner._redirected,
    "subshell": Runner._subshell,
    "if_statement": Runner._if,
    "for_statement": Runner._for,
    "while_statement": Runner._while,
    "c_style_for_statement": Runner._counting,
    **dict.fromkeys(
        ["program", "list", "negated_command", "do_group", "else_clause", "elif_clause", "case_item"],
        Runner.run_children,
    ),
    **dict.fromkeys(["ERROR", "array", "variable_assignments", "heredoc_redirect"], Runner.run_children),
    "compound_statement": Runner._compound,
    "ternary_expression": Runner._computation,
    "parenthesized_expression": Runner._test,
    "subscript": Runner._computation,
    "case_statement": Runner._case,
    "function_definition": Runner._function,
    "variable_assignment": Runner._assignment,
    "declaration_command": Runner._declaration,
    "unset_command": Runner._unset,
    "test_command": Runner._test_command,
    "binary_expression": Runner._test,
    "postfix_expression": Runner._test,
    "unary_expression": Runner._test,
    "comment": Runner._nothing,
    "word": Runner._nothing,
    "variable_name": Runner._nothing,
}
_WORDS: Final[dict[str, Callable[[Runner, Any], str]]] = {
    "string": Runner._string,
    "translated_string": Runner._string,
    "raw_string": Runner._raw_string,
    "ansi_c_string": Runner._ansi_c,
    "concatenation": Runner._concatenation,
    "brace_expression": Runner._brace_expression,
    "simple_expansion": Runner._unquoted_value,
    "expansion": Runner._unquoted_value,
    "command_substitution": Runner._unquoted_value,
    "arithmetic_expansion": Runner._unquoted_value,
    "process_substitution": Runner._process_path,
}
