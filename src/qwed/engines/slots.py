"""What each text of an action can be run as: its slot says it, never how it looks.

A *run slot* is handed to a database, a shell or an interpreter: what stands there is judged in full. A
*data slot* is stored, sent or shown, and never judged as a program. Every other text is a *candidate*:
only what is found in it counts.
"""

import functools
import re
from collections.abc import Mapping
from typing import Final

import msgspec

from qwed.domain.actions import Action
from qwed.domain.registry import CODE, SQL, TOOL_CONTROL, WORKSPACE
from qwed.domain.texts import Joined, Text, Texts, collect_texts, fold_name
from qwed.engines.words import words

RUNS_SQL: Final = "sql"
RUNS_SHELL: Final = "shell"
RUNS_PYTHON: Final = "python"
RUNS_JAVASCRIPT: Final = "javascript"
RUNS_CODE: Final = "code"
"""A program whose language nobody has said."""
TEXT: Final = "text"

_RUN_KINDS: Final = frozenset({RUNS_SQL, RUNS_SHELL, RUNS_PYTHON, RUNS_JAVASCRIPT, RUNS_CODE})


class SlotTable(msgspec.Struct, frozen=True):
    """`runs` is by the folded name of a top-level member or field, `data` by that of a member anywhere."""

    runs: Mapping[str, str] = {}
    data: frozenset[str] = frozenset()
    runs_nested: bool = False
    """A tool that is there to run things: a member anywhere in its arguments is a run slot."""


class SlotUse(msgspec.Struct, frozen=True):
    """The texts of one action, by what may become of them."""

    runs: tuple[tuple[Text | Joined, str], ...]
    candidates: tuple[Text, ...]
    joined: tuple[Joined, ...]
    is_complete: bool


def sort_texts(
    engine: str, action: Action, marks: Mapping[str, str], own: frozenset[str] = frozenset()
) -> SlotUse:
    """`marks` is what the operator registered: slot (`body`, `request.body`) to kind. `own` are parameters
    that speak to the engine itself."""
    return _sort(collect_texts(action, own), table_of(engine, action), marks)


def _sort(texts: Texts, table: SlotTable, marks: Mapping[str, str]) -> SlotUse:
    runs: list[tuple[Text | Joined, str]] = []
    candidates = list(texts.names)
    in_lists = {joined.slot for joined in texts.joined if joined.lines is not None}
    for text in texts.values:
        kind = kind_of(text.slot, table, marks)
        if kind == TEXT:
            continue
        if kind in _RUN_KINDS and (text.slot not in in_lists or kind == RUNS_SQL):
            runs.append((text, kind))
        else:
            candidates.append(text)
    joined: list[Joined] = []
    for each in texts.joined:
        kind = kind_of(each.slot, table, marks)
        if kind in _RUN_KINDS and kind != RUNS_SQL and each.lines is not None:
            runs.append((each, kind))
        elif kind != TEXT:
            joined.append(each)
    return SlotUse(tuple(runs), tuple(candidates), tuple(joined), texts.is_complete)


def kind_of(slot: str, table: SlotTable, marks: Mapping[str, str]) -> str | None:
    """The kind of a slot; what stands inside a data slot is data."""
    marked = marks.get(slot)
    if marked is not None:
        return marked
    members = slot.split(".")
    if marks.get(members[0]) == TEXT:
        return TEXT
    if table.data and not table.data.isdisjoint(map(fold_name, members)):
        return TEXT
    return table.runs.get(fold_name(members[-1])) if table.runs_nested or len(members) == 1 else None


def table_of(engine: str, action: Action) -> SlotTable:
    if engine == SQL:
        return _SQL_TABLE if action.query is not None else _SQL_TABLE_WITHOUT_QUERY
    if engine == CODE:
        return _CODE_TABLE if action.code is not None else _CODE_TABLE_WITHOUT_CODE
    if engine == WORKSPACE:
        return _WORKSPACE_TABLE
    return table_of_tool(action.type) if engine == TOOL_CONTROL else SlotTable()


def _runs(kinds: Mapping[str, str]) -> dict[str, str]:
    return {name: kind for kind, names in kinds.items() for name in names.split()}


_SQL_RUNS: Final = _runs({RUNS_SQL: "sql query statement stmt"})
_SQL_TABLE: Final = SlotTable(_SQL_RUNS)
_SQL_TABLE_WITHOUT_QUERY: Final = SlotTable({**_SQL_RUNS, "code": RUNS_SQL})
_CODE_RUNS: Final = _runs({RUNS_CODE: "code source script program", RUNS_SHELL: "command cmd shell bash"})
_CODE_TABLE: Final = SlotTable(_CODE_RUNS)
_CODE_TABLE_WITHOUT_CODE: Final = SlotTable({**_CODE_RUNS, "query": RUNS_CODE})
# Of a file, the contents are judged where it is a script, and its path as a path.
_WORKSPACE_TABLE: Final = SlotTable(
    _runs({RUNS_SHELL: "code command cmd script"}),
    words("description content old new edits source path filepath paths notebookpath target pattern"),
)

# -- tools: by the words of their names, which the operator chose --------------------------------------

_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_RUNNING: Final = words(
    "run runner exec execute executor eval evaluate invoke interpret interpreter repl script"
)
_DATABASES: Final = words("sql postgres postgresql mysql mariadb sqlite mssql oracle bigquery")
_DATABASE_WORDS: Final = frozenset({"database", "db"})
_DATABASE_VERBS: Final = _RUNNING | words("query read write")
_SHELLS: Final = words("shell bash terminal powershell subprocess")
_MACHINES: Final = words("container docker ssh pod kubectl kubernetes remote host vm sandbox")
_LANGUAGES: Final = {
    "python": RUNS_PYTHON,
    "javascript": RUNS_JAVASCRIPT,
    "js": RUNS_JAVASCRIPT,
    "node": RUNS_JAVASCRIPT,
    "jupyter": RUNS_PYTHON,
    "ipython": RUNS_PYTHON,
    "notebook": RUNS_PYTHON,
    "code": RUNS_CODE,
    "script": RUNS_CODE,
}
_WRITES_FILES: Final = words("write create save append edit update put upload")
_FILES: Final = words("file files document documents doc docs page pages")
_WRITES_TO_PEOPLE: Final = words(
    """
    email emails mail gmail smtp message messages chat slack teams discord telegram whatsapp sms tweet
    post comment comments reply note notes notification notify ticket tickets issue issues event events
    calendar reminder reminders review reviews log announcement todo task tasks invite invitation memo
    commit
    """
)
_ASKS_IN_WORDS: Final = words(
    """
    search lookup ask answer question translate translation summarize summary classify chat prompt
    generate image recommend weather news
    """
)
_PROSE: Final = words(
    """
    body text html message content contents subject title description comment summary note notes caption
    markdown details reply
    """
)
_WORDS_ASKED: Final = frozenset(
    ["query", "q", "question", "text", "prompt", "keyword", "keywords", "topic", "term", "terms", "input"]
)

_EDITS: Final = words("replace edit patch insert")
_EDITED: Final = words("oldstr newstr oldtext newtext oldstring newstring filetext inserttext replacement")
_READS_CODE: Final = words("explain lint format review document analyze count describe")
_READ_CODE: Final = words("code source text content snippet")

_DATABASE_TABLE: Final = SlotTable(_SQL_RUNS)
_SHELL_TABLE: Final = SlotTable(
    _runs({RUNS_SHELL: "command commands commandline cmd shell bash script query code input"}),
    runs_nested=True,
)
_CODE_MEMBERS: Final = words("code source script program query input cell expression")


@functools.lru_cache(maxsize=1_024)
def table_of_tool(tool: str) -> SlotTable:
    """The built-in table of a tool, by the words of its name."""
    named = frozenset(word.lower() for word in _WORDS.findall(tool[:200]))
    if named & _DATABASES or (named & _DATABASE_WORDS and named & _DATABASE_VERBS):
        return _DATABASE_TABLE
    if named & _SHELLS or ("command" in named and named & _RUNNING):
        return _SHELL_TABLE
    if "exec" in named and (named & _MACHINES or len(named) == 1):
        return _SHELL_TABLE
    language = next((_LANGUAGES[word] for word in _LANGUAGES if word in named), None)
    if language is not None and named & (_RUNNING - {"script"}):
        return SlotTable(dict.fromkeys(_CODE_MEMBERS, language), runs_nested=True)
    return SlotTable(data=frozenset() if named & _RUNNING else _data_of(named))


def is_database_tool(tool: str) -> bool:
    return table_of_tool(tool) is _DATABASE_TABLE


def _data_of(named: frozenset[str]) -> frozenset[str]:
    data: frozenset[str] = frozenset()
    if named & _WRITES_TO_PEOPLE:
        data |= _PROSE
    if named & _FILES and named & _WRITES_FILES:
        data |= _PROSE | {"data"}
    if named & _EDITS:
        data |= _EDITED
    if "code" in named and named & _READS_CODE:
        data |= _READ_CODE
    if named & _ASKS_IN_WORDS and not named & (_DATABASE_WORDS | {"data"}):
        data |= _WORDS_ASKED
    return data
