"""What an argument can be run as is said by its slot, never by how its text looks."""

from typing import Any

import pytest

from qwed_open_responses import ResponseVerifier
from qwed_open_responses.guards import SafetyGuard, ToolGuard
from qwed_open_responses.slots import Slot, Slots, slot_of


def reason(tool: str, arguments: dict[str, Any], **options: Any) -> str | None:
    verifier = ResponseVerifier([ToolGuard(blocklist=["nothing"], **options), SafetyGuard()])
    return verifier.verify_tool_call(tool, arguments).block_reason


@pytest.mark.parametrize(
    ("tool", "key", "slot"),
    [
        ("read_database", "query", Slot.SQL),
        ("run_query", "query", Slot.SQL),
        ("mcp__postgres__query", "statement", Slot.SQL),
        ("anything", "sqlQuery", Slot.SQL),
        ("search_database", "query", Slot.WORDS),
        ("web_search", "query", Slot.WORDS),
        ("accounts", "statement", Slot.PERHAPS),
        ("deploy", "command", Slot.COMMAND),
        ("run_command", "command", Slot.SHELL),
        ("deploy", "bash", Slot.SHELL),
        ("deploy", "script_body", Slot.PERHAPS),
        ("update_ticket", "internal_note", Slot.TEXT),
        ("terminal", "input", Slot.SHELL),
        ("run_code", "code", Slot.CODE),
        ("code_runner", "code", Slot.CODE),
        ("python_sandbox", "script", Slot.PYTHON),
        ("apply_discount", "code", Slot.PERHAPS),
        ("ship", "country_code", Slot.UNKNOWN),
        ("loyalty", "program_id", Slot.UNKNOWN),
        ("report", "query_name", Slot.UNKNOWN),
        ("send_email", "body", Slot.TEXT),
        ("post_message", "text", Slot.TEXT),
        ("read_file", "path", Slot.PATH),
        ("open_page", "link", Slot.URL),
    ],
)
def test_a_slot_follows_from_the_names_of_tool_and_argument(tool: str, key: str, slot: Slot) -> None:
    assert slot_of(tool, key) is slot


def test_a_slot_that_runs_its_text_refuses_what_does_not_parse() -> None:
    assert "parse" in (reason("run_query", {"query": "list all the users of last week, please"}) or "")
    assert "parse" in (reason("terminal", {"command": "echo 'open"}) or "")
    assert "parse" in (reason("python", {"code": "def f(:"}) or "")
    assert "parse" in (reason("run_code", {"code": "all of (this is nothing"}) or "")


@pytest.mark.parametrize("language", ["python", "Bash", "node"])
def test_the_declared_language_is_the_one_that_is_judged(language: str) -> None:
    program = {"python": "x = 1\nprint(x)", "Bash": "ls -la | wc -l", "node": "const x = 1; console.log(x)"}

    assert reason("run_code", {"language": language, "code": program[language]}) is None
    assert reason("run_code", {"language": language, "code": "rm -rf /home"})
    assert "no parser" in (reason("run_code", {"language": "cobol", "code": "STOP RUN."}) or "")


def test_a_command_of_a_tool_that_runs_none_is_searched_for_harm() -> None:
    for order in ("turn on the lights", "what's the weather?", "take lamp and drop sword", ["go", "north"]):
        assert reason("smart_home", {"command": order}) is None
    for harm in ("rm -rf /home", "please don't wait, rm -rf /home", ["rm", "-rf", "/home"], "del /s /q C:\\"):
        assert reason("smart_home", {"command": harm})
    assert reason("smart_home", {"commands": ["ls", "rm -rf /home"]})


def test_the_words_of_a_command_are_judged_together() -> None:
    assert reason("terminal", {"command": ["git", "show", "--stat"]}) is None
    assert reason("terminal", {"command": ["bash", "-c", "rm -rf /home"]})


def test_text_that_people_read_is_never_judged_as_a_program() -> None:
    harm = "rm -rf /"
    for key in ("body", "message", "text", "content", "description"):
        assert reason("send_email", {key: harm}) is None
        assert reason("send_email", {key: f'{{"scripts": {{"clean": "{harm}"}}}}'}) is None
    assert reason("send_email", {"attachment_command": harm})


def test_a_text_inside_a_run_slot_is_not_text_for_people() -> None:
    assert reason("read_database", {"query": {"text": "DROP TABLE users", "values": []}})
    assert reason("deploy", {"command": {"text": "rm -rf ."}})
    assert reason("read_database", {"query": {"text": "SELECT 1", "values": ["Monthly report"]}}) is None


@pytest.mark.parametrize(
    "text",
    ["drop me a line", "users", "Monthly revenue by region", "what does rm -rf / do", "call me maybe",
     "set the table", "use the force", "reboot my router", "kill bill soundtrack"],
)  # fmt: skip
def test_words_to_search_for_are_no_program(text: str) -> None:
    assert reason("web_search", {"query": text}) is None


@pytest.mark.parametrize(
    "text",
    ["DROP TABLE users", "SELECT 1; DELETE FROM users", "shoes; rm -rf /",
     "the best shops | sh -c 'rm -rf /'", "/* the best of the shops */ TRUNCATE TABLE orders",
     "please and thanks; DROP TABLE users"],
)  # fmt: skip
def test_what_is_complete_and_harmful_counts_in_words_too(text: str) -> None:
    assert reason("web_search", {"query": text})


@pytest.mark.parametrize(
    "arguments",
    [
        {"x": "UPDATE tasks SET done = true WHERE id = 7"},
        {"x": ["rm", "-rf", "/home"]},
        {"x": ["DROP TABLE", "users"]},
        {"x": {"y": "the list that is in the folder; DROP TABLE users"}},
        {"program": "rm", "args": "-rf /home"},
        {"DROP TABLE users": 1},
    ],
)
def test_what_is_found_counts_in_a_slot_that_nobody_knows(arguments: dict[str, Any]) -> None:
    assert reason("helper", arguments)


def test_a_registered_slot_outweighs_the_tables() -> None:
    order = {"shell": "what's behind the (red) box?"}
    assert reason("robot", order)
    assert reason("robot", order, slots={"Robot": {"shell": "words"}}) is None
    assert reason("lookup", {"filter": "the newest ones"}) is None
    assert reason("lookup", {"filter": "the newest ones"}, slots={"lookup": {"filter": "sql"}})


@pytest.mark.parametrize("slots", [{"t": {"x": "cobol"}}, {"t": "sql"}, {"t": {"x": None}}])
def test_a_registration_with_a_mistake_is_refused(slots: Any) -> None:
    with pytest.raises(ValueError, match="slots"):
        Slots(slots)


def test_ordinary_programs_run() -> None:
    ordinary: list[tuple[str, dict[str, Any]]] = [
        ("run_query", {"query": "UPDATE tasks SET done = true WHERE id = 7"}),
        ("run_query", {"query": "CREATE TABLE visits (id INT, seen_at TIMESTAMP)"}),
        ("run_query", {"query": "SHOW CREATE TABLE users"}),
        ("run_query", {"query": "SET search_path TO reporting"}),
        ("deploy", {"command": "npm run build && git status"}),
        ("deploy", {"command": "git commit -m 'explain why rm -rf / is bad'"}),
        ("run_code", {"code": "total = sum(range(10))\nprint(total)"}),
        ("run_code", {"code": "const total = [1, 2].map((x) => x * 2); console.log(total)"}),
        ("apply_discount", {"code": "SUMMER-20%"}),
    ]

    assert [
        (tool, arguments, said) for tool, arguments in ordinary if (said := reason(tool, arguments))
    ] == []


@pytest.mark.parametrize("tool", ["database.query", "sql_select"])
def test_the_parts_of_a_condition_are_no_statements(tool: str) -> None:
    conditions = [{"field": "department", "operation": "=", "value": "Science"}]
    hidden = [{"field": "department", "operation": "=", "value": "x'; DROP TABLE students; --"}]
    guards = [ToolGuard()]
    verifier = ResponseVerifier()

    assert verifier.verify_tool_call(tool, {"table": "s", "conditions": conditions}, guards=guards).verified
    assert not verifier.verify_tool_call(tool, {"table": "s", "conditions": hidden}, guards=guards).verified
