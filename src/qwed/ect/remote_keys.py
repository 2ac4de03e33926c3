"""Keys that stay where they are: in an HSM (`pkcs11:`, RFC 7512) or with a cloud (`awskms:`, `gcpkms:`).

What signs is named by a URI, and only digests travel. The libraries are extras, loaded when a URI asks.
"""

from collections.abc import Mapping
from typing import Final, Protocol

from cryptography.hazmat.primitives.asymmetric import ec


class KeyUnusable(Exception):
    """The key can't be used; the message says why and what to do, and quotes nothing of it."""


class RemoteKey(Protocol):
    """A P-256 or P-384 key of which only the public half is here."""

    def public_key(self) -> ec.EllipticCurvePublicKey: ...

    def sign_digest(self, digest: bytes) -> tuple[int, int]:
        """ECDSA's r and s. Raises `KeyUnusable`."""
        ...


#: The scheme of a URI, and the extra that brings its library.
_EXTRAS: Final[Mapping[str, str]] = {"pkcs11": "pkcs11", "awskms": "aws-kms", "gcpkms": "gcp-kms"}


def is_remote(uri: str) -> bool:
    return uri.partition(":")[0] in _EXTRAS


def open_remote(uri: str, environ: Mapping[str, str]) -> RemoteKey:
    """The key that the URI names. Raises `KeyUnusable`."""
    try:
        if uri.startswith("pkcs11:"):
            from qwed.ect import pkcs11_keys  # noqa: PLC0415 - an extra

            return pkcs11_keys.open_key(uri, environ)
        from qwed.ect import kms_keys  # noqa: PLC0415 - an extra

        return kms_keys.open_key(uri)
    except ImportError:
        raise KeyUnusable(_explain_missing(uri)) from None


def create_remote(uri: str, algorithm: str, environ: Mapping[str, str]) -> None:
    """Make the key inside the HSM, where none has its name. Raises `KeyUnusable`."""
    if not uri.startswith("pkcs11:"):
        raise KeyUnusable("a cloud's key is made with the cloud's own tools: ECC_NIST_P256, for signing")
    try:
        from qwed.ect import pkcs11_keys  # noqa: PLC0415 - an extra
    except ImportError:
        raise KeyUnusable(_explain_missing(uri)) from None
    pkcs11_keys.create_key(uri, algorithm, environ)


def _explain_missing(uri: str) -> str:
    scheme = uri.partition(":")[0]
    return f"{scheme} keys need an extra: pip install 'qwed-gateway[{_EXTRAS[scheme]}]'"
