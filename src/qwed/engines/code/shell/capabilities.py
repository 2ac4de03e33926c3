"""The table of what programs can be told to do (`capabilities.toml`), and which of it a command line says."""

import fnmatch
import functools
import re
import tomllib
from collections.abc import Iterator
from importlib import resources
from typing import Any, Final

import msgspec

#: What the value of an option can be; `capabilities.toml` says what each means.
KINDS: Final = (
    *("shell", "script", "bang", "starts", "runner", "code", "python", "javascript"),
    *("loads", "reads", "writes", "sends", "asks", "escalates"),
)
FIELDS: Final = frozenset({"names", "says", "runs", "style", "settings", "values", "options", *KINDS})
# These need no value to do what they do.
_BY_THEMSELVES: Final = frozenset({"asks", "escalates"})
_KEY_END: Final = re.compile(r"[= ]")


class Option(msgspec.Struct, frozen=True):
    """One entry of the table: `after` is a sub-command, `key` a pattern, `skip` operands before a command."""

    kind: str
    name: str
    after: str = ""
    key: str = ""
    skip: int = 0


class Said(msgspec.Struct, frozen=True):
    """An option that a command line gives: its value, and the words behind it."""

    option: Option
    value: str
    rest: tuple[str, ...]


class Program(msgspec.Struct, frozen=True):
    """Everything that is listed of one program."""

    options: dict[str, list[Option]]
    prefixes: list[Option]
    says: list[re.Pattern[str]]
    runs: list[re.Pattern[str]]
    takes_value: frozenset[str]
    #: Every option there is; None where the table does not list them all.
    known: frozenset[str] | None
    settings: str
    has_bundles: bool
    #: Command lines in its operands are scripts of the project, which may name any program of its own.
    keeps_scripts: bool


def read_option(kind: str, text: str) -> Option:
    after, between, name = text.rpartition(">")
    name, _, key = name.partition("@") if "@" in name[1:] else (name, "", "")
    skip = re.fullmatch(r"(.+)\+(\d)", name)
    if skip:
        return Option(kind, skip[1], after, key, int(skip[2]))
    return Option(kind, name, after if between else "", key)


def _read_program(entries: list[dict[str, Any]]) -> Program:
    listed = [
        read_option(kind, text) for entry in entries for kind in KINDS for text in entry.get(kind, "").split()
    ]
    options: dict[str, list[Option]] = {}
    prefixes = [option for option in listed if option.name.endswith(("=", ":")) and not option.key]
    for option in listed:
        options.setdefault(option.name, []).append(option)
    values = {word for entry in entries for word in entry.get("values", "").split()}
    known = {word for entry in entries for word in entry.get("options", "").split()}
    return Program(
        options,
        prefixes,
        _patterns(entries, "says"),
        _patterns(entries, "runs"),
        frozenset(values),
        frozenset(known | values | {option.name for option in listed}) if known else None,
        next((entry["settings"] for entry in entries if "settings" in entry), ""),
        not any(entry.get("style") == "words" for entry in entries),
        any(option.kind == "script" for option in listed),
    )


def _patterns(entries: list[dict[str, Any]], field: str) -> list[re.Pattern[str]]:
    return [re.compile(pattern, re.MULTILINE) for entry in entries for pattern in entry.get(field, ())]


def read_table() -> dict[str, Any]:
    text = resources.files(__package__).joinpath("capabilities.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@functools.cache
def _tables() -> tuple[dict[str, list[dict[str, Any]]], dict[str, str]]:
    """The entries by program, and what environment variables are, read on first use."""
    table = read_table()
    programs: dict[str, list[dict[str, Any]]] = {}
    for entry in table["program"]:
        for name in entry["names"].split():
            programs.setdefault(name, []).append(entry)
    variables = {name: kind for kind, names in table["variables"].items() for name in names.split()}
    return programs, variables


@functools.cache
def find_program(name: str) -> Program | None:
    entries = _tables()[0].get(name)
    return None if entries is None else _read_program(entries)


def is_listed(name: str) -> bool:
    return name in _tables()[0]


def variable_kind(name: str) -> str | None:
    """`shell` for a variable whose value others run, `injects` for one that puts code into them."""
    return _tables()[1].get(name)


def find_said(program: Program, given: list[str]) -> Iterator[Said]:
    """What a command line says of the table's entries."""
    operands = 0
    is_value = False
    for index, arg in enumerate(given):
        if is_value and not arg.startswith("-"):
            is_value = False
            continue
        rest = given[index + 1 :]
        for option, value in _match(program, arg, rest, is_first=operands == 0):
            if not option.after or option.after in given[:index]:
                yield from _with_key(option, value, rest)
        is_value = arg in program.takes_value
        if not arg.startswith("-"):
            operands += 1
            if operands == 1:
                yield from (
                    Said(option, arg, tuple(given[index:])) for option in program.options.get("*", ())
                )
            if arg == program.settings:
                yield from _settings(program, rest)


def find_operands(program: Program, given: list[str]) -> list[str]:
    """What is neither an option nor the value of one that is known to take one."""
    return [
        arg
        for index, arg in enumerate(given)
        if not arg.startswith("-") and not (index and given[index - 1] in program.takes_value)
    ]


def _match(program: Program, arg: str, rest: list[str], *, is_first: bool) -> Iterator[tuple[Option, str]]:
    following = rest[0] if rest else ""
    for option in program.prefixes:
        if arg.startswith(option.name):
            yield option, arg[len(option.name) :]
    if not arg.startswith("-"):
        yield from _match_word(program, arg, following, is_first=is_first)
        return
    name, given, attached = arg.partition("=")
    exact = program.options.get(arg)
    if exact is not None:
        yield from ((option, following) for option in exact)
    elif given and name in program.options:
        yield from ((option, attached) for option in program.options[name])
    elif arg.startswith("--"):
        if program.known is not None:
            yield from _match_abbreviation(program, name, attached if given else following)
    elif program.has_bundles:
        yield from _match_bundle(program, arg, following)
    else:
        yield from _match_attached(program, arg)


def _match_word(
    program: Program, arg: str, following: str, *, is_first: bool
) -> Iterator[tuple[Option, str]]:
    for option in program.options.get(arg, ()):
        if is_first or option.after or option.kind in _BY_THEMSELVES:
            yield option, following
    name, given, value = arg.partition("=")
    if given:
        yield from ((option, value) for option in program.options.get(f"={name}", ()))


def _match_abbreviation(program: Program, name: str, value: str) -> Iterator[tuple[Option, str]]:
    """GNU programs take the beginning of a long option for the whole, unless it is one itself."""
    if name in (program.known or ()):
        return
    for long, options in program.options.items():
        if long.startswith(name) and long.partition("=")[0] != name:
            yield from ((option, value) for option in options)


def _match_bundle(program: Program, arg: str, following: str) -> Iterator[tuple[Option, str]]:
    """`-ave ssh` is `-a -v -e ssh`."""
    for position, letter in enumerate(arg[1:], 2):
        if not letter.isalnum():
            return
        option = f"-{letter}"
        if option in program.options:
            yield from ((each, arg[position:] or following) for each in program.options[option])
            return
        if option in program.takes_value:
            return


def _match_attached(program: Program, arg: str) -> Iterator[tuple[Option, str]]:
    """`-B/tmp/bin`, `-DKEY=value`."""
    for option in program.options.get(arg[:2], ()):
        if option.key or "/" in arg:
            yield option, arg[2:]


def _with_key(option: Option, value: str, rest: list[str]) -> Iterator[Said]:
    if option.key:
        key, *values = _KEY_END.split(value.strip(), maxsplit=1)
        if not fnmatch.fnmatchcase(key.strip().lower(), option.key):
            return
        value = values[0].strip(" \"'") if values else ""
    yield Said(option, value, tuple(rest))


def _settings(program: Program, rest: list[str]) -> Iterator[Said]:
    """`git config key value`: as `git -c key=value`."""
    operands = find_operands(program, rest)
    if len(operands) > 1:
        for option in program.options.get("-c", ()):
            yield from _with_key(option, f"{operands[0]}={operands[1]}", rest)


def find_unknown(program: Program, given: list[str]) -> str | None:
    """An option that is on no list, of a program whose options are all listed."""
    if program.known is None:
        return None
    is_value = False
    for arg in given:
        if arg == "--":
            return None
        is_option = arg.startswith("-") and len(arg) > 1 and not is_value
        if is_option and not _is_listed(program, program.known, arg):
            return arg
        is_value = arg in program.takes_value or _ends_with_value(program, arg)
    return None


def _ends_with_value(program: Program, arg: str) -> bool:
    return re.fullmatch(r"-[A-Za-z]+", arg) is not None and f"-{arg[-1]}" in program.takes_value


def _is_listed(program: Program, known: frozenset[str], arg: str) -> bool:
    if arg.startswith("--"):
        name = arg.partition("=")[0]
        return name in known or any(each.startswith(name) for each in known)
    for letter in arg[1:]:
        option = f"-{letter}"
        if option in program.takes_value or option in program.options or not letter.isalpha():
            return True
        if option not in known:
            return False
    return True
