"""Parts of a statement beside it: what they call is looked up as in the statement itself."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwed.domain.actions import Action
from qwed.domain.findings import Status
from qwed.domain.risk import Risk
from qwed.engines.sql import SqlEngine
from qwed.engines.sql.fragments import find_in_fragment, may_reach
from qwed.engines.sql.functions import FORBIDDEN, SIDE_EFFECTS
from qwed.engines.tools import ToolControlEngine

SQL = SqlEngine()
TOOLS = ToolControlEngine()
HOSTILE: list[tuple[str, Any]] = [
    ("select", "pg_sleep(10)"),
    ("select", ["id", "pg_catalog . pg_sleep(10)"]),
    ("columns", "id, load_file('/etc/passwd')"),
    ("filter", "a = any(array[sleep(4)])"),
    ("filter", {"raw": "-sleep(4)"}),
    ("where_clause", "1=1 OR sleep(5)"),
    ("having", "lo_export(1,'/tmp/x') = 1"),
    ("order_by", "(CASE WHEN 1=1 THEN pg_sleep(10) END)"),
    ("sort_by", ["name", "pg_sleep(1) DESC"]),
    ("group_by", "a, set_config('x','y',false)"),
    ("from", "file('/etc/passwd')"),
    ("table", "users WITH (TABLOCKX)"),
    ("table", "users FOR UPDATE"),
    ("joins", ["LEFT JOIN dblink('host=evil','select 1') d ON true"]),
    ("on", "a.id = nextval('s')"),
    ("cte", "d AS (SELECT pg_sleep(5))"),
    ("window", "PARTITION BY pg_sleep(1)"),
    ("suffix", "INTO/**/OUTFILE '/tmp/x'"),
    ("aggregation", {"fn": "pg_sleep", "args": [10]}),
    ("derived_columns", [{"name": "a", "expr": "load_file('/etc/passwd')"}]),
    ("search_condition", "x = getenv('HOME')"),
    ("filter", "nobody_knows_this(id) > 3"),
    ("note", "UTL_HTTP.REQUEST('http://evil')"),
]
ORDINARY: list[tuple[str, Any]] = [
    ("select", ["id", "COUNT(DISTINCT user_id) AS users", "Total (USD)"]),
    ("select", "row_number() over (partition by region order by sales desc)"),
    ("columns", "A:F"),
    ("columns", {"id": "ID", "total": "Price (EUR)"}),
    ("filter", "status = 'active' AND created_at > now() - interval '7 days'"),
    ("filter", "last 30 days (rolling)"),
    ("filter", "(region=EMEA)"),
    ("filters", [{"field": "office", "op": "=", "value": "Remote (EU)"}]),
    ("where", "extract(year from d) = 2024"),
    ("order_by", "createdAt:desc"),
    ("table", "Sales (2024)"),
    ("fields", "nextPageToken, files(id, name)"),
    ("note", "ready for update (draft)"),
    ("description", "sleep(8h) is what people need"),
    ("function", "sum"),
]


@pytest.mark.parametrize(("member", "value"), HOSTILE)
def test_a_part_of_a_statement_that_acts_is_no_mere_read(member: str, value: Any) -> None:
    for finding in (
        TOOLS.verify(Action("read_database", parameters={"query": "SELECT 1", member: value})),
        TOOLS.verify(Action("query_db", parameters={"source": "users", member: value})),
        SQL.verify(Action("execute_sql", query="SELECT 1", parameters={member: value})),
    ):
        assert (finding.status, finding.risk) != (Status.VERIFIED, Risk.LOW), finding


@pytest.mark.parametrize(("member", "value"), ORDINARY)
def test_an_ordinary_part_of_a_statement_stays_low(member: str, value: Any) -> None:
    for finding in (
        TOOLS.verify(Action("read_database", parameters={"query": "SELECT 1", member: value})),
        SQL.verify(Action("execute_sql", query="SELECT 1", parameters={member: value})),
    ):
        assert (finding.status, finding.risk) == (Status.VERIFIED, Risk.LOW), finding


@given(
    st.sampled_from(sorted({*FORBIDDEN, *SIDE_EFFECTS})),
    st.sampled_from(["{}(1)", "{} ('a')", "a, {}(1)", "x = {}(y)", '"{}"(1)', "lower({}(1))", "{}/**/(1)"]),
    st.booleans(),
)
def test_the_test_of_names_passes_no_function_over(name: str, form: str, upper: bool) -> None:
    text = form.replace("{}", name.upper() if upper else name)

    assert may_reach(text, in_part=False)


@pytest.mark.parametrize("name", ["pg_sleep", "load_file", "dblink", "sys_exec", "nextval"])
def test_a_call_is_found_whatever_the_member_is_called(name: str) -> None:
    assert find_in_fragment(f"{name}('a')", "x1") is not None
