"""Injection, seen in its context: conditions, unions and calls that no honest query needs."""

from typing import Any, Final

from sqlglot import exp

from qwed.engines.sql.constants import (
    constant_value,
    has_complementary_terms,
    is_constant,
    is_tautology,
    truth,
)
from qwed.engines.sql.functions import SERVER_FACTS
from qwed.engines.sql.nodes import descendants, operands, parent_beyond_parens, unwrapped
from qwed.engines.sql.notes import Notes
from qwed.engines.sql.sensitive import is_credential

_FILTERS: Final = (exp.Where, exp.Having, exp.Qualify)
_TAUTOLOGY: Final = "a condition that is true of every row stands beside the real one"
_CONSTANT: Final = "a condition that depends on no row stands beside the real one"


# Conditions ---------------------------------------------------------------------------------------


def check_filter(node: exp.Expr, notes: Notes) -> None:
    """A whole WHERE that is constant: `1=1` and its like are how programs build queries; the rest is not."""
    condition = unwrapped(node.this)
    kind = type(condition)
    if kind is exp.Or or kind is exp.And or not is_constant(condition):
        _check_server_probe(condition, notes)
        return
    if type(node) is exp.Having or not _is_builder_stub(condition):
        notes.forbidden("tautology", "the whole condition is a constant", node)


def check_or(node: exp.Expr, notes: Notes) -> None:
    """OR, XOR and MySQL's ||: one constant term undoes, or probes, all the others."""
    if type(parent_beyond_parens(node)) is type(node):
        return
    terms = operands(node)
    found = [problem for problem in map(_wrong_term, range(len(terms)), terms) if problem]
    if has_complementary_terms(terms):
        found.append(("tautology", "the terms together are true of every row", node))
    # Last, since the way up to the clause is as long as the query is deep.
    if found and not notes.is_saturated and _is_condition(node):
        for rule, message, term in found:
            notes.forbidden(rule, message, term)
    for term in terms:
        _check_server_probe(unwrapped(term), notes)


def _wrong_term(position: int, term: exp.Expr) -> tuple[str, str, exp.Expr] | None:
    if not is_constant(term):
        return ("tautology", _TAUTOLOGY, term) if is_tautology(term) else None
    held = truth(constant_value(term))
    if held is not False:
        return "tautology", _TAUTOLOGY, term
    if position == 0 and _is_builder_stub(unwrapped(term)):
        return None
    return "constant_condition", _CONSTANT, term


def check_and(node: exp.Expr, notes: Notes) -> None:
    """AND: a constant term changes nothing for an honest query, and answers a blind probe."""
    if type(node.parent) is exp.And:
        return
    # Builders begin a WHERE or a group of their own with a stub; nothing else does.
    built = isinstance(node.parent, exp.Where | exp.Qualify | exp.Paren)
    found = []
    for position, term in enumerate(map(unwrapped, operands(node))):
        if not is_constant(term) and not _compares_string_with_itself(term):
            _check_server_probe(term, notes)
            continue
        harmless = _is_builder_stub(term) if position == 0 else type(term) is exp.Boolean and term.this
        if not (built and harmless):
            found.append(term)
    if found and not notes.is_saturated and _is_condition(node):
        for term in found:
            notes.forbidden("constant_condition", _CONSTANT, term)


def _compares_string_with_itself(term: exp.Expr) -> bool:
    """`"1" = "1"`, where it is not known whether these are names or strings."""
    if type(term) is not exp.EQ or type(term.this) is not exp.Column or term.this != term.expression:
        return False
    column = term.this
    return not column.args.get("table") and bool(column.this.args.get("quoted"))


def _is_condition(node: exp.Expr) -> bool:
    """Inside a WHERE, HAVING, QUALIFY, ON, or a choice: not a value that is merely shown."""
    ancestor = node.parent
    while ancestor is not None:
        if isinstance(ancestor, exp.Where | exp.Having | exp.Qualify | exp.Order | exp.Group):
            return True
        if isinstance(ancestor, exp.Join):
            return isinstance(node, exp.Or | exp.Xor)
        if isinstance(ancestor, exp.Select):
            return False
        ancestor = ancestor.parent
    return False


def _is_builder_stub(condition: exp.Expr) -> bool:
    """`1=1`, `1=0`, `TRUE`, `0`: what query builders begin with. Numbers and booleans, never strings."""
    kind = type(condition)
    if kind is exp.Boolean or (kind is exp.Literal and not condition.is_string):
        return True
    if kind not in (exp.EQ, exp.NEQ):
        return False
    sides = (condition.this, condition.expression)
    return all(type(side) is exp.Literal and not side.is_string for side in sides)


def check_comparison(node: exp.Expr, notes: Notes) -> None:
    """`a = '' = ''`: the outcome of a comparison compared once more."""
    left: Any = node.this
    right: Any = node.args.get("expression")
    if type(left) in _COMPARISONS and is_constant(right):
        notes.forbidden("tautology", "the outcome of a comparison is compared with a literal", node)
    elif type(right) in _OUTCOMES and is_constant(right) and type(right) is not exp.Boolean:
        notes.forbidden("tautology", "a value is compared with a constant comparison", node)
    elif type(right) in _CASTS and _is_number(left):
        _check_error_cast(right, node, notes)
    if type(left) is exp.Subquery and type(right) is exp.Literal:
        _check_subquery_probe(left.this, node, notes)


def check_is(node: exp.Expr, notes: Notes) -> None:
    """`a = 1 IS NOT NULL`."""
    if type(node.args.get("expression")) is exp.Null and type(unwrapped(node.this)) in _COMPARISONS:
        notes.forbidden("tautology", "the outcome of a comparison is tested for NULL", node)


def check_exists(node: exp.Expr, notes: Notes) -> None:
    """`EXISTS (SELECT 1 FROM users)`: whether a table has rows, and nothing about the row at hand."""
    query = node.this
    if type(query) is not exp.Select or query.args.get("from_") is None or notes.is_saturated:
        return
    asks_for_all = not any(query.args.get(key) for key in ("where", "joins", "group", "having", "laterals"))
    if asks_for_all and _is_condition(node):
        notes.forbidden("blind_probe", "the condition asks for the whole of a table", node)


def _check_subquery_probe(query: Any, node: exp.Expr, notes: Notes) -> None:
    if type(query) is not exp.Select or query.args.get("from_") is None or len(query.expressions) != 1:
        return
    shown = _unaliased(query.expressions[0])
    if is_constant(shown):
        notes.forbidden("blind_probe", "a subquery that always gives the same value is compared", node)
    elif type(shown) in _EXTRACTIONS:
        notes.forbidden("blind_probe", "a queried value is taken apart and compared", node)


_COMPARISONS: Final = frozenset({exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Like})
_OUTCOMES: Final = _COMPARISONS | {exp.Boolean, exp.Not, exp.Exists, exp.In, exp.Is, exp.Between}
_EXTRACTIONS: Final = frozenset({exp.Substring, exp.Ascii, exp.Unicode})
_CASTS: Final = frozenset({exp.Cast, exp.TryCast, exp.Convert})


def _is_number(node: exp.Expr) -> bool:
    return type(node) is exp.Literal and not node.is_string


def _check_error_cast(cast: Any, node: exp.Expr, notes: Notes) -> None:
    source = unwrapped(cast.args.get("expression") if type(cast) is exp.Convert else cast.this)
    if type(source) is exp.Subquery and not source.find(exp.AggFunc):
        notes.forbidden("error_probe", "a queried value is forced into a number beside a literal", node)


def check_division(node: exp.Expr, notes: Notes) -> None:
    divisor = unwrapped(node.args.get("expression"))
    if _is_number(divisor) and not str(divisor.this).strip("0."):
        notes.forbidden("error_probe", "a division by zero is an error on purpose", node)


def check_arithmetic(node: exp.Expr, notes: Notes) -> None:
    """`'' - ''`: arithmetic on nothing, which some dialects read as zero."""
    sides = (node.this, node.args.get("expression"))
    if any(map(_is_blank, sides)):
        notes.forbidden("tautology", "arithmetic on an empty string", node)


def check_addition(node: exp.Expr, notes: Notes) -> None:
    """`'' + (SELECT …) + ''`; a plus joins strings in some dialects, so that alone says nothing."""
    if type(node.parent) is not exp.Add:
        terms = operands(node)
        if any(map(_is_blank, terms)) and any(type(term) is exp.Subquery for term in terms):
            notes.forbidden("tautology", "a query is added to an empty string", node)


def _is_blank(node: Any) -> bool:
    return type(node) is exp.Literal and node.is_string and not str(node.this).strip()


def check_concatenation(node: exp.Expr, notes: Notes) -> None:
    """`1 || 1` is an OR to the dialect that it was written for; CHR(…)||CHR(…)||CHR(…) hides a word."""
    if type(node.parent) is exp.DPipe:
        return
    terms = operands(node)
    numbers = any(map(_is_number, terms)) and all(type(term) is exp.Literal for term in terms)
    if numbers or any(type(unwrapped(term)) in _OUTCOMES for term in terms):
        notes.forbidden("tautology", "what is no text is joined as if by OR", node)
    if sum(type(term) is exp.Chr for term in terms) >= _SPELLED_OUT:
        notes.forbidden("obfuscation", "a string is spelled out by character codes", node)


def check_spelling(node: exp.Expr, notes: Notes) -> None:
    if len(node.expressions) >= _SPELLED_OUT and all(map(_is_number, node.expressions)):
        notes.forbidden("obfuscation", "a string is spelled out by character codes", node)


_SPELLED_OUT: Final = 3


# Probes -------------------------------------------------------------------------------------------


def _check_server_probe(term: exp.Expr, notes: Notes) -> None:
    """A condition on the server (its version, its user) and on no column."""
    if type(term) in (exp.EQ, exp.Like, exp.NEQ) and type(term.this) is exp.Column:
        return
    facts = False
    for node in descendants(term):
        kind = type(node)
        if kind is exp.Column or kind is exp.From:
            return
        facts = facts or is_server_fact(node)
    if facts:
        notes.forbidden("blind_probe", "a condition on the server itself, not on the data", term)


def is_server_fact(node: exp.Expr) -> bool:
    kind = type(node)
    if kind is exp.Anonymous:
        return str(node.this).lower() in SERVER_FACTS
    if kind is exp.Parameter:
        return type(node.this) is exp.Parameter
    return kind is exp.SessionParameter or kind in _FACT_TYPES


_FACT_TYPES: Final = frozenset(
    {exp.CurrentUser, exp.CurrentVersion, exp.CurrentSchema, exp.CurrentDatabase, exp.CurrentCatalog}
    | {exp.SessionUser, exp.CurrentRole, exp.CurrentSchemas, exp.CurrentAccount}
)


def check_extraction(node: exp.Expr, notes: Notes) -> None:
    """`SUBSTRING((SELECT …), 1, 1)`: a value read letter by letter."""
    source = unwrapped(node.this)
    if type(source) is exp.Subquery and _within_filter(node):
        notes.forbidden("blind_probe", "a queried value is taken apart inside a condition", node)


def _within_filter(node: exp.Expr) -> bool:
    return node.find_ancestor(*_FILTERS, exp.Order) is not None


def check_choice(node: exp.Expr, notes: Notes) -> None:
    """`CASE WHEN 1=1 THEN …` in a condition or an order: a probe that answers by what it picks."""
    case = node.parent
    is_simple_case = isinstance(case, exp.Case) and case.this is not None
    if not is_simple_case and is_constant(node.this) and _within_filter(node):
        notes.forbidden("blind_probe", "a choice inside a condition is made by a constant", node)


def check_cast(node: exp.Expr, notes: Notes) -> None:
    """Casts that can only be meant to fail with the value in the message."""
    target = node.this if type(node) is exp.Convert else node.args.get("to")
    source = unwrapped(node.args.get("expression") if type(node) is exp.Convert else node.this)
    if not (isinstance(target, exp.DataType) and target.this in _NUMERIC) or source is None:
        return
    if is_server_fact(source) or _is_fact_subquery(source):
        notes.forbidden("error_probe", "a fact about the server is forced into a number", node)
    elif isinstance(source, exp.DPipe | exp.Concat | exp.Add) and source.find(exp.Select):
        notes.forbidden("error_probe", "a queried text is forced into a number", node)
    elif type(node) is exp.Convert and type(source) is exp.Subquery and not source.find(exp.AggFunc):
        notes.forbidden("error_probe", "a queried value is forced into a number", node)


_NUMERIC: Final = frozenset(exp.DataType.NUMERIC_TYPES)


def _is_fact_subquery(source: exp.Expr) -> bool:
    query = source.this if type(source) is exp.Subquery else None
    return type(query) is exp.Select and any(map(is_server_fact, query.expressions))


def check_floor(node: exp.Expr, notes: Notes) -> None:
    """`FLOOR(RAND(0)*2)` in a GROUP BY: the double-query error."""
    product = unwrapped(node.this)
    if type(product) is exp.Mul and any(
        type(side) is exp.Rand and side.this for side in product.args.values()
    ):
        notes.forbidden("error_probe", "a seeded random number is rounded to provoke a duplicate key", node)


# Unions -------------------------------------------------------------------------------------------


def check_union(node: exp.Expr, notes: Notes) -> None:
    """An arm that is no query of its own: padding, facts about the server, credentials."""
    if type(node.parent) is exp.Union and node.parent.this is node:
        return
    arms = [arm for arm in map(_select_of, operands(node)) if arm is not None]
    if len(arms) < 2:
        return
    first = arms[0]
    if first.args.get("from_") is None:
        return
    for arm in arms[1:]:
        reason = _smuggled(first, arm)
        if reason:
            notes.forbidden("union_smuggling", reason, arm)


def _select_of(arm: Any) -> exp.Expr | None:
    while type(arm) in (exp.Paren, exp.Subquery):
        arm = arm.this
    return arm if type(arm) is exp.Select else None


def _smuggled(first: exp.Expr, arm: exp.Expr) -> str | None:
    shown = [_unaliased(item) for item in arm.expressions]
    has_source = arm.args.get("from_") is not None
    if not has_source and (_is_padding(shown) or any(item.find(exp.Column) for item in shown)):
        return "the arm is padding: values that belong to no table"
    if any(is_server_fact(node) for item in shown for node in descendants(item)):
        return "the arm tells facts about the server"
    expected = first.expressions
    if has_source and _is_numbered(arm.expressions, expected):
        return "the arm is filled up with numbers to fit the number of columns"
    wanted = {column.name.lower() for item in expected for column in item.find_all(exp.Column)}
    for item in shown:
        for column in item.find_all(exp.Column):
            if is_credential(column.name) and column.name.lower() not in wanted:
                return f"the arm adds the credential column {column.name[:60]!r}"
    return None


def _unaliased(item: exp.Expr) -> exp.Expr:
    return item.this if type(item) is exp.Alias else item


def _is_padding(shown: list[exp.Expr]) -> bool:
    """Only NULLs and numbers, or NULLs among constants; `0, 'All'` is an honest extra row."""
    kinds = [type(item) for item in shown]
    if not all(map(is_constant, shown)):
        return False
    numbers = all(kind is exp.Null or _is_number(item) for kind, item in zip(kinds, shown, strict=True))
    return numbers or exp.Null in kinds


def _is_numbered(shown: list[exp.Expr], expected: list[exp.Expr]) -> bool:
    """`SELECT 1, username, 3`: literals equal to their own position, where the first arm has columns."""
    numbered = 0
    for position, item in enumerate(shown, 1):
        if _is_number(item) and str(item.this) == str(position):
            beside = expected[position - 1] if position <= len(expected) else None
            if beside is not None and _is_number(_unaliased(beside)):
                return False
            numbered += 1
    return numbered >= 2 or (numbered == 1 and len(shown) <= 2)


VISITS: Final[dict[type[exp.Expr], Any]] = {
    exp.Where: check_filter,
    exp.Having: check_filter,
    exp.Or: check_or,
    exp.Xor: check_or,
    exp.And: check_and,
    exp.Union: check_union,
    exp.Div: check_division,
    exp.Sub: check_arithmetic,
    exp.Add: check_addition,
    exp.Mul: check_arithmetic,
    exp.Mod: check_arithmetic,
    exp.IntDiv: check_arithmetic,
    exp.Pow: check_arithmetic,
    exp.BitwiseAnd: check_arithmetic,
    exp.BitwiseOr: check_arithmetic,
    exp.BitwiseXor: check_arithmetic,
    exp.DPipe: check_concatenation,
    exp.Chr: check_spelling,
    exp.Substring: check_extraction,
    exp.Ascii: check_extraction,
    exp.Length: check_extraction,
    exp.If: check_choice,
    exp.Exists: check_exists,
    exp.Is: check_is,
    exp.Cast: check_cast,
    exp.TryCast: check_cast,
    exp.Convert: check_cast,
    exp.Floor: check_floor,
    **dict.fromkeys(_COMPARISONS, check_comparison),
}
