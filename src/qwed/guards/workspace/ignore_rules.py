"""Which paths git would ignore: the rules of `.gitignore` files, without git and without its configuration.

The work per path is bounded whatever a pattern says: within a name a star takes the first place
that fits, and `**` is matched by whole names, so that nothing is tried twice.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

_ANY_DEPTH: Final = None
_NOTHING: Final = re.compile(b"(?!)")

_CLASSES: Final = {
    b"alnum": rb"0-9A-Za-z",
    b"alpha": rb"A-Za-z",
    b"blank": rb" \t",
    b"cntrl": rb"\x00-\x1f\x7f",
    b"digit": rb"0-9",
    b"graph": rb"!-~",
    b"lower": rb"a-z",
    b"print": rb" -~",
    b"punct": rb"!-/:-@\[-`{-~",
    b"space": rb" \t-\r",
    b"upper": rb"A-Z",
    b"xdigit": rb"0-9A-Fa-f",
}


class _Pattern(NamedTuple):
    """`names` are the names from the rules' directory down; None stands for any number of names."""

    is_negative: bool
    directories_only: bool
    is_anywhere: bool
    names: tuple[re.Pattern[bytes] | None, ...]


class IgnoreRules:
    """One file of patterns, which apply below `directory`."""

    def __init__(self, directory: bytes, text: bytes) -> None:
        self._prefix_length = len(directory) + 1 if directory else 0
        patterns = [pattern for line in _lines(text) if (pattern := _parse(line)) is not None]
        self._latest_first = patterns[::-1]
        self._last_name = _any_of([pattern.names[-1] for pattern in patterns])

    def verdict(self, path: bytes, name: bytes, is_directory: bool) -> bool | None:
        """True ignores, False takes back what an outer file ignores, None says nothing."""
        if self._last_name is not None and not self._last_name.match(name):
            return None
        steps: Sequence[bytes] | None = None
        for pattern in self._latest_first:
            if pattern.directories_only and not is_directory:
                continue
            if pattern.is_anywhere:
                wanted = pattern.names[-1]
                is_match = wanted is None or wanted.match(name) is not None
            else:
                steps = steps or path[self._prefix_length :].split(b"/")
                is_match = _matches(pattern.names, steps)
            if is_match:
                return not pattern.is_negative
        return None


def is_ignored(rules: Sequence[IgnoreRules], path: bytes, name: bytes, is_directory: bool) -> bool:
    """`rules` from the outermost directory to the innermost; the innermost that speaks decides."""
    for level in reversed(rules):
        verdict = level.verdict(path, name, is_directory)
        if verdict is not None:
            return verdict
    return False


def _lines(text: bytes) -> list[bytes]:
    return [line.removesuffix(b"\r") for line in text.removeprefix(b"\xef\xbb\xbf").split(b"\n")]


def _parse(line: bytes) -> _Pattern | None:
    if line.startswith(b"#"):
        return None
    line = _without_trailing_spaces(line)
    is_negative = line.startswith(b"!")
    line = line[1:] if is_negative else line
    directories_only = line.endswith(b"/")
    line = line.removesuffix(b"/")
    is_anywhere = b"/" not in line
    try:
        parts = _parts(line.removeprefix(b"/"))
        if parts == [b""]:
            return None
        names = tuple(_name_pattern(part, is_whole=not is_anywhere) for part in parts)
    except _NeverMatches:
        return None
    return _Pattern(is_negative, directories_only, is_anywhere, names)


def _without_trailing_spaces(line: bytes) -> bytes:
    stripped = line.rstrip(b" ")
    escapes = len(stripped) - len(stripped.rstrip(b"\\"))
    # An odd backslash before the spaces keeps the first of them.
    return stripped + b" " if escapes % 2 and len(stripped) < len(line) else stripped


def _parts(pattern: bytes) -> list[bytes]:
    """Split at each slash that is not in brackets; an escaped one is a slash too."""
    parts = [b""]
    position = 0
    while position < len(pattern):
        start = position
        position += 1
        if pattern[start : start + 1] == b"[":
            _, position = _bracket(pattern, position)
        elif pattern[start : start + 1] == b"\\":
            position += 1
        token = pattern[start:position]
        if token in (b"/", b"\\/"):
            parts.append(b"")
        else:
            parts[-1] += token
    return parts


class _NeverMatches(Exception):
    """An unclosed bracket or a final backslash: git matches nothing with it."""


def _name_pattern(part: bytes, *, is_whole: bool) -> re.Pattern[bytes] | None:
    # Two stars or more: git's own reading of what it documents for two.
    if is_whole and len(part) > 1 and not part.strip(b"*"):
        return _ANY_DEPTH
    return re.compile(_translate(part), re.DOTALL)


def _translate(glob: bytes) -> bytes:
    pieces: list[bytes] = [b""]
    position = 0
    while position < len(glob):
        sign = glob[position : position + 1]
        position += 1
        if sign == b"*":
            pieces.append(b"")
        elif sign == b"?":
            pieces[-1] += b"."
        elif sign == b"[":
            one, position = _bracket(glob, position)
            pieces[-1] += one
        else:
            if sign == b"\\":
                sign = glob[position : position + 1]
                position += 1
                if not sign:
                    raise _NeverMatches
            pieces[-1] += re.escape(sign)
    first, *rest = pieces
    if not rest:
        return first + rb"\Z"
    *middle, last = rest
    # Atomic: a piece that was found once is not looked for again further on.
    return first + b"".join(b"(?>.*?" + piece + b")" for piece in middle if piece) + b".*" + last + rb"\Z"


def _bracket(glob: bytes, position: int) -> tuple[bytes, int]:
    """A set of characters, from behind its opening bracket."""
    is_inverted = glob[position : position + 1] in (b"!", b"^")
    position += is_inverted
    members = b""
    is_first = True
    while is_first or glob[position : position + 1] != b"]":
        is_first = False
        member, position = _set_member(glob, position)
        members += member
    if is_inverted:
        return b"[^" + members + b"/]", position + 1
    return (b"[" + members + b"]" if members else b"(?!)"), position + 1


def _set_member(glob: bytes, position: int) -> tuple[bytes, int]:
    if glob.startswith(b"[:", position):
        end = glob.find(b":]", position)
        name = glob[position + 2 : end]
        if end < 0 or name not in _CLASSES:
            raise _NeverMatches
        return _CLASSES[name], end + 2
    low, position = _set_sign(glob, position)
    if glob[position : position + 1] != b"-" or glob[position + 1 : position + 2] in (b"", b"]"):
        return re.escape(low), position
    high, position = _set_sign(glob, position + 1)
    return (re.escape(low) + b"-" + re.escape(high) if low <= high else b""), position


def _set_sign(glob: bytes, position: int) -> tuple[bytes, int]:
    if glob[position : position + 1] == b"\\":
        position += 1
    sign = glob[position : position + 1]
    if not sign:
        raise _NeverMatches
    return sign, position + 1


def _any_of(patterns: Sequence[re.Pattern[bytes] | None]) -> re.Pattern[bytes] | None:
    """One look at a name that most names fail; None when a pattern may match any name."""
    if any(pattern is None for pattern in patterns):
        return None
    alternatives = [b"(?:" + pattern.pattern + b")" for pattern in patterns if pattern is not None]
    return re.compile(b"|".join(alternatives) or b"(?!)", re.DOTALL)


def _matches(names: Sequence[re.Pattern[bytes] | None], steps: Sequence[bytes]) -> bool:
    """Whole names against whole names; after a failure only the last `**` takes one name more."""
    at = step = 0
    resume: tuple[int, int] | None = None
    while step < len(steps):
        wanted = names[at] if at < len(names) else _NOTHING
        if wanted is _ANY_DEPTH:
            resume = (at, step)
            at += 1
            # A final ** stands for at least one name: it matches what is inside, not the directory.
            if at == len(names):
                return True
        elif wanted.match(steps[step]):
            at += 1
            step += 1
        elif resume is not None:
            at, step = resume[0] + 1, resume[1] + 1
            resume = (resume[0], step)
        else:
            return False
    return at == len(names)
