"""Statements that choose, repeat, test and define."""

import re
from typing import Any, Final

from qwed.engines.code import places
from qwed.engines.code.shell import words
from qwed.engines.code.shell.machine import EMPTY, UNREAD, Stream, join_streams
from qwed.engines.code.shell.trees import is_test
from qwed.engines.code.shell.variables import Variables, is_computed
from qwed.engines.code.shell.words import HOLE

MAX_CALL_DEPTH: Final = 8
MAX_ROUNDS: Final = 24
_ENDLESS_CONDITIONS: Final = frozenset({"true", ":", "false", "((1))", "[1]"})
_WAITS: Final = frozenset({"wait", "sleep", "break", "read", "exit", "return"})
# A pattern that says more than "everything", and does not find `..`.
_NARROW_BELOW: Final = re.compile(
    r"(?!.*(?:^|/)\.*[*?\[])[\w.*?\[\]/ -]*\w[\w.*?\[\]/ -]*|(?:[\w-]+/)*\*[\w.-]*\w[\w.-]*"
)
_WILD: Final = re.compile(r"(?:[*?]|\[[^\]]*\])+")
_COMPUTES: Final = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})


class ShellStatements(Variables):
    """Runs one statement; every branch is taken."""

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
            made = join_streams(made, self.run(child, stdin))
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
            self._set_round(self.text(variable), value)
            made = join_streams(made, self.run(body, stdin))
        return made

    def _set_round(self, name: str, value: str) -> None:
        """A pattern below the working tree stands for names that lie there; any other for anything."""
        text = words.plain(value)
        if not words.has_glob(value):
            self.variables[name] = text
        elif self.project is None or not _NARROW_BELOW.fullmatch(text) or places.leaves_working_tree(text):
            self.variables[name] = HOLE
        else:
            found = _WILD.sub(HOLE, text)
            self.variables[name] = self.found[name] = f"./{found}" if found.startswith(HOLE) else found

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
        for name in self._find_assigned(node):
            self.variables[name] = HOLE
        return self.run_children(node, stdin)

    def _find_assigned(self, node: Any) -> set[str]:
        names: set[str] = set()
        waiting = [node]
        while waiting:
            current = waiting.pop()
            if current.type == "variable_assignment":
                name = self.text(current.child_by_field_name("name"))
                names.add(name)
                if not is_computed(current):
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
                    made = join_streams(made, self.run(statement, stdin))
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
        if len(self.calling) >= MAX_CALL_DEPTH:
            self.doubt("nested-too-deeply", 1, name)
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
