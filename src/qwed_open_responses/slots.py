"""What an argument is for: a program that runs, words, text, a path, an address, or nothing that is known.

Its slot says so: what the operator registered for the tool, else the tables below, by the tool's name and the
argument's. What the text looks like never decides.
"""

import enum
import functools
from collections.abc import Mapping
from typing import Final

from qwed.domain.lazy_pattern import lazy_pattern
from qwed.domain.skeleton import compact_skeleton


class Slot(enum.Enum):
    # The members are single objects: their identity is all there is to hash.
    __hash__ = object.__hash__

    SQL = "sql"
    SHELL = "shell"
    # A command of a tool that is not known to run commands: a robot and a game have some too.
    COMMAND = "command"
    PYTHON = "python"
    JAVASCRIPT = "javascript"
    # A program in whichever of the languages it parses in.
    CODE = "code"
    # A condition that a database tool puts into a statement.
    CONDITION = "condition"
    # What a person would type into a search field.
    WORDS = "words"
    # What a person reads: never run, so never judged as a program.
    TEXT = "text"
    PATH = "path"
    URL = "url"
    # Its name may mean a program, and its tool is not known to run one: only what is found in it counts.
    PERHAPS = "perhaps a program"
    # Nothing says what it is for: only what is found in it counts.
    UNKNOWN = "unknown"
    # The words of a list that nothing says the use of, read in order.
    LIST = "list"


RUN_SLOTS: Final = frozenset({Slot.SQL, Slot.SHELL, Slot.PYTHON, Slot.JAVASCRIPT, Slot.CODE})
_REGISTRABLE: Final = {
    slot.value: slot for slot in (*sorted(RUN_SLOTS, key=str), Slot.WORDS, Slot.TEXT, Slot.PATH, Slot.URL)
}


def _table(names: Mapping[Slot, str]) -> dict[str, Slot]:
    return {name: slot for slot, words in names.items() for name in words.split()}


# An argument of exactly this name, whatever its tool.
_ANYWHERE: Final = _table(
    {
        Slot.SQL: "sql sqlquery sqlstatement sqltext sqlcommand rawsql sqlcode",
        Slot.SHELL: (
            "shell bash sh zsh argv commandline cmdline shellcommand shellcommands bashcommand powershell "
            "shellscript bashscript"
        ),
        Slot.COMMAND: "command commands cmd cmds",
        Slot.PYTHON: "python py pythoncode pythonscript",
        Slot.JAVASCRIPT: "javascript js javascriptcode",
        Slot.TEXT: (
            "body message messages text content contents html markdown title subject headline description "
            "note notes comment comments summary caption memo reason justification reply bio abstract prompt "
            "question answer instructions feedback review transcript paragraph excerpt greeting msg "
            "bodytext bodyhtml messagetext texttotranslate releasenotes biography"
        ),
        Slot.PERHAPS: (
            "code script source sourcecode program snippet query queries statement statements stmt "
            "expression formula lambda"
        ),
    }
)
# An argument whose name ends in this word, unless the tables above know the whole name.
_BY_LAST_WORD: Final = _table(
    {
        Slot.SQL: "sql",
        Slot.SHELL: "bash",
        Slot.COMMAND: "command cmd",
        Slot.TEXT: (
            "message text body content note notes comment comments description summary title subject caption"
        ),
        Slot.PATH: "path paths file files filename filenames filepath dir directory folder attachment",
        Slot.URL: "url urls uri endpoint webhook callback href link host hostname redirect website site "
        "server",
    }
)
# The arguments in which a tool of a family takes what it runs or reads, beside the ones above.
_PRINCIPAL: Final = "input text arg args argument value body content q"
_PRINCIPAL_NAMES: Final = frozenset(_PRINCIPAL.split())
_PROGRAM: Final = f"code source script program snippet sourcecode expression {_PRINCIPAL}"
_OF_FAMILY: Final[Mapping[Slot, Mapping[str, Slot]]] = {
    Slot.SQL: _table(
        {
            Slot.SQL: f"query queries statement statements stmt command script {_PRINCIPAL}",
            Slot.CONDITION: "where having condition filter",
        }
    ),
    Slot.SHELL: _table({Slot.SHELL: f"command commands cmd cmds query target {_PROGRAM}"}),
    Slot.PYTHON: _table({Slot.PYTHON: f"query {_PROGRAM}"}),
    Slot.JAVASCRIPT: _table({Slot.JAVASCRIPT: f"query {_PROGRAM}"}),
    Slot.CODE: _table({Slot.CODE: f"query {_PROGRAM}"}),
    Slot.WORDS: _table({Slot.WORDS: "query queries q search term terms keyword keywords phrase input"}),
    Slot.PATH: _table({Slot.PATH: "source input arg args argument value q"}),
    Slot.URL: _table({Slot.URL: "target source input arg args argument value q page address"}),
}
# Beside one of these a last word such as `text` does not mean text for people: `script_body`, `query_text`.
_OF_PROGRAMS: Final = frozenset(
    {
        "sql", "query", "statement", "command", "cmd", "shell", "bash", "script", "code", "program", "python",
        "javascript", "source",
    }
)  # fmt: skip
# What holds a run slot's text one level deeper, as in {"query": {"text": "SELECT …", "values": […]}}.
_INNER: Final = frozenset({"text", "sql", "value", "content", "body", "input", "raw", "string", "source"})

_WORD = lazy_pattern(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_RUN_VERBS: Final = frozenset(
    {
        "run", "runner", "execute", "executor", "execution", "exec", "eval", "evaluate", "evaluator",
        "interpret", "perform", "sandbox",
    }
)  # fmt: skip
_FINDING: Final = frozenset(
    """
    search find lookup semantic vector knowledge retrieve retriever retrieval rag faq docs documentation
    wiki wikipedia google bing web news suggest recommend autocomplete discover
    """.split()  # noqa: SIM905 - a word list
)
# Words of a tool's name that say what it runs; the second table only beside a verb of running.
_ENGINES: Final = _table(
    {
        Slot.SQL: (
            "sql postgres postgresql mysql sqlite bigquery snowflake redshift mssql mariadb clickhouse "
            "duckdb athena tsql plsql"
        ),
        Slot.SHELL: "shell bash terminal powershell subprocess console ssh",
        Slot.PYTHON: "python jupyter",
        Slot.JAVASCRIPT: "javascript nodejs",
        Slot.CODE: "repl interpreter eval",
    }
)
_RUNNABLE: Final = _table(
    {
        Slot.SQL: "query statement",
        Slot.SHELL: "command cmd",
        Slot.JAVASCRIPT: "js node",
        Slot.CODE: "code script program snippet notebook",
    }
)
# Families that give way to a verb of finding: `search_database` takes words.
_STORES: Final = frozenset({"database", "db", "warehouse", "datawarehouse"})
_PLACES: Final = _table(
    {
        Slot.PATH: "file files filesystem",
        Slot.URL: "fetch http browse browser download url request crawl scrape",
    }
)


@functools.lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """The words of `file_path`, `filePath`, `mcp__files__read`."""
    return tuple(word.lower() for word in _WORD.findall(name[:200]))


@functools.lru_cache(maxsize=4096)
def family_of(tool_name: str) -> Slot | None:
    """What a tool runs, reads or looks for, by the words of its name."""
    words = words_of(tool_name)
    for table in (_ENGINES, _RUNNABLE if not _RUN_VERBS.isdisjoint(words) else {}):
        if (slot := _first(words, table)) is not None:
            return slot
    if not _FINDING.isdisjoint(words):
        return Slot.WORDS
    return Slot.SQL if not _STORES.isdisjoint(words) else _first(words, _PLACES)


def _first(words: tuple[str, ...], table: Mapping[str, Slot]) -> Slot | None:
    return next((table[word] for word in words if word in table), None)


@functools.lru_cache(maxsize=4096)
def slot_of(tool_name: str, key: str) -> Slot:
    """The slot of an argument by the built-in tables."""
    words = words_of(key)
    whole = "".join(words)
    family = family_of(tool_name)
    own = _OF_FAMILY[family] if family is not None else {}
    last = words[-1] if words else ""
    if not words and family in RUN_SLOTS:
        return family
    slot = own.get(whole) or _ANYWHERE.get(whole) or _BY_LAST_WORD.get(last, Slot.UNKNOWN)
    if slot is Slot.TEXT and not _OF_PROGRAMS.isdisjoint(words):
        return Slot.PERHAPS
    return slot


def is_plural(key: str) -> bool:
    """Whether a list under this name holds whole commands, rather than the words of one."""
    return key.lower().endswith(("commands", "cmds", "lines", "scripts"))


class Slots:
    """The slots of all tools: those that the operator registered, then the built-in tables."""

    def __init__(self, registered: Mapping[str, Mapping[str, str]] | None = None) -> None:
        """`registered` is `{tool: {argument: kind}}`; raises `ValueError` for a kind that is not one."""
        self._registered: dict[tuple[str, str], Slot] = {}
        for tool, arguments in (registered or {}).items():
            if not isinstance(arguments, Mapping):
                raise ValueError(f"slots[{tool!r}] is a mapping of argument names to kinds")
            for argument, kind in arguments.items():
                if kind not in _REGISTRABLE:
                    expected = ", ".join(_REGISTRABLE)
                    raise ValueError(f"slots[{tool!r}][{argument!r}] is {kind!r}, expected one of {expected}")
                self._registered[compact_skeleton(tool), compact_skeleton(argument)] = _REGISTRABLE[kind]

    def find(self, tool_name: str, key: str, path: str) -> Slot:
        """The slot of a text; `path` is where it stands within the call's arguments."""
        steps = path.split(".")
        if "<json>" in path:
            for step in steps[:-1]:
                # JSON in a string is no more than the string: it stays what that is for.
                if step.endswith("<json>") and self._find_named(tool_name, _key_of(step)) is Slot.TEXT:
                    return Slot.TEXT
        slot = self._find_named(tool_name, key)
        if slot is Slot.SHELL and steps[-1].endswith("]") and not is_plural(key):
            return Slot.COMMAND  # one word of a command; the whole of it is judged as well
        if len(steps) < 2:
            return slot
        if slot in RUN_SLOTS and steps[-2].endswith("]") and key.lower() in _PRINCIPAL_NAMES:
            # {"conditions": [{"field": "age", "value": "30"}]}: a part of many, not what the tool runs.
            outer = self._find_named(tool_name, _key_of(steps[-2]))
            return slot if outer in RUN_SLOTS else Slot.UNKNOWN
        if slot not in (Slot.TEXT, Slot.UNKNOWN):
            return slot
        outer = self._find_named(tool_name, _key_of(steps[-2]))
        if outer not in RUN_SLOTS and outer is not Slot.COMMAND:
            return slot
        return outer if "".join(words_of(key)) in _INNER else Slot.UNKNOWN

    def _find_named(self, tool_name: str, key: str) -> Slot:
        if self._registered:
            found = self._registered.get((compact_skeleton(tool_name), compact_skeleton(key)))
            if found is not None:
                return found
        return slot_of(tool_name, key)


def _key_of(step: str) -> str:
    """`queries[0]<json>` is a step of `queries`."""
    return step.partition("<")[0].partition("[")[0]
