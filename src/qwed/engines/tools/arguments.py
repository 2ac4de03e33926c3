"""What each argument of a tool is *for*: its role decides which checker looks at it.

The role comes from the policy's checkers, else from the parameter's name within the family of the tool
(the files, the network, mail, a database, payments). Free text is nobody's address or path, whatever it
mentions. What may be run is said by `qwed.engines.slots`.
"""

import enum
import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from qwed.domain import json_text
from qwed.domain.actions import Action
from qwed.domain.json_text import JsonError, Unrepresentable
from qwed.domain.registry import TOOL_CONTROL
from qwed.engines.slots import RUNS_CODE, RUNS_JAVASCRIPT, RUNS_PYTHON, RUNS_SHELL, table_of_tool
from qwed.engines.words import words

MAX_ARGUMENTS: Final = 2_000
MAX_DEPTH: Final = 32
_MAX_EMBEDDED_JSON: Final = 65_536


class Role(enum.StrEnum):
    URL = "url"
    HOST = "host"
    REFERENCE = "reference"
    PATH = "path"
    SQL = "sql"
    CONDITION = "condition"
    IDENTIFIER = "identifier"
    RECIPIENT = "recipient"
    HEADER = "header"
    AMOUNT = "amount"
    CURRENCY = "currency"
    PROGRAM = "program"
    TEXT = "text"
    PLAIN = "plain"


class ArgumentFamily(enum.StrEnum):
    FILE = "file"
    NETWORK = "network"
    EMAIL = "email"
    DATABASE = "database"
    PAYMENT = "payment"
    OTHER = "other"


class ToolArgument(msgspec.Struct, frozen=True):
    where: str
    role: Role
    value: Any


class TooManyArguments(ValueError):
    """More arguments, or deeper ones, than are looked at."""


_FAMILY_WORDS: Final[tuple[tuple[ArgumentFamily, frozenset[str]], ...]] = (
    (ArgumentFamily.EMAIL, frozenset({"email", "emails", "mail", "gmail", "smtp"})),
    (ArgumentFamily.FILE, frozenset({"file", "files", "directory", "folder", "dir"})),
    (
        ArgumentFamily.PAYMENT,
        frozenset({"money", "payment", "payments", "pay", "payout", "refund", "transfer", "wire"}),
    ),
    (
        ArgumentFamily.DATABASE,
        frozenset(
            {"sql", "database", "db", "data", "table", "postgres", "mysql", "sqlite", "mongo", "mongodb"}
        ),
    ),
    (
        ArgumentFamily.NETWORK,
        words(
            "api http https url urls fetch network request webhook browse crawl scrape download curl "
            "wget ping"
        ),
    ),
)
_NAMED_FAMILIES: Final = {
    "search_web": ArgumentFamily.OTHER,
    "log_message": ArgumentFamily.OTHER,
    "get_weather": ArgumentFamily.OTHER,
}


def _roles(**names: str) -> dict[str, Role]:
    return {name: Role[role] for role, group in names.items() for name in group.split()}


_COMMON_ROLES: Final = _roles(
    URL="url uri endpoint webhook callback href website homepage baseurl",
    PATH="path file filename filepath dir directory folder cwd workdir attachment",
    HEADER="email",
    TEXT=(
        "body message text content html title subject description note comment summary prompt question "
        "reason justification caption markdown memo data payload answer q query search keyword "
        "instruction json form msg snippet template reply bio abstract input output"
    ),
)
_FAMILY_ROLES: Final[dict[ArgumentFamily, dict[str, Role]]] = {
    ArgumentFamily.FILE: _roles(
        PATH="source src dest destination from to old new target name input output query root pattern glob"
    ),
    ArgumentFamily.NETWORK: _roles(
        URL="target link site address resource query feed proxy",
        HOST="host hostname server domain ip",
        REFERENCE="path route",
        PATH="file filename saveas output outputfile destination",
    ),
    ArgumentFamily.EMAIL: _roles(
        RECIPIENT="to cc bcc recipient email address target emails",
        HEADER="subject from sender replyto fromname sendername name",
        TEXT="query",
    ),
    ArgumentFamily.DATABASE: _roles(
        PLAIN="query",
        CONDITION="where having condition",
        IDENTIFIER="table column view orderby groupby database collection index target",
    ),
    ArgumentFamily.PAYMENT: _roles(AMOUNT="amount total sum value", CURRENCY="currency", TEXT="query target"),
    ArgumentFamily.OTHER: {},
}
_LAST_WORDS: Final = words(
    """
    url uri path file filename dir directory folder email endpoint href webhook
    """
)
_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_KIND_ROLES: Final = {
    "url": Role.URL,
    "path": Role.PATH,
    "sql": Role.SQL,
    "email": Role.RECIPIENT,
    "payment": Role.AMOUNT,
    **dict.fromkeys((RUNS_SHELL, RUNS_PYTHON, RUNS_JAVASCRIPT, RUNS_CODE), Role.PROGRAM),
    "text": Role.TEXT,
}


@functools.lru_cache(maxsize=1_024)
def family_of(tool: str) -> ArgumentFamily:
    """The family a tool belongs to, by the words of its name."""
    if tool in _NAMED_FAMILIES:
        return _NAMED_FAMILIES[tool]
    words = {word.lower() for word in _WORDS.findall(tool[:200])}
    return next((family for family, names in _FAMILY_WORDS if words & names), ArgumentFamily.OTHER)


@functools.lru_cache(maxsize=4_096)
def role_of(name: str, family: ArgumentFamily) -> Role:
    """The role of a parameter by its name alone; PLAIN when the name says nothing."""
    words = [word.lower() for word in _WORDS.findall(name[:200])]
    # An operator of a document database, not a word.
    if not words or name.startswith("$"):
        return Role.PLAIN
    whole = "".join(words)
    for candidate in (whole, whole.removesuffix("s")):
        role = _FAMILY_ROLES[family].get(candidate) or _COMMON_ROLES.get(candidate)
        if role is not None:
            return role
    last = words[-1].removesuffix("s")
    if last in _LAST_WORDS:
        return _FAMILY_ROLES[family].get(last) or _COMMON_ROLES[last]
    return Role.PLAIN


def arguments_of(action: Action, marks: Mapping[str, str]) -> Iterator[ToolArgument]:
    """Every string and amount of the action with its role. Raises `TooManyArguments`."""
    family = family_of(action.type)
    configured = {name: _KIND_ROLES[kind] for name, kind in table_of_tool(action.type).runs.items()}
    configured |= {parameter: _KIND_ROLES[kind] for parameter, kind in marks.items()}
    if action.query is not None:
        # The engine asked by its own name: no tool's name tells what the text is for.
        own = Role.PLAIN if action.type == TOOL_CONTROL else role_of("query", family)
        yield ToolArgument("query", configured.get("query") or own, action.query)
    if action.code is not None:
        yield ToolArgument("code", configured.get("code") or Role.PLAIN, action.code)
    if action.target is not None:
        yield ToolArgument("target", configured.get("target") or role_of("target", family), action.target)
    if action.parameters:
        yield from _Walk(family, configured).members(action.parameters)


class _Walk:
    """One pass over the parameters, bounded in breadth and depth."""

    def __init__(self, family: ArgumentFamily, configured: Mapping[str, Role]) -> None:
        self._family = family
        self._configured = configured
        self._left = MAX_ARGUMENTS

    def members(self, members: Mapping[str, Any]) -> Iterator[ToolArgument]:
        for name, value in members.items():
            role = self._configured.get(name) or role_of(name, self._family)
            yield from self._value(f"parameters.{name}", name, role, value, 1)

    def _value(self, where: str, dotted: str, role: Role, value: Any, depth: int) -> Iterator[ToolArgument]:
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH:
            raise TooManyArguments
        if isinstance(value, str):
            yield from self._text(where, dotted, role, value, depth)
        elif isinstance(value, Mapping):
            yield from self._object(where, dotted, role, value, depth)
        elif isinstance(value, list | tuple):
            for index, item in enumerate(value):
                yield from self._value(f"{where}[{index}]", dotted, role, item, depth + 1)
        elif role is Role.AMOUNT or isinstance(value, Unrepresentable):
            yield ToolArgument(where, role, value)

    def _object(
        self, where: str, dotted: str, role: Role, members: Mapping[str, Any], depth: int
    ) -> Iterator[ToolArgument]:
        is_headers = dotted.rpartition(".")[2].lower() == "headers"
        for name, value in members.items():
            inner = f"{dotted}.{name}"
            own = self._configured.get(inner) or role_of(str(name), self._family)
            if is_headers:
                yield ToolArgument(f"{where}.{name}", Role.HEADER, str(name))
                own = Role.HOST if str(name).lower() == "host" else Role.HEADER
            elif role is Role.TEXT and own is Role.PLAIN:
                own = Role.TEXT
            yield from self._value(f"{where}.{name}", inner, own, value, depth + 1)

    def _text(self, where: str, dotted: str, role: Role, text: str, depth: int) -> Iterator[ToolArgument]:
        """Arguments are often handed over as JSON inside a string: what it holds is inspected too."""
        if role in (Role.PLAIN, Role.SQL) and text[:1] in "{[" and 2 <= len(text) <= _MAX_EMBEDDED_JSON:
            try:
                embedded = json_text.loads(text.encode("utf-8", "surrogatepass"), max_depth=MAX_DEPTH)
            except JsonError:
                embedded = None
            if isinstance(embedded, dict | list):
                yield from self._value(where, dotted, Role.PLAIN, embedded, depth + 1)
                return
        yield ToolArgument(where, role, text)
