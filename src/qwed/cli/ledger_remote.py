"""The ledger of a running gateway, over HTTP: for machines that have neither the store nor its key."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import click
import httpx2

from qwed.cli.errors import CannotReach, CannotRun
from qwed.ect import base64url
from qwed.ect.jwk import InvalidKey, PublicKey
from qwed.ect.signatures import keys_of
from qwed.ledger import export as exports
from qwed.settings import read_settings

URL_OPTION = click.option(
    "--url", "base_url", metavar="URL", help="The gateway to ask instead (QWED_BASE_URL, where no store is)."
)
_PAGE: Final = 1_000


class RemoteLedger:
    """Raises `CannotReach`, and `CannotRun` where the gateway says no."""

    def __init__(self, base_url: str, api_key: str) -> None:
        headers = {"Authorization": f"Bearer {api_key}"}
        self.base_url = base_url
        self._client = httpx2.Client(base_url=base_url, headers=headers, timeout=60.0)

    def checkpoint(self) -> dict[str, Any]:
        return self._get("/ledger/checkpoint")

    def prove(self, subject: str) -> dict[str, Any]:
        """Named as the store's own answer names it."""
        found = self._get("/ledger/proof/inclusion", **{"seq" if subject.isdecimal() else "subject": subject})
        entry = found["entry"]
        hashes = {name: base64url.decode(entry[name]).hex() for name in ("commitment", "previous", "hash")}
        return {
            "seq": entry["seq"],
            "entry": {"at_ms": entry["at_ms"], "subject": entry["subject"], **hashes},
            "size": found["size"],
            "proof": [base64url.decode(item).hex() for item in found["proof"]],
            "checkpoint": found["checkpoint"],
        }

    def keys(self) -> Mapping[str, PublicKey]:
        try:
            return keys_of(self._get("/.well-known/jwks.json"))
        except InvalidKey as error:
            raise CannotReach(f"the keys at {self.base_url} are none: {error}") from None

    def lines(self) -> Iterator[bytes]:
        """An export without payloads: the gateway gives those of one activity at a time."""
        signed = self.checkpoint()
        last = exports.Signed(signed["checkpoint"], tuple(signed["cosignatures"]))
        return exports.write(signed["ledger"], self._items(signed["size"], last))

    def _items(self, size: int, last: exports.Signed) -> Iterator[exports.ExportLine | exports.Signed]:
        after = 0
        while after < size:
            page = self._get("/ledger/entries", after=after, limit=min(_PAGE, size - after))["entries"]
            if not page:
                raise CannotReach(f"the gateway at {self.base_url} has fewer entries than it signed")
            for entry in page:
                yield _line(entry)
            after = page[-1]["seq"]
        yield last

    def _get(self, path: str, **query: str | int) -> dict[str, Any]:
        try:
            response = self._client.get(path, params=query)
            body: dict[str, Any] = response.json()
        except httpx2.HTTPError as error:
            raise CannotReach(f"no gateway answers at {self.base_url}: {type(error).__name__}") from None
        except ValueError:
            raise CannotReach(f"what answers at {self.base_url} is not a QWED gateway") from None
        if response.status_code != 200:
            refused = body.get("error", {})
            raise CannotRun(
                f"{refused.get('message', response.status_code)} ({refused.get('code', 'no code')})"
            )
        return body


def _line(entry: Mapping[str, Any]) -> exports.ExportLine:
    if "subject" not in entry:
        raise CannotRun("this key sees its principal's entries alone: all of them take the scope audit")
    hashes = (base64url.decode(entry[name]) for name in ("commitment", "previous", "hash"))
    return exports.ExportLine(entry["seq"], entry["at_ms"], entry["subject"], *hashes)


def find_remote(database: str | None, base_url: str | None) -> RemoteLedger | None:
    """The gateway that `--url` names; or `QWED_BASE_URL`, where no store is here. None: open the store."""
    if base_url is not None and database is not None:
        raise click.UsageError("--url asks a gateway, and --database opens a store: give one of them")
    settings = read_settings(options={"database": database, "base_url": base_url})
    is_here = not isinstance(settings.database, Path) or settings.database.exists()
    if settings.base_url is None or (base_url is None and (database is not None or is_here)):
        return None
    if settings.api_key is None:
        raise CannotReach(f"the gateway at {settings.base_url} needs a key: set QWED_API_KEY")
    return RemoteLedger(settings.base_url, settings.api_key.reveal())
