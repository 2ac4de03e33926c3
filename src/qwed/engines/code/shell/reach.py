"""How far a command reaches beyond its project: what it sends, publishes, installs or writes elsewhere.

`reach.toml` lists it by program and sub-command. Harm is not listed here: other tables find it.
"""

import functools
import itertools
import re
import tomllib
from collections.abc import Iterator
from importlib import resources
from typing import Final

import msgspec

from qwed.engines.code import places
from qwed.engines.code.shell import words
from qwed.engines.code.shell.runner import Runner
from qwed.engines.code.shell.words import HOLE

#: What others see, or what lies elsewhere, changes.
PUBLISHES: Final = "publishes"
SENDS: Final = "sends"
OUTSIDE: Final = "writes-outside"
UNKNOWN_SOURCE: Final = "installs-from-elsewhere"
#: A program that keeps credentials shows one.
SHOWS_SECRET: Final = "shows-a-secret"  # noqa: S105 - a name of what happens
#: An interpreter that waits for text: what is typed into it later, nobody asks about.
OPENS_SESSION: Final = "opens-a-session"
#: From an index that everybody uses.
INSTALLS: Final = "installs"
FAR: Final = frozenset({PUBLISHES, SENDS, OUTSIDE, UNKNOWN_SOURCE, SHOWS_SECRET, OPENS_SESSION})

_URL: Final = re.compile(
    r"(?:git\+|bzr\+|hg\+|svn\+)?(?:https?|ssh|git|ftp|file)[:+]|git@|github:|gitlab:|bitbucket:|gist:"
)
_LOOPBACK: Final = re.compile(
    r"(?:https?://)?(?:localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0|host\.docker\.internal)(?::|/|$)|:\d"
)
_REPOSITORY: Final = re.compile(r"[\w.-]+/[\w.-]+(?:/[\w.-]+|#.*)?")
_SENDING: Final = re.compile(
    r"-(?:d|F|T)|-[sSfLkvgi]+[dFT]|--(?:data(?:-\w+)?|form(?:-\w+)?|upload-file|json|post-(?:data|file)|body-(?:data|file))(?:=.*)?"
    r"|-[dFT].+"
)
_METHOD: Final = re.compile(r"(?i)-X(?:POST|PUT|PATCH|DELETE)|--(?:request|method)=(?:POST|PUT|PATCH|DELETE)")
_METHODS: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_REQUEST_VALUES: Final = frozenset(
    """
    -H -o -u -A -e -b -c -w -m -x -X -d -F -T -O --header --output --user --user-agent --cookie
    --max-time --request --data --data-raw --data-binary --json --form --write-out --connect-timeout
    --retry --method
    """.split()  # noqa: SIM905 - a table reads better as one
)
_FETCHERS: Final = frozenset({"curl", "wget", "http", "https", "xh", "httpie", "curlie"})
_REMOTE_FILE: Final = re.compile(r"(?:[\w.-]+@)?[\w.-]+:(?!\\).*")
# Of these, the last operand is written; the others are read.
_COPIERS: Final = frozenset({"cp", "ln", "install", "rsync", "scp"})
# Of these, the first operand is a script unless an option brings one.
_SCRIPTED: Final = frozenset({"sed", "gsed", "sd", "perl", "awk", "gawk", "mawk"})
_SCRIPT_OPTION: Final = re.compile(r"-[nEriszu]*[ef]|--(?:expression|file)")
_FIRST_IS_NO_PATH: Final = frozenset({"chown", "chmod", "chgrp", "csplit"})
# These write below where they stand, whatever they are given to read.
_UNPACKERS: Final = frozenset(
    {"tar", "unzip", "7z", "7za", "gunzip", "bsdtar", "unrar", "pandoc", "ffmpeg", "convert"}
)
_OUTPUT: Final = re.compile(
    r"-(?:o|O|d|C|-output(?:-dir)?|-out(?:file|dir)?|-directory|-target(?:-directory)?|-prefix|t)"
)
_SESSIONS: Final = frozenset(
    [
        *("python", "python2", "python3", "ipython", "bpython", "node", "irb", "ruby", "perl", "lua"),
        *("ghci", "julia", "iex", "erl", "jshell", "scala", "ocaml", "utop", "R", "psql", "mysql", "gdb"),
        *("lldb", "tclsh", "guile", "racket", "sbcl", "deno", "bun"),
    ]
)
# `nc -z` looks whether somebody listens.
_ONLY_KNOCKS: Final = re.compile(r"-[a-zA-Z]*z[a-zA-Z]*")
_DEBUGGERS: Final = frozenset({"gdb", "rust-gdb", "lldb", "rust-lldb", "strace", "ltrace", "py-spy", "gcore"})
_ATTACHES: Final = re.compile(r"-p\d*|--pid(?:=.*)?|--attach-pid(?:=.*)?")
_SESSION_OPTIONS: Final = frozenset({"-i", "-q", "-a", "-u", "-B", "-E", "-s", "--interactive", "repl", "-"})
_INTERPRETERS: Final = frozenset({"php", "python", "python3", "ruby"})
# The environments of programs that keep data, by the variables that name them.
_ENVIRONMENTS: Final = ("RAILS_ENV", "RACK_ENV", "MIX_ENV", "APP_ENV", "NODE_ENV", "DJANGO_ENV")
# The index that everybody uses, named in full.
_COMMON_INDEX: Final = re.compile(
    r"(?:sparse\+)?https://(?:registry\.npmjs\.org|registry\.yarnpkg\.com|pypi\.org|files\.pythonhosted\.org|proxy\.golang\.org"
    r"|rubygems\.org|index\.crates\.io|api\.nuget\.org|repo\.packagist\.org|download\.pytorch\.org)(?:/|$)"
)
_SOURCE_VARIABLE: Final = re.compile(
    r"GOPROXY|GONOSUMCHECK|GONOSUMDB|GOINSECURE|(?:PIP|UV)_(?:DEFAULT_|EXTRA_)?INDEX(?:_URL)?|PIP_FIND_LINKS|UV_FIND_LINKS"
    r"|(?i:NPM_CONFIG_REGISTRY)|YARN_(?:NPM_REGISTRY_SERVER|REGISTRY)|CARGO_REGISTRIES_\w+_INDEX|BUNDLE_MIRROR__\w+"
)
_KNOWN_SOURCES: Final = frozenset({"", "direct", "off"})
_LOOKS: Final = frozenset({"--help", "-h", "help", "--version"})
_DRY: Final = re.compile(
    r"--dry-run(?:=(?!none$|false$).+)?|--syntax-check|--check|--list-(?:tasks|hosts|tags)"
)
# `tar` then puts a file where the archive says, also `/etc/passwd`.
_KEEPS_ROOT: Final = re.compile(
    r"-?[a-zA-Z]*x[a-zA-Z]*P[a-zA-Z]*|-?[a-zA-Z]*P[a-zA-Z]*x[a-zA-Z]*|-P|--absolute-names"
)
_WRITES: Final = frozenset({"file-write", "file-delete"})
_AGENT_SETTINGS: Final = re.compile(
    r"(?:^|/)(?:\.claude/(?:settings[\w.]*\.json|hooks(?:/.*)?)|\.claude\.json"
    r"|\.codex/(?:config\.toml|hooks(?:\.json|/.*))"
    r"|\.gemini/(?:settings\.json|hooks(?:/.*)?)"
    r"|\.cursor/(?:hooks(?:\.json|/.*)|cli\.json)"
    r"|\.copilot/(?:config\.json|hooks(?:/.*)?)|\.github/hooks(?:/.*)?"
    r"|\.config/qwed(?:/.*)?|\.qwed(?:/.*)?"
    r"|(?:etc|Library/Application Support)/(?:claude-code|ClaudeCode)(?:/.*)?)$"
    r"|(?:^|/)\.(?:claude|codex|gemini|cursor|copilot)$",
    re.I,
)


class Verbs(msgspec.Struct, frozen=True):
    """`far` and `installs` are sub-commands (`push`, `pr create`); `values` are options that take a word."""

    publishes: frozenset[str] = frozenset()
    sends: frozenset[str] = frozenset()
    installs: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    elsewhere: frozenset[str] = frozenset()
    #: Sub-commands and options that print a credential.
    tells: frozenset[str] = frozenset()
    #: Options whose value is the folder to work in, and the sub-commands that only look there.
    folders: frozenset[str] = frozenset()
    looks: frozenset[str] = frozenset()
    #: A word that is one of these, or begins with one and a dash, makes the whole command a look.
    reads: frozenset[str] = frozenset()
    #: Only with one of these options does anything leave.
    carries: frozenset[str] = frozenset()
    #: What was kept is gone.
    destroys: frozenset[str] = frozenset()
    #: The hosts from which everybody installs.
    hosts: frozenset[str] = frozenset()


def holds_agent_settings(path: str) -> bool:
    """The settings in which a coding agent names its hooks: who writes them can switch the gateway off."""
    return _AGENT_SETTINGS.search(places.normal_path(path)) is not None


@functools.cache
def _table() -> dict[str, Verbs]:
    text = resources.files(__package__).joinpath("reach.toml").read_text(encoding="utf-8")
    found: dict[str, Verbs] = {}
    for entry in tomllib.loads(text)["program"]:
        said = {
            key: frozenset(map(str.strip, value.split(","))) for key, value in entry.items() if key != "names"
        }
        for name in entry["names"].split():
            found[name] = _join(found.get(name, Verbs()), said)
    return found


def _join(known: Verbs, said: dict[str, frozenset[str]]) -> Verbs:
    """A program that stands in several entries has what all of them say."""
    return msgspec.structs.replace(known, **{key: getattr(known, key) | said[key] for key in said})


def shorten_path(run: Runner, path: str) -> str:
    return path if run.project is None else run.project.shorten(path)


def judge_reach(run: Runner, name: str, args: list[str], line: int, *, is_fed: bool = False) -> None:
    """By what the command is told to do."""
    if run.project is None:
        return
    plain = [words.plain(arg) for arg in args]
    if name in _SESSIONS and not is_fed and set(plain) <= _SESSION_OPTIONS:
        run.reach(OPENS_SESSION, line)
    if name in _DEBUGGERS and any(map(_ATTACHES.fullmatch, plain)):
        run.doubt("injects-into-programs", line)
    if name in _INTERPRETERS and plain and not plain[0].startswith("-"):
        # `php artisan flush` is `artisan flush`.
        name, plain = plain[0].rpartition("/")[2], plain[1:]
    verbs = _table().get(name)
    if verbs is not None:
        _judge_verb(run, verbs, plain, line)
    elif name in _FETCHERS:
        _judge_request(run, name, plain, line)
    if (
        name in ("scp", "rsync")
        and plain
        and _REMOTE_FILE.fullmatch(_operands(plain)[-1:][0] if _operands(plain) else "")
    ):
        run.reach(SENDS, line)


def _judge_verb(run: Runner, verbs: Verbs, args: list[str], line: int) -> None:
    operands = _operands(args, verbs.values | verbs.folders)
    _judge_folder(run, verbs, args, operands, line)
    kinds = [operand.partition("/")[0] for operand in operands[:3]]
    # `get pods,secrets` gets both.
    told = set().union(
        *(_find_said([*kinds[:1], each, *kinds[2:]], args) for each in ",".join(kinds[1:2]).split(","))
    )
    if verbs.tells & (told if kinds[1:] else _find_said(kinds, args)):
        run.reach(SHOWS_SECRET, line)
    said = _find_said(operands, args)
    looks = any(operand.partition("-")[0] in verbs.reads for operand in operands[:3])
    looks |= _only_looks(args)
    if verbs.publishes & said and not looks:
        run.reach(PUBLISHES, line)
    if verbs.destroys & said and not looks and not _is_for_tests(run, args):
        run.doubt("destructive-command", line)
    carries = not verbs.carries or any(arg.partition("=")[0] in verbs.carries for arg in args)
    if (
        verbs.sends & said
        and carries
        and not looks
        and not _only_queries(operands, args)
        and not any(map(_ONLY_KNOCKS.fullmatch, args))
    ):
        run.reach(SENDS, line)
    if verbs.installs & said:
        is_elsewhere = any(
            option in verbs.elsewhere and not _COMMON_INDEX.match(value)
            for option, value in _options([*args, ""])
        ) or any(
            _URL.match(operand)
            or _URL.match(operand.partition("@")[2])
            or operand.startswith(("/", "~"))
            or (_REPOSITORY.fullmatch(operand) and "github" in verbs.elsewhere)
            or _is_from_other_host(verbs, operand, operands)
            for operand in (operands[:1] if "*" in verbs.installs else operands[1:])
            if not _COMMON_INDEX.match(operand)
        )
        run.reach(UNKNOWN_SOURCE if is_elsewhere else INSTALLS, line)


def _find_said(operands: list[str], args: list[str]) -> set[str]:
    """The sub-commands, the options, and both together: `output`, `-json`, `output -json`."""
    verbs = [" ".join(operands[:count]) for count in (1, 2, 3) if len(operands) >= count]
    options = {arg.partition("=")[0] for arg in args if arg.startswith("-")}
    options |= {option[1:] for option in options if option.startswith("--")}
    both = [f"{verb} {option}" for verb in verbs for option in options]
    return {
        "*",
        *verbs,
        *options,
        *both,
        *(f"{each} ." for each in both if each.startswith(" ".join(operands))),
    }


def _is_for_tests(run: Runner, args: list[str]) -> bool:
    """`RAILS_ENV=test` in front or behind: what is lost there, the next run makes anew."""
    named = {arg.partition("=")[2] for arg in args if arg.startswith((*_ENVIRONMENTS, "--env"))}
    named |= {run.variables.get(name, "") for name in _ENVIRONMENTS}
    return "test" in named and named <= {"", "test", "testing"}


def _is_from_other_host(verbs: Verbs, operand: str, operands: list[str]) -> bool:
    """`host.example/path`: a module is named by where it lies. What has no version may be a file."""
    host, slash, _ = operand.partition("/")
    if (
        not verbs.hosts
        or not slash
        or "." not in host.strip(".")
        or ("@" not in operand and operands[0] == "run")
    ):
        return False
    return not any(host == known or host.endswith(f".{known}") for known in verbs.hosts)


def judge_source(run: Runner, name: str, value: str, line: int) -> None:
    """Variables that say from where packages come."""
    if run.project is None or _SOURCE_VARIABLE.fullmatch(name) is None:
        return
    sources = {source.strip() for source in re.split(r"[,|\s]", value)}
    if any(
        source not in _KNOWN_SOURCES and not _COMMON_INDEX.match(source) and not _LOOPBACK.match(source)
        for source in sources
    ):
        run.reach(UNKNOWN_SOURCE, line)


def _only_looks(args: list[str]) -> bool:
    """`--version` in the middle names a version; at an end it asks for one."""
    return bool(_LOOKS & {*args[:1], *args[-1:]}) or any(map(_DRY.fullmatch, args))


# What GraphQL calls a query changes nothing.
_QUERY: Final = re.compile(r"query=\s*(?:query\b|\{)(?![\s\S]*\bmutation\b)")


def _only_queries(operands: list[str], args: list[str]) -> bool:
    return operands[:2] == ["api", "graphql"] and any(map(_QUERY.match, args))


def _judge_folder(run: Runner, verbs: Verbs, args: list[str], operands: list[str], line: int) -> None:
    """To work in a folder outside is to write there, unless the sub-command only looks."""
    if not verbs.folders or (operands[:1] and operands[0] in verbs.looks):
        return
    for option, value in _options(args):
        if option in verbs.folders and places.leaves_working_tree(value.replace(HOLE, "x")):
            run.reach(OUTSIDE, line)


def _options(args: list[str]) -> Iterator[tuple[str, str]]:
    yield from itertools.pairwise(args)
    yield from ((option, value) for option, sign, value in (arg.partition("=") for arg in args) if sign)


def _judge_request(run: Runner, name: str, args: list[str], line: int) -> None:
    """A request that carries something, or changes something there; to this machine it may."""
    targets = [
        arg for arg in _operands(args, _REQUEST_VALUES) if "." in arg or ":" in arg or arg == "localhost"
    ]
    if (targets and all(map(_LOOPBACK.match, targets))) or {"-G", "--get"} & set(args):
        return
    methods = {
        after.upper()
        for option, after in itertools.pairwise(args)
        if option in ("-X", "--request", "--method")
    }
    if name in ("http", "https", "xh", "httpie", "curlie"):
        methods |= {arg.upper() for arg in args if arg.upper() in _METHODS}
    if methods & _METHODS or any(map(_METHOD.fullmatch, args)) or any(map(_SENDING.fullmatch, args)):
        run.reach(SENDS, line)


def _operands(args: list[str], values: frozenset[str] = frozenset()) -> list[str]:
    kept, is_value = list[str](), False
    for arg in args:
        if is_value:
            is_value = False
        elif arg.startswith(("-", "+")):
            is_value = arg in values
        else:
            kept.append(arg)
    return kept


def judge_places(run: Runner, name: str, args: list[str], line: int) -> None:
    """By where the files lie that it makes, changes or removes, if its effects say that it does."""
    plain = [words.plain(arg) for arg in args]
    if run.project is None or not run.report.effects & _WRITES:
        return
    if name in ("tar", "bsdtar") and any(map(_KEEPS_ROOT.fullmatch, plain[:3])):
        run.reach(OUTSIDE, line)
    for path in _find_written(name, plain):
        judge_place(run, path, line)


def _find_written(name: str, args: list[str]) -> list[str]:
    after = [value for option, value in itertools.pairwise(args) if _OUTPUT.fullmatch(option)] + [
        arg.partition("=")[2] for arg in args if arg.startswith("--") and "=" in arg
    ]
    operands = _operands(args)
    if name in _SCRIPTED and not any(map(_SCRIPT_OPTION.match, args)):
        operands = operands[1:]
    if name in _COPIERS:
        return [*after, *operands[-1:]]
    if name in _UNPACKERS:
        return after
    if name in _FIRST_IS_NO_PATH:
        return [*after, *operands[1:]]
    return [*after, *operands]


def judge_place(run: Runner, path: str, line: int) -> None:
    if run.project is None or not path or path.startswith(("/dev/", "-")):
        return
    where = (
        f"{run.directory.rstrip('/')}/{path}"
        if run.directory and not path.startswith(("/", "~", HOLE))
        else path
    )
    if holds_agent_settings(where.replace(HOLE, "x")):
        run.harm("disables-protection", line)
    if where.startswith(HOLE) or places.leaves_working_tree(where.replace(HOLE, "x")):
        run.reach(OUTSIDE, line)
