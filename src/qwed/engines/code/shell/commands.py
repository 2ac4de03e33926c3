"""One simple command, judged: which program its first word names, and what that does with the rest."""

import re
from typing import Any, Final

from qwed.engines.code import places
from qwed.engines.code.shell import (
    again,
    builtins,
    clouds,
    containers,
    destroyers,
    interpreters,
    network_commands,
    scripts,
    text_commands,
    words,
    wrappers,
)
from qwed.engines.code.shell.capabilities import is_listed
from qwed.engines.code.shell.option_effects import judge_told, judge_variable, mentions_shell
from qwed.engines.code.shell.programs import BUILT_IN, PROGRAMS
from qwed.engines.code.shell.reach import judge_place, judge_places, judge_reach, judge_source, shorten_path
from qwed.engines.code.shell.recognition import is_word, shows_itself, stops_machine
from qwed.engines.code.shell.runner import EMPTY, UNREAD, Runner, Stream
from qwed.engines.code.shell.text_commands import Rule, from_here
from qwed.engines.code.shell.words import HOLE

COMMANDS: Final[dict[str, Rule]] = {
    **text_commands.COMMANDS,
    **scripts.COMMANDS,
    **interpreters.COMMANDS,
    **wrappers.COMMANDS,
    **destroyers.COMMANDS,
    **network_commands.COMMANDS,
    **builtins.COMMANDS,
    **clouds.COMMANDS,
    **containers.COMMANDS,
}
# These take paths without reading what is in them.
_ONLY_NAME_FILES: Final = frozenset(
    [
        "ls",
        "dir",
        "vdir",
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
        "ssh-add",
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
        "logger",
        "notify-send",
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


class CommandTables:
    """The judge a runner is given."""

    def command(self, run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
        if run.project is not None:
            argv = [argv[0], *map(run.project.shorten, argv[1:])]
        name = words.plain(argv[0])
        if HOLE in name:
            return self._unknown_command(run, argv, stdin, line)
        if words.has_glob(argv[0]) and run.is_guess and "/" not in name:
            run.unresolved.append(name)
            return UNREAD
        if words.has_glob(argv[0]):
            return self._run_globbed_command(run, argv, stdin, line)
        return run_known_command(run, name, argv[1:], stdin, line)

    def read(self, run: Runner, path: str, line: int) -> None:
        text_commands.read_file(run, shorten_path(run, path), line)

    def write(self, run: Runner, path: str, line: int, made: Stream) -> None:
        path = shorten_path(run, path)
        judge_place(run, path, line)
        text_commands.write_file(run, path, line, made)

    def evaluate(self, run: Runner, text: str, line: int) -> None:
        again.evaluate(run, text, line)

    def evaluate_node(self, run: Runner, node: Any) -> None:
        again.evaluate_node(run, node)

    def name_variable(self, run: Runner, text: str, line: int) -> None:
        again.name_variable(run, text, line)

    def knows(self, name: str) -> bool:
        return is_known(name)

    def set_variable(self, run: Runner, name: str, value: str, line: int) -> None:
        judge_variable(run, name, value, line)
        judge_source(run, name, value, line)

    def _unknown_command(self, run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
        """A name with a hole is a doubt in any case, and is judged as if the hole were empty too."""
        if "network" in run.word_marks:
            run.harm("download-and-run", line)
        run.doubt("dynamic-command", line)
        name = argv[0].replace(HOLE, "")
        rest = [name, *argv[1:]] if name else argv[1:]
        return run.execute(rest, stdin, line)

    def _run_globbed_command(self, run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
        """`/b?n/r?` runs what it matches first: every known command that it can be is judged."""
        if not _is_specific(argv[0]):
            run.unresolved.append(words.plain(argv[0]))
            run.doubt("unknown-command", line, words.plain(argv[0])[:60])
            return UNREAD
        run.doubt("dynamic-command", line)
        pattern = words.glob_pattern(argv[0].rpartition("/")[2])
        for name in COMMANDS:
            if pattern.fullmatch(name):
                run_known_command(run, name, argv[1:], stdin, line)
        return UNREAD


def _is_specific(pattern: str) -> bool:
    """Whether the pattern means a program: `/*`, which begins a comment elsewhere, matches too much."""
    directory, _, base = pattern.rpartition("/")
    stem = base.partition(".")[0]
    letters = sum(map(str.isalpha, stem))
    last = words.glob_pattern(directory.rpartition("/")[2])
    if any(map(last.fullmatch, ("bin", "sbin"))):
        return letters > 0 or words.STAR not in stem
    return letters > 1 and (directory != "" or not pattern.startswith("/"))


# Fed by a pipe or a text, these run what comes in.
_RUN_WHAT_THEY_READ: Final = scripts.SHELLS | frozenset(
    [
        "python",
        "python2",
        "python3",
        "node",
        "perl",
        "ruby",
        "php",
        "xargs",
        "parallel",
        "crontab",
        "at",
        "source",
    ]
)
# What counts where a text may be no program at all; looking is left out.
_ACTING: Final = frozenset({"file-write", "file-delete", "network", "process", "database"})


def run_known_command(run: Runner, name: str, args: list[str], stdin: Stream, line: int) -> Stream:
    base = name.rpartition("/")[2].removesuffix(".exe")
    known = _title(base)
    is_fed = stdin is not EMPTY and known in _RUN_WHAT_THEY_READ
    shows = known is not None and (is_fed or shows_itself(known, args) or _runs_alone(run, name, known, args))
    run.substitutes_unknown |= known is None and run.substitutions > 0
    if run.is_guess and not shows and not name.startswith(("/", "./", "../", "~/")):
        run.unresolved.append(base)
        if known is None:
            run.is_known = False
            return UNREAD
    if known is None and "/" not in name and not _is_defined(run, name):
        run.unresolved.append(base)
        run.doubt("unknown-command", line, base[:60])
    outer, run.report.effects = run.report.effects, set()
    was_muted, run.is_muted = run.is_muted, run.is_guess and known is not None and not shows
    try:
        _check_arguments(run, base, args, line)
        judge_told(run, known or base, args, stdin, line)
        judge_reach(run, known or base, args, line, is_fed=stdin is not EMPTY)
        if "network" in PROGRAMS.get(known or "", ()):
            network_commands.judge_client(run, args, stdin, line)
        rule = COMMANDS.get(known or "")
        if rule is not None:
            return rule(run, [known or base, *args], stdin, line)
        return _program(run, name, known, args, line)
    finally:
        judge_places(run, known or base, args, line)
        run.is_muted = was_muted
        run.acts |= run.report.effects & _ACTING if shows else set()
        run.settled |= run.report.effects
        run.report.effects = outer
        run.is_known = shows


def _runs_alone(run: Runner, name: str, known: str, args: list[str]) -> bool:
    """A command without operands counts where no word of a text stands: a substitution, a path, a list."""
    if args:
        return False
    directory = name.rpartition("/")[0].rpartition("/")[2]
    if stops_machine(known) and (directory in ("bin", "sbin") or run.is_list):
        return True
    is_word_here = is_word(known) or b"$(" not in run.source
    return run.substitutions > 0 and (stops_machine(known) or not is_word_here)


def _title(base: str) -> str | None:
    """The name by which the tables know a program."""
    if base in COMMANDS or base in PROGRAMS or base in BUILT_IN or is_listed(base):
        return base
    if base.startswith("mkfs."):
        return "mkfs"
    versioned = _VERSIONED.fullmatch(base)
    name = versioned.group(1) if versioned else ""
    return name if (name in COMMANDS or name in PROGRAMS) and name not in BUILT_IN else None


def is_known(name: str) -> bool:
    return _title(name) is not None


def _is_defined(run: Runner, name: str) -> bool:
    """A function of the text, or perhaps of a file that was read into this shell."""
    return name in run.own_functions or run.has_sourced


# What a program that only reads is given is no command.
_LOOKS: Final = (frozenset[str](), frozenset({"file-read"}))


def _program(run: Runner, name: str, known: str | None, args: list[str], line: int) -> Stream:
    """A program without a rule of its own, the script's or an installed one. Handed a shell, it runs it."""
    effects = PROGRAMS.get(known or "", _STARTS)
    for index, arg in enumerate(map(words.plain, args)):
        is_named = arg in scripts.SHELLS and args[index + 1 : index + 2] in (["-c"], ["-i"], ["-p"])
        if is_named or _A_SHELL.fullmatch(arg):
            run.execute([arg, *args[index + 1 :]], EMPTY, line)
            break
    if mentions_shell(args) and (effects not in _LOOKS or is_listed(known or "")):
        run.doubt("spawns-a-shell", line)
    if known is None or "/" in name:
        return scripts.run_file(run, name, line)
    run.report.effects.update(effects)
    return UNREAD


_STARTS: Final = frozenset({"process"})
_A_SHELL: Final = re.compile(rf"/(?:\w+/)*(?:{'|'.join(sorted(scripts.SHELLS))})")


def _check_arguments(run: Runner, base: str, args: list[str], line: int) -> None:
    for arg in args:
        text = words.plain(arg)
        if base not in _ONLY_NAME_FILES and _names_secret(run, arg, text):
            run.harm("reads-sensitive-file", line)
        elif (
            base not in _ONLY_NAME_FILES
            and run.project is not None
            and _is_others_secret(from_here(run, text))
        ):
            run.doubt("reads-sensitive-file", line)
        if text.startswith(("/dev/tcp/", "/dev/udp/")):
            run.harm("reverse-shell", line)
        if text.startswith("stratum") and "://" in text:
            run.harm("mines-currency", line)


def _is_others_secret(path: str) -> bool:
    """The key or the environment file of another project, or of a home."""
    return path.startswith(_OF_PEOPLE) and places.is_local_secret(path)


_OF_PEOPLE: Final = ("~", "../", "/home/", "/Users/", "/root/", "/srv/", "/opt/")
# A path that stands within an argument: `load("/etc/shadow")`, `concat:/etc/shadow`.
_WITHIN: Final = re.compile(r"[\"'(:](~?/[\w./~-]{2,200})")
_MAX_LOOKED_AT: Final = 4_096


def _names_secret(run: Runner, arg: str, text: str) -> bool:
    if words.has_glob(arg):
        pattern = words.glob_pattern(arg)
        return any(map(pattern.fullmatch, _SENSITIVE_SAMPLES)) or places.is_sensitive(text)
    candidates = (
        text,
        from_here(run, text) if run.directory or run.links else "",
        text.partition("=")[2],
        text.partition("@")[2],
        *_WITHIN.findall(text[:_MAX_LOOKED_AT]),
    )
    return any(places.is_sensitive(candidate.replace(HOLE, "x")) for candidate in candidates if candidate)
