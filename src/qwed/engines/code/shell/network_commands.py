"""Commands that reach the network: what they fetch, and what leaves through them."""

import re
from typing import Final

from qwed.engines.code import places
from qwed.engines.code.shell import words
from qwed.engines.code.shell.runner import EMPTY, UNREAD, Runner, Stream
from qwed.engines.code.shell.scripts import after_options, run_string
from qwed.engines.code.shell.text_commands import PRIVATE, Rule, rules
from qwed.engines.code.shell.words import HOLE

# What they are fed is the body of the request.
_SENDS_INPUT: Final = frozenset({"http", "https", "xh", "xhs"})
_FETCHED: Final = Stream(None, frozenset({"network"}))
# Spelled into an address, or into what a client says of itself, a secret is in every log on the way.
_SECRET_IN_ADDRESS: Final = re.compile(
    r"(?i)(?:://|(?:\s-[Ae]|--user-agent|--referer)[ =]?[\"']?)[^\s\"']{0,300}"
    r"\$\{?\w{0,60}(?:secret|token|passw|api_?key|access_?key|credential)"
)
_UPLOADS: Final = frozenset(
    [
        "-d",
        "--data",
        "--data-binary",
        "--data-raw",
        "--data-ascii",
        "--data-urlencode",
        "-F",
        "--form",
        "-T",
        "--upload-file",
        "--json",
        "--post-file",
        "--post-data",
        "--body-file",
        "--body-data",
    ]
)
_WHOLE_FILE: Final = frozenset({"-T", "--upload-file", "--post-file", "--body-file"})
_REMOTE_PATH: Final = re.compile(r"^(?:[\w.-]+@)?[\w.\[\]-]+:(?!\\)|^\w+://")


def fetch(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    run.report.effects.add("network")
    args = [words.plain(arg) for arg in argv[1:]]
    _judge_address(run, args, line)
    _judge_uploads(run, args, stdin, line)
    if argv[0] in _SENDS_INPUT:
        _judge_stream(run, stdin, line)
    output = _wget_output(args) if argv[0] == "wget" else _curl_output(args)
    if output is None:
        return _FETCHED
    run.judge.write(run, output, line, _FETCHED)
    return EMPTY


def _curl_output(args: list[str]) -> str | None:
    for index, arg in enumerate(args):
        if arg == "--remote-name" or re.fullmatch(r"-[a-zA-Z]*O[a-zA-Z]*", arg):
            return _last_segment(args)
        if (arg == "--output" or re.fullmatch(r"-[a-zA-Z]*o", arg)) and index + 1 < len(args):
            return None if args[index + 1] in ("-", "/dev/stdout") else args[index + 1]
        if arg.startswith("--output="):
            return arg.partition("=")[2]
    return None


def _wget_output(args: list[str]) -> str | None:
    for index, arg in enumerate(args):
        attached = re.fullmatch(r"-[a-zA-Z]*O(.+)|--output-document=(.+)", arg)
        target = attached.group(1) or attached.group(2) if attached else None
        if target is None and (arg == "--output-document" or re.fullmatch(r"-[a-zA-Z]*O", arg)):
            target = args[index + 1] if index + 1 < len(args) else "-"
        if target is not None:
            return None if target in ("-", "/dev/stdout") else target
    prefix = next(
        (args[index + 1] for index, arg in enumerate(args[:-1]) if arg in ("-P", "--directory-prefix")), ""
    )
    return f"{prefix.rstrip('/')}/{_last_segment(args)}" if prefix else _last_segment(args)


def _last_segment(args: list[str]) -> str:
    addresses = [arg for arg in args if "/" in arg and not arg.startswith(("-", "/"))]
    return addresses[-1].partition("?")[0].rpartition("/")[2] or "index.html" if addresses else "index.html"


def _judge_address(run: Runner, args: list[str], line: int) -> None:
    """File contents and secrets spelled into an address leave with the request."""
    if any(places.is_metadata_service(arg) for arg in args):
        run.harm("metadata-service", line)
    if any(arg.startswith("file://") and places.is_sensitive(arg.removeprefix("file://")) for arg in args):
        run.harm("reads-sensitive-file", line)
    for index, arg in enumerate(args[:-1]):
        if arg == "--unix-socket" and places.is_sensitive(args[index + 1]):
            run.harm("privilege", line)
    if _SECRET_IN_ADDRESS.search(run.line_text(line)):
        run.doubt("exfiltration", line)
    marks = run.word_marks
    if marks & PRIVATE or ("file" in marks and any(HOLE in arg for arg in args)):
        run.harm("exfiltration", line)


def _judge_uploads(run: Runner, args: list[str], stdin: Stream, line: int) -> None:
    for index, arg in enumerate(args):
        option, _, attached = arg.partition("=") if arg.startswith("--") else (arg[:2], "", arg[2:])
        if option in _UPLOADS:
            value = attached or "".join(args[index + 1 : index + 2])
            _judge_payload(run, option, value, stdin, line)


def _judge_payload(run: Runner, option: str, value: str, stdin: Stream, line: int) -> None:
    if option not in _WHOLE_FILE and "@" not in value:
        return
    path = (value if option in _WHOLE_FILE else value.partition("@")[2]).partition(";")[0]
    if path in ("-", "/dev/stdin", "."):
        _judge_stream(run, stdin, line)
    elif (
        re.fullmatch(r"[\w.-]+\.[a-z]{2,}", path)
        and not option.startswith(("-T", "-d", "--data-b"))
        and "=" not in value
    ):
        return
    elif places.leaves_working_tree(path) or places.is_local_secret(path) or places.is_sensitive(path):
        run.harm("exfiltration", line)
    elif path in run.written:
        _judge_stream(run, run.written[path], line)
    elif HOLE in path:
        run.doubt("sends-a-file", line)


def _judge_stream(run: Runner, stream: Stream, line: int) -> None:
    if stream.marks & _STAYS:
        run.harm("exfiltration", line)
    elif "file" in stream.marks:
        run.doubt("sends-a-file", line)


_STAYS: Final = PRIVATE | {"outside"}
_OPENED: Final = re.compile(r"\b(?:FILE|OPEN|GOPEN|CREATE):([^,\s]+)", re.I)


def netcat(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    run.report.effects.add("network")
    args = [words.plain(arg) for arg in argv[1:]]
    text = " ".join(args)
    opens_private = any(_must_stay(path) for path in _OPENED.findall(text))
    executes = argv[0] != "socat" and any(re.fullmatch(r"-\w*[ec]\w*|--(?:sh-)?exec.*", arg) for arg in args)
    if executes or "shell" in stdin.marks or re.search(r"\b(?:exec|system|shell):", text, re.I):
        run.harm("reverse-shell", line)
    elif opens_private or (stdin.marks | run.word_marks) & (PRIVATE | {"file", "process"}):
        run.harm("exfiltration", line)
    elif any(re.fullmatch(r"-\w*l\w*", arg) for arg in args):
        run.doubt("listens", line)
    return _FETCHED


_RCLONE_COPIES: Final = frozenset(
    {"copy", "copyto", "copyurl", "sync", "bisync", "move", "moveto", "rcat", "serve", "mount"}
)


def copy_away(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """From here to there leaves; from there to here is a download."""
    run.report.effects.add("network")
    args = [words.plain(arg) for arg in argv[1:]]
    paths = [arg for arg in args if not arg.startswith("-")]
    if argv[0] == "rclone" and paths[:1] and paths[0] not in _RCLONE_COPIES:
        return UNREAD
    is_tried = "--dry-run" in args or any(re.fullmatch(r"-[a-zA-Z]*n[a-zA-Z]*", arg) for arg in args)
    if "--delete" in args and not is_tried and paths and places.leaves_working_tree(paths[-1]):
        run.harm("destructive-command", line)
    if any(places.is_sensitive(f"{path.rstrip('/')}/credentials") for path in paths[:-1]):
        run.harm("reads-sensitive-file", line)
    if len(paths) < 2:
        return EMPTY
    if not _REMOTE_PATH.match(paths[-1]):
        fetched = _FETCHED if any(_REMOTE_PATH.match(path) for path in paths) else UNREAD
        run.judge.write(run, paths[-1], line, fetched)
    elif any(_must_stay(path) for path in paths[:-1]):
        run.harm("exfiltration", line)
    else:
        run.doubt("sends-a-file", line)
    return EMPTY


def _must_stay(path: str) -> bool:
    private = places.is_sensitive(path) or places.is_local_secret(path)
    return private or places.leaves_working_tree(path) or places.is_whole_tree(path)


_SSH_VALUES: Final = frozenset(
    [
        "-b",
        "-c",
        "-D",
        "-E",
        "-e",
        "-F",
        "-I",
        "-i",
        "-J",
        "-L",
        "-l",
        "-m",
        "-O",
        "-o",
        "-p",
        "-Q",
        "-R",
        "-S",
        "-W",
        "-w",
    ]
)


def ssh(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    run.report.effects.add("network")
    args = [words.plain(arg) for arg in argv[1:]]
    if any(re.match(r"^-[RD]", arg) for arg in args):
        run.doubt("opens-a-tunnel", line)
    _judge_sent(run, stdin, line)
    rest = after_options(argv[1:], _SSH_VALUES)
    if len(rest) > 1:
        run_string(run, " ".join(words.plain(arg) for arg in rest[1:]), EMPTY, line)
    return _FETCHED


def copy_to_clipboard(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """Every program of the desktop reads the clipboard, and some keep or share what was in it."""
    named = any(map(places.is_local_secret, map(words.plain, argv[1:])))
    if named or (stdin.marks | run.word_marks) & (PRIVATE - {"archive"}):
        run.doubt("exfiltration", line)
    return UNREAD


# A file that an argument names in the way of most clients: `@.env`, `key=@.env`, `from '.env'`.
_NAMED_FILE: Final = re.compile(r"(?:^|=)@([^\s;]{1,200})|'([^'\n]{1,200})'")


def judge_client(run: Runner, args: list[str], stdin: Stream, line: int) -> None:
    """Whatever reaches the network: what it is fed, and the secrets that it is told to read."""
    named = [
        path for arg in args for found in _NAMED_FILE.findall(words.plain(arg)) for path in found if path
    ]
    if any(map(places.is_local_secret, named)) or "secret" in stdin.marks:
        run.doubt("exfiltration", line)


def look_up_name(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    run.report.effects.add("network")
    if run.word_marks & (PRIVATE | {"file"}):
        run.harm("exfiltration", line)
    elif any(HOLE + "." in words.plain(arg) for arg in argv[1:]):
        run.doubt("exfiltration", line)
    return _FETCHED


def install(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    """Package managers run what they fetch; over plain HTTP anybody on the way can write it."""
    run.report.effects.add("process")
    args = [words.plain(arg) for arg in argv[1:]]
    if any("http://" in arg and "//localhost" not in arg and "//127." not in arg for arg in args):
        run.harm("download-and-run", line)
    elif "--trusted-host" in args:
        run.doubt("download-and-run", line)
    return UNREAD


def mail(run: Runner, argv: list[str], stdin: Stream, line: int) -> Stream:
    run.report.effects.add("network")
    _judge_sent(run, stdin, line)
    if any(arg in ("-a", "-A") for arg in argv):
        run.harm("exfiltration", line)
    return EMPTY


def _judge_sent(run: Runner, stdin: Stream, line: int) -> None:
    """Of a project, work may leave where a person says so; its secrets may not."""
    private = PRIVATE | {"file"} if run.project is None else PRIVATE - {"archive"}
    if stdin.marks & private:
        run.harm("exfiltration", line)
    elif stdin.marks & {"file", "archive"}:
        run.doubt("sends-a-file", line)


COMMANDS: Final[dict[str, Rule]] = {
    **rules("curl wget http https xh xhs aria2c axel", fetch),
    **rules("nc ncat netcat socat telnet cryptcat", netcat),
    **rules("scp rsync sftp rclone croc", copy_away),
    "ssh": ssh,
    **rules("pbcopy xclip xsel wl-copy clip clip.exe termux-clipboard-set", copy_to_clipboard),
    **rules("dig nslookup host ping drill", look_up_name),
    **rules("pip pip3 npm yarn pnpm gem cargo easy_install", install),
    **rules("mail mailx sendmail mutt msmtp swaks", mail),
}
