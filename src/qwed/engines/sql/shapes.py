"""The parts that a statement can't do without, by its first word."""

import itertools
import re
from collections.abc import Callable
from typing import Final

from qwed.engines.sql.shape_words import (
    AFTER_A_KIND,
    AFTER_A_NAME,
    AFTER_A_NEW,
    BEFORE_A_KIND,
    GRANTED,
    KINDS,
    NAMED_ALONE,
    PRIVILEGES,
    ROUTINES,
    TABLE_CHANGES,
    USER_CHANGES,
)
from qwed.engines.words import words


def is_complete(tokens: list[str]) -> bool:
    shape = SHAPES.get(tokens[0]) if tokens else None
    return shape is not None and shape(tokens[1:])


def _name_at(tokens: list[str], index: int) -> bool:
    """A name, or a name in quotation marks."""
    return index < len(tokens) and (tokens[index][0].isalnum() or tokens[index][0] in "_[`\"'@$#")


def _kind_and_name(tokens: list[str]) -> int | None:
    """The position of the name that follows the kind of object."""
    index = 0
    while index < len(tokens) and tokens[index] in BEFORE_A_KIND and tokens[index] not in KINDS:
        index += 1
    if index < len(tokens) and tokens[index] == "materialized":
        index += 1
    if index >= len(tokens) or tokens[index] not in KINDS:
        return None
    index += 1
    while index < len(tokens) and tokens[index] in AFTER_A_KIND:
        index += 1
    return index if _name_at(tokens, index) else None


def kind_of(tokens: list[str]) -> str | None:
    """The kind of object that CREATE, ALTER or DROP speaks of."""
    rest = itertools.dropwhile(lambda token: token in BEFORE_A_KIND and token not in KINDS, tokens)
    kind = next(rest, None)
    return kind if kind in KINDS else None


def _drop(tokens: list[str]) -> bool:
    if tokens[:2] == ["owned", "by"]:
        return len(tokens) > 2
    index = _kind_and_name(tokens)
    if index is None:
        return False
    is_on_a_table = any(kind in tokens[:index] for kind in ("index", "trigger", "rule", "policy"))
    return _ends_or(tokens, index + 1, _AFTER_A_DROP | {"on"} if is_on_a_table else _AFTER_A_DROP)


_AFTER_A_DROP: Final = words(", ) @ cascade restrict purge ( . force with end commit go")


def _ends_or(tokens: list[str], index: int, allowed: frozenset[str]) -> bool:
    return index >= len(tokens) or tokens[index] in allowed


def _create(tokens: list[str]) -> bool:
    index = _kind_and_name(tokens)
    if index is None:
        return tokens[:1] == ["index"] and "on" in tokens[:3]
    kind = next(token for token in tokens if token in KINDS)
    if kind == "index" and tokens[index] == "on":
        return True
    if kind in NAMED_ALONE:
        return _ends_or(tokens, index + 1, AFTER_A_NAME)
    if kind in ("event", "rule"):
        return tokens[index + 1 : index + 2] in (["on"], ["as"])
    needed = AFTER_A_NEW.get(kind)
    return any(token in needed for token in tokens[index + 1 : index + 12]) if needed else True


def _alter(tokens: list[str]) -> bool:
    if tokens[:1] in (["system"], ["session"]):
        return len(tokens) > 2
    index = _kind_and_name(tokens)
    if index is None:
        return False
    if any(token in TABLE_CHANGES for token in tokens[index + 1 : index + 4]):
        return True
    return (
        kind_of(tokens) in _PEOPLE
        and tokens[index + 1 : index + 2] != []
        and tokens[index + 1] in USER_CHANGES
    )


_PEOPLE: Final = words("user role login")


def _insert(tokens: list[str]) -> bool:
    index = 0
    while index < len(tokens) and tokens[index] in _INSERT_WORDS:
        index += 1
    if not _name_at(tokens, index):
        return False
    rest = tokens[index + 1 :]
    if rest[:1] and rest[0] not in _INSERTED | _BEFORE_A_ROW:
        rest = rest[2:] if rest[0] == "as" else rest[1:]
    if rest[:1] == ["("] and rest[1:2] in (["select"], ["with"]):
        return True
    if rest[:1] == ["("] and ")" in rest:
        rest = rest[rest.index(")") + 1 :]
    return bool(rest) and (
        rest[0] in _INSERTED or (rest[0] in _BEFORE_A_ROW and not _INSERTED.isdisjoint(rest))
    )


_INSERT_WORDS: Final = words(
    "into overwrite table or ignore replace abort fail rollback low_priority high_priority delayed all first"
)
_INSERTED: Final = words("values value select set default with exec execute")
_BEFORE_A_ROW: Final = words("( output overriding partition")


def _replace(tokens: list[str]) -> bool:
    return "into" in tokens[:2] and _insert(tokens)


def _update(tokens: list[str]) -> bool:
    if not _name_at(tokens, 0) or "set" not in tokens[1:]:
        return False
    place = tokens.index("set", 1)
    is_near = place < 8 or any(token in _JOINS for token in tokens[1:6])
    return is_near and "=" in tokens[place : place + 8]


_JOINS: Final = words("join inner left right cross full outer natural ,")


def _delete(tokens: list[str]) -> bool:
    tokens = _without_limits(tokens)
    if "from" not in tokens[:1]:
        return _is_delete_of_several(tokens)
    index = 2 if tokens[1:2] == ["only"] and _name_at(tokens, 2) else 1
    if not _name_at(tokens, index):
        return False
    return _ends_or(tokens, index + 1, _AFTER_A_DELETE) or (
        tokens[index + 2 : index + 3] != [] and tokens[index + 2] in _AFTER_AN_ALIAS
    )


def _without_limits(tokens: list[str]) -> list[str]:
    """Without what may stand between DELETE and the table: `TOP (10)`, `LOW_PRIORITY`."""
    while tokens and tokens[0] in ("low_priority", "quick", "ignore"):
        tokens = tokens[1:]
    if tokens[:2] == ["top", "("] and ")" in tokens:
        tokens = tokens[tokens.index(")") + 1 :]
    return tokens


def _is_delete_of_several(tokens: list[str]) -> bool:
    """`DELETE a, b FROM a JOIN b …`, `DELETE a WHERE …` with a comparison."""
    if not _name_at(tokens, 0):
        return False
    if tokens[1:2] == ["where"]:
        return any(token in _COMPARISONS for token in tokens[3:6])
    if "from" not in tokens[1:12]:
        return False
    place = tokens.index("from", 1)
    is_a_list = {","}.issuperset(tokens[1:place:2])
    return is_a_list and not _NARROWED.isdisjoint(tokens[place + 1 :])


_NARROWED: Final = _JOINS | {"where"}
_COMPARISONS: Final = words("= < > ! is in like between")
_AFTER_A_DELETE: Final = words(
    "where using returning as , order limit output join inner left with * end commit go )"
)
_AFTER_AN_ALIAS: Final = words("where using returning , join inner left")


def _merge(tokens: list[str]) -> bool:
    return "using" in tokens and "on" in tokens


def _truncate(tokens: list[str]) -> bool:
    index = 1 if tokens[:1] == ["table"] else 0
    while index < len(tokens) and tokens[index] in AFTER_A_KIND:
        index += 1
    return _name_at(tokens, index) and _ends_or(tokens, index + 1, _AFTER_A_TRUNCATE)


_AFTER_A_TRUNCATE: Final = words(", cascade restrict restart continue end commit go )")


def _grant(tokens: list[str]) -> bool:
    """Privileges on an object, or a role: `GRANT admin TO bob`."""
    towards = next((index for index, token in enumerate(tokens) if token in ("to", "from")), 0)
    if not towards or not _name_at(tokens, towards + 1):
        return False
    if "on" in tokens[1:towards]:
        return tokens[0] in PRIVILEGES or tokens.index("on") < 4
    return tokens[0] in PRIVILEGES and GRANTED.issuperset(tokens[:towards])


def _call(tokens: list[str]) -> bool:
    return _name_at(tokens, 0) and tokens[1:2] == ["("] and ")" in tokens


def _execute(tokens: list[str]) -> bool:
    if tokens[:1] in (["immediate"], ["("]):
        return len(tokens) > 1
    if tokens[:1] == ["as"]:
        return tokens[1:2] in (["login"], ["user"], ["caller"], ["owner"], ["self"])
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
    if not tokens:
        return False
    if tokens[0] in SETTINGS_FOR_OTHERS:
        return len(tokens) > 1
    if tokens[0] in ("session", "local"):
        return tokens[1:2] == ["authorization"] or "=" in tokens[2:3]
    is_a_setting = tokens[0].startswith("@@") or "." in tokens[0].strip(".")
    return is_a_setting and tokens[1:2] in (["="], ["to"], [":="]) and len(tokens) > 2


SETTINGS_FOR_OTHERS: Final = words("role password global persist persist_only authorization")


def _load(tokens: list[str]) -> bool:
    return "infile" in tokens or "inpath" in tokens


def _bulk(tokens: list[str]) -> bool:
    return tokens[:1] == ["insert"] and "from" in tokens


def _backup(tokens: list[str]) -> bool:
    return tokens[:1] in (["database"], ["log"]) and _name_at(tokens, 1) and len(tokens) > 2


def _attach(tokens: list[str]) -> bool:
    return "as" in tokens and any(token[0] == "'" for token in tokens)


def _do(tokens: list[str]) -> bool:
    if tokens[:1] == ["language"]:
        tokens = tokens[2:]
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
    return _name_at(tokens, 0) and (tokens[1:2] == ["="] or (tokens[1:2] == ["("] and ")" in tokens[2:]))


def _explain(tokens: list[str]) -> bool:
    """EXPLAIN ANALYZE runs what it explains."""
    if "analyze" not in tokens[:4]:
        return False
    rest = tokens[tokens.index("analyze") + 1 :]
    shape = SHAPES.get(rest[0]) if rest else None
    return shape is not None and shape(rest[1:])


def _reassign(tokens: list[str]) -> bool:
    return tokens[:2] == ["owned", "by"] and len(tokens) > 2


def _reset(tokens: list[str]) -> bool:
    return tokens in (["master"], ["slave"], ["replica"])


def _if(tokens: list[str]) -> bool:
    """`IF 1=1 DROP TABLE x`: what follows the condition is a statement."""
    places = [index for index, token in enumerate(tokens[:60]) if token in SHAPES.keys() - {"if"}]
    return bool(_COMPARISONS & set(tokens) or "exists" in tokens[:2]) and any(
        is_complete(tokens[index:]) for index in places[:4]
    )


def _deny(tokens: list[str]) -> bool:
    return bool(tokens) and tokens[0] in PRIVILEGES and "on" in tokens[1:] and "to" in tokens[1:]


def _install(tokens: list[str]) -> bool:
    return tokens[:1] in (["plugin"], ["component"], ["soname"]) and len(tokens) > 1


def _purge(tokens: list[str]) -> bool:
    return tokens[:2] in (["binary", "logs"], ["master", "logs"]) and len(tokens) > 2


def _export(tokens: list[str]) -> bool:
    return tokens[:1] == ["data"] and "options" in tokens[1:6] and "as" in tokens


def _unload(tokens: list[str]) -> bool:
    return tokens[:1] == ["("] and "to" in tokens


def _dbcc(tokens: list[str]) -> bool:
    return _name_at(tokens, 0)


def _select(tokens: list[str]) -> bool:
    """Only where it writes a file."""
    return any(
        token in ("outfile", "dumpfile") and tokens[index + 1][0] in "'\"@"
        for index, token in enumerate(tokens[:-1])
        if tokens[index - 1] == "into"
    )


def _vacuum(tokens: list[str]) -> bool:
    return tokens == ["full"] or (tokens[:1] == ["("] and ")" in tokens)


def _comment(tokens: list[str]) -> bool:
    """`COMMENT ON TABLE t IS 'x'`."""
    if tokens[:1] != ["on"] or not (tokens[1:2] and tokens[1] in KINDS | {"column", "constraint"}):
        return False
    place = tokens.index("is", 2) if "is" in tokens[2:] else len(tokens)
    return bool(tokens[place + 1 : place + 2]) and (
        tokens[place + 1][0] == "'" or tokens[place + 1] == "null"
    )


def _reindex(tokens: list[str]) -> bool:
    rest = tokens[:1] + [each for each in tokens[1:] if each not in AFTER_A_KIND]
    return len(rest) == 2 and rest[0] in _REINDEXED and _name_at(rest, 1)


_REINDEXED: Final = words("database table index schema system")


def _refresh(tokens: list[str]) -> bool:
    return tokens[:2] == ["materialized", "view"] and _name_at(tokens, 2)


def _notify(tokens: list[str]) -> bool:
    return len(tokens) == 3 and tokens[1] == "," and tokens[2][0] == "'"


def _flush(tokens: list[str]) -> bool:
    return tokens[:1] == ["privileges"] or tokens[:2] in (["binary", "logs"], ["tables", "with"])


def _routine(tokens: list[str]) -> bool:
    """`xp_cmdshell 'dir'`: the first statement of a batch needs no EXEC."""
    return not tokens or tokens[0][0] in "'@"


SHAPES: Final[dict[str, Callable[[list[str]], bool]]] = {
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
    "if": _if,
    "deny": _deny,
    "install": _install,
    "uninstall": _install,
    "purge": _purge,
    "export": _export,
    "unload": _unload,
    "dbcc": _dbcc,
    "select": _select,
    "vacuum": _vacuum,
    "comment": _comment,
    "reindex": _reindex,
    "refresh": _refresh,
    "notify": _notify,
    "flush": _flush,
    **dict.fromkeys(ROUTINES, _routine),
}
