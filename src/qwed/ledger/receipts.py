"""Receipts: the ledger's signed word that it holds a token, where, and since when."""

from collections.abc import Mapping
from typing import Final

import msgspec

from qwed.ect import base64url, signatures
from qwed.ect.jwk import PublicKey
from qwed.ect.keys import KeyRing

RECEIPT_TYPE: Final = "qwed-receipt+jwt"


class Receipt(msgspec.Struct, frozen=True):
    ledger: str
    seq: int
    jti: str
    token_hash: bytes
    entry_hash: bytes
    iat: int


def sign_receipt(ring: KeyRing, receipt: Receipt) -> str:
    return ring.sign(
        RECEIPT_TYPE,
        {
            "iss": ring.issuer,
            "ledger": receipt.ledger,
            "seq": receipt.seq,
            "jti": receipt.jti,
            "token_hash": base64url.encode(receipt.token_hash),
            "entry_hash": base64url.encode(receipt.entry_hash),
            "iat": receipt.iat,
        },
    )


def read_receipt(token: str, keys: Mapping[str, PublicKey]) -> Receipt:
    """Raises `InvalidToken`."""
    claims = signatures.verify_claims(token, RECEIPT_TYPE, keys)
    return Receipt(
        signatures.text(claims, "ledger"),
        signatures.number(claims, "seq"),
        signatures.text(claims, "jti"),
        signatures.digest(claims, "token_hash"),
        signatures.digest(claims, "entry_hash"),
        signatures.number(claims, "iat"),
    )
