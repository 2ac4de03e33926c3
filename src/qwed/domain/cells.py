"""Many deployments side by side: each principal belongs to one of them, its cell.

A credential carries its principal's tag, so that a proxy finds the cell without knowing the secret. The tag
proves nothing: the gateway of the cell looks at the whole credential.
"""

import hashlib
import re
from typing import Final

import msgspec

TAG_HEX: Final = 12
#: As it stands in a credential: `qwed_live_r0123456789ab_…`.
TAGGED: Final = r"qwed_(?:agent|live)_r(?<tag>[0-9a-f]{12})_"
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?")
_VARIABLE: Final = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*")
_UPSTREAM: Final = re.compile(r"(?:[A-Za-z0-9.-]{1,253}|\[[0-9a-fA-F:]{2,39}\]):[0-9]{1,5}")


def route_tag(principal_id: str) -> str:
    digest = hashlib.sha256(b"qwed-route:" + principal_id.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:TAG_HEX]


class Cell(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where its gateways listen, `host:port`, and whose agents they serve.

    The others say where its ledger is verified: in its store (a path, or `env:NAME` for an address), or at a
    gateway, with the key in a variable (`env:NAME`); and with which public keys.
    """

    upstream: tuple[str, ...]
    principals: tuple[str, ...] = ()
    database: str | None = None
    url: str | None = None
    api_key: str | None = None
    jwks: str | None = None


class Cells(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`default` serves whoever is not named: new principals, operators, credentials without a tag."""

    cells: dict[str, Cell]
    default: str

    def by_tag(self) -> dict[str, str]:
        """Tag → cell, in the order of the tags. Raises `ValueError`."""
        found: dict[str, tuple[str, str]] = {}
        for name, cell in self.cells.items():
            for principal in cell.principals:
                tag = route_tag(principal)
                if tag in found:
                    raise ValueError(f"{principal!r} and {found[tag][1]!r} can't both be told apart by a tag")
                found[tag] = name, principal
        return {tag: found[tag][0] for tag in sorted(found)}


def check_cells(cells: Cells) -> Cells:
    """Raises `ValueError`: what is here becomes part of a proxy's configuration."""
    if cells.default not in cells.cells:
        raise ValueError(f"default: there is no cell {cells.default!r}")
    for name, cell in cells.cells.items():
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a cell: a to z, 0 to 9 and -, at most 32")
        if not cell.upstream:
            raise ValueError(f"{name}: upstream names no gateway")
        for address in cell.upstream:
            if not _UPSTREAM.fullmatch(address) or not 0 < int(address.rsplit(":", 1)[1]) < 65_536:
                raise ValueError(f"{name}: {address!r} is no host:port")
        if cell.api_key is not None and not _VARIABLE.fullmatch(cell.api_key):
            # It may be the key itself, put there by mistake: it is not quoted.
            raise ValueError(f"{name}: api_key names a variable, as env:NAME")
        if cell.database is not None and "://" in cell.database:
            raise ValueError(f"{name}: database is a path, or env:NAME for an address")
    seen: dict[str, str] = {}
    for name, cell in cells.cells.items():
        for principal in cell.principals:
            if principal in seen:
                raise ValueError(f"{principal!r} is in {seen[principal]} and in {name}")
            seen[principal] = name
    cells.by_tag()
    return cells
