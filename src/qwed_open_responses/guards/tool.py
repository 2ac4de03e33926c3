"""Refuses dangerous tools, unknown tools where they are not allowed, and hostile arguments."""

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from qwed.domain.json_types import Json
from qwed.domain.skeleton import compact_skeleton
from qwed_open_responses import suspicions
from qwed_open_responses.guards.base import BaseGuard, Context, viewed
from qwed_open_responses.outputs import Output, OutputText, OutputToolCall
from qwed_open_responses.results import GuardResult
from qwed_open_responses.slots import Slot, Slots, slot_of
from qwed_open_responses.suspicions import CallArgument, Suspicion
from qwed_open_responses.text_scan import ScannedLine, TextScan, scan

DEFAULT_BLOCKLIST: Final = frozenset(
    {
        # shells
        "shell", "bash", "execute_shell", "run_shell", "shell_exec", "exec_shell", "run_shell_command",
        "shell_command", "execute_shell_command", "execute_bash", "run_bash", "bash_exec", "local_shell",
        "subprocess", "subprocess_run",
        "os_system", "powershell", "run_powershell", "execute_powershell", "system_exec", "sudo", "ssh_exec",
        # code evaluation
        "eval", "exec", "execute_code", "run_code", "code_exec", "code_execution", "eval_code",
        "evaluate_code",
        "python_eval", "python_exec", "execute_python", "run_python", "python_repl", "python_repl_ast",
        "code_interpreter", "eval_python", "execute_javascript", "run_javascript", "eval_js", "run_script",
        "execute_script",
        # deleting and writing files
        "delete_file", "delete_files", "file_delete", "remove_file", "rm", "rmdir", "unlink",
        "delete_directory",
        "remove_directory", "delete_folder", "wipe_disk", "format_disk", "write_file", "file_write",
        "overwrite_file",
        "save_file", "create_file", "append_file", "apply_patch",
        # payments
        "send_money", "transfer_money", "transfer_funds", "wire_transfer", "make_payment", "send_payment",
        "process_payment", "charge_card", "create_payment", "pay", "withdraw",
        "withdraw_funds", "bank_transfer",
        # databases
        "delete_database", "drop_database", "drop_table", "truncate_table", "delete_table", "wipe_database",
        "delete_all_records", "delete_records",
        # machines and access
        "shutdown_server", "shutdown", "reboot", "revoke_access", "grant_access",
    }
)  # fmt: skip


class ToolGuard(BaseGuard):
    """`blocklist` replaces the default list and `extra_blocklist` adds to it. With `allow_unknown=False` only
    the tools of `allowlist` pass. Names are compared by how they look: `Exec‑Shell` is `exec_shell`.

    With `inspect_arguments` the arguments of every call are parsed as what they are for. `slots` says what
    that is where the built-in tables do not: `{"lookup": {"filter": "sql", "remark": "text"}}`.
    """

    def __init__(
        self,
        blocklist: Iterable[str] | None = None,
        allowlist: Iterable[str] | None = None,
        allow_unknown: bool = True,
        inspect_arguments: bool = True,
        *,
        extra_blocklist: Iterable[str] = (),
        slots: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        for name, names in (
            ("blocklist", blocklist),
            ("allowlist", allowlist),
            ("extra_blocklist", extra_blocklist),
        ):
            if isinstance(names, str):
                raise ValueError(f"{name} is a list of tool names, not the string {names!r}")
        blocked = DEFAULT_BLOCKLIST if blocklist is None else blocklist
        self._blocked = frozenset(map(compact_skeleton, (*blocked, *extra_blocklist)))
        self._allowed = frozenset(allowlist or ())
        self._allow_unknown = allow_unknown
        self._inspects = inspect_arguments
        self._slots = Slots(slots)

    def check(self, response: Any, context: Context | None = None) -> GuardResult:
        view = viewed(response)
        for call in view.tool_calls:
            refusal = self._refusal(call)
            if refusal is not None:
                return self.fail_result(refusal, {"tool_name": call.name, "path": call.path})
        if not self._inspects or not view.tool_calls:
            return self.pass_result()
        found = list(_suspicions(view, self._slots))
        if not found:
            return self.pass_result()
        first = found[0]
        details = {"findings": [{"kind": one.kind, "path": one.path, "reason": one.reason} for one in found]}
        return self.fail_result(f"hostile {first.kind} in {first.path}: {first.reason}", details)

    def _refusal(self, call: OutputToolCall) -> str | None:
        if self._is_blocked(call.name):
            return f"the tool {call.name[:80]!r} is on the blocklist"
        if not self._allow_unknown and call.name not in self._allowed:
            return f"the tool {call.name[:80]!r} is not on the allowlist"
        return None

    def _is_blocked(self, name: str) -> bool:
        """The whole name, or what follows the server or namespace in front of it."""
        return not self._blocked.isdisjoint(_looks(name[:_MAX_NAME]))


_MAX_NAME: Final = 500


@functools.lru_cache(maxsize=4096)
def _looks(name: str) -> frozenset[str]:
    inner = (name.rpartition(mark)[2] for mark in ("__", ".", "/", ":") if mark in name)
    return frozenset(map(compact_skeleton, (name, *inner)))


def _suspicions(view: Output, slots: Slots) -> Iterator[Suspicion]:
    scanned: TextScan = view.once(scan)
    signals = scanned.signals & _SUSPICION_SIGNALS
    calls = _Calls(view, slots)
    texts = list(_distinct(calls.texts()))
    readings = list(_distinct(calls.readings(scanned.lines)))
    for argument in texts:
        yield from suspicions.judge(argument)
    for argument in readings:
        yield from suspicions.judge_again(argument)
    for argument in _distinct((*texts, *readings)) if readings else texts:
        yield from suspicions.search(argument, signals)


def _distinct(arguments: Iterable[CallArgument]) -> Iterator[CallArgument]:
    return iter({(argument.slot, argument.value): argument for argument in arguments}.values())


class _Calls:
    """The calls of an output, and what each text in their arguments is for."""

    def __init__(self, view: Output, slots: Slots) -> None:
        self._view = view
        self._slots = slots
        self._by_path = {
            f"{call.path}.arguments" if call.path else "arguments": call for call in view.tool_calls
        }
        self._only = next(iter(self._by_path.items())) if len(self._by_path) == 1 else None

    def texts(self) -> Iterator[CallArgument]:
        """Every text as it stands, then those that stand in several values."""
        for text in self._view.texts:
            if text.in_call:
                yield self._argument(text, text.value)
        for path, value in self._view.objects:
            if self._only or path.endswith("arguments") or ".arguments" in path:
                for key, slot, joined in suspicions.join_texts(value):
                    yield CallArgument(slot, f"{path}.{key}", joined)

    def readings(self, lines: Iterable[ScannedLine]) -> Iterator[CallArgument]:
        """What the texts say where a disguise or an encoding is taken off."""
        for line in lines:
            if line.text.in_call and line.value != line.text.value:
                yield self._argument(line.text, line.value)

    def _argument(self, text: OutputText, value: str) -> CallArgument:
        where, call = self._only or self._call_at(text.path)
        if call is None:
            return CallArgument(slot_of("", text.key), text.path, value)
        slot = self._slots.find(call.name, text.key, text.path[len(where) :].lstrip("."))
        language = _language_of(call.arguments) if slot is Slot.CODE else None
        return CallArgument(slot, text.path, value, language)

    def _call_at(self, path: str) -> tuple[str, OutputToolCall | None]:
        """The innermost call that the path lies in."""
        where = max((where for where in self._by_path if path.startswith(where)), key=len, default="")
        return where, self._by_path.get(where)


def _language_of(arguments: Mapping[str, Json]) -> str | None:
    named = (arguments.get(key) for key in ("language", "lang", "runtime", "interpreter"))
    return next((language for language in named if isinstance(language, str) and language), None)


_SUSPICION_SIGNALS: Final = frozenset(suspicions.SIGNALS)
