"""File paths as every system reads them: the path must stay inside its root under each reading.

Pure string work: the file system is asked only through a `resolve` function that the caller passes in.
"""

import re
from collections.abc import Callable
from typing import Final
from urllib.parse import unquote

from qwed.domain.risk import Risk
from qwed.domain.skeleton import without_invisible
from qwed.engines.sensitive_places import find_credentials, holds_run, is_own_secret
from qwed.engines.tools.problems import ArgumentProblem, forbidden, malformed, undecided
from qwed.engines.tools.rules import FileRules
from qwed.engines.words import words

MAX_PATH: Final = 4_096
DEFAULT_RULES: Final = FileRules()

# The real path behind links; may raise OSError.
Resolve = Callable[[str], str]

_LOOK_ALIKES: Final = str.maketrans(
    {
        "\uff0e": ".",
        "\u2024": ".",
        "\ufe52": ".",
        "\u3002": ".",
        "\uff61": ".",
        "\u2025": "..",
        "\ufe30": "..",
        "\u2026": "...",
        "\uff0f": "/",
        "\u2044": "/",
        "\u2215": "/",
        "\u29f8": "/",
        "\u2571": "/",
        "\uff3c": "\\",
        "\ufe68": "\\",
        "\u2216": "\\",
        "\u29f5": "\\",
        "\u29f9": "\\",
        "\uff5e": "~",
        "\uff1a": ":",
        "\ua789": ":",
        "\uff05": "%",
    }
)
# Encodings that no conforming decoder accepts and some accept all the same: overlong UTF-8, %u escapes.
_LENIENT_ESCAPES: Final = re.compile(
    r"%(?:c0%(?:ae|2e)|e0%80%ae|f0%80%80%ae|u002e|uff0e|c0%(?P<slash>af|2f)|e0%80%(?P<slash2>af)"
    r"|u(?P<slash3>002f|2215|ff0f)|c1%(?P<back>9c)|c0%(?P<back2>5c)|u(?P<back3>005c|2216|ff3c))",
    re.I,
)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.\-]+:(?://|(?=http|file|jar))")
_DRIVE: Final = re.compile(r"[a-zA-Z]:(?=[/\\]|\Z|[^:])")
_EXPANSION: Final = re.compile(r"\$\{|\$\(|\$[A-Z_]{2,}|`|%[A-Za-z_]{3,}(?:\(x86\))?%|\A\s*~")
_STREAM: Final = re.compile(r"::?\$[A-Za-z_]|\.[A-Za-z0-9]{1,5}:[A-Za-z_.]")
_DEVICES: Final = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])\Z")
_WILDCARD: Final = re.compile(r"[*?]|\[[^\]]+\]")

# Names that hold the settings of programs, or run code at log-in, wherever they stand.
_START_UP_NAMES: Final = words(
    """
    .env .envrc .bashrc .bash_profile .bash_login .profile .zshrc .zprofile .zshenv sitecustomize.py
    usercustomize.py
    """
)
# Runs of names, anywhere in the path.
_START_UP_RUNS: Final = ((".git", "hooks"), ("system32", "drivers", "etc"))
# Places of the system: the beginning of an absolute path, or of one relative to the root of the disk.
_SENSITIVE_STARTS: Final = (
    ("proc",),
    ("sys",),
    ("dev",),
    ("root",),
    ("boot",),
    ("etc", "shadow"),
    ("etc", "shadow-"),
    ("etc", "gshadow"),
    ("etc", "passwd"),
    ("etc", "master.passwd"),
    ("etc", "sudoers"),
    ("etc", "sudoers.d"),
    ("etc", "crontab"),
    ("etc", "cron.d"),
    ("etc", "pam.d"),
    ("etc", "ssh"),
    ("etc", "ssl", "private"),
    ("etc", "kubernetes"),
    ("etc", "ld.so.preload"),
    ("etc", "security"),
    ("private", "etc"),
    ("var", "spool", "cron"),
    ("var", "lib", "kubelet"),
    ("var", "log", "auth.log"),
    ("var", "log", "secure"),
)
_STARTS_BY_NAME: Final = {
    name: tuple(start for start in _SENSITIVE_STARTS if start[0] == name)
    for name in {start[0] for start in _SENSITIVE_STARTS}
}
# A folder of a project may well be called so; only on the disk's root is it the system's.
_ABSOLUTE_ONLY: Final = frozenset({"sys", "dev", "root", "boot", "private"})
_HARMLESS_ENV: Final = (
    ".env.example",
    ".env.sample",
    ".env.template",
    ".env.dist",
    ".env.defaults",
    ".env.schema",
)


def inspect_path(
    text: str, *, rules: FileRules = DEFAULT_RULES, resolve: Resolve | None = None, deletes: bool = False
) -> list[ArgumentProblem]:
    """What is wrong with a file path; nothing when the list is empty. `deletes`: it is to go."""
    if not text.strip():
        return [malformed("path", "the path is empty", text)]
    if len(text) > MAX_PATH:
        return [malformed("path", f"the path is longer than {MAX_PATH} characters", text)]
    problems: list[ArgumentProblem] = []
    readings = readings_of(text)
    for reading in readings:
        problems = problems or _problems_of(reading, reading is not readings[0], rules)
    if deletes and not problems:
        problems += _deletion_problems(readings[0])
    if resolve is not None and not problems:
        problems += _link_problems(text, rules, resolve)
    return problems


def risk_of_path(text: str) -> Risk:
    """Of reading what is named: a private key, a key store or a state file is not like any other file."""
    is_secret = any(is_own_secret(_last_name(reading)) for reading in readings_of(text[:MAX_PATH]))
    return Risk.HIGH if is_secret else Risk.LOW


def _last_name(path: str) -> str:
    return path.replace("\\", "/").rstrip("/ ").rpartition("/")[2].strip(" ").rstrip(". ").lower()


def readings_of(text: str) -> list[str]:
    """The path as written, then as a decoder or a font would have it."""
    readings = [text]
    if text.isascii() and "%" not in text:
        return readings
    folded = text if text.isascii() else without_invisible(text).translate(_LOOK_ALIKES)
    for _ in range(3):
        if folded != readings[-1]:
            readings.append(folded)
        if "%" not in folded:
            break
        folded = unquote(_LENIENT_ESCAPES.sub(_lenient_character, folded))
        folded = folded if folded.isascii() else without_invisible(folded).translate(_LOOK_ALIKES)
    if folded != readings[-1]:
        readings.append(folded)
    return readings


def _lenient_character(match: re.Match[str]) -> str:
    kind = match.lastgroup or "dot"
    return {"d": ".", "s": "/", "b": "\\"}[kind[0]]


def _problems_of(path: str, is_disguised: bool, rules: FileRules) -> list[ArgumentProblem]:
    if _CONTROL.search(path):
        return [forbidden("control-character", "the path holds a control character", path)]
    if path[:5].lower() == "file:":
        path = re.sub(r"\Afile:(?://(?:localhost)?(?=/))?", "", path, flags=re.I)
    elif _SCHEME.match(path):
        return [forbidden("scheme", "the path is a URL", path)]
    if _EXPANSION.search(path):
        return [forbidden("expansion", "the path depends on a shell, a home folder or a variable", path)]
    if _STREAM.search(path):
        return [forbidden("stream", "the path names an alternate data stream", path)]
    unified = path.replace("\\", "/")
    parts = [part for part in unified.split("/") if part not in ("", ".")]
    names = [part.strip(" ").rstrip(". ").lower() for part in parts]
    return (
        _traversal(path, parts, is_disguised)
        or _sensitive(path, unified, names, rules)
        or _outside(path, unified, rules)
    )


def _traversal(path: str, parts: list[str], is_disguised: bool) -> list[ArgumentProblem]:
    depth = 0
    for part in parts:
        if part == "..":
            depth -= 1
            if depth < 0 or is_disguised:
                return [forbidden("traversal", "the path climbs out of its root", path)]
        elif _may_be_parent(part):
            return [forbidden("traversal", "some systems read this name as the parent folder", path)]
        else:
            depth += 1
    return []


def _may_be_parent(name: str) -> bool:
    """Some systems drop blanks and further dots at the end of a name, or what follows a semicolon."""
    return name.startswith("..;") or (name != "..." and not name.strip(" .") and name.count(".") > 1)


def _sensitive(path: str, unified: str, names: list[str], rules: FileRules) -> list[ArgumentProblem]:
    real = _without_climbs(names)
    if real and (_DRIVE.match(real[0]) or real[0] in ("?", ".")):
        real = real[1:]
    is_absolute = unified.startswith("/") or _DRIVE.match(unified) is not None
    for name in real:
        if name in _START_UP_NAMES or (name.startswith(".env.") and name not in _HARMLESS_ENV):
            return [_sensitive_problem(path, name)]
        stem = name.partition(".")[0]
        if _DEVICES.match(name) or ("\\" in path and _DEVICES.match(stem)):
            return [forbidden("device", f"{name!r} is a device on some systems", path)]
    for start in _STARTS_BY_NAME.get(real[0], ()) if real else ():
        if tuple(real[: len(start)]) == start and (is_absolute or start[0] not in _ABSOLUTE_ONLY):
            return [_sensitive_problem(path, "/".join(start), Risk.CRITICAL)]
    if (place := find_credentials(real)) is not None:
        return [_sensitive_problem(path, place)]
    runs: tuple[tuple[str, ...], ...] = _START_UP_RUNS
    if rules.sensitive:
        runs += tuple(tuple(entry.lower().strip("/").split("/")) for entry in rules.sensitive)
    for run in runs:
        if run[0] in real and holds_run(real, run):
            return [_sensitive_problem(path, "/".join(run))]
    return []


def _sensitive_problem(path: str, name: str, risk: Risk = Risk.HIGH) -> ArgumentProblem:
    return forbidden("sensitive-place", f"{name!r} holds credentials, keys or start-up code", path, risk)


def _without_climbs(names: list[str]) -> list[str]:
    real: list[str] = []
    for name in names:
        if name in ("", ".."):
            del real[-1:]
        else:
            real.append(name)
    return real


def _outside(path: str, unified: str, rules: FileRules) -> list[ArgumentProblem]:
    is_windows = _DRIVE.match(unified) is not None or unified.startswith("//")
    if not is_windows and not unified.startswith("/"):
        return [] if rules.relative else [forbidden("relative", "relative paths are not allowed", path)]
    if any(_is_below(unified, root.replace("\\", "/"), is_windows) for root in rules.roots):
        return []
    if unified.startswith("//"):
        return [forbidden("unc", "the path names another machine or a device", path)]
    return [forbidden("absolute", "the path is absolute and in none of the allowed roots", path)]


def _is_below(path: str, root: str, ignore_case: bool) -> bool:
    have, want = (
        _without_climbs([part for part in text.split("/") if part not in ("", ".")]) for text in (path, root)
    )
    if ignore_case:
        have, want = [name.lower() for name in have], [name.lower() for name in want]
    same_kind = path.startswith("//") == root.startswith("//") and path.startswith("/") == root.startswith(
        "/"
    )
    return same_kind and have[: len(want)] == want


def _deletion_problems(path: str) -> list[ArgumentProblem]:
    if _WILDCARD.search(path):
        return [forbidden("wildcard", "a pattern does not say what would be deleted", path, Risk.CRITICAL)]
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")]
    if not _without_climbs(parts):
        return [forbidden("root", "the working root itself would be deleted", path, Risk.CRITICAL)]
    return []


def _link_problems(path: str, rules: FileRules, resolve: Resolve) -> list[ArgumentProblem]:
    """Where links lead: the real path must lie below the real roots."""
    try:
        real = resolve(path)
        roots = [resolve(root) for root in rules.roots] + ([resolve(".")] if rules.relative else [])
    except (OSError, ValueError, RuntimeError) as error:
        return [undecided("symlink", f"the real path could not be found: {error}", path)]
    unified = real.replace("\\", "/")
    names = [part.lower() for part in unified.split("/") if part]
    if not any(_is_below(unified, root.replace("\\", "/"), False) for root in roots):
        return [forbidden("symlink", f"the path leads out of its root, to {real}", path)]
    return _sensitive(real, unified, names, rules)
