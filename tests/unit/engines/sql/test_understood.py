"""A read is LOW only where everything in it is on a list of things understood."""

import msgspec
import pytest
from tests.corpora import sql_queries

from qwed.domain.actions import Action
from qwed.domain.findings import Status
from qwed.domain.risk import Risk
from qwed.engines.candidates import find_in
from qwed.engines.sql import SqlEngine, SqlRules, inspect_sql
from qwed.engines.sql import statement_walk as reading_module
from qwed.engines.sql.completeness import complete_statements
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
        ("SELECT repeat(repeat('x', 100000), 100000)", None, Risk.HIGH),
        ("SELECT REPLICATE('x', 1000000000)", None, Risk.HIGH),
        ("SELECT LAST_INSERT_ID(7)", "mysql", Risk.HIGH),
        ("SELECT setseed(0.5)", None, Risk.HIGH),
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


COMPLETE = [
    'DROP TABLE "my invoices"',
    "DROP TABLE `my invoices`",
    "DROP TABLE [my invoices]",
    "DROP TABLE dbo.[my invoices]",
    "DELETE FROM invoices i WHERE i.id = 1",
    "DELETE FROM ONLY x",
    "DELETE x WHERE 1=1",
    "DELETE TOP (10) FROM x",
    "DELETE a, b FROM a INNER JOIN b USING (id)",
    "UPDATE a AS x INNER JOIN b ON x.id = b.id AND b.q = 2 SET x.p=1",
    'UPDATE "long quoted name" SET p=1',
    "UPDATE `long quoted name with a lot of words in it all` SET p=1",
    "TRUNCATE TABLE IF EXISTS x",
    "TRUNCATE TABLE ONLY x",
    "REPLACE LOW_PRIORITY INTO x VALUES (1)",
    "DO LANGUAGE plpgsql $$ begin perform 1; end $$",
    "IF 1=1 DROP TABLE x",
    "IF EXISTS (SELECT 1) DELETE FROM x",
    "BEGIN TRANSACTION DELETE FROM x COMMIT",
    "BEGIN DROP TABLE x END",
    "GO\n DROP TABLE x",
    "SELECT 1 INTO OUTFILE '/tmp/x'",
    "PRAGMA writable_schema(1)",
    "EXECUTE AS LOGIN = 'sa'",
    "xp_cmdshell 'dir'",
    "DENY SELECT ON t TO u",
    "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO DELETE FROM x",
    "DROP EVENT ev",
    "DROP RULE r ON t",
    "DROP TRIGGER tr ON t CASCADE",
    "DROP INDEX i ON t",
    "INSTALL PLUGIN p SONAME 'x.so'",
    "PURGE BINARY LOGS TO 'x'",
    "EXPORT DATA OPTIONS(uri='gs://x') AS SELECT 1",
    "UNLOAD ('select 1') TO 's3://x' IAM_ROLE 'y'",
    "DBCC SHRINKDATABASE (x)",
    "INSERT INTO t VALUES (1)",
    "INSERT INTO t (a, b) VALUES (1, 2)",
    "INSERT INTO t (a, b) SELECT 1, 2",
    "INSERT INTO t SELECT * FROM u",
    "INSERT t VALUES (1)",
    "INSERT INTO t (a) OUTPUT inserted.id VALUES (1)",
    "INSERT OR REPLACE INTO t VALUES (1)",
    "INSERT INTO t DEFAULT VALUES",
    "INSERT INTO t AS x (a) VALUES (1)",
    "INSERT INTO t SET a = 1",
    "INSERT INTO t (SELECT * FROM u)",
    "INSERT OVERWRITE TABLE t SELECT 1",
    "INSERT INTO t PARTITION (d='1') VALUES (1)",
    "CALL do_it(1)",
    "CALL x.do_it()",
    "GRANT ALL PRIVILEGES ON t TO bob",
    "GRANT ALL ON t TO bob",
    "GRANT SELECT, INSERT ON t TO bob",
    "GRANT dba TO bob",
    "GRANT sysdba TO bob",
    "GRANT CREATE SESSION TO bob",
    "REVOKE ALL ON t FROM bob",
    "SET GLOBAL x = 1",
    "SET SESSION x = 1",
    "SET @@global.x = 1",
    "SET PASSWORD = 'x'",
    "SET ROLE admin",
    "SET foo.bar = 1",
    "DELETE FROM users",
    "DELETE FROM users WHERE 1=1",
    "DROP TABLE a, b",
    "DROP TABLE IF EXISTS a CASCADE",
    "DROP USER 'bob'@'localhost'",
    "ALTER TABLE t ADD COLUMN a int",
    "ALTER USER bob WITH PASSWORD 'x'",
    "CREATE TABLE x (id int)",
    "CREATE INDEX i ON t (a)",
    "UPDATE t SET a = 1",
    "MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN DELETE",
    "EXEC xp_cmdshell 'dir'",
    "COPY t TO PROGRAM 'x'",
]


@pytest.mark.parametrize("text", COMPLETE)
def test_a_complete_statement_is_found_among_other_texts(text: str) -> None:
    assert complete_statements(text)
    assert find_in(text) is not None


ENGLISH = """Insert coin (value 1)
insert coin
call me (after 5)
call me (maybe)
grant all wishes to everyone
grant access to Bob
drop table tennis from the schedule
drop table tennis today
set volume = 5
set x = 1
If the delivery is late, call the office
if exists, update the record
if x = 1 then update the record
begin work on Monday
go to the shop
delete from inbox folder
delete the row where it is
delete users from the list
update customers set expectations
update the calendar and set a date
select a colour into outfile
install the app
purge old files
export data as csv
dbcc
deny access to Bob
create event for Monday
create event
drop rule of thumb
create rule of thumb
drop column headers
execute as planned
exec summary
truncate long lines
replace the filter into
insert the key into the lock
insert page break
create user stories examples
create column chart
do language lessons
grant all users access to the page
revoke all permissions from Bob please
set session to start at 5
set local time"""


@pytest.mark.parametrize("text", ENGLISH.splitlines())
def test_a_sentence_that_begins_like_a_statement_is_not_complete(text: str) -> None:
    assert complete_statements(text) == ()


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE USER mallory WITH PASSWORD 'x'",
        "CREATE ROLE admin",
        "CREATE FUNCTION f() RETURNS int AS $$ SELECT 1 $$",
        "CREATE OR REPLACE TRIGGER t BEFORE INSERT ON u EXECUTE FUNCTION f()",
        "ALTER USER bob WITH PASSWORD 'x'",
        "ALTER SYSTEM SET archive_command TO 'x'",
        "ALTER ROLE bob SET x = 1",
        "SET GLOBAL general_log = 1",
        "DROP TABLE users",
    ],
)
def test_a_schema_hides_no_statement(statement: str) -> None:
    table = "CREATE TABLE users (id int);"
    schemas = (
        f"{table}\n{statement};",
        f"{table}\nGO\n{statement}",
        {"tables": [{"name": "users", "columns": ["id"], "post": statement}]},
        {"users": ["id", statement]},
        {"users": {statement: "int"}},
        msgspec.json.encode({"users": ["id", statement]}).decode(),
    )
    for schema in schemas:
        finding = ENGINE.verify(Action("execute_sql", query="SELECT 1", parameters={"schema": schema}))

        assert finding.risk is Risk.CRITICAL, schema


@pytest.mark.parametrize(
    "schema",
    [
        "SET client_encoding = 'UTF8';\nSET SESSION x = 1;\nCREATE SCHEMA app;\nCREATE TABLE app.u (id int);",
        "CREATE EXTENSION IF NOT EXISTS pgcrypto;\nCREATE TYPE mood AS ENUM ('a');\nCREATE TABLE u (id int);",
        "CREATE TABLE u (id int);\nCREATE UNIQUE INDEX i ON u (id);\nCREATE VIEW v AS SELECT id FROM u;",
        "CREATE SEQUENCE s;\nCREATE TABLE u (id int);\nALTER SEQUENCE s OWNED BY u.id;\nCOMMENT ON u IS 'x';",
        {"tables": [{"name": "u", "columns": ["id"], "comment": "update it, set expectations"}]},
        {"u": {"id": "int", "set": "text", "grant": "text"}},
    ],
)
def test_a_schema_that_describes_tables_changes_nothing(schema: object) -> None:
    finding = ENGINE.verify(Action("execute_sql", query="SELECT 1", parameters={"schema": schema}))

    assert (finding.status, finding.risk) == (Status.VERIFIED, Risk.LOW), finding


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("SELECT a FROM t WITH (TABLOCKX)", "tsql"),
        ("SELECT a FROM t WITH (NOLOCK, UPDLOCK)", None),
        ("SELECT a FROM t WITH (SOMEHINT)", "tsql"),
        ("SELECT a FROM t OPTION (MAXRECURSION 0)", "tsql"),
        ("SELECT a FROM t TABLESAMPLE its_own(10)", "postgres"),
        ("SELECT 1 INTO @kept", "mysql"),
        ("SELECT a FROM t SETTINGS max_memory_usage = 0", "clickhouse"),
        ("SUMMARIZE 'people.csv'", "duckdb"),
        ("SELECT * FROM file('/etc/passwd')", None),
        ("SELECT * FROM glob('/home/*')", "duckdb"),
        ("SELECT * FROM TABLE(GENERATOR(ROWCOUNT => 90000000000))", "snowflake"),
        ("SELECT * FROM TABLE(GENERATOR(TIMELIMIT => 3600))", "snowflake"),
        ("SELECT number FROM numbers(90000000000)", "clickhouse"),
        ("SELECT number FROM system.numbers", "clickhouse"),
        ("SELECT array_fill(0, ARRAY[90000000])", "postgres"),
        ("WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL SELECT n FROM a) SELECT count(*) FROM a", None),
        (
            "WITH RECURSIVE a(n) AS (SELECT 1 UNION SELECT n + 1 FROM a WHERE 1 = 1) SELECT n FROM a",
            "postgres",
        ),
        ("SELECT count(*) FROM t a, t b, t c, t d", None),
    ],
)
def test_a_clause_that_locks_reads_files_or_never_ends_is_no_mere_read(
    text: str, dialect: str | None
) -> None:
    finding = ENGINE.verify(
        Action("execute_sql", query=text, parameters={"dialect": dialect} if dialect else {})
    )

    assert (finding.status, finding.risk) != (Status.VERIFIED, Risk.LOW), finding


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("SELECT a FROM t WITH (NOLOCK) JOIN u WITH (READPAST) ON u.a = t.a", "tsql"),
        ("SELECT a FROM t WITH (INDEX(by_name))", "tsql"),
        ("SELECT a FROM t OPTION (RECOMPILE)", "tsql"),
        ("SELECT a FROM t TABLESAMPLE BERNOULLI (10)", "postgres"),
        ("SELECT seq4() FROM TABLE(GENERATOR(ROWCOUNT => 100))", "snowflake"),
        ("SELECT number FROM numbers(10)", "clickhouse"),
        ("SELECT number FROM system.numbers LIMIT 10", "clickhouse"),
        ("WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a WHERE n < 9) SELECT n FROM a", None),
        ("WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a) SELECT n FROM a LIMIT 9", "sqlite"),
        ("SELECT u.a FROM t CROSS JOIN u", None),
        (
            "WITH RECURSIVE up AS (SELECT id, boss FROM staff WHERE id = 12000000 UNION ALL SELECT s.id,"
            " s.boss FROM staff s JOIN up ON s.id = up.boss) SELECT id FROM up",
            None,
        ),
        (
            "WITH RECURSIVE up AS (SELECT id, boss FROM staff UNION ALL SELECT s.id, s.boss FROM staff s, up"
            " WHERE s.id = up.boss AND s.id > 99000000) SELECT id FROM up",
            None,
        ),
    ],
)
def test_clauses_that_only_shape_a_read_stay_low(text: str, dialect: str | None) -> None:
    finding = ENGINE.verify(
        Action("execute_sql", query=text, parameters={"dialect": dialect} if dialect else {})
    )

    assert (finding.status, finding.risk) == (Status.VERIFIED, Risk.LOW), finding


HIDDEN_BY_A_DIALECT = [
    "SELECT '\\'; DROP TABLE t; -- '",
    'SELECT "a\\"; DROP TABLE t; -- "',
    "SELECT 1 --1; DROP TABLE t",
    "SELECT 1 # 1; DROP TABLE t\n",
    "SELECT 1 /* /* */ ; DROP TABLE t; /* */ */",
    "SELECT $$ ; DROP TABLE t; -- $$",
    "SELECT ARRAY[1, '] ; DROP TABLE t; -- ']",
    "SELECT 1 -- \r; DROP TABLE t",
]


@pytest.mark.parametrize("text", HIDDEN_BY_A_DIALECT)
@pytest.mark.parametrize("dialect", ["mysql", "postgres", "tsql", "snowflake", "oracle", "duckdb", None])
def test_the_agents_word_for_the_dialect_hides_no_statement(text: str, dialect: str | None) -> None:
    parameters = {"dialect": dialect} if dialect else {}

    assert ENGINE.verify(Action("execute_sql", query=text, parameters=parameters)).status is Status.FAILED


def test_the_operators_dialect_is_read_whatever_the_agent_names() -> None:
    engine = SqlEngine(SqlRules(default_dialect="postgres"))
    text = "SELECT '\\'; DROP TABLE t; -- '"

    assert (
        engine.verify(Action("execute_sql", query=text, parameters={"dialect": "mysql"})).status
        is Status.FAILED
    )


@pytest.mark.parametrize("dialect", ["mysql", "postgres"])
def test_one_string_is_one_string_where_the_operator_named_the_dialect(dialect: str) -> None:
    engine = SqlEngine(SqlRules(default_dialect=dialect))
    text = {"mysql": "SELECT '\\'; DROP TABLE t; -- '", "postgres": "SELECT $$ ; DROP TABLE t; -- $$"}[
        dialect
    ]

    assert engine.verify(Action("execute_sql", query=text)).status is Status.VERIFIED


@pytest.mark.parametrize("word", ["DELETE", "UPDATE", "INSERT", "MERGE", "GRANT", "FETCH", "RAISERROR"])
@pytest.mark.parametrize("dialect", ["tsql", "postgres", None])
def test_a_word_that_begins_a_statement_of_sql_server_is_no_alias(word: str, dialect: str | None) -> None:
    parameters = {"dialect": dialect} if dialect else {}
    finding = ENGINE.verify(Action("execute_sql", query=f"SELECT 1 {word} FROM users", parameters=parameters))

    assert (finding.status, finding.risk) != (Status.VERIFIED, Risk.LOW), finding


@pytest.mark.parametrize(
    "recursion",
    [
        "SELECT 1 FROM r CROSS JOIN (SELECT 1) AS x",
        "SELECT 1 FROM r JOIN r AS s ON 1 = 1",
        "SELECT 1 FROM (SELECT 1 FROM r) AS x",
        "SELECT n + 1 FROM r WHERE n < 1000000000000",
        "SELECT n + 1 FROM r WHERE n < 1e12",
    ],
)
def test_a_recursion_that_does_not_end_soon_is_left_to_a_person(recursion: str) -> None:
    text = f"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL {recursion}) SELECT count(*) FROM r"
    finding = ENGINE.verify(Action("execute_sql", query=text))

    assert (finding.status, finding.risk) == (Status.UNCERTAIN, Risk.HIGH), finding
