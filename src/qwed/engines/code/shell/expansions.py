"""Words of a script, evaluated: quotes, variables, substitutions, arithmetic."""

import re
from collections.abc import Callable
from typing import Any, Final

from qwed.engines.code.shell import words
from qwed.engines.code.shell.machine import BELOW, EMPTY, ShellMachine, Stream
from qwed.engines.code.shell.words import HOLE, QUOTED

_MAX_AROUND: Final = 64
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
_EXPANSIONS: Final = frozenset(
    {"simple_expansion", "expansion", "command_substitution", "arithmetic_expansion"}
)
_WHOLE_ARRAY: Final = re.compile(r'"\$\{(\w+)\[[@*]\]\}"')
_SLICE: Final = re.compile(r"[:\s\d()-]*")
_PARAMETER: Final = re.compile(r"(#?)(\w+|[@*#?$!-])(?:\[([^\]]*)\])?")


class Expansions(ShellMachine):
    """Evaluates one word."""

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
            return self._pieces(node, node.start_byte, node.end_byte, words.unquote, quoted=False)
        return _with_home(words.unquote(self.text(node)))

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
                if made.text is None:
                    return f"./{HOLE}" if self.project is not None and BELOW in made.marks else HOLE
                return made.text.rstrip("\n")
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
        base = self._read_index(name, index)
        self._evaluate_operator(base, text[found.end() :], node)
        if length:
            return str(len(base)) if HOLE not in base else HOLE
        rest = text[found.end() :]
        if not rest:
            return base
        known = name in self.variables or name in _WELL_KNOWN
        if name not in self.variables:
            base = _WELL_KNOWN.get(name, base)
        return self._modify(name, base, rest, node, known=known)

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

    def _read_index(self, name: str, index: str | None) -> str:
        if index is None:
            return self._variable(name)
        items = self.arrays.get(name)
        if items is None:
            return HOLE
        if index in ("@", "*"):
            return " ".join(words.plain(item) for item in items)
        return words.plain(items[int(index)]) if index.isdigit() and int(index[:4]) < len(items) else HOLE

    def _modify(self, name: str, base: str, rest: str, node: Any, *, known: bool) -> str:
        default = re.fullmatch(r":?([-=+?])(.*)", rest, re.S)
        if default:
            return self._default(name, base, default.group(1), default.group(2), node, known=known)
        if HOLE in base:
            return _change_name(base, rest) if self.found.get(name) == base else HOLE
        cut = re.fullmatch(r":\s*\(?(-?\d{1,4})\)?(?::\(?(-?\d{1,4})\)?)?", rest)
        if cut:
            tail = base[int(cut.group(1)) :]
            return tail if cut.group(2) is None else tail[: int(cut.group(2))]
        if rest in ("^^", "^", ",,", ","):
            change = str.upper if rest[0] == "^" else str.lower
            return change(base) if len(rest) == 2 else change(base[:1]) + base[1:]
        return _apply_pattern(base, rest)

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
        return HOLE if "$" in text or "`" in text else words.plain(words.unquote(text))

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
            made = self.file_input(body[0]) if is_file else self.run_children(node, EMPTY)
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
            self.word(child) if child.is_named else words.unquote(self.text(child)) for child in node.children
        ]
        return _with_home("".join(made))

    def _brace_expression(self, node: Any) -> str:
        return words.unquote(self.text(node))

    def _read_unquoted(self, node: Any) -> str:
        return words.split_unquoted(self._value(node), self.variables.get("IFS", " \t\n"))


def _with_home(word: str) -> str:
    """`~user` is a home as `~` is."""
    return re.sub(r"^~[a-z_][\w-]*", "~", word) if word.startswith("~") else word


def _apply_pattern(base: str, rest: str) -> str:
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
    return _trim(base, operator, words.unquote(argument))


_OTHER_ENDING: Final = re.compile(r"%%?\.[\w*.]+|%[\w.-]+|//? /[\w-]+|//?[\w-]+/[\w-]+|//?\.\w+/\.\w+")


def _change_name(base: str, rest: str) -> str:
    """A name below the working tree, with another ending or without its folder: it still lies there."""
    if rest == "##*/":
        return f"./{base.rpartition('/')[2]}"
    if _OTHER_ENDING.fullmatch(rest) is None:
        return HOLE
    return _apply_pattern(base, rest)


def _literal(text: str) -> str:
    return words.plain(words.unquote(text)).strip("'\"")


def _trim(base: str, operator: str, pattern: str) -> str:
    matcher = words.glob_pattern(pattern)
    cuts = range(len(base) + 1) if operator in ("#", "%%") else range(len(base), -1, -1)
    for cut in cuts:
        if operator[0] == "#" and matcher.fullmatch(base[:cut]):
            return base[cut:]
        if operator[0] == "%" and matcher.fullmatch(base[cut:]):
            return base[:cut]
    return base


_WORDS: Final[dict[str, Callable[[Expansions, Any], str]]] = {
    "string": Expansions._string,
    "translated_string": Expansions._string,
    "raw_string": Expansions._raw_string,
    "ansi_c_string": Expansions._ansi_c,
    "concatenation": Expansions._concatenation,
    "brace_expression": Expansions._brace_expression,
    "simple_expansion": Expansions._read_unquoted,
    "expansion": Expansions._read_unquoted,
    "command_substitution": Expansions._read_unquoted,
    "arithmetic_expansion": Expansions._read_unquoted,
    "process_substitution": Expansions._process_path,
}
