"""Commands handed to the operating system."""

import shlex
from typing import Final

from qwed.engines.code.python.interpreter import Interpreter
from qwed.engines.code.python.machine import PythonCall, Rule
from qwed.engines.code.python.values import (
    UNKNOWN,
    Choice,
    Const,
    Items,
    PythonText,
    PythonUnknown,
    PythonValue,
    Ref,
)

# A hole whose filling can only be one harmless word keeps the command readable.
_SAFE_WORD: Final = "qwed-value"
_SAFE_SHAPES: Final = frozenset({"number", "shell-word", "validated", "constant-text"})
_INTERPRETERS: Final = frozenset({"sh", "bash", "zsh", "dash", "ksh", "cmd", "cmd.exe", "powershell"})


def shell_command(run: Interpreter, call: PythonCall) -> PythonValue:
    """`os.system` and its kin: the text goes to a shell."""
    run.report.effects.add("process")
    _judge_text(run, call, call.argument(0, "command") or call.argument(0, "cmd") or call.kwargs.get("args"))
    return Ref(call.path + "()")


def subprocess_call(run: Interpreter, call: PythonCall) -> PythonValue:
    run.report.effects.add("process")
    if run.bare_loops and call.path == "subprocess.Popen":
        run.harm("fork-bomb", call.line)
    command = call.argument(0, "args")
    shell = call.kwargs.get("shell")
    uses_shell = shell is not None and not (isinstance(shell, Const) and not shell.data)
    for stream in ("stdin", "stdout"):
        value = call.kwargs.get(stream)
        if isinstance(value, Ref) and "socket" in value.path:
            run.harm("reverse-shell", call.line)
    if uses_shell and isinstance(command, Items):
        command = command.items[0] if command.items else None
    if uses_shell:
        _judge_text(run, call, command)
    else:
        _judge_vector(run, call, command)
    return Ref(call.path + "()", (), tuple(call.args[:1]))


def exec_program(run: Interpreter, call: PythonCall) -> PythonValue:
    """`os.execv(path, argv)`, `os.execl(path, arg0, …)`, `os.spawn…(mode, path, …)`."""
    run.report.effects.add("process")
    args = call.args[1:] if "spawn" in call.path and "posix" not in call.path else call.args
    if not args:
        return UNKNOWN
    if len(args) > 1 and isinstance(args[1], Items):
        words: list[PythonValue] = [args[0], *args[1].items[1:]]
    else:
        words = [args[0], *args[2:]]
    _judge_vector(run, call, Items(words, "list"))
    return UNKNOWN


def spawn_terminal(run: Interpreter, call: PythonCall) -> PythonValue:
    run.harm("reverse-shell", call.line)
    return UNKNOWN


def duplicate_descriptor(run: Interpreter, call: PythonCall) -> PythonValue | None:
    if call.args and isinstance(call.args[0], Ref) and call.args[0].path.startswith("socket."):
        run.harm("reverse-shell", call.line)
    return None


def remote_command(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`SSHClient().exec_command(text)`."""
    run.report.effects.add("network")
    command = call.argument(0, "command")
    if command is not None and command.taint:
        run.harm("command-injection", call.line, command.taint)
    elif isinstance(command, Const):
        _judge_text(run, call, command)
    elif isinstance(command, PythonText):
        run.doubt("dynamic-command", call.line)
    return None


def _judge_vector(run: Interpreter, call: PythonCall, command: PythonValue | None) -> None:
    match command:
        case Choice():
            for option in command.options:
                _judge_vector(run, call, option)
        case Items(items=[_, *_]):
            _judge_items(run, call, command)
        case Const(data=str()):
            _judge_words(run, call, [command.data])
        case Ref(path="shlex.split()") if command.args:
            _judge_split(run, call, command.args[0])
        case None:
            run.doubt("dynamic-command", call.line)
        case _ if command.taint:
            run.harm("command-injection", call.line, command.taint)
        case _:
            run.doubt("dynamic-command", call.line)


def _judge_split(run: Interpreter, call: PythonCall, text: PythonValue) -> None:
    known = _text_of(text)
    if known is not None:
        _judge_text(run, call, text)
    elif isinstance(text, PythonText) and text.prefix.strip():
        # Split before any shell sees it, the hole fills arguments only.
        _judge_words(run, call, [*text.prefix.split(), _SAFE_WORD])
    elif text.taint:
        run.harm("command-injection", call.line, text.taint)
    else:
        run.doubt("dynamic-command", call.line)


def _judge_items(run: Interpreter, call: PythonCall, command: Items) -> None:
    program, *arguments = command.items
    if isinstance(program, Choice):
        for option in program.options:
            _judge_items(run, call, Items([option, *arguments], "list", open=command.open))
        return
    name = _text_of(program)
    if isinstance(program, Ref) and program.path == "sys.executable":
        name = "python3"
    if name is None:
        if program.taint:
            run.harm("command-injection", call.line, program.taint)
        else:
            run.doubt("dynamic-command", call.line)
        return
    words = [name]
    for argument in arguments:
        words.append(_argument_word(run, call, name, words, argument))
    if command.open:
        words.append(_SAFE_WORD)
    _judge_words(run, call, words)


def _argument_word(
    run: Interpreter, call: PythonCall, name: str, words: list[str], argument: PythonValue
) -> str:
    known = _text_of(argument)
    if known is not None:
        return known
    program = name.rpartition("/")[2]
    if words[-1] in ("-c", "/c", "-e", "-Command") and (
        program in _INTERPRETERS or program.startswith("python")
    ):
        if argument.taint:
            run.harm("command-injection", call.line, argument.taint)
        else:
            run.doubt("dynamic-command", call.line)
    return argument.prefix + _SAFE_WORD if isinstance(argument, PythonText) else _SAFE_WORD


def _judge_words(run: Interpreter, call: PythonCall, words: list[str]) -> None:
    _inspect(run, call, shlex.join(words))


def judge_command(run: Interpreter, call: PythonCall, command: PythonValue | None) -> None:
    """A text that a shell will read."""
    _judge_text(run, call, command)


def _spell_out(command: PythonText) -> list[PythonValue] | None:
    """One command for each of the constants that a hole may hold."""
    for index, part in enumerate(command.parts):
        if isinstance(part, Choice) and all(isinstance(option, Const) for option in part.options):
            before, after = command.parts[:index], command.parts[index + 1 :]
            return [
                PythonText((*before, str(option.data), *after), command.taint)
                for option in part.options
                if isinstance(option, Const)
            ]
    return None


def _judge_text(run: Interpreter, call: PythonCall, command: PythonValue | None) -> None:
    spelled = _spell_out(command) if isinstance(command, PythonText) and not command.taint else None
    for each in spelled or ():
        _judge_text(run, call, each)
    if spelled is not None:
        return
    match command:
        case None:
            run.doubt("dynamic-command", call.line)
            return
        case Choice():
            for option in command.options:
                _judge_text(run, call, option)
            return
        case Items():
            _judge_vector(run, call, command)
            return
    known = _text_of(command)
    if command.taint:
        run.harm("command-injection", call.line, command.taint)
    elif known is None:
        run.doubt("dynamic-command", call.line)
    if known is not None:
        _inspect(run, call, known)


def _text_of(value: PythonValue) -> str | None:
    """The command, holes that can't change its meaning filled in; None where one can."""
    if isinstance(value, Const):
        if isinstance(value.data, bytes):
            return value.data.decode("utf-8", "replace")
        return str(value.data)
    if isinstance(value, PythonUnknown):
        return _SAFE_WORD if value.shape in _SAFE_SHAPES else None
    if isinstance(value, PythonText):
        filled = [part if isinstance(part, str) else _text_of(part) for part in value.parts]
        return None if None in filled else "".join(part for part in filled if part is not None)
    return None


def _inspect(run: Interpreter, call: PythonCall, text: str) -> None:
    run.report.include(run.nested("shell", text, run.depth + 1), call.line, run.text(call.line))


_SHELL = (
    "os.system",
    "os.popen",
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
    "asyncio.create_subprocess_shell",
    "asyncio.subprocess.create_subprocess_shell",
    "os.startfile",
    "platform.popen",
    "pexpect.spawn",
    "pexpect.run",
)
_SUBPROCESS = (
    "subprocess.run",
    "subprocess.call",
    "subprocess.Popen",
    "subprocess.check_output",
    "subprocess.check_call",
)
_EXEC = (
    "os.execv",
    "os.execve",
    "os.execvp",
    "os.execvpe",
    "os.execl",
    "os.execle",
    "os.execlp",
    "os.execlpe",
    "os.posix_spawn",
    "os.posix_spawnp",
    "os.spawnv",
    "os.spawnve",
    "os.spawnvp",
    "os.spawnl",
    "os.spawnle",
    "os.spawnlp",
    "os.spawnlpe",
    "os.spawnvpe",
)


def _vector_call(run: Interpreter, call: PythonCall) -> PythonValue:
    run.report.effects.add("process")
    _judge_vector(run, call, Items(list(call.args), "list", open=call.open))
    return UNKNOWN


def fork(run: Interpreter, call: PythonCall) -> PythonValue:
    run.report.effects.add("process")
    if run.unbounded_loops:
        run.harm("fork-bomb", call.line)
    return PythonUnknown(shape="number")


def kill(run: Interpreter, call: PythonCall) -> PythonValue:
    """Process 1 holds up the system; -1 is every process there is."""
    run.report.effects.add("process")
    target = call.argument(0)
    if isinstance(target, Const) and target.data in (-1, 1):
        run.harm("destructive-command", call.line)
    return UNKNOWN


def become(run: Interpreter, call: PythonCall) -> PythonValue:
    run.harm("privilege", call.line)
    return UNKNOWN


def open_with_its_program(run: Interpreter, call: PythonCall) -> PythonValue:
    """`os.startfile`: a program is run, or another one opens the file."""
    run.report.effects.add("process")
    run.doubt("runs-another-file", call.line)
    return UNKNOWN


CALLS: dict[str, Rule] = {
    "os.fork": fork,
    "os.startfile": open_with_its_program,
    "os.kill": kill,
    "os.killpg": kill,
    **dict.fromkeys(
        (
            "os.setuid",
            "os.seteuid",
            "os.setgid",
            "os.setegid",
            "os.setresuid",
            "os.setresgid",
            "os.setreuid",
            "os.setgroups",
            "os.initgroups",
            "os.chroot",
        ),
        become,
    ),
    **dict.fromkeys(_SHELL, shell_command),
    **dict.fromkeys(_SUBPROCESS, subprocess_call),
    **dict.fromkeys(_EXEC, exec_program),
    "asyncio.create_subprocess_exec": _vector_call,
    "asyncio.subprocess.create_subprocess_exec": _vector_call,
    "pty.spawn": spawn_terminal,
    "os.dup2": duplicate_descriptor,
}
METHODS: dict[str, Rule] = {"exec_command": remote_command}
