"""Hostile arguments of tool calls: programs, paths and addresses, judged by engines that parse them.

What an argument can be run as is said by its slot (`slots`). A slot that runs its text is judged in full. In
any other slot only what is found counts, and text that people read is never judged as a program.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from qwed.domain.json_types import Json
from qwed_open_responses import places, programs
from qwed_open_responses.slots import Slot, is_plural, slot_of

# What may be hostile in an argument of any name.
SIGNALS: Final = {
    "suspicion:sql": (
        r"(?i)\b(?:drop|truncate|delete|update|alter|grant|revoke|exec|execute|merge|copy|shutdown|insert"
        r"|create|replace|select|union"
        r"|call|attach|load|backup|restore|kill|set)\b"
    ),
    "suspicion:path": (
        r"(?i)\.\.[/\\%;]|[/\\]\.\.|%2e|%252e|%c0|[\x{ff0e}\x{2025}\x{2024}]|/etc|/proc|/sys/|/root|/dev/"
        r"|\.ssh|id_rsa|\.env|\.aws|\.kube"
        r"|\.git/|\.netrc|\.pgpass|\.npmrc|authorized_keys|shadow|passwd|docker\.sock|\\windows|system32"
        r"|^\\\\|: \\\\|\bfile:|~|\$HOME"
        r"|%[A-Z]+%|wallet|\.\. "
    ),
    "suspicion:url": (
        r"(?i)[a-z][a-z0-9+.-]*:[/\\]|169\.254|\blocalhost\b|\b127\.|\bmetadata\b|\b0x7f|\b2130706433|\[::"
        r"|javascript:|data:text"
        r"|\b10\.[0-9]|\b192\.168|\b172\.(?:1[6-9]|2[0-9]|3[01])\."
    ),
}


class Suspicion(msgspec.Struct, frozen=True):
    kind: str
    path: str
    reason: str


class CallArgument(msgspec.Struct, frozen=True):
    """One string that a tool would receive. `language` is what the call says about a program in it."""

    slot: Slot
    path: str
    value: str
    language: str | None = None


_JUDGES: Final[Mapping[Slot, Callable[[str], str | None]]] = {
    Slot.SQL: programs.judge_sql,
    Slot.SHELL: programs.judge_shell,
    Slot.COMMAND: programs.judge_command,
    Slot.PYTHON: programs.judge_python,
    Slot.JAVASCRIPT: programs.judge_javascript,
    Slot.CODE: programs.judge_code,
}


def judge(argument: CallArgument) -> Iterator[Suspicion]:
    """Why a slot that runs its text may not run this one."""
    slot, text = argument.slot, argument.value
    if len(text) > programs.MAX_PARSED and (slot in _JUDGES or slot is Slot.PERHAPS):
        reason: str | None = f"{len(text)} characters are too large to check as {slot.value}"
    elif slot not in _JUDGES or not text.strip():
        return
    elif slot is Slot.CODE and argument.language is not None:
        reason = programs.judge_code(text, argument.language)
    else:
        reason = _JUDGES[slot](text)
    if reason is not None:
        yield Suspicion(_KINDS.get(slot, slot.value), argument.path, reason)


def judge_again(argument: CallArgument) -> Iterator[Suspicion]:
    """Why another reading of such a text (decoded, or without disguise) may not run either; a reading that
    does not parse is none."""
    reread = _REJUDGES.get(argument.slot)
    reason = (
        reread(argument.value) if reread is not None and len(argument.value) <= programs.MAX_PARSED else None
    )
    if reason is not None:
        yield Suspicion(_KINDS.get(argument.slot, argument.slot.value), argument.path, reason)


_REJUDGES: Final[Mapping[Slot, Callable[[str], str | None]]] = {
    Slot.SQL: programs.find_harmful_sql,
    Slot.SHELL: programs.judge_command,
    Slot.COMMAND: programs.judge_command,
    Slot.PYTHON: programs.find_again,
    Slot.JAVASCRIPT: programs.find_again,
    Slot.CODE: programs.find_again,
}
_KINDS: Final = {Slot.PYTHON: "code", Slot.JAVASCRIPT: "code"}


class _Search(msgspec.Struct, frozen=True):
    """What is looked for where its signal occurs; `find` answers the reason, or None."""

    signal: str
    kind: str
    find: Callable[[str, Slot], str | None]


def _for_program(find: Callable[[str], str | None]) -> Callable[[str, Slot], str | None]:
    return lambda text, slot: find(text) if len(text) <= programs.MAX_PARSED else None


_ANYTHING: Final = _Search("", "program", _for_program(programs.find_anything))
_STATEMENT: Final = _Search("suspicion:sql", "sql", _for_program(programs.find_statement))
_STATEMENT_IN_COMMAND: Final = msgspec.structs.replace(
    _STATEMENT, find=_for_program(programs.find_statement_in_command)
)
_BEHIND_WORDS: Final = _Search("", "program", _for_program(programs.find_behind_words))
_FORBIDDEN: Final = _Search("", "program", _for_program(programs.find_forbidden))
_CONDITION: Final = _Search("", "sql", _for_program(programs.find_in_condition))
_PATH: Final = _Search("suspicion:path", "path", places.find_path)
_URL: Final = _Search("suspicion:url", "address", places.find_address)
_ALWAYS_PATH: Final = msgspec.structs.replace(_PATH, signal="")
_ALWAYS_URL: Final = msgspec.structs.replace(_URL, signal="")
_SEARCHES: Final[Mapping[Slot, tuple[_Search, ...]]] = {
    Slot.SQL: (),
    Slot.SHELL: (_STATEMENT_IN_COMMAND,),
    Slot.COMMAND: (_STATEMENT_IN_COMMAND,),
    Slot.PYTHON: (),
    Slot.JAVASCRIPT: (),
    Slot.CODE: (_STATEMENT,),
    Slot.CONDITION: (_CONDITION,),
    Slot.WORDS: (_BEHIND_WORDS, _PATH, _URL),
    Slot.TEXT: (_URL,),
    Slot.PATH: (_ANYTHING, _ALWAYS_PATH, _URL),
    Slot.URL: (_ANYTHING, _PATH, _ALWAYS_URL),
    Slot.PERHAPS: (_ANYTHING, _PATH, _URL),
    Slot.UNKNOWN: (_ANYTHING, _PATH, _URL),
    Slot.LIST: (_FORBIDDEN,),
}


def search(argument: CallArgument, signals: frozenset[str]) -> Iterator[Suspicion]:
    """What is hostile in a text, whatever its slot. `signals` occur somewhere in the call."""
    slot, text = argument.slot, argument.value
    # "status": "shutdown" is a word, not a command.
    if slot in (Slot.UNKNOWN, Slot.PERHAPS) and text.isalpha():
        return
    for one in _SEARCHES[slot]:
        if one.signal and one.signal not in signals:
            continue
        if one is _ANYTHING and slot is Slot.URL and "://" in text:
            continue
        reason = one.find(text, slot)
        if reason is not None:
            yield Suspicion(one.kind, argument.path, reason)


# Texts that stand in several values


def join_texts(value: Mapping[str, Json]) -> Iterator[tuple[str, Slot, str]]:
    """Commands given as a list, or as a program and its arguments, and other lists of words: the member's
    name, its slot and the line that would run."""
    for key, item in value.items():
        # Most values of a record are numbers and flags.
        if type(item) in _SINGLE:
            continue
        is_words = _is_words(item)
        if not is_words and not isinstance(item, str):
            continue
        name = str(key)
        slot = slot_of("", name)
        if is_words:
            for joined_slot, joined in _join_list(name, slot, item):
                yield name, joined_slot, joined
        elif isinstance(item, str) and (slot in _COMMANDS or name in _PROGRAM_KEYS):
            yield from ((name, *joined) for joined in _join_arguments(value, key, slot, item))


def _join_list(name: str, slot: Slot, words: list[str]) -> Iterator[tuple[Slot, str]]:
    if slot in _COMMANDS:
        yield slot, "\n".join(words) if is_plural(name) else _line(words)
    elif slot in (Slot.UNKNOWN, Slot.PERHAPS):
        yield Slot.LIST, _line(words)
        yield Slot.LIST, " ".join(words)


def _join_arguments(
    value: Mapping[str, Json], key: str, slot: Slot, program: str
) -> Iterator[tuple[Slot, str]]:
    arguments = next((value[other] for other in _ARGUMENT_KEYS if other in value and other != key), None)
    shell = slot if slot in _COMMANDS else Slot.COMMAND
    if isinstance(arguments, str):
        yield shell, f"{program} {arguments}"
    elif _is_words(arguments):
        yield shell, f"{program} {_line(arguments)}"


_COMMANDS: Final = frozenset({Slot.SHELL, Slot.COMMAND})
_PROGRAM_KEYS: Final = ("program", "executable", "binary", "process")
_ARGUMENT_KEYS: Final = ("args", "arguments", "argv", "params", "flags", "options")


def _is_words(value: Any) -> bool:
    if type(value) is str or not isinstance(value, _LISTS) or not 0 < len(value) <= 500:
        return False
    return all(isinstance(word, str) for word in value)


#: Named here: a union that is written where it is used is made again for every value.
_LISTS: Final = (list, tuple)
_SINGLE: Final = frozenset({int, float, bool, dict, type(None)})


def _line(words: Any) -> str:
    """The words as one line, quoted where they hold blanks; a list of whole commands stays a list."""
    if len(words) > 1 and all(" " in word.strip() for word in words):
        return "\n".join(words)
    return shlex.join(words)
