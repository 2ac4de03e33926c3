"""What an argument is for (a command, a query, code, a path, an address), by its name and its tool's name."""

import enum
import functools
from typing import Final

from qwed.domain.lazy_pattern import lazy_pattern


class Slot(enum.Enum):
    SHELL = "shell"
    SQL = "sql"
    # A field that holds SQL for some tools and words to search for with others.
    QUERY = "query"
    CODE = "code"
    PATH = "path"
    URL = "url"


_NAMES: Final = {
    Slot.SHELL: "command commands cmd cmds shell bash sh zsh powershell argv exec commandline cmdline",
    Slot.SQL: "sql statement statements",
    Slot.QUERY: "query queries where filter condition having",
    Slot.CODE: "code python py snippet program javascript js source expression formula lambda",
    Slot.PATH: "path paths file files filename filenames filepath dir directory folder attachment",
    Slot.URL: "url urls uri endpoint webhook callback href link host hostname redirect website site server",
}
_BY_NAME: Final = {name: slot for slot, names in _NAMES.items() for name in names.split()}
_TOOLS: Final = {
    Slot.SHELL: "shell bash terminal command cmd powershell subprocess console ssh",
    Slot.SQL: "sql database db postgres mysql sqlite bigquery snowflake",
    Slot.CODE: "python code repl interpreter notebook jupyter javascript node eval script",
    Slot.PATH: "file files filesystem",
    Slot.URL: "fetch http browse browser download url request crawl scrape",
}
_BY_TOOL: Final = {name: slot for slot, names in _TOOLS.items() for name in names.split()}
# The one argument of such a tool, whatever it is called.
_PRINCIPAL: Final = frozenset(
    {"input", "text", "arg", "args", "argument", "value", "body", "content", "script", "q", ""}
)
_AMBIGUOUS: Final = {
    ("script", Slot.SHELL): Slot.SHELL,
    ("script", Slot.CODE): Slot.CODE,
    ("query", Slot.SQL): Slot.SQL,
    ("where", Slot.SQL): Slot.SQL,
    ("filter", Slot.SQL): Slot.SQL,
    ("target", Slot.URL): Slot.URL,
    ("source", Slot.PATH): Slot.PATH,
    ("source", Slot.URL): Slot.URL,
}
_WORD = lazy_pattern(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


@functools.lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """The words of `file_path`, `filePath`, `mcp__files__read`."""
    return tuple(word.lower() for word in _WORD.findall(name[:200]))


@functools.lru_cache(maxsize=4096)
def slot_of(tool_name: str, key: str) -> Slot | None:
    tool = next((_BY_TOOL[word] for word in words_of(tool_name) if word in _BY_TOOL), None)
    words = words_of(key)
    last = words[-1] if words else ""
    if tool is not None and (last, tool) in _AMBIGUOUS:
        return _AMBIGUOUS[last, tool]
    if last == "script":
        return Slot.SHELL
    # "shell_command", "sqlQuery", "target_url": the last word decides, then any other.
    for word in (last, *words):
        slot = _BY_NAME.get(word)
        if slot is not None:
            return Slot.SQL if slot is Slot.QUERY and ("sql" in words or tool is Slot.SQL) else slot
    return tool if last in _PRINCIPAL else None
