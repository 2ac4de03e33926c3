"""What the small clauses of a read do: hints, options, samples, settings, recursion.

Each is a list of words that are understood. A word on no list is not called a read.
"""

from collections.abc import Callable
from typing import Final

from sqlglot import exp

from qwed.domain.risk import Risk
from qwed.engines.sql.constants import is_tautology
from qwed.engines.sql.notes import Notes
from qwed.engines.sql.sizes import MAX_GENERATED, size_of
from qwed.engines.sql.verdict import StatementKind
from qwed.engines.words import words

_HARMLESS_HINTS: Final = words(
    """
    nolock readuncommitted readcommitted readcommittedlock readpast rowlock nowait snapshot noexpand
    forcescan forceseek index fastfirstrow spatial_window_max_cells
    """
)
_ROW_LOCKS: Final = words("updlock repeatableread serializable holdlock paglock")
_TABLE_LOCKS: Final = words("xlock tablock tablockx")
_SAMPLES: Final = words("bernoulli system reservoir block row rows percent bucket")
_HARMLESS_OPTIONS: Final = words(
    """
    recompile maxdop maxrecursion fast hash merge loop concat order force optimize keep keepfixed expand
    robust label for use parameterization union group join plan views simple forced
    """
)
# What a ClickHouse setting may be for one query: it bounds or shapes the answer, and lifts no bound.
_HARMLESS_SETTINGS: Final = words(
    """
    max_threads max_block_size join_algorithm final output_format_json_quote_64bit_integers
    optimize_read_in_order session_timezone date_time_input_format date_time_output_format
    """
)


def _visit_table_hint(node: exp.Expr, notes: Notes) -> None:
    names = {item.name.lower() for item in node.expressions}
    if names & _TABLE_LOCKS:
        _lock(node, Risk.HIGH, notes)
    elif names & _ROW_LOCKS:
        _lock(node, Risk.MEDIUM, notes)
    for name in sorted(names - _HARMLESS_HINTS - _ROW_LOCKS - _TABLE_LOCKS):
        notes.undecided("construct", f"what the hint {name[:40].upper()} does is not known", node, Risk.HIGH)


def _lock(node: exp.Expr, risk: Risk, notes: Notes) -> None:
    notes.statement(StatementKind.LOCKING_READ, risk, node, nested=True)


def _visit_option(node: exp.Expr, notes: Notes) -> None:
    words_given = node.name.lower().split()
    unknown = [word for word in words_given if word not in _HARMLESS_OPTIONS]
    value = node.args.get("expression")
    if words_given[:1] == ["maxrecursion"] and isinstance(value, exp.Expr) and value.name == "0":
        notes.undecided("bounds", "the recursion has no bound", node, Risk.HIGH)
    elif unknown:
        message = f"what the option {unknown[0][:40].upper()} does is not known"
        notes.undecided("construct", message, node, Risk.HIGH)


def _visit_sample(node: exp.Expr, notes: Notes) -> None:
    method = node.args.get("method")
    name = method.name.lower() if isinstance(method, exp.Expr) else ""
    if name and name not in _SAMPLES:
        message = f"how {name[:40]}() takes a sample is not known"
        notes.undecided("construct", message, node, Risk.HIGH)


def _visit_with(node: exp.Expr, notes: Notes) -> None:
    """A recursion that nothing ends."""
    if not node.args.get("recursive"):
        return
    query = node.parent
    if query is not None and query.args.get("limit") and not query.args.get("order"):
        return
    for cte in node.expressions:
        if _never_ends(cte):
            notes.undecided("bounds", "nothing in the recursion ends it", cte, Risk.HIGH)


def _never_ends(cte: exp.Expr) -> bool:
    """Nothing narrows what the recursion goes on with, or a counter runs to a number that is too large."""
    union = cte.this
    if not isinstance(union, exp.Union) or union.args.get("limit"):
        return False
    again = union.args.get("expression")
    if not isinstance(again, exp.Select) or again.args.get("limit"):
        return False
    tables = {table.name.lower() for table in again.find_all(exp.Table)}
    if cte.alias.lower() not in tables:
        return False
    if union.args.get("distinct") and all(isinstance(item, exp.Column) for item in again.expressions):
        return False
    joins = list(again.find_all(exp.Join))
    conditions = [found.this for found in again.find_all(exp.Where, exp.Having)]
    conditions += [join.args["on"] for join in joins if join.args.get("on")]
    if all(map(is_tautology, conditions)) and not any(map(_joins_by_name, joins)):
        return True
    return len(tables) == 1 and any(map(_counts_far, conditions))


def _joins_by_name(join: exp.Expr) -> bool:
    return bool(join.args.get("using")) or join.args.get("method") == "NATURAL"


def _counts_far(condition: exp.Expr) -> bool:
    numbers = (item for item in condition.find_all(exp.Literal) if not item.is_string)
    return any(size_of(number) > MAX_GENERATED for number in numbers)


def _visit_summary(node: exp.Expr, notes: Notes) -> None:
    if isinstance(node.this, exp.Literal):
        notes.forbidden("file_access", "a file is read like a table", node)


def check_settings(select: exp.Expr, notes: Notes) -> None:
    """ClickHouse: `SETTINGS max_execution_time = 0` lifts a bound that the operator set."""
    for item in select.args.get("settings") or ():
        name = item.this.name.lower() if isinstance(item, exp.EQ) else ""
        if name not in _HARMLESS_SETTINGS:
            message = f"what the setting {name[:40]!r} does is not known"
            notes.undecided("construct", message, item, Risk.HIGH)


VISITS: Final[dict[type[exp.Expr], Callable[[exp.Expr, Notes], None]]] = {
    exp.WithTableHint: _visit_table_hint,
    exp.QueryOption: _visit_option,
    exp.TableSample: _visit_sample,
    exp.With: _visit_with,
    exp.Summarize: _visit_summary,
}
# Their visits look at all that stands in them.
CLOSED: Final = frozenset({exp.WithTableHint, exp.QueryOption})
