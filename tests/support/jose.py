"""Tokens and keys made with the cryptography library alone, as another implementation would."""

import base64
import json

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

EC = {
    "ES256": (ec.SECP256R1(), "P-256", hashes.SHA256(), 32),
    "ES384": (ec.SECP384R1(), "P-384", hashes.SHA384(), 48),
    "ES512": (ec.SECP521R1(), "P-521", hashes.SHA512(), 66),
}
HASHES = {"256": hashes.SHA256(), "384": hashes.SHA384(), "512": hashes.SHA512()}


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def uint(number):
    return b64(number.to_bytes((number.bit_length() + 7) // 8))


def make_key(algorithm, bits=2048):
    if algorithm in EC:
        return ec.generate_private_key(EC[algorithm][0])
    if algorithm in ("EdDSA", "Ed25519"):
        return ed25519.Ed25519PrivateKey.generate()
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


def public_jwk(key, **extra):
    public = key.public_key()
    if isinstance(key, ec.EllipticCurvePrivateKey):
        _, crv, _, size = next(row for row in EC.values() if row[0].name == key.curve.name)
        numbers = public.public_numbers()
        jwk = {
            "kty": "EC",
            "crv": crv,
            "x": b64(numbers.x.to_bytes(size)),
            "y": b64(numbers.y.to_bytes(size)),
        }
    elif isinstance(key, ed25519.Ed25519PrivateKey):
        jwk = {"kty": "OKP", "crv": "Ed25519", "x": b64(public.public_bytes_raw())}
    else:
        numbers = public.public_numbers()
        jwk = {"kty": "RSA", "n": uint(numbers.n), "e": uint(numbers.e)}
    return jwk | extra


def signature(key, algorithm, data):
    if algorithm in EC:
        _, _, digest, size = EC[algorithm]
        r, s = decode_dss_signature(key.sign(data, ec.ECDSA(digest)))
        return r.to_bytes(size) + s.to_bytes(size)
    if algorithm in ("EdDSA", "Ed25519"):
        return key.sign(data)
    digest = HASHES[algorithm[2:]]
    scheme = padding.PKCS1v15()
    if algorithm.startswith("PS"):
        scheme = padding.PSS(padding.MGF1(digest), salt_length=digest.digest_size)
    return key.sign(data, scheme, digest)


def signing_input(algorithm):
    return f"{b64(json.dumps({'alg': algorithm}).encode())}.{b64(b'{}')}".encode()


def sign_text(key, algorithm, header_text, payload):
    """A token whose header is exactly this text, well-formed or not."""
    signing_input = f"{b64(header_text.encode())}.{b64(payload)}"
    return f"{signing_input}.{b64(signature(key, algorithm, signing_input.encode()))}"


def sign(key, algorithm, payload=b"{}", **header):
    return sign_text(key, algorithm, json.dumps({"alg": algorithm} | header), payload)
