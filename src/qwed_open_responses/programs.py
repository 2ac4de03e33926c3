"""Texts that a tool would run: judged in full where their slot runs them, searched for harm elsewhere.

`judge_…` answers for a slot that runs the text: what does not parse, or can't be shown to be harmless, is
refused. `find_…` answers for other slots: only harm that was found counts. Both answer the reason, or None.
"""

import shlex
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from qwed.domain.lazy_pattern import lazy_pattern
from qwed_open_responses import sql_fragments
from qwed_open_responses.engines import inspect_code, inspect_sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qwed.engines.code import CodeVerdict
    from qwed.engines.code import Problem as CodeProblem
    from qwed.engines.sql import Problem as SqlProblem
    from qwed.engines.sql import SqlVerdict, Statement

MAX_PARSED: Final = 16_384
_MAX_INNER: Final = 50
_MAX_LINES: Final = 200
# What a statement is shows in its beginning.
_HEAD: Final = 2_000
_TOO_MANY: Final = f"more than {_MAX_INNER} places that may hold a program, too many to check"

# SQL

_LEADING = lazy_pattern(r"(?:\s|--[^\n]*\n|#[^\n]*\n)*")
_VERSION = lazy_pattern(r"!\d{0,6}")
_HARMFUL_KINDS: Final = frozenset({"truncate", "grant", "copy", "procedure", "administration"})
_WHOLE_TABLE_KINDS: Final = frozenset({"delete", "update", "merge"})
_READING_KINDS: Final = frozenset({"read", "explain"})
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


def find_sql(text: str) -> str | None:
    """A statement within the text that is complete as one and does more than read, or is forbidden."""
    for count, part in enumerate(_statements_in(text)):
        if count == _MAX_INNER:
            return _TOO_MANY
        verdict = inspect_sql(part)
        if str(verdict.failure) == "forbidden":
            return _explain(_gravest(verdict))
        if verdict.failure is None and (writing := _first_writing(verdict)) is not None:
            return f"{writing.kind.value}: {writing.text[:80]}"
    return None


def find_harmful_sql(text: str) -> str | None:
    """What `judge_sql` finds in a text that is SQL at all."""
    return judge_sql(text) if str(inspect_sql(text).failure) != "malformed" else None


def find_in_condition(text: str) -> str | None:
    """A condition that a tool puts into its own statement, read where it would stand."""
    verdict = inspect_sql(f"SELECT 1 FROM t WHERE ({text})")  # noqa: S608 - parsed, never run
    if str(verdict.failure) == "forbidden":
        return _explain(_gravest(verdict))
    return find_sql(text)


def _gravest(verdict: "SqlVerdict") -> "SqlProblem":
    failure = verdict.failure
    return next((problem for problem in verdict.problems if problem.failure is failure), verdict.problems[0])


def _explain(problem: "SqlProblem") -> str:
    return f"{problem.rule}: {problem.message}"


def _harm_of(statement: "Statement", whole: str) -> str | None:
    """What even a well-formed statement may not do: take away, hand over, or change every row."""
    kind, plain = statement.kind.value, _without_comments(statement.text)
    if kind in _HARMFUL_KINDS or (kind == "ddl" and (not _ADDS.match(plain) or _TAKES_AWAY.search(whole))):
        return f"{kind}: {plain[:80]}"
    if kind in _WHOLE_TABLE_KINDS and statement.risk.wire == "critical":
        return f"{kind} of every row: {plain[:80]}"
    if _OPEN_ENDED.match(plain):
        return _hidden_statement(whole)
    return None


def _hidden_statement(text: str) -> str | None:
    """`SET NOCOUNT ON DROP TABLE users` is two statements where no mark must stand between them."""
    found = _INNER_STATEMENT.search(_without_comments(text))
    return f"a statement within a statement: {found.group()}" if found is not None else None


def _statements_in(text: str) -> Iterator[str]:
    """The text, and what follows each semicolon in it, where that begins as a statement does."""
    start = 0
    while True:
        part = text[start:]
        if sql_fragments.is_statement_shaped(_without_comments(part[:_HEAD])):
            yield part
        found = text.find(";", start)
        if found < 0:
            return
        start = found + 1


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


def _first_writing(verdict: "SqlVerdict") -> "Statement | None":
    return next((one for one in verdict.statements if one.kind.value not in _READING_KINDS), None)


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
    if (windows := _WINDOWS.search(text)) is not None:
        return f"destructive command: {windows.group()[:80]}"
    verdict = inspect_code("shell", text)
    if verdict.problems:
        return _first_of(verdict.problems)
    if verdict.malformed is not None:
        return f"does not parse as shell: {verdict.malformed}"
    return _command_behind_words(text) if "process" in verdict.effects else None


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
        return
    for index in range(1, len(words) - 1):
        if words[index].rpartition("/")[2].partition(".")[0] in PROGRAMS:
            yield words[index : index + _FOLLOWED]


def find_shell(text: str) -> str | None:
    if _SUBSTITUTION.search(text):
        return "substitution: the value would run a command where a shell reads it"
    if (windows := _WINDOWS.search(text)) is not None:
        return f"destructive command: {windows.group()[:80]}"
    verdict = inspect_code("shell", text)
    if verdict.harms:
        return _first_of(verdict.harms)
    # Only where every command in it is known: "please rm the line" runs a program called please.
    is_understood = verdict.malformed is None and "process" not in verdict.effects
    return "file-delete: it deletes files" if is_understood and "file-delete" in verdict.effects else None


def find_doubtful_shell(text: str) -> str | None:
    """What `judge_shell` finds in a text that may be none."""
    problems = inspect_code("shell", text).problems
    return _first_of(problems) if problems else None


def find_shell_behind_words(text: str) -> str | None:
    """Words to search for that end in a command: what stands behind an operator of the shell."""
    if _SUBSTITUTION.search(text):
        return "substitution: the value would run a command where a shell reads it"
    operator = _OPERATOR.search(text)
    harms = inspect_code("shell", text[operator.end() :]).harms if operator is not None else ()
    return _first_of(harms) if harms else None


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
    return _internals(text) or _judge_program(inspect_code("python", text))


def judge_javascript(text: str) -> str | None:
    return _judge_program(inspect_code("javascript", text))


def judge_code(text: str) -> str | None:
    """A program whose language nobody said: Python if it is that, else whatever it parses as; and searched
    for harm in every language."""
    if (found := find_code(text)) is not None:
        return found
    if inspect_code("python", text).malformed is None:
        return judge_python(text)
    readings = [name for name in ("javascript", "shell") if inspect_code(name, text).malformed is None]
    if not readings:
        return "does not parse as Python, JavaScript or shell"
    found = next(filter(None, (_JUDGES[name](text) for name in readings)), None)
    return found or _find_in_lines(text)


def _find_in_lines(text: str) -> str | None:
    """Harm in a line of what is Python but for another line."""
    lines = text.splitlines()
    if len(lines) > _MAX_LINES:
        return f"more than {_MAX_LINES} lines in no known language, too many to check"
    return next(filter(None, map(find_python, lines)), None)


def find_code(text: str) -> str | None:
    return find_python(text) or find_javascript(text) or find_shell(text)


def judge_declared(text: str, language: str) -> str | None:
    """A program whose call says its language."""
    known = _LANGUAGES.get(language.strip().lower())
    if known is None:
        return f"no parser for the language {language[:40]!r}, so nothing is known"
    return _JUDGES[known](text) or find_shell(text)


_JUDGES: Final = {"python": judge_python, "javascript": judge_javascript, "shell": judge_shell}


def find_python(text: str) -> str | None:
    return _internals(text) or _find_program(inspect_code("python", text))


def find_javascript(text: str) -> str | None:
    return _find_program(inspect_code("javascript", text))


def _internals(text: str) -> str | None:
    found = _INNERS.search(text)
    return f"interpreter internals: {found.group()}" if found is not None else None


def _judge_program(verdict: "CodeVerdict") -> str | None:
    if verdict.problems:
        return _first_of(verdict.problems)
    if verdict.malformed is not None:
        return f"does not parse as {verdict.language}: {verdict.malformed}"
    return _power(verdict.effects)


def _find_program(verdict: "CodeVerdict") -> str | None:
    if verdict.harms:
        return _first_of(verdict.harms)
    return _power(verdict.effects) if verdict.malformed is None else None


def _power(effects: Iterable[str]) -> str | None:
    """Effects that no calculation needs, whatever the program does with them."""
    return next((f"{effect}: {_POWERS[effect]}" for effect in effects if effect in _POWERS), None)


def _first_of(problems: "Sequence[CodeProblem]") -> str:
    return f"{problems[0].rule}: {problems[0].text}"
