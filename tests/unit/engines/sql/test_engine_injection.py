"""Injection is seen in its context, and only there."""

import pytest
from tests.corpora import sql_injection

from qwed.domain.actions import Action
from qwed.domain.findings import Failure, Finding, Status
from qwed.domain.risk import Risk
from qwed.engines.sql import SqlEngine, SqlRules, inspect_sql

ENGINE = SqlEngine()


def verify(query: str, **parameters: object) -> Finding:
    return ENGINE.verify(Action("execute_sql", query, parameters=parameters))


def rules_broken(finding: Finding) -> set[str]:
    return {problem["rule"] for problem in finding.evidence.get("problems", ())}


def test_three_thousand_generated_injections_are_all_refused() -> None:
    missed = []
    for query in sql_injection.injections(seed=3, count=3_000):
        finding = verify(query)
        if finding.status is not Status.FAILED or finding.risk < Risk.HIGH:
            missed.append(query)

    assert missed == []


@pytest.mark.parametrize("dialect", ["postgres", "mysql", "sqlite", "tsql", "snowflake", "bigquery"])
def test_generated_injections_are_refused_in_each_declared_dialect(dialect: str) -> None:
    queries = sql_injection.injections(seed=11, count=150)
    missed = [query for query in queries if verify(query, dialect=dialect).status is not Status.FAILED]

    assert missed == []


@pytest.mark.parametrize(
    ("condition", "rule"),
    [
        ("id = 1 OR 1=1", "tautology"),
        ("id = 1 OR 'a'='a'", "tautology"),
        ("id = 1 OR 2>1", "tautology"),
        ("id = 1 OR NOT 1=2", "tautology"),
        ("id = 1 OR 1", "tautology"),
        ("id = 1 OR ''=''", "tautology"),
        ("id = 1 OR 1 LIKE 1", "tautology"),
        ("id = 1 OR x=x", "tautology"),
        ("id = 1 || 1", "tautology"),
        ("id = '' = ''", "tautology"),
        ("id = ''-''", "tautology"),
        ("id = 1 OR id IS NULL OR id IS NOT NULL", "tautology"),
        ("id = 1 OR (id = 5 OR id <> 5)", "tautology"),
        ("id = 1 OR name LIKE '%'", "tautology"),
        ("id = 1 OR 1=1 AND active", "constant_condition"),
        ("id = 1 AND 5=5", "constant_condition"),
        ("id = 1 AND 5=6", "constant_condition"),
        ("id = 1 AND 'a'='a'", "constant_condition"),
        ("id = 1 AND version() LIKE '5%'", "blind_probe"),
        ("id = 1 AND EXISTS (SELECT 1 FROM admins)", "blind_probe"),
        ("id = 1 AND SUBSTRING((SELECT pw FROM u), 1, 1) = 'a'", "blind_probe"),
        ("id = 1 AND 1 = CAST((SELECT pw FROM u LIMIT 1) AS int)", "error_probe"),
        ("id = 1 AND x = 1/0", "error_probe"),
        ("id = 1 AND name = CHR(65)||CHR(66)||CHR(67)", "obfuscation"),
        ("id = 1 AND sleep(5) > 0", "time_probe"),
    ],
)
def test_a_condition_that_no_honest_query_needs_is_forbidden(condition: str, rule: str) -> None:
    finding = verify(f"SELECT * FROM users WHERE {condition}")

    assert (finding.status, finding.failure, finding.risk) == (
        Status.FAILED,
        Failure.FORBIDDEN,
        Risk.CRITICAL,
    )
    assert rule in rules_broken(finding)


@pytest.mark.parametrize(
    "condition",
    [
        "1=1",
        "1=0",
        "TRUE",
        "1=1 AND a = 2",
        "(1=1 AND a = 2) AND b = 3",
        "1=0 OR a = 1 OR a = 2",
        "a = b OR c = d",
        "a IS NULL OR a = ''",
        "a IS NOT NULL OR b IS NOT NULL",
        "(:name IS NULL OR name = :name)",
        "a = 'x' OR b = 'OR 1=1'",
        "owner = current_user",
        "a || ' ' || b = 'x y'",
        "x <> x",
        "EXISTS (SELECT 1 FROM u WHERE u.id = t.id)",
        "SUBSTRING(name, 1, 1) = 'A'",
        "price = CAST('3' AS int)",
        "n > (SELECT AVG(n) FROM t)",
    ],
)
def test_everyday_conditions_are_left_alone(condition: str) -> None:
    finding = verify(f"SELECT * FROM t WHERE {condition}")

    assert (finding.status, finding.risk) == (Status.VERIFIED, Risk.LOW), finding.evidence


@pytest.mark.parametrize(
    "arm",
    [
        "SELECT NULL, NULL",
        "SELECT 1, 2",
        "SELECT 'a', NULL",
        "SELECT login, password FROM accounts",
        "SELECT 1, login FROM accounts",
        "SELECT version(), 'x'",
        "SELECT @@version, 2",
        "SELECT table_name, 'x' FROM information_schema.tables",
    ],
)
def test_a_smuggled_arm_of_a_union_is_forbidden(arm: str) -> None:
    finding = verify(f"SELECT name, price FROM products WHERE id = 3 UNION {arm}")

    assert (finding.status, finding.failure) == (Status.FAILED, Failure.FORBIDDEN)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT name FROM a UNION SELECT name FROM b",
        "SELECT region, SUM(x) FROM s GROUP BY region UNION ALL SELECT 'Total', SUM(x) FROM s",
        "SELECT id, name, email FROM a UNION ALL SELECT id, name, NULL FROM b",
        "SELECT id, name FROM a UNION ALL SELECT 0, 'All'",
        "SELECT 1 AS part, id FROM a UNION ALL SELECT 2, id FROM b",
        "SELECT 'a' AS k, 1 AS v UNION ALL SELECT 'b', 2",
        "SELECT login, password FROM a UNION SELECT login, password FROM b",
    ],
)
def test_a_union_of_real_queries_is_a_read(query: str) -> None:
    finding = verify(query)

    assert (finding.status, finding.risk) == (Status.VERIFIED, Risk.LOW), finding.evidence


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM users WHERE name = 'admin'--'",
        "SELECT * FROM users WHERE name = 'admin' -- ' AND password = 'x'",
        "SELECT * FROM users WHERE (name = 'admin') -- ') AND ok",
        "SELECT * FROM users WHERE id = 1 --",
        "SELECT * FROM users WHERE id = 1 -- -",
        "SELECT * FROM users WHERE id = 1-- AND active = 1",
        "SELECT * FROM users WHERE id = 1 #' AND active",
        "SELECT/**/name/**/FROM/**/users",
    ],
)
def test_a_comment_that_cuts_off_or_stands_for_a_blank_is_forbidden(query: str) -> None:
    finding = verify(query)

    assert (finding.status, finding.failure) == (Status.FAILED, Failure.FORBIDDEN)
    assert rules_broken(finding) & {"comment_truncation", "comment_as_blank"}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id -- the primary key\nFROM users -- don't forget the index",
        "/* monthly report: 'all' regions */ SELECT a FROM t",
        "SELECT a, -- 'A' = active\n b FROM t",
        "SELECT a FROM t -- WHERE b = 1",
        "-- users' names\nSELECT name FROM users",
        "SELECT a /* x */ FROM t",
        "SELECT a FROM t WHERE b = '-- not a comment' AND c = '/* nor this */'",
    ],
)
def test_comments_that_explain_are_left_alone(query: str) -> None:
    finding = verify(query)

    assert (finding.status, finding.risk) == (Status.VERIFIED, Risk.LOW), finding.evidence


@pytest.mark.parametrize(
    ("query", "rule"),
    [
        ("SELECT pg_read_file('/etc/passwd')", "file_access"),
        ("SELECT load_file('/etc/passwd')", "file_access"),
        ("SELECT lo_import('/etc/passwd')", "file_access"),
        ("SELECT load_extension('x')", "file_access"),
        ("SELECT * FROM OPENROWSET('a', 'b', 'c')", "file_access"),
        ("SELECT * FROM dblink('host=x', 'SELECT 1') AS t(a int)", "network_access"),
        ("SELECT utl_http.request('http://x') FROM dual", "network_access"),
        ("SELECT * FROM EXTERNAL_QUERY('c', 'SELECT 1')", "network_access"),
        ("EXEC xp_cmdshell 'dir'", "command_execution"),
        ("COPY t TO PROGRAM 'sh'", "command_execution"),
        ("COPY t TO '/tmp/x'", "file_access"),
        ("SELECT query_to_xml('DELETE FROM t', true, true, '')", "command_execution"),
        ("SELECT pg_terminate_backend(1)", "administration"),
        ("ATTACH DATABASE 'x.db' AS y", "file_access"),
        ("SELECT benchmark(1000000, md5('a'))", "time_probe"),
        ("SELECT randomblob(1000000000)", "time_probe"),
        ("SELECT extractvalue(1, concat(0x7e, version()))", "error_probe"),
    ],
)
def test_functions_that_reach_outside_are_forbidden(query: str, rule: str) -> None:
    finding = verify(query)

    assert (finding.status, finding.failure, finding.risk) == (
        Status.FAILED,
        Failure.FORBIDDEN,
        Risk.CRITICAL,
    )
    assert rule in rules_broken(finding)


def test_columns_that_sound_like_functions_are_columns() -> None:
    assert verify("SELECT sleep, benchmark, load_file FROM t").risk is Risk.LOW


def test_credential_catalogs_are_never_allowed_and_metadata_only_by_rule() -> None:
    lenient = SqlEngine(SqlRules(allow_system_catalogs=True))
    metadata = Action("execute_sql", "SELECT table_name FROM information_schema.tables")
    credentials = Action("execute_sql", "SELECT usename, passwd FROM pg_shadow")

    assert (ENGINE.verify(metadata).failure, ENGINE.verify(metadata).risk) == (Failure.FORBIDDEN, Risk.HIGH)
    assert (lenient.verify(metadata).status, lenient.verify(metadata).risk) == (Status.VERIFIED, Risk.MEDIUM)
    for engine in (ENGINE, lenient):
        found = engine.verify(credentials)
        assert (found.failure, found.risk) == (Failure.FORBIDDEN, Risk.CRITICAL)


def test_a_cte_may_be_called_like_a_catalog() -> None:
    assert verify("WITH sysusers AS (SELECT 1 AS a) SELECT a FROM sysusers").status is Status.VERIFIED


def test_a_cartesian_join_is_reported_and_refused_only_by_rule() -> None:
    query = "SELECT * FROM a, b"
    reported = verify(query)
    refused = SqlEngine(SqlRules(reject_cartesian_joins=True)).verify(Action("execute_sql", query))

    assert reported.status is Status.VERIFIED
    assert [warning["rule"] for warning in reported.evidence["warnings"]] == ["cartesian_join"]
    assert (refused.status, refused.checks_failed) == (Status.FAILED, ("no_cartesian_joins",))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM a, b WHERE a.id = b.id",
        "SELECT * FROM a JOIN b USING (id)",
        "SELECT * FROM a NATURAL JOIN b",
    ],
)
def test_a_join_with_a_condition_is_not_cartesian(query: str) -> None:
    assert "warnings" not in verify(query).evidence


class TestValues:
    """Strings that travel beside the text."""

    payload = "' OR 1=1 --"

    def test_a_bound_value_is_data(self) -> None:
        for query in (
            "SELECT * FROM t WHERE a = ?",
            "SELECT * FROM t WHERE a = :name",
            "SELECT a FROM t WHERE a = %s",
        ):
            finding = verify(query, params={"name": self.payload})
            assert finding.status is Status.VERIFIED
            assert finding.evidence["bound_values"] == 1

    def test_a_value_that_nothing_binds_must_not_change_the_statement(self) -> None:
        finding = verify("SELECT * FROM t WHERE a = 1", name=self.payload)

        assert (finding.status, finding.failure, finding.risk) == (
            Status.FAILED,
            Failure.FORBIDDEN,
            Risk.CRITICAL,
        )
        assert rules_broken(finding) == {"injected_value"}

    def test_an_everyday_value_is_nothing_to_worry_about(self) -> None:
        for value in ("O'Brien", "fish & chips; no salt", "select a colour", "50% off -- today only", "a=b"):
            assert verify("SELECT * FROM t WHERE a = 1", note=value).status is Status.VERIFIED, value

    def test_a_template_is_filled_in_before_it_is_read(self) -> None:
        query = "SELECT * FROM t WHERE a = '{name}'"

        assert verify(query, name="Ada").status is Status.VERIFIED
        assert verify(query, name=self.payload).failure is Failure.FORBIDDEN

    def test_sql_in_the_parameters_is_read_as_well(self) -> None:
        finding = verify("SELECT 1", sql="DROP TABLE users")

        assert finding.risk is Risk.CRITICAL
        assert "ddl" in [item["kind"] for item in finding.evidence["statements"]]


@pytest.mark.parametrize(
    "query",
    [
        "WITH pg_shadow AS (SELECT * FROM pg_shadow) SELECT * FROM pg_shadow",
        'SELECT "pg_sleep"(5)',
        'SELECT "pg_catalog"."pg_sleep"(5)',
        "SELECT * FROM t WHERE id = 1 --1 OR 1=1",
        "SELECT * FROM t WHERE a = '\\' AND b = ' OR 1=1 -- '",
        "EXEC('DROP TABLE x')",
        "SELECT * FROM csv.`/etc/passwd`",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM (SELECT * FROM users WHERE id = 1 UNION SELECT NULL, NULL) x",
        "USE mysql; SELECT * FROM user",
    ],
)
def test_ways_around_are_closed(query: str) -> None:
    assert verify(query).failure is Failure.FORBIDDEN


@pytest.mark.parametrize("name", ["to_archive", "date_purge", "summon", "json2disk", "listing_cleanup"])
def test_a_function_is_not_harmless_because_its_name_begins_like_one_that_is(name: str) -> None:
    assert verify(f"SELECT {name}(id) FROM t").status is Status.UNCERTAIN


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id, title FROM notes WHERE id = 7 UNION SELECT * FROM invoices",
        "SELECT * FROM notes WHERE id = -7 UNION ALL SELECT * FROM site_admins",
        "SELECT a FROM notes WHERE b = '' || (SELECT c FROM d) || ''",
    ],
)
def test_another_table_is_not_taken_whole_nor_spliced_in(text: str) -> None:
    assert inspect_sql(text).failure is Failure.FORBIDDEN


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM orders_2023 UNION ALL SELECT * FROM orders_2024",
        "SELECT email FROM customers UNION SELECT email FROM admins",
        "SELECT first || ' ' || last FROM people WHERE first || last <> ''",
    ],
)
def test_a_union_of_like_tables_is_a_read(text: str) -> None:
    assert inspect_sql(text).failure is None


@pytest.mark.parametrize(
    "value",
    [
        "x' waitfor delay '0:0:9'--",
        "x' into outfile '/srv/a.txt'--",
        "7 procedure analyse()",
        "x' or 7=7/*",
        "7) or (7=7",
        "x'%20or%207=7--",
    ],
)
def test_a_value_meant_for_one_database_only_is_refused_too(value: str) -> None:
    for parameters in ({"name": value}, {"values": [value]}):
        finding = SqlEngine().verify(
            Action("execute_sql", "SELECT a FROM t WHERE b = '{}'", parameters=parameters)
        )

        assert finding.failure is Failure.FORBIDDEN or finding.failure is Failure.MALFORMED


@pytest.mark.parametrize("value", ["O'Brien", "50% off", "it's /* half */ done", "the delay is 7", "A/B"])
def test_ordinary_values_beside_a_statement_raise_no_alarm(value: str) -> None:
    finding = SqlEngine().verify(Action("execute_sql", "SELECT a FROM t", parameters={"name": value}))

    assert finding.status is Status.VERIFIED
