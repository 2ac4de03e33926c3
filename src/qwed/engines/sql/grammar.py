"""What the parser lets pass and no database does.

The parser is made to translate SQL that works, and is lenient about SQL that does not. VERIFIED must
mean more than that, so the most common leniencies are taken back here.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from qwed.engines.sql.notes import Notes
from qwed.engines.words import words

# Reserved in every dialect: a bare table or column cannot have such a name (unless the schema has it).
_RESERVED: Final = words("select from where and or not on as having union join in is between like")
# PostgreSQL and its relatives let these be names.
_RESERVED_ELSEWHERE: Final = words("update delete insert set values table create drop")
_FREE_WITH_NAMES: Final = frozenset(
    {"postgres", "redshift", "duckdb", "snowflake", "bigquery", "oracle", "trino"}
)
_TRAILING_COMMAS: Final = frozenset({"bigquery", "duckdb", "snowflake", "databricks", "spark", "clickhouse"})

_T: Final = TokenType
_CLAUSE_STARTS: Final = frozenset(
    {_T.FROM, _T.WHERE, _T.GROUP_BY, _T.ORDER_BY, _T.HAVING, _T.LIMIT, _T.UNION, _T.R_PAREN, _T.SEMICOLON}
)
# What can never stand right after what, in any dialect.
_NEVER_AFTER: Final = {
    _T.COMMA: frozenset({_T.COMMA, _T.JOIN, _T.AND, _T.OR}),
    _T.L_PAREN: frozenset({_T.COMMA, _T.AND, _T.OR}),
    _T.SELECT: frozenset({_T.COMMA, _T.WHERE, _T.AND, _T.OR}),
    _T.DISTINCT: frozenset({_T.COMMA}),
    _T.FROM: _CLAUSE_STARTS,
    _T.WHERE: _CLAUSE_STARTS,
    _T.HAVING: _CLAUSE_STARTS,
    _T.GROUP_BY: _CLAUSE_STARTS,
    _T.ORDER_BY: _CLAUSE_STARTS,
    _T.PARTITION_BY: _CLAUSE_STARTS,
    _T.AND: _CLAUSE_STARTS | {_T.AND, _T.OR, _T.COMMA},
    _T.OR: _CLAUSE_STARTS - {_T.FROM} | {_T.AND, _T.OR, _T.COMMA},
}
_NOTHING: Final[frozenset[TokenType]] = frozenset()
_ANGLES: Final = frozenset({_T.GT, _T.LT})
_FROM_FIRST: Final = frozenset({"duckdb", "bigquery", "databricks", "spark", "hive", "clickhouse"})
_JOINED_STRINGS: Final = frozenset({"mysql"})


def find_misplaced_token(tokens: Sequence[Token], dialect: str) -> Token | None:
    """The first token that cannot stand where it stands, as far as its neighbour tells."""
    never_after, nothing = _NEVER_AFTER.get, _NOTHING
    previous: Any = None
    before: Any = None
    for token in tokens:
        kind = token.token_type
        if kind in never_after(before, nothing):
            return token
        if before is kind:
            if _cannot_repeat(previous, token, dialect):
                return token
        elif before is _T.COMMA and kind in _CLAUSE_STARTS and dialect not in _TRAILING_COMMAS:
            return token
        previous, before = token, kind
    if before is _T.COMMA or (tokens and tokens[0].token_type is _T.FROM and dialect not in _FROM_FIRST):
        return tokens[0] if before is not _T.COMMA else previous
    return None


def _cannot_repeat(previous: Token, token: Token, dialect: str) -> bool:
    """`> >` with a gap is no shift; two strings side by side are one only across lines."""
    if token.token_type in _ANGLES:
        return token.start > previous.end + 1
    return token.token_type is _T.STRING and dialect not in _JOINED_STRINGS and token.line == previous.line


_PAIRED: Final = frozenset({_T.WHEN, _T.THEN, _T.BETWEEN, _T.AND})


def find_unbalanced(tokens: Sequence[Token]) -> str | None:
    """Keywords that come in pairs, and do not."""
    kinds = [kind for token in tokens if (kind := token.token_type) in _PAIRED]
    if not kinds:
        return None
    if kinds.count(_T.WHEN) != kinds.count(_T.THEN):
        return "a WHEN has no THEN"
    if kinds.count(_T.BETWEEN) > kinds.count(_T.AND):
        return "a BETWEEN has no AND"
    return None


def check_identifier(node: exp.Expr, notes: Notes) -> None:
    """A keyword where a name must stand: `FROM FROM t`, `OR IS NOT NULL`."""
    identifier = node.this
    if type(identifier) is not exp.Identifier or identifier.args.get("quoted") or node.args.get("table"):
        return
    name = str(identifier.this).lower()
    reserved = name in _RESERVED or (name in _RESERVED_ELSEWHERE and notes.dialect not in _FREE_WITH_NAMES)
    schema = notes.context.schema
    if reserved and not (schema is not None and schema.names(name)):
        notes.malformed("parse", f"the keyword {name.upper()} stands where a name belongs", node)


def check_star(node: exp.Expr, notes: Notes) -> None:
    if isinstance(node.parent, _NO_STAR) and not isinstance(node.parent, exp.Func | exp.Dot):
        notes.malformed("parse", "a star stands where a value belongs", node.parent)


_NO_STAR: Final = (
    exp.Binary,
    exp.Predicate,
    exp.Paren,
    exp.Where,
    exp.Having,
    exp.Ordered,
    exp.Group,
    exp.Not,
    exp.Alias,
)


def check_select(node: exp.Expr, notes: Notes) -> None:
    if node.args.get("from_") is None and node.args.get("joins"):
        notes.malformed("parse", "a join has nothing before it", node)
    elif not node.expressions and notes.dialect != "postgres":
        notes.malformed("parse", "nothing is selected", node)


def check_tuple(node: exp.Expr, notes: Notes) -> None:
    if not node.expressions and not isinstance(
        node.parent, exp.Group | exp.GroupingSets | exp.In | exp.Insert
    ):
        notes.malformed("parse", "the parentheses are empty", node.parent or node)


def check_update(node: exp.Expr, notes: Notes) -> None:
    if any(isinstance(item, exp.Literal | exp.Column) or _assigns_literal(item) for item in node.expressions):
        notes.malformed("parse", "SET holds something that is no assignment", node)


def _assigns_literal(item: exp.Expr) -> bool:
    return isinstance(item, exp.EQ) and isinstance(item.this, exp.Literal)


def check_insert(node: exp.Expr, notes: Notes) -> None:
    """The columns of an INSERT are names and nothing else."""
    target = node.this
    # The INSERT of a MERGE has its table from the MERGE.
    if isinstance(target, exp.Tuple | exp.Paren) and not isinstance(node.parent, exp.When):
        notes.malformed("parse", "INSERT names no table", node)
    if not isinstance(target, exp.Schema):
        return
    for column in target.expressions:
        if isinstance(column, exp.ColumnDef | exp.Literal):
            notes.malformed("parse", "a column of the INSERT is no name", column)
        elif _is_reserved(column):
            notes.malformed("parse", f"the keyword {column.name.upper()} stands where a name belongs", column)


def _is_reserved(name: exp.Expr) -> bool:
    return (
        type(name) is exp.Identifier and not name.args.get("quoted") and str(name.this).lower() in _RESERVED
    )


VISITS: Final[dict[type[exp.Expr], Callable[[exp.Expr, Notes], None]]] = {
    exp.Star: check_star,
    exp.Tuple: check_tuple,
    exp.Update: check_update,
    exp.Insert: check_insert,
}
