"""Interpreters of other languages: what they are given to run is inspected where it can be read."""

import re
from typing import Final

import msgspec

from qwed.engines.code import places
from qwed.engines.code.shell import words
from qwed.engines.code.shell.machine import BELOW
from qwed.engines.code.shell.reach import SENDS, holds_agent_settings
from qwed.engines.code.shell.redirects import file_marks
from qwed.engines.code.shell.runner import EMPTY, UNREAD, Runner, Stream
from qwed.engines.code.shell.scripts import option_value, run_file, unknown_text
from qwed.engines.code.shell.text_commands import Rule, rules
from qwed.engines.code.shell.words import HOLE

_AWKS: Final = frozenset({"awk", "gawk", "mawk", "nawk"})


def python(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    return _interpreter(run, argv, stdin, line, "python", ("-c",))


def node(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    return _interpreter(run, argv, stdin, line, "javascript", ("-e", "--eval", "-p", "--print", "-pe"))


def _interpreter(
    run: Runner, argv: list[str], stdin: Stream, line: int, language: str, flags: tuple[str, ...]
) -> Stream:
    run.report.effects.add("process")
    args = [words.plain(arg) for arg in argv[1:]]
    for index, arg in enumerate(args):
        if arg in flags:
            return inspect_text(run, language, args[index + 1] if index + 1 < len(args) else "", line)
        if language == "python" and re.fullmatch(r"-[A-Za-z]*c.+", arg, re.S):
            return inspect_text(run, language, arg.partition("c")[2], line)
        if arg == "-m" or not arg.startswith("-"):
            break
    files = [arg for arg in args if not arg.startswith("-")]
    if "-m" in args:
        _judge_module(run, args[args.index("-m") + 1 :], line)
    if files or "-m" in args:
        return _language_file(run, language, files[0], line) if "-m" not in args else UNREAD
    if stdin.text is not None:
        return inspect_text(run, language, stdin.text, line) if stdin.text.strip() else UNREAD
    return unknown_text(run, stdin.marks, line)


_MODULE_EFFECTS: Final = {
    **dict.fromkeys(("pip", "ensurepip", "webbrowser"), ("network",)),
    **dict.fromkeys(("venv", "zipfile", "tarfile", "compileall", "build"), ("file-write",)),
}
_SERVERS: Final = frozenset({"http.server", "SimpleHTTPServer", "pyftpdlib", "uploadserver", "smtpd"})


def _judge_module(run: Runner, args: list[str], line: int) -> None:
    """`python -m http.server` hands out the files of a directory."""
    if args[:1] == ["pip"]:
        run.execute(args, EMPTY, line)
    if args:
        run.report.effects.update(_MODULE_EFFECTS.get(args[0], ()))
    if not args or args[0] not in _SERVERS:
        return
    directory = option_value(args, ("-d", "--directory"))
    if places.leaves_working_tree(directory or run.directory or "."):
        run.harm("exfiltration", line)
    elif option_value(args, ("-b", "--bind")) not in _LOOPBACK:
        run.doubt("listens", line)


_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})


def _language_file(run: Runner, language: str, path: str, line: int) -> Stream:
    known = run.written.get(path)
    if known is not None and known.text is not None:
        return inspect_text(run, language, known.text, line)
    return run_file(run, path, line)


def inspect_text(run: Runner, language: str, text: str, line: int) -> Stream:
    if HOLE in text:
        unknown_text(run, run.word_marks, line)
    verdict = run.nested(language, text.replace(HOLE, "0"), run.depth + 1)
    if run.project is not None:
        # Its own modules run as its own scripts do: nobody asks about them.
        own = tuple(problem for problem in verdict.problems if problem.rule != "unknown-module")
        verdict = msgspec.structs.replace(verdict, problems=own)
    if (
        run.project is not None
        and _CHANGES & set(verdict.effects)
        and any(map(holds_agent_settings, _QUOTED.findall(text)))
    ):
        run.harm("disables-protection", line)
    if "network" in verdict.effects and _SECRET_VARIABLE.search(text):
        run.reach(SENDS, line)
    run.report.include(verdict, line, run.line_text(line))
    return UNREAD


_CHANGES: Final = frozenset({"file-write", "file-delete"})
_QUOTED: Final = re.compile(r"[\"']([^\"'\n]{1,200})[\"']")
_SECRET_VARIABLE: Final = re.compile(
    r"(?:process\.env|os\.environ|getenv|\bENV)\W{1,6}(?:get\W{1,3})?\w{0,60}?(?i:token|secret|passw|key|credential)"
)
_POWERS: Final = re.compile(
    r"\b(?:system|exec|qx|popen|spawn|passthru|shell_exec|pcntl_exec|proc_open|syscall|fork|unlink|rmtree|rmdir|eval"
    r"|[sS]ocket|"
    r"TCPSocket|fsockopen|FileUtils|execute|open3|File\.delete)\b|`[^`]+`|%x|\|\s*getline|\|\s*&?\s*[\"']|"
    r"open\s*\(?\s*\w*\s*,?\s*[\"'][|>]|/inet/(?:tcp|udp)/|net\.Dial|remove_tree|os\.remove"
    r"|shell/sh\b|run-program|run-shell-command|callCommand|os:cmd|System\.(?:cmd|shell)|\.process\.|ProcessBuilder"
    r"|Net::HTTP|open-uri|URI\.open|LWP\b|HTTP::Tiny|curl_exec|file_get_contents\s*\(\s*[\"']\w+://|do\s+shell\s+script"
    r"|tell\s+app\w*\s|keystroke\b|login\s+item|with\s+administrator"
    r"|getRuntime|call-process|start-process|shell-command|\brun\s*\(\s*[`\"]|posix_spawn|esyscmd|\$EXEC"
)
_SOCKETS: Final = re.compile(r"[sS]ocket|TCP|fsockopen|net\.Dial|/inet/(?:tcp|udp)/")
_REQUESTS: Final = re.compile(
    r"Net::HTTP|open-uri|URI\.open|LWP\b|HTTP::Tiny|curl_exec|file_get_contents\s*\(\s*[\"']\w"
)
_DELETED: Final = re.compile(
    r"\b(?:unlink|rmtree|remove_tree|rm_rf?|rmdir|FileUtils\.\w+|File\.delete"
    r"|os\.remove)\b[^;\n]{0,80}?[\"'](/[^\"']*)[\"']"
)
_PRINTED_TO: Final = re.compile(r">{1,2}\s*[\"'](/[^\"']{1,200})[\"']")
_HANDED_OVER: Final = re.compile(
    r"(?:system|exec|qx|popen|passthru|shell_exec|execute|pcntl_exec)\s*[({\[]?\s*(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)')"
    r"|`([^`]+)`|\|\s*&?\s*\"([^\"]+)\"|\"([^\"]+)\"\s*\|\s*&?\s*getline|%x[\[{(]([^\])}]+)"
    r"|qx[\[{(/]([^\])}/]+)|do\s+shell\s+script\s+\"((?:[^\"\\]|\\.)*)\""
)


_LOADS_NETWORK: Final = re.compile(r"-[Mr](?:LWP\b.*|HTTP::.*|IO::Socket.*|Net::.*|net/.*|socket|open-uri)")


def script(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """Perl, Ruby, PHP, Lua, AWK are not parsed: what they hand to a shell is, other powers are doubts."""
    args = [words.plain(arg) for arg in argv[1:]]
    if argv[0] not in _AWKS:
        run.report.effects.add("process")
    serves = option_value(args, ("-S",)) if argv[0] == "php" else None
    if serves is not None and serves.rpartition(":")[0] not in _LOOPBACK:
        run.doubt("listens", line)
    texts = _script_texts(argv[0], args)
    files = [arg for arg in args if not arg.startswith("-")]
    if not texts and not files:
        if stdin.text is None:
            return unknown_text(run, stdin.marks, line)
        texts = [stdin.text]
    for text in texts:
        judge_script(run, text, line)
    if any(_LOADS_NETWORK.fullmatch(arg) for arg in args):
        run.doubt("runs-text", line)
    if not texts and places.is_scratch(files[0]):
        run_file(run, files[0], line)
    marks = stdin.marks - {BELOW}
    for path in files[1:]:
        marks |= file_marks(path)
    return Stream(None, marks)


def _script_texts(name: str, args: list[str]) -> list[str]:
    if name in _AWKS:
        plain_args = [
            arg
            for index, arg in enumerate(args)
            if not arg.startswith("-") and (index == 0 or args[index - 1] not in ("-F", "-v", "-f"))
        ]
        return plain_args[:1]
    attached = [arg[2:] for arg in args if re.match(r"-[eE][^-\w]|-e\w+\W", arg)]
    return attached + [
        args[index + 1] for index, arg in enumerate(args[:-1]) if re.fullmatch(r"-\w*[eErBR]", arg)
    ]


_INTERPOLATED: Final = re.compile(r"#\{[^}\n]{0,200}\}")


def judge_script(run: Runner, text: str, line: int) -> None:
    if HOLE in text:
        run.doubt("runs-text", line)
    for path in _PRINTED_TO.findall(text):
        run.judge.write(run, path, line, UNREAD)
    if not _POWERS.search(text):
        return
    handed = [
        next(group for group in found.groups() if group is not None) for found in _HANDED_OVER.finditer(text)
    ]
    for command in handed[:8]:
        run.run_text(_INTERPOLATED.sub(HOLE, command.replace('\\"', '"')), EMPTY, line)
    if any(places.leaves_working_tree(path) for path in _DELETED.findall(text)):
        run.harm("destructive-command", line)
    elif _SOCKETS.search(text) and re.search(r"exec|system|dup|STDIN|/sh\b|getline|Command", text):
        run.harm("reverse-shell", line)
    elif not handed or _SOCKETS.search(text) or _REQUESTS.search(text):
        run.doubt("runs-text", line)


_PYTHON_ORDER: Final = re.compile(r"\+?:?\s*py(?:thon)?3?\s+(.+)|script\s+(import\s.+)", re.S)


def editor(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """Editors and debuggers run code behind `:py`; commands behind `!` are in the table."""
    for arg in [*map(words.plain, argv[1:]), stdin.text or ""]:
        code = _PYTHON_ORDER.match(arg)
        if code:
            inspect_text(run, "python", code.group(1) or code.group(2), line)
        elif re.match(r"\+?:?\s*(?:lua|ruby|perl|tcl)\s|\(shell|python ", arg):
            run.doubt("runs-text", line)
    return UNREAD


def go(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """`go run file`: of a file this script wrote, what it says is known."""
    run.report.effects.add("process")
    for path in map(words.plain, argv[2:]):
        known = run.written.get(path)
        if argv[1:2] == ["run"] and known is not None and known.text is not None:
            judge_script(run, known.text, line)
    return UNREAD


COMMANDS: Final[dict[str, Rule]] = {
    **rules("python python2 python3 pypy pypy3", python),
    **rules("node nodejs deno bun", node),
    **rules("perl ruby php lua awk gawk mawk nawk tclsh Rscript osascript", script),
    **rules("vi vim nvim view vimdiff rvim ed ex emacs gdb lldb", editor),
    "go": go,
}
