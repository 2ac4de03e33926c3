"""Texts of somebody who had not read the rules: none of them is called harmless."""

import pytest
from tests.corpora import unread_rules

from qwed.domain.actions import Action
from qwed.domain.findings import Status
from qwed.domain.risk import Risk
from qwed.engines.code import CodeEngine
from qwed.engines.sql import SqlEngine

SQL = SqlEngine()
CODE = CodeEngine()


@pytest.mark.parametrize(("text", "dialect"), unread_rules.QUERIES)
def test_a_query_that_does_more_than_read_is_not_low(text: str, dialect: str | None) -> None:
    parameters = {"dialect": dialect} if dialect else {}
    finding = SQL.verify(Action("execute_sql", query=text, parameters=parameters))

    assert (finding.status, finding.risk) != (Status.VERIFIED, Risk.LOW), finding


@pytest.mark.parametrize(
    ("language", "text"),
    [
        *(("python", text) for text in unread_rules.PYTHON),
        *(("javascript", text) for text in unread_rules.JAVASCRIPT),
        *(("shell", text) for text in unread_rules.SHELL),
    ],
)
def test_a_program_that_does_more_than_compute_is_not_pure(language: str, text: str) -> None:
    finding = CODE.verify(Action("execute_code", code=text, parameters={"language": language}))

    assert finding.status is not Status.VERIFIED or finding.risk is Risk.CRITICAL, finding


@pytest.mark.parametrize(("kind", "text"), unread_rules.BESIDE)
def test_a_statement_or_a_command_beside_what_runs_is_found(kind: str, text: str) -> None:
    action = Action(kind, query="SELECT 1") if kind == "execute_sql" else Action(kind, code="1 + 1")
    engine = SQL if kind == "execute_sql" else CODE
    beside = Action(action.type, action.query, action.code, parameters={"x": text})

    assert engine.verify(beside).risk >= Risk.HIGH
