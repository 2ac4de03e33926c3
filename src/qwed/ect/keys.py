"""The deployment's signing key: made once, kept in a file only its owner can read, published as JWKS."""

import hashlib
import os
import stat
from pathlib import Path
from typing import Any

import msgspec
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from qwed.ect import jws


class KeyUnusable(Exception):
    """The key file can't be used; the message says why and what to do."""


class NodeSigner:
    """Signs as one node. The private key appears in no repr, log or error."""

    def __init__(self, key: ec.EllipticCurvePrivateKey, node_name: str) -> None:
        self._key = key
        self.issuer = f"did:qwed:node:{node_name}"
        self._jwk = _public_jwk(key.public_key())
        self.kid = f"{self.issuer}#{_thumbprint(self._jwk)}"

    def __repr__(self) -> str:
        return f"NodeSigner({self.kid!r})"

    def sign(self, typ: str, claims: dict[str, Any]) -> str:
        return jws.sign(self._key, self.kid, typ, claims)

    def jwks(self) -> dict[str, Any]:
        return {"keys": [{**self._jwk, "kid": self.kid, "alg": "ES256", "use": "sig"}]}

    def verify(self, typ: str, token: str) -> dict[str, Any] | None:
        try:
            unverified = jws.parse(token)
            if unverified.header["typ"] != typ or unverified.header["kid"] != self.kid:
                return None
            return jws.verify(unverified, self._key.public_key())
        except jws.InvalidToken:
            return None


def generate() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def load_or_create(path: Path) -> ec.EllipticCurvePrivateKey:
    """The key in the file; made, and made durable, where there is none. Raises `KeyUnusable`."""
    try:
        return _load(path)
    except FileNotFoundError:
        return _create(path)
    except OSError as error:
        raise KeyUnusable(f"the signing key {path} can't be read: {error.strerror}") from None


def _load(path: Path) -> ec.EllipticCurvePrivateKey:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        raise KeyUnusable(f"others can read the signing key {path} (mode {mode:03o}): chmod 600 it")
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (ValueError, TypeError):
        raise KeyUnusable(f"{path} is not an unencrypted private key in PEM") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.curve.name != "secp256r1":
        raise KeyUnusable(f"{path} is not a P-256 key: move it away, and a new one is made")
    return key


def _create(path: Path) -> ec.EllipticCurvePrivateKey:
    key = generate()
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    try:
        # Exclusive: of two processes that start together, one makes the key and the other reads it.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return _load(path)
    except OSError as error:
        raise KeyUnusable(f"the signing key {path} can't be written: {error.strerror}") from None
    with os.fdopen(descriptor, "wb") as file:
        file.write(pem)
        file.flush()
        os.fsync(file.fileno())
    return key


def _public_jwk(key: ec.EllipticCurvePublicKey) -> dict[str, str]:
    numbers = key.public_numbers()
    return {
        "kty": "EC",
        "crv": "P-256",
        "x": jws.b64encode(numbers.x.to_bytes(32)),
        "y": jws.b64encode(numbers.y.to_bytes(32)),
    }


def _thumbprint(jwk: dict[str, str]) -> str:
    """RFC 7638."""
    return jws.b64encode(hashlib.sha256(msgspec.json.encode(jwk, order="sorted")).digest())
