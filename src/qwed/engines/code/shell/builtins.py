"""Commands of the shell itself that evaluate their arguments again, or keep a command for later."""

from typing import Final

from qwed.engines.code.shell import again, words
from qwed.engines.code.shell.runner import EMPTY, UNREAD, Runner, Stream
from qwed.engines.code.shell.scripts import run_string
from qwed.engines.code.shell.text_commands import Rule, read_variables, rules
from qwed.engines.code.shell.words import HOLE


def _split(args: list[str], with_value: str) -> tuple[dict[str, str], list[str]]:
    """The options that take a value, and the operands; `-ra name` is `-r -a name`."""
    options: dict[str, str] = {}
    operands: list[str] = []
    waiting = [words.plain(arg) for arg in args]
    while waiting:
        arg = waiting.pop(0)
        if arg == "--" or not arg.startswith("-") or len(arg) == 1 or operands:
            operands.extend([arg] if arg != "--" else [])
            continue
        for index, letter in enumerate(arg[1:], 2):
            if letter in with_value:
                options[letter] = arg[index:] or (waiting.pop(0) if waiting else "")
                break
            options[letter] = ""
    return options, operands


def let(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    for arg in argv[1:]:
        again.evaluate(run, words.plain(arg), line)
        run.variables[words.plain(arg).partition("=")[0].strip("+-*/ ")] = HOLE
    return EMPTY


def read(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    options, names = _split(argv[1:], "adinNptu")
    if options.get("a"):
        names.append(options["a"])
    for name in names:
        again.name_variable(run, name, line)
    return read_variables(run, [argv[0], *names], stdin, line)


def map_file(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """`mapfile -C command` runs it for every few lines."""
    options, names = _split(argv[1:], "dnOsuCc")
    for name in names:
        again.name_variable(run, name, line)
    if options.get("C"):
        run.report.effects.add("dynamic-execution")
        run_string(run, options["C"], EMPTY, line)
    return read_variables(run, [argv[0], *names], stdin, line)


def get_options(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    for arg in argv[2:3]:
        again.name_variable(run, words.plain(arg), line)
        run.variables[words.plain(arg)] = HOLE
    run.variables["OPTARG"] = HOLE
    return EMPTY


def wait(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    options, _ = _split(argv[1:], "p")
    if "p" in options:
        again.name_variable(run, options["p"], line)
    return EMPTY


def test(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    args = [words.plain(arg) for arg in argv[1:]]
    for index, arg in enumerate(args[:-1]):
        if arg in ("-v", "-R"):
            again.name_variable(run, args[index + 1], line)
        if arg in ("-e", "-f", "-d", "-r", "-w", "-x", "-s", "-L", "-h", "-nt", "-ot"):
            run.report.effects.add("file-read")
    return EMPTY


def complete(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """`complete -C command`, `compgen -C command`; `-W` expands its words."""
    options, _ = _split(argv[1:], "ACFGOPSWX")
    if options.get("C"):
        run.report.effects.add("dynamic-execution")
        run_string(run, options["C"], EMPTY, line)
    if options.get("W"):
        again.evaluate(run, options["W"], line)
    return UNREAD


def bind(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """`bind -x '"key": command'` runs the command when the key is pressed."""
    options, _ = _split(argv[1:], "mfqurx")
    if options.get("x"):
        run.report.effects.add("dynamic-execution")
        run.doubt("runs-text", line)
        run_string(run, options["x"].partition(":")[2], EMPTY, line)
    return EMPTY


def run_again(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """`fc -s` runs what was typed before, and `fc` what an editor makes of it."""
    options, _ = _split(argv[1:], "e")
    if "l" not in options:
        run.report.effects.add("dynamic-execution")
        run.doubt("runs-text", line)
    return Stream(None, frozenset({"secret"}))


def trap(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    args = [arg for arg in argv[1:] if words.plain(arg) != "--"]
    return run_string(run, words.plain(args[0]), EMPTY, line) if len(args) > 1 else EMPTY


def leave(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """Some shells compute with the status they are given."""
    for arg in argv[1:]:
        if HOLE not in arg:
            again.evaluate(run, words.plain(arg), line)
    return EMPTY


COMMANDS: Final[dict[str, Rule]] = {
    "let": let,
    "read": read,
    **rules("mapfile readarray", map_file),
    "getopts": get_options,
    "wait": wait,
    "test": test,
    **rules("complete compgen", complete),
    "bind": bind,
    "fc": run_again,
    "trap": trap,
    **rules("exit return shift break continue", leave),
}
