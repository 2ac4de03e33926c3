"""What a tool call is to the gateway, and which arguments a granted action means."""

import dataclasses
import datetime
import decimal
import enum
import pathlib
import uuid
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwed_sdk import ToolAs
from qwed_sdk.tool_map import NotApplicable, NotShowable, action_of_call, plain


def test_a_tool_goes_by_its_own_name_with_its_arguments_as_parameters() -> None:
    call = action_of_call("lookup", {"code": "DE", "query": "x", "n": 1}, {})

    assert call.action == {"type": "lookup", "parameters": {"code": "DE", "query": "x", "n": 1}}


def test_a_mapped_tool_fills_the_fields_of_its_own_names() -> None:
    call = action_of_call("sums", {"query": "1+1", "digits": 2}, {"sums": "calculate"})

    assert call.action == {"type": "calculate", "query": "1+1", "parameters": {"digits": 2}}


def test_a_tool_named_like_an_engines_action_fills_its_fields() -> None:
    assert action_of_call("execute_sql", {"query": "SELECT 1"}, {}).action == {
        "type": "execute_sql",
        "query": "SELECT 1",
    }


def test_a_map_says_which_argument_is_which_field() -> None:
    tool_map = {"db": ToolAs("execute_sql", query="statement")}
    call = action_of_call("db", {"statement": "SELECT 1", "query": "no field"}, tool_map)

    assert call.action == {
        "type": "execute_sql",
        "query": "SELECT 1",
        "parameters": {"query": "no field"},
    }


def test_a_field_that_should_be_there_and_is_no_text_is_refused() -> None:
    with pytest.raises(NotShowable, match="statement"):
        action_of_call("db", {"statement": 5}, {"db": ToolAs("execute_sql", query="statement")})


def test_a_correction_reaches_the_argument_it_was_taken_from() -> None:
    call = action_of_call(
        "db", {"statement": "SELECT 1", "n": 1}, {"db": ToolAs("execute_sql", query="statement")}
    )
    granted = {"type": "execute_sql", "query": "SELECT 1 LIMIT 5", "parameters": {"n": 2, "more": True}}

    assert call.arguments_for(granted) == {"statement": "SELECT 1 LIMIT 5", "n": 2, "more": True}


def test_what_a_correction_leaves_out_is_left_out() -> None:
    call = action_of_call("t", {"keep": 1, "drop": 2}, {})

    assert call.arguments_for({"type": "t", "parameters": {"keep": 1}}) == {"keep": 1}


@pytest.mark.parametrize(
    "granted",
    [
        {"type": "another", "parameters": {"path": "a"}},
        {"type": "t", "query": "new", "parameters": {"path": "a"}},
        {"type": "t", "parameters": {"path": "b"}},
        {},
    ],
    ids=["type", "field", "object", "nothing"],
)
def test_a_grant_that_the_tool_cannot_carry_out_is_refused(granted: dict[str, Any]) -> None:
    call = action_of_call("t", {"path": pathlib.PurePosixPath("a")}, {})

    with pytest.raises(NotApplicable):
        call.arguments_for(granted)


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    label: str


class Model:
    def model_dump(self, mode: str) -> dict[str, Any]:
        return {"mode": mode}


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (Colour.RED, "red"),
        (Point(1, "a"), {"x": 1, "label": "a"}),
        (Model(), {"mode": "json"}),
        (decimal.Decimal("1.10"), "1.10"),
        (datetime.date(2026, 4, 6), "2026-04-06"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (b"\x00\x01", "AAE="),
        ({"b", "a"}, ["a", "b"]),
        ((1, [2.5, None]), [1, [2.5, None]]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_arguments_have_a_json_form(value: Any, form: Any) -> None:
    assert plain(value) == form


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), object(), {1: 2}, [lambda: 1]],
    ids=["nan", "inf", "object", "key", "code"],
)
def test_what_has_no_json_form_is_refused(value: Any) -> None:
    with pytest.raises(NotShowable):
        action_of_call("t", {"value": value}, {})


def test_arguments_without_end_are_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)

    with pytest.raises(NotShowable, match="deep"):
        plain(endless)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(min_size=1), _JSON, max_size=4), st.booleans())
def test_an_action_granted_as_it_was_proposed_gives_the_arguments_back(
    arguments: dict[str, Any], mapped: bool
) -> None:
    call = action_of_call("t", arguments, {"t": "execute_sql"} if mapped else {})

    assert call.arguments_for(call.action) == arguments


SHELL_TOOL = {"run": ToolAs("execute_code", code="line", fixed={"language": "shell"})}


def test_what_a_tool_has_fixed_is_a_parameter_of_every_call() -> None:
    call = action_of_call("run", {"line": "ls", "cwd": "src"}, SHELL_TOOL)

    assert call.action == {
        "type": "execute_code",
        "code": "ls",
        "parameters": {"cwd": "src", "language": "shell"},
    }
    assert call.arguments_for(call.action) == {"line": "ls", "cwd": "src"}


def test_a_call_can_not_say_otherwise_than_what_is_fixed() -> None:
    with pytest.raises(NotShowable, match="language"):
        action_of_call("run", {"line": "ls", "language": "python"}, SHELL_TOOL)

    same = action_of_call("run", {"line": "ls", "language": "shell"}, SHELL_TOOL)
    assert same.action["parameters"] == {"language": "shell"}


@pytest.mark.parametrize("parameters", [{}, {"language": "python"}])
def test_a_grant_that_changes_what_is_fixed_is_not_carried_out(parameters: dict[str, Any]) -> None:
    call = action_of_call("run", {"line": "ls"}, SHELL_TOOL)

    with pytest.raises(NotApplicable, match="language"):
        call.arguments_for({"type": "execute_code", "code": "ls", "parameters": parameters})


def test_a_map_in_a_file_can_fix_parameters() -> None:
    read = msgspec.json.decode(
        b'{"run": {"action_type": "execute_code", "code": "line", "fixed": {"language": "shell"}}}',
        type=dict[str, str | ToolAs],
    )

    assert action_of_call("run", {"line": "ls"}, read).action["parameters"] == {"language": "shell"}
