"""The parts that a statement can't do without, by its first word."""

import itertools
import re
from collections.abc import Callable
from typing import Final

from qwed.engines.sql.administration_shapes import (
    attach_is_complete,
    backup_is_complete,
    bulk_is_complete,
    change_is_complete,
    comment_is_complete,
    dbcc_is_complete,
    deny_is_complete,
    detach_is_complete,
    disable_is_complete,
    ends_or,
    export_is_complete,
    flush_is_complete,
    get_is_complete,
    handler_is_complete,
    has_name_at,
    import_is_complete,
    install_is_complete,
    kill_is_complete,
    load_is_complete,
    lock_is_complete,
    notify_is_complete,
    pragma_is_complete,
    purge_is_complete,
    put_is_complete,
    reassign_is_complete,
    refresh_is_complete,
    reindex_is_complete,
    remove_is_complete,
    rename_is_complete,
    reset_is_complete,
    security_is_complete,
    shutdown_is_complete,
    starts_replication,
    table_is_named,
    unload_is_complete,
    vacuum_is_complete,
    waitfor_is_complete,
)
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
    return index if has_name_at(tokens, index) else None


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
    return ends_or(tokens, index + 1, _AFTER_A_DROP | {"on"} if is_on_a_table else _AFTER_A_DROP)


_AFTER_A_DROP: Final = words(", ) @ cascade restrict purge ( . force with end commit go")


def _create(tokens: list[str]) -> bool:
    index = _kind_and_name(tokens)
    if index is None:
        return tokens[:1] == ["index"] and "on" in tokens[:3] and "(" in tokens
    kind = next(token for token in tokens if token in KINDS)
    if kind == "index" and tokens[index] == "on":
        return "(" in tokens
    if kind in NAMED_ALONE:
        return ends_or(tokens, index + 1, AFTER_A_NAME)
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
    if not has_name_at(tokens, index):
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
    if not has_name_at(tokens, 0) or "set" not in tokens[1:]:
        return False
    place = tokens.index("set", 1)
    is_near = place < 8 or any(token in _JOINS for token in tokens[1:6])
    return is_near and "=" in tokens[place : place + 8]


_JOINS: Final = words("join inner left right cross full outer natural ,")


def _delete(tokens: list[str]) -> bool:
    tokens = _without_limits(tokens)
    if "from" not in tokens[:1]:
        return _is_delete_of_several(tokens)
    index = 2 if tokens[1:2] == ["only"] and has_name_at(tokens, 2) else 1
    if not has_name_at(tokens, index):
        return False
    return ends_or(tokens, index + 1, _AFTER_A_DELETE) or (
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
    if not has_name_at(tokens, 0):
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
    return "using" in tokens and "on" in tokens and "when" in tokens


def _truncate(tokens: list[str]) -> bool:
    index = 1 if tokens[:1] == ["table"] else 0
    while index < len(tokens) and tokens[index] in AFTER_A_KIND:
        index += 1
    return has_name_at(tokens, index) and ends_or(tokens, index + 1, _AFTER_A_TRUNCATE)


_AFTER_A_TRUNCATE: Final = words(", cascade restrict restart continue end commit go )")


def _grant(tokens: list[str]) -> bool:
    """Privileges on an object, or a role: `GRANT admin TO bob`."""
    towards = next((index for index, token in enumerate(tokens) if token in ("to", "from")), 0)
    if not towards or not has_name_at(tokens, towards + 1):
        return False
    if "on" in tokens[1:towards]:
        return tokens[0] in PRIVILEGES or tokens.index("on") < 4
    return tokens[0] in PRIVILEGES and GRANTED.issuperset(tokens[:towards])


def _call(tokens: list[str]) -> bool:
    return has_name_at(tokens, 0) and tokens[1:2] == ["("] and ")" in tokens


def _execute(tokens: list[str]) -> bool:
    if tokens[:1] in (["immediate"], ["("]):
        return len(tokens) > 1
    if tokens[:1] == ["as"]:
        return tokens[1:2] in (["login"], ["user"], ["caller"], ["owner"], ["self"])
    if not has_name_at(tokens, 0):
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
    if tokens[0] == "role":
        return has_name_at(tokens, 1) and ends_or(tokens, 2, _AFTER_A_ROLE)
    if tokens[0] in SETTINGS_FOR_OTHERS:
        is_alone = len(tokens) == 2 and tokens[0] != "password"
        return tokens[1:2] in (["for"], ["to"]) or "=" in tokens[1:5] or is_alone
    if tokens[0] in ("session", "local"):
        return tokens[1:2] == ["authorization"] or "=" in tokens[2:3]
    is_a_setting = tokens[0].startswith("@@") or "." in tokens[0].strip(".")
    return is_a_setting and tokens[1:2] in (["="], ["to"], [":="]) and len(tokens) > 2


_AFTER_A_ROLE: Final = words(", identified except")
SETTINGS_FOR_OTHERS: Final = words("role password global persist persist_only authorization")


def _do(tokens: list[str]) -> bool:
    if tokens[:1] == ["language"]:
        tokens = tokens[2:]
    return bool(tokens) and tokens[0][0] in "$'"


def _prepare(tokens: list[str]) -> bool:
    if tokens[1:2] == ["from"]:
        return tokens[2:3] != [] and tokens[2][0] in "'\"@:"
    return any(pair in _PREPARED for pair in itertools.pairwise(tokens[:20]))


_PREPARED: Final = frozenset(
    ("as", verb) for verb in words("select insert update delete merge values with table")
)


def _explain(tokens: list[str]) -> bool:
    """EXPLAIN ANALYZE runs what it explains."""
    if "analyze" not in tokens[:4]:
        return False
    rest = tokens[tokens.index("analyze") + 1 :]
    shape = SHAPES.get(rest[0]) if rest else None
    return shape is not None and shape(rest[1:])


def _if(tokens: list[str]) -> bool:
    """`IF 1=1 DROP TABLE x`: what follows the condition is a statement."""
    places = [index for index, token in enumerate(tokens[:60]) if token in SHAPES.keys() - {"if"}]
    return bool(_COMPARISONS & set(tokens) or "exists" in tokens[:2]) and any(
        is_complete(tokens[index:]) for index in places[:4]
    )


def _select(tokens: list[str]) -> bool:
    """Only where it writes a file."""
    return any(
        token in ("outfile", "dumpfile") and tokens[index + 1][0] in "'\"@"
        for index, token in enumerate(tokens[:-1])
        if tokens[index - 1] == "into"
    )


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
    "load": load_is_complete,
    "bulk": bulk_is_complete,
    "backup": backup_is_complete,
    "restore": backup_is_complete,
    "attach": attach_is_complete,
    "do": _do,
    "prepare": _prepare,
    "lock": lock_is_complete,
    "rename": rename_is_complete,
    "kill": kill_is_complete,
    "shutdown": shutdown_is_complete,
    "pragma": pragma_is_complete,
    "explain": _explain,
    "reassign": reassign_is_complete,
    "reset": reset_is_complete,
    "if": _if,
    "deny": deny_is_complete,
    "install": install_is_complete,
    "uninstall": install_is_complete,
    "purge": purge_is_complete,
    "export": export_is_complete,
    "unload": unload_is_complete,
    "dbcc": dbcc_is_complete,
    "select": _select,
    "vacuum": vacuum_is_complete,
    "comment": comment_is_complete,
    "reindex": reindex_is_complete,
    "refresh": refresh_is_complete,
    "notify": notify_is_complete,
    "flush": flush_is_complete,
    "optimize": table_is_named,
    "detach": detach_is_complete,
    "put": put_is_complete,
    "get": get_is_complete,
    "remove": remove_is_complete,
    "security": security_is_complete,
    "change": change_is_complete,
    "import": import_is_complete,
    "start": starts_replication,
    "stop": starts_replication,
    "enable": disable_is_complete,
    "disable": disable_is_complete,
    "waitfor": waitfor_is_complete,
    "handler": handler_is_complete,
    **dict.fromkeys(ROUTINES, _routine),
}
