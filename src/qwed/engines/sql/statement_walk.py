"""One statement after the other, those inside other statements included."""

from typing import Any, Final

from sqlglot import exp

from qwed.domain.risk import Risk
from qwed.engines.sql.access import CLOSED, MAX_TABLES, VISITS
from qwed.engines.sql.changes import resolve
from qwed.engines.sql.commands import Command, block, command
from qwed.engines.sql.functions import WHY_FORBIDDEN, forbidden_rule
from qwed.engines.sql.names import Resolver
from qwed.engines.sql.notes import Notes
from qwed.engines.sql.sql_trees import Unparsed, parse
from qwed.engines.sql.statements import NESTED, classified
from qwed.engines.sql.understood import UNDERSTOOD
from qwed.engines.sql.verdict import READS, StatementKind

_MAX_INNER_DEPTH: Final = 4


def read_statement(statement: exp.Expr, notes: Notes, text: str, *, alone: bool, depth: int) -> None:
    """One statement of `text`, which is all of it when it is alone."""
    nested = depth > 0
    if type(statement) is exp.Command:
        _read_command(statement, notes, nested=nested, depth=depth)
        return
    found = classified(statement, notes)
    if found is None:
        notes.malformed("statement", "it is an expression, not a statement", statement)
        return
    # Printing a tree costs as much as parsing it: a text that is one statement speaks for itself.
    notes.statement(*found, text.strip() if alone else statement, nested=nested)
    check = _STATEMENT_CHECKS.get(type(statement))
    if check:
        check(statement, notes)
    if type(statement) is not exp.Pragma:
        _walk(statement, notes)
    if notes.context.schema is not None and notes.tables_read <= MAX_TABLES:
        resolve(statement, Resolver(notes.context.schema, notes, text))


def _read_command(node: exp.Command, notes: Notes, *, nested: bool, depth: int) -> None:
    rest = node.args.get("expression")
    rest_text = rest.name if isinstance(rest, exp.Expr) else str(rest or "")
    found = command(str(node.this), rest_text)
    if found.kind is StatementKind.EXPLAIN and not found.runs:
        _read_explained(found, notes, nested=nested, depth=depth)
        return
    notes.statement(found.kind, found.risk, f"{node.this} {rest_text}", nested=nested)
    _check_procedure(found.calls, f"{node.this} {rest_text}", notes)
    _read_inner(found, notes, depth)
    if not found.understood:
        notes.undecided(
            "command", f"{str(node.this).upper()} is known, but not everything in it", rest_text, found.risk
        )


def _read_inner(found: Command, notes: Notes, depth: int) -> None:
    for text in found.inner:
        if depth >= _MAX_INNER_DEPTH:
            notes.undecided("bounds", "statements inside statements are nested too deeply", text)
            return
        statements = parse(text, notes.dialect)
        if isinstance(statements, Unparsed):
            _unread_inner(statements, found, notes)
            continue
        for statement in statements:
            read_statement(statement, notes, text, alone=len(statements) == 1, depth=depth + 1)


def _unread_inner(unparsed: Unparsed, found: Command, notes: Notes) -> None:
    if found.understood:
        notes.malformed("parse", unparsed.why, unparsed.where)
    else:
        notes.undecided(
            "command", f"a statement inside it was not understood: {unparsed.why}", unparsed.where
        )


def _read_explained(found: Command, notes: Notes, *, nested: bool, depth: int) -> None:
    """A plan is not run: what is explained is inspected, but does not count with its own risk."""
    inside = Notes(notes.context, notes.dialect)
    _read_inner(found, inside, depth)
    reads = all(statement.kind in READS for statement in inside.statements)
    notes.statement(StatementKind.EXPLAIN, Risk.LOW if reads else Risk.MEDIUM, found.inner[0], nested=nested)
    for problem in inside.problems.values():
        notes.problems.setdefault((problem.rule, problem.node), problem)
        notes.raise_risk(problem.risk)
    for table in inside.tables:
        notes.table(table)


def _check_copy(node: exp.Expr, notes: Notes) -> None:
    for file in node.args.get("files") or ():
        if isinstance(file, exp.Expr) and file.name.upper() == "PROGRAM":
            notes.forbidden("command_execution", "COPY runs a program on the server", node)
        elif isinstance(file, exp.Literal) and notes.dialect in _SERVER_FILE_DIALECTS:
            notes.forbidden("file_access", "COPY reads or writes a file of the server", node)


_SERVER_FILE_DIALECTS: Final = frozenset({"postgres", "duckdb"})


def _check_execute(node: exp.Expr, notes: Notes) -> None:
    if isinstance(node.this, exp.Subquery | exp.Paren):
        notes.forbidden("command_execution", "EXEC runs statements from a text", node)
    else:
        _check_procedure(node.this.name if isinstance(node.this, exp.Expr) else str(node.this), node, notes)


def _check_procedure(name: str, node: exp.Expr | str, notes: Notes) -> None:
    rule = forbidden_rule(name.lower())
    if rule:
        notes.forbidden(rule, f"the procedure {name[:80]!r} {WHY_FORBIDDEN[rule]}", node)


def _check_create(node: exp.Expr, notes: Notes) -> None:
    body = node.args.get("expression")
    if str(node.args.get("kind") or "").upper() not in ("FUNCTION", "PROCEDURE", "TRIGGER"):
        return
    if isinstance(body, exp.Heredoc | exp.Literal | exp.RawString):
        _read_inner(block(f"$${body.name}$$"), notes, _MAX_INNER_DEPTH - 1)
        notes.undecided("command", "the body of a routine is not understood completely", node)


def _check_attach(node: exp.Expr, notes: Notes) -> None:
    notes.forbidden("file_access", "it opens another database file", node)


_STATEMENT_CHECKS: Final[dict[type[exp.Expr], Any]] = {
    exp.Copy: _check_copy,
    exp.Execute: _check_execute,
    exp.ExecuteSql: _check_execute,
    exp.Create: _check_create,
    exp.Attach: _check_attach,
}


def _walk(root: exp.Expr, notes: Notes) -> None:
    """Every node once. This is the engine's hot path: what most nodes are decides how it is written."""
    visits, leaves, understood, closed = VISITS, _LEAVES, UNDERSTOOD, CLOSED
    stack = [root]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind in leaves:
            continue
        visit = visits.get(kind)
        if kind not in understood:
            _note_unknown(node, notes)
        if visit is not None:
            visit(node, notes)
            if kind in closed:
                continue
        if kind in NESTED and node is not root:
            _visit_nested(node, notes)
        for value in node.args.values():
            if value is None or value is False:
                continue
            if type(value) is list:
                stack += [item for item in value if isinstance(item, exp.Expr)]
            elif isinstance(value, exp.Expr):
                stack.append(value)


def _note_unknown(node: exp.Expr, notes: Notes) -> None:
    """Definitions are CRITICAL whatever stands in them; in what reads or changes rows, all must be known."""
    if notes.kind not in _LISTED_KINDS or type(node) in VISITS:
        return
    is_function = isinstance(node, exp.Func)
    risk = Risk.HIGH if is_function else Risk.CRITICAL
    notes.undecided("construct", f"what {type(node).__name__} does is not known", node, risk)


_LISTED_KINDS: Final = frozenset(
    {
        *READS,
        StatementKind.LOCKING_READ,
        StatementKind.INSERT,
        StatementKind.UPDATE,
        StatementKind.DELETE,
        StatementKind.MERGE,
    }
)
_LEAVES: Final = frozenset({exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Var, exp.Placeholder})


def _visit_nested(node: exp.Expr, notes: Notes) -> None:
    if type(node.parent) is exp.When or isinstance(node.parent, exp.Alter):
        return
    found = classified(node, notes)
    if found and found[0] is not StatementKind.READ:
        notes.statement(*found, node, nested=True)
        check = _STATEMENT_CHECKS.get(type(node))
        if check:
            check(node, notes)
