"""Names and types against a schema, in every form a schema is given."""

import json
import sqlite3

import pytest

from qwed.domain.actions import Action
from qwed.domain.findings import Failure, Finding, Status
from qwed.domain.risk import Risk
from qwed.engines.sql import SqlEngine
from qwed.engines.sql.schema import TypeFamily, UnreadableSchema, family_of, read_schema

ENGINE = SqlEngine()
DDL = """
-- staff and what they do (see "the manual")
CREATE TABLE IF NOT EXISTS employees (
  id INTEGER PRIMARY KEY,
  name VARCHAR(50) NOT NULL DEFAULT 'nobody (yet)',
  manager_id INTEGER REFERENCES employees(id),
  hired DATE, salary NUMERIC(10, 2) DEFAULT 0,
  key TEXT, "order" INT, `full name` TEXT,
  CONSTRAINT positive CHECK (salary > 0), UNIQUE (name)
);
CREATE TABLE main.projects ("id" int, "Title" text, owner_id int,
  PRIMARY KEY ("id"), FOREIGN KEY (owner_id) REFERENCES employees (id));
CREATE VIEW busy AS SELECT * FROM employees;
INSERT INTO employees VALUES (1, 'a, (b', NULL, '2020-01-01', 1, 'k', 1, 'x');
"""


def verify(query: str, schema: object = DDL, **parameters: object) -> Finding:
    return ENGINE.verify(Action("execute_sql", query, parameters={"schema": schema, **parameters}))


def broken(finding: Finding) -> list[str]:
    return [problem["rule"] for problem in finding.evidence.get("problems", ())]


def test_ddl_is_read_for_its_columns_and_their_families() -> None:
    tables = read_schema(DDL).tables

    assert set(tables) == {"employees", "projects", "main.projects", "busy"}
    assert tables["employees"].columns == {
        "id": TypeFamily.NUMBER,
        "name": TypeFamily.TEXT,
        "manager_id": TypeFamily.NUMBER,
        "hired": TypeFamily.TIME,
        "salary": TypeFamily.NUMBER,
        "key": TypeFamily.TEXT,
        "order": TypeFamily.NUMBER,
        "full name": TypeFamily.TEXT,
    }
    assert set(tables["projects"].columns) == {"id", "title", "owner_id"}
    assert tables["busy"].is_open


@pytest.mark.parametrize(
    ("given", "family"),
    [
        ("int8", TypeFamily.NUMBER),
        ("unsigned big int", TypeFamily.NUMBER),
        ("DOUBLE PRECISION", TypeFamily.NUMBER),
        ("character varying(20)", TypeFamily.TEXT),
        ("VARCHAR2(20 CHAR)", TypeFamily.TEXT),
        ("timestamp with time zone", TypeFamily.TIME),
        ("bool", TypeFamily.BOOLEAN),
        ("jsonb", TypeFamily.OTHER),
        ("int[]", TypeFamily.OTHER),
        ("", TypeFamily.OTHER),
    ],
)
def test_a_type_belongs_to_a_family(given: str, family: TypeFamily) -> None:
    assert family_of(given) is family


@pytest.mark.parametrize(
    "ddl",
    [
        "CREATE TABLE `t` (`id` int(11) NOT NULL AUTO_INCREMENT, `key` varchar(20), PRIMARY KEY (`id`), "
        "KEY `idx_key` (`key`), UNIQUE KEY uq (`key`), FULLTEXT KEY ft (`key`)) ENGINE=InnoDB",
        "CREATE TABLE [dbo].[t] ([id] INT IDENTITY(1,1) NOT NULL, [key] NVARCHAR(20) NULL, "
        "CONSTRAINT [pk] PRIMARY KEY CLUSTERED ([id]))",
        "create temp table t(id integer, key text, check (id > 0))",
        "CREATE OR REPLACE TABLE p.d.t (id INT64 OPTIONS(description='a, b'), key STRING) PARTITION BY id",
        'CREATE TABLE t (\n\tid INTEGER, \n\t"key" TEXT\n)\n\n/*\n3 rows:\nid\tkey\n1\tx (y\n*/',
    ],
)
def test_dumps_of_every_dialect_have_the_same_columns(ddl: str) -> None:
    table = read_schema(ddl).tables["t"]

    assert list(table.columns) == ["id", "key"]


@pytest.mark.parametrize(
    "schema",
    [
        {"users": ["id", "name"]},
        {"users": {"id": "int", "name": "text"}},
        {"users": {"columns": [{"name": "id", "type": "int"}, {"name": "name"}]}},
        {"tables": {"users": ["id", "name"]}},
        {"tables": [{"name": "users", "columns": ["id", {"name": "name", "type": "text"}]}]},
        [{"table": "users", "columns": [["id", "int"], ["name", "text"]]}],
    ],
)
def test_json_schemas_come_in_many_shapes(schema: object) -> None:
    for given in (schema, json.dumps(schema)):
        assert verify("SELECT u.ID FROM Users u WHERE u.name = 'x'", given).status is Status.VERIFIED
        assert verify("SELECT u.nope FROM users u", given).failure is Failure.INCORRECT


@pytest.mark.parametrize(
    "schema", ["nonsense", "", "{", 5, True, {"users": 3}, [1], [{"columns": ["a"]}], {}]
)
def test_a_schema_that_cannot_be_read_leaves_the_answer_open(schema: object) -> None:
    finding = verify("SELECT id FROM users", schema)

    assert (finding.status, finding.checks_failed) == (Status.UNCERTAIN, ("matches_schema",))


def test_an_unreadable_schema_does_not_hide_an_injection() -> None:
    assert verify("SELECT id FROM users WHERE id = 1 OR 1=1", "nonsense").failure is Failure.FORBIDDEN


def test_reading_a_schema_raises_one_error_only() -> None:
    with pytest.raises(UnreadableSchema, match="no table"):
        read_schema("SELECT 1")


GOOD = [
    "SELECT name, salary FROM employees WHERE salary > 10 ORDER BY hired",
    'SELECT "order", key, `full name` FROM employees ORDER BY "order"',
    "SELECT e.name, m.name AS manager FROM employees e LEFT JOIN employees m ON e.manager_id = m.id",
    "SELECT E.NAME FROM EMPLOYEES AS E",
    "SELECT main.projects.title FROM main.projects",
    "SELECT name AS n FROM employees ORDER BY n",
    "SELECT manager_id AS boss, COUNT(*) AS n FROM employees GROUP BY boss HAVING n > 1 ORDER BY n DESC, 1",
    "SELECT id FROM employees JOIN projects USING (id)",
    "SELECT id, title FROM employees NATURAL JOIN projects",
    "SELECT * FROM (SELECT name, salary * 2 AS twice FROM employees) x WHERE x.twice > 3 AND name <> ''",
    "SELECT x.a FROM (SELECT 1 AS a UNION ALL SELECT 2) x",
    "WITH t(a, b) AS (SELECT id, name FROM employees) SELECT a, b FROM t WHERE b LIKE 'x%'",
    "WITH t AS (SELECT id AS a FROM employees), u AS (SELECT a + 1 AS b FROM t) SELECT t.a, u.b FROM t, u "
    "WHERE t.a = u.b",
    "WITH RECURSIVE up(id, depth) AS (SELECT id, 0 FROM employees UNION ALL SELECT e.manager_id, depth + 1 "
    "FROM employees e JOIN up ON e.id = up.id) SELECT id, depth FROM up",
    "SELECT name FROM employees e WHERE EXISTS (SELECT 1 FROM projects WHERE owner_id = e.id AND key = 'k')",
    "SELECT name FROM employees WHERE id IN (SELECT owner_id FROM projects WHERE salary > 3)",
    "SELECT name, RANK() OVER (PARTITION BY manager_id ORDER BY salary DESC) AS place FROM employees",
    "SELECT name, SUM(salary) OVER w FROM employees WINDOW w AS (PARTITION BY manager_id)",
    "SELECT (SELECT MAX(salary) FROM employees) - (SELECT MIN(salary) FROM employees) AS spread",
    "SELECT name FROM employees UNION SELECT title FROM projects ORDER BY name",
    "SELECT e.*, p.title FROM employees e, projects p WHERE p.owner_id = e.id",
    "SELECT anything FROM busy",
    "SELECT rowid, name FROM employees",
    "SELECT COUNT(DISTINCT p.title) FROM projects AS p",
    "SELECT p.title FROM (employees AS e JOIN projects AS p ON e.id = p.owner_id)",
    "UPDATE employees SET salary = salary * 2 WHERE manager_id IN (SELECT owner_id FROM projects)",
    "INSERT INTO projects (id, title) VALUES (1, 'x') ON CONFLICT (id) DO UPDATE SET title = excluded.title",
    "INSERT INTO projects SELECT id, name, manager_id FROM employees",
    "DELETE FROM projects WHERE owner_id = 3 AND title = 'x'",
    "SELECT name FROM employees WHERE hired > '2020-01-01' AND salary IN (1, '2', 3.5)",
    'SELECT name FROM employees WHERE name = "Ada"',
    "EXPLAIN SELECT name FROM employees",
]


@pytest.mark.parametrize("query", GOOD)
@pytest.mark.parametrize("dialect", ["sqlite", None])
def test_a_right_query_raises_no_false_alarm(query: str, dialect: str | None) -> None:
    finding = verify(query, **({"dialect": dialect} if dialect else {}))

    assert finding.status is Status.VERIFIED, finding.evidence
    assert "matches_schema" in finding.checks_passed


BAD = [
    ("SELECT nam FROM employees", "unknown_column"),
    ("SELECT e.nam FROM employees e", "unknown_column"),
    ("SELECT name FROM staff", "unknown_table"),
    ("SELECT x.name FROM employees e", "unknown_table"),
    ("SELECT employees.name FROM employees AS e", "unknown_table"),
    ("SELECT id FROM employees JOIN projects ON employees.id = projects.owner_id", "ambiguous_column"),
    ("SELECT name FROM employees WHERE wage > 3", "unknown_column"),
    ("SELECT name FROM employees ORDER BY wage", "unknown_column"),
    ("SELECT name FROM employees GROUP BY wage", "unknown_column"),
    ("SELECT x.salary FROM (SELECT name FROM employees) x", "unknown_column"),
    ("WITH t AS (SELECT name FROM employees) SELECT salary FROM t", "unknown_column"),
    (
        "SELECT name FROM employees WHERE EXISTS (SELECT 1 FROM projects p WHERE p.owner = 1)",
        "unknown_column",
    ),
    ("SELECT name FROM employees JOIN projects USING (title)", "unknown_column"),
    ("SELECT name FROM employees UNION SELECT id, title FROM projects", "column_count"),
    ("SELECT name FROM employees ORDER BY 4", "column_count"),
    ("INSERT INTO projects (id, titel) VALUES (1, 'x')", "unknown_column"),
    ("INSERT INTO projects (id, title) VALUES (1)", "column_count"),
    ("INSERT INTO projects VALUES (1, 'x')", "column_count"),
    ("UPDATE employees SET wage = 1 WHERE id = 1", "unknown_column"),
    ("DELETE FROM employees WHERE wage = 1", "unknown_column"),
    ("EXPLAIN SELECT nam FROM employees", "unknown_column"),
]


@pytest.mark.parametrize(("query", "rule"), BAD)
@pytest.mark.parametrize("dialect", ["sqlite", "postgres", None])
def test_a_wrong_name_is_found_with_the_node_that_offends(query: str, rule: str, dialect: str | None) -> None:
    finding = verify(query, **({"dialect": dialect} if dialect else {}))

    assert (finding.status, finding.failure) == (Status.FAILED, Failure.INCORRECT)
    assert rule in broken(finding)
    assert finding.evidence["problems"][0]["node"]


def test_sqlite_itself_agrees_on_every_example() -> None:
    connection = sqlite3.connect(":memory:")
    connection.executescript(DDL)

    for query in GOOD:
        if "anything" not in query and "FULL" not in query:
            connection.execute(query if query.startswith("EXPLAIN") else f"EXPLAIN {query}")
    for query, _ in BAD:
        with pytest.raises(sqlite3.Error):
            connection.execute(query if query.startswith("EXPLAIN") else f"EXPLAIN {query}")


@pytest.mark.parametrize(
    ("query", "dialect"),
    [
        ("SELECT name FROM employees WHERE salary = 'lots'", None),
        ("SELECT name FROM employees WHERE salary > 'lots'", "mysql"),
        ("SELECT name FROM employees WHERE salary IN (1, 'two')", "postgres"),
        ("SELECT name FROM employees WHERE salary BETWEEN 'low' AND 'high'", "postgres"),
        ("SELECT name FROM employees WHERE hired > 'recently'", "postgres"),
        ("SELECT name FROM employees WHERE name = 5", "postgres"),
        ("SELECT e.name FROM employees e JOIN projects p ON e.name = p.owner_id", "postgres"),
        ("INSERT INTO projects (id, title) VALUES ('one', 'x')", "postgres"),
    ],
)
def test_types_that_cannot_be_compared_are_found(query: str, dialect: str | None) -> None:
    finding = verify(query, **({"dialect": dialect} if dialect else {}))

    assert (finding.status, finding.failure) == (Status.FAILED, Failure.INCORRECT)
    assert broken(finding) == ["type_mismatch"] * len(broken(finding))


def test_sqlite_compares_anything_with_anything_so_it_is_only_warned() -> None:
    finding = verify("SELECT name FROM employees WHERE salary = 'lots'", dialect="sqlite")

    assert finding.status is Status.VERIFIED
    assert [warning["rule"] for warning in finding.evidence["warnings"]] == ["type_mismatch"]


USERS = {"users": {"id": "int", "email": "text", "password_hash": "text"}}


class TestForbiddenColumns:
    def test_a_sensitive_column_is_refused_on_request(self) -> None:
        query = "SELECT password_hash FROM users"

        assert verify(query, USERS).status is Status.VERIFIED
        refused = verify(query, USERS, no_sensitive_columns=True)
        assert (refused.failure, refused.risk) == (Failure.FORBIDDEN, Risk.HIGH)
        assert refused.checks_failed == ("no_sensitive_columns",)

    def test_a_list_names_what_else_is_forbidden(self) -> None:
        for parameters in ({"forbidden_columns": ["EMAIL"]}, {"no_sensitive_columns": ["email"]}):
            assert verify("SELECT u.Email FROM users u", USERS, **parameters).failure is Failure.FORBIDDEN
            assert verify("SELECT id FROM users", USERS, **parameters).status is Status.VERIFIED

    def test_a_star_shows_them_too(self) -> None:
        for query in ("SELECT * FROM users", "SELECT u.* FROM users u"):
            assert verify(query, USERS, no_sensitive_columns=True).failure is Failure.FORBIDDEN

    def test_a_star_without_a_schema_is_left_to_a_person(self) -> None:
        finding = ENGINE.verify(
            Action("execute_sql", "SELECT * FROM users", parameters={"no_sensitive_columns": True})
        )

        assert finding.status is Status.UNCERTAIN

    def test_counting_rows_shows_nothing(self) -> None:
        assert (
            verify("SELECT COUNT(*) FROM users", USERS, no_sensitive_columns=True).status is Status.VERIFIED
        )
