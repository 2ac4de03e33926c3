"""Shell text and script files that a command runs: shells, `eval`, `source`."""

import re
from typing import Final

from qwed.engines.code import places
from qwed.engines.code.shell import words
from qwed.engines.code.shell.runner import EMPTY, UNREAD, Runner, Stream
from qwed.engines.code.shell.text_commands import Rule, rules
from qwed.engines.code.shell.words import HOLE

SHELLS: Final = frozenset(["sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "rbash", "csh", "tcsh", "mksh"])
_SHELL_OPTIONS_WITH_VALUE: Final = frozenset({"-o", "-O", "+o", "+O", "--rcfile", "--init-file"})


def run_string(run: Runner, text: str, stdin: Stream, line: int) -> Stream:
    """Text that a shell will read as commands."""
    if HOLE in text:
        if text.strip(HOLE + " ") == "":
            return unknown_text(run, run.word_marks, line)
        # The rest is still read; the hole itself may say anything.
        run.doubt("dynamic-command", line)
    return run.run_text(text, stdin, line)


def unknown_text(run: Runner, marks: frozenset[str], line: int) -> Stream:
    if "network" in marks:
        run.harm("download-and-run", line)
    else:
        run.doubt("runs-text", line)
    return UNREAD


def run_stream(run: Runner, stdin: Stream, line: int) -> Stream:
    if stdin.text is None:
        unknown_text(run, stdin.marks, line)
        return Stream(None, frozenset({"shell"}))
    return run.run_text(stdin.text, EMPTY, line) if stdin.text.strip() else EMPTY


def run_file(run: Runner, path: str, line: int) -> Stream:
    """A script file: read if this script wrote it, otherwise trusted only where the project keeps its own."""
    run.report.effects.add("process")
    known = run.written.get(path) or run.written.get(path.removeprefix("./"))
    if known is not None:
        return run_stream(run, known, line)
    if HOLE in path or places.is_scratch(path):
        run.doubt("runs-another-file", line)
    return UNREAD


def shell(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """`sh -c text`, `sh file`, `sh` reading its standard input."""
    run.report.effects.add("process")
    args = [words.plain(arg) for arg in argv[1:]]
    index = 0
    while index < len(args) and args[index].startswith(("-", "+")) and args[index] != "-":
        option = args[index]
        if not option.startswith("--") and "c" in option:
            return _with_positional(run, argv[1:][index + 2 :], args[index + 1 : index + 2], stdin, line)
        index += 2 if option in _SHELL_OPTIONS_WITH_VALUE else 1
    # The grammar takes the number of a redirected descriptor (`sh 0<&1`) for a word.
    rest = [arg for arg in args[index:] if arg not in ("-", "/dev/stdin", "0", "1", "2")]
    if rest and "-s" not in args:
        return run_file(run, rest[0], line)
    if stdin is EMPTY or "terminal" in stdin.marks:
        return _interactive(run, args, line)
    return run_stream(run, stdin, line)


def _interactive(run: Runner, args: list[str], line: int) -> Stream:
    """A shell that takes its orders from a terminal. Started by another program, or with kept privileges, it
    is the way out of whatever watches this one."""
    options = "".join(arg[1:] for arg in args if re.fullmatch(r"-[a-zA-Z]+", arg))
    is_started_by_another = (run.started_by > 1 or run.depth > 0) and not run.calling
    if is_started_by_another or "p" in options or "i" in options:
        run.harm("spawns-a-shell", line)
    else:
        run.doubt("runs-text", line)
    return Stream(None, frozenset({"shell"}))


def _with_positional(run: Runner, args: list[str], text: list[str], stdin: Stream, line: int) -> Stream:
    if not text:
        return UNREAD
    positional, run.positional = run.positional, args[1:]
    variables = dict(run.variables)
    run.variables["0"] = words.plain(args[0]) if args else "sh"
    try:
        return run_string(run, text[0], stdin, line)
    finally:
        run.positional, run.variables = positional, variables


def evaluate(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    run.report.effects.add("dynamic-execution")
    return run_string(run, " ".join(words.plain(arg) for arg in argv[1:]), stdin, line)


def source(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    if argv[1:2] and words.plain(argv[1]) in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
        return run_stream(run, stdin, line)
    run.has_sourced = True
    return run_file(run, words.plain(argv[1]), line) if len(argv) > 1 else EMPTY


def after_options(args: list[str], takes_value: frozenset[str]) -> list[str]:
    index = 0
    while index < len(args):
        text = words.plain(args[index])
        if text == "--":
            return args[index + 1 :]
        if not text.startswith("-") or text == "-":
            break
        index += 2 if text in takes_value else 1
    return args[index:]


def option_value(args: list[str], names: tuple[str, ...]) -> str | None:
    for index, arg in enumerate(args[:-1]):
        if arg in names:
            return args[index + 1]
    return None


COMMANDS: Final[dict[str, Rule]] = {
    **dict.fromkeys(SHELLS, shell),
    "eval": evaluate,
    **rules("source .", source),
}
