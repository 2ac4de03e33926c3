"""Shell text that only computes and prints: everything in its tree must be on the lists of this module.

A shell evaluates some texts again (as arithmetic, as a subscript, as the name of a variable), so it is not
enough that nothing is called: every variable must be set by the text itself, and what it can hold is known.
"""

import itertools
import re
from collections.abc import Callable
from typing import Any, Final

from qwed.engines.code.shell import harmless_lists as lists
from qwed.engines.code.shell.kinds import (
    MAX_SIZE,
    NUMBER,
    NotHarmless,
    TextKind,
    Value,
    expand_braces,
    is_plain_pattern,
    join,
    kind_of,
    may_be_set,
)
from qwed.engines.code.shell.trees import is_test

MAX_ROUNDS: Final = 10_000
MAX_PRINTED: Final = 1_000_000
_MAX_PASSES: Final = 12

_JOINS_TESTS: Final = frozenset({"&&", "||", "-a", "-o"})
_LITERALS: Final = frozenset({"word", "number", "raw_string", "string"})
_HARMLESS_OPTIONS: Final = frozenset({"-r", "-x", "-g", "-rx", "-xr"})
_SILENCED: Final = re.compile(r"[012]?\s*(?:&>|>>?)\s*/dev/null|[12]?\s*>&\s*[12]")


def find_obstacle(root: Any, source: bytes) -> str | None:
    """What keeps a text from being harmless, None if nothing does. Texts are judged until their variables'
    kinds no longer change: in a loop, what is set last is read first."""
    kinds: dict[str, TextKind] = {}
    for _ in range(_MAX_PASSES):
        before = dict(kinds)
        try:
            _Walk(source, kinds).statement(root)
        except NotHarmless as obstacle:
            return str(obstacle)
        if kinds == before:
            return None
    return "sets variables in more ways than are followed"


class _Walk:
    """One pass over the tree. `kinds` is shared by all passes and only ever grows."""

    def __init__(self, source: bytes, kinds: dict[str, TextKind]) -> None:
        self.source = source
        self.kinds = kinds
        self.sizes: dict[str, int] = {}
        # Variables that are set for certain where the walk stands; any other is the environment's.
        self.set_here: frozenset[str] = frozenset()
        self.loop_variables: list[str] = []
        self.rounds = 1
        self.is_double = False
        self.printed = 0

    def text(self, node: Any) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    # -- statements ------------------------------------------------------------------------------------

    def statement(self, node: Any) -> None:
        handler = _STATEMENTS.get(node.type)
        if handler is None:
            raise NotHarmless(f"has a construct that may do more than print: {node.type}")
        handler(self, node)

    def all_of(self, node: Any) -> None:
        for child in node.children:
            if child.is_named:
                self.statement(child)
            elif child.type not in lists.TOKENS:
                raise NotHarmless(f"uses {child.type}")

    def block(self, node: Any) -> None:
        if node.children[0].type not in ("{", "("):
            raise NotHarmless("evaluates text as arithmetic")
        self.maybe(node)

    def maybe(self, node: Any) -> None:
        """What only may run sets no variable for certain."""
        set_before = self.set_here
        self.all_of(node)
        self.set_here = set_before

    def sequence(self, node: Any) -> None:
        """Of `a && b` only the first runs for certain."""
        first, *rest = node.named_children
        self.statement(first)
        set_before = self.set_here
        for child in node.children:
            if not child.is_named and child.type not in lists.TOKENS:
                raise NotHarmless(f"uses {child.type}")
        for child in rest:
            self.statement(child)
        self.set_here = set_before

    def nothing(self, node: Any) -> None:
        pass

    def redirected(self, node: Any) -> None:
        for child in node.named_children:
            if child.type != "file_redirect":
                self.statement(child)
            elif not _SILENCED.fullmatch(self.text(child)):
                raise NotHarmless("redirects to or from a file")

    def loop(self, node: Any) -> None:
        values = node.children_by_field_name("value")
        variable = self.text(node.child_by_field_name("variable"))
        if node.children[0].type != "for" or not values:
            raise NotHarmless("loops over what it is given")
        outer = self.rounds
        set_before = self.set_here
        self.rounds *= sum(self._assign(variable, *self.many(value)) for value in values)
        if self.rounds > MAX_ROUNDS:
            raise NotHarmless(f"loops for more than {MAX_ROUNDS} rounds")
        self.loop_variables.append(variable)
        self.statement(node.child_by_field_name("body"))
        self.loop_variables.pop()
        self.rounds, self.set_here = outer, set_before

    def case(self, node: Any) -> None:
        self.word(node.child_by_field_name("value"))
        for item in node.named_children:
            if item.type == "case_item":
                self._case_item(item)

    def _case_item(self, item: Any) -> None:
        set_before = self.set_here
        patterns = item.children_by_field_name("value")
        for pattern in patterns:
            self._check_pattern(pattern)
        known = {pattern.id for pattern in patterns}
        for child in item.named_children:
            if child.id not in known:
                self.statement(child)
        self.set_here = set_before

    def _check_pattern(self, node: Any) -> None:
        if not is_plain_pattern(self.text(node)):
            raise NotHarmless("compares with a pattern that is not plain")

    # -- variables -------------------------------------------------------------------------------------

    def assignment(self, node: Any) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name.type != "variable_name":
            raise NotHarmless("evaluates a subscript")
        kind, size = self.word(value, is_split=False) if value is not None else (TextKind.PLAIN, 0)
        title = self.text(name)
        if any(child.type == "+=" for child in node.children):
            kind, size = join([self._known(title, is_split=False), (kind, size)])
        if self.loop_variables and self._refers(node):
            raise NotHarmless("has a variable that may grow from round to round")
        self._assign(title, kind, size)

    def _refers(self, node: Any) -> bool:
        """Whether a value is made of other variables than those of the loops around it."""
        if node.type == "arithmetic_expansion":
            return False
        if node.type in ("simple_expansion", "expansion", "command_substitution", "+="):
            return self.text(node).strip("${}") not in self.loop_variables
        return any(self._refers(child) for child in node.children)

    def _assign(self, name: str, kind: TextKind, size: int, count: int = 1) -> int:
        if not may_be_set(name):
            raise NotHarmless(f"sets {name}, which has a meaning of its own")
        if size > MAX_SIZE:
            raise NotHarmless(f"has a text of more than {MAX_SIZE} characters")
        self.kinds[name] = max(kind, self.kinds.get(name, kind))
        self.sizes[name] = max(size, self.sizes.get(name, 0))
        self.set_here |= {name}
        return count

    def _known(self, name: str, *, is_split: bool) -> Value:
        if name in ("?", "#"):
            return TextKind.NUMBER, 4
        if name not in self.set_here:
            raise NotHarmless(f"reads {name}, which it has not set")
        if is_split and self.kinds[name] is TextKind.ANY:
            raise NotHarmless(f"expands {name} without quotes")
        return self.kinds[name], self.sizes[name]

    def declaration(self, node: Any) -> None:
        if not node.named_children or b"\n" in self.source[node.start_byte : node.end_byte]:
            raise NotHarmless("prints every variable")
        for child in node.children:
            match child.type:
                case "variable_assignment":
                    self.assignment(child)
                case "variable_name":
                    self._known(self.text(child), is_split=False)
                case _ if child.is_named and self.text(child) not in _HARMLESS_OPTIONS:
                    raise NotHarmless("declares a variable of a special kind")
                case _:
                    continue

    # -- words -----------------------------------------------------------------------------------------

    def many(self, node: Any) -> tuple[TextKind, int, int]:
        """A word that braces may make several: kind, size of each, and how many."""
        made = expand_braces(self.text(node))
        if made is not None:
            return made
        kind, size = self.word(node)
        return kind, size, size + 1 if kind is TextKind.WORDS else 1

    def word(self, node: Any, *, is_split: bool = True) -> Value:
        handler = _WORD_KINDS.get(node.type)
        if handler is None:
            raise NotHarmless(f"has a word that may do more than print: {node.type}")
        return handler(self, node, is_split)

    def bare(self, node: Any, is_split: bool) -> Value:
        text = self.text(node)
        active = re.sub(r"\\.", "", text)
        is_filled_in = active.startswith("~") or (active.startswith("=") and len(text) > 2)
        if node.children or is_filled_in or re.search(r"[*?\[{}`$<>()]", active):
            raise NotHarmless("has a pattern, a home or braces that the shell fills in")
        plain = text.replace("\\", "")
        return kind_of(plain) if plain == text else TextKind.ANY, len(text)

    def quoted(self, node: Any, is_split: bool) -> Value:
        return kind_of(self.text(node)[1:-1]), node.end_byte - node.start_byte

    def escaped(self, node: Any, is_split: bool) -> Value:
        return TextKind.ANY, node.end_byte - node.start_byte

    def string(self, node: Any, is_split: bool) -> Value:
        parts = [self.word(child, is_split=False) for child in node.named_children]
        between = self.source[node.start_byte : node.end_byte]
        for child in node.named_children:
            between = between.replace(self.source[child.start_byte : child.end_byte], b"")
        if b"$" in between or b"`" in between:
            raise NotHarmless("has a string that is not understood")
        if not node.named_children and self.text(node) != '""':
            return self.quoted(node, is_split)
        return join(parts)

    def content(self, node: Any, is_split: bool) -> Value:
        text = self.text(node)
        if re.search(r"(?<!\\)(?:`|\$[\w({\[])", text):
            raise NotHarmless("has a string that is not understood")
        return kind_of(text), len(text)

    def concatenation(self, node: Any, is_split: bool) -> Value:
        return join([self.word(child, is_split=is_split) for child in node.children])

    def braces(self, node: Any, is_split: bool) -> Value:
        made = expand_braces(self.text(node))
        if made is None:
            raise NotHarmless("has braces that make too many words")
        return made[0], made[1] * made[2]

    def variable(self, node: Any, is_split: bool) -> Value:
        return self._known(self.text(node)[1:], is_split=is_split)

    def expansion(self, node: Any, is_split: bool) -> Value:
        found = re.fullmatch(r"\$\{(#?)(\w+)\}", self.text(node))
        if found is None:
            raise NotHarmless("expands a variable in a way that may evaluate it")
        known = self._known(found[2], is_split=is_split and not found[1])
        return (TextKind.NUMBER, 6) if found[1] else known

    def substitution(self, node: Any, is_split: bool) -> Value:
        printed = self.printed
        self.maybe(node)
        if is_split:
            raise NotHarmless("expands what a command prints without quotes")
        size, self.printed = (self.printed - printed) // self.rounds, printed
        return TextKind.ANY, size

    def arithmetic(self, node: Any, is_split: bool) -> Value:
        waiting = [node]
        while waiting:
            current = waiting.pop()
            if current.type in ("simple_expansion", "variable_name", "expansion"):
                self._number(current)
            elif current.type == "number":
                self._must_be_number(self.text(current))
            elif current.type in _COMPUTES or (not current.is_named and current.type in lists.ARITHMETIC):
                waiting.extend(current.children)
            else:
                raise NotHarmless("evaluates text as arithmetic")
        return TextKind.NUMBER, 20

    def _number(self, node: Any) -> None:
        name = self.text(node).strip("${}")
        if not re.fullmatch(r"\w+", name) or self._known(name, is_split=False)[0] is not TextKind.NUMBER:
            raise NotHarmless("evaluates text as arithmetic")

    def _must_be_number(self, text: str) -> None:
        if not NUMBER.fullmatch(text):
            raise NotHarmless("computes with what is not a plain number")

    # -- commands --------------------------------------------------------------------------------------

    def command(self, node: Any) -> None:
        first, *rest = node.named_children
        name = self.text(first)
        check = lists.COMMANDS.get(name) if first.type == "command_name" else None
        if check is None:
            raise NotHarmless(f"runs {name[:40]}")
        if b"\n" in self.source[node.start_byte : node.end_byte]:
            raise NotHarmless("has a command of several lines")
        if any(left.end_byte == right.start_byte for left, right in itertools.pairwise(node.named_children)):
            raise NotHarmless("has words that run together")
        values = [(*self.many(child), self.literal(child)) for child in rest]
        more = check([(kind, text) for kind, _, _, text in values])
        self.printed += self.rounds * (more + sum(size * count + 2 for _, size, count, _ in values))
        if self.printed > MAX_PRINTED:
            raise NotHarmless(f"prints more than {MAX_PRINTED} characters")

    def literal(self, node: Any) -> str | None:
        text = self.text(node)
        if node.type not in _LITERALS or "$" in text or "`" in text:
            return None
        return text[1:-1] if text[:1] in ("'", '"') else text.replace("\\", "")

    def test(self, node: Any) -> None:
        if node.children[0].type not in ("[", "[[") or not is_test(node, self.source):
            raise NotHarmless("evaluates text as arithmetic")
        self.is_double = node.children[0].type == "[["
        for child in node.named_children:
            self.condition(child)

    def condition(self, node: Any) -> None:
        if node.type in ("unary_expression", "parenthesized_expression"):
            for child in node.children:
                if child.type == "test_operator" and self.text(child) not in ("-z", "-n"):
                    raise NotHarmless(f"tests with {self.text(child)}")
                if child.is_named and child.type != "test_operator":
                    self.condition(child)
        elif node.type == "binary_expression":
            self._comparison(node)
        else:
            self._operand(node)

    def _comparison(self, node: Any) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = self.source[left.end_byte : right.start_byte].decode("utf-8", "replace").strip()
        if operator in _JOINS_TESTS:
            self.condition(left)
            self.condition(right)
            return
        if operator not in lists.COMPARES_NUMBERS | lists.COMPARES_TEXTS:
            raise NotHarmless(f"tests with {operator}")
        kinds = [self._operand(left), self._operand(right)]
        if operator in lists.COMPARES_NUMBERS and max(kinds) is not TextKind.NUMBER:
            raise NotHarmless("evaluates text as arithmetic")

    def _operand(self, node: Any) -> TextKind:
        if node.type == "extglob_pattern" and self.is_double:
            self._check_pattern(node)
            return TextKind.PLAIN
        kind, _ = self.word(node)
        is_split = kind is TextKind.WORDS and node.type in ("simple_expansion", "expansion", "concatenation")
        if kind is TextKind.ANY or is_split:
            raise NotHarmless("tests a text that may be an operator")
        return kind


_COMPUTES: Final = frozenset(
    [
        "arithmetic_expansion",
        "binary_expression",
        "unary_expression",
        "parenthesized_expression",
        "ternary_expression",
    ]
)
_STATEMENTS: Final[dict[str, Callable[[_Walk, Any], None]]] = {
    **dict.fromkeys(("program", "do_group", "negated_command"), _Walk.all_of),
    **dict.fromkeys(("pipeline", "if_statement", "elif_clause", "else_clause"), _Walk.maybe),
    **dict.fromkeys(("compound_statement", "subshell"), _Walk.block),
    "list": _Walk.sequence,
    "comment": _Walk.nothing,
    "redirected_statement": _Walk.redirected,
    "for_statement": _Walk.loop,
    "case_statement": _Walk.case,
    "variable_assignment": _Walk.assignment,
    "declaration_command": _Walk.declaration,
    "test_command": _Walk.test,
    "command": _Walk.command,
}
_WORD_KINDS: Final[dict[str, Callable[[_Walk, Any, bool], Value]]] = {
    **dict.fromkeys(("word", "number"), _Walk.bare),
    "raw_string": _Walk.quoted,
    "ansi_c_string": _Walk.escaped,
    "string": _Walk.string,
    "string_content": _Walk.content,
    "concatenation": _Walk.concatenation,
    "brace_expression": _Walk.braces,
    "simple_expansion": _Walk.variable,
    "expansion": _Walk.expansion,
    "command_substitution": _Walk.substitution,
    "arithmetic_expansion": _Walk.arithmetic,
}
