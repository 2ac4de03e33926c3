"""Laws of slots that run their text: no words around an attack make it pass."""

from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.corpora.open_responses import PYTHON, SHELL, SQL

from qwed_open_responses import ResponseVerifier
from qwed_open_responses.guards import SafetyGuard, ToolGuard

VERIFIER = ResponseVerifier([ToolGuard(blocklist=["nothing"]), SafetyGuard(max_calls=None)])
MANY = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=60)

WORDS = """
the a an is are was to of in on at for with and or but not this that these please should could can will never
it you your we our they have has had from by as if when how what why because so then there about into after
show select update set use call begin describe explain grant list users table report customers order by month
bitte zeige mir alle Kunden und die Bestellungen der letzten Woche veuillez afficher les commandes du mois
por favor muestra los clientes de la tienda per favore mostra gli ordini покажи всех клиентов за неделю
请显示所有客户 顧客の一覧を表示してください 고객 목록을 보여 주세요 أظهر جميع العملاء όλοι οι πελάτες
it's don't O'Brien "quoted" (aside) 42 3.5 50% $5 e.g. i.e. etc. — – … !
""".split()  # noqa: SIM905 - a word list
strange = st.text(st.characters(categories=["L", "M", "N"]), max_size=6)
lines = st.lists(st.sampled_from(WORDS) | strange, max_size=40).map(" ".join)


def blocked(tool: str, arguments: dict[str, Any]) -> bool:
    return not VERIFIER.verify_tool_call(tool, arguments).verified


def in_comment(text: str) -> str:
    return text.replace("*", "").replace("/", "").replace("!", "")


SQL_PLACES = {
    "before": lambda attack, text: f"{text} {attack}",
    "after": lambda attack, text: f"{attack} {text}",
    "around": lambda attack, text: f"{text}\n{attack}\n{text}",
    "comment before": lambda attack, text: f"/* {in_comment(text)} */ {attack}",
    "comment after": lambda attack, text: f"{attack} /* {in_comment(text)} */",
    "line before": lambda attack, text: f"-- {text}\n{attack}",
    "line after": lambda attack, text: f"{attack} -- {text}",
    "comment within": lambda attack, text: attack.replace(" ", f" /* {in_comment(text)} */ ", 1),
    "statement before": lambda attack, text: f"SELECT '{text.replace(chr(39), '')}'; {attack}",
    "sentence before": lambda attack, text: f"{text}; {attack}",
    "long before": lambda attack, text: f"/* {in_comment(text)} {'word ' * 300}*/ {attack}",
}
SQL_SLOTS = [
    ("read_database", "query"),
    ("run_query", "query"),
    ("execute_sql", "statement"),
    ("db_query", "stmt"),
    ("postgres", "input"),
    ("helper", "sql"),
    ("report", "sqlQuery"),
]


@given(st.sampled_from(SQL), st.sampled_from(sorted(SQL_PLACES)), st.sampled_from(SQL_SLOTS), lines)
@example(
    "SELECT * FROM users WHERE name='' OR '1'='1'; DROP TABLE users--", "before", ("run_query", "query"), ""
)
@example("DROP TABLE users", "before", ("run_query", "query"), "SET NOCOUNT ON")
@example("DROP TABLE users", "before", ("run_query", "query"), "show me the users please and then")
@MANY
def test_no_words_carry_sql_through_a_slot_that_runs_it(
    attack: str, place: str, slot: tuple[str, str], text: str
) -> None:
    tool, key = slot

    assert blocked(tool, {key: SQL_PLACES[place](attack, text), "limit": 10})


SHELL_PLACES = {
    "before": lambda attack, text: f"please {text} {attack}",
    "line before": lambda attack, text: f"# {text}\n{attack}",
    "comment after": lambda attack, text: f"{attack} # {text}",
    "line after": lambda attack, text: f"{attack}\n# {text}",
    "sentence before": lambda attack, text: f"{text}; {attack}",
    "sentence on a line before": lambda attack, text: f"{text}\n{attack}",
    "printed before": lambda attack, text: f"echo '{text.replace(chr(39), '')}' && {attack}",
    "no-op before": lambda attack, text: f": '{text.replace(chr(39), '')}'; {attack}",
    "long before": lambda attack, text: f"# {text} {'word ' * 300}\n{attack}",
}
SHELL_SLOTS = [
    ("run_task", "command"),
    ("deploy", "cmd"),
    ("helper", "shell"),
    ("helper", "bash"),
    ("terminal", "input"),
    ("run_command", "script"),
]
# Attacks that begin with the command itself, so that words in front of it leave it whole.
PLAIN_SHELL = [
    attack for attack in SHELL if attack.split()[0] in {"rm", "dd", "shred", "chmod", "chown", "mkfs.ext4"}
]


@given(st.data(), st.sampled_from(sorted(SHELL_PLACES)), st.sampled_from(SHELL_SLOTS), lines)
@MANY
def test_no_words_carry_a_command_through_a_slot_that_runs_it(
    data: st.DataObject, place: str, slot: tuple[str, str], text: str
) -> None:
    attack = data.draw(st.sampled_from(PLAIN_SHELL if place == "before" else SHELL))
    tool, key = slot

    assert blocked(tool, {key: SHELL_PLACES[place](attack, text)})


def in_string(text: str) -> str:
    return text.replace("\\", "").replace('"', "")


PYTHON_PLACES = {
    "before": lambda attack, text: f"{text}\n{attack}",
    "after": lambda attack, text: f"{attack}\n{text}",
    "comment before": lambda attack, text: f"# {text}\n{attack}",
    "comment after": lambda attack, text: f"{attack}  # {text}",
    "string before": lambda attack, text: f'"""{in_string(text)}"""\n{attack}',
    "variable before": lambda attack, text: f'note = "{in_string(text)}"\n{attack}',
}
PYTHON_SLOTS = [
    ("run_python_snippet", "code"),
    ("python", "input"),
    ("helper", "python"),
    ("evaluate_snippet", "snippet"),
    ("run_the_code", "source"),
]


@given(st.sampled_from(PYTHON), st.sampled_from(sorted(PYTHON_PLACES)), st.sampled_from(PYTHON_SLOTS), lines)
@example("__import__('os').system('id')", "after", ("evaluate_snippet", "snippet"), " the")
@MANY
def test_no_words_carry_a_program_through_a_slot_that_runs_it(
    attack: str, place: str, slot: tuple[str, str], text: str
) -> None:
    tool, key = slot

    assert blocked(tool, {key: PYTHON_PLACES[place](attack.replace("\\n", "\n"), text)})


@pytest.mark.parametrize("tool", ["search", "lookup", "helper", "query_users", "query", "run_query"])
def test_a_complete_statement_counts_in_the_query_of_any_tool(tool: str) -> None:
    stacked = "SELECT * FROM users WHERE name='' OR '1'='1'; DROP TABLE users--"

    assert blocked(tool, {"query": stacked})
    assert blocked(tool, {"query": f"/* the orders of a customer */ {stacked}"})
    assert blocked(tool, {"query": f"the orders of a customer who is in the list; {stacked}"})
