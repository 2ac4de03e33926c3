"""The tables that a query may speak of, read from DDL or JSON.

DDL is read by its shape, not by a full grammar: what a column is called and which family its type
belongs to is all that is needed, and dumps of every dialect have that in common.
"""

import enum
import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from qwed.engines.words import words

MAX_SCHEMA_LENGTH: Final = 400_000


class TypeFamily(enum.StrEnum):
    """Types that can be compared with one another in every dialect."""

    NUMBER = "number"
    TEXT = "text"
    TIME = "time"
    BOOLEAN = "boolean"
    OTHER = "other"


class SqlTable(msgspec.Struct, frozen=True):
    name: str
    columns: Mapping[str, TypeFamily]
    """By lower-case name."""
    is_open: bool = False
    """It may have columns that are not listed: a view, a copy of another table."""


class Schema(msgspec.Struct, frozen=True):
    tables: Mapping[str, SqlTable]

    def find(self, name: str, qualified: str) -> SqlTable | None:
        """By the name with its schema, without, or by the end of a name quoted as a whole (`p.d.t`)."""
        return self.tables.get(qualified) or self.tables.get(name) or self.tables.get(name.rpartition(".")[2])

    def names(self, name: str) -> bool:
        """Whether a table or a column has this (lower-case) name."""
        return name in self.tables or any(name in table.columns for table in self.tables.values())


class UnreadableSchema(ValueError):
    """The message says what was given."""


_TYPE_NAMES: Final = {
    TypeFamily.NUMBER: words(
        """
        int integer bigint smallint tinyint mediumint serial bigserial smallserial number numeric decimal dec
        real float double money smallmoney bignumeric bigdecimal uint byteint fixed year long short unsigned
        """
    ),
    TypeFamily.TEXT: words(
        """
        char character varchar nvarchar nchar text tinytext mediumtext longtext clob nclob string citext name
        ntext bpchar enum set
        """
    ),
    TypeFamily.TIME: words("date time timestamp timestamptz datetime smalldatetime datetimeoffset timetz"),
    TypeFamily.BOOLEAN: words("bool boolean bit"),
}
_FAMILY_BY_WORD: Final = {word: family for family, names in _TYPE_NAMES.items() for word in names}


def family_of(type_name: str) -> TypeFamily:
    """By the first word that says it: `character varying(20)`, `unsigned big int`, `INT[]`."""
    if "[" in type_name or "<" in type_name:
        return TypeFamily.OTHER
    # `int8`, `varchar2` and `datetime2` are what their letters say.
    for word in re.findall(r"[a-z]+", type_name.lower())[:4]:
        if word in _FAMILY_BY_WORD:
            return _FAMILY_BY_WORD[word]
    return TypeFamily.OTHER


def read_schema(given: Any) -> Schema:
    """Raises `UnreadableSchema` only."""
    if isinstance(given, str):
        return _read_text(given)
    if isinstance(given, Mapping | list):
        return _schema_of(_json_tables(given))
    raise UnreadableSchema(f"a schema is DDL or JSON, not {type(given).__name__}")


@functools.lru_cache(64)
def _read_text(text: str) -> Schema:
    if len(text) > MAX_SCHEMA_LENGTH:
        raise UnreadableSchema(f"the schema has {len(text)} characters, more than {MAX_SCHEMA_LENGTH}")
    if text.lstrip().startswith(("{", "[")):
        try:
            return _schema_of(_json_tables(json.loads(text)))
        except (ValueError, RecursionError):
            raise UnreadableSchema("the schema begins like JSON and is not") from None
    return _schema_of(_ddl_tables(text))


def _schema_of(tables: Iterator[SqlTable]) -> Schema:
    found: dict[str, SqlTable] = {}
    for table in tables:
        found[table.name] = table
        found.setdefault(table.name.rpartition(".")[2], table)
    if not found:
        raise UnreadableSchema("no table was found in the schema")
    return Schema(found)


def _json_tables(given: Any) -> Iterator[SqlTable]:
    """`{table: [columns]}`, `{table: {column: type}}`, `{"tables": …}`, `[{"name", "columns"}]`."""
    if isinstance(given, Mapping) and set(given) & {"tables"} and not isinstance(given["tables"], str):
        given = given["tables"]
    if isinstance(given, Mapping):
        for name, columns in given.items():
            if isinstance(columns, Mapping) and isinstance(columns.get("columns"), list | Mapping):
                columns = columns["columns"]
            yield _json_table(name, columns)
        return
    for item in given:
        if not isinstance(item, Mapping):
            raise UnreadableSchema("a list of tables holds objects with a name and columns")
        name = next((item[key] for key in ("name", "table", "table_name") if key in item), None)
        yield _json_table(name, item.get("columns"))


def _json_table(name: Any, columns: Any) -> SqlTable:
    if not isinstance(name, str):
        raise UnreadableSchema("a table has no name")
    if isinstance(columns, Mapping):
        return SqlTable(name.lower(), {str(key).lower(): _json_family(kind) for key, kind in columns.items()})
    if isinstance(columns, Sequence) and not isinstance(columns, str):
        return SqlTable(name.lower(), dict(map(_json_column, columns)))
    if columns is None or columns == "*":
        return SqlTable(name.lower(), {}, is_open=True)
    raise UnreadableSchema(f"the columns of {name[:60]!r} are neither a list nor an object")


def _json_column(column: Any) -> tuple[str, TypeFamily]:
    if isinstance(column, str):
        return column.lower(), TypeFamily.OTHER
    if isinstance(column, Mapping):
        name = next((column[key] for key in ("name", "column", "column_name") if key in column), None)
        if isinstance(name, str):
            kind = next((column[key] for key in ("type", "data_type", "dtype") if key in column), None)
            return name.lower(), _json_family(kind)
    if isinstance(column, list | tuple) and column and isinstance(column[0], str):
        return column[0].lower(), _json_family(column[1] if len(column) > 1 else None)
    raise UnreadableSchema("a column has no name")


def _json_family(kind: Any) -> TypeFamily:
    if isinstance(kind, Mapping):
        kind = kind.get("type")
    return family_of(kind) if isinstance(kind, str) else TypeFamily.OTHER


_LEXEME: Final = re.compile(
    r"--[^\n]*|/\*(?:[^*]|\*(?!/))*+(?:\*/)?|(?P<string>'(?:[^'\\]|''|\\.)*+'?)"
    r'|"(?P<double>(?:[^"]|"")*+)"?|`(?P<back>[^`]*+)`?|\[(?P<bracket>[A-Za-z_][^\]\n]*+)\]'
    r"|(?P<word>[^\W]\w*(?:\$\w*)?)|(?P<sign>[(),;.<>\[\]])",
    re.DOTALL,
)


class _Lexeme(msgspec.Struct, frozen=True):
    text: str
    is_name: bool
    is_quoted: bool

    @property
    def key(self) -> str:
        """The keyword that it may be: quoted names never are one."""
        return "" if self.is_quoted else self.text.upper()


def _lexemes(text: str) -> list[_Lexeme]:
    found = []
    for match in _LEXEME.finditer(text):
        kind = match.lastgroup
        if kind is None or kind == "string":
            continue
        value = match[kind]
        if kind == "double":
            value = value.replace('""', '"')
        found.append(_Lexeme(value, kind != "sign", kind not in ("word", "sign")))
    return found


_BEFORE_TABLE: Final = words(
    "OR REPLACE GLOBAL LOCAL TEMP TEMPORARY UNLOGGED TRANSIENT EXTERNAL VOLATILE FOREIGN COLUMN VIRTUAL "
    "MATERIALIZED RECURSIVE SECURE FORCE"
)


def _ddl_tables(text: str) -> Iterator[SqlTable]:
    lexemes = _lexemes(text)
    position = 0
    while position < len(lexemes):
        if lexemes[position].key == "CREATE":
            table, position = _read_created(lexemes, position + 1)
            if table:
                yield table
        else:
            position += 1


def _read_created(lexemes: list[_Lexeme], position: int) -> tuple[SqlTable | None, int]:
    is_open = False
    while position < len(lexemes) and lexemes[position].key in _BEFORE_TABLE:
        is_open = is_open or lexemes[position].key == "VIRTUAL"
        position += 1
    if position >= len(lexemes) or lexemes[position].key not in ("TABLE", "VIEW"):
        return None, position
    is_open = is_open or lexemes[position].key == "VIEW"
    position += 1
    while position < len(lexemes) and lexemes[position].key in ("IF", "NOT", "EXISTS"):
        position += 1
    name, position = _read_dotted_name(lexemes, position)
    if not name:
        return None, position
    if position >= len(lexemes) or lexemes[position].text != "(":
        return SqlTable(name, {}, is_open=True), position
    items, position = _items(lexemes, position)
    columns = dict(filter(None, map(_column, items)))
    return SqlTable(name, columns, is_open=is_open or not columns), position


def _read_dotted_name(lexemes: list[_Lexeme], position: int) -> tuple[str, int]:
    parts = []
    while position < len(lexemes) and lexemes[position].is_name:
        parts.append(lexemes[position].text.lower())
        position += 1
        if position >= len(lexemes) or lexemes[position].text != ".":
            break
        position += 1
    return ".".join(parts[-2:]), position


def _items(lexemes: list[_Lexeme], position: int) -> tuple[list[list[_Lexeme]], int]:
    """The comma-separated parts between the parenthesis at `position` and its partner."""
    items: list[list[_Lexeme]] = [[]]
    depth = 0
    while position < len(lexemes):
        lexeme = lexemes[position]
        position += 1
        sign = "" if lexeme.is_name else lexeme.text
        if sign in ("(", "<"):
            depth += 1
        elif sign in (")", ">"):
            depth -= 1
            if depth <= 0:
                break
        if sign == "," and depth == 1:
            items.append([])
        elif not (sign == "(" and depth == 1 and not items[0] and len(items) == 1):
            items[-1].append(lexeme)
    return items, position


_CONSTRAINTS: Final[Mapping[str, frozenset[str]]] = {
    "PRIMARY": words("KEY"),
    "FOREIGN": words("KEY"),
    "CHECK": words("("),
    "EXCLUDE": words("USING ("),
    "UNIQUE": words("( KEY INDEX"),
    "PERIOD": words("FOR"),
    "FULLTEXT": words("KEY INDEX ("),
    "SPATIAL": words("KEY INDEX ("),
}


def _column(item: list[_Lexeme]) -> tuple[str, TypeFamily] | None:
    if not item or not item[0].is_name or _is_constraint(item):
        return None
    kind = []
    for lexeme in item[1:]:
        if lexeme.key in _TYPE_ENDS:
            break
        kind.append(lexeme.text)
        if len(kind) > 6:
            break
    return item[0].text.lower(), family_of(" ".join(kind))


_TYPE_ENDS: Final = words(
    "NOT NULL DEFAULT PRIMARY UNIQUE REFERENCES CHECK CONSTRAINT COLLATE COMMENT GENERATED AUTO_INCREMENT "
    "AUTOINCREMENT IDENTITY ENCODE KEY OPTIONS AS"
)


def _is_constraint(item: list[_Lexeme]) -> bool:
    first = item[0].key
    second = item[1] if len(item) > 1 else None
    if first in _CONSTRAINTS:
        return second is not None and (second.key in _CONSTRAINTS[first] or _names_index(item))
    if first == "CONSTRAINT":
        return len(item) > 2 and not _is_type(item[1])
    if first in ("KEY", "INDEX"):
        return second is not None and (second.text == "(" or _names_index(item))
    return first == "LIKE" and second is not None and not _is_type(second)


def _names_index(item: list[_Lexeme]) -> bool:
    """`KEY idx (a)`: a name and a list of columns, not `key varchar(20)`."""
    return len(item) > 3 and item[2].text == "(" and not _is_type(item[1])


def _is_type(lexeme: _Lexeme) -> bool:
    return not lexeme.is_quoted and family_of(lexeme.text) is not TypeFamily.OTHER
