"""What each statement does and how much harm that can be (agent protocol, section 4)."""

from collections.abc import Callable, Mapping
from typing import Final

from sqlglot import exp

from qwed.domain.risk import Risk
from qwed.engines.sql.constants import is_tautology
from qwed.engines.sql.notes import Notes
from qwed.engines.sql.verdict import StatementKind
from qwed.engines.words import words

Classified = tuple[StatementKind, Risk]

_READ: Final = (StatementKind.READ, Risk.LOW)
_DDL: Final = (StatementKind.DDL, Risk.CRITICAL)
_COPY: Final = (StatementKind.COPY, Risk.CRITICAL)
_ADMINISTRATION: Final = (StatementKind.ADMINISTRATION, Risk.CRITICAL)
_TRANSACTION: Final = (StatementKind.TRANSACTION, Risk.MEDIUM)
_PROCEDURE: Final = (StatementKind.PROCEDURE, Risk.CRITICAL)

_FIXED: Final[Mapping[type[exp.Expr], Classified]] = {
    exp.Union: _READ,
    exp.Except: _READ,
    exp.Intersect: _READ,
    exp.Subquery: _READ,
    exp.Values: _READ,
    exp.Show: _READ,
    exp.Declare: _READ,
    exp.Summarize: _READ,
    exp.Merge: (StatementKind.MERGE, Risk.HIGH),
    exp.Create: _DDL,
    exp.Drop: _DDL,
    exp.Alter: _DDL,
    exp.Comment: _DDL,
    exp.Undrop: _DDL,
    exp.Cache: _DDL,
    exp.Uncache: _DDL,
    exp.Refresh: _DDL,
    exp.TruncateTable: (StatementKind.TRUNCATE, Risk.CRITICAL),
    exp.Grant: (StatementKind.GRANT, Risk.CRITICAL),
    exp.Revoke: (StatementKind.GRANT, Risk.CRITICAL),
    exp.Copy: _COPY,
    exp.LoadData: _COPY,
    exp.Export: _COPY,
    exp.Put: _COPY,
    exp.Get: _COPY,
    exp.ListStage: _COPY,
    exp.Attach: _COPY,
    exp.Detach: _ADMINISTRATION,
    exp.Install: _ADMINISTRATION,
    exp.Kill: _ADMINISTRATION,
    exp.Analyze: _ADMINISTRATION,
    exp.AlterSession: (StatementKind.SESSION, Risk.HIGH),
    exp.Use: (StatementKind.SESSION, Risk.MEDIUM),
    exp.Transaction: _TRANSACTION,
    exp.Commit: _TRANSACTION,
    exp.Rollback: _TRANSACTION,
    exp.Execute: _PROCEDURE,
    exp.ExecuteSql: _PROCEDURE,
    exp.IfBlock: _PROCEDURE,
    exp.WhileBlock: _PROCEDURE,
    exp.Block: _PROCEDURE,
}


def classified(node: exp.Expr, notes: Notes) -> Classified | None:
    """The kind and risk of a statement, or None for what is not one."""
    fixed = _FIXED.get(type(node))
    if fixed:
        return fixed
    special = _SPECIAL.get(type(node))
    return special(node, notes) if special else None


# Where one of these stands below the root, it is a statement of its own (in a CTE, in a block).
NESTED: Final = frozenset(
    {
        exp.Insert,
        exp.Update,
        exp.Delete,
        exp.Merge,
        exp.Create,
        exp.Drop,
        exp.Alter,
        exp.TruncateTable,
        exp.Grant,
        exp.Revoke,
        exp.Copy,
        exp.Execute,
        exp.Kill,
    }
)


def _select(node: exp.Expr, notes: Notes) -> Classified:
    into = node.args.get("into")
    if into is not None and not _is_variable(into.this):
        return _DDL
    if node.args.get("locks"):
        return StatementKind.LOCKING_READ, Risk.MEDIUM
    return _READ


def _is_variable(target: exp.Expr | None) -> bool:
    return isinstance(target, exp.Table) and isinstance(target.this, exp.Parameter)


def _insert(node: exp.Expr, notes: Notes) -> Classified:
    if node.args.get("is_function"):
        return _READ
    return StatementKind.INSERT, Risk.CRITICAL if node.args.get("overwrite") else Risk.HIGH


def _update(node: exp.Expr, notes: Notes) -> Classified:
    return StatementKind.UPDATE, _find_filtered_risk(node, notes)


def _delete(node: exp.Expr, notes: Notes) -> Classified:
    return StatementKind.DELETE, _find_filtered_risk(node, notes)


def _find_filtered_risk(node: exp.Expr, notes: Notes) -> Risk:
    where = node.args.get("where")
    if where is None:
        notes.warn("missing_where", "every row of the table is affected", node)
        return Risk.CRITICAL
    if is_tautology(where.this):
        notes.warn("missing_where", "the WHERE is true of every row", where)
        return Risk.CRITICAL
    return Risk.HIGH


def _set(node: exp.Expr, notes: Notes) -> Classified:
    wide = any(str(item.args.get("kind") or "").upper() in _WIDE_SCOPES for item in node.expressions)
    return StatementKind.SESSION, Risk.CRITICAL if wide else Risk.HIGH


_WIDE_SCOPES: Final = frozenset({"GLOBAL", "PERSIST", "PERSIST_ONLY", "PASSWORD", "ROLE"})


def _pragma(node: exp.Expr, notes: Notes) -> Classified:
    setting = node.this
    name = setting.this if isinstance(setting, exp.EQ) else setting
    if name is not None and name.name.lower() in _READING_PRAGMAS:
        return _READ
    return _ADMINISTRATION


_READING_PRAGMAS: Final = words(
    """
    table_info table_xinfo table_list index_list index_info index_xinfo foreign_key_list database_list
    collation_list function_list compile_options foreign_key_check integrity_check quick_check
    """
)


def _describe(node: exp.Expr, notes: Notes) -> Classified:
    inner = node.this
    found = (
        classified(inner, notes) if isinstance(inner, exp.Expr) and not isinstance(inner, exp.Table) else None
    )
    if found is None or found == _READ:
        return _READ
    if str(node.args.get("style") or "").upper() == "ANALYZE":
        return found
    return StatementKind.EXPLAIN, Risk.MEDIUM


_SPECIAL: Final[Mapping[type[exp.Expr], Callable[[exp.Expr, Notes], Classified]]] = {
    exp.Select: _select,
    exp.Insert: _insert,
    exp.Update: _update,
    exp.Delete: _delete,
    exp.Set: _set,
    exp.Pragma: _pragma,
    exp.Describe: _describe,
}
