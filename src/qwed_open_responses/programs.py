"""Texts that a tool would run: judged in full where their slot runs them, searched for harm elsewhere.

`judge_…` answers for a slot that runs the text: what does not parse, or can't be shown to be harmless, is
refused. `find_…` answers for other slots: only harm that was found counts. Both answer the reason, or None.
"""

import shlex
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from qwed.domain.findings import Status
from qwed.domain.lazy_pattern import lazy_pattern
from qwed_open_responses.engines import find_in_text, inspect_code, inspect_sql, judge_program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qwed.engines.candidates import FoundEffect
    from qwed.engines.code import CodeProblem as CodeProblem
    from qwed.engines.code import CodeVerdict
    from qwed.engines.sql import SqlProblem as SqlProblem
    from qwed.engines.sql import SqlStatement, SqlVerdict

MAX_PARSED: Final = 16_384
_MAX_INNER: Final = 50
_TOO_MANY: Final = f"more than {_MAX_INNER} places that may hold a program, too many to check"

# SQL

_LEADING = lazy_pattern(r"(?:\s|--[^\n]*\n|#[^\n]*\n)*")
_VERSION = lazy_pattern(r"!\d{0,6}")
_HARMFUL_KINDS: Final = frozenset({"truncate", "grant", "copy", "procedure", "administration"})
_WHOLE_TABLE_KINDS: Final = frozenset({"delete", "update", "merge"})
# Definitions that add and take nothing away. Everything else that changes a schema is refused.
_ADDS = lazy_pattern(
    r"(?is)(?:create\s+(?:or\s+replace\s+)?(?:(?:global\s+|local\s+)?temp(?:orary)?\s+|unlogged\s+)?(?:unique\s+)?"
    r"(?:materialized\s+)?(?:table|view|index|schema|sequence|type)|alter\s+table|comment\s+on)\b"
)
_TAKES_AWAY = lazy_pattern(r"(?i)\bdrop\b")
# Statements of which a parser keeps the rest as it stands: the rest may be a statement too.
_OPEN_ENDED = lazy_pattern(r"(?i)(?:show|set|use|desc|describe|begin|start|commit|rollback|pragma)\b")
_INNER_STATEMENT = lazy_pattern(
    r"(?i)\b(?:drop|alter)\s+(?:table|database|schema|view|index|user|role|login|function|procedure|trigger"
    r"|sequence|column|tablespace|system)\b|\btruncate\s+\w|\bdelete\s+from\b|\bupdate\s+\S+\s+set\b"
    r"|\b(?:insert|merge|replace)\s+into\b|\b(?:grant|revoke|exec|execute|copy)\s+\w|\bshutdown\b"
    r"|(?<!\()(?<!\( )\b(?:select|union)\b"
)


def judge_sql(text: str) -> str | None:
    verdict = inspect_sql(text)
    if verdict.problems:
        return _explain(_gravest(verdict))
    return next(filter(None, (_harm_of(statement, text) for statement in verdict.statements)), None)


def find_harmful_sql(text: str) -> str | None:
    """What `judge_sql` finds in a text that is SQL at all."""
    return judge_sql(text) if str(inspect_sql(text).failure) != "malformed" else None


def find_in_condition(text: str) -> str | None:
    """A condition that a tool puts into its own statement, read where it would stand."""
    verdict = inspect_sql(f"SELECT 1 FROM t WHERE ({text})")  # noqa: S608 - parsed, never run
    if str(verdict.failure) == "forbidden":
        return _explain(_gravest(verdict))
    return find_anything(text)


def _gravest(verdict: "SqlVerdict") -> "SqlProblem":
    failure = verdict.failure
    return next((problem for problem in verdict.problems if problem.failure is failure), verdict.problems[0])


def _explain(problem: "SqlProblem") -> str:
    return f"{problem.rule}: {problem.message}"


def _harm_of(statement: "SqlStatement", whole: str) -> str | None:
    """What even a well-formed statement may not do: take away, hand over, or change every row."""
    kind, plain = statement.kind.value, _without_comments(statement.text)
    if kind in _HARMFUL_KINDS or (kind == "ddl" and (not _ADDS.match(plain) or _TAKES_AWAY.search(whole))):
        return f"{kind}: {plain[:80]}"
    if kind in _WHOLE_TABLE_KINDS and statement.risk.wire == "critical":
        return f"{kind} of every row: {plain[:80]}"
    if _OPEN_ENDED.match(plain):
        return _find_hidden_statement(whole)
    return None


def _find_hidden_statement(text: str) -> str | None:
    """`SET NOCOUNT ON DROP TABLE users` is two statements where no mark must stand between them."""
    found = _INNER_STATEMENT.search(_without_comments(text))
    return f"a statement within a statement: {found.group()}" if found is not None else None


def _without_comments(text: str) -> str:
    """The text without comments in front and within; what a version comment holds is run, and stays."""
    parts: list[str] = []
    start = 0
    while (opened := text.find("/*", start)) >= 0:
        closed = text.find("*/", opened + 2)
        if closed < 0:
            break
        version = _VERSION.match(text, opened + 2)
        parts += (text[start:opened], text[version.end() : closed] if version else "")
        start = closed + 2
    plain = " ".join((*parts, text[start:]))
    return plain[_LEADING.match(plain).end() :]  # type: ignore[union-attr]


# Shell

# Commands that can do harm, and what is often in front of them.
PROGRAMS: Final = frozenset(
    """
    rm dd mkfs shred curl wget ncat nc chmod chown sudo bash sh zsh perl ruby php node powershell
    pwsh cmd certutil killall kill pkill shutdown reboot halt poweroff init find eval exec crontab
    iptables userdel useradd passwd scp rsync ssh base64 openssl docker kubectl systemctl del rmdir
    rd format truncate mv tee cat env printenv git socat telnet awk xargs history wipefs fdisk
    parted echo printf tar cp ln nohup setsid watch unlink vssadmin remove-item invoke-expression
    iex diskpart erase clear-disk format-volume reg net schtasks wmic bcdedit cipher mshta rundll32
    aws gcloud az terraform helm npm pip gem python python3
    """.split()  # noqa: SIM905 - a word list
)
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
# A name or an address that holds a command to run first.
_SUBSTITUTION = lazy_pattern(r"\$\(\s*[a-z/][\w/.-]*[\s)]|^[^\s`]*`[^`]+`[^\s`]*$")
_OPERATOR = lazy_pattern(r"[;|&\n]+")
_FOLLOWED: Final = 40


def judge_shell(text: str) -> str | None:
    return _explain_program(judge_program(text, "shell")) or judge_command(text)


def judge_command(text: str) -> str | None:
    """Where it is not known that a shell runs it: as `judge_shell`, but commands that nobody knows and what
    does not parse may be meant for something else."""
    if (windows := _WINDOWS.search(text)) is not None:
        return f"destructive command: {windows.group()[:80]}"
    verdict = inspect_code("shell", text)
    problems = [problem for problem in verdict.problems if problem.rule != _UNKNOWN_COMMAND]
    if problems:
        return _first_of(problems)
    is_followed = verdict.malformed is None and not verdict.problems and "process" not in verdict.effects
    return None if is_followed else _command_behind_words(text)


_UNKNOWN_COMMAND: Final = "unknown-command"


def _command_behind_words(text: str) -> str | None:
    """A program that nobody follows may run its arguments, so these are judged as a command too."""
    seen = 0
    for line in text.splitlines():
        for words in _tails(line):
            seen += 1
            if seen > _MAX_INNER:
                return _TOO_MANY
            harms = inspect_code("shell", shlex.join(words)).harms
            if harms:
                return _first_of(harms)
    return None


def _tails(line: str) -> Iterator[list[str]]:
    """What follows the first word of a line, from each word on that names a dangerous program."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        words = line.split()
    for index in range(1, len(words) - 1):
        if words[index].rpartition("/")[2].partition(".")[0] in PROGRAMS:
            yield words[index : index + _FOLLOWED]


# Python and JavaScript

# The ways from any object to every other; no calculation takes them.
_INNERS = lazy_pattern(
    r"__(?:subclasses|globals|builtins|mro|bases|code|closure|getattribute|reduce|reduce_ex)__"
)
_POWERS: Final = {
    "process": "it starts a program",
    "dynamic-execution": "it runs code that it makes itself",
    "file-delete": "it deletes files",
}
_LANGUAGES: Final = {
    "python": "python", "python3": "python", "py": "python", "javascript": "javascript", "js": "javascript",
    "node": "javascript", "nodejs": "javascript", "shell": "shell", "bash": "shell", "sh": "shell",
    "zsh": "shell",
}  # fmt: skip


def judge_python(text: str) -> str | None:
    return judge_code(text, "python")


def judge_javascript(text: str) -> str | None:
    return judge_code(text, "javascript")


def judge_code(text: str, language: str | None = None) -> str | None:
    """`language` is what the call says; without one the text is judged in every language it may be run as."""
    known = _LANGUAGES.get(language.strip().lower()) if language is not None else None
    if language is not None and known is None:
        return f"no parser for the language {language[:40]!r}, so nothing is known"
    if (found := _INNERS.search(text)) is not None:
        return f"interpreter internals: {found.group()}"
    verdict = judge_program(text, known)
    reason = _explain_program(verdict) or (None if known == "shell" else _power(verdict.effects))
    return reason or (_judge_beginning(text) if known is None else None)


_STOPS_AT = lazy_pattern(r"line (\d{1,9}):")


def _judge_beginning(text: str) -> str | None:
    """A console runs Python statement by statement: what stands before a line that does not parse counts."""
    stop = _STOPS_AT.match(inspect_code("python", text).malformed or "")
    if stop is None:
        return None
    begun = "".join(text.splitlines(keepends=True)[: int(stop[1]) - 1])
    verdict = inspect_code("python", begun)
    if verdict.malformed is not None:
        return None
    return _first_of(verdict.harms) if verdict.harms else _power(verdict.effects)


def _explain_program(verdict: "CodeVerdict") -> str | None:
    if verdict.problems:
        return _first_of(verdict.problems)
    if verdict.malformed is not None:
        return f"does not parse as {verdict.language}: {verdict.malformed}"
    return None


def _power(effects: Iterable[str]) -> str | None:
    """Effects that no calculation needs, whatever the program does with them."""
    return next((f"{effect}: {_POWERS[effect]}" for effect in effects if effect in _POWERS), None)


def _first_of(problems: "Sequence[CodeProblem]") -> str:
    return f"{problems[0].rule}: {problems[0].text}"


# Texts that nobody marked as programs


def find_anything(text: str) -> str | None:
    """What is found: a forbidden effect, a complete statement that does more than read, a known command with
    an effect."""
    if _SUBSTITUTION.search(text):
        return "substitution: the value would run a command where a shell reads it"
    if (windows := _WINDOWS.search(text)) is not None:
        return f"destructive command: {windows.group()[:80]}"
    if (internals := _INNERS.search(text)) is not None:
        return f"interpreter internals: {internals.group()}"
    found = _find(text)
    return f"{found.rule}: {found.reason}" if found is not None else None


def _find(text: str) -> "FoundEffect | None":
    """Also where words in a comment stand in front of it."""
    found = find_in_text(text)
    return find_in_text(_without_comments(text)) if found is None and "/*" in text else found


def find_forbidden(text: str) -> str | None:
    """Forbidden effects and complete statements: the words of a list often name a command."""
    found = _find(text)
    is_meant = found is not None and (found.status is Status.FAILED or found.language == "sql")
    return f"{found.rule}: {found.reason}" if found is not None and is_meant else None


_ENDS_PROCESSES = lazy_pattern(r"\s*kill(?:\s+(?:-{1,2}[A-Za-z0-9=-]{1,12}|%?[0-9]{1,10})){1,20}\s*")


def find_statement(text: str) -> str | None:
    """SQL alone."""
    found = _find(text)
    return f"{found.rule}: {found.reason}" if found is not None and found.language == "sql" else None


def find_statement_in_command(text: str) -> str | None:
    """SQL where a shell reads: `kill 4312` ends a process there, and no session."""
    return None if _ENDS_PROCESSES.fullmatch(text) else find_statement(text)


def find_behind_words(text: str) -> str | None:
    """Words to search for: a statement, or a forbidden command behind an operator of the shell."""
    if _SUBSTITUTION.search(text):
        return "substitution: the value would run a command where a shell reads it"
    operator = _OPERATOR.search(text)
    harms = inspect_code("shell", text[operator.end() :]).harms if operator is not None else ()
    return _first_of(harms) if harms else find_statement(text)


def find_again(text: str) -> str | None:
    """Another reading of a program, without a disguise or an encoding."""
    verdict = judge_program(text, None)
    return _first_of(verdict.harms) if verdict.harms else find_anything(text)
