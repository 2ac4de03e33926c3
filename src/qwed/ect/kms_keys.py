"""A signing key that a cloud keeps.

    awskms:///alias/qwed?region=eu-central-1                              (or a key's id, or its ARN)
    gcpkms:///projects/P/locations/L/keyRings/R/cryptoKeys/K/cryptoKeyVersions/1

Who may use it is the cloud's matter: its library finds the credentials where it always does.
"""

import importlib
import urllib.parse
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from qwed.ect.remote_keys import KeyUnusable


class AwsKey:
    def __init__(self, name: str, region: str | None) -> None:
        # Two tries of five seconds: nobody's decision hangs on a cloud for a minute.
        config = importlib.import_module("botocore.config").Config(
            connect_timeout=5, read_timeout=5, retries={"total_max_attempts": 2, "mode": "standard"}
        )
        errors = importlib.import_module("botocore.exceptions")
        self._failures = (errors.BotoCoreError, errors.ClientError)
        self._name = name
        try:
            self._client = importlib.import_module("boto3").client("kms", region_name=region, config=config)
            der = self._client.get_public_key(KeyId=name)["PublicKey"]
        except self._failures as error:
            raise KeyUnusable(f"AWS KMS gives no public key: {type(error).__name__}") from None
        self._public = _curve_key(der)

    def public_key(self) -> ec.EllipticCurvePublicKey:
        return self._public

    def sign_digest(self, digest: bytes) -> tuple[int, int]:
        try:
            answer = self._client.sign(
                KeyId=self._name,
                Message=digest,
                MessageType="DIGEST",
                SigningAlgorithm=f"ECDSA_SHA_{len(digest) * 8}",
            )
        except self._failures as error:
            raise KeyUnusable(f"AWS KMS does not sign: {type(error).__name__}") from None
        return decode_dss_signature(answer["Signature"])


class GoogleKey:
    def __init__(self, name: str) -> None:
        kms = importlib.import_module("google.cloud.kms")
        self._failures = importlib.import_module("google.api_core.exceptions").GoogleAPIError
        missing = importlib.import_module("google.auth.exceptions").GoogleAuthError
        self._name = name
        try:
            self._client: Any = kms.KeyManagementServiceClient()
            pem = self._client.get_public_key(request={"name": name}, timeout=10).pem
        except (self._failures, missing) as error:
            raise KeyUnusable(f"Google Cloud KMS gives no public key: {type(error).__name__}") from None
        self._public = _curve_key(pem.encode(), is_pem=True)

    def public_key(self) -> ec.EllipticCurvePublicKey:
        return self._public

    def sign_digest(self, digest: bytes) -> tuple[int, int]:
        request = {"name": self._name, "digest": {f"sha{len(digest) * 8}": digest}}
        try:
            answer = self._client.asymmetric_sign(request=request, timeout=10)
        except self._failures as error:
            raise KeyUnusable(f"Google Cloud KMS does not sign: {type(error).__name__}") from None
        return decode_dss_signature(answer.signature)


def open_key(uri: str) -> AwsKey | GoogleKey:
    """Raises `KeyUnusable`, and `ImportError` where the cloud's library is not there."""
    parts = urllib.parse.urlsplit(uri)
    name, query = urllib.parse.unquote(parts.path.lstrip("/")), dict(urllib.parse.parse_qsl(parts.query))
    if parts.netloc or not name or query.keys() - ({"region"} if parts.scheme == "awskms" else set()):
        raise KeyUnusable(
            "a cloud's key is awskms:///KEY?region=REGION, or gcpkms:///projects/…/cryptoKeyVersions/N"
        )
    return AwsKey(name, query.get("region")) if parts.scheme == "awskms" else GoogleKey(name)


def _curve_key(encoded: bytes, *, is_pem: bool = False) -> ec.EllipticCurvePublicKey:
    load = serialization.load_pem_public_key if is_pem else serialization.load_der_public_key
    key = load(encoded)
    if not isinstance(key, ec.EllipticCurvePublicKey) or key.curve.name not in ("secp256r1", "secp384r1"):
        raise KeyUnusable("the cloud's key is no P-256 or P-384 key for signing")
    return key
