"""A passkey made of software: what an authenticator and a browser would send, honest or not."""

import hashlib
import json
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256

PRESENT, VERIFIED, WITH_KEY = 0x01, 0x04, 0x40


def text(value: bytes) -> str:
    return urlsafe_b64encode(value).rstrip(b"=").decode()


def raw(value: str) -> bytes:
    return urlsafe_b64decode(value + "=" * (-len(value) % 4))


class SoftPasskey:
    def __init__(self, origin: str, site: str) -> None:
        self.origin, self.site = origin, site
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.id = os.urandom(16)
        self.count = 0

    def make(
        self,
        asked: dict[str, Any],
        *,
        flags: int = PRESENT | VERIFIED,
        kind: str = "webauthn.create",
        **client: Any,
    ) -> dict[str, Any]:
        numbers = self.key.public_key().public_numbers()
        public = {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}
        made = bytes(16) + len(self.id).to_bytes(2, "big") + self.id + cbor2.dumps(public)
        data = self._data(flags | WITH_KEY) + made
        response = {
            "clientDataJSON": text(self._client(kind, asked["publicKey"]["challenge"], **client)),
            "attestationObject": text(cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})),
        }
        return {"flow": asked["flow"], "credential": self._credential(response)}

    def sign(
        self, asked: dict[str, Any], *, flags: int = PRESENT | VERIFIED, counts: bool = True, **client: Any
    ) -> dict[str, Any]:
        self.count += counts
        data = self._data(flags)
        said = self._client("webauthn.get", asked["publicKey"]["challenge"], **client)
        signature = self.key.sign(data + hashlib.sha256(said).digest(), ec.ECDSA(SHA256()))
        response = {
            "clientDataJSON": text(said),
            "authenticatorData": text(data),
            "signature": text(signature),
        }
        return {"flow": asked["flow"], "credential": self._credential(response)}

    def _credential(self, response: dict[str, str]) -> dict[str, Any]:
        return {"id": text(self.id), "rawId": text(self.id), "type": "public-key", "response": response}

    def _data(self, flags: int) -> bytes:
        return hashlib.sha256(self.site.encode()).digest() + bytes([flags]) + self.count.to_bytes(4, "big")

    def _client(self, kind: str, asked: str, **more: Any) -> bytes:
        said = {"type": kind, "challenge": asked, "origin": self.origin, "crossOrigin": False, **more}
        return json.dumps(said).encode()
