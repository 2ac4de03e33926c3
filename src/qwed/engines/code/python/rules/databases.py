"""Queries built from input: SQL, LDAP, XPath, MongoDB."""

import re
from typing import Final

from qwed.engines.code import places
from qwed.engines.code.python.interpreter import Interpreter
from qwed.engines.code.python.machine import PythonCall, Rule
from qwed.engines.code.python.names import LOCAL, NETWORK, PARAMETER, REMOTE
from qwed.engines.code.python.values import (
    CLEAN,
    Choice,
    Const,
    PythonText,
    PythonUnknown,
    PythonValue,
    Ref,
    Taint,
)

_SQL: Final = re.compile(
    r"\s*(?:--[^\n]*\n|/\*.*?\*/|\(|\s)*(?:select|insert|update|delete|replace|create|drop|alter|truncate"
    r"|with|merge|grant|call|exec|pragma|show|explain|copy)\b",
    re.I | re.S,
)
# Before these a hole names a table or a column; anywhere else it is a value.
_NAME_POSITION: Final = re.compile(
    r"(?:from|into|update|table|join|by|select|view|index|column|on|set|exists|schema|database|truncate"
    r"|distinct|,|\(|\.|\"|`|\[)\s*[\"`\[]?$",
    re.I,
)
_SAFE_SHAPES: Final = frozenset({"number", "validated", "constant-text"})


def execute(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`cursor.execute(query, …)` on anything."""
    query = call.argument(0, "query") or call.kwargs.get("statement") or call.kwargs.get("sql")
    if query is not None:
        _judge_query(run, call, query)
    return None


def raw_sql(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`sqlalchemy.text(…)`, `RawSQL(…)`, `Model.objects.raw(…)`: the text is SQL for certain."""
    query = call.argument(0)
    if query is not None:
        _judge_query(run, call, query)
    return Ref(call.path + "()", CLEAN)


def _judge_query(run: Interpreter, call: PythonCall, query: PythonValue) -> None:
    if isinstance(query, Choice):
        for option in query.options:
            _judge_query(run, call, option)
        return
    if isinstance(query, PythonText):
        if _SQL.match(query.known()):
            run.report.effects.add("database")
            if places.destroys_tables(query.known()):
                run.harm("destructive-command", call.line)
            _judge_holes(run, call, query)
        return
    if isinstance(query, Const):
        if isinstance(query.data, str) and _SQL.match(query.data):
            run.report.effects.add("database")
            if places.destroys_tables(query.data):
                run.harm("destructive-command", call.line)
        return
    outside = tuple(origin for origin in query.taint if origin.kind in (REMOTE, LOCAL, NETWORK))
    if (outside and not isinstance(query, Ref)) or (
        outside and isinstance(query, Ref) and not query.path.startswith(("sqlalchemy", "psycopg2.sql"))
    ):
        run.harm("sql-injection", call.line, outside)


def _judge_holes(run: Interpreter, call: PythonCall, query: PythonText) -> None:
    before = ""
    for part in query.parts:
        if isinstance(part, str):
            before += part
            continue
        _judge_hole(run, call, part, before)
        before += "x"


def _judge_hole(run: Interpreter, call: PythonCall, hole: PythonValue, before: str) -> None:
    shape = hole.shape if isinstance(hole, PythonUnknown) else ""
    if shape in _SAFE_SHAPES and not hole.taint:
        return
    if isinstance(hole, Choice) and all(isinstance(option, Const) for option in hole.options):
        return
    names = _NAME_POSITION.search(before) is not None
    if before.rstrip("%").endswith("'") and before.count("'") % 2:
        run.harm("sql-injection", call.line, hole.taint)
        return
    strong = tuple(origin for origin in hole.taint if origin.kind != PARAMETER)
    if strong or (hole.taint and not names):
        run.harm("sql-injection", call.line, strong or hole.taint)
    elif hole.taint or not names:
        run.doubt("sql-from-pieces", call.line, hole.taint)


def ldap_search(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """LDAP filters and names."""
    _judge_pieces(run, call, "ldap-injection")
    return None


def xpath(run: Interpreter, call: PythonCall) -> PythonValue | None:
    query = call.argument(0)
    if query is not None and not isinstance(query, Const):
        taint = _outside(query)
        if taint:
            run.harm("xpath-injection", call.line, taint)
    return None


_PARSED: Final = ("json.loads()", ".json", ".get_json()", ".json()", "request.args.to_dict()")


def find_elements(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`root.findall("./user[@name='…']")`: a path with a place in it that input fills."""
    query = call.argument(0)
    if isinstance(query, PythonText) and re.search(r"/|\[@", query.known()):
        return xpath(run, call)
    return None


def filter_expression(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """Key-value stores that take conditions as text."""
    for name in ("FilterExpression", "KeyConditionExpression", "ConditionExpression", "ProjectionExpression"):
        condition = call.kwargs.get(name)
        if isinstance(condition, PythonText) and _outside(condition):
            run.harm("query-injection", call.line, _outside(condition))
    return None


def log_in(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`connect(password="…")`, `login(name, "…")`: a password that stands in the source, or an empty one."""
    names = ("password", "passwd", "pwd")
    given = [call.kwargs[name] for name in names if name in call.kwargs]
    if call.path.rpartition(".")[2] == "login" and len(call.args) > 1:
        given.append(call.args[1])
    for password in given:
        if isinstance(password, Const) and isinstance(password.data, str) and not password.taint:
            run.harm("hard-coded-secret", call.line)
    return None


def mongo_find(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`$where` runs JavaScript in the database; a client's object may hold operators."""
    query = call.argument(0)
    if isinstance(query, Ref) and query.path.endswith(_PARSED):
        remote = tuple(origin for origin in query.taint if origin.kind == REMOTE)
        if remote:
            run.harm("query-injection", call.line, remote)
    where = getattr(query, "entries", {}).get("$where")
    if where is not None and where.taint:
        run.harm("code-injection", call.line, where.taint)
    return None


def _judge_pieces(run: Interpreter, call: PythonCall, rule: str) -> None:
    for argument in call.everything:
        taint = _outside(argument)
        if taint and isinstance(argument, PythonText):
            run.harm(rule, call.line, taint)
            return


def _outside(value: PythonValue) -> Taint:
    return tuple(origin for origin in value.taint if origin.kind in (REMOTE, LOCAL, PARAMETER, NETWORK))


METHODS: dict[str, Rule] = {
    "execute": execute,
    "executemany": execute,
    "executescript": execute,
    "mogrify": execute,
    "raw": execute,
    "read_sql": execute,
    "read_sql_query": execute,
    "extra": execute,
    "exec_driver_sql": execute,
    "search_s": ldap_search,
    "search_ext_s": ldap_search,
    "xpath": xpath,
    **dict.fromkeys(
        (
            "find_one",
            "find_one_and_update",
            "count_documents",
            "aggregate",
            "update_one",
            "delete_one",
            "delete_many",
        ),
        mongo_find,
    ),
    "find": lambda run, call: (mongo_find(run, call), find_elements(run, call))[1],
    "findall": find_elements,
    "iterfind": find_elements,
    "scan": filter_expression,
    "query": filter_expression,
    "login": log_in,
    "connect": log_in,
}
CALLS: dict[str, Rule] = {
    "sqlalchemy.text": raw_sql,
    "sqlalchemy.sql.text": raw_sql,
    "sqlalchemy.sql.expression.text": raw_sql,
    "django.db.models.expressions.RawSQL": raw_sql,
    "lxml.etree.XPath": xpath,
    "pandas.read_sql": execute,
    **dict.fromkeys(
        (
            "mysql.connector.connect",
            "psycopg2.connect",
            "pymongo.MongoClient",
            "redis.Redis",
            "pymssql.connect",
        ),
        log_in,
    ),
    "pandas.read_sql_query": execute,
    "ldap3.Connection().search": ldap_search,
}
