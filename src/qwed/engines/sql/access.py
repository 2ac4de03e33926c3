"""What a statement reaches: tables, columns, functions, files, catalogs."""

import itertools
from collections.abc import Callable
from typing import Final

from sqlglot import exp

from qwed.domain.risk import Risk
from qwed.engines.sql import clauses, conditions, grammar, probes, sizes, unions
from qwed.engines.sql.catalogs import holds_credentials, is_system_catalog
from qwed.engines.sql.functions import SIDE_EFFECTS, WHY_FORBIDDEN, forbidden_rule, is_pure
from qwed.engines.sql.nodes import descendants
from qwed.engines.sql.notes import Notes
from qwed.engines.sql.sensitive import is_sensitive
from qwed.engines.sql.statements import classified
from qwed.engines.sql.verdict import StatementKind
from qwed.engines.words import words

MAX_TABLES: Final = 300


def _visit_select(node: exp.Expr, notes: Notes) -> None:
    grammar.check_select(node, notes)
    if node.args.get("into") or node.args.get("locks"):
        found = classified(node, notes)
        if found and node.parent is not None:
            notes.statement(*found, node, nested=True)
    if node.args.get("into") is not None:
        _check_target(node, notes)
    if node.args.get("settings"):
        clauses.check_settings(node, notes)
    joins = node.args.get("joins")
    if joins:
        _check_cartesian(node, joins, notes)


def _check_target(select: exp.Expr, notes: Notes) -> None:
    """`SELECT … INTO @name` keeps what it read in the session."""
    target = select.args["into"].this
    if isinstance(target, exp.Table) and isinstance(target.this, exp.Parameter):
        _set_variable(select, notes)


def _set_variable(node: exp.Expr, notes: Notes) -> None:
    notes.raise_risk(Risk.MEDIUM)
    notes.warn("side_effect", "a variable of the session is set", node)


def _check_cartesian(select: exp.Expr, joins: list[exp.Expr], notes: Notes) -> None:
    """A join without a condition; one in the WHERE counts, if any column comparison stands there."""
    where = select.args.get("where")
    open_joins = [join for join in joins if _is_open(join)]
    if not open_joins or (where is not None and _compares_columns(where)):
        return
    report = notes.forbidden if notes.rules.reject_cartesian_joins else notes.warn
    report("cartesian_join", "every row is joined with every row", open_joins[0])
    if len(open_joins) > _MAX_OPEN_JOINS:
        message = f"every row of {len(open_joins) + 1} tables is joined with every row"
        notes.undecided("bounds", message, open_joins[-1], Risk.HIGH)


_MAX_OPEN_JOINS: Final = 2


def _is_open(join: exp.Expr) -> bool:
    if join.args.get("on") or join.args.get("using") or _is_expansion(join):
        return False
    return str(join.args.get("method") or "").upper() != "NATURAL"


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
    if notes.may_reach_servers:
        _check_place(node, notes)
    if type(source) is not exp.Identifier:
        if isinstance(source, exp.Literal | exp.Var):
            notes.raise_risk(Risk.CRITICAL)
            notes.warn("file_access", "a file or stage is read like a table", node)
        return
    grammar.check_identifier(node, notes)
    name = str(source.this).lower()
    alias = node.args.get("alias")
    if alias is not None and alias.this is None and alias.args.get("columns"):
        # `FROM file('…')`, where the parser takes the word for a table and the brackets for its columns.
        _judge_call(name, node, notes)
        return
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
    elif qualified in _ENDLESS_TABLES and not _is_limited(node):
        notes.undecided("bounds", f"{qualified} has no end, and the read no limit", node, Risk.HIGH)
    elif source.args.get("quoted") and _names_a_file(name, schema_name):
        notes.forbidden("file_access", "a file is read like a table", node)


_ENDLESS_TABLES: Final = words("system.numbers system.numbers_mt system.zeros system.zeros_mt")


def _is_limited(table: exp.Expr) -> bool:
    select = table.find_ancestor(exp.Select)
    return select is not None and select.args.get("limit") is not None


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
    # Oracle and Snowflake write a sequence like a column: `orders_seq.NEXTVAL`.
    if node.args.get("table") is not None and node.name.lower() == "nextval":
        _visit_sequence(node, notes)
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
    is_source = type(node.parent) is exp.Table and node.parent.this is node
    if is_source and name in _READING_SOURCES:
        notes.forbidden("file_access", f"{name}() {WHY_FORBIDDEN['file_access']}", node)
    else:
        _judge_call(name, node, notes)


# Functions of values elsewhere that look at files where they stand for a table.
_READING_SOURCES: Final = frozenset({"glob"})


def _judge_call(name: str, node: exp.Expr, notes: Notes) -> None:
    rule = forbidden_rule(name) or forbidden_rule(name.rpartition(".")[2])
    if rule:
        notes.forbidden(rule, f"{name[:80]}() {WHY_FORBIDDEN[rule]}", node)
        return
    bare = name.rpartition(".")[2]
    # MySQL remembers the argument for the session; without one it only tells.
    if bare in SIDE_EFFECTS or (bare == "last_insert_id" and node.expressions):
        notes.raise_risk(SIDE_EFFECTS.get(bare, Risk.HIGH))
        notes.warn("side_effect", f"{bare}() changes something", node)
    elif not (sizes.check_named(node, bare, notes) or is_pure(name) or bare in notes.rules.known_functions):
        message = f"what {name[:80]}() does is not known from the text"
        if notes.kind is StatementKind.DDL:
            notes.warn("unknown_function", message, node)
        else:
            notes.undecided("unknown_function", message, node, Risk.HIGH)


def _function_name(node: exp.Expr) -> str:
    """With its qualifiers (`dbms_pipe.receive_message`), lower case."""
    parts = [node.name]
    below: exp.Expr = node
    parent: exp.Expr | None = node.parent
    while type(parent) is exp.Dot and parent.args.get("expression") is below:
        parts.append(_spell_dotted(parent.this))
        below = parent
        parent = below.parent
    return ".".join(reversed(parts)).lower()


def _spell_dotted(node: exp.Expr) -> str:
    names = (part.name for part in descendants(node) if type(part) is exp.Identifier)
    return ".".join(itertools.islice(names, _MAX_QUALIFIERS))


_MAX_QUALIFIERS: Final = 8


def _visit_reader(node: exp.Expr, notes: Notes) -> None:
    notes.forbidden("file_access", f"{type(node).__name__.lower()}() {WHY_FORBIDDEN['file_access']}", node)


def _visit_sequence(node: exp.Expr, notes: Notes) -> None:
    notes.raise_risk(Risk.HIGH)
    notes.warn("side_effect", "a sequence is moved on", node)


def _check_place(node: exp.Expr, notes: Notes) -> None:
    """A table of another server: behind a database link, or with a server's name before its own."""
    parts = [node.args.get(part) for part in ("this", "db", "catalog")]
    names = [part.name for part in parts if isinstance(part, exp.Identifier) and not part.args.get("quoted")]
    alias = node.args.get("alias")
    is_linked = isinstance(alias, exp.TableAlias) and isinstance(alias.this, exp.Parameter)
    if is_linked or any("@" in name for name in names):
        notes.forbidden("network_access", "a table behind a database link is read", node)
    elif type(node.this) is exp.Dot and parts[2] is not None and not _is_metadata_view(node):
        notes.forbidden("network_access", "a table of another server is read, by a name of four parts", node)


def _is_metadata_view(node: exp.Expr) -> bool:
    """BigQuery: `project.dataset.INFORMATION_SCHEMA.TABLES`."""
    return any(part.name.upper() == "INFORMATION_SCHEMA" for part in node.find_all(exp.Identifier))


def _visit_script(node: exp.Expr, notes: Notes) -> None:
    notes.forbidden("command_execution", "TRANSFORM … USING runs a program on the server", node)


def _visit_dynamic_name(node: exp.Expr, notes: Notes) -> None:
    notes.undecided("construct", "a name is made of a text when the statement runs", node)


def _visit_assignment(node: exp.Expr, notes: Notes) -> None:
    if type(node.this) is exp.Parameter:
        _set_variable(node, notes)


# What needs no further look once it was visited.
CLOSED: Final = frozenset({exp.Column, *clauses.CLOSED})

# Reserved in SQL Server: there such a word is no alias, but begins a second statement.
_STATEMENT_WORDS: Final = words(
    """
    alter backup bulk checkpoint commit create dbcc delete deny disk drop dump exec execute fetch grant insert
    kill load merge raiserror reconfigure restore revert revoke rollback setuser shutdown truncate update
    updatetext waitfor writetext
    """
)


def _visit_alias(node: exp.Expr, notes: Notes) -> None:
    name = node.args.get("alias") if type(node) is exp.Alias else node.this
    if not isinstance(name, exp.Identifier) or name.args.get("quoted"):
        return
    if name.name.lower() in _STATEMENT_WORDS:
        message = f"{name.name.upper()} may begin a second statement: SQL Server needs no separator"
        notes.undecided("statement", message, node)


VISITS: Final[dict[type[exp.Expr], Callable[[exp.Expr, Notes], None]]] = {
    **grammar.VISITS,
    **conditions.VISITS,
    **probes.VISITS,
    **unions.VISITS,
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
    **clauses.VISITS,
    **sizes.VISITS,
    exp.QueryTransform: _visit_script,
    exp.DynamicIdentifier: _visit_dynamic_name,
    exp.PropertyEQ: _visit_assignment,
    exp.Alias: _visit_alias,
    exp.TableAlias: _visit_alias,
}
