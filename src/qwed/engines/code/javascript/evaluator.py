"""An abstract evaluation of a JavaScript program: known strings, dotted references, and where data came from.

A reference is the path that leads to it: `child_process.exec`, `req.query`, `Buffer.from()`. Every
function's body is evaluated where it stands, with parameters that nobody has vouched for.
"""

import base64
import binascii
import functools
import re
import urllib.parse
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from qwed.engines.code import places
from qwed.engines.code.syntax_trees import parse_all
from qwed.engines.code.verdict import CodeReport, CodeVerdict, excerpt

Nested = Callable[[str, str, int], CodeVerdict]

MAX_STEPS: Final = 40_000
MAX_DEPTH: Final = 150
MAX_TEXT: Final = 64 * 1024
MAX_PATH: Final = 160


class ScriptTooLong(Exception):
    """The program is larger than what one inspection follows."""


class ScriptOrigin(NamedTuple):
    kind: str
    line: int
    text: str


class ScriptValue:
    """`text` is a known string or number spelled out; `path` a reference; `items` known members;
    `wants_shell` says of an object that its member `shell` is not false."""

    __slots__ = ("items", "number", "path", "prefix", "taint", "text", "wants_shell")

    def __init__(
        self,
        text: str | None = None,
        path: str = "",
        taint: tuple[ScriptOrigin, ...] = (),
        items: "list[ScriptValue] | None" = None,
        prefix: str = "",
        *,
        number: bool = False,
        wants_shell: bool = False,
    ) -> None:
        self.text = text
        self.path = path
        self.taint = taint
        self.items = items
        self.prefix = prefix
        self.number = number
        self.wants_shell = wants_shell


UNKNOWN: Final = ScriptValue()

# What a client, the caller's command line or the page's address decides.
_REMOTE: Final = re.compile(
    r"^(?:req|request|ctx|ctx\.request|event)\.(?:query|body|params|headers|cookies|url|path|"
    r"hostname|originalUrl|param|get|files?|queryStringParameters|data)\b"
    r"|^(?:window\.|document\.|self\.)?location(?:\.(?:search|hash|href|pathname))?$|^document\.(?:URL|referrer|documentURI)$"
    r"|^window\.name$"
)
_LOCAL: Final = re.compile(r"^process\.argv|^prompt\(\)$|^process\.stdin|^readline")
_ENVIRONMENT: Final = re.compile(r"^process\.env$")
_SECRET: Final = re.compile(r"^document\.cookie$|^(?:window\.)?(?:localStorage|sessionStorage)\b")
# One variable is for the program to use, in a header too; these never belong in an address.
_PRIVATE_VARIABLE: Final = re.compile(
    r"\.(?:aws_|ssh_|\w*(?:secret|passw|private|credential|database_url))", re.I
)
_GLOBALS: Final = frozenset({"window", "globalThis", "global", "self", "this", "root", "top", "frames"})
_HANDLER_PARAMETERS: Final = {
    "req": "req",
    "request": "request",
    "ctx": "ctx",
    "event": "event",
    "res": "res",
    "response": "res",
}
_NO_SHELL: Final = frozenset({"false", "0", "null", "undefined", "''", '""'})
_IS_KEPT: Final = re.compile(r"(?:window\.)?(?:localStorage|sessionStorage|process\.env)\b")
_CLEANERS: Final = frozenset(
    [
        "parseInt()",
        "parseFloat()",
        "Number()",
        "Boolean()",
        "encodeURIComponent()",
        "encodeURI()",
        "path.basename()",
        "escapeHtml()",
        "DOMPurify.sanitize()",
        "validator.escape()",
        "mysql.escape()",
        "sanitize()",
        "shellescape()",
    ]
)


class Evaluator:
    """Walks one program. What calls, constructions and assignments do is judged by the rules passed in."""

    def __init__(self, source: bytes, report: CodeReport, depth: int, nested: Nested, rules: Any) -> None:
        self.source = source
        self.lines = source.split(b"\n")
        self.report = report
        self.depth = depth
        self.nested = nested
        self.rules = rules
        self.names: dict[str, ScriptValue] = {}
        self.steps = 0
        self.level = 0
        self.functions: list[str] = []
        self.free: set[str] = set()
        self.bare_loops = 0
        self.unknown_modules: set[str] = set()

    # -- reporting -------------------------------------------------------------------------------------

    def line(self, node: Any) -> int:
        return int(node.start_point[0]) + 1

    def text(self, node: Any) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def line_text(self, line: int) -> str:
        return self.lines[line - 1].decode("utf-8", "replace").strip() if 0 < line <= len(self.lines) else ""

    def harm(self, rule: str, line: int, taint: tuple[ScriptOrigin, ...] = ()) -> None:
        self.report.harm(rule, line, self.line_text(line), self._flow(line, taint))

    def doubt(self, rule: str, line: int, taint: tuple[ScriptOrigin, ...] = ()) -> None:
        self.report.doubt(rule, line, self.line_text(line), self._flow(line, taint))

    def _flow(self, line: int, taint: tuple[ScriptOrigin, ...]) -> tuple[str, ...]:
        if not taint:
            return ()
        origin = taint[0]
        return (
            f"line {origin.line}: {origin.kind} data from {origin.text}",
            f"line {line}: {excerpt(self.line_text(line))}",
        )

    # -- evaluation ------------------------------------------------------------------------------------

    def eval(self, node: Any) -> ScriptValue:
        self.steps += 1
        self.level += 1
        if self.steps > MAX_STEPS or self.level > MAX_DEPTH:
            raise ScriptTooLong
        try:
            handler = _NODES.get(node.type)
            return self._children(node) if handler is None else handler(self, node)
        finally:
            self.level -= 1

    def _children(self, node: Any) -> ScriptValue:
        taint: tuple[ScriptOrigin, ...] = ()
        for child in node.named_children:
            taint = merge(taint, self.eval(child).taint)
        return ScriptValue(taint=taint)

    def _nothing(self, node: Any) -> ScriptValue:
        return UNKNOWN

    def _string(self, node: Any) -> ScriptValue:
        text = unescape(self.text(node)[1:-1])
        if places.is_mining_pool(text):
            self.harm("mines-currency", self.line(node))
        return ScriptValue(text)

    def _number(self, node: Any) -> ScriptValue:
        return ScriptValue(self.text(node), number=True)

    def _template(self, node: Any) -> ScriptValue:
        parts: list[ScriptValue] = []
        position = node.start_byte + 1
        for child in node.named_children:
            if child.type != "template_substitution":
                continue
            parts.append(ScriptValue(unescape(self._between(position, child.start_byte))))
            parts.append(self.eval(child.named_children[0]) if child.named_children else UNKNOWN)
            position = child.end_byte
        parts.append(ScriptValue(unescape(self._between(position, node.end_byte - 1))))
        return concatenate(parts)

    def _between(self, start: int, end: int) -> str:
        return self.source[start:end].decode("utf-8", "replace")

    def _identifier(self, node: Any) -> ScriptValue:
        name = self.text(node)
        known = self.names.get(name)
        if known is not None:
            return known
        return self.reference(
            "" if name in _GLOBALS else name, self.line(node), globals_root=name in _GLOBALS
        )

    def reference(
        self, path: str, line: int, taint: tuple[ScriptOrigin, ...] = (), *, globals_root: bool = False
    ) -> ScriptValue:
        if globals_root:
            return ScriptValue(path="globalThis")
        path = path.removeprefix("globalThis.").removeprefix("process.mainModule.").removeprefix("module.")
        if len(path) > MAX_PATH:
            return ScriptValue(taint=taint)
        if path in ("process.env.HOME", "process.env.USERPROFILE"):
            return ScriptValue("~", path=path)
        if path.startswith("process.env.") and _PRIVATE_VARIABLE.search(path):
            return ScriptValue(path=path, taint=(ScriptOrigin("private", line, path),))
        if path.startswith("process.env."):
            # One variable is for the program to use; the whole environment is nobody else's.
            return ScriptValue(path=path)
        for kind, pattern in _SOURCES:
            if pattern.search(path):
                return ScriptValue(path=path, taint=merge(taint, (ScriptOrigin(kind, line, path),)))
        self.rules.mention(self, path, line)
        return ScriptValue(path=path, taint=taint)

    def _member(self, node: Any) -> ScriptValue:
        owner = self.eval(node.child_by_field_name("object"))
        return self.attribute(owner, self.text(node.child_by_field_name("property")), self.line(node))

    def _subscript(self, node: Any) -> ScriptValue:
        owner = self.eval(node.child_by_field_name("object"))
        index = self.eval(node.child_by_field_name("index"))
        if owner.items is not None and index.number and index.text is not None and index.text.isdigit():
            position = int(index.text[:6])
            return owner.items[position] if position < len(owner.items) else UNKNOWN
        if index.text is not None:
            return self.attribute(owner, index.text, self.line(node))
        if owner.path in ("globalThis", "process", "child_process", "fs", "require"):
            self.doubt("dynamic-attribute", self.line(node), index.taint)
        return ScriptValue(taint=merge(owner.taint, index.taint))

    def attribute(self, owner: ScriptValue, name: str, line: int) -> ScriptValue:
        # The constructor of a constructor, or of a method of a literal, makes functions from text.
        of_a_method = owner.path.startswith(".") and owner.path.count(".") == 1
        if name == "constructor" and (owner.path.endswith("constructor") or of_a_method):
            self.harm("sandbox-escape", line)
            return ScriptValue(path="Function")
        if name == "length":
            return ScriptValue(number=True)
        if owner.path:
            return self.reference(f"{owner.path}.{name}", line, owner.taint)
        if name in ("constructor", "__proto__"):
            return ScriptValue(path=name, taint=owner.taint)
        return ScriptValue(
            path="." + name if owner.text is not None or owner.items is not None else "", taint=owner.taint
        )

    def _binary(self, node: Any) -> ScriptValue:
        left = self.eval(node.child_by_field_name("left"))
        right = self.eval(node.child_by_field_name("right"))
        operator = self.text(node.child_by_field_name("operator"))
        if operator == "+" and not (left.number and right.number):
            return concatenate([left, right])
        if operator in ("||", "&&", "??"):
            return left if left.path or left.text is not None else right
        return ScriptValue(
            number=True, taint=() if operator in ("-", "*", "/", "%") else merge(left.taint, right.taint)
        )

    def _ternary(self, node: Any) -> ScriptValue:
        self.eval(node.child_by_field_name("condition"))
        first = self.eval(node.child_by_field_name("consequence"))
        second = self.eval(node.child_by_field_name("alternative"))
        return ScriptValue(taint=merge(first.taint, second.taint)) if first.text != second.text else first

    def _array(self, node: Any) -> ScriptValue:
        items = [self.eval(child) for child in node.named_children if child.type != "comment"]
        return ScriptValue(items=items, taint=merge_all(items))

    def _object(self, node: Any) -> ScriptValue:
        taint: tuple[ScriptOrigin, ...] = ()
        wants_shell = False
        for child in node.named_children:
            if child.type == "pair":
                key = child.child_by_field_name("key")
                if self.text(key).strip("'\"") == "shell":
                    wants_shell = self.text(child.child_by_field_name("value")) not in _NO_SHELL
                if key.type == "computed_property_name":
                    self._children(key)
                value = self.eval(child.child_by_field_name("value"))
                self.rules.assigned(self, self.text(key).strip("'\""), value, self.line(child))
                if self.text(key).strip("'\"").lower() in ("authorization", "x-api-key"):
                    # What a client keeps to name itself by is sent in this header, and belongs there.
                    value = ScriptValue(taint=tuple(o for o in value.taint if not _IS_KEPT.match(o.text)))
            else:
                value = self.eval(child)
            taint = merge(taint, value.taint)
        return ScriptValue(path="{}", taint=taint, wants_shell=wants_shell)

    def _evaluate_parentheses(self, node: Any) -> ScriptValue:
        value = UNKNOWN
        for child in node.named_children:
            value = self.eval(child)
        return value

    def _declarator(self, node: Any) -> ScriptValue:
        value_node = node.child_by_field_name("value")
        value = self.eval(value_node) if value_node is not None else UNKNOWN
        self.bind(node.child_by_field_name("name"), value)
        return value

    def _default_values(self, pattern: Any) -> None:
        """`a = f()` in a parameter or pattern runs when nothing is given."""
        for child in _descendants(pattern, ("assignment_pattern", "object_assignment_pattern")):
            self.eval(child.child_by_field_name("right"))

    def bind(self, target: Any, value: ScriptValue) -> None:
        if target.type in ("object_pattern", "array_pattern"):
            self._default_values(target)
        match target.type:
            case "identifier" | "shorthand_property_identifier_pattern":
                name = self.text(target)
                if name == "location" and name in self.free:
                    self.rules.stored(
                        self, ScriptValue(path="globalThis"), name, UNKNOWN, value, self.line(target)
                    )
                self.names[name] = value
                self.rules.assigned(self, name, value, self.line(target))
            case "object_pattern":
                for child in target.named_children:
                    self._bind_property(child, value)
            case "array_pattern":
                for index, child in enumerate(target.named_children):
                    known = value.items is not None and index < len(value.items)
                    self.bind(
                        child, value.items[index] if known and value.items else ScriptValue(taint=value.taint)
                    )
            case "rest_pattern" | "assignment_pattern" if target.named_children:
                self.bind(target.named_children[0], ScriptValue(taint=value.taint))
            case "member_expression" | "subscript_expression":
                self._bind_member(target, value)

    def _bind_property(self, child: Any, value: ScriptValue) -> None:
        line = self.line(child)
        match child.type:
            case "shorthand_property_identifier_pattern":
                self.names[self.text(child)] = self.attribute(value, self.text(child), line)
            case "pair_pattern":
                key = self.text(child.child_by_field_name("key"))
                self.bind(child.child_by_field_name("value"), self.attribute(value, key, line))
            case _ if child.named_children:
                self.bind(child.named_children[0], ScriptValue(taint=value.taint))

    def _bind_member(self, target: Any, value: ScriptValue) -> None:
        owner = self.eval(target.child_by_field_name("object"))
        field = target.child_by_field_name("property")
        line = self.line(target)
        if field is not None:
            name: str | None = self.text(field)
            index = UNKNOWN
        else:
            index = self.eval(target.child_by_field_name("index"))
            name = index.text
        self.rules.stored(self, owner, name, index, value, line)

    def _assignment(self, node: Any) -> ScriptValue:
        value = self.eval(node.child_by_field_name("right"))
        self.bind(node.child_by_field_name("left"), value)
        return value

    def _evaluate_augmented(self, node: Any) -> ScriptValue:
        left = node.child_by_field_name("left")
        value = concatenate([self.eval(left), self.eval(node.child_by_field_name("right"))])
        self.bind(left, value)
        return value

    def _function(self, node: Any) -> ScriptValue:
        """The body runs in place; its parameters hide outer names while it does."""
        name_node = node.child_by_field_name("name")
        name = self.text(name_node) if name_node is not None else ""
        outer = dict(self.names)
        parameters = node.child_by_field_name("parameters") or node.child_by_field_name("parameter")
        for identifier in _parameter_names(parameters):
            text = self.text(identifier)
            if text in _HANDLER_PARAMETERS:
                self.names[text] = ScriptValue(path=_HANDLER_PARAMETERS[text])
            else:
                self.names[text] = ScriptValue(
                    taint=(ScriptOrigin("parameter", self.line(identifier), f"parameter {text}"),)
                )
        if parameters is not None:
            self._default_values(parameters)
        self.functions.append(name)
        body = node.child_by_field_name("body")
        if body is not None:
            self.eval(body)
        self.functions.pop()
        self.names = outer
        if node.type in ("function_declaration", "generator_function_declaration"):
            self.names[name] = ScriptValue(path=f"function {name}")
        return ScriptValue(path=f"function {name}")

    def _endless(self, node: Any) -> ScriptValue:
        """A loop that neither ends nor waits, while its body runs."""
        bare = int(_is_bare(node, self.text(node)))
        self.bare_loops += bare
        value = self._children(node)
        self.bare_loops -= bare
        return value

    def _for_in(self, node: Any) -> ScriptValue:
        left = node.child_by_field_name("left")
        right = self.eval(node.child_by_field_name("right"))
        if left is not None:
            self.bind(left, ScriptValue(taint=right.taint))
        body = node.child_by_field_name("body")
        return self.eval(body) if body is not None else UNKNOWN

    def _import(self, node: Any) -> ScriptValue:
        source = node.child_by_field_name("source")
        module = self.text(source).strip("'\"") if source is not None else ""
        path = module.removeprefix("node:")
        for child in _descendants(node, ("import_specifier", "namespace_import", "identifier")):
            if child.type == "import_specifier":
                name = child.child_by_field_name("name")
                alias = child.child_by_field_name("alias") or name
                self.names[self.text(alias)] = ScriptValue(path=f"{path}.{self.text(name)}")
            elif child.type == "namespace_import":
                self.names[self.text(child.named_children[0])] = ScriptValue(path=path)
            else:
                self.names[self.text(child)] = ScriptValue(path=path)
        self.rules.loaded(self, path, self.line(node))
        return UNKNOWN

    def _call(self, node: Any) -> ScriptValue:
        function = node.child_by_field_name("function")
        arguments = node.child_by_field_name("arguments")
        if function.type == "import":
            target = ScriptValue(path="import")
        else:
            target = self.eval(function)
        if arguments is None or arguments.type == "template_string":
            args = [self.eval(arguments)] if arguments is not None else []
        else:
            args = [self.eval(child) for child in arguments.named_children if child.type != "comment"]
        return self.call(target, args, self._receiver(function), node)

    def _receiver(self, function: Any) -> ScriptValue:
        if function.type == "member_expression":
            return self.eval(function.child_by_field_name("object"))
        return UNKNOWN

    def call(
        self, target: ScriptValue, args: list[ScriptValue], receiver: ScriptValue, node: Any
    ) -> ScriptValue:
        name = target.path.rpartition(".")[2]
        if target.path in ("eval.call", "eval.apply") or name in ("call", "apply", "bind"):
            inner = target.path.rpartition(".")[0]
            if inner:
                rest = (
                    args[1].items or [] if name == "apply" and len(args) > 1 and args[1].items else args[1:]
                )
                return self.call(ScriptValue(path=inner, taint=target.taint), rest, UNKNOWN, node)
        folded = fold_call(target.path, receiver, args)
        if folded is not None:
            return folded
        judged: ScriptValue | None = self.rules.called(self, target, args, receiver, node)
        if judged is not None:
            return judged
        path = f"{target.path}()" if target.path else ""
        if path in _CLEANERS:
            return ScriptValue(number=path in ("parseInt()", "parseFloat()", "Number()"))
        taint = merge(target.taint, merge_all(args))
        return self.reference(path, self.line(node), taint) if path else ScriptValue(taint=taint)

    def _new(self, node: Any) -> ScriptValue:
        target = self.eval(node.child_by_field_name("constructor"))
        arguments = node.child_by_field_name("arguments")
        children = arguments.named_children if arguments is not None else []
        args = [self.eval(child) for child in children if child.type != "comment"]
        return self.call(target, args, UNKNOWN, node)


def _parameter_names(parameters: Any) -> list[Any]:
    if parameters is None:
        return []
    found: list[Any] = []
    waiting = [parameters]
    while waiting:
        current = waiting.pop(0)
        if current.type in ("identifier", "shorthand_property_identifier_pattern"):
            found.append(current)
        elif current.type in ("assignment_pattern", "object_assignment_pattern"):
            # The default's own names are used, not bound.
            waiting.append(current.child_by_field_name("left"))
        else:
            waiting.extend(current.named_children)
    return found


def _descendants(node: Any, types: tuple[str, ...]) -> list[Any]:
    found: list[Any] = []
    waiting = list(node.named_children)
    while waiting:
        current = waiting.pop(0)
        if current.type in types:
            found.append(current)
        else:
            waiting.extend(current.named_children)
    return found


_FOREVER: Final = re.compile(r"while\s*\(\s*(?:true|1|!0)\s*\)|for\s*\([^;)]*;\s*(?:true|1)?\s*;")
_WAITS: Final = re.compile(r"\b(?:break|return|throw|await|yield)\b")


def _is_bare(node: Any, text: str) -> bool:
    return _FOREVER.search(text) is not None and _WAITS.search(text) is None


def merge(first: tuple[ScriptOrigin, ...], second: tuple[ScriptOrigin, ...]) -> tuple[ScriptOrigin, ...]:
    if not first or first is second:
        return second
    return first if not second or len(first) > 2 else (*first, *(o for o in second if o not in first))[:3]


def merge_all(values: list[ScriptValue]) -> tuple[ScriptOrigin, ...]:
    taint: tuple[ScriptOrigin, ...] = ()
    for value in values:
        taint = merge(taint, value.taint)
    return taint


def concatenate(parts: list[ScriptValue]) -> ScriptValue:
    taint = merge_all(parts)
    if all(part.text is not None for part in parts):
        text = "".join(part.text or "" for part in parts)
        return ScriptValue(text, taint=taint) if len(text) <= MAX_TEXT else ScriptValue(taint=taint)
    known = ""
    for part in parts:
        known += part.text if part.text is not None else part.prefix or "\ufffc"
    return ScriptValue(taint=taint, prefix=known[:MAX_TEXT])


_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\}|([0-7]{1,3})|(.))", re.S
)
_SIMPLE: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "\n": ""}


def unescape(text: str) -> str:
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    if code:
        number = int(code, 16)
        return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
    if found[4]:
        return chr(int(found[4], 8) & 0xFF)
    return _SIMPLE.get(found[5], found[5])


def fold_call(path: str, receiver: ScriptValue, args: list[ScriptValue]) -> ScriptValue | None:
    """String methods and decoders on known text."""
    name = path.rpartition(".")[2]
    if path == "String.fromCharCode" and all(arg.number and arg.text is not None for arg in args):
        codes = [_integer(arg.text or "") for arg in args]
        return ScriptValue("".join(chr(code) for code in codes if 0 <= code < 0xD800))
    if path in ("atob", "Buffer.from") and args and args[0].text is not None:
        encoding = args[1].text if len(args) > 1 else "base64" if path == "atob" else "utf8"
        return _decode(args[0].text, encoding or "utf8")
    if path in ("unescape", "decodeURIComponent", "decodeURI") and args and args[0].text is not None:
        return ScriptValue(urllib.parse.unquote(args[0].text))
    if receiver.text is not None:
        return _string_method(receiver.text, name, args)
    if receiver.items is not None:
        return _array_method(receiver.items, name, args)
    return None


def _integer(text: str) -> int:
    try:
        return int(text[:12], 0)
    except ValueError:
        return -1


def _decode(text: str, encoding: str) -> ScriptValue | None:
    try:
        if encoding in ("base64", "base64url"):
            padded = text + "=" * (-len(text) % 4)
            return ScriptValue(
                base64.b64decode(padded, altchars=b"-_" if "-" in text or "_" in text else None).decode(
                    "latin-1"
                )
            )
        if encoding == "hex":
            return ScriptValue(bytes.fromhex(text).decode("latin-1"))
    except (ValueError, binascii.Error):
        return None
    return ScriptValue(text)


def _string_method(text: str, name: str, args: list[ScriptValue]) -> ScriptValue | None:
    known = [arg.text for arg in args if arg.text is not None]
    if len(known) != len(args):
        return None
    match name, known:
        case "toString" | "trim" | "valueOf", _:
            return ScriptValue(text)
        case "toLowerCase", _:
            return ScriptValue(text.lower())
        case "toUpperCase", _:
            return ScriptValue(text.upper())
        case "split", [separator]:
            pieces = list(text) if separator == "" else text.split(separator)
            return ScriptValue(items=[ScriptValue(piece) for piece in pieces[:4096]])
        case "concat", _:
            return ScriptValue((text + "".join(known))[:MAX_TEXT])
        case "replace" | "replaceAll", [old, new] if len(text) * (len(new) + 1) < MAX_TEXT * 16:
            return ScriptValue(text.replace(old, new, 1 if name == "replace" else -1))
        case "slice" | "substring", _ if all(re.fullmatch(r"-?\d{1,6}", each) for each in known):
            return ScriptValue(text[slice(*(int(each) for each in known))]) if known else ScriptValue(text)
        case "charAt", [index] if index.isdigit():
            return ScriptValue(text[int(index[:6]) : int(index[:6]) + 1])
    return None


def _array_method(items: list[ScriptValue], name: str, args: list[ScriptValue]) -> ScriptValue | None:
    match name:
        case "reverse":
            return ScriptValue(items=list(reversed(items)))
        case "join":
            separator = args[0].text if args else ","
            if separator is None or any(item.text is None for item in items):
                return None
            return ScriptValue(separator.join(item.text or "" for item in items)[:MAX_TEXT])
        case "concat" if all(arg.items is not None for arg in args):
            return ScriptValue(items=items + [item for arg in args for item in arg.items or []])
    return None


@functools.cache
def _parser() -> Any:
    # Loaded on first use: most processes never look at JavaScript.
    import tree_sitter  # noqa: PLC0415
    import tree_sitter_javascript  # noqa: PLC0415

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_javascript.language()))


def parse(source: bytes) -> Any:
    return parse_all(_parser(), source)


_SOURCES: Final = (
    ("remote", _REMOTE),
    ("local", _LOCAL),
    ("environment", _ENVIRONMENT),
    ("secret", _SECRET),
)
_NODES: Final[dict[str, Callable[[Evaluator, Any], ScriptValue]]] = {
    "string": Evaluator._string,
    "number": Evaluator._number,
    "template_string": Evaluator._template,
    "identifier": Evaluator._identifier,
    "shorthand_property_identifier": Evaluator._identifier,
    "this": Evaluator._identifier,
    "member_expression": Evaluator._member,
    "subscript_expression": Evaluator._subscript,
    "binary_expression": Evaluator._binary,
    "ternary_expression": Evaluator._ternary,
    "array": Evaluator._array,
    "object": Evaluator._object,
    "parenthesized_expression": Evaluator._evaluate_parentheses,
    "sequence_expression": Evaluator._evaluate_parentheses,
    "await_expression": Evaluator._evaluate_parentheses,
    "variable_declarator": Evaluator._declarator,
    "assignment_expression": Evaluator._assignment,
    "augmented_assignment_expression": Evaluator._evaluate_augmented,
    "function_declaration": Evaluator._function,
    "function_expression": Evaluator._function,
    "generator_function": Evaluator._function,
    "generator_function_declaration": Evaluator._function,
    "arrow_function": Evaluator._function,
    "method_definition": Evaluator._function,
    "for_in_statement": Evaluator._for_in,
    "while_statement": Evaluator._endless,
    "do_statement": Evaluator._endless,
    "for_statement": Evaluator._endless,
    "import_statement": Evaluator._import,
    "call_expression": Evaluator._call,
    "new_expression": Evaluator._new,
    "comment": Evaluator._nothing,
    "regex": Evaluator._nothing,
    "property_identifier": Evaluator._nothing,
}
