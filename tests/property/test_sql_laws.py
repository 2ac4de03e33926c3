"""Laws of the SQL engine, with SQLite as the independent judge."""

import random
import sqlite3
import string

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.corpora import sql_injection, sql_queries

from qwed.domain.actions import Action
from qwed.domain.findings import Failure, Finding, Status
from qwed.domain.risk import Risk
from qwed.engines.sql import SqlEngine, inspect_sql

ENGINE = SqlEngine()
SEEDS = st.integers(min_value=0, max_value=10**9)
# The opcodes by which a SQLite program changes what lasts; sorting writes, too, but only for itself.
WRITES = {"OpenWrite", "Destroy", "Clear", "CreateBtree", "ParseSchema", "DropTable"}


def verify(query: str, **parameters: object) -> Finding:
    return ENGINE.verify(Action("execute_sql", query, parameters=parameters))


def test_two_thousand_generated_queries_raise_no_false_alarm() -> None:
    alarms = []
    asked = 0
    for base, query in sql_queries.cases(seed=42, count=2_000):
        if base.refuses(query):
            continue
        asked += 1
        finding = verify(query, schema=base.ddl, dialect="sqlite")
        if (finding.status, finding.risk) != (Status.VERIFIED, Risk.LOW):
            alarms.append((query, finding.evidence["problems"]))

    assert alarms == []
    assert asked > 1_900


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_without_a_dialect_a_right_query_is_right_as_well(seed: int) -> None:
    for base, query in sql_queries.cases(seed, 5):
        if base.refuses(query) is None:
            finding = verify(query, schema=base.ddl)
            assert (finding.status, finding.risk) == (Status.VERIFIED, Risk.LOW), (query, finding.evidence)


@given(SEEDS)
@settings(max_examples=150, deadline=None)
def test_a_misspelled_name_is_refused_exactly_when_sqlite_refuses_it(seed: int) -> None:
    rng = random.Random(seed)
    for base, query in sql_queries.cases(seed, 3):
        changed = sql_queries.misnamed(rng, base, query)
        refusal = base.refuses(changed)
        finding = verify(changed, schema=base.ddl, dialect="sqlite")

        if refusal is None:
            assert finding.status is Status.VERIFIED, (changed, finding.evidence)
        # A string in double quotes gives its name to the column; what that name means is SQLite's secret.
        elif '"' not in changed:
            assert finding.failure is Failure.INCORRECT, (changed, refusal)


@given(SEEDS)
@settings(max_examples=150, deadline=None)
def test_a_constant_beside_a_condition_is_never_verified(seed: int) -> None:
    rng = random.Random(seed)
    constant = sql_injection.constant(rng)

    for glue in ("OR", "or", "XOR"):
        finding = verify(f"SELECT * FROM users WHERE id = 3 {glue} {constant}")
        assert finding.status is Status.FAILED, constant


@given(
    st.text(max_size=60).filter(lambda text: "\x00" not in text),
    st.sampled_from(["postgres", "sqlite", "tsql"]),
)
@settings(max_examples=200, deadline=None)
def test_a_properly_quoted_string_is_data_whatever_it_says(value: str, dialect: str) -> None:
    quoted = "'" + value.replace("'", "''") + "'"
    finding = verify(f"SELECT a FROM t WHERE b = {quoted}", dialect=dialect)

    assert (finding.status, finding.risk) == (Status.VERIFIED, Risk.LOW), finding.evidence


WORDS = "SELECT FROM WHERE t a 1 'x' ' \" ( ) , ; -- /* */ * = OR UNION DELETE SET VALUES # WITH AS"
PIECES = st.sampled_from([*WORDS.split(" "), "INSERT INTO", "DROP TABLE", "EXPLAIN", "\n"])


@given(st.lists(PIECES, max_size=14).map(" ".join) | st.text(string.printable, max_size=40))
@settings(max_examples=400, deadline=None)
def test_any_text_gets_an_answer_and_only_what_sqlite_would_not_write_is_a_read(text: str) -> None:
    verdict = inspect_sql(text, "sqlite")
    finding = verify(text, dialect="sqlite")

    assert finding.status in (Status.VERIFIED, Status.FAILED, Status.UNCERTAIN)
    if verdict.is_read:
        assert not _writes(text)
    if finding.failure is Failure.MALFORMED:
        assert finding.risk is Risk.CRITICAL


def _writes(text: str) -> bool:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (a, b)")
    try:
        program = connection.execute(f"EXPLAIN {text}").fetchall()
    except (sqlite3.Error, sqlite3.Warning):
        return False
    return any(step[1] in WRITES for step in program)


@given(SEEDS)
@settings(max_examples=100, deadline=None)
def test_writes_are_never_reads(seed: int) -> None:
    rng = random.Random(seed)
    base, query = sql_queries.cases(seed, 1)[0]
    table = rng.choice(base.tables)
    column = next(iter(table.columns))
    write = rng.choice(
        [
            f"DELETE FROM {table.name} WHERE {column} IN ({query})",
            f"UPDATE {table.name} SET {column} = ({query})",
            f"INSERT INTO {table.name} ({column}) {query}",
            f"CREATE TABLE x AS {query}",
            f"WITH q AS ({query}) DELETE FROM {table.name} WHERE {column} = 1",
        ]
    )
    verdict = inspect_sql(write, "sqlite")

    assert not verdict.is_read
    assert verdict.risk >= Risk.HIGH


@given(SEEDS)
@settings(max_examples=50, deadline=None)
def test_the_order_of_questions_does_not_change_the_answers(seed: int) -> None:
    queries = [query for _, query in sql_queries.cases(seed, 4)] + list(sql_injection.injections(seed, 4))
    forwards = {query: SqlEngine().verify(Action("execute_sql", query)) for query in queries}
    engine = SqlEngine()
    backwards = {query: engine.verify(Action("execute_sql", query)) for query in reversed(queries)}

    assert forwards == backwards
