"""An abstract run of a shell script: words evaluated, commands judged, known text followed through pipes."""

from collections.abc import Callable
from typing import Any, Final

from qwed.engines.code.shell import words
from qwed.engines.code.shell.machine import (
    EMPTY,
    UNREAD,
    Nested,
    ShellTooLong,
    Stream,
    join_streams,
)
from qwed.engines.code.shell.statements import ShellStatements
from qwed.engines.code.shell.trees import function_names, parsed
from qwed.engines.code.shell.words import HOLE
from qwed.engines.code.verdict import MAX_NESTING

__all__ = ["EMPTY", "MAX_WRAPPERS", "UNREAD", "Nested", "Runner", "ShellTooLong", "Stream"]

MAX_DEPTH: Final = 120
# How many commands may start each other: `sudo env nice timeout 5 xargs …`.
MAX_WRAPPERS: Final = 10
_REDIRECTS: Final = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect"})


class Runner(ShellStatements):
    """Walks the tree of one script."""

    def run(self, node: Any, stdin: Stream = EMPTY) -> Stream:
        self.spend()
        self.level += 1
        if self.level > MAX_DEPTH:
            raise ShellTooLong
        try:
            handler = _STATEMENTS.get(node.type)
            if handler is None:
                self.doubt("construct-not-understood", self.line(node), node.type)
                return self.run_children(node, stdin)
            return handler(self, node, stdin)
        finally:
            self.level -= 1

    def run_children(self, node: Any, stdin: Stream) -> Stream:
        made = EMPTY
        for child in node.named_children:
            made = join_streams(made, self.run(child, stdin))
        return made

    def _command(self, node: Any, stdin: Stream) -> Stream:
        return self._rest_of_lines(self._lines(node), stdin) if node.named_children else EMPTY

    def simple_command(self, children: list[Any], stdin: Stream, line: int) -> Stream:
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
        if name in self.functions and name not in self.calling:
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
