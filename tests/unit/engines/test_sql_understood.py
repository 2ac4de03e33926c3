"""A read is LOW only where everything in it is on a list of things understood."""

import pytest
from tests.corpora import sql_queries

from qwed.domain.actions import Action
from qwed.domain.findings import Status
from qwed.domain.risk import Risk
from qwed.engines.sql import SqlEngine, inspect_sql
from qwed.engines.sql import reading as reading_module
from qwed.engines.sql.understood import UNDERSTOOD

ENGINE = SqlEngine()


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("SELECT password FROM users /*!50000 INTO OUTFILE '/var/www/x.php' */", None),
        ("SELECT password FROM users /*!50000 INTO OUTFILE '/var/www/x.php' */", "postgres"),
        ("SELECT 1 /*!; DROP TABLE users; ! */", None),
        ("SELECT 1 /*M!100100 ; SHUTDOWN ; ( */", None),
        ("SELECT 1 /*!99999 UNION SELECT 1 FROM */", None),
        ("SELECT a /*!50000 INTO DUMPFILE '/tmp/x' FROM t", "mysql"),
    ],
)
def test_a_comment_that_mysql_runs_is_refused_where_it_cannot_be_read(text: str, dialect: str | None) -> None:
    parameters = {} if dialect is None else {"dialect": dialect}
    finding = ENGINE.verify(Action("execute_sql", query=text, parameters=parameters))

    assert (finding.status, finding.risk) == (Status.FAILED, Risk.CRITICAL), finding


@pytest.mark.parametrize(
    "text",
    [
        "SELECT /*!40001 SQL_NO_CACHE */ a FROM t",
        "SELECT a FROM t /* the newest */",
        "SELECT /*+ INDEX(t i) */ a FROM t",
    ],
)
def test_comments_that_hide_nothing_stay_low(text: str) -> None:
    finding = ENGINE.verify(Action("execute_sql", query=text))

    assert (finding.status, finding.risk) == (Status.VERIFIED, Risk.LOW), finding


@pytest.mark.parametrize(
    ("text", "dialect", "rule"),
    [
        ("SELECT TRANSFORM(a, b) USING 'python3 x.py' AS (c) FROM t", "hive", "command_execution"),
        ("SELECT TRANSFORM(a) USING '/bin/cat' FROM t", "spark", "command_execution"),
        ("SELECT * FROM orders@remote", "oracle", "network_access"),
        ("SELECT * FROM hr.orders@remote.world o", "oracle", "network_access"),
        ("SELECT * FROM orders@remote", None, "network_access"),
        ("SELECT * FROM server.db.dbo.users", "tsql", "network_access"),
        ("SELECT u.name FROM a JOIN server.db.dbo.users u ON u.id = a.id", None, "network_access"),
    ],
)
def test_what_reaches_another_server_or_a_program_is_forbidden(
    text: str, dialect: str | None, rule: str
) -> None:
    verdict = inspect_sql(text, dialect)

    assert rule in {problem.rule for problem in verdict.problems}
    assert verdict.risk is Risk.CRITICAL


@pytest.mark.parametrize(
    ("text", "dialect", "risk"),
    [
        ("SELECT orders_seq.NEXTVAL FROM dual", "oracle", Risk.HIGH),
        ("SELECT orders_seq.nextval", "snowflake", Risk.HIGH),
        ("SELECT NEXT VALUE FOR s", "tsql", Risk.HIGH),
        ("SELECT @total := 5", "mysql", Risk.MEDIUM),
        ("SELECT my_function(a) FROM t", None, Risk.HIGH),
        ("SELECT AI.GENERATE('x')", "bigquery", Risk.HIGH),
        ("SELECT * FROM IDENTIFIER('us' || 'ers')", "snowflake", Risk.CRITICAL),
        ("SELECT a FROM t shutdown", None, Risk.CRITICAL),
        ("SELECT 1 checkpoint", "tsql", Risk.CRITICAL),
        ("SELECT repeat('x', 1000000000)", None, Risk.HIGH),
        ("SELECT * FROM generate_series(1, 99999999999)", None, Risk.HIGH),
    ],
)
def test_a_read_that_does_more_is_never_low(text: str, dialect: str | None, risk: Risk) -> None:
    assert inspect_sql(text, dialect).risk is risk


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("SELECT table_name FROM proj.data.INFORMATION_SCHEMA.TABLES", "bigquery"),
        ("SELECT db.dbo.users.name FROM db.dbo.users", "tsql"),
        ('SELECT open, close FROM "t"', None),
        ("SELECT 1 AS total", None),
        ("SELECT @x", "mysql"),
        ("SELECT lpad(a, 10, '0'), repeat('-', 20) FROM t", None),
    ],
)
def test_ordinary_spellings_are_not_taken_for_another_server(text: str, dialect: str | None) -> None:
    rules = {problem.rule for problem in inspect_sql(text, dialect).problems}

    assert rules <= {"system_catalog"}


def test_a_construct_on_no_list_is_left_to_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    smaller = UNDERSTOOD - {
        type(node) for node in _nodes("SELECT a BETWEEN 1 AND 2 FROM t") if node.key == "between"
    }
    monkeypatch.setattr(reading_module, "UNDERSTOOD", smaller)

    verdict = inspect_sql("SELECT a BETWEEN 1 AND 2 FROM t")

    assert [(problem.rule, problem.failure) for problem in verdict.problems] == [("construct", None)]
    assert verdict.risk is Risk.CRITICAL


def _nodes(text: str):
    import sqlglot

    return sqlglot.parse_one(text).walk()


def test_everything_in_ordinary_queries_is_understood() -> None:
    unknown = [
        (query, problem.message)
        for _, query in sql_queries.cases(seed=7, count=400)
        for problem in inspect_sql(query).problems
        if problem.rule == "construct"
    ]

    assert unknown == []
