"""Receipts that a tool signs with a key of its own."""

from pathlib import Path
from typing import Final

from qwed_sdk.extras import extra_needed
from qwed_sdk.results import Json

try:
    from qwed.ect.keys import load_file
except ModuleNotFoundError as missing:
    raise extra_needed(__name__, "permits", missing) from None

RECEIPT_TYPE: Final = "qwed-receipt+jwt"


class ReceiptKey:
    """A private key in a PEM file."""

    def __init__(self, path: str | Path) -> None:
        self._key = load_file(Path(path))
        self._kid = self._key.public.thumbprint()

    def sign(self, jti: str, receipt: dict[str, Json]) -> str:
        said = {name: value for name, value in receipt.items() if value is not None}
        return self._key.compact_claims(self._kid, RECEIPT_TYPE, {"jti": jti, **said})
