"""Statements that the parser keeps as text: what their first word says, and the SQL inside them."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from qwed.domain.risk import Risk
from qwed.engines.sql.verdict import StatementKind


class Command(msgspec.Struct, frozen=True):
    kind: StatementKind
    risk: Risk
    inner: tuple[str, ...] = ()
    """Statements that it carries, to be inspected like any other."""
    understood: bool = False
    """Nothing is in it but what `kind` and `inner` say."""
    calls: str = ""
    """The procedure that it runs."""
    runs: bool = True
    """Whether `inner` is run, and not only planned."""


_HEADS: Final[Mapping[str, tuple[StatementKind, Risk]]] = MappingProxyType(
    {
        "SHOW": (StatementKind.READ, Risk.LOW),
        "HELP": (StatementKind.READ, Risk.LOW),
        "SET": (StatementKind.SESSION, Risk.HIGH),
        "RESET": (StatementKind.SESSION, Risk.HIGH),
        "DISCARD": (StatementKind.SESSION, Risk.HIGH),
        "SAVEPOINT": (StatementKind.TRANSACTION, Risk.MEDIUM),
        "RELEASE": (StatementKind.TRANSACTION, Risk.MEDIUM),
        "BEGIN": (StatementKind.PROCEDURE, Risk.CRITICAL),
        "CALL": (StatementKind.PROCEDURE, Risk.CRITICAL),
        "EXEC": (StatementKind.PROCEDURE, Risk.CRITICAL),
        "EXECUTE": (StatementKind.PROCEDURE, Risk.CRITICAL),
        "CREATE": (StatementKind.DDL, Risk.CRITICAL),
        "ALTER": (StatementKind.DDL, Risk.CRITICAL),
        "DROP": (StatementKind.DDL, Risk.CRITICAL),
        "REFRESH": (StatementKind.DDL, Risk.CRITICAL),
        "COMMENT": (StatementKind.DDL, Risk.CRITICAL),
        "RENAME": (StatementKind.DDL, Risk.CRITICAL),
        "TRUNCATE": (StatementKind.TRUNCATE, Risk.CRITICAL),
        "GRANT": (StatementKind.GRANT, Risk.CRITICAL),
        "REVOKE": (StatementKind.GRANT, Risk.CRITICAL),
        "DENY": (StatementKind.GRANT, Risk.CRITICAL),
        "COPY": (StatementKind.COPY, Risk.CRITICAL),
        "LOAD": (StatementKind.COPY, Risk.CRITICAL),
        "UNLOAD": (StatementKind.COPY, Risk.CRITICAL),
        "GET": (StatementKind.COPY, Risk.CRITICAL),
        "MERGE": (StatementKind.MERGE, Risk.HIGH),
        "INSERT": (StatementKind.INSERT, Risk.HIGH),
    }
)
_OTHER: Final = (StatementKind.ADMINISTRATION, Risk.CRITICAL)

_PLAIN_WORDS: Final = re.compile(r"[\w\s.,\"`\[\]]*+")
_PLAIN: Final = re.compile(r"(?:[\w\s.,\"`\[\]()=%*@:+-]|'[^'\\]*+')*+")
_CARRIES_CODE: Final = re.compile(
    r"\b(?:SELECT|INSERT|UPDATE|DELETE|BEGIN|AS|LANGUAGE|DO|EXEC|EXECUTE|CALL|HANDLER)\b", re.IGNORECASE
)
_EXPLAIN_OPTIONS: Final = re.compile(
    r"\s*(?:\((?P<list>[^()]*)\)|(?P<word>ANALYZE|ANALYSE|VERBOSE|EXTENDED|QUERY\s+PLAN|PLAN\s+FOR"
    r"|FORMATTED|COST|"
    r"CODEGEN|USING\s+\w+|FORMAT\s*=\s*\w+|DISTRIBUTED|LOGICAL)\b)",
    re.IGNORECASE,
)
_ANALYZE: Final = re.compile(r"\banaly[sz]e\b(?!\s*(?:=?\s*(?:off|false|0)\b))", re.IGNORECASE)
_PREPARED: Final = re.compile(
    r"[\w\"`]+\s*(?:\([^()]*\)\s*)?(?:AS|FROM)\s+(?P<inner>.*)", re.IGNORECASE | re.DOTALL
)
_CALLED: Final = re.compile(r"\s*(?P<name>[\w.\"`]+)\s*(?:\((?P<arguments>.*)\))?\s*", re.DOTALL)
_PROCEDURE_NAME: Final = re.compile(r"\s*(?:[\w\"`\[\]]*\.)*[\"`\[]?(\w+)")
_QUOTED: Final = re.compile(r"'((?:[^']|'')*+)'|\$(\w*)\$(.*?)\$\2\$", re.DOTALL)
_BLOCK_SEPARATOR: Final = re.compile(
    r";|\b(?:BEGIN|THEN|ELSE|LOOP|DECLARE|END|PERFORM|EXECUTE|IMMEDIATE|AS)\b", re.IGNORECASE
)
_STATEMENT_START: Final = re.compile(
    r"\s*(?:SELECT|INSERT|UPDATE|DELETE|MERGE|DROP|ALTER|CREATE|TRUNCATE|GRANT|REVOKE|COPY|WITH|CALL|EXEC)\b",
    re.IGNORECASE,
)
_MAX_INNER: Final = 20


def command(head: str, rest: str) -> Command:
    head = head.upper()
    read = _READERS.get(head)
    if read:
        return read(rest)
    kind, risk = _HEADS.get(head, _OTHER)
    return Command(kind, risk, understood=_is_plain(head, rest))


def _is_plain(head: str, rest: str) -> bool:
    """Names, numbers and strings only; the body of a routine is more than that."""
    if head in ("GRANT", "REVOKE", "SHOW"):
        return _PLAIN.fullmatch(rest) is not None
    return _PLAIN.fullmatch(rest) is not None and not _CARRIES_CODE.search(rest)


def _explain(rest: str) -> Command:
    analyze = False
    position = 0
    while match := _EXPLAIN_OPTIONS.match(rest, position):
        analyze = analyze or _ANALYZE.search(match.group()) is not None
        position = match.end()
    inner = rest[position:].strip()
    # Only ANALYZE runs what it explains; the plan of a write is still more than a read.
    return Command(StatementKind.EXPLAIN, Risk.LOW, (inner,), understood=bool(inner), runs=analyze)


def _prepare(rest: str) -> Command:
    match = _PREPARED.match(rest.strip())
    if not match:
        return Command(StatementKind.PROCEDURE, Risk.CRITICAL)
    inner = match["inner"].strip()
    quoted = _QUOTED.fullmatch(inner)
    return Command(
        StatementKind.PROCEDURE, Risk.CRITICAL, (_unquote(quoted) if quoted else inner,), understood=True
    )


def _replace(rest: str) -> Command:
    return Command(StatementKind.INSERT, Risk.HIGH, (f"INSERT {rest}",), understood=True)


def _execute(rest: str) -> Command:
    inner = tuple(_unquote(match) for match in _QUOTED.finditer(rest))
    statements = tuple(text for text in inner if _STATEMENT_START.match(text))
    understood = _PLAIN_WORDS.fullmatch(rest) is not None
    calls = "sp_executesql" if rest.lstrip().startswith("(") else _name_of_call(rest)
    return Command(StatementKind.PROCEDURE, Risk.CRITICAL, statements[:_MAX_INNER], understood, calls)


def _call(rest: str) -> Command:
    match = _CALLED.fullmatch(rest)
    if not match:
        return Command(StatementKind.PROCEDURE, Risk.CRITICAL, calls=_name_of_call(rest))
    # The arguments are read as a query's, so that nothing hides in them.
    arguments = match["arguments"] or ""
    inner = (f"SELECT {arguments}",) if arguments.strip() else ()
    return Command(StatementKind.PROCEDURE, Risk.CRITICAL, inner, understood=True, calls=_name_of_call(rest))


def _name_of_call(rest: str) -> str:
    match = _PROCEDURE_NAME.match(rest)
    return match[1].lower() if match else ""


def block(rest: str) -> Command:
    """A DO block or a procedure's body: the statements that can be made out in it, never all of it."""
    match = _QUOTED.search(rest)
    return Command(StatementKind.PROCEDURE, Risk.CRITICAL, statements_in(_unquote(match) if match else rest))


def statements_in(body: str) -> tuple[str, ...]:
    pieces = (piece.strip() for piece in _BLOCK_SEPARATOR.split(body))
    found = [piece for piece in pieces if _STATEMENT_START.match(piece)]
    found += [_unquote(match) for match in _QUOTED.finditer(body) if _STATEMENT_START.match(_unquote(match))]
    return tuple(found[:_MAX_INNER])


def _unquote(match: re.Match[str]) -> str:
    return match[3] if match[1] is None else match[1].replace("''", "'")


_READERS: Final = {
    "EXPLAIN": _explain,
    "PREPARE": _prepare,
    "REPLACE": _replace,
    "EXECUTE": _execute,
    "EXEC": _execute,
    "CALL": _call,
    "DO": block,
    "BEGIN": block,
}
