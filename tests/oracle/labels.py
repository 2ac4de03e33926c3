"""What differs from run to run, by names that do not.

Ids, credentials and keys are numbered in the order in which they first appear in a world: `act#1`, `agent#2`.
The id of an activity and the id of its node (`act_…`, a UUID) are one thing and share their number. A signed
token becomes what it says: its header and its claims, without the signature. Hashes stay as they are, since
they depend on content alone, except the version of a policy (`policy#1`) and what is salted or chained.
"""

import base64
import binascii
import itertools
import json
import re
from typing import Any

_IDS = re.compile(
    r"(?P<act>act_[0-9a-f]{32})"
    r"|(?P<node>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
    r"|(?P<id>(?:apr|agent|key|att|hook|evt|dlv)_[0-9a-f]{16,32})"
    r"|(?P<secret>(?:qwed_agent|qwed_live|whsec)_[0-9A-Za-z_-]{43})"
    r"|(?P<kid>(?<=#)[0-9A-Za-z_-]{43})"
    r"|(?P<policy>sha256:[0-9a-f]{64})"
    r"|(?P<jws>eyJ[0-9A-Za-z_-]+\.[0-9A-Za-z_-]+\.[0-9A-Za-z_-]*)"
)
#: Members whose values hang on salts, on keys, or on all entries before.
_VARIABLE = frozenset(
    {
        "apae.previous_spec_hash",
        "apae.spec_hash",
        "commitment",
        "previous",
        "hash",
        "signature",
        "csrf_token",
        "x",
        "y",
        "root",
        "receipt",
        "next_cursor",
    }
)
LABEL = re.compile(r"\b(act|node|apr|agent|key|att|hook|evt|dlv|secret|kid|policy|jws)#([0-9]+)\b")


class Labels:
    """One world's names. Feed it everything in the order in which it happened."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str], int] = {}
        self._next: dict[str, Any] = {}

    def clean(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return {self._name(key): self._member(key, item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.clean(item) for item in value]
        return value

    def _name(self, key: Any) -> str:
        return _IDS.sub(self._label, str(key))

    def _member(self, key: Any, item: Any) -> Any:
        if key in _VARIABLE and isinstance(item, str):
            return f"[{key}]"
        return self.clean(item)

    def _text(self, text: str) -> Any:
        if text.startswith("eyJ") and (content := _content(text)) is not None:
            return {"signed": self.clean(content)}
        return _IDS.sub(self._label, text)

    def _label(self, found: re.Match[str]) -> str:
        kind, text = found.lastgroup or "", found.group()
        if kind in ("act", "node"):
            return f"{kind}#{self._number('act', text.removeprefix('act_').replace('-', ''))}"
        if kind == "id":
            kind = text.partition("_")[0]
        return f"{kind}#{self._number(kind, text)}"

    def _number(self, kind: str, text: str) -> int:
        if (kind, text) not in self._numbers:
            self._numbers[kind, text] = next(self._next.setdefault(kind, itertools.count(1)))
        return self._numbers[kind, text]


def number_again(lines: list[Any]) -> list[Any]:
    """The same labels, numbered by what is left after something was taken out."""
    numbers: dict[tuple[str, str], int] = {}
    counts: dict[str, int] = {}

    def label(found: re.Match[str]) -> str:
        kind, number = found.groups()
        group = "act" if kind == "node" else kind
        if (group, number) not in numbers:
            numbers[group, number] = counts[group] = counts.get(group, 0) + 1
        return f"{kind}#{numbers[group, number]}"

    return [json.loads(LABEL.sub(label, json.dumps(line))) for line in lines]


def _content(token: str) -> dict[str, Any] | None:
    """Header and claims; an unsigned token is its claims alone."""
    parts = token.split(".")
    if len(parts) not in (1, 3):
        return None
    try:
        said = [json.loads(_decoded(part)) for part in parts[:2]]
    except (ValueError, binascii.Error):
        return None
    return dict(zip(("header", "claims") if len(said) == 2 else ("claims",), said, strict=True))


def _decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
