"""Variables: what a script sets, declares and forgets."""

import re
from typing import Any, Final

from qwed.engines.code.shell import words
from qwed.engines.code.shell.machine import EMPTY, Stream
from qwed.engines.code.shell.redirects import Redirects
from qwed.engines.code.shell.words import HOLE

# A shell substitutes in these before it shows them.
_PROMPT: Final = re.compile(r"PS\d?|RPS\d|RPROMPT|PROMPT\d?|SPROMPT")
_HISTORY_VARIABLES: Final = frozenset({"HISTFILE", "HISTSIZE", "HISTFILESIZE"})


class Variables(Redirects):
    """Keeps what the names of a script hold."""

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
        (self.computed.add if is_computed(node) else self.computed.discard)(name)
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
            made = self.simple_command(group, stdin, self.line(group[0]))
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


def is_computed(assignment: Any) -> bool:
    """A number, or what arithmetic made."""
    value = assignment.child_by_field_name("value")
    return value is not None and value.type in ("number", "arithmetic_expansion")
