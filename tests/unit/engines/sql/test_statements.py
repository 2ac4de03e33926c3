"""What each statement is, and how much harm it can do."""

import pytest

from qwed.domain.actions import Action
from qwed.domain.findings import Failure, Finding, Status
from qwed.domain.risk import Risk
from qwed.engines.sql import SqlEngine, StatementKind, inspect_sql

ENGINE = SqlEngine()


def verify(query: str, **parameters: object) -> Finding:
    return ENGINE.verify(Action("execute_sql", query, parameters=parameters))


@pytest.mark.parametrize(
    ("query", "risk"),
    [
        ("SELECT 1", Risk.LOW),
        ("SELECT updated_at FROM t WHERE note = 'airdrop'", Risk.LOW),
        ("WITH x AS (SELECT 1 AS a) SELECT a FROM x", Risk.LOW),
        ("VALUES (1, 2)", Risk.LOW),
        ("SHOW TABLES", Risk.LOW),
        ("EXPLAIN SELECT * FROM t", Risk.LOW),
        ("EXPLAIN ANALYZE SELECT * FROM t", Risk.LOW),
        ("EXPLAIN DELETE FROM t", Risk.MEDIUM),
        ("SELECT * FROM t FOR UPDATE", Risk.MEDIUM),
        ("INSERT INTO t (a) VALUES (1)", Risk.HIGH),
        ("INSERT INTO t SELECT * FROM u", Risk.HIGH),
        ("REPLACE INTO t VALUES (1)", Risk.HIGH),
        ("UPDATE t SET a = 1 WHERE id = 2", Risk.HIGH),
        ("DELETE FROM t WHERE id = 2", Risk.HIGH),
        ("MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET a = 1", Risk.HIGH),
        ("SELECT nextval('s')", Risk.HIGH),
        ("WITH x AS (DELETE FROM t WHERE id = 1 RETURNING *) SELECT * FROM x", Risk.HIGH),
        ("EXPLAIN ANALYZE DELETE FROM t WHERE id = 1", Risk.HIGH),
        ("UPDATE t SET a = 1", Risk.CRITICAL),
        ("DELETE FROM t", Risk.CRITICAL),
        ("DELETE FROM t WHERE 1=1", Risk.CRITICAL),
        ("DELETE FROM t WHERE TRUE", Risk.CRITICAL),
        ("UPDATE t SET a = 1 WHERE id = id", Risk.CRITICAL),
        ("WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x", Risk.CRITICAL),
        ("EXPLAIN ANALYZE DELETE FROM t", Risk.CRITICAL),
        ("DROP TABLE t", Risk.CRITICAL),
        ("CREATE TABLE t (a int)", Risk.CRITICAL),
        ("CREATE TABLE t AS SELECT 1 AS a", Risk.CRITICAL),
        ("SELECT a INTO new_table FROM t", Risk.CRITICAL),
        ("ALTER TABLE t ADD COLUMN b int", Risk.CRITICAL),
        ("TRUNCATE t", Risk.CRITICAL),
        ("GRANT ALL ON t TO bob", Risk.CRITICAL),
        ("COPY t FROM STDIN", Risk.CRITICAL),
        ("CALL refresh_totals(1)", Risk.CRITICAL),
        ("VACUUM t", Risk.CRITICAL),
    ],
)
def test_a_valid_statement_is_verified_at_its_risk(query: str, risk: Risk) -> None:
    finding = verify(query)

    assert (finding.status, finding.risk) == (Status.VERIFIED, risk)
    assert finding.failure is None
    assert finding.evidence["statements"]


@pytest.mark.parametrize(
    "query",
    [
        "",
        "   \n",
        "-- only a comment",
        ";;",
        "1 OR 1=1",
        "' OR 1=1 --",
        "FOO BAR",
        "SELECT * FORM users",
        "SELECT a,, b FROM t",
        "SELECT a FROM FROM t",
        "SELECT a FROM t WHERE",
        "SELECT a FROM t WHERE a = ",
        "SELECT a FROM t GROUP BY HAVING COUNT(*) > 1",
        "SELECT a FROM t WHERE a > > 2",
        "SELECT CASE WHEN a 'x' END FROM t",
        "SELECT a FROM t WHERE b BETWEEN 1 5",
        "SELECT a FROM t WHERE b = *",
        "UPDATE t SET a, 2 WHERE b = 1",
        "INSERT INTO t (a b) VALUES (1, 2)",
        "SELECT (a FROM t",
        "SELECT a) FROM t",
        "SELECT 'a FROM t",
        "SELECT /* a FROM t",
        "SELECT a\x00 FROM t",
        "SELECT a FROM t JOIN",
    ],
)
def test_what_does_not_parse_is_malformed_and_critical(query: str) -> None:
    finding = verify(query)

    assert (finding.status, finding.failure, finding.risk) == (
        Status.FAILED,
        Failure.MALFORMED,
        Risk.CRITICAL,
    )
    assert "parsed" in finding.checks_failed
    assert finding.evidence["problems"]


def test_no_text_at_all_is_malformed() -> None:
    finding = ENGINE.verify(Action("execute_sql"))

    assert (finding.status, finding.failure, finding.risk) == (
        Status.FAILED,
        Failure.MALFORMED,
        Risk.CRITICAL,
    )


def test_an_unknown_dialect_is_malformed() -> None:
    finding = verify("SELECT 1", dialect="klingon")

    assert (finding.status, finding.failure) == (Status.FAILED, Failure.MALFORMED)
    assert "klingon" in finding.reason


@pytest.mark.parametrize(
    ("dialect", "query"),
    [
        ("PostgreSQL", "SELECT data->>'a' FROM t WHERE tags @> ARRAY['x']"),
        ("mysql", 'SELECT `a` FROM t WHERE name = "x" LIMIT 5, 10 # note'),
        ("MariaDB", "SELECT IFNULL(a, 0) FROM t"),
        ("sqlite", "SELECT strftime('%Y', d) FROM [t] WHERE a GLOB 'x*'"),
        ("SQL Server", "SELECT TOP 5 [a] FROM dbo.t WITH (NOLOCK) ORDER BY [a]"),
        ("snowflake", "SELECT a FROM t QUALIFY ROW_NUMBER() OVER (ORDER BY b) = 1"),
        ("bigquery", "SELECT * EXCEPT (a) FROM `p.d.t`, UNNEST(xs) AS x"),
    ],
)
def test_each_dialect_reads_its_own(dialect: str, query: str) -> None:
    declared, undeclared = verify(query, dialect=dialect), verify(query)

    assert (declared.status, declared.risk) == (Status.VERIFIED, Risk.LOW)
    assert (undeclared.status, undeclared.risk) == (Status.VERIFIED, Risk.LOW)


def test_a_text_of_another_dialect_does_not_parse_in_the_declared_one() -> None:
    assert verify("SELECT `a` FROM t", dialect="postgres").failure is Failure.MALFORMED
    assert verify("SELECT `a` FROM t", dialect="mysql").status is Status.VERIFIED


def test_stacked_reads_are_critical_and_stacked_writes_are_forbidden() -> None:
    reads = verify("SELECT 1; SELECT 2")
    writes = verify("SELECT 1; DELETE FROM t WHERE id = 1")

    assert (reads.status, reads.risk) == (Status.VERIFIED, Risk.CRITICAL)
    assert (writes.status, writes.failure, writes.risk) == (Status.FAILED, Failure.FORBIDDEN, Risk.CRITICAL)
    assert writes.checks_failed == ("no_stacked_writes",)


def test_a_trailing_semicolon_stacks_nothing() -> None:
    assert verify("SELECT 1;").risk is Risk.LOW
    assert verify("SELECT 1; ; -- the end of it").risk is Risk.LOW


def test_the_statements_of_a_block_are_found_but_the_block_is_not_proven() -> None:
    finding = verify("DO $$ BEGIN DELETE FROM users; END $$")
    kinds = [item["kind"] for item in finding.evidence["statements"]]

    assert (finding.status, finding.risk) == (Status.UNCERTAIN, Risk.CRITICAL)
    assert kinds == ["procedure", "delete"]


def test_what_a_block_would_do_to_the_server_is_forbidden() -> None:
    finding = verify("DO $$ BEGIN PERFORM 1; SELECT pg_read_file('/etc/passwd'); END $$")

    assert (finding.status, finding.failure) == (Status.FAILED, Failure.FORBIDDEN)


@pytest.mark.parametrize(
    "query",
    [
        "PREPARE p AS DELETE FROM users",
        "EXECUTE IMMEDIATE 'DELETE FROM users'",
        "CREATE FUNCTION f() RETURNS int AS $$ DELETE FROM users; SELECT 1 $$ LANGUAGE sql",
    ],
)
def test_statements_inside_statements_count(query: str) -> None:
    verdict = inspect_sql(query)

    assert StatementKind.DELETE in verdict.kinds
    assert verdict.risk is Risk.CRITICAL
    assert not verdict.is_read


def test_executable_comments_are_code_whatever_dialect_is_declared() -> None:
    query = "SELECT 1 /*!50000 ; DROP TABLE users */"

    for dialect in (None, "mysql", "postgres"):
        verdict = inspect_sql(query, dialect)
        assert verdict.failure is Failure.FORBIDDEN
        assert not verdict.is_read


def test_a_comment_that_is_no_code_stays_a_comment() -> None:
    verdict = inspect_sql("SELECT 1 /* ; DROP TABLE users */")

    assert verdict.is_read


def test_a_function_nobody_knows_is_left_to_a_person_unless_the_rules_know_it() -> None:
    from qwed.engines.sql import SqlRules

    query = "SELECT tax_of(total) FROM orders"

    assert verify(query).status is Status.UNCERTAIN
    assert inspect_sql(query, rules=SqlRules(known_functions=("tax_of",))).is_read


def test_a_verdict_for_other_guards_says_whether_it_is_a_read() -> None:
    assert inspect_sql("SELECT a FROM t").is_read
    assert not inspect_sql("DROP TABLE t").is_read
    assert not inspect_sql("SELECT 1; SELECT 2").is_read
    assert not inspect_sql("not sql at all").is_read
    assert inspect_sql("SELECT 1", "klingon").failure is Failure.MALFORMED
    assert inspect_sql("SELECT a FROM s.t").tables == ("s.t",)
