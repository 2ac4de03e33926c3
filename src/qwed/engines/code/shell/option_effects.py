"""What follows from what a program is told: the command lines, code and files that its options name."""

import itertools
import re
from typing import Final

from qwed.engines.code import places
from qwed.engines.code.shell import words
from qwed.engines.code.shell.capabilities import (
    Program,
    Said,
    find_operands,
    find_program,
    find_said,
    find_unknown,
    variable_kind,
)
from qwed.engines.code.shell.interpreters import inspect_text, judge_script
from qwed.engines.code.shell.runner import EMPTY, UNREAD, Runner, Stream
from qwed.engines.code.shell.scripts import SHELLS, after_options, run_file
from qwed.engines.code.shell.words import HOLE

_SHELL_NAMES: Final = "|".join(sorted(SHELLS))
# A shell that is given no script of its own: a text, a terminal, a descriptor.
_STARTS_SHELL: Final = re.compile(
    rf"(?:^|[\s;|&(!/\"'`\[=,])(?:{_SHELL_NAMES})(?=[\s,]+-[a-z]*[cips]\b|\s*$|\s*[<>;#|&)\"'`\]])"
)
SHELL_PATH: Final = re.compile(
    rf"(?:^|[\s\"'`(!|;,=:\[])(?:/(?:usr/)?(?:local/)?bin/(?:{_SHELL_NAMES})(?=$|[\s\"'`)|;,&<>\]#}}])"
    rf"|(?:{_SHELL_NAMES})[\s,]+-[cip]\b)"
)
_HARMLESS_SETTING: Final = re.compile(r"(?:SHELL|[A-Z_]*BASH)=\S+")
_MAX_SAID: Final = 16
# Values of options that take a command line or say whether there is one.
_SWITCHES: Final = frozenset({"on", "off", "true", "false", "always", "never", "auto", "default", "none"})


def judge_told(run: Runner, name: str, args: list[str], stdin: Stream, line: int) -> None:
    """What the table knows of this program, held against its command line and what is typed into it."""
    program = find_program(name)
    if program is None:
        return
    given = [words.plain(arg) for arg in args]
    for count, said in enumerate(find_said(program, given)):
        if count < _MAX_SAID:
            _follow(run, program, said, line)
    unknown = find_unknown(program, given)
    if unknown is not None and HOLE not in unknown:
        run.doubt("unknown-option", line, unknown[:60])
    for command in _find_commands(program.runs, find_operands(program, given)):
        (_tell_script if program.keeps_scripts else tell)(run, command, line)
    for command in _find_commands(program.says, [*given, stdin.text or ""]):
        tell(run, command, line)
        run.doubt("runs-text", line, command[:60])


def _find_commands(patterns: list[re.Pattern[str]], texts: list[str]) -> list[str]:
    found = (each for pattern in patterns for text in texts for each in pattern.finditer(text))
    return [each.group(each.re.groups) or "" for each in itertools.islice(found, _MAX_SAID)]


_LOADS_CODE: Final = re.compile(
    r"(?:^|\s)(?:-r|--require|--import|--loader|--experimental-loader|--eval|-e)\b"
)


def judge_variable(run: Runner, name: str, value: str, line: int) -> None:
    """Variables of the environment that other programs run, or load code by."""
    kind = variable_kind(name)
    if name.startswith("QWED_"):
        # Where the hook asks, and as whom.
        run.harm("disables-protection", line)
    if kind == "injects" or (name == "NODE_OPTIONS" and _LOADS_CODE.search(value)):
        run.harm("injects-into-programs", line)
    elif name == "GOFLAGS":
        # Options for every `go` that follows.
        judge_told(run, "go", value.split(), EMPTY, line)
    elif kind == "shell" and HOLE not in value:
        tell(run, value, line)


def mentions_shell(args: list[str]) -> bool:
    given = (words.plain(arg) for arg in args)
    return any(SHELL_PATH.search(arg) and not _HARMLESS_SETTING.fullmatch(arg) for arg in given)


def tell(run: Runner, text: str, line: int) -> None:
    """A command line that a program is told to run. A shell there gets around whatever watches this one."""
    command = text.lstrip("!|&@-+ ")
    if "," in command and " " not in command:
        command = command.replace(",", " ")
    if command in _SWITCHES or command.strip(HOLE + " ") == "":
        return
    run.run_text(command, EMPTY, line)
    if _STARTS_SHELL.search(command):
        run.doubt("spawns-a-shell", line)


def _tell_script(run: Runner, text: str, line: int) -> None:
    had_sourced, run.has_sourced = run.has_sourced, True
    tell(run, text, line)
    run.has_sourced = had_sourced


def _follow(run: Runner, program: Program, said: Said, line: int) -> None:
    match said.option.kind:
        case "shell":
            _tell_value(run, program, said, line)
        case "script":
            for operand in after_options(list(said.rest), program.takes_value)[1:2]:
                _tell_script(run, operand, line)
        case "bang" if said.value.startswith(("!", "/", "~")):
            tell(run, said.value, line)
        case "starts" | "runner":
            _start(run, program, said, line)
        case "code":
            judge_script(run, said.value, line)
        case "python" | "javascript" as language:
            inspect_text(run, language, said.value, line)
        case "loads":
            _load_all(run, said, line)
        case "reads":
            run.judge.read(run, said.value, line)
        case "writes" if said.value and HOLE not in said.value and said.value != "-":
            run.judge.write(run, said.value, line, UNREAD)
        case "sends" if places.leaves_working_tree(said.value) or places.is_local_secret(said.value):
            run.harm("exfiltration", line)
        case "asks" if not (said.option.key and said.value == "true"):
            run.doubt("runs-text", line, said.option.name)
        case "escalates":
            run.harm("privilege", line)


def _tell_value(run: Runner, program: Program, said: Said, line: int) -> None:
    if said.option.name.startswith(("-", "=")):
        tell(run, said.value, line)
        return
    # A word of its own: the command line is its last operand.
    operands = after_options(list(said.rest), program.takes_value)
    for operand in operands[-1:]:
        tell(run, operand, line)


def _start(run: Runner, program: Program, said: Said, line: int) -> None:
    rest = after_options(list(said.rest), program.takes_value)[said.option.skip :]
    rest = after_options(rest, program.takes_value)
    if not rest:
        return
    if len(rest) == 1 and " " in rest[0]:
        tell(run, rest[0], line)
        return
    base = rest[0].rpartition("/")[2]
    if said.option.kind == "runner" and "/" not in rest[0] and not run.judge.knows(base):
        return
    run.execute(rest, EMPTY, line)
    if base in SHELLS and (len(rest) == 1 or re.fullmatch(r"-[a-z]*[cips]", rest[1])):
        run.doubt("spawns-a-shell", line)


def _load_all(run: Runner, said: Said, line: int) -> None:
    if said.option.name.startswith("-"):
        _load(run, said.value, line)
        return
    for operand in said.rest:
        if not operand.startswith("-"):
            _load(run, operand, line)


def _load(run: Runner, value: str, line: int) -> None:
    """A file whose code is run. Files of the project are its own; scratch space is anybody's."""
    if value in ("-", "/dev/stdin"):
        run.doubt("runs-text", line)
    if value.startswith("http://") and not value.startswith(("http://localhost", "http://127.")):
        run.harm("download-and-run", line)
    for path in re.split(r"[:,=]", value):
        if path in run.written or places.is_scratch(path):
            run_file(run, path, line)
