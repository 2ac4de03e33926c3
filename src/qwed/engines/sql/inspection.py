"""One SQL text, read once: its statements, what they reach, and every rule that they break."""

import itertools
import re
from typing import Any, Final

import msgspec
from sqlglot import exp

from qwed.domain.findings import Failure
from qwed.domain.risk import Risk
from qwed.engines.sql import grammar, injection
from qwed.engines.sql.catalogs import holds_credentials, is_system_catalog
from qwed.engines.sql.changes import resolve
from qwed.engines.sql.commands import Command, block, command
from qwed.engines.sql.dialects import UNION, dialect_named
from qwed.engines.sql.functions import SIDE_EFFECTS, forbidden_rule, is_pure
from qwed.engines.sql.lexing import MAX_LENGTH_FOR_RETRY, with_executable_comments
from qwed.engines.sql.names import Resolver
from qwed.engines.sql.nodes import descendants
from qwed.engines.sql.notes import Context, Notes
from qwed.engines.sql.parsing import Unparsed, parse
from qwed.engines.sql.rules import SqlRules
from qwed.engines.sql.schema import UnreadableSchema, read_schema
from qwed.engines.sql.sensitive import is_sensitive
from qwed.engines.sql.statements import NESTED, classified
from qwed.engines.sql.truncation import check_comments
from qwed.engines.sql.verdict import READS, Kind, Problem, SqlVerdict

MAX_TABLES: Final = 300
_MAX_INNER_DEPTH: Final = 4
_ANY_DIALECT: Final = "any"


def inspect_named(text: str, dialect: str | None, rules: SqlRules) -> SqlVerdict:
    """As `inspect`, for a dialect by any of its names; a name that is not known fails."""
    known = dialect_named(dialect) if dialect else None
    if dialect and known is None:
        message = f"the dialect {dialect[:40]!r} is not known"
        problem = Problem("dialect", message, dialect[:80], Failure.MALFORMED, Risk.CRITICAL)
        return SqlVerdict(dialect[:40], (), Risk.CRITICAL, (problem,))
    return inspect(text, known, rules)


def inspect(text: str, dialect: str | None, rules: SqlRules, schema: Any = None) -> SqlVerdict:
    """The verdict on a text in a declared dialect, or in the first of the union that parses it."""
    try:
        known = read_schema(schema) if schema is not None else None
    except UnreadableSchema as error:
        verdict = inspect(text, dialect, rules)
        problem = Problem("schema", str(error), str(schema)[:80], None, Risk.LOW)
        return msgspec.structs.replace(verdict, problems=(*verdict.problems, problem), is_read=False)
    context = Context(text, rules, dialect, known)
    verdict = _inspect_in(context, dialect) if dialect else _inspect_in_union(context)
    for other in _other_readings(text, dialect):
        verdict = _with_worse(verdict, _inspect_in(msgspec.structs.replace(context, text=other), "mysql"))
    return verdict


def _inspect_in_union(context: Context) -> SqlVerdict:
    dialects = UNION if len(context.text) <= MAX_LENGTH_FOR_RETRY else UNION[:1]
    first: Unparsed | None = None
    for dialect in dialects:
        statements = parse(context.text, dialect)
        if not isinstance(statements, Unparsed):
            return _verdict(statements, Notes(context, dialect))
        first = first or statements
        if statements.beyond_bounds:
            break
    assert first is not None
    return _unparsed(first, _ANY_DIALECT)


def _inspect_in(context: Context, dialect: str) -> SqlVerdict:
    statements = parse(context.text, dialect)
    if isinstance(statements, Unparsed):
        return _unparsed(statements, dialect)
    return _verdict(statements, Notes(context, dialect))


def _other_readings(text: str, dialect: str | None) -> list[str]:
    """Texts that MySQL would run differently: an agent's word for the dialect does not make it so."""
    found = []
    executable = with_executable_comments(text)
    if executable is not None:
        found.append(executable)
    if dialect is None and _READ_DIFFERENTLY.search(text):
        found.append(text)
    return found


# Comments and escapes that only MySQL has, or that MySQL has not.
_READ_DIFFERENTLY: Final = re.compile(r"""#|\\['"]|@@|--\S""")


def _with_worse(verdict: SqlVerdict, other: SqlVerdict) -> SqlVerdict:
    """The verdict, and what the other reading of the same text adds to it."""
    if other.failure is Failure.MALFORMED:
        return verdict
    added = [problem for problem in other.problems if problem.failure is not Failure.INCORRECT]
    statements = tuple(item for item in other.statements if item.kind not in verdict.kinds)
    return msgspec.structs.replace(
        verdict,
        statements=(*verdict.statements, *statements),
        risk=max(verdict.risk, other.risk),
        problems=tuple(dict.fromkeys((*verdict.problems, *added))),
        is_read=verdict.is_read and other.is_read,
    )


def _unparsed(unparsed: Unparsed, dialect: str) -> SqlVerdict:
    if unparsed.beyond_bounds:
        message, failure = f"too large to decide: {unparsed.why}", None
        problem = Problem("bounds", message, unparsed.where, failure, Risk.CRITICAL)
    else:
        problem = Problem("parse", unparsed.why, unparsed.where, Failure.MALFORMED, Risk.CRITICAL)
    return SqlVerdict(dialect, (), Risk.CRITICAL, (problem,))


def _verdict(statements: list[exp.Expr], notes: Notes) -> SqlVerdict:
    text = notes.context.text
    if not statements:
        notes.malformed("statement", "there is no statement in it", text)
    for statement in statements:
        _read_statement(statement, notes, text, alone=len(statements) == 1, depth=0)
    check_comments(text, notes)
    _check_stacking(statements, notes)
    problems = tuple(notes.problems.values())
    is_read = len(statements) == 1 and not problems and all(item.kind in READS for item in notes.statements)
    return SqlVerdict(
        notes.dialect,
        tuple(notes.statements),
        notes.risk,
        problems,
        tuple(notes.warnings.values()),
        tuple(notes.tables),
        is_read,
    )


def _check_stacking(statements: list[exp.Expr], notes: Notes) -> None:
    if len(statements) < 2:
        return
    notes.raise_risk(Risk.CRITICAL)
    for statement in notes.statements:
        if statement.kind not in READS and statement.kind is not Kind.TRANSACTION:
            message = f"a statement that does more than read ({statement.kind}) is stacked with others"
            notes.forbidden("stacked_write", message, statement.text)
            return


# Statements ---------------------------------------------------------------------------------------


def _read_statement(statement: exp.Expr, notes: Notes, text: str, *, alone: bool, depth: int) -> None:
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
    if found.kind is Kind.EXPLAIN and not found.runs:
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
            _read_statement(statement, notes, text, alone=len(statements) == 1, depth=depth + 1)


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
    notes.statement(Kind.EXPLAIN, Risk.LOW if reads else Risk.MEDIUM, found.inner[0], nested=nested)
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
        notes.forbidden(rule, f"the procedure {name[:80]!r} {_WHY[rule]}", node)


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


# Nodes --------------------------------------------------------------------------------------------


def _walk(root: exp.Expr, notes: Notes) -> None:
    """Every node once. This is the engine's hot path: what most nodes are decides how it is written."""
    visits, leaves = _VISITS, _LEAVES
    stack = [root]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind in leaves:
            continue
        visit = visits.get(kind)
        if visit is not None:
            visit(node, notes)
            if kind is exp.Column:
                continue
        if kind in NESTED and node is not root:
            _visit_nested(node, notes)
        for value in node.args.values():
            if type(value) is list:
                stack.extend(item for item in value if isinstance(item, exp.Expr))
            elif isinstance(value, exp.Expr):
                stack.append(value)


_LEAVES: Final = frozenset({exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Var, exp.Placeholder})


def _visit_nested(node: exp.Expr, notes: Notes) -> None:
    if type(node.parent) is exp.When or isinstance(node.parent, exp.Alter):
        return
    found = classified(node, notes)
    if found and found[0] is not Kind.READ:
        notes.statement(*found, node, nested=True)
        check = _STATEMENT_CHECKS.get(type(node))
        if check:
            check(node, notes)


def _visit_select(node: exp.Expr, notes: Notes) -> None:
    grammar.check_select(node, notes)
    if node.args.get("into") or node.args.get("locks"):
        found = classified(node, notes)
        if found and node.parent is not None:
            notes.statement(*found, node, nested=True)
    joins = node.args.get("joins")
    if joins:
        _check_cartesian(node, joins, notes)


def _check_cartesian(select: exp.Expr, joins: list[exp.Expr], notes: Notes) -> None:
    """A join without a condition; one in the WHERE counts, if any column comparison stands there."""
    where = select.args.get("where")
    for join in joins:
        if join.args.get("on") or join.args.get("using") or _is_expansion(join):
            continue
        if str(join.args.get("method") or "").upper() == "NATURAL":
            continue
        if where is not None and _compares_columns(where):
            continue
        report = notes.forbidden if notes.rules.reject_cartesian_joins else notes.warn
        report("cartesian_join", "every row is joined with every row", join)
        return


def _is_expansion(join: exp.Expr) -> bool:
    """UNNEST, FLATTEN, LATERAL, APPLY and table functions depend on the row they stand beside."""
    source = join.this
    return not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier)


def _compares_columns(where: exp.Expr) -> bool:
    return any(
        isinstance(node.this, exp.Column) and isinstance(node.args.get("expression"), exp.Column)
        for node in where.find_all(exp.EQ, exp.GT, exp.LT, exp.GTE, exp.LTE, exp.Like)
    )


def _visit_table(node: exp.Expr, notes: Notes) -> None:
    notes.tables_read += 1
    if notes.tables_read > MAX_TABLES:
        if notes.tables_read == MAX_TABLES + 1:
            notes.undecided("bounds", f"too large to decide: more than {MAX_TABLES} tables", node)
        return
    source = node.this
    if type(source) is not exp.Identifier:
        if isinstance(source, exp.Literal | exp.Var):
            notes.raise_risk(Risk.CRITICAL)
            notes.warn("file_access", "a file or stage is read like a table", node)
        return
    grammar.check_identifier(node, notes)
    name = str(source.this).lower()
    schema = node.args.get("db")
    catalog = node.args.get("catalog")
    schema_name = schema.name.lower() if isinstance(schema, exp.Expr) else ""
    if not schema_name and isinstance(catalog, exp.Expr):
        schema_name = catalog.name.lower()
    qualified = f"{schema_name}.{name}" if schema_name else name
    if not schema_name and notes.may_have_ctes and _is_cte(name, node):
        return
    notes.table(qualified)
    schema_given = notes.context.schema
    if schema_given is not None and schema_given.find(name, qualified):
        return
    if holds_credentials(name, qualified):
        notes.forbidden("system_catalog", f"the catalog {qualified[:80]!r} holds credentials", node)
    elif is_system_catalog(name, schema_name):
        _catalog(node, qualified, notes)
    elif source.args.get("quoted") and _names_a_file(name, schema_name):
        notes.forbidden("file_access", "a file is read like a table", node)


def _names_a_file(name: str, schema: str) -> bool:
    return name.endswith(_FILE_ENDINGS) or name.startswith("/") or "://" in name or schema in _FILE_FORMATS


_FILE_FORMATS: Final = frozenset({"csv", "parquet", "json", "text", "orc", "avro", "delta", "binaryfile"})
_FILE_ENDINGS: Final = (".csv", ".parquet", ".json", ".tsv", ".ndjson", ".xlsx", ".db", ".sqlite")


def _catalog(node: exp.Expr, qualified: str, notes: Notes) -> None:
    if notes.rules.allow_system_catalogs:
        notes.raise_risk(Risk.MEDIUM)
        notes.warn("system_catalog", "the catalog of the database is read", node)
    else:
        message = f"the catalog {qualified[:80]!r} describes the database itself"
        notes.forbidden("system_catalog", message, node, Risk.HIGH)


def _is_cte(name: str, node: exp.Expr) -> bool:
    """Whether the bare name means a CTE; inside its own definition it means the table, unless recursive."""
    definition: exp.Expr | None = None
    ancestor = node.parent
    while ancestor is not None:
        if type(ancestor) is exp.CTE:
            definition = ancestor
        with_ = ancestor.args.get("with_")
        recursive = with_ is not None and with_.args.get("recursive")
        for cte in with_.expressions if with_ is not None else ():
            if cte is definition and not recursive:
                break
            if cte.alias.lower() == name:
                return True
        ancestor = ancestor.parent
    return False


def _visit_column(node: exp.Expr, notes: Notes) -> None:
    grammar.check_identifier(node, notes)
    rules = notes.rules
    if not rules.forbidden_columns and not rules.no_sensitive_columns:
        return
    name = node.name
    if name == "*":
        _check_star(node, notes)
    elif name.lower() in map(str.lower, rules.forbidden_columns) or (
        rules.no_sensitive_columns and is_sensitive(name)
    ):
        notes.forbidden_column(name, node)


def _visit_star(node: exp.Expr, notes: Notes) -> None:
    grammar.check_star(node, notes)
    _check_star(node, notes)


def _check_star(node: exp.Expr, notes: Notes) -> None:
    """Without a schema nobody knows which columns a star shows; `COUNT(*)` shows none."""
    rules = notes.rules
    hides = rules.forbidden_columns or rules.no_sensitive_columns
    if hides and notes.context.schema is None and not isinstance(node.parent, exp.Count | exp.Column):
        notes.undecided("forbidden_column", "a star may show columns that are forbidden", node, Risk.MEDIUM)


def _visit_function(node: exp.Expr, notes: Notes) -> None:
    name = _function_name(node)
    rule = forbidden_rule(name) or forbidden_rule(name.rpartition(".")[2])
    if rule:
        notes.forbidden(rule, f"{name[:80]}() {_WHY[rule]}", node)
        return
    bare = name.rpartition(".")[2]
    if bare in SIDE_EFFECTS:
        notes.raise_risk(SIDE_EFFECTS[bare])
        notes.warn("side_effect", f"{bare}() changes something", node)
    elif bare in _ALLOCATORS:
        _check_allocation(node, bare, notes)
    elif not (is_pure(name) or bare in notes.rules.known_functions):
        message = f"what {name[:80]}() does is not known from the text"
        if notes.kind is Kind.DDL:
            notes.warn("unknown_function", message, node)
        else:
            notes.undecided("unknown_function", message, node, Risk.HIGH)


_WHY: Final = {
    "time_probe": "makes the server wait",
    "error_probe": "is made to fail with a value in its message",
    "file_access": "reaches the files of the server",
    "network_access": "reaches the network",
    "command_execution": "runs code or statements from a text",
    "administration": "administers the server",
}
_ALLOCATORS: Final = frozenset({"randomblob", "zeroblob"})
_MAX_ALLOCATION: Final = 100_000


def _check_allocation(node: exp.Expr, name: str, notes: Notes) -> None:
    size = node.expressions[0] if node.expressions else None
    literal = str(size.this) if isinstance(size, exp.Literal) else ""
    if not (literal.isdigit() and len(literal) < 12 and int(literal) <= _MAX_ALLOCATION):
        notes.forbidden("time_probe", f"{name}() fills the memory", node)


def _function_name(node: exp.Expr) -> str:
    """With its qualifiers (`dbms_pipe.receive_message`), lower case."""
    parts = [node.name]
    below: exp.Expr = node
    parent: exp.Expr | None = node.parent
    while type(parent) is exp.Dot and parent.args.get("expression") is below:
        parts.append(_dotted(parent.this))
        below = parent
        parent = below.parent
    return ".".join(reversed(parts)).lower()


def _dotted(node: exp.Expr) -> str:
    names = (part.name for part in descendants(node) if type(part) is exp.Identifier)
    return ".".join(itertools.islice(names, _MAX_QUALIFIERS))


_MAX_QUALIFIERS: Final = 8


def _visit_reader(node: exp.Expr, notes: Notes) -> None:
    notes.forbidden("file_access", f"{type(node).__name__.lower()}() {_WHY['file_access']}", node)


def _visit_sequence(node: exp.Expr, notes: Notes) -> None:
    notes.raise_risk(Risk.HIGH)
    notes.warn("side_effect", "a sequence is moved on", node)


_VISITS: Final[dict[type[exp.Expr], Any]] = {
    **grammar.VISITS,
    **injection.VISITS,
    exp.Select: _visit_select,
    exp.Table: _visit_table,
    exp.Column: _visit_column,
    exp.Star: _visit_star,
    exp.Anonymous: _visit_function,
    exp.AnonymousAggFunc: _visit_function,
    exp.ReadCSV: _visit_reader,
    exp.ReadParquet: _visit_reader,
    exp.ToFile: _visit_reader,
    exp.NextValueFor: _visit_sequence,
}
