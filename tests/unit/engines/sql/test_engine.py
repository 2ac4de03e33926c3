"""The engine as a whole: bounds, hostile text, memory, corrections, evidence."""

import json
import subprocess
import sys
from typing import Any

import msgspec
import pytest
from tests.corpora.hostile import SQL as HOSTILE
from tests.support.calls import counted_calls

from qwed.domain.actions import Action
from qwed.domain.findings import Failure, Status
from qwed.domain.risk import Risk
from qwed.engines.protocol import Engine
from qwed.engines.sql import SqlEngine, SqlRules

ENGINE: Engine = SqlEngine()


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("dialect", [None, "mysql"])
def test_hostile_text_gets_an_answer_for_a_bounded_number_of_calls(name: str, dialect: str | None) -> None:
    parameters: dict[str, Any] = {"dialect": dialect, "schema": {"t": ["a", "b"]}} if dialect else {}
    action = Action("execute_sql", HOSTILE[name], parameters=parameters)
    with counted_calls() as work:
        finding = ENGINE.verify(action)

    assert work.calls < 5_000_000
    assert finding.status is not Status.CORRECTED
    assert msgspec.json.encode({"evidence": finding.evidence}, enc_hook=str)
    if len(HOSTILE[name]) > 2_000:
        assert not ENGINE.is_quick(action)


@pytest.mark.parametrize(
    "name",
    ["many ors", "parentheses", "nots", "joins without conditions", "subscripts", "a megabyte", "tables"],
)
def test_what_is_beyond_the_bounds_is_left_to_a_person(name: str) -> None:
    finding = ENGINE.verify(Action("execute_sql", HOSTILE[name]))

    assert (finding.status, finding.risk, finding.checks_failed) == (
        Status.UNCERTAIN,
        Risk.CRITICAL,
        ("parsed",),
    )


def test_the_bounds_do_not_depend_on_how_deep_the_caller_stands() -> None:
    query = "SELECT " + "(" * 24 + "1" + ")" * 24

    def called_from(depth: int) -> Status:
        return called_from(depth - 1) if depth else SqlEngine().verify(Action("execute_sql", query)).status

    assert {called_from(depth) for depth in (0, 100, 200)} == {Status.VERIFIED}


@pytest.mark.parametrize(
    "parameters",
    [
        {"dialect": 5},
        {"dialect": ["mysql"]},
        {"schema": {"a": {"b": {"c": {}}}}},
        {"schema": "CREATE TABLE " + "(" * 5_000},
        {"schema": "CREATE TABLE t (" + "a int, " * 20_000 + "b int)"},
        {"schema": '{"a":' * 5_000},
        {"forbidden_columns": "a", "no_sensitive_columns": {"x": 1}},
        {"values": [[[[["x"]]]]], "sql": ["SELECT 1", 5, None]},
        {"x": object()},
        {"x": float("nan")},
    ],
)
def test_odd_parameters_get_an_answer(parameters: dict[str, Any]) -> None:
    finding = SqlEngine().verify(Action("execute_sql", "SELECT a FROM t", parameters=parameters))

    assert finding.status in (Status.VERIFIED, Status.FAILED, Status.UNCERTAIN)


def test_a_small_text_is_quick_and_a_large_one_or_a_large_schema_is_not() -> None:
    schema = "CREATE TABLE t (" + ", ".join(f"column_{number} int" for number in range(2_000)) + ")"

    assert ENGINE.is_quick(Action("execute_sql", "SELECT a FROM t"))
    assert ENGINE.is_quick(Action("execute_sql", "SELECT a FROM t", parameters={"dialect": "mysql"}))
    assert not ENGINE.is_quick(Action("execute_sql", "SELECT a FROM t WHERE a IN (" + "1, " * 1_000 + "2)"))
    assert not ENGINE.is_quick(Action("execute_sql", "SELECT a FROM t", parameters={"schema": schema}))


def test_the_same_text_gives_the_same_answer_again_from_memory() -> None:
    engine = SqlEngine()
    action = Action("execute_sql", "SELECT a FROM t WHERE b = 1 OR 1=1", parameters={"dialect": "mysql"})

    first, second, other = engine.verify(action), engine.verify(action), SqlEngine().verify(action)

    assert first is second
    assert first == other


def test_memory_does_not_mix_up_dialects_or_schemas() -> None:
    engine = SqlEngine()

    def status(**parameters: Any) -> Status:
        return engine.verify(Action("execute_sql", "SELECT `a` FROM t", parameters=parameters)).status

    assert status(dialect="mysql") is Status.VERIFIED
    assert status(dialect="postgres") is Status.FAILED
    assert status(dialect="mysql", schema={"t": ["a"]}) is Status.VERIFIED
    assert status(dialect="mysql", schema={"t": ["b"]}) is Status.FAILED


class TestMissingLimit:
    engine = SqlEngine(SqlRules(correct_missing_limit=100))

    def test_is_not_corrected_by_default(self) -> None:
        assert ENGINE.verify(Action("execute_sql", "SELECT a FROM t")).status is Status.VERIFIED

    def test_is_corrected_by_rule(self) -> None:
        action = Action("execute_sql", "SELECT a FROM t -- all of it", parameters={"dialect": "mysql"})
        finding = self.engine.verify(action)

        assert (finding.status, finding.risk) == (Status.CORRECTED, Risk.LOW)
        assert finding.corrected is not None
        assert finding.corrected.query is not None
        assert finding.corrected.query.startswith("SELECT a FROM t")
        assert "LIMIT 100" in finding.corrected.query
        assert finding.corrected.parameters == action.parameters
        assert self.engine.verify(finding.corrected).status is Status.VERIFIED

    def test_is_written_as_the_dialect_does(self) -> None:
        finding = self.engine.verify(Action("execute_sql", "SELECT a FROM t", parameters={"dialect": "tsql"}))

        assert finding.corrected is not None
        assert finding.corrected.query == "SELECT TOP 100 a FROM t"

    @pytest.mark.parametrize(
        "query",
        [
            "SELECT a FROM t LIMIT 5",
            "SELECT COUNT(*) FROM t",
            "SELECT 1",
            "SELECT a FROM t FETCH FIRST 5 ROWS ONLY",
        ],
    )
    def test_is_not_missed_where_it_is_not_needed(self, query: str) -> None:
        assert self.engine.verify(Action("execute_sql", query)).status is Status.VERIFIED

    def test_does_not_turn_a_write_or_an_injection_into_a_correction(self) -> None:
        assert (
            self.engine.verify(Action("execute_sql", "DELETE FROM t WHERE a = 1")).status is Status.VERIFIED
        )
        assert (
            self.engine.verify(Action("execute_sql", "SELECT a FROM t WHERE a OR 1")).status is Status.FAILED
        )


def test_the_text_may_be_in_code_and_target_is_looked_at() -> None:
    assert ENGINE.verify(Action("execute_sql", code="SELECT 1")).status is Status.VERIFIED
    assert ENGINE.verify(Action("execute_sql", "SELECT 1", target="analytics")).status is Status.VERIFIED
    injected = ENGINE.verify(Action("execute_sql", "SELECT 1", target="1; DROP TABLE users"))
    assert injected.failure is Failure.FORBIDDEN


def test_evidence_names_the_statement_and_the_node_that_offends() -> None:
    finding = ENGINE.verify(Action("execute_sql", "SELECT a FROM s.t WHERE b = 1 OR 'x' = 'x'"))

    assert json.loads(json.dumps(finding.evidence)) == {
        "dialect": "postgres",
        "statements": [
            {
                "kind": "read",
                "risk": "low",
                "text": "SELECT a FROM s.t WHERE b = 1 OR 'x' = 'x'",
                "nested": False,
            }
        ],
        "tables": ["s.t"],
        "problems": [
            {
                "rule": "tautology",
                "message": "a condition that is true of every row stands beside the real one",
                "node": "'x' = 'x'",
            }
        ],
    }


def test_importing_the_engine_does_not_import_the_parser() -> None:
    code = "import sys, qwed.engines.sql; print('sqlglot' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert answer.stdout.strip() == "False"


def test_the_parser_says_nothing_to_the_log_about_an_agents_text(caplog: pytest.LogCaptureFixture) -> None:
    SqlEngine().verify(Action("execute_sql", "VACUUM secrets_table"))

    assert caplog.records == []
