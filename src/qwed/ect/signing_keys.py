"""Private keys: they sign, and never show themselves."""

from collections.abc import Callable
from typing import Any, Final, NoReturn

import msgspec
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from qwed.ect import base64url, jwk, jws
from qwed.ect.deadlines import DeadlineCaller
from qwed.ect.jwk import Curve, PublicKey
from qwed.ect.remote_keys import KeyUnusable, RemoteKey

PrivateKey = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey

#: How long a key that is elsewhere may take for a signature, and how many calls of it may hang at once.
REMOTE_SECONDS: Final = 10.0
MAX_HANGING: Final = 32

_encoder: Final = msgspec.json.Encoder(order="sorted", decimal_format="number")


class SigningKey:
    """Signs with one algorithm. Its repr names the public half; it can't be copied or pickled."""

    __slots__ = ("_headers", "_private", "_sign", "algorithm", "public")

    def __init__(self, private: PrivateKey | RemoteKey) -> None:
        self._private = private
        self._sign: Callable[[bytes], bytes]
        if isinstance(private, ed25519.Ed25519PrivateKey):
            self.public = PublicKey(*jwk.ed25519_public(private.public_key()))
            self._sign = private.sign
        else:
            self.public = PublicKey(*jwk.ec_public(private.public_key()))
            self._sign = _ecdsa(private)
        (self.algorithm,) = self.public.algorithms
        self._headers: dict[tuple[str, str], bytes] = {}

    def __repr__(self) -> str:
        return f"SigningKey({self.algorithm}, {self.public.thumbprint()})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a private key is not copied or pickled")

    @property
    def is_remote(self) -> bool:
        """Whether a signature is a call to somewhere else, which takes its time."""
        return not isinstance(self._private, PrivateKey)

    def sign(self, data: bytes) -> bytes:
        return self._sign(data)

    def compact(self, kid: str, typ: str, payload: bytes) -> str:
        """A compact JWS over the payload."""
        header = self._headers.get((kid, typ))
        if header is None:
            members = {"alg": self.algorithm, "kid": kid, "typ": typ}
            header = self._headers[kid, typ] = base64url.encode_bytes(_encoder.encode(members))
        signing_input = jws.compose(header, payload)
        return (signing_input + b"." + base64url.encode_bytes(self._sign(signing_input))).decode("ascii")

    def compact_claims(self, kid: str, typ: str, claims: dict[str, Any]) -> str:
        return self.compact(kid, typ, _encoder.encode(claims))

    def unsafe_seed(self) -> bytes:
        """The private key as the 32 bytes of an Ed25519 seed. Raises `TypeError` for other keys."""
        if not isinstance(self._private, ed25519.Ed25519PrivateKey):
            raise TypeError("only an Ed25519 key has a seed")
        return self._private.private_bytes_raw()

    def unsafe_pem(self) -> bytes:
        """The private key itself, for the file it is kept in. Raises `TypeError` where it is not here."""
        if not isinstance(self._private, ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey):
            raise TypeError("the private key stays where it is")
        return self._private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )


def _ecdsa(private: ec.EllipticCurvePrivateKey | RemoteKey) -> Callable[[bytes], bytes]:
    _, curve = jwk.curve_of(private.public_key())
    size, order, half = curve.size, curve.order, curve.order // 2
    pair = (
        _here(private, curve) if isinstance(private, ec.EllipticCurvePrivateKey) else _there(private, curve)
    )

    def sign(data: bytes) -> bytes:
        r, s = pair(data)
        # Of the two signatures that fit, always the lower: then the other can be refused.
        return r.to_bytes(size) + (s if s <= half else order - s).to_bytes(size)

    return sign


def _here(private: ec.EllipticCurvePrivateKey, curve: Curve) -> Callable[[bytes], tuple[int, int]]:
    scheme = ec.ECDSA(curve.hash)
    return lambda data: decode_dss_signature(private.sign(data, scheme))


def _there(remote: RemoteKey, curve: Curve) -> Callable[[bytes], tuple[int, int]]:
    caller = DeadlineCaller(REMOTE_SECONDS, MAX_HANGING)

    def sign(data: bytes) -> tuple[int, int]:
        digest = hashes.Hash(curve.hash)
        digest.update(data)
        hashed = digest.finalize()
        try:
            return caller.call(lambda: remote.sign_digest(hashed))
        except TimeoutError:
            raise KeyUnusable(f"the key did not sign within {REMOTE_SECONDS:g} seconds") from None

    return sign
