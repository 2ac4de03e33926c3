"""E-mail recipients: who would get the message, and nothing smuggled in beside them."""

import re
from typing import Final

from qwed.engines.tools.hosts import read_host
from qwed.engines.tools.patterns import as_ascii, host_expression, look_alike
from qwed.engines.tools.problems import ArgumentProblem, forbidden, malformed, undecided
from qwed.engines.tools.rules import EmailRules

MAX_RECIPIENTS_LENGTH: Final = 65_536
_BREAK: Final = re.compile(
    r"[\r\n\x00\x0b\x0c\x85\u2028\u2029]|%0[ad]|\\r\\n|\\n(?:to|b?cc|subject|from)\s*:", re.I
)
_LOCAL: Final = re.compile(r"[^\s@<>()\[\]\\,;:\"%!]{1,64}\Z")
_QUOTED_NAME: Final = re.compile(r'"[^"]*"(?=\s*<)')
_ANGLE: Final = re.compile(r"\A[^<>@]*<([^<>]*)>\Z")


def inspect_header(text: str) -> list[ArgumentProblem]:
    """A header's value (subject, sender, name) must not start another header."""
    if _BREAK.search(text):
        return [forbidden("header-injection", "a line break would start another header", text)]
    return []


def inspect_recipients(text: str, *, rules: EmailRules) -> list[ArgumentProblem]:
    """Problems of one recipient or of a list separated by commas or semicolons."""
    if len(text) > MAX_RECIPIENTS_LENGTH:
        return [malformed("recipients", "the list of recipients is too long", text)]
    injected = inspect_header(text.strip())
    if injected:
        return injected
    entries = split_recipients(text)
    if len(entries) > rules.max_recipients:
        return [
            forbidden("recipients", f"{len(entries)} recipients, {rules.max_recipients} are allowed", text)
        ]
    if not entries:
        return [malformed("recipient", "there is no recipient", text)]
    return [problem for entry in entries for problem in _inspect_one(entry, rules)]


def split_recipients(text: str) -> list[str]:
    """The entries of a list; a comma inside quotes belongs to a display name."""
    without_names = _QUOTED_NAME.sub("", text) if '"' in text else text
    return [entry.strip() for entry in without_names.replace(";", ",").split(",") if entry.strip()]


def address_of(entry: str) -> str:
    """The address of one entry, without a display name."""
    angle = _ANGLE.match(entry)
    address = (angle[1] if angle else entry).strip()
    return address[7:] if address[:7].lower() == "mailto:" else address


def _inspect_one(entry: str, rules: EmailRules) -> list[ArgumentProblem]:
    address = address_of(entry)
    local, at, domain = address.rpartition("@")
    if not at:
        return [undecided("recipient", "the recipient is a name, not an address", entry)]
    if "?" in domain:
        return [forbidden("header-injection", "the address carries further headers", entry)]
    if not _LOCAL.match(local) or local[0] == "." or ".." in local or local[-1] == ".":
        return [forbidden("recipient", "mail systems disagree about this address", entry)]
    host = read_host(domain)
    if host.problems and not domain.startswith("["):
        return list(host.problems)
    if host.place is not None or domain.startswith("["):
        return [forbidden("recipient-domain", "the recipient's domain is not a public name", entry)]
    return _list_problems(host.name, entry, rules)


def _list_problems(domain: str, entry: str, rules: EmailRules) -> list[ArgumentProblem]:
    if not rules.allow and not rules.deny:
        return []
    name = as_ascii(domain)
    seen = {name, look_alike(domain)}
    if any(host_expression(item, with_apex=True).fullmatch(one) for item in rules.deny for one in seen):
        return [forbidden("deny-list", f"the domain {name} is on the deny list", entry)]
    if rules.allow and not any(host_expression(item).fullmatch(name) for item in rules.allow):
        return [forbidden("allow-list", f"the domain {name} is not on the allow list", entry)]
    return []
