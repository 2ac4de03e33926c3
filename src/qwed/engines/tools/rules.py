"""What tools may touch: the part of the policy file that `tool_control` reads.

Every rule has a default that is safe without a policy file.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Literal

import msgspec

CheckerKind = Literal[
    "url", "path", "email", "payment", "sql", "shell", "python", "javascript", "code", "text"
]


class FileRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`roots` are the only absolute places; relative paths stay below the working root.

    `sensitive` adds names (`secrets.yaml`) or runs of names (`.vault/keys`) to those refused everywhere.
    """

    roots: tuple[str, ...] = ()
    relative: bool = True
    sensitive: tuple[str, ...] = ()


class UrlRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`allow` empty: every public host. `private` lists the exact hosts, wildcards or address ranges
    that may be reached although they are not public.

    Patterns: `example.com`, `*.example.com`, `https://example.com:8443/v1/*`. In `deny`, `*.example.com`
    covers `example.com` too. `redirects` says what a URL inside a URL's query may be: `inspect` holds
    it to the same address rules, `deny` refuses one that leads to another host, `allow` ignores it.
    """

    schemes: tuple[str, ...] = ("https", "http", "wss", "ws")
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    redirects: Literal["inspect", "deny", "allow"] = "inspect"
    credentials: bool = False


class EmailRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Domains are patterns: `example.com`, `*.example.com`. `allow` empty: every domain."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    max_recipients: int = 50


class PaymentRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The most that one payment may move, by currency. A currency without a limit can't be judged."""

    limits: Mapping[str, Decimal] = msgspec.field(default_factory=dict)
    default_currency: str | None = None


class Checker(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which checker looks at which parameter of a tool, whatever the parameter is called."""

    kind: CheckerKind
    parameter: str


class ToolRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    files: FileRules = FileRules()
    urls: UrlRules = UrlRules()
    email: EmailRules = EmailRules()
    payments: PaymentRules = PaymentRules()
    checkers: Mapping[str, Checker | tuple[Checker, ...]] = msgspec.field(default_factory=dict)

    def marks_of(self, tool: str) -> dict[str, str]:
        """The kinds of a tool's parameters, as the operator registered them."""
        found = self.checkers.get(tool)
        if found is None:
            return {}
        checkers = (found,) if isinstance(found, Checker) else found
        return {checker.parameter: checker.kind for checker in checkers}
