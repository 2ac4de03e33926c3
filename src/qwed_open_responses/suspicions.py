"""Hostile arguments of tool calls: shell, SQL, code, paths and addresses, judged by engines that parse them.

An argument is parsed as what its name says it is, always. An argument with another name is parsed as whatever
its text looks like, unless it is prose: a sentence that mentions `rm -rf /` runs nothing.
"""

import functools
import importlib
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from qwed.domain.lazy_pattern import lazy_pattern
from qwed_open_responses import sql_fragments
from qwed_open_responses.slots import Slot, slot_of

MAX_PARSED: Final = 16_384
MAX_ADDRESSES: Final = 50
_MAX_PATH: Final = 4_096

# What may be hostile in an argument of any name.
SIGNALS: Final = {
    "suspicion:shell": (
        r"\$\(|`|\$\{?IFS|<\(|:\(\)|/dev/tcp|>\s*/(?:etc|dev|bin|usr|boot|root|var|proc|sys)\b|>\s*~"
        r"|\|\s*(?:\S*/)?(?:ba|z|da|k)?sh\b"
        r"|(?:[;|&\n]|: |^)\s*(?:sudo\s+|[A-Z_]+=\S*\s+)?(?:\\|\S*/)?(?i:rm|dd|mkfs|shred|curl|wget|ncat"
        r"|nc|chmod|chown|sudo|bash|sh|zsh"
        r"|python3?|perl|ruby|php|node|powershell|pwsh|cmd|certutil|killall|kill|pkill|shutdown|reboot"
        r"|halt|poweroff|init|find|eval|exec"
        r"|crontab|iptables|userdel|useradd|passwd|scp|rsync|ssh|base64|openssl|docker|kubectl|systemctl"
        r"|del|rmdir|rd|format|truncate|mv"
        r"|tee|cat|env|printenv|git|socat|telnet|awk|xargs|history|wipefs|fdisk|parted|echo|printf|tar|cp"
        r"|ln|nohup|setsid|watch|unlink"
        r"|vssadmin|remove-item|invoke-expression|iex|diskpart|erase|clear-disk|format-volume|reg|net"
        r"|schtasks|wmic|bcdedit|cipher|mshta|rundll32|aws|gcloud|az|terraform|helm|npm"
        r"|pip|gem)\b"
        r"|(?:^|: )\s*[a-zA-Z/.]{0,12}(?:''|\"\"|\\[a-z]|\$@|\$\*|\$')"
        r"|(?:^|: )\s*[\"'][\w/.-]{1,20}[\"']\s+-"
    ),
    "suspicion:sql": (
        r"(?i)\b(?:drop|truncate|delete|update|alter|grant|revoke|exec|execute|merge|copy|shutdown|insert"
        r"|create|replace|select|union"
        r"|call|attach|load|backup|restore|kill|set)\b"
    ),
    "suspicion:python": (
        r"__[a-z]+__|\b(?:eval|exec|compile|getattr|setattr|globals|locals|vars|open|input|system|popen"
        r"|breakpoint)\s*\("
        r"|\b(?:os|subprocess|shutil|socket|ctypes|pty|pickle|marshal|importlib|builtins|sys|pathlib"
        r"|requests|urllib|codecs)\s*\."
        r"|\bimport\s+\w|\bfrom\s+\w+\s+import\b"
    ),
    "suspicion:javascript": (
        r"\brequire\s*\(|child_process|\bprocess\s*[.\[]|\bFunction\s*\(|\bconstructor\b|\bimport\s*\("
        r"|\bfs\s*\.|\bDeno\b|\bBun\b"
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


class Argument(msgspec.Struct, frozen=True):
    """One reading of one string that a tool would receive."""

    tool: str
    key: str
    path: str
    value: str


def judge(argument: Argument, signals: frozenset[str]) -> Iterator[Suspicion]:
    """Everything hostile in one argument. `signals` occur somewhere in the call."""
    slot = slot_of(argument.tool, argument.key)
    if slot in (Slot.SHELL, Slot.SQL, Slot.CODE) and len(argument.value) > MAX_PARSED:
        reason = f"{len(argument.value)} characters are too large to check as {slot.value}"
        yield Suspicion(slot.value, argument.path, reason)
        return
    # "status": "shutdown" is a word, not a command.
    looked_at = signals if slot is not None or not argument.value.isalpha() else frozenset()
    for name, judges in _JUDGES.items():
        if name in looked_at or slot in judges.slots:
            reason = judges.find(argument.value, slot)
            if reason is not None:
                yield Suspicion(judges.kind, argument.path, reason)


def command_lines(value: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Commands given as a list, or as a program and its arguments: (key, the line that would run)."""
    for key, item in value.items():
        if not _names_a_command(key):
            continue
        arguments = next((value[name] for name in _ARGUMENT_KEYS if name in value and name != key), None)
        if _is_words(item):
            yield str(key), _line(item)
        elif isinstance(item, str) and _is_words(arguments):
            yield str(key), f"{item} {_line(arguments)}"
        elif isinstance(item, str) and isinstance(arguments, str):
            yield str(key), f"{item} {arguments}"


@functools.lru_cache(maxsize=4096)
def _names_a_command(key: str) -> bool:
    return key in _PROGRAM_KEYS or slot_of("", key) is Slot.SHELL


_PROGRAM_KEYS: Final = ("program", "executable", "binary", "process", "args", "arguments")
_ARGUMENT_KEYS: Final = ("args", "arguments", "argv", "params", "flags", "options")


def _is_words(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and 0 < len(value) <= 500
        and all(isinstance(word, str) for word in value)
    )


def _line(words: Any) -> str:
    """The words as one line, quoted where they hold blanks; a list of whole commands stays a list."""
    if len(words) > 1 and all(" " in word.strip() for word in words):
        return "\n".join(words)
    return shlex.join(words)


# Prose

_FUNCTION_WORDS: Final = frozenset(
    """
    the a an is are was were be been to of in on at for with and or but not no this that these those it
    its you your we our they their he she his her i my me please should would could can will never don't
    do does did have has had from by as if when how what why which who because so than then there about
    into after before over under again more most some any all each every just only very also
    """.split()  # noqa: SIM905 - a word list
)


def is_prose(value: str) -> bool:
    """A sentence: several words, a good part of them words that only sentences are held together by."""
    words = [word for token in value[:600].lower().split() if (word := token.strip(_PUNCTUATION)).isalpha()]
    held = sum(word in _FUNCTION_WORDS for word in words)
    return held >= 2 and held * 6 >= len(words)


_PUNCTUATION: Final = ".,;:!?\"'()“”‘’"


# Judges


class _Judge(msgspec.Struct, frozen=True):
    """`find` answers the reason why a text is hostile, or None; `slots` are always judged."""

    kind: str
    slots: frozenset[Slot]
    find: Any


def _hostile_shell(value: str, slot: Slot | None) -> str | None:
    if len(value) > MAX_PARSED or (slot is not Slot.SHELL and is_prose(value)):
        return None
    if slot in (Slot.SQL, Slot.CODE) or (slot is Slot.URL and "://" in value):
        return None
    if slot is not Slot.SHELL and _SUBSTITUTION.search(value):
        return "substitution: the value would run a command where a shell reads it"
    if (windows := _WINDOWS.search(value)) is not None:
        return f"destructive command: {windows.group()[:80]}"
    verdict = _engines().code.inspect_shell(value)
    # A command whose harmlessness could not be shown is not run; elsewhere only what surely harms counts.
    return _worst(verdict.problems if slot is Slot.SHELL else verdict.harms)


# A name or an address that holds a command to run first.
_SUBSTITUTION = lazy_pattern(r"\$\(\s*[a-z/][\w/.-]*[\s)]|^[^\s`]*`[^`]+`[^\s`]*$")
# No engine parses these two languages yet: the verbs that destroy or fetch and run, with what makes them so.
_WINDOWS = lazy_pattern(
    r"(?i)\b(?:del|erase|rd|rmdir)\s+(?:/[a-z]\s+){0,6}/[sq]\b|\bformat\s+[a-z]:|\bcipher\s+/w|\bdiskpart\b"
    r"|\b(?:remove-item|ri|rm)\b[^\n|;]{0,200}\s-(?:recurse|r)\b|\b(?:clear-disk|format-volume"
    r"|stop-computer)\b"
    r"|\b(?:powershell|pwsh)(?:\.exe)?\b[^\n]{0,200}\s-e(?:nc|ncodedcommand)?\s+[a-z0-9+/=]{16}"
    r"|\b(?:iex|invoke-expression)\b|\bdownloadstring\s*\(|\bvssadmin\s+delete\b|\breg\s+(?:delete|add)\b"
    r"|\bnet\s+(?:user|localgroup)\s[^\n]{0,100}/add\b|\bcertutil\b[^\n]{0,100}-urlcache\b"
    r"|\bmshta\s+(?:http|vbscript)"
    r"|\bbcdedit\s+/|\bset-mppreference\b|\bschtasks\s+/create\b|\bwmic\s[^\n]{0,100}\bcall\s+create\b"
)


def _worst(problems: Any) -> str | None:
    return f"{problems[0].rule}: {problems[0].text}" if problems else None


_COMMENTS = lazy_pattern(r"/\*!\d{0,6}(.*?)\*/|/\*.*?\*/", re.S)
_DESTRUCTIVE_KINDS: Final = frozenset({"truncate", "grant", "copy", "procedure", "administration"})
_DROPS = lazy_pattern(r"(?is)^\W*(?:drop\b|alter\b.*\bdrop\b|(?:create|alter)\s+(?:user|role|login)\b)")
_VERB = lazy_pattern(
    r"(?i)^\W*(?:select|insert|update|delete|drop|alter|create|truncate|grant|revoke|merge|with|exec|copy"
    r"|union)\b"
)


def _hostile_sql(value: str, slot: Slot | None) -> str | None:
    if len(value) > MAX_PARSED or slot in (Slot.SHELL, Slot.CODE, Slot.PATH, Slot.URL):
        return None
    plain = _COMMENTS.sub(lambda match: f" {match.group(1) or ''} ", value)
    if slot is not Slot.SQL and (not sql_fragments.is_statement_shaped(plain) or is_prose(value)):
        return None
    if slot is Slot.SQL and _VERB.match(plain) is None:
        return None
    verdict = _engines().sql.inspect_sql(value)
    if str(verdict.failure) == "malformed":
        return f"{verdict.problems[0].rule}: {verdict.problems[0].message}" if slot is Slot.SQL else None
    if verdict.failure is not None:
        return f"{verdict.problems[0].rule}: {verdict.problems[0].message}"
    return next(filter(None, (_destroys(statement) for statement in verdict.statements)), None)


def _destroys(statement: Any) -> str | None:
    kind = statement.kind.value
    if kind in _DESTRUCTIVE_KINDS or (kind == "ddl" and _DROPS.match(statement.text)):
        return f"{kind}: {statement.text[:80]}"
    if kind in ("delete", "update", "merge") and statement.risk.wire == "critical":
        return f"{kind} of every row: {statement.text[:80]}"
    return None


def _hostile_python(value: str, slot: Slot | None) -> str | None:
    if len(value) > MAX_PARSED or (slot is not Slot.CODE and (is_prose(value) or slot is not None)):
        return None
    if (inner := _INNERS.search(value)) is not None:
        return f"interpreter internals: {inner.group()}"
    verdict = _engines().code.inspect_python(value)
    if verdict.malformed is not None:
        return _worst(verdict.harms)
    return _worst(verdict.problems) or _power(verdict.effects)


# The ways from any object to every other; no calculation takes them.
_INNERS = lazy_pattern(
    r"__(?:subclasses|globals|builtins|mro|bases|code|closure|getattribute|reduce|reduce_ex)__"
)
_POWERS: Final = {
    "process": "it starts a program",
    "dynamic-execution": "it runs code that it makes itself",
    "file-delete": "it deletes files",
}


def _power(effects: Any) -> str | None:
    """Effects that no calculation needs, whatever the program does with them."""
    return next((f"{effect}: {_POWERS[effect]}" for effect in effects if effect in _POWERS), None)


def _hostile_javascript(value: str, slot: Slot | None) -> str | None:
    if len(value) > MAX_PARSED or (slot is not Slot.CODE and (is_prose(value) or slot is not None)):
        return None
    verdict = _engines().code.inspect_javascript(value)
    if verdict.malformed is not None:
        return _worst(verdict.harms)
    return _worst(verdict.problems) or _power(verdict.effects)


_PATH_RULES: Final = frozenset({"traversal", "sensitive-place", "control-character", "unc", "stream"})
_HOME = lazy_pattern(r"^(?:~[\w-]*|\$HOME|\$\{HOME\}|%USERPROFILE%|%HOMEPATH%)(?=[/\\]|$)", re.I)
_PATH_LIKE = lazy_pattern(
    r"^\s*(?:file:|[~.\\/$%]|[A-Za-z]:[\\/]|[\w.@%-]+[\\/])|[\\/]\.\.|\.\.[\\/]|^\.[a-z]+|^\S+$", re.I
)


def _hostile_path(value: str, slot: Slot | None) -> str | None:
    if len(value) > _MAX_PATH:
        return f"a path of {len(value)} characters" if slot is Slot.PATH else None
    if slot in (Slot.SHELL, Slot.SQL, Slot.CODE) or "\n" in value.strip():
        return None
    if slot is not Slot.PATH and (
        "://" in value or is_prose(value) or not _PATH_LIKE.search(value) or value.count(" ") > 3
    ):
        return _traversal_in_url(value)
    path = _HOME.sub("/home/user", value.strip())
    problems = _engines().tools.inspect_path(path)
    problem = next((problem for problem in problems if problem.rule in _PATH_RULES), None)
    return f"{problem.rule}: {problem.message}" if problem is not None else None


_CLIMBS = lazy_pattern(
    r"(?i)(?:\.\.|%2e%2e|%252e%252e)(?:/|\\|%2f|%5c|%252f)(?:(?:\.\.|%2e%2e|%252e%252e)(?:/|\\|%2f|%5c"
    r"|%252f)|etc)"
)


def _traversal_in_url(value: str) -> str | None:
    if is_prose(value) or not _CLIMBS.search(value) or value.count(" ") > 3:
        return None
    return "traversal: the address climbs out of its folder"


_ADDRESS = lazy_pattern(
    r"(?i)(?<![a-z0-9])(?:https?|ftp|gopher|file|dict|ldaps?|tftp|jar|sftp|netdoc|phar|php|expect|ws|wss"
    r"|smb|ssh|data|javascript|vbscript)"
    r":[^\s\"'<>`]{1,2000}"
)
_BARE_HOST = lazy_pattern(r"^\s*[\w.\[\]:@%-]+(?:/\S*)?\s*$")
_METADATA: Final = frozenset({"metadata-address", "metadata-host"})
_HARMLESS_RULES: Final = frozenset({"credentials", "not-allowed", "port", "punycode", "plain-http"})


def _hostile_address(value: str, slot: Slot | None) -> str | None:
    if slot in (Slot.SHELL, Slot.SQL, Slot.CODE):
        return None
    candidates = [match.group().rstrip(".,;)]}") for match in _ADDRESS.finditer(value[:200_000])]
    if not candidates and slot is Slot.URL and _BARE_HOST.match(value):
        candidates = ["http://" + value.strip().lstrip("/")]
    if len(candidates) > MAX_ADDRESSES:
        return f"more than {MAX_ADDRESSES} addresses, too many to check" if slot is Slot.URL else None
    # In a sentence a local address is talk about a development server; the address of credentials never is.
    is_talk = slot is not Slot.URL and is_prose(value)
    for candidate in candidates:
        for problem in _engines().tools.inspect_url(candidate):
            if problem.rule in _METADATA or not (is_talk or problem.rule in _HARMLESS_RULES):
                return f"{problem.rule}: {problem.message}"
    return None


_JUDGES: Final = {
    "suspicion:shell": _Judge("shell", frozenset({Slot.SHELL}), _hostile_shell),
    "suspicion:sql": _Judge("sql", frozenset({Slot.SQL}), _hostile_sql),
    "suspicion:python": _Judge("code", frozenset({Slot.CODE}), _hostile_python),
    "suspicion:javascript": _Judge("code", frozenset({Slot.CODE}), _hostile_javascript),
    "suspicion:path": _Judge("path", frozenset({Slot.PATH}), _hostile_path),
    "suspicion:url": _Judge("address", frozenset({Slot.URL}), _hostile_address),
}


class _Engines:
    """The engines that parse, loaded when the first argument needs one."""

    @functools.cached_property
    def code(self) -> Any:
        return importlib.import_module("qwed.engines.code")

    @functools.cached_property
    def sql(self) -> Any:
        return importlib.import_module("qwed.engines.sql")

    @functools.cached_property
    def tools(self) -> Any:
        return importlib.import_module("qwed.engines.tools")


@functools.cache
def _engines() -> _Engines:
    return _Engines()
