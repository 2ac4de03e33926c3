"""Which action a tool of a coding agent is: one table for each agent, by the names its hooks use.

`free` are tools that change nothing but the agent's own notes; they are not asked about. A tool of an MCP
server is an action by its own name, as is every tool that no table has: the policy knows it, or nobody does.
"""

import posixpath
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from qwed.domain.actions import Action

Input = Mapping[str, Any]


class Dialect(msgspec.Struct, frozen=True):
    """How one agent writes its hooks: names of members and events, and its tools."""

    tools: Mapping[str, str]
    free: frozenset[str] = frozenset()
    before: frozenset[str] = frozenset({"PreToolUse"})
    after: frozenset[str] = frozenset({"PostToolUse", "PostToolUseFailure"})
    session: str = "session_id"
    tool: str = "tool_name"
    arguments: str = "tool_input"
    call: str = "tool_use_id"
    event: str = "hook_event_name"
    #: Names of the sub-agent that calls, where the agent tells.
    sub_agent: str = "agent_id"
    can_ask: bool = True
    #: The member that only a report has, where the agent does not name its events.
    result: str | None = None


_CLAUDE: Final = {
    "Bash": "shell",
    "Write": "write",
    "Edit": "edit",
    "MultiEdit": "edit",
    "NotebookEdit": "edit",
    "Read": "read",
    "Glob": "search",
    "Grep": "search",
    "LS": "search",
    "WebFetch": "fetch",
    "WebSearch": "web",
}
_CLAUDE_FREE: Final = frozenset(
    [
        *("TodoWrite", "Task", "Agent", "ExitPlanMode", "EnterPlanMode", "AskUserQuestion", "BashOutput"),
        *("TaskOutput", "KillShell", "TaskStop", "ToolSearch", "ListMcpResourcesTool", "TaskCreate"),
        *("TaskGet", "TaskList", "TaskUpdate", "ReportFindings", "SendMessage", "ScheduleWakeup"),
        *("CronList", "CronDelete"),
    ]
)
DIALECTS: Final[Mapping[str, Dialect]] = {
    "claude-code": Dialect(_CLAUDE, _CLAUDE_FREE),
    "codex": Dialect(
        {
            "Bash": "shell",
            "shell": "shell",
            "exec_command": "shell",
            "apply_patch": "patch",
            "local_shell": "shell",
            "view_image": "read",
        },
        frozenset(
            [
                *("update_plan", "get_goal", "create_goal", "update_goal", "request_user_input"),
                *("spawn_agent", "send_input", "resume_agent", "wait_agent", "close_agent"),
            ]
        ),
        can_ask=False,
    ),
    "gemini": Dialect(
        {
            "run_shell_command": "shell",
            "write_file": "write",
            "replace": "edit",
            "edit": "edit",
            "read_file": "read",
            "read_many_files": "read",
            "list_directory": "search",
            "glob": "search",
            "search_file_content": "search",
            "grep_search": "search",
            "web_fetch": "fetch",
            "google_web_search": "web",
        },
        frozenset(
            [
                *("write_todos", "save_memory", "update_topic", "enter_plan_mode", "exit_plan_mode"),
                *("list_background_processes", "read_background_output", "invoke_agent"),
            ]
        ),
        before=frozenset({"BeforeTool"}),
        after=frozenset({"AfterTool"}),
        can_ask=False,
    ),
    "cursor": Dialect(
        {
            "Shell": "shell",
            "Write": "write",
            "Edit": "edit",
            "Read": "read",
            "Grep": "search",
            "WebFetch": "fetch",
        },
        frozenset({"Task"}),
        before=frozenset({"preToolUse", "beforeShellExecution", "beforeMCPExecution", "beforeReadFile"}),
        after=frozenset({"postToolUse", "afterShellExecution"}),
        session="conversation_id",
        # What it does with `ask` was never seen, and its documentation says that not every event heeds it.
        can_ask=False,
    ),
    "copilot": Dialect(
        {
            "bash": "shell",
            "create": "write",
            "edit": "edit",
            "str_replace": "edit",
            "view": "read",
            "grep": "search",
            "glob": "search",
            "fetch": "fetch",
            "web_fetch": "fetch",
        },
        frozenset(
            [
                *("report_intent", "update_todo", "task", "read_bash", "stop_bash", "list_bash", "ask_user"),
                *("read_agent", "list_agents", "write_agent", "fetch_copilot_cli_documentation"),
            ]
        ),
        before=frozenset({"preToolUse", ""}),
        result="toolResult",
        after=frozenset({"postToolUse"}),
        session="sessionId",
        tool="toolName",
        arguments="toolArgs",
        call="toolCallId",
        event="hookEventName",
    ),
}
_NAMES: Final = ("glob", "include", "include_pattern")
_PATHS: Final = ("file_path", "path", "absolute_path", "notebook_path", "filePath", "dir_path", "paths")


def action_of(dialect: Dialect, tool: str, given: Input, place: Mapping[str, str]) -> Action:
    """The action that this call would be; `place` names the project and the folder it runs in."""
    read = _READERS.get(dialect.tools.get(tool, ""))
    return read(given, place) if read is not None else Action(tool, parameters=dict(given))


def _shell(given: Input, place: Mapping[str, str]) -> Action:
    command = given.get("command", given.get("cmd"))
    rest = {
        name: value
        for name, value in given.items()
        if name not in ("command", "cmd", "timeout", "description")
    }
    folder = rest.pop("workdir", None) or rest.pop("directory", None) or rest.pop("dir_path", None)
    rest.pop("run_in_background", None)
    where = _enter(place, folder)
    if isinstance(command, list):
        is_shell = len(command) == 3 and command[1] in ("-c", "-lc")
        command = (
            command[2]
            if is_shell
            else None
            if not all(isinstance(w, str) for w in command)
            else _join(command)
        )
    if not isinstance(command, str):
        return Action("shell", parameters={**place, "command": given.get("command")})
    return Action("shell", code=command, parameters={**rest, **where})


def _enter(place: Mapping[str, str], folder: Any) -> dict[str, Any]:
    """A folder of the call itself is named from the one that the agent is in."""
    if folder is None:
        return dict(place)
    is_named = isinstance(folder, str) and "cwd" in place
    return {**place, "cwd": posixpath.normpath(posixpath.join(place["cwd"], folder)) if is_named else folder}


def _join(words: list[str]) -> str:
    return " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)


def _path(given: Input) -> Any:
    return next((given[name] for name in _PATHS if name in given), None)


def _write(given: Input, place: Mapping[str, str]) -> Action:
    content = given.get("content", given.get("file_text", ""))
    return Action("file_write", parameters={"path": _path(given), "content": content, **place})


def _edit(given: Input, place: Mapping[str, str]) -> Action:
    edits = given.get("edits")
    pairs = edits if isinstance(edits, list) else [given]
    changed = [_pair(pair) for pair in pairs if isinstance(pair, Mapping)]
    return Action("file_edit", parameters={"path": _path(given), "edits": changed, **place})


def _pair(pair: Input) -> dict[str, Any]:
    old = next((pair[name] for name in ("old_string", "old_str", "old") if name in pair), "")
    new = next(
        (pair[name] for name in ("new_string", "new_str", "new", "new_source", "content") if name in pair), ""
    )
    return {"old": old, "new": new}


def _patch(given: Input, place: Mapping[str, str]) -> Action:
    """`*** Add File: a`, `*** Update File: b`: every file that the patch names, and all that it adds.

    Whoever applies it may trim its lines: what looks like a mark after blanks names a file as well.
    """
    text = next(
        (given[name] for name in ("input", "patch", "command") if isinstance(given.get(name), str)), ""
    )
    marks = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")
    lines = text.splitlines()
    heads = [line.strip() for line in lines]
    paths = [head[len(mark) :].strip() for head in heads for mark in marks if head.startswith(mark)]
    added = "\n".join(line[1:] for line in lines if line.startswith("+"))
    return Action(
        "file_edit", parameters={"paths": paths or [None], "edits": [{"old": "", "new": added}], **place}
    )


def _read(given: Input, place: Mapping[str, str]) -> Action:
    return Action("file_read", parameters={"path": _path(given), **place})


def _search(given: Input, place: Mapping[str, str]) -> Action:
    """Also what the names have to match: `.env` in the whole project is a search in that file."""
    path = _path(given) or "."
    names = [given[name] for name in _NAMES if isinstance(given.get(name), str)]
    paths = [posixpath.join(path, name) for name in names if isinstance(path, str)]
    return Action("file_search", parameters={"path": path, **({"paths": paths} if paths else {}), **place})


def _fetch(given: Input, place: Mapping[str, str]) -> Action:
    return Action("network_request", parameters={"url": given.get("url", given.get("prompt"))})


def _web(given: Input, place: Mapping[str, str]) -> Action:
    return Action("search_web", parameters={"query": given.get("query")})


_READERS: Final[Mapping[str, Callable[[Input, Mapping[str, str]], Action]]] = {
    "shell": _shell,
    "write": _write,
    "edit": _edit,
    "patch": _patch,
    "read": _read,
    "search": _search,
    "fetch": _fetch,
    "web": _web,
}
