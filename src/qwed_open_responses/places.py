"""Paths and addresses that no argument may lead to."""

import re
from typing import Final

from qwed.domain.lazy_pattern import lazy_pattern
from qwed_open_responses.engines import inspect_path, inspect_url
from qwed_open_responses.slots import Slot

MAX_ADDRESSES: Final = 50
_MAX_PATH: Final = 4_096

_PATH_RULES: Final = frozenset({"traversal", "sensitive-place", "control-character", "unc", "stream"})
_HOME = lazy_pattern(r"^(?:~[\w-]*|\$HOME|\$\{HOME\}|%USERPROFILE%|%HOMEPATH%)(?=[/\\]|$)", re.I)
_PATH_LIKE = lazy_pattern(
    r"^\s*(?:file:|[~.\\/$%]|[A-Za-z]:[\\/]|[\w.@%-]+[\\/])|[\\/]\.\.|\.\.[\\/]|^\.[a-z]+|^\S+$", re.I
)


# A path with more blanks than this is no path, unless its slot says that it is one.
_MAX_BLANKS: Final = 3


def find_path(value: str, slot: Slot) -> str | None:
    """Why a path may not be used, or None; in a slot for paths the whole value is one."""
    if len(value) > _MAX_PATH:
        return f"a path of {len(value)} characters" if slot is Slot.PATH else None
    if "\n" in value.strip():
        return None
    if slot is not Slot.PATH and (
        "://" in value or not _PATH_LIKE.search(value) or value.count(" ") > _MAX_BLANKS
    ):
        return _find_traversal(value)
    problems = inspect_path(_HOME.sub("/home/user", value.strip()))
    problem = next((problem for problem in problems if problem.rule in _PATH_RULES), None)
    return f"{problem.rule}: {problem.message}" if problem is not None else None


_CLIMBS = lazy_pattern(
    r"(?i)(?:\.\.|%2e%2e|%252e%252e)(?:/|\\|%2f|%5c|%252f)(?:(?:\.\.|%2e%2e|%252e%252e)(?:/|\\|%2f|%5c"
    r"|%252f)|etc)"
)


def _find_traversal(value: str) -> str | None:
    if value.count(" ") > _MAX_BLANKS or not _CLIMBS.search(value):
        return None
    return "traversal: the address climbs out of its folder"


_ADDRESS = lazy_pattern(
    r"(?i)(?<![a-z0-9])(?:https?|ftp|gopher|file|dict|ldaps?|tftp|jar|sftp|netdoc|phar|php|expect|ws|wss"
    r"|smb|ssh|data|javascript|vbscript)"
    r":[^\s\"'<>`]{1,2000}"
)
_BARE_HOST = lazy_pattern(r"^\s*(?://)?[\w.\[\]:@%-]+(?:/\S*)?\s*$")
_METADATA: Final = frozenset({"metadata-address", "metadata-host"})
_HARMLESS_RULES: Final = frozenset({"credentials", "not-allowed", "port", "punycode", "plain-http"})


def find_address(value: str, slot: Slot) -> str | None:
    """Why an address may not be used, or None."""
    candidates = [match.group().rstrip(".,;)]}") for match in _ADDRESS.finditer(value[:200_000])]
    if not candidates and slot is Slot.URL and _BARE_HOST.match(value):
        # A word alone is the name of something; what is written as a host is one.
        candidates = [value.strip()]
    if len(candidates) > MAX_ADDRESSES:
        return f"more than {MAX_ADDRESSES} addresses, too many to check" if slot is Slot.URL else None
    # What people read and search for may name a development server, never the address of credentials.
    is_talk = slot in (Slot.TEXT, Slot.WORDS)
    for candidate in candidates:
        for problem in inspect_url(candidate):
            if problem.rule in _METADATA or not (is_talk or problem.rule in _HARMLESS_RULES):
                return f"{problem.rule}: {problem.message}"
    return None
