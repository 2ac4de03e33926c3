"""The parts that statements about the server and its storage can't do without."""

import itertools
from typing import Final

from qwed.engines.sql.shape_words import AFTER_A_KIND, KINDS, PRIVILEGES
from qwed.engines.words import words


def has_name_at(tokens: list[str], index: int) -> bool:
    """A name, or a name in quotation marks."""
    return index < len(tokens) and (tokens[index][0].isalnum() or tokens[index][0] in "_[`\"'@$#")


def ends_or(tokens: list[str], index: int, allowed: frozenset[str]) -> bool:
    return index >= len(tokens) or tokens[index] in allowed


def load_is_complete(tokens: list[str]) -> bool:
    return any(
        name in ("infile", "inpath") and place[0] in "'\"@:$" for name, place in itertools.pairwise(tokens)
    )


def bulk_is_complete(tokens: list[str]) -> bool:
    return tokens[:1] == ["insert"] and "from" in tokens


def backup_is_complete(tokens: list[str]) -> bool:
    return tokens[:1] in (["database"], ["log"]) and has_name_at(tokens, 1) and tokens[2:3] in _BACKED_UP


_BACKED_UP: Final = (["to"], ["from"], ["with"], ["file"], ["filegroup"], ["read_write_filegroups"], ["="])


def attach_is_complete(tokens: list[str]) -> bool:
    return "as" in tokens and any(token[0] == "'" for token in tokens)


def lock_is_complete(tokens: list[str]) -> bool:
    is_named = has_name_at(tokens, 1) and not tokens[1][0].isdigit()
    return tokens[:1] in (["table"], ["tables"]) and is_named and ends_or(tokens, 2, _AFTER_A_LOCKED)


_AFTER_A_LOCKED: Final = words(", in read write low_priority nowait as wait partition local * commit")


def rename_is_complete(tokens: list[str]) -> bool:
    rest = [each for each in tokens if each not in AFTER_A_KIND]
    return rest[:1] == ["table"] and has_name_at(rest, 1) and rest[2:3] == ["to"] and ends_or(rest, 4, _COMMA)


_COMMA: Final = frozenset({",", "on"})


def kill_is_complete(tokens: list[str]) -> bool:
    rest = [token for token in tokens if token not in ("connection", "query", "session")]
    return len(rest) == 1 and rest[0].isdigit()


def shutdown_is_complete(tokens: list[str]) -> bool:
    return tokens in (["immediate"], ["abort"], ["normal"], ["transactional"], ["with", "nowait"])


def pragma_is_complete(tokens: list[str]) -> bool:
    return has_name_at(tokens, 0) and (tokens[1:2] == ["="] or (tokens[1:2] == ["("] and ")" in tokens[2:]))


def reassign_is_complete(tokens: list[str]) -> bool:
    return tokens[:2] == ["owned", "by"] and len(tokens) > 2


def reset_is_complete(tokens: list[str]) -> bool:
    return tokens in (["master"], ["slave"], ["replica"])


def deny_is_complete(tokens: list[str]) -> bool:
    return bool(tokens) and tokens[0] in PRIVILEGES and "on" in tokens[1:] and "to" in tokens[1:]


def install_is_complete(tokens: list[str]) -> bool:
    return tokens[:1] in (["plugin"], ["component"], ["soname"]) and len(tokens) > 1


def purge_is_complete(tokens: list[str]) -> bool:
    return tokens[:2] in (["binary", "logs"], ["master", "logs"]) and len(tokens) > 2


def export_is_complete(tokens: list[str]) -> bool:
    return tokens[:1] == ["data"] and "options" in tokens[1:6] and "as" in tokens


def unload_is_complete(tokens: list[str]) -> bool:
    return tokens[:1] == ["("] and "to" in tokens


def dbcc_is_complete(tokens: list[str]) -> bool:
    return has_name_at(tokens, 0)


def vacuum_is_complete(tokens: list[str]) -> bool:
    return tokens == ["full"] or (tokens[:1] == ["("] and ")" in tokens)


def comment_is_complete(tokens: list[str]) -> bool:
    """`COMMENT ON TABLE t IS 'x'`."""
    if tokens[:1] != ["on"] or not (tokens[1:2] and tokens[1] in KINDS | {"column", "constraint"}):
        return False
    place = tokens.index("is", 2) if "is" in tokens[2:] else len(tokens)
    return bool(tokens[place + 1 : place + 2]) and (
        tokens[place + 1][0] == "'" or tokens[place + 1] == "null"
    )


def reindex_is_complete(tokens: list[str]) -> bool:
    rest = tokens[:1] + [each for each in tokens[1:] if each not in AFTER_A_KIND]
    return len(rest) == 2 and rest[0] in _REINDEXED and has_name_at(rest, 1)


_REINDEXED: Final = words("database table index schema system")


def refresh_is_complete(tokens: list[str]) -> bool:
    return tokens[:2] == ["materialized", "view"] and has_name_at(tokens, 2)


def notify_is_complete(tokens: list[str]) -> bool:
    return len(tokens) == 3 and tokens[1] == "," and tokens[2][0] == "'"


def flush_is_complete(tokens: list[str]) -> bool:
    return tokens[:1] == ["privileges"] or tokens[:2] in (["binary", "logs"], ["tables", "with"])


def table_is_named(tokens: list[str]) -> bool:
    """`OPTIMIZE TABLE t`."""
    rest = [each for each in tokens if each not in ("no_write_to_binlog", "local")]
    return rest[:1] == ["table"] and has_name_at(rest, 1) and ends_or(rest, 2, _AFTER_TABLES)


_AFTER_TABLES: Final = words(", final on partition quick extended use_frm")


def detach_is_complete(tokens: list[str]) -> bool:
    is_kind = tokens[:1] in (["table"], ["view"], ["database"], ["dictionary"])
    return is_kind and has_name_at(tokens, 1) and ends_or(tokens, 2, words("on permanently sync"))


def put_is_complete(tokens: list[str]) -> bool:
    """`PUT file:///x @stage`."""
    return tokens[:1] != [] and _is_file(tokens[0]) and any(token[0] == "@" for token in tokens)


def get_is_complete(tokens: list[str]) -> bool:
    """`GET @stage file:///x`."""
    return tokens[:1] != [] and tokens[0][0] == "@" and any(map(_is_file, tokens))


def _is_file(token: str) -> bool:
    return token.startswith(("file:", "'file:"))


def remove_is_complete(tokens: list[str]) -> bool:
    """`REMOVE @stage/path`."""
    return tokens[:1] != [] and tokens[0][0] == "@" and tokens[1:2] in (["/"], ["~"], ["%"], ["pattern"])


def security_is_complete(tokens: list[str]) -> bool:
    return tokens[:1] == ["label"] and "on" in tokens[1:4] and "is" in tokens[3:]


def change_is_complete(tokens: list[str]) -> bool:
    return tokens[:2] == ["master", "to"] or (tokens[:1] == ["replication"] and tokens[1:2] in _REPLICATION)


_REPLICATION: Final = (["source"], ["filter"])


def import_is_complete(tokens: list[str]) -> bool:
    return tokens[:2] == ["foreign", "schema"] and "server" in tokens


def starts_replication(tokens: list[str]) -> bool:
    return len(tokens) == 1 and tokens[0] in ("slave", "replica", "group_replication")


def disable_is_complete(tokens: list[str]) -> bool:
    return tokens[:1] == ["trigger"] and has_name_at(tokens, 1) and tokens[2:3] == ["on"]


def waitfor_is_complete(tokens: list[str]) -> bool:
    return tokens[:1] in (["delay"], ["time"]) and tokens[1:2] != [] and tokens[1][0] in "'@"


def handler_is_complete(tokens: list[str]) -> bool:
    """`HANDLER users OPEN`, `HANDLER users READ FIRST`: a table is held open, past what reads are asked."""
    if not has_name_at(tokens, 0) or tokens[0] in _NO_TABLES:
        return False
    if tokens[1:2] == ["read"]:
        return len(tokens) > 2
    return tokens[1:2] in (["open"], ["close"]) and ends_or(tokens, 2, words("as"))


_NO_TABLES: Final = words("is was are were for to of the a an not on must will has can left")
