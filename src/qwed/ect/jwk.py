"""Public keys as JWK (RFC 7517, 7518, 8037), read strictly: the key decides which algorithms it serves.

Left out on purpose: symmetric keys, so that no public key can ever be taken for a shared secret;
secp256k1, Ed448, and RSA below 2048 bits.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Final

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from qwed.domain.json_types import Json
from qwed.ect import base64url

MIN_RSA_BITS: Final = 2_048
MAX_RSA_BITS: Final = 8_192
_MAX_RSA_EXPONENT: Final = 2**64

#: RFC 9864 renamed it; the old name says the same for a key on this curve.
OLD_NAMES: Final = {"EdDSA": "Ed25519"}

Check = Callable[[bytes, bytes], None]

# Smart cards of one maker took primes that are powers of 65537 modulo a product of small primes, and so are
# their moduli (CVE-2017-15361, "ROCA"): such a key can be factored, and anybody can sign with it.
_ROCA_POWERS: Final = {
    prime: frozenset(pow(65_537, exponent, prime) for exponent in range(prime - 1))
    for prime in range(3, 168)
    if all(prime % divisor for divisor in range(2, prime))
}


class InvalidKey(ValueError):
    """The JWK is not a public key that can be used; the message says why and quotes nothing secret."""


class Curve(msgspec.Struct, frozen=True):
    algorithm: str
    curve: ec.EllipticCurve
    hash: hashes.HashAlgorithm
    size: int
    order: int


CURVES: Final = {
    "P-256": Curve(
        "ES256",
        ec.SECP256R1(),
        hashes.SHA256(),
        32,
        0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551,
    ),
    "P-384": Curve(
        "ES384",
        ec.SECP384R1(),
        hashes.SHA384(),
        48,
        0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFC7634D81F4372DDF581A0DB248B0A77AECEC196ACCC52973,
    ),
    "P-521": Curve(
        "ES512",
        ec.SECP521R1(),
        hashes.SHA512(),
        66,
        0x01FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFA51868783BF2F966B7FCC0148F709A5D03BB5C9B8899C47AEBB6FB71E91386409,
    ),
}
_RSA_HASHES: Final = {"256": hashes.SHA256(), "384": hashes.SHA384(), "512": hashes.SHA512()}
RSA_ALGORITHMS: Final = frozenset(f"{kind}{size}" for kind in ("RS", "PS") for size in _RSA_HASHES)
ALGORITHMS: Final = RSA_ALGORITHMS | {"Ed25519"} | {curve.algorithm for curve in CURVES.values()}

# The y coordinates of the points of order 1, 2, 4 and 8, and their second spellings: with such a key
# one signature fits every message.
_P25519: Final = 2**255 - 19
_ORDER_8: Final = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7
_WEAK_ED25519: Final = frozenset({0, 1, _P25519 - 1, _P25519, _P25519 + 1, _ORDER_8, _P25519 - _ORDER_8})


class PublicKey:
    """A key that verifies. Of its JWK only the public members are kept."""

    __slots__ = ("_checks", "algorithms", "jwk", "kid")

    def __init__(self, jwk: dict[str, str], checks: Mapping[str, Check], kid: str | None = None) -> None:
        self.jwk = jwk
        self._checks = checks
        self.algorithms = frozenset(checks)
        self.kid = kid

    def __repr__(self) -> str:
        return f"PublicKey({self.jwk['kty']}, {self.thumbprint()})"

    def verifies(self, algorithm: str, signature: bytes, data: bytes) -> bool:
        """Whether this key made the signature with that algorithm; False for one it does not serve."""
        check = self._checks.get(algorithm) or self._checks.get(canonical_name(algorithm))
        if check is None:
            return False
        try:
            check(signature, data)
        except InvalidSignature:
            return False
        return True

    def thumbprint(self) -> str:
        """RFC 7638."""
        return thumbprint(self.jwk)

    def publish(self) -> dict[str, str]:
        """The JWK for a key set, with what it may be used for."""
        extra = {"kid": self.kid} if self.kid is not None else {}
        alg = {"alg": next(iter(self.algorithms))} if len(self.algorithms) == 1 else {}
        return {**self.jwk, **extra, **alg, "use": "sig"}


def canonical_name(algorithm: str) -> str:
    return OLD_NAMES.get(algorithm, algorithm)


def thumbprint(jwk: Mapping[str, str]) -> str:
    return base64url.encode(hashlib.sha256(msgspec.json.encode(dict(jwk), order="sorted")).digest())


def read(jwk: Mapping[str, Json]) -> PublicKey:
    """The public key in a JWK (the private members of a private one are ignored). Raises `InvalidKey`."""
    if not isinstance(jwk, Mapping):
        raise InvalidKey("a JWK is an object")
    reader = _READERS.get(_text(jwk, "kty"))
    if reader is None:
        raise InvalidKey("kty is EC, OKP or RSA")
    _refuse_other_uses(jwk)
    public, checks = reader(jwk)
    return PublicKey(public, _narrow(checks, jwk), _text(jwk, "kid") if "kid" in jwk else None)


def _refuse_other_uses(jwk: Mapping[str, Json]) -> None:
    if "use" in jwk and jwk["use"] != "sig":
        raise InvalidKey("the key's use is not sig")
    if "key_ops" not in jwk:
        return
    operations = jwk["key_ops"]
    if not isinstance(operations, list | tuple) or not all(isinstance(name, str) for name in operations):
        raise InvalidKey("key_ops is an array of strings")
    if len(set(operations)) != len(operations) or "verify" not in operations:
        raise InvalidKey("the key's key_ops do not allow verify")


def _narrow(checks: Mapping[str, Check], jwk: Mapping[str, Json]) -> Mapping[str, Check]:
    """A key that names its algorithm serves no other."""
    if "alg" not in jwk:
        return checks
    named = canonical_name(_text(jwk, "alg"))
    if named not in checks:
        raise InvalidKey("the key's alg does not fit its kty and crv")
    return {named: checks[named]}


def _ec(jwk: Mapping[str, Json]) -> tuple[dict[str, str], Mapping[str, Check]]:
    curve = CURVES.get(_text(jwk, "crv"))
    if curve is None:
        raise InvalidKey("crv is P-256, P-384 or P-521")
    x, y = _bytes(jwk, "x"), _bytes(jwk, "y")
    if len(x) != curve.size or len(y) != curve.size:
        raise InvalidKey("a coordinate has the wrong length")
    try:
        key = ec.EllipticCurvePublicNumbers(int.from_bytes(x), int.from_bytes(y), curve.curve).public_key()
    except ValueError:
        raise InvalidKey("the point is not on its curve") from None
    return ec_public(key)


def ec_public(key: ec.EllipticCurvePublicKey) -> tuple[dict[str, str], Mapping[str, Check]]:
    name, curve = curve_of(key)
    numbers = key.public_numbers()
    jwk = {
        "kty": "EC",
        "crv": name,
        "x": base64url.encode(numbers.x.to_bytes(curve.size)),
        "y": base64url.encode(numbers.y.to_bytes(curve.size)),
    }
    scheme, size = ec.ECDSA(curve.hash), curve.size

    def check(signature: bytes, data: bytes) -> None:
        if len(signature) != 2 * size:
            raise InvalidSignature
        r, s = int.from_bytes(signature[:size]), int.from_bytes(signature[size:])
        key.verify(encode_dss_signature(r, s), data, scheme)

    return jwk, {curve.algorithm: check}


def curve_of(key: ec.EllipticCurvePublicKey | ec.EllipticCurvePrivateKey) -> tuple[str, Curve]:
    for name, curve in CURVES.items():
        if curve.curve.name == key.curve.name:
            return name, curve
    raise InvalidKey("crv is P-256, P-384 or P-521")


def _okp(jwk: Mapping[str, Json]) -> tuple[dict[str, str], Mapping[str, Check]]:
    if _text(jwk, "crv") != "Ed25519":
        raise InvalidKey("crv is Ed25519")
    raw = _bytes(jwk, "x")
    if len(raw) != 32:
        raise InvalidKey("an Ed25519 key has 32 bytes")
    if int.from_bytes(raw, "little") & (2**255 - 1) in _WEAK_ED25519:
        raise InvalidKey("the point is of small order")
    # A point off the curve is found when it is used: then no signature fits.
    return ed25519_public(ed25519.Ed25519PublicKey.from_public_bytes(raw))


def ed25519_public(key: ed25519.Ed25519PublicKey) -> tuple[dict[str, str], Mapping[str, Check]]:
    jwk = {"kty": "OKP", "crv": "Ed25519", "x": base64url.encode(key.public_bytes_raw())}
    return jwk, {"Ed25519": key.verify}


def _rsa(jwk: Mapping[str, Json]) -> tuple[dict[str, str], Mapping[str, Check]]:
    n, e = _read_unsigned(jwk, "n"), _read_unsigned(jwk, "e")
    if not MIN_RSA_BITS <= n.bit_length() <= MAX_RSA_BITS or n % 2 == 0:
        raise InvalidKey(f"an RSA modulus is odd and has {MIN_RSA_BITS} to {MAX_RSA_BITS} bits")
    if not 3 <= e < _MAX_RSA_EXPONENT or e % 2 == 0:
        raise InvalidKey("an RSA exponent is odd and at least 3")
    if all(n % prime in powers for prime, powers in _ROCA_POWERS.items()):
        raise InvalidKey("the RSA modulus can be factored (CVE-2017-15361)")
    try:
        key = rsa.RSAPublicNumbers(e, n).public_key()
    except ValueError:
        raise InvalidKey("not an RSA key") from None
    checks = {name: _rsa_check(key, name) for name in RSA_ALGORITHMS}
    return {"kty": "RSA", "n": jwk["n"], "e": jwk["e"]}, checks


def _rsa_check(key: rsa.RSAPublicKey, algorithm: str) -> Check:
    digest = _RSA_HASHES[algorithm[2:]]
    scheme: padding.AsymmetricPadding = padding.PKCS1v15()
    if algorithm.startswith("PS"):
        # RFC 7518, section 3.5: the salt is as long as the hash.
        scheme = padding.PSS(padding.MGF1(digest), salt_length=padding.PSS.DIGEST_LENGTH)
    return lambda signature, data: key.verify(signature, data, scheme, digest)


_READERS: Final = {"EC": _ec, "OKP": _okp, "RSA": _rsa}


def _text(jwk: Mapping[str, Json], name: str) -> str:
    value = jwk.get(name)
    if not isinstance(value, str):
        raise InvalidKey(f"{name} is a string")
    return value


def _bytes(jwk: Mapping[str, Json], name: str) -> bytes:
    text = _text(jwk, name)
    if len(text) > 2 * MAX_RSA_BITS // 8:
        raise InvalidKey(f"{name} is too long")
    try:
        return base64url.decode(text)
    except base64url.NotBase64Url:
        raise InvalidKey(f"{name} is not base64url") from None


def _read_unsigned(jwk: Mapping[str, Json], name: str) -> int:
    """Base64urlUInt (RFC 7518, section 2): the fewest octets."""
    raw = _bytes(jwk, name)
    if not raw or raw[0] == 0:
        raise InvalidKey(f"{name} is not written in the fewest octets")
    return int.from_bytes(raw)
