"""Commands that run other commands: wrappers, `find -exec`, `xargs`."""

import itertools
import re
from typing import Final

from qwed.engines.code import places
from qwed.engines.code.shell import words
from qwed.engines.code.shell.machine import BELOW
from qwed.engines.code.shell.runner import EMPTY, UNREAD, Runner, Stream
from qwed.engines.code.shell.scripts import after_options, option_value, run_string
from qwed.engines.code.shell.text_commands import Rule, print_environment, rules
from qwed.engines.code.shell.words import HOLE

_ASSIGNMENT: Final = re.compile(r"^\w+=")


def in_place(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """`exec`, `command`, `builtin`: the same command, and nobody else who starts it.

    `command -v` only says where it is.
    """
    if words.plain(argv[0]) == "command" and argv[1:] and words.plain(argv[1]) in ("-v", "-V"):
        return UNREAD
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
            name, given, value = text.partition("=")
            if given and not text.startswith("-"):
                run.judge.set_variable(run, name, value, line)
            if re.match(r"^\w+=\(\) *\{", text):
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
        text = option_value([words.plain(arg) for arg in argv[1:]], ("-c", "--command"))
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
    placeholder = option_value([words.plain(arg) for arg in argv[1:]], ("-I",)) or "{}"
    rest = after_options(argv[1:], _XARGS_VALUES)
    unknown = (
        _OTHERS
        if OTHERS_SECRETS in stdin.marks
        else f"./{HOLE}"
        if run.project is not None and BELOW in stdin.marks
        else HOLE
    )
    given = stdin.text.split() if stdin.text is not None else [unknown]
    if any(re.match(r"-a|--arg-file", words.plain(arg)) for arg in argv[1 : len(argv) - len(rest)]):
        given = [HOLE]
    if not rest:
        return stdin
    if ":::" in rest:
        return _parallel(run, rest, line)
    if "everything" in stdin.marks and words.plain(rest[0]).rpartition("/")[2] in _CHANGES_FILES:
        run.harm("destructive-command", line)
    if any(placeholder in words.plain(arg) for arg in rest):
        lines = stdin.text.strip("\n").split("\n") if stdin.text is not None else [unknown]
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


#: Names of keys and the like outside the working tree, and one of them.
OTHERS_SECRETS: Final = "names-of-secrets"
_OTHERS: Final = "~/.env"
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
                _execute_found(run, args[index + 1 :], starts, _name_found(args), line)
            case "-fprint" | "-fprintf" | "-fls":
                for path in args[index + 1 : index + 2]:
                    run.judge.write(run, path, line, UNREAD)
            case "-perm" if re.search(r"[-/]?[246]000|[ug]\+?=?s", "".join(args[index + 1 : index + 2])):
                run.doubt("privilege", line)
            case "-name" | "-iname" if places.is_sensitive("/" + "".join(args[index + 1 : index + 2])):
                run.harm("reads-sensitive-file", line)
    if any(places.is_sensitive(f"{start.rstrip('/')}/credentials") for start in starts):
        run.doubt("reads-sensitive-file", line)
    outside = any(places.leaves_working_tree(start) for start in starts)
    unbounded = outside and not (_NARROWING - {"-type"}) & frozenset(args)
    if not outside and not run.directory and not any(HOLE in start for start in starts):
        return Stream(None, frozenset({BELOW}))
    if outside and places.is_local_secret(_name_found(args)):
        return Stream(None, frozenset({OTHERS_SECRETS}))
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


def _name_found(args: list[str]) -> str:
    """A name that `find` may find: of `*.pem`, that is one; of `.env*`, the secret one."""
    named = next((after for option, after in itertools.pairwise(args) if option in ("-name", "-iname")), "x")
    bare = re.sub(r"[*?\[\]/]", "", named)
    return bare if places.is_local_secret(bare) else re.sub(r"[*?\[\]/]", "x", named) or "x"


def _execute_found(run: Runner, rest: list[str], starts: list[str], name: str, line: int) -> None:
    command = []
    for arg in rest:
        if arg in (";", "+"):
            break
        command.append(arg)
    found = (starts[0].rstrip("/") if starts else ".") + "/" + name
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


_PERF_STARTS: Final = frozenset({"stat", "record", "trace", "bench", "kvm", "mem", "c2c", "ftrace", "iostat"})
_PERF_VALUES: Final = frozenset(
    "-e -o -i -F -c -p -t -C -G -r -D -I -x -m -u -s --event --output --pid".split()  # noqa: SIM905 - a table
)


def perf(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """`perf stat command`; the other sub-commands show what was recorded."""
    run.report.effects.add("process")
    rest = after_options(argv[1:], _PERF_VALUES)
    if rest and words.plain(rest[0]) in _PERF_STARTS:
        return run.execute(after_options(rest[1:], _PERF_VALUES), stdin, line)
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
    display = option_value([words.plain(arg) for arg in argv[1:]], ("-display", "--display"))
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


COMMANDS: Final[dict[str, Rule]] = {
    **rules("command builtin exec", in_place),
    **rules(
        "nohup setsid time coproc unbuffer stdbuf chronic rlwrap proxychains torify", wrapper("-o -i -e")
    ),
    **rules("nice ionice choom", wrapper("-n -c -p -t")),
    **rules("taskset chrt logsave setlock", wrapper("-p -c", skip=1)),
    "timeout": wrapper("-s -k --signal --kill-after", skip=1),
    **rules("strace ltrace", wrapper("-o -e -p -s -u -E -S -I -P -a -b -A -n -l -x")),
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
    "perf": perf,
    **rules("ngrok chisel frpc frps bore lt cloudflared serveo gost", tunnel),
    **rules("tcpdump tshark dumpcap ettercap ngrep", sniffer),
    **rules("nmap masscan", scanner),
    **rules("xterm rxvt urxvt konsole gnome-terminal", remote_terminal),
    **rules("hydra medusa john hashcat msfvenom msfconsole sqlmap arpspoof bettercap responder", attack),
    **rules("aircrack-ng aireplay-ng mimikatz linpeas.sh patator crackmapexec reaver dnsspoof", attack),
}
