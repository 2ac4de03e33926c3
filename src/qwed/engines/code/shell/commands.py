"""One simple command, judged: which program its first word names, and what that does with the rest."""

import re
from typing import Final

from qwed.engines.code import places
from qwed.engines.code.shell import destroying, reading, running, sending, words
from qwed.engines.code.shell.reading import Rule
from qwed.engines.code.shell.runner import EMPTY, UNREAD, Runner, Stream
from qwed.engines.code.shell.words import HOLE

COMMANDS: Final[dict[str, Rule]] = {
    **reading.COMMANDS,
    **running.COMMANDS,
    **destroying.COMMANDS,
    **sending.COMMANDS,
}
PURE_COMMANDS: Final = frozenset(
    [
        "echo",
        "printf",
        "true",
        "false",
        ":",
        "test",
        "[",
        "expr",
        "seq",
        "basename",
        "dirname",
        "declare",
        "exit",
        "return",
        "break",
        "continue",
        "shift",
    ]
)
# These take paths without reading what is in them.
_ONLY_NAME_FILES: Final = frozenset(
    [
        "ls",
        "echo",
        "printf",
        "test",
        "[",
        "stat",
        "mkdir",
        "chmod",
        "chown",
        "touch",
        "ssh",
        "ssh-keygen",
        "cd",
        "pwd",
        "git",
        "file",
        "du",
        "df",
        "which",
        "rm",
        "rmdir",
        "find",
        "ssh-agent",
        "mount",
        "basename",
        "dirname",
        "realpath",
        "readlink",
        "unlink",
        "shred",
        "crontab",
        "useradd",
        "usermod",
        "visudo",
        "export",
        "systemctl",
        "kill",
        "curl",
        "wget",
        "scp",
        "rsync",
    ]
)
_SENSITIVE_SAMPLES: Final = (
    "/etc/passwd",
    "/etc/shadow",
    "/etc/sudoers",
    "/root/.ssh/id_rsa",
    "~/.ssh/id_rsa",
    "~/.aws/credentials",
    "/home/user/.ssh/id_rsa",
)
# `python3.11`, `lua5.4`, `php8.2`: the same program.
_VERSIONED: Final = re.compile(r"([a-z]+?)-?\d+(?:\.\d+)*")


class Tables:
    """The judge a runner is given."""

    def command(self, run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
        name = words.plain(argv[0])
        if HOLE in name:
            return self._unknown_command(run, argv, stdin, line)
        if words.has_glob(argv[0]):
            return self._globbed_command(run, argv, stdin, line)
        return known_command(run, name, argv[1:], stdin, line)

    def read(self, run: Runner, path: str, line: int) -> None:
        reading.read_file(run, path, line)

    def write(self, run: Runner, path: str, line: int, made: Stream) -> None:
        reading.write_file(run, path, line, made)

    def _unknown_command(self, run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
        """A name with a hole is a doubt in any case, and is judged as if the hole were empty too."""
        if "network" in run.word_marks:
            run.harm("download-and-run", line)
        run.doubt("dynamic-command", line)
        name = argv[0].replace(HOLE, "")
        rest = [name, *argv[1:]] if name else argv[1:]
        return run.execute(rest, stdin, line)

    def _globbed_command(self, run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
        """`/b?n/r?` runs what it matches first: every known command that it can be is judged."""
        run.doubt("dynamic-command", line)
        pattern = words.glob_pattern(argv[0].rpartition("/")[2])
        for name in COMMANDS:
            if pattern.fullmatch(name):
                known_command(run, name, argv[1:], stdin, line)
        return UNREAD


def known_command(run: Runner, name: str, args: list[str], stdin: Stream, line: int) -> Stream:
    base = name.rpartition("/")[2].removesuffix(".exe")
    run.commands.append(base)
    _check_arguments(run, base, args, line)
    rule = COMMANDS.get(base)
    if rule is None and (versioned := _VERSIONED.fullmatch(base)):
        rule = COMMANDS.get(versioned.group(1))
    if rule is None and base.startswith("mkfs."):
        rule = destroying.destroy
    return _program(run, name, args, stdin, line) if rule is None else rule(run, [base, *args], stdin, line)


_SHELL_NAMES: Final = "|".join(sorted(running.SHELLS))
_A_SHELL: Final = re.compile(rf"/(?:\w+/)*(?:{_SHELL_NAMES})(?=[\s,]|$)")
_RUNS_ITS_VALUE: Final = re.compile(
    r"--(?:filter|compress-program|exec|eval|command|cmd|rsh|pager|shell|wrapper|up|script)=(.+)", re.S
)


def _program(run: Runner, name: str, args: list[str], stdin: Stream, line: int) -> Stream:
    """A program that no table knows, the script's own or an installed one. Handed a shell, it runs it."""
    for index, arg in enumerate(map(words.plain, args)):
        is_named = arg in running.SHELLS and args[index + 1 : index + 2] in (["-c"], ["-i"], ["-p"])
        if is_named or _A_SHELL.fullmatch(arg):
            run.execute([arg, *args[index + 1 :]], EMPTY, line)
            break
        if _A_SHELL.match(arg):
            run.run_text(arg.replace(",", " "), EMPTY, line)
    return running.run_file(run, name, line)


def _check_arguments(run: Runner, base: str, args: list[str], line: int) -> None:
    for arg in args:
        text = words.plain(arg)
        if base not in _ONLY_NAME_FILES and _names_secret(arg, text):
            run.harm("reads-sensitive-file", line)
        if text.startswith(("/dev/tcp/", "/dev/udp/")):
            run.harm("reverse-shell", line)
        if (handed := _RUNS_ITS_VALUE.match(text)) and (shell := _A_SHELL.search(handed.group(1))):
            run.run_text(handed.group(1)[shell.start() :], EMPTY, line)
        if text.startswith("stratum") and "://" in text:
            run.harm("mines-currency", line)


def _names_secret(arg: str, text: str) -> bool:
    if words.has_glob(arg):
        pattern = words.glob_pattern(arg)
        return any(pattern.fullmatch(sample) for sample in _SENSITIVE_SAMPLES)
    candidates = (text, text.partition("=")[2], text.partition("@")[2])
    return any(places.is_sensitive(candidate.replace(HOLE, "x")) for candidate in candidates if candidate)
