"""Commands that read, print and rewrite text, and the files a script reads and writes."""

import re
from collections.abc import Callable
from typing import Final

from qwed.engines.code import places
from qwed.engines.code.shell import words
from qwed.engines.code.shell.filters import FILTERS, NEEDS_NO_INPUT
from qwed.engines.code.shell.machine import BELOW
from qwed.engines.code.shell.redirects import file_marks
from qwed.engines.code.shell.runner import EMPTY, UNREAD, Runner, Stream
from qwed.engines.code.shell.words import HOLE

Rule = Callable[[Runner, list[str], Stream, int], Stream]

#: Of what a command reads: what must not leave.
PRIVATE: Final = frozenset({"secret", "environment", "archive"})
_OUTPUTS: Final = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})
_FIRST_IS_TEXT: Final = frozenset({"sed"})
# What comes out is what went in, some lines fewer or in another order.
_PASSES_LINES: Final = frozenset(
    {"head", "tail", "cat", "tac", "tee", "sort", "uniq", "grep", "egrep", "fgrep", "rg"}
)
_NO_FILES: Final = NEEDS_NO_INPUT | {"tr", "openssl"}
_SED_RUNS: Final = re.compile(r"^s(.).*\1.*\1[gpiI0-9]*e|(?:^|;)\s*\d*e\s+\S")
_SED_WRITES: Final = re.compile(r"(?:^|[;{}/$\d|,])\s*[wW]\s+([^\s;}]{1,300})")


def read_file(run: Runner, path: str, line: int) -> None:
    run.report.effects.add("file-read")
    if places.is_sensitive(path):
        run.harm("reads-sensitive-file", line)


def write_file(run: Runner, path: str, line: int, made: Stream) -> None:
    """A file is written: where it lies decides, and what is in it is remembered."""
    if path in _OUTPUTS or path.startswith("/dev/fd/"):
        return
    run.report.effects.add("file-write")
    if "endless" in made.marks:
        run.harm(USES_UP, line)
    where = from_here(run, path)
    if _GIVES_RIGHTS.match(where):
        run.harm("privilege", line)
    if places.is_persistent(where):
        run.harm("persistence", line)
    elif places.is_block_device(where) or where in ("/dev/mem", "/dev/kmem", "/proc/sysrq-trigger"):
        run.harm("destructive-command", line)
    elif leaves_traces(where):
        run.harm("covers-tracks", line)
    elif places.is_sensitive(where) or (
        places.is_system(where) and not where.startswith(("/home/", "/Users/"))
    ):
        run.harm("writes-system-file", line)
    run.written[path] = run.written[path.removeprefix("./")] = made


_GIVES_RIGHTS: Final = re.compile(r"/etc/(?:sudoers|passwd|shadow|group|gshadow|pam\.d|ld\.so)")


def leaves_traces(path: str) -> bool:
    """A log of the machine, or the history of a shell."""
    return path.startswith("/var/log/") or path.endswith("_history")


def from_here(run: Runner, path: str) -> str:
    """A relative path, after the script has left the working tree; through a link, where that leads."""
    first, slash, rest = path.removeprefix("./").partition("/")
    if first in run.links:
        path = f"{run.links[first]}{slash}{rest}"
    if run.directory and not path.startswith(("/", "~", HOLE)):
        return f"{run.directory.rstrip('/')}/{path}"
    return path


def text_filter(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """Computed where its input is known; otherwise the kinds of data in its input go on."""
    name = argv[0]
    args = [words.plain(arg) for arg in argv[1:]]
    files = [arg for arg in args if not arg.startswith("-")]
    files = [] if name in _NO_FILES else files[1:] if name in _FIRST_IS_TEXT else files
    marks = (stdin.marks if name in _PASSES_LINES else stdin.marks - {BELOW}) | run.word_marks
    for path in files:
        marks |= run.written[path].marks if path in run.written else file_marks(path)
    if files and name != "tee":
        run.report.effects.add("file-read")
        known = run.written.get(files[0])
        source = known if known is not None and len(files) == 1 else UNREAD
    else:
        source = stdin
    if name == "tee":
        for path in files:
            run.judge.write(run, path, line, stdin)
    if name == "sed":
        _judge_sed(run, args, line)
    if name == "openssl" and "s_client" in args:
        run.report.effects.add("network")
        if "shell" in stdin.marks:
            run.harm("reverse-shell", line)
        elif stdin.marks & PRIVATE:
            run.harm("exfiltration", line)
        elif "file" in stdin.marks:
            run.doubt("sends-a-file", line)
        return Stream(None, frozenset({"network"}))
    options = [arg for arg in args if arg not in files] if name != "tee" else []
    if name in ("head", "sed"):
        marks -= {"endless"}
    return Stream(_compute(name, options, source), marks)


def _compute(name: str, args: list[str], source: Stream) -> str | None:
    if any(HOLE in arg for arg in args):
        return None
    if source.text is None and name not in NEEDS_NO_INPUT:
        return None
    return FILTERS[name](args, source.text or "")


def _judge_sed(run: Runner, args: list[str], line: int) -> None:
    for arg in filter(_SED_RUNS.search, args):
        run.doubt("runs-text", line)
        if found := re.match(r"\d*e\s+(.+)", arg, re.S):
            run.run_text(found.group(1), EMPTY, line)
    for text in args[:2]:
        for path in _SED_WRITES.findall(text):
            run.judge.write(run, path, line, UNREAD)
    if any(arg.startswith(("-i", "--in-place")) for arg in args):
        for path in [arg for arg in args if not arg.startswith("-")][1:]:
            run.judge.write(run, path, line, UNREAD)


USES_UP: Final = "uses-up-the-machine"
_TOO_WIDE: Final = re.compile(r"%[-+ #0']*(?:\d{6,}|\d*\.\d{6,})")
_TOO_FAR: Final = re.compile(r"-?\d{9,}|inf.*", re.I)


def count(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    if any(_TOO_FAR.fullmatch(words.plain(arg)) or _TOO_WIDE.search(arg) for arg in argv[1:]):
        run.doubt(USES_UP, line)
    return UNREAD


def repeat(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    return Stream(None, frozenset({"endless"}))


def print_variable(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """`printf -v name …` sets a variable instead of printing."""
    args = [words.plain(arg) for arg in argv[1:]]
    takes_width = any("*" in arg and "%" in arg for arg in args[:3])
    if any(_TOO_WIDE.search(arg) or (takes_width and re.fullmatch(r"\d{6,}", arg)) for arg in args):
        run.doubt(USES_UP, line)
    if len(argv) > 3 and argv[1] == "-v":
        run.judge.name_variable(run, words.plain(argv[2]), line)
        made = text_filter(run, ["printf", *argv[3:]], stdin, line)
        run.variables[words.plain(argv[2])] = made.text if made.text is not None else HOLE
        return EMPTY
    return text_filter(run, argv, stdin, line)


def read_files(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """Prints something of the files it is given."""
    run.report.effects.add("file-read")
    marks = stdin.marks if argv[0] in _PASSES_LINES else stdin.marks - {BELOW}
    if "settings" in stdin.marks and any(SECRET_WORDS.search(arg) or ".Env" in arg for arg in argv[1:]):
        run.doubt("reads-sensitive-file", line)
    given = [words.plain(arg) for arg in argv[1:] if not arg.startswith("-")]
    if argv[0] == "uniq" and len(given) > 1:
        run.judge.write(run, given[1], line, UNREAD)
    if argv[0] not in ("ls", "dir", "vdir", "stat", "file", "du", "df", "which"):
        for arg in argv[1:]:
            if not arg.startswith("-"):
                marks |= file_marks(words.plain(arg))
    return Stream(None, marks)


SECRET_WORDS: Final = re.compile(r"passw|secret|credential|api.?key|token|private.key|BEGIN|\bEnv\b", re.I)


def search(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """Looking through other people's files for passwords is taking them."""
    args = [words.plain(arg) for arg in argv[1:]]
    rest = [arg for arg in args if not arg.startswith("-")]
    through_all = argv[0] in ("rg", "ag", "ack") or any(
        re.match(r"-\w*[rR]", arg) or arg in ("--recursive", "--dereference-recursive") for arg in args
    )
    elsewhere = any(places.leaves_working_tree(from_here(run, path)) for path in rest[1:])
    if through_all and elsewhere and SECRET_WORDS.search(rest[0]):
        run.harm("reads-sensitive-file", line)
    elif through_all and any(_is_whole_home(from_here(run, path)) for path in rest[1:]):
        run.doubt("reads-sensitive-file", line)
    made = read_files(run, argv, stdin, line)
    if any(re.fullmatch(r"-\w*o\w*|--only-matching", arg) for arg in args):
        made = Stream(made.text, made.marks - {BELOW})
    lists = any(re.fullmatch(r"-\w*l\w*|--files(?:-with-matches|-without-match)?", arg) for arg in args)
    if lists and through_all and not elsewhere:
        return Stream(made.text, frozenset({BELOW}))
    return made


def _is_whole_home(path: str) -> bool:
    return path.rstrip("/*") in ("", "~", "$HOME", "/home", "/root", "/Users")


def print_environment(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    run.report.effects.add("environment-read")
    return Stream(None, frozenset({"environment"}) if len(argv) == 1 else frozenset())


def do_nothing(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    return EMPTY


def archive(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    run.report.effects.update({"file-read", "file-write"})
    marks = frozenset({"file", "archive"})
    args = [words.plain(arg) for arg in argv[1:]]
    for arg in args:
        marks |= file_marks(arg)
    return Stream(None, marks)


def change_directory(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """Relative paths after this are relative to there."""
    target = from_here(run, words.plain(argv[1])) if len(argv) > 1 else "~"
    if places.leaves_working_tree(target):
        run.directory = target
    run.has_moved = True
    return EMPTY


def read_variables(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    names = [words.plain(arg) for arg in argv[1:] if not arg.startswith("-")]
    if argv[0] != "read" and stdin.text is not None:
        for name in names:
            run.arrays[name] = stdin.text.rstrip("\n").split("\n")[: words.MAX_FIELDS]
    known = stdin.text.split(None, max(len(names) - 1, 0)) if stdin.text and HOLE not in stdin.text else []
    for index, name in enumerate(names):
        run.variables[name] = known[index].strip() if index < len(known) else HOLE
        if stdin.text is None and BELOW in stdin.marks and run.project is not None and len(names) == 1:
            run.variables[name] = run.found[name] = f"./{HOLE}"
        run.marked[name] = stdin.marks
    return EMPTY


def set_positional(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    if [words.plain(arg) for arg in argv[1:]] == ["+o", "history"]:
        run.harm("covers-tracks", line)
    if "--" in argv:
        run.positional = argv[argv.index("--") + 1 :]
    elif len(argv) > 1 and not argv[1].startswith(("-", "+")):
        run.positional = argv[1:]
    if len(argv) > 1:
        return UNREAD
    return print_environment(run, argv, stdin, line)


# A mode that makes a program run as its owner.
SETS_ID: Final = re.compile(r"[2467][0-7]{3}|(?:[ugao]*)\+[rwxX]*s[rwxX]*|[ug]*=[rwxX]*s[rwxX]*")


def move(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """`cp` and `mv`: what is known of the source is then known of the target."""
    run.report.effects.update({"file-read", "file-write"})
    args = [words.plain(arg) for arg in argv[1:]]
    modes = [args[index + 1] for index, arg in enumerate(args[:-1]) if arg in ("-m", "--mode")]
    if any(SETS_ID.fullmatch(mode) for mode in modes):
        run.harm("privilege", line)
    paths = [words.plain(arg) for arg in argv[1:] if not arg.startswith("-")]
    for path in paths[:-1]:
        where = from_here(run, path)
        if any(places.is_sensitive(f"{where.rstrip('/')}/{name}") for name in ("credentials", "config")):
            run.harm("reads-sensitive-file", line)
        if argv[0] == "mv" and (places.is_system(where) or paths[-1] == "/dev/null" or where == "~"):
            run.harm("destructive-command", line)
    if len(paths) > 1:
        run.judge.write(run, paths[-1], line, run.contents(paths[0]))
    return EMPTY


def make_scratch(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """`mktemp` prints a name in scratch space that nobody has used before."""
    run.report.effects.add("file-write")
    operands = [arg for arg in argv[1:] if not arg.startswith("-")]
    if operands or "-p" in argv:
        return UNREAD
    run.scratch += 1
    return Stream(f"/tmp/tmp.{run.scratch}\n")  # noqa: S108 - a name, not used as a file


def make_files(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    run.report.effects.add("file-write")
    # What comes out of a named pipe is whatever somebody puts in.
    made = UNREAD if argv[0] in ("mkfifo", "mknod") else EMPTY
    for arg in argv[1:]:
        if not arg.startswith("-"):
            run.judge.write(run, words.plain(arg), line, made)
    return EMPTY


def link(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    paths = [words.plain(arg) for arg in argv[1:] if not arg.startswith("-")]
    if paths:
        run.judge.write(run, paths[-1], line, UNREAD)
    if len(paths) == 2 and any(re.match(r"-\w*s|--symbolic", words.plain(arg)) for arg in argv[1:]):
        run.links[paths[1].removeprefix("./")] = paths[0]
    return EMPTY


def journal(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    if any(words.plain(arg).startswith(("--vacuum", "--rotate")) for arg in argv[1:]):
        run.harm("covers-tracks", line)
    return UNREAD


def history(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    if any(arg in ("-c", "-d", "-w") for arg in argv[1:]):
        run.harm("covers-tracks", line)
    return Stream(None, frozenset({"secret"}))


def rules(names: str, rule: Rule) -> dict[str, Rule]:
    return dict.fromkeys(names.split(), rule)


COMMANDS: Final[dict[str, Rule]] = {
    **rules("echo base64 base32 openssl xxd rev tac tr sed gunzip zcat cat tee head tail", text_filter),
    "printf": print_variable,
    **rules(
        "true false : pwd type help clear [ expr",
        do_nothing,
    ),
    **rules("basename dirname sleep date umask ulimit", do_nothing),
    **rules("ls dir vdir wc cut sort uniq diff cmp file stat du df nl od hexdump", read_files),
    **rules("strings paste column which jq yq comm join fold iconv md5sum sha256sum bat", read_files),
    **rules("ldd objdump nm readelf dpkg dpkg-query rpm whereis locate getcap getfacl lsof", read_files),
    **rules("grep egrep fgrep rg ag ack", search),
    "printenv": print_environment,
    **rules("tar zip gzip bzip2 xz 7z unzip cpio", archive),
    **rules("cd pushd", change_directory),
    "seq": count,
    "yes": repeat,
    "set": set_positional,
    **rules("mv cp install", move),
    "journalctl": journal,
    **rules("touch mkdir mkfifo mknod split csplit", make_files),
    "ln": link,
    "mktemp": make_scratch,
    "history": history,
}
