"""The settings files of coding agents: where they are, and how a hook is written into each."""

import copy
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from qwed.coding.qwed_hook import ANSWERED

#: Longer than the hook's own deadline: an agent that gives up first may let the tool run.
HOOK_SECONDS: Final = 10
TIME_OUT_SECONDS: Final = 20
_MARK: Final = "qwed_hook.py"
_BLOCKS: Final = "{ echo QWED: the hook could not answer >&2; exit 2; }"
Settings = dict[str, Any]


class CodingAgent(msgspec.Struct, frozen=True):
    """`user` and `project` are below the home and the project; `open_ways` is what its hooks can't close."""

    name: str
    program: str
    user: str
    project: str
    add: Callable[[Settings, str], None]
    open_ways: tuple[str, ...] = ()


class Unreadable(Exception):
    """The file is not JSON, or not of the shape that the agent reads; the message says what to do."""


def command_for(python: str, script: Path, agent: str, settings: Path) -> str:
    """Whatever the script's end is but a clean one with the gateway's answer: 2, and a reason, without which
    Codex does not block. Agents take `{}`, and whatever they can't read, for a yes: the answer has a mark."""
    inner = " ".join(map(shlex.quote, (python, "-I", "-S", str(script), agent, str(settings))))
    passed_on = f'"{ANSWERED}{{"*"}}") printf "%s\\n" "${{said#{ANSWERED}}}";;'
    answer = f'said=$({inner}) && case "$said" in {passed_on} *) false;; esac'
    return f"sh -c {shlex.quote(f'{answer} || {_BLOCKS}')}"


def read(path: Path) -> Settings:
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return {}
    try:
        found = msgspec.json.decode(text or b"{}")
    except msgspec.DecodeError as error:
        raise Unreadable(f"{path} is not JSON ({error}); mend it, then install again") from None
    if not isinstance(found, dict):
        raise Unreadable(f"{path} does not hold an object; mend it, then install again")
    return found


def write(settings: Settings) -> bytes:
    return msgspec.json.format(msgspec.json.encode(settings), indent=2) + b"\n"


def with_hook(agent: CodingAgent, settings: Settings, command: str) -> Settings:
    """The settings with our hook, once, and everything else as it was."""
    changed = without_hook(settings)
    try:
        agent.add(changed, command)
    except (AttributeError, TypeError):
        raise Unreadable(f"the hooks of {agent.name} are not of the shape that it reads") from None
    return changed


def without_hook(settings: Settings) -> Settings:
    changed = copy.deepcopy(settings)
    hooks = changed.get("hooks")
    if isinstance(hooks, dict):
        for event in list(hooks):
            if isinstance(hooks[event], list):
                hooks[event] = [kept for entry in hooks[event] if (kept := _strip(entry)) is not None]
                if not hooks[event]:
                    del hooks[event]
        if not hooks:
            del changed["hooks"]
    return changed


def _strip(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    if _is_ours(entry):
        return None
    if isinstance(entry.get("hooks"), list):
        kept = [hook for hook in entry["hooks"] if not (isinstance(hook, dict) and _is_ours(hook))]
        return {**entry, "hooks": kept} if kept or not entry["hooks"] else None
    return entry


def _is_ours(entry: Mapping[str, Any]) -> bool:
    return any(_MARK in str(entry.get(member, "")) for member in ("command", "bash"))


def is_installed(settings: Settings, command: str) -> bool:
    """Whether exactly this command is there: one that was edited is not ours any more."""
    return command in _texts(settings.get("hooks"))


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in _texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [value] if isinstance(value, str) else []


def _add_nested(before: str, after: str, seconds: int) -> Callable[[Settings, str], None]:
    """`{hooks: {EVENT: [{matcher, hooks: [{type, command, timeout}]}]}}`."""

    def add(settings: Settings, command: str) -> None:
        hooks = settings.setdefault("hooks", {})
        for event in (before, after):
            entry = {"type": "command", "command": command, "timeout": seconds}
            hooks.setdefault(event, []).append({"matcher": "*", "hooks": [entry]})

    return add


def _add_codex(settings: Settings, command: str) -> None:
    hooks = settings.setdefault("hooks", {})
    for event in ("PreToolUse", "PostToolUse"):
        entry = {"type": "command", "command": command, "timeout": TIME_OUT_SECONDS}
        hooks.setdefault(event, []).append({"matcher": ".*", "hooks": [entry]})


def _add_cursor(settings: Settings, command: str) -> None:
    settings.setdefault("version", 1)
    hooks = settings.setdefault("hooks", {})
    for event in ("preToolUse", "postToolUse"):
        entry = {"command": command, "timeout": TIME_OUT_SECONDS, "failClosed": event == "preToolUse"}
        hooks.setdefault(event, []).append(entry)


def _add_copilot(settings: Settings, command: str) -> None:
    settings.setdefault("version", 1)
    hooks = settings.setdefault("hooks", {})
    for event in ("preToolUse", "postToolUse"):
        entry = {"type": "command", "bash": command, "timeoutSec": TIME_OUT_SECONDS}
        hooks.setdefault(event, []).append(entry)


_OPEN: Final = (
    "somebody removes the hook from the settings while the agent runs",
    "the agent kills the hook after its own time-out and goes on",
)
AGENTS: Final[Mapping[str, CodingAgent]] = {
    "claude-code": CodingAgent(
        "claude-code",
        "claude",
        ".claude/settings.json",
        ".claude/settings.json",
        _add_nested("PreToolUse", "PostToolUse", TIME_OUT_SECONDS),
        (*_OPEN, "onFailure: block is not known to the version that was tried (2.1.197)"),
    ),
    "codex": CodingAgent(
        "codex",
        "codex",
        ".codex/hooks.json",
        ".codex/hooks.json",
        _add_codex,
        (
            *_OPEN,
            "a hook that nobody has trusted in /hooks is left out without a word",
            "write_stdin, text for a program that runs already, is not asked about",
            "it knows no ask: a person answers in the inbox",
        ),
    ),
    "gemini": CodingAgent(
        "gemini",
        "gemini",
        ".gemini/settings.json",
        ".gemini/settings.json",
        _add_nested("BeforeTool", "AfterTool", TIME_OUT_SECONDS * 1000),
        (*_OPEN, "it knows no ask: a person answers in the inbox"),
    ),
    "cursor": CodingAgent(
        "cursor", "cursor-agent", ".cursor/hooks.json", ".cursor/hooks.json", _add_cursor, _OPEN
    ),
    "copilot": CodingAgent(
        "copilot", "copilot", ".copilot/hooks/qwed.json", ".github/hooks/qwed.json", _add_copilot, _OPEN
    ),
}
