"""Statements that do more than read and are complete as they stand.

Where nobody said that a text is SQL, parsing proves little: `drop me a line` and `call mom` parse. A
statement is complete only with the parts that its verb can't do without, in their order.
"""

import re
from collections.abc import Callable
from typing import Final

from qwed.engines.words import words

# MySQL runs what stands in `/*! … */`: of such a comment only the signs go.
_COMMENT: Final = re.compile(r"/\*(?!M?!)(?:[^*]|\*(?!/))*+(?:\*/)?|/\*M?!\d{0,6}|\*/|--[^\n]*|#[^\n]*")
_TOKEN: Final = re.compile(r"""[\w$@.\-:\[\]`"]+|'[^']*'?|[^\s\w]""")
_KINDS: Final = words(
    """
    table database schema view index user role function procedure trigger extension sequence type domain
    aggregate materialized tablespace server policy publication subscription login package synonym
    """
)
_BEFORE_A_KIND: Final = words(
    """
    or replace temp temporary unique materialized global local external foreign virtual unlogged recursive
    definer concurrently fulltext spatial clustered nonclustered public force editionable
    """
)
_AFTER_A_KIND: Final = words("if not exists concurrently only")
_PRIVILEGES: Final = words(
    """
    all select insert update delete truncate references trigger usage execute connect create dba superuser
    alter drop index control impersonate sysdba sysadmin privileges
    """
)
_TABLE_CHANGES: Final = words(
    """
    add drop rename modify alter change set enable disable owner attach detach truncate reset no inherit
    exchange replica validate cluster convert engine auto_increment with switch
    """
)
# What must follow the name where the kind alone is an everyday word: `create table tennis`.
_AFTER_A_NEW: Final = {
    "table": words("( as like of partition using"),
    "view": words("( as"),
    "index": words("on ("),
}
_MAX_TOKENS: Final = 400


def complete_statements(text: str) -> tuple[str, ...]:
    """The verbs of the statements in a text that do more than read and are complete, in order."""
    found = []
    for piece in _COMMENT.sub(" ", text).split(";"):
        tokens = [token.lower() for token in _TOKEN.findall(piece, 0, 8_192)[:_MAX_TOKENS]]
        while tokens and tokens[0] in _OPENERS:
            tokens.pop(0)
        shape = _SHAPES.get(tokens[0]) if tokens else None
        if shape is not None and shape(tokens[1:]):
            found.append(tokens[0])
    return tuple(found)


_OPENERS: Final = frozenset({"(", "{", "begin", "declare", "*", "!", "/", "'", '"', "`", ")", "''"})


def _name_at(tokens: list[str], index: int) -> bool:
    """A name, or a name in quotation marks."""
    return index < len(tokens) and (tokens[index][0].isalnum() or tokens[index][0] in "_[`\"'@$#")


def _kind_and_name(tokens: list[str]) -> int | None:
    """The position of the name that follows the kind of object."""
    index = 0
    while index < len(tokens) and tokens[index] in _BEFORE_A_KIND and tokens[index] not in _KINDS:
        index += 1
    if index < len(tokens) and tokens[index] == "materialized":
        index += 1
    if index >= len(tokens) or tokens[index] not in _KINDS:
        return None
    index += 1
    while index < len(tokens) and tokens[index] in _AFTER_A_KIND:
        index += 1
    return index if _name_at(tokens, index) else None


def _drop(tokens: list[str]) -> bool:
    if tokens[:2] == ["owned", "by"]:
        return len(tokens) > 2
    index = _kind_and_name(tokens)
    return index is not None and _ends_or(tokens, index + 1, _AFTER_A_DROP)


_AFTER_A_DROP: Final = words(", cascade restrict on purge ( . force with from")


def _ends_or(tokens: list[str], index: int, allowed: frozenset[str]) -> bool:
    return index >= len(tokens) or tokens[index] in allowed


def _create(tokens: list[str]) -> bool:
    index = _kind_and_name(tokens)
    if index is None:
        return tokens[:1] == ["index"] and "on" in tokens[:3]
    kind = next(token for token in tokens if token in _KINDS)
    if kind == "index" and tokens[index] == "on":
        return True
    if kind in _NAMED_ALONE:
        return _ends_or(tokens, index + 1, _AFTER_A_NAME)
    needed = _AFTER_A_NEW.get(kind)
    return any(token in needed for token in tokens[index + 1 : index + 12]) if needed else True


_NAMED_ALONE: Final = words("user role login database schema server tablespace")
_AFTER_A_NAME: Final = words(
    """
    , @ . identified with password for from without default authorization owner encoding template character
    charset collate on in foreign location datafile options superuser createdb
    """
)


def _alter(tokens: list[str]) -> bool:
    if tokens[:1] in (["system"], ["session"]):
        return len(tokens) > 2
    index = _kind_and_name(tokens)
    return index is not None and any(token in _TABLE_CHANGES for token in tokens[index + 1 : index + 4])


def _insert(tokens: list[str]) -> bool:
    while tokens and tokens[0] in _INSERT_WORDS:
        tokens = tokens[1:]
    return _name_at(tokens, 0) and any(token in _INSERTED for token in tokens[1:])


_INSERT_WORDS: Final = words(
    "into overwrite table or ignore replace abort fail rollback low_priority delayed"
)
_INSERTED: Final = words("values value select set ( default with from exec execute")


def _replace(tokens: list[str]) -> bool:
    return tokens[:1] == ["into"] and _insert(tokens)


def _update(tokens: list[str]) -> bool:
    if not _name_at(tokens, 0) or "set" not in tokens[1:8]:
        return False
    return "=" in tokens[tokens.index("set") :]


def _delete(tokens: list[str]) -> bool:
    if tokens[:1] != ["from"]:
        return "from" in tokens[1:3] and "where" in tokens
    return _name_at(tokens, 1) and _ends_or(tokens, 2, _AFTER_A_DELETE)


_AFTER_A_DELETE: Final = words("where using returning as , order limit output join inner left with")


def _merge(tokens: list[str]) -> bool:
    return "using" in tokens and "on" in tokens


def _truncate(tokens: list[str]) -> bool:
    index = 1 if tokens[:1] == ["table"] else 0
    return _name_at(tokens, index) and _ends_or(tokens, index + 1, _AFTER_A_TRUNCATE)


_AFTER_A_TRUNCATE: Final = words(", cascade restrict restart continue")


def _grant(tokens: list[str]) -> bool:
    towards = {"to", "from"} & set(tokens[1:])
    return bool(towards) and bool(tokens) and (tokens[0] in _PRIVILEGES or "on" in tokens[1:4])


def _call(tokens: list[str]) -> bool:
    return _name_at(tokens, 0) and tokens[1:2] == ["("] and ")" in tokens


def _execute(tokens: list[str]) -> bool:
    if tokens[:1] in (["immediate"], ["("]):
        return len(tokens) > 1
    if not _name_at(tokens, 0):
        return False
    is_a_routine = re.search(r"[_.\[]|\A(?:xp|sp)", tokens[0]) is not None
    return is_a_routine or (len(tokens) > 1 and tokens[1][0] in "'@(")


def _copy(tokens: list[str]) -> bool:
    sources = [index for index, token in enumerate(tokens) if token in ("from", "to")]
    return any(
        tokens[index + 1 : index + 2] and (tokens[index + 1][0] == "'" or tokens[index + 1] in _COPY_ENDS)
        for index in sources
    )


_COPY_ENDS: Final = words("stdin stdout program")


def _set(tokens: list[str]) -> bool:
    if tokens[:1] and tokens[0] in ("role", "password", "global", "persist", "authorization"):
        return len(tokens) > 1
    return _name_at(tokens, 0) and tokens[1:2] in (["="], ["to"]) and 2 < len(tokens) <= 4 and "=" in tokens


def _load(tokens: list[str]) -> bool:
    return "infile" in tokens or "inpath" in tokens


def _bulk(tokens: list[str]) -> bool:
    return tokens[:1] == ["insert"] and "from" in tokens


def _backup(tokens: list[str]) -> bool:
    return tokens[:1] in (["database"], ["log"]) and _name_at(tokens, 1) and len(tokens) > 2


def _attach(tokens: list[str]) -> bool:
    return "as" in tokens and any(token[0] == "'" for token in tokens)


def _do(tokens: list[str]) -> bool:
    return bool(tokens) and tokens[0][0] in "$'"


def _prepare(tokens: list[str]) -> bool:
    return "as" in tokens[1:3] or "from" in tokens[1:2]


def _lock(tokens: list[str]) -> bool:
    return tokens[:1] in (["table"], ["tables"]) and _name_at(tokens, 1)


def _rename(tokens: list[str]) -> bool:
    return tokens[:1] == ["table"] and "to" in tokens


def _kill(tokens: list[str]) -> bool:
    rest = [token for token in tokens if token not in ("connection", "query", "session")]
    return len(rest) == 1 and rest[0].isdigit()


def _shutdown(tokens: list[str]) -> bool:
    return tokens in (["immediate"], ["abort"], ["normal"], ["transactional"], ["with", "nowait"])


def _pragma(tokens: list[str]) -> bool:
    return _name_at(tokens, 0) and "=" in tokens[1:2]


def _explain(tokens: list[str]) -> bool:
    """EXPLAIN ANALYZE runs what it explains."""
    if "analyze" not in tokens[:4]:
        return False
    rest = tokens[tokens.index("analyze") + 1 :]
    shape = _SHAPES.get(rest[0]) if rest else None
    return shape is not None and shape(rest[1:])


def _reassign(tokens: list[str]) -> bool:
    return tokens[:2] == ["owned", "by"] and len(tokens) > 2


def _reset(tokens: list[str]) -> bool:
    return tokens in (["master"], ["slave"], ["replica"])


_SHAPES: Final[dict[str, Callable[[list[str]], bool]]] = {
    "drop": _drop,
    "create": _create,
    "alter": _alter,
    "insert": _insert,
    "replace": _replace,
    "upsert": _insert,
    "update": _update,
    "delete": _delete,
    "merge": _merge,
    "truncate": _truncate,
    "grant": _grant,
    "revoke": _grant,
    "call": _call,
    "exec": _execute,
    "execute": _execute,
    "copy": _copy,
    "set": _set,
    "load": _load,
    "bulk": _bulk,
    "backup": _backup,
    "restore": _backup,
    "attach": _attach,
    "do": _do,
    "prepare": _prepare,
    "lock": _lock,
    "rename": _rename,
    "kill": _kill,
    "shutdown": _shutdown,
    "pragma": _pragma,
    "explain": _explain,
    "reassign": _reassign,
    "reset": _reset,
}
# All that a statement found here can begin with.
FIRST_WORDS: Final = frozenset({*_SHAPES, *filter(str.isalpha, _OPENERS)})
