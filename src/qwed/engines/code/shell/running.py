"""Commands that run other commands: shells, interpreters, wrappers, `find -exec`."""

import re
from typing import Final

from qwed.engines.code import places
from qwed.engines.code.shell import words
from qwed.engines.code.shell.reading import Rule, file_marks, print_environment, rules
from qwed.engines.code.shell.runner import EMPTY, UNREAD, Runner, Stream
from qwed.engines.code.shell.words import HOLE

SHELLS: Final = frozenset(["sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "rbash", "csh", "tcsh", "mksh"])
_SHELL_OPTIONS_WITH_VALUE: Final = frozenset({"-o", "-O", "+o", "+O", "--rcfile", "--init-file"})
_AWKS: Final = frozenset({"awk", "gawk", "mawk", "nawk"})
_ASSIGNMENT: Final = re.compile(r"^\w+=")
_INJECTING: Final = ("LD_PRELOAD=", "LD_LIBRARY_PATH=", "LD_AUDIT=", "BASH_ENV=")


def run_string(run: Runner, text: str, stdin: Stream, line: int) -> Stream:
    """Text that a shell will read as commands."""
    if HOLE in text:
        if text.strip(HOLE + " ") == "":
            return _unknown_text(run, run.word_marks, line)
        # The rest is still read; the hole itself may say anything.
        run.doubt("dynamic-command", line)
    return run.run_text(text, stdin, line)


def _unknown_text(run: Runner, marks: frozenset[str], line: int) -> Stream:
    if "network" in marks:
        run.harm("download-and-run", line)
    else:
        run.doubt("runs-text", line)
    return UNREAD


def run_stream(run: Runner, stdin: Stream, line: int) -> Stream:
    if stdin.text is None:
        _unknown_text(run, stdin.marks, line)
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


# -- other languages -----------------------------------------------------------------------------------


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
            return _inspect(run, language, args[index + 1] if index + 1 < len(args) else "", line)
        if language == "python" and re.fullmatch(r"-[A-Za-z]*c.+", arg, re.S):
            return _inspect(run, language, arg.partition("c")[2], line)
        if arg == "-m" or not arg.startswith("-"):
            break
    files = [arg for arg in args if not arg.startswith("-")]
    if "-m" in args:
        _judge_module(run, args[args.index("-m") + 1 :], line)
    if files or "-m" in args:
        return _language_file(run, language, files[0], line) if "-m" not in args else UNREAD
    if stdin.text is not None:
        return _inspect(run, language, stdin.text, line) if stdin.text.strip() else UNREAD
    return _unknown_text(run, stdin.marks, line)


_MODULE_EFFECTS: Final = {
    **dict.fromkeys(("pip", "ensurepip", "webbrowser"), ("network",)),
    **dict.fromkeys(("venv", "zipfile", "tarfile", "compileall", "build"), ("file-write",)),
}
_SERVERS: Final = frozenset({"http.server", "SimpleHTTPServer", "pyftpdlib", "uploadserver", "smtpd"})


def _judge_module(run: Runner, args: list[str], line: int) -> None:
    """`python -m http.server` hands out the files of a directory."""
    if args:
        run.report.effects.update(_MODULE_EFFECTS.get(args[0], ()))
    if not args or args[0] not in _SERVERS:
        return
    directory = _option(args, ("-d", "--directory"))
    if places.leaves_working_tree(directory or run.directory or "."):
        run.harm("exfiltration", line)
    elif _option(args, ("-b", "--bind")) not in _LOOPBACK:
        run.doubt("listens", line)


_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})


def _language_file(run: Runner, language: str, path: str, line: int) -> Stream:
    known = run.written.get(path)
    if known is not None and known.text is not None:
        return _inspect(run, language, known.text, line)
    return run_file(run, path, line)


def _inspect(run: Runner, language: str, text: str, line: int) -> Stream:
    if HOLE in text:
        _unknown_text(run, run.word_marks, line)
    verdict = run.nested(language, text.replace(HOLE, "0"), run.depth + 1)
    run.report.include(verdict, line, run.line_text(line))
    return UNREAD


_POWERS: Final = re.compile(
    r"\b(?:system|exec|qx|popen|spawn|passthru|shell_exec|pcntl_exec|proc_open|syscall|fork|unlink|rmtree|rmdir|eval"
    r"|[sS]ocket|"
    r"TCPSocket|fsockopen|FileUtils|execute|open3|File\.delete)\b|`[^`]+`|%x|\|\s*getline|\|\s*&?\s*[\"']|"
    r"open\s*\(?\s*\w*\s*,?\s*[\"'][|>]|/inet/(?:tcp|udp)/|net\.Dial|remove_tree|os\.remove"
)
_SOCKETS: Final = re.compile(r"[sS]ocket|TCP|fsockopen|net\.Dial|/inet/(?:tcp|udp)/")
_DELETED: Final = re.compile(
    r"\b(?:unlink|rmtree|remove_tree|rm_rf?|rmdir|FileUtils\.\w+|File\.delete"
    r"|os\.remove)\b[^;\n]{0,80}?[\"'](/[^\"']*)[\"']"
)
_HANDED_OVER: Final = re.compile(
    r"(?:system|exec|qx|popen|passthru|shell_exec|execute|pcntl_exec)\s*[({\[]?\s*(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)')"
    r"|`([^`]+)`|\|\s*&?\s*\"([^\"]+)\"|\"([^\"]+)\"\s*\|\s*&?\s*getline|%x[\[{(]([^\])}]+)"
    r"|qx[\[{(/]([^\])}/]+)"
)


def script(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """Perl, Ruby, PHP, Lua, AWK are not parsed: what they hand to a shell is, other powers are doubts."""
    args = [words.plain(arg) for arg in argv[1:]]
    if argv[0] not in _AWKS:
        run.report.effects.add("process")
    serves = _option(args, ("-S",)) if argv[0] == "php" else None
    if serves is not None and serves.rpartition(":")[0] not in _LOOPBACK:
        run.doubt("listens", line)
    texts = _script_texts(argv[0], args)
    files = [arg for arg in args if not arg.startswith("-")]
    if not texts and not files:
        if stdin.text is None:
            return _unknown_text(run, stdin.marks, line)
        texts = [stdin.text]
    for text in texts:
        _judge_script(run, text, line)
    marks = stdin.marks
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


def _judge_script(run: Runner, text: str, line: int) -> None:
    if HOLE in text:
        run.doubt("runs-text", line)
    if not _POWERS.search(text):
        return
    handed = [
        next(group for group in found.groups() if group is not None) for found in _HANDED_OVER.finditer(text)
    ]
    for command in handed[:8]:
        run.run_text(command.replace('\\"', '"'), EMPTY, line)
    if any(places.leaves_working_tree(path) for path in _DELETED.findall(text)):
        run.harm("destructive-command", line)
    elif _SOCKETS.search(text) and re.search(r"exec|system|dup|STDIN|/sh\b|getline|Command", text):
        run.harm("reverse-shell", line)
    elif not handed:
        run.doubt("runs-text", line)


# -- wrappers ------------------------------------------------------------------------------------------


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


def in_place(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """`exec`, `command`, `builtin`: the same command, and nobody else who starts it."""
    run.started_by -= 1
    try:
        return run.execute(after_options(argv[1:], frozenset({"-a"})), stdin, line)
    finally:
        run.started_by += 1


def wrapper(options_with_value: str = "", skip: int = 0) -> Rule:
    takes_value = frozenset(options_with_value.split())

    def rule(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
        return run.execute(after_options(argv[1:], takes_value)[skip:], stdin, line)

    return rule


def env(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    rest = argv[1:]
    while rest:
        text = words.plain(rest[0])
        if text in ("-S", "--split-string") and len(rest) > 1:
            return run_string(run, words.plain(rest[1]), stdin, line)
        if text.startswith("-S"):
            return run_string(run, text[2:], stdin, line)
        if text in ("-u", "-C", "--unset", "--chdir"):
            rest = rest[2:]
        elif text.startswith("-") or _ASSIGNMENT.match(text):
            if text.startswith(_INJECTING) or re.match(r"^\w+=\(\) *\{", text):
                run.harm("injects-into-programs", line)
            rest = rest[1:]
        else:
            return run.execute(rest, stdin, line)
    return print_environment(run, ["env"], stdin, line)


_SUDO_VALUES: Final = frozenset(
    ["-u", "-g", "-C", "-h", "-p", "-r", "-t", "-U", "-D", "--user", "--group", "--chdir"]
)


def privileged(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """Becoming somebody else is harm whatever follows, and what follows is judged too."""
    run.harm("privilege", line)
    if argv[0] in ("su", "runuser"):
        text = _option([words.plain(arg) for arg in argv[1:]], ("-c", "--command"))
        return run_string(run, text, stdin, line) if text is not None else UNREAD
    rest = after_options(argv[1:], _SUDO_VALUES)
    while rest and _ASSIGNMENT.match(words.plain(rest[0])):
        rest = rest[1:]
    if argv[0] in ("chroot", "gosu"):
        rest = rest[1:]
    return run.execute(rest, stdin, line)


_XARGS_VALUES: Final = frozenset(
    [
        "-I",
        "-n",
        "-P",
        "-L",
        "-d",
        "-a",
        "-s",
        "-E",
        "-j",
        "--max-args",
        "--max-procs",
        "--delimiter",
        "--arg-file",
    ]
)


def xargs(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    placeholder = _option([words.plain(arg) for arg in argv[1:]], ("-I",)) or "{}"
    rest = after_options(argv[1:], _XARGS_VALUES)
    given = stdin.text.split() if stdin.text is not None else [HOLE]
    if not rest:
        return stdin
    if ":::" in rest:
        return _parallel(run, rest, line)
    if "everything" in stdin.marks and words.plain(rest[0]).rpartition("/")[2] in _CHANGES_FILES:
        run.harm("destructive-command", line)
    if any(placeholder in words.plain(arg) for arg in rest):
        lines = stdin.text.strip("\n").split("\n") if stdin.text is not None else [HOLE]
        for given_line in lines[: words.MAX_FIELDS]:
            run.execute([words.plain(arg).replace(placeholder, given_line) for arg in rest], EMPTY, line)
        return UNREAD
    return run.execute([*rest, *given[: words.MAX_FIELDS]], EMPTY, line)


_CHANGES_FILES: Final = frozenset({"rm", "shred", "unlink", "chmod", "chown", "truncate", "mv", "sed"})


def _parallel(run: Runner, rest: list[str], line: int) -> Stream:
    """`parallel command ::: argument …`; without a command, each argument is one."""
    split = rest.index(":::")
    command = " ".join(map(words.plain, rest[:split]))
    for given in rest[split + 1 :][: words.MAX_FIELDS]:
        run_string(run, f"{command} {words.plain(given)}".strip(), EMPTY, line)
    return UNREAD


_NARROWING: Final = frozenset(
    ["-name", "-iname", "-path", "-regex", "-newer", "-mtime", "-mmin", "-size", "-empty", "-type"]
)


def find(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    run.report.effects.add("file-read")
    args = [words.plain(arg) for arg in argv[1:]]
    starts = []
    for arg in args:
        if arg.startswith(("-", "(", "!")):
            break
        starts.append(arg)
    for index, arg in enumerate(args):
        match arg:
            case "-delete":
                _delete_found(run, starts, _NARROWING & frozenset(args), line)
            case "-exec" | "-execdir" | "-ok" | "-okdir":
                _execute_found(run, args[index + 1 :], starts, line)
            case "-fprint" | "-fprintf" | "-fls":
                for path in args[index + 1 : index + 2]:
                    run.judge.write(run, path, line, UNREAD)
            case "-perm" if re.search(r"[-/]?[246]000|[ug]\+?=?s", "".join(args[index + 1 : index + 2])):
                run.doubt("privilege", line)
            case "-name" | "-iname" if places.is_sensitive("/" + "".join(args[index + 1 : index + 2])):
                run.harm("reads-sensitive-file", line)
    outside = any(places.leaves_working_tree(start) for start in starts)
    unbounded = outside and not (_NARROWING - {"-type"}) & frozenset(args)
    return Stream(None, frozenset({"everything"}) if unbounded else frozenset())


def _delete_found(run: Runner, starts: list[str], narrowed: frozenset[str], line: int) -> None:
    run.report.effects.add("file-delete")
    outside = any(places.leaves_working_tree(start) or HOLE in start for start in starts) or bool(
        run.directory
    )
    everything = not (narrowed - {"-type"}) and (
        not starts or any(places.is_whole_tree(start) for start in starts)
    )
    if outside or everything:
        run.harm("destructive-command", line)


def _execute_found(run: Runner, rest: list[str], starts: list[str], line: int) -> None:
    command = []
    for arg in rest:
        if arg in (";", "+"):
            break
        command.append(arg)
    found = (starts[0].rstrip("/") if starts else ".") + "/" + "x"
    run.execute([arg.replace("{}", found) for arg in command], EMPTY, line)


def alias(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    for arg in argv[1:]:
        name, given, text = words.plain(arg).partition("=")
        if given:
            run.aliases[name] = text
            run.calling.append(name)
            run.run_text(text, EMPTY, line)
            run.calling.pop()
    return EMPTY


def command_option(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """`script -c text`, `expect -c text`."""
    args = [words.plain(arg) for arg in argv[1:]]
    given = [args[index + 1] for index, arg in enumerate(args[:-1]) if re.fullmatch(r"-\w*c|--command", arg)]
    for text in given:
        run_string(run, re.sub(r"\bspawn\s+", "", text), stdin, line)
    return UNREAD


def unread(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """Shells whose language is not read here."""
    run.report.effects.add("process")
    run.doubt("runs-text", line)
    return UNREAD


def built_in(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """`hash -p file name` and `enable -f file name` put other programs in the place of known ones."""
    if any(arg in ("-p", "-f") for arg in argv[1:]):
        run.harm("injects-into-programs", line)
    return EMPTY


def flock(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    rest = after_options(argv[1:], frozenset({"-w", "-E", "--timeout"}))[1:]
    if rest[:1] == ["-c"] and len(rest) > 1:
        return run_string(run, words.plain(rest[1]), stdin, line)
    return run.execute(rest, stdin, line)


def watch(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    rest = after_options(argv[1:], frozenset({"-n", "--interval"}))
    if "-x" in argv or "--exec" in argv:
        return run.execute(rest, stdin, line)
    return run_string(run, " ".join(map(words.plain, rest)), stdin, line) if rest else EMPTY


def editor(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """Editors, pagers and debuggers run commands behind `!`, and code behind `:py`."""
    args = [words.plain(arg) for arg in argv[1:]]
    pager = _option(args, ("-P", "--pager", "-H", "--html"))
    for arg in [*args, stdin.text or "", f"!{pager}" if pager else ""]:
        found = re.search(r"!(.+)", arg, re.S)
        if found:
            run.run_text(found.group(1), EMPTY, line)
            run.doubt("runs-text", line)
        code = re.match(r":?\s*py(?:thon)?3?\s+(.+)", arg, re.S)
        if code:
            _inspect(run, "python", code.group(1), line)
        elif re.match(r":?\s*(?:lua|ruby|perl|tcl)\s|\(shell|python ", arg):
            run.doubt("runs-text", line)
    return UNREAD


def go(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """`go run file`: of a file this script wrote, what it says is known."""
    run.report.effects.add("process")
    for path in map(words.plain, argv[2:]):
        known = run.written.get(path)
        if argv[1:2] == ["run"] and known is not None and known.text is not None:
            _judge_script(run, known.text, line)
    return UNREAD


def tunnel(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    run.report.effects.add("network")
    run.doubt("opens-a-tunnel", line)
    return UNREAD


def sniffer(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    run.report.effects.add("network")
    run.doubt("listens", line)
    return Stream(None, frozenset({"secret"}))


def attack(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    run.report.effects.add("process")
    run.harm("attack-tool", line)
    return UNREAD


def remote_terminal(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """A terminal window on somebody else's screen is a shell in somebody else's hands."""
    display = _option([words.plain(arg) for arg in argv[1:]], ("-display", "--display"))
    if display is not None and not display.startswith((":", "localhost:", "unix:")):
        run.harm("reverse-shell", line)
    return UNREAD


def scanner(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    run.report.effects.add("network")
    for arg in map(words.plain, argv[1:]):
        if arg == "--interactive":
            run.harm("spawns-a-shell", line)
        elif re.match(r"--script=.*[/.]", arg):
            run.doubt("runs-another-file", line)
    return UNREAD


def _option(args: list[str], names: tuple[str, ...]) -> str | None:
    for index, arg in enumerate(args[:-1]):
        if arg in names:
            return args[index + 1]
    return None


COMMANDS: Final[dict[str, Rule]] = {
    **dict.fromkeys(SHELLS, shell),
    "eval": evaluate,
    **rules("source .", source),
    **rules("python python2 python3 pypy pypy3", python),
    **rules("node nodejs deno bun", node),
    **rules("perl ruby php lua awk gawk mawk nawk tclsh Rscript osascript", script),
    **rules("command builtin exec", in_place),
    **rules(
        "nohup setsid time coproc unbuffer stdbuf chronic rlwrap proxychains torify", wrapper("-o -i -e")
    ),
    **rules("nice ionice choom", wrapper("-n -c -p -t")),
    **rules("taskset chrt logsave setlock", wrapper("-p -c", skip=1)),
    "timeout": wrapper("-s -k --signal --kill-after", skip=1),
    **rules("strace ltrace perf", wrapper("-o -e -p -s")),
    **rules("busybox toybox", wrapper()),
    **rules("xargs parallel", xargs),
    "env": env,
    **rules("sudo su doas pkexec gosu runuser sudoedit chroot nsenter unshare capsh setpriv", privileged),
    "find": find,
    "alias": alias,
    **rules("script expect", command_option),
    "flock": flock,
    **rules("hash enable", built_in),
    **rules("powershell pwsh cmd wscript cscript mshta rundll32 regsvr32", unread),
    "watch": watch,
    **rules("vi vim nvim view vimdiff rvim ed ex emacs gdb nano man less more", editor),
    "go": go,
    **rules("ngrok chisel frpc frps bore lt cloudflared serveo gost", tunnel),
    **rules("tcpdump tshark dumpcap ettercap ngrep", sniffer),
    **rules("nmap masscan", scanner),
    **rules("xterm rxvt urxvt konsole gnome-terminal", remote_terminal),
    **rules("hydra medusa john hashcat msfvenom msfconsole sqlmap arpspoof bettercap responder", attack),
    **rules("aircrack-ng aireplay-ng mimikatz linpeas.sh patator crackmapexec reaver dnsspoof", attack),
}
