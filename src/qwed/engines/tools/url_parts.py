"""A URL taken apart as a browser does it; where other clients would do otherwise, that is a problem."""

import re
from typing import Final

import msgspec

from qwed.engines.tools.addresses import is_canonical_ipv4
from qwed.engines.tools.hosts import read_host
from qwed.engines.tools.ports import SPECIAL_PORTS
from qwed.engines.tools.problems import ArgumentProblem, forbidden

# The smallest number that is a whole address: 1.0.0.0. What is less is a page, a year, an identifier.
_FIRST_ADDRESS: Final = 1 << 24
_SCHEME: Final = re.compile(r"([a-zA-Z][a-zA-Z0-9+.\-]*):")
_BARE_PORT: Final = re.compile(r"[^/?#@:]+:\d{1,5}(?:[/?#]|\Z)")
_BARE_HOST: Final = re.compile(r"[^/?#@\s]+\.[^/?#@\s.]*[^/?#@\s.\d][^/?#@\s.]*\.?(?::\d+)?(?:[/?#]|\Z)")
_ADDRESS: Final = re.compile(
    r"(\[[0-9a-fA-F:.%]+\]|(?:0[xX][0-9a-fA-F]*|\d+)(?:\.(?:0[xX][0-9a-fA-F]*|\d+)){0,3}\.?)"
    r"(?::\d{1,5})?(?:[/?#]|\Z)"
)
AUTHORITY_END: Final = re.compile(r"[/?#]")
_PATH_END: Final = re.compile(r"[?#]")


class Url(msgspec.Struct, frozen=True):
    """The parts of a URL; `authority` is None for a relative reference."""

    scheme: str
    authority: str | None
    path: str
    rest: str


def split_url(text: str, problems: list[ArgumentProblem], as_host: bool) -> Url:
    scheme_match = None if _BARE_PORT.match(text) else _SCHEME.match(text)
    scheme = scheme_match[1].lower() if scheme_match else ""
    after = text[scheme_match.end() :] if scheme_match else text
    if "\\" in after.partition("?")[0]:
        problems.append(forbidden("backslash", "clients disagree about a backslash in a URL", text))
        after = after.replace("\\", "/")
    if scheme:
        return _split_absolute(scheme, after, text, problems)
    if after.startswith("//"):
        return _with_authority("", after.lstrip("/"))
    if as_host or _is_bare_host(after):
        return _with_authority("", after)
    return Url("", None, after, "")


def _split_absolute(scheme: str, after: str, text: str, problems: list[ArgumentProblem]) -> Url:
    slashes = len(after) - len(after.lstrip("/"))
    if scheme in SPECIAL_PORTS:
        if slashes != 2:
            problems.append(
                forbidden("slashes", f"{scheme}: is followed by {slashes} slashes instead of 2", text)
            )
        return _with_authority(scheme, after.lstrip("/"))
    if slashes >= 2:
        return _with_authority(scheme, after[2:])
    return Url(scheme, None, after, "")


def _with_authority(scheme: str, after: str) -> Url:
    end = AUTHORITY_END.search(after)
    if end is None:
        return Url(scheme, after, "", "")
    authority, remainder = after[: end.start()], after[end.start() :]
    cut = _PATH_END.search(remainder)
    if cut is None:
        return Url(scheme, authority, remainder, "")
    return Url(scheme, authority, remainder[: cut.start()], remainder[cut.start() :])


def _is_bare_host(text: str) -> bool:
    first = AUTHORITY_END.split(text, maxsplit=1)[0]
    if not first or first.startswith("."):
        return False
    return bool(
        _BARE_PORT.match(text)
        or _BARE_HOST.match(text)
        or is_address(text)
        or "@" in first
        or (not first.isdigit() and read_host(first).place not in (None, "private"))
    )


def is_address(text: str) -> bool:
    """Whether a text that is no URL begins with an address: bracketed, in four parts, or one whole number."""
    match = _ADDRESS.match(text)
    if match is None:
        return False
    host = match[1].rstrip(".")
    if host.startswith("[") or is_canonical_ipv4(host) or host.count(".") == 3 or "x" in host.lower():
        return True
    if "." in host:
        # 127.1 is short for the loopback address; 1.5 and 2024.1 are numbers.
        return host.startswith("127.")
    return int(host[:20]) >= _FIRST_ADDRESS
