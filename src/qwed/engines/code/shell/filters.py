"""Text filters of the shell, computed on known text: what `base64 -d` makes of a constant is a constant."""

import base64
import binascii
import re
import zlib
from collections.abc import Callable
from typing import Final

from qwed.engines.code.shell.words import HOLE, ansi_c

MAX_OUTPUT: Final = 64 * 1024

Filter = Callable[[list[str], str], str | None]

_CONVERSION: Final = re.compile(r"%(%|[-+ #0]*\d{0,3}(?:\.\d{0,3})?([sbdiouxXcq]))")
_DECODE_FLAGS: Final = frozenset({"-d", "-D", "--decode", "-di", "-id"})
_CLASSES: Final = {
    "[:lower:]": "abcdefghijklmnopqrstuvwxyz",
    "[:upper:]": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "[:digit:]": "0123456789",
    "[:space:]": " \t\n\r\v\f",
}


def echo(args: list[str], stdin: str) -> str | None:
    escapes = False
    newline = "\n"
    while args and re.fullmatch(r"-[neE]+", args[0]):
        escapes = escapes or "e" in args[0]
        newline = "" if "n" in args[0] else newline
        args = args[1:]
    text = " ".join(args)
    # Some shells' echo reads escapes without being asked; the reading that hides more is the one taken.
    return (ansi_c(text) if escapes or "\\x" in text or "\\0" in text else text) + newline


def printf(args: list[str], stdin: str) -> str | None:
    if args and args[0] == "--":
        args = args[1:]
    if not args:
        return ""
    template, values = ansi_c(args[0]), list(args[1:])
    made: list[str] = []
    while True:
        left = len(values)
        made.append(_CONVERSION.sub(lambda found: _convert(found, values), template))
        if not values or len(values) == left or sum(map(len, made)) > MAX_OUTPUT:
            return "".join(made)[:MAX_OUTPUT]


def _convert(found: re.Match[str], values: list[str]) -> str:
    if found.group(1) == "%":
        return "%"
    value = values.pop(0) if values else ""
    match found.group(2):
        case "b":
            return ansi_c(value)
        case "c":
            return value[:1]
        case "x" | "X" | "o" if value.lstrip("-").isdigit():
            return format(int(value[:18]), found.group(2))
    return value


def base64_filter(args: list[str], stdin: str) -> str | None:
    if not any(arg in _DECODE_FLAGS for arg in args):
        return base64.b64encode(stdin.encode("utf-8", "replace")).decode()
    return _decode(base64.b64decode, stdin)


def base32_filter(args: list[str], stdin: str) -> str | None:
    return _decode(base64.b32decode, stdin) if any(arg in _DECODE_FLAGS for arg in args) else None


def openssl(args: list[str], stdin: str) -> str | None:
    if "-d" in args and any(arg in ("base64", "-base64", "-a") for arg in args):
        return _decode(base64.b64decode, stdin)
    return None


def _decode(decode: Callable[[bytes], bytes], text: str) -> str | None:
    if HOLE in text:
        return None
    try:
        data = decode("".join(text.split()).encode("ascii"))
    except (ValueError, binascii.Error):
        return None
    return data.decode("utf-8", "replace")


def xxd(args: list[str], stdin: str) -> str | None:
    flags = "".join(arg.lstrip("-") for arg in args if arg.startswith("-"))
    digits = re.sub(r"[^0-9A-Fa-f]", "", stdin)
    if "r" not in flags or len(digits) % 2:
        return None
    return bytes.fromhex(digits).decode("utf-8", "replace")


def reverse(args: list[str], stdin: str) -> str | None:
    return "\n".join(line[::-1] for line in stdin.split("\n"))


def tac(args: list[str], stdin: str) -> str | None:
    return "\n".join(reversed(stdin.rstrip("\n").split("\n"))) + "\n"


def translate(args: list[str], stdin: str) -> str | None:
    flags = "".join(arg[1:] for arg in args if arg.startswith("-") and len(arg) > 1)
    sets = [_character_set(arg) for arg in args if not arg.startswith("-") or arg == "-"]
    if "c" in flags or "C" in flags:
        return None
    if "d" in flags and sets:
        return "".join(character for character in stdin if character not in sets[0])
    if "s" in flags and len(sets) == 1:
        return re.sub(r"(.)\1+", lambda run: run.group(1) if run.group(1) in sets[0] else run.group(), stdin)
    if len(sets) != 2 or not sets[1]:
        return None
    target = sets[1] + sets[1][-1] * max(0, len(sets[0]) - len(sets[1]))
    return stdin.translate({ord(old): new for old, new in zip(sets[0], target, strict=False)})


def _character_set(text: str) -> str:
    for name, members in _CLASSES.items():
        text = text.replace(name, members)
    return re.sub(r"(.)-(.)", _span, ansi_c(text[:512]))


def _span(found: re.Match[str]) -> str:
    first, last = ord(found.group(1)), min(ord(found.group(2)), 0x250)
    return "".join(map(chr, range(first, last + 1)))


def substitute(args: list[str], stdin: str) -> str | None:
    """`sed 's/a/b/g'` with literal text on both sides."""
    scripts = [arg for arg in args if not arg.startswith("-")]
    if len(scripts) != 1:
        return None
    found = re.fullmatch(r"s(.)([\w :/@=+-]*)\1([\w .:/@=+-]*)\1(g?)", scripts[0])
    if found is None or not found.group(2) or len(stdin) * (len(found.group(3)) + 1) > MAX_OUTPUT * 4:
        return None
    _, old, new, every = found.groups()
    if every:
        return stdin.replace(old, new)
    return "\n".join(line.replace(old, new, 1) for line in stdin.split("\n"))


def inflate(args: list[str], stdin: str) -> str | None:
    try:
        return (
            zlib.decompressobj(47).decompress(stdin.encode("latin-1"), MAX_OUTPUT).decode("utf-8", "replace")
        )
    except (zlib.error, UnicodeEncodeError):
        return None


def pass_through(args: list[str], stdin: str) -> str | None:
    return stdin if all(arg.startswith("-") for arg in args) else None


FILTERS: Final[dict[str, Filter]] = {
    "echo": echo,
    "printf": printf,
    "base64": base64_filter,
    "base32": base32_filter,
    "openssl": openssl,
    "xxd": xxd,
    "rev": reverse,
    "tac": tac,
    "tr": translate,
    "sed": substitute,
    "gunzip": inflate,
    "zcat": inflate,
    "cat": pass_through,
    "head": pass_through,
    "tail": pass_through,
    "tee": lambda args, stdin: stdin,
}
# What these print is made from their arguments alone.
NEEDS_NO_INPUT: Final = frozenset({"echo", "printf"})
